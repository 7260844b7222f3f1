"""The entropy of an item's mean belief = entropy within people + the disagreement between them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import entropy as scipy_entropy

from sfumato import Beliefs
from sfumato.tables.doubt import entropy

LN2 = float(np.log(2))


def beliefs(rows: list[list[float]], items: list[str] | None = None) -> Beliefs:
    return Beliefs.from_numpy(items or ["x"] * len(rows), [f"a{i}" for i in range(len(rows))], rows, ["cat", "dog"])


def test_nobody_can_tell_and_the_room_is_split() -> None:
    """Equal in total, opposite in kind."""
    unsure = beliefs([[0.5, 0.5], [0.5, 0.5]]).doubt()
    split = beliefs([[1, 0], [0, 1]]).doubt()
    for doubt, within, between in ((unsure, LN2, 0.0), (split, 0.0, LN2)):
        assert doubt.total[0] == pytest.approx(LN2)
        assert doubt.within[0] == pytest.approx(within)
        assert doubt.between[0] == pytest.approx(between)


def test_by_hand() -> None:
    """Beliefs .9/.1 and .5/.5: mean .7/.3."""
    doubt = beliefs([[0.9, 0.1], [0.5, 0.5]]).doubt()
    total = -(0.7 * np.log(0.7) + 0.3 * np.log(0.3))
    within = (-(0.9 * np.log(0.9) + 0.1 * np.log(0.1)) + LN2) / 2
    assert doubt.total[0] == pytest.approx(total)
    assert doubt.within[0] == pytest.approx(within)
    assert doubt.between[0] == pytest.approx(total - within)


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(1, 40), st.integers(2, 6)), elements=st.floats(0.0, 1.0)),
    st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=80)
def test_the_parts_add_up_and_rows_may_come_in_any_order(weights: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    probs = (weights + 1e-9) / (weights + 1e-9).sum(axis=1, keepdims=True)
    items = [f"i{k}" for k in rng.integers(0, 5, len(probs))]
    people = [f"a{k}" for k in range(len(probs))]
    classes = [f"c{k}" for k in range(probs.shape[1])]
    doubt = Beliefs.from_numpy(items, people, probs, classes).doubt()
    np.testing.assert_allclose(doubt.dissent, doubt.dissent_within + doubt.dissent_between, atol=1e-12)
    several = doubt.n_answers > 1
    np.testing.assert_allclose(doubt.total[several], (doubt.within + doubt.between)[several], atol=1e-12)
    for each in (doubt.within, doubt.dissent_within, doubt.between[several], doubt.dissent_between[several]):
        assert (each >= -1e-12).all()
    assert np.isnan(np.stack([doubt.total, doubt.between, doubt.dissent])[:, ~several]).all()
    order = rng.permutation(len(probs))
    again = Beliefs.from_numpy([items[i] for i in order], people, probs[order], classes).doubt()
    at = {name: row for row, name in enumerate(again.items.to_pylist())}
    rows = [at[name] for name in doubt.items.to_pylist()]
    np.testing.assert_allclose(again.total[rows], doubt.total, atol=1e-12)
    np.testing.assert_allclose(again.dissent[rows], doubt.dissent, atol=1e-12)
    np.testing.assert_allclose(again.within[rows], doubt.within, atol=1e-12)


def test_hard_votes_have_only_disagreement() -> None:
    hard = Beliefs.from_numpy(["x"] * 4, list("abcd"), np.array([0, 0, 0, 1]), ["cat", "dog"])
    soft = beliefs([[1, 0], [1, 0], [1, 0], [0, 1]])
    assert hard.doubt().within.tolist() == [0.0]
    assert hard.doubt().total[0] == pytest.approx(soft.doubt().total[0])


def test_entropy_agrees_with_scipy() -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(7), 50)
    probs[0] = [1, 0, 0, 0, 0, 0, 0]
    np.testing.assert_allclose(entropy(probs), scipy_entropy(probs, axis=1), atol=1e-12)
    assert not np.signbit(entropy(probs)).any()
