"""Closed forms against hand calculations, enumeration and simulation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sfumato.aggregation.dirichlet_mixture import DirichletMixture
from sfumato.planning.answer_simulation import simulate_answers
from sfumato.planning.item_prior import Population
from sfumato.planning.precision import (
    MEASURES,
    DivergenceError,
    SquaredError,
    TotalVariationError,
    expected_l2,
    expected_tv,
    measure_from_name,
)
from sfumato.tables.errors import SfumatoError

ALPHA = np.array([0.5, 0.2, 0.3])
PROBS = np.array([[0.7, 0.2, 0.1], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [1 / 3, 1 / 3, 1 / 3]])
PRIOR = DirichletMixture(np.array([0.6, 0.4]), np.array([[8.0, 0.2, 0.1], [0.6, 0.5, 0.4]]))


def enumerated(p: np.ndarray, m: int) -> tuple[float, float, float]:
    """E TV, E L2 and E KL over every sequence of `m` answers."""
    total = np.zeros(3)
    for said in product(range(len(p)), repeat=m):
        x = np.bincount(said, minlength=len(p))
        mean = (x + ALPHA) / (m + ALPHA.sum())
        some = p > 0
        kl = (p[some] * np.log(p[some] / mean[some])).sum()
        total += np.prod(p[list(said)]) * np.array([np.abs(x / m - p).sum() / 2, ((x / m - p) ** 2).sum(), kl])
    return tuple(total)


@pytest.mark.parametrize("m", [1, 2, 5])
def test_closed_forms_are_exact(m: int) -> None:
    found = [expected_tv(PROBS, [m]), expected_l2(PROBS, [m])]
    for i, p in enumerate(PROBS):
        assert np.allclose([each[i, 0] for each in found], enumerated(p, m)[:2], atol=1e-12)


def test_by_hand() -> None:
    # One answer about a coin is off by a half for sure; two are right half the time and else off by a half.
    assert np.allclose(expected_tv(np.array([[0.5, 0.5]]), [1, 2]), [[0.5, 0.25]])
    assert np.allclose(expected_l2(np.array([[0.5, 0.5]]), [1, 2]), [[0.5, 0.25]])


def test_many_answers_against_simulation() -> None:
    rng = np.random.default_rng(0)
    x = rng.multinomial(40, PROBS[0], 40_000)
    off = x / 40 - PROBS[0]
    simulated = [np.abs(off).sum(axis=1).mean() / 2, (off**2).sum(axis=1).mean()]
    exact = [expected_tv(PROBS, [40])[0, 0], expected_l2(PROBS, [40])[0, 0]]
    assert np.allclose(exact, simulated, rtol=0.02)


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_a_prior_is_its_items_on_average(measure: object) -> None:
    rng = np.random.default_rng(1)
    items = Population.of_prior(PRIOR, 20_000, rng)
    of_prior = measure.of_prior(PRIOR, 12, rng)
    assert np.allclose(of_prior, measure.of_items(items, range(1, 13), rng).mean(axis=0), rtol=0.03)
    really = [measure.of_answers(known).mean() for known in simulate_answers(items.probs, 12, rng, PRIOR)]
    assert np.allclose(of_prior, really, rtol=0.03)
    assert (np.diff(of_prior) <= 1e-12).all() or measure.name == "kl"


def test_total_variation_of_a_uniform_coin() -> None:
    # Under Beta(1, 1) every p is as probable as any other: the mean over a fine grid. One answer: 2 E p (1 - p) = 1/3.
    p = (np.arange(20_000) + 0.5) / 20_000
    exact = expected_tv(np.stack([p, 1 - p], axis=1), [1, 2, 30]).mean(axis=0)
    found = TotalVariationError().of_prior(DirichletMixture(np.ones(1), np.ones((1, 2))), 30, np.random.default_rng(0))
    assert np.isclose(exact[0], 1 / 3)
    assert np.allclose(found[[0, 1, 29]], exact, rtol=1e-3)


def test_the_posterior_carried_on_is_the_posterior() -> None:
    items = Population.of_prior(PRIOR, 50, np.random.default_rng(2))
    for known in simulate_answers(items.probs, 6, np.random.default_rng(3), PRIOR):
        posterior = PRIOR.given(known.counts)
        assert known.counts.sum(axis=1).tolist() == [known.n_answers] * 50
        assert np.allclose(known.mean, posterior.mean())
        assert np.allclose(known.expected_kl, posterior.expected_kl(), atol=1e-12)


def test_one_dirichlet_agrees_with_every_sequence_of_answers() -> None:
    alone = DirichletMixture(np.ones(1), ALPHA[None])
    items = Population(alone, np.repeat(PROBS[:1], 20_000, axis=0), np.arange(20_000))
    found = DivergenceError().of_items(items, range(1, 6), np.random.default_rng(4)).mean(axis=0)
    assert np.allclose(found, [enumerated(PROBS[0], m)[2] for m in range(1, 6)], rtol=0.02)


def test_tiny_parameters_give_distributions() -> None:
    items = Population.of_prior(DirichletMixture(np.ones(1), np.full((1, 3), 1e-4)), 1000, np.random.default_rng(0))
    assert np.allclose(items.probs.sum(axis=1), 1)
    assert np.allclose(items.probs.mean(axis=0), 1 / 3, atol=0.06)
    assert SquaredError().of_items(items, [1], np.random.default_rng(0)).mean() < 0.01


@pytest.mark.parametrize(
    ("probs", "n_answers", "code"),
    [(PROBS, [0], "bad-setting"), (PROBS * 2, [1], "bad-sum"), (PROBS, [1.5], "bad-setting")],
)
def test_bad_input(probs: np.ndarray, n_answers: list, code: str) -> None:
    for closed_form in (expected_tv, expected_l2):
        with pytest.raises(SfumatoError) as caught:
            closed_form(probs, n_answers)
        assert caught.value.code == code


def test_bad_parameters_and_names() -> None:
    with pytest.raises(SfumatoError) as caught:
        measure_from_name("l1")
    assert caught.value.code == "unknown-measure"
