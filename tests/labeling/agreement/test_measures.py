"""Each measure: against a peer library, by hand, and under changes that must not matter."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sfumato import Beliefs, SfumatoError, SfumatoWarning
from sfumato.labeling.agreement import (
    MEASURES,
    AgreementMeasure,
    AgreementTable,
    AlphaDistributions,
    AlphaNominal,
    AlphaOrdinal,
    RetestSameClass,
    RetestTotalVariation,
    TotalVariationAgreement,
    agreement,
    measure_from_name,
)

CLASSES = ("a", "b", "c", "d")
ALPHAS = (AlphaNominal(), AlphaOrdinal(), AlphaDistributions())


def of(beliefs: Beliefs, *measures: AgreementMeasure) -> AgreementTable:
    return agreement(beliefs, measures=measures)


def value(beliefs: Beliefs, measure: AgreementMeasure) -> float:
    return float(of(beliefs, measure).value[0])


def votes(rows: list[tuple[str, str, int]]) -> Beliefs:
    items, people, chosen = zip(*rows, strict=True)
    return Beliefs.from_numpy(items, people, np.array(chosen), CLASSES)


def as_soft(beliefs: Beliefs) -> Beliefs:
    """The same beliefs, every row spelt out."""
    return Beliefs(beliefs.item, beliefs.annotator, beliefs.classes, soft=beliefs.probs)


def random_votes(seed: int, n_people: int = 5, n_items: int = 12, n_classes: int = 4) -> np.ndarray:
    """People x items, NaN where somebody did not answer; people who agree now and then."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n_items)
    table = np.where(rng.random((n_people, n_items)) < 0.5, truth, rng.integers(0, n_classes, (n_people, n_items)))
    return np.where(rng.random(table.shape) < 0.3, np.nan, table)


def beliefs_of(table: np.ndarray, n_classes: int = 4) -> Beliefs:
    people, items = np.nonzero(~np.isnan(table))
    chosen = table[people, items].astype(int)
    names = [f"c{k}" for k in range(n_classes)]
    return Beliefs.from_numpy([f"i{i}" for i in items], [f"p{p}" for p in people], chosen, names)


def random_soft(seed: int, n_rows: int = 60, *, alike: bool = True) -> Beliefs:
    rng = np.random.default_rng(seed)
    pairs = rng.choice(10 * 9, n_rows, replace=False)
    centre = rng.dirichlet(np.ones(4), 10) if alike else np.full((10, 4), 0.25)
    probs = np.array([rng.dirichlet(1 + 6 * centre[pair // 9]) for pair in pairs])
    return Beliefs.from_numpy([f"i{p // 9}" for p in pairs], [f"p{p % 9}" for p in pairs], probs, CLASSES)


@pytest.mark.parametrize(("measure", "level"), [(AlphaNominal(), "nominal"), (AlphaOrdinal(), "ordinal")])
@given(seed=st.integers(0, 2**32 - 1), n_people=st.integers(2, 9), n_classes=st.integers(2, 7))
@settings(deadline=None, max_examples=60)
def test_alpha_agrees_with_the_peer_library(
    measure: AgreementMeasure, level: Any, seed: int, n_people: int, n_classes: int
) -> None:
    peer = pytest.importorskip("krippendorff")
    table = random_votes(seed, n_people, n_classes=n_classes)
    pairable = table[:, (~np.isnan(table)).sum(axis=0) > 1]
    assume(len(np.unique(pairable[~np.isnan(pairable)])) > 1)
    theirs = peer.alpha(table, level_of_measurement=level, value_domain=list(range(n_classes)))
    ours = value(beliefs_of(table, n_classes), measure)
    assert ours == pytest.approx(theirs, abs=1e-10)


def test_nominal_alpha_by_hand() -> None:
    """Items aa, ab, bbb, and one single answer that does not count: n = 7, two disagreeing ordered pairs / (2 - 1);
    3 a and 4 b make 24 pairs / (7 - 1) = 4 expected: alpha = 1 - 2 / 4."""
    table = votes([("1", "x", 0), ("1", "y", 0), ("2", "x", 0), ("2", "y", 1)]
                  + [("3", who, 1) for who in "xyz"] + [("4", "x", 2)])  # fmt: skip
    result = of(table, AlphaNominal())
    assert result.value[0] == pytest.approx(0.5, abs=1e-15)
    assert (result.n_items[0], result.n_answers[0]) == (3, 7)


def test_ordinal_alpha_by_hand() -> None:
    """Items ac, bb, aa: n_a = 3, n_b = 2, n_c = 1, so ranks 1.5, 4, 5.5. Observed 2 * 16 = 32 (a against c, twice).
    All pairs: a-b 6 * 6.25, b-c 2 * 2.25, a-c 3 * 16, twice = 180, / 5 = 36: alpha = 1 - 32 / 36."""
    table = votes([("1", "x", 0), ("1", "y", 2), ("2", "x", 1), ("2", "y", 1), ("3", "x", 0), ("3", "y", 0)])
    assert value(table, AlphaOrdinal()) == pytest.approx(1 - 32 / 36, abs=1e-14)


def test_alpha_of_distributions_by_hand() -> None:
    """Two items, beliefs (1, 0) (.5, .5) and (0, 1) (0, 1). Half squared distances: 1/4 within the first item, so
    observed = 2 * 1/4. All six pairs: 1/4, 1, 1, 1/4, 1/4, 0 = 2.75, ordered 5.5, / 3: alpha = 1 - .5 * 3 / 5.5."""
    table = Beliefs.from_numpy(list("1122"), list("xyxy"), [[1, 0], [0.5, 0.5], [0, 1], [0, 1]], ["a", "b"])
    assert value(table, AlphaDistributions()) == pytest.approx(1 - 1.5 / 5.5, abs=1e-14)


def slow_alpha(beliefs: Beliefs, delta: Callable[[np.ndarray, np.ndarray], float]) -> float:
    """The definition, pair by pair; every item has at least two answers."""
    probs, item = beliefs.probs, beliefs.item.codes
    per_item = np.bincount(item)
    kept = np.flatnonzero(per_item[item] > 1)
    pairs = list(combinations(kept, 2))
    within = sum(2 * delta(probs[i], probs[j]) / (per_item[item[i]] - 1) for i, j in pairs if item[i] == item[j])
    anywhere = sum(2 * delta(probs[i], probs[j]) for i, j in pairs) / (len(kept) - 1)
    return 1 - within / anywhere


@pytest.mark.parametrize("seed", range(8))
def test_soft_alphas_follow_their_definition(seed: int) -> None:
    table = random_soft(seed)
    assert value(table, AlphaDistributions()) == pytest.approx(
        slow_alpha(table, lambda p, q: float(((p - q) ** 2).sum()) / 2), abs=1e-12
    )
    kept = np.bincount(table.item.codes)[table.item.codes] > 1
    mass = table.probs[kept].sum(axis=0)
    rank = np.cumsum(mass) - mass / 2
    assert value(table, AlphaOrdinal()) == pytest.approx(
        slow_alpha(table, lambda p, q: float((rank @ (p - q)) ** 2)), abs=1e-12
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_deltas_are_rao_s(seed: int) -> None:
    """delta averaged under both beliefs, less the doubt within each."""
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(5), 2)
    rank = rng.random(5)
    for delta, direct in (
        (1 - np.eye(5), ((p - q) ** 2).sum() / 2),
        ((rank[:, None] - rank) ** 2, (rank @ (p - q)) ** 2),
    ):
        assert p @ delta @ q - p @ delta @ p / 2 - q @ delta @ q / 2 == pytest.approx(direct, abs=1e-14)


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_one_hot_beliefs_and_hard_votes_give_the_same(seed: int) -> None:
    hard = beliefs_of(random_votes(seed))
    soft = as_soft(hard)
    assert soft.soft is not None
    nominal = value(hard, AlphaNominal())
    for table, measure in ((hard, AlphaDistributions()), (soft, AlphaDistributions()), (soft, AlphaNominal())):
        assert value(table, measure) == pytest.approx(nominal, abs=1e-12)
    for measure in (AlphaOrdinal(), TotalVariationAgreement()):
        assert value(soft, measure) == pytest.approx(value(hard, measure), abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("soft", [False, True])
def test_total_variation_is_the_mean_over_pairs(seed: int, soft: bool) -> None:
    table = random_soft(seed) if soft else beliefs_of(random_votes(seed))
    means = []
    for item in range(len(table.item.names)):
        probs = table.probs[table.item.codes == item]
        if len(probs) > 1:
            means.append(np.mean([np.abs(p - q).sum() / 2 for p, q in combinations(probs, 2)]))
    result = of(table, TotalVariationAgreement())
    assert result.value[0] == pytest.approx(np.mean(means), abs=1e-13)
    assert result.n_items[0] == len(means)


def shuffled(beliefs: Beliefs, seed: int) -> Beliefs:
    """Other row order, other names."""
    order = np.random.default_rng(seed).permutation(len(beliefs))
    items = [f"new-{name}" for name in beliefs.item.text().to_pylist()]
    people = [f"else-{name}" for name in beliefs.annotator.text().to_pylist()]
    return Beliefs.from_numpy(
        [items[i] for i in order], [people[i] for i in order], beliefs.probs[order], beliefs.classes
    )


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_row_order_and_names_do_not_matter(seed: int, soft: bool) -> None:
    table = random_soft(seed) if soft else beliefs_of(random_votes(seed))
    for measure in (*ALPHAS, TotalVariationAgreement()):
        assert value(shuffled(table, seed), measure) == pytest.approx(value(table, measure), abs=1e-12)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_class_order_matters_only_where_classes_have_an_order(seed: int, soft: bool) -> None:
    table = random_soft(seed) if soft else beliefs_of(random_votes(seed))
    order = [2, 0, 3, 1]
    other = Beliefs.from_numpy(
        table.item.text().to_pylist(),
        table.annotator.text().to_pylist(),
        table.probs[:, order],
        [table.classes[k] for k in order],
    )
    for measure in (AlphaNominal(), AlphaDistributions(), TotalVariationAgreement()):
        assert value(other, measure) == pytest.approx(value(table, measure), abs=1e-12)
    assert abs(value(other, AlphaOrdinal()) - value(table, AlphaOrdinal())) > 1e-3
    backwards = Beliefs.from_numpy(
        table.item.text().to_pylist(), table.annotator.text().to_pylist(), table.probs[:, ::-1], table.classes[::-1]
    )
    assert value(backwards, AlphaOrdinal()) == pytest.approx(value(table, AlphaOrdinal()), abs=1e-12)


def test_nobody_is_compared_with_themselves() -> None:
    """x says the same thing five times about item 1; taken for five people that would look like agreement."""
    rows = [("1", "x", 0), ("1", "y", 1), ("2", "x", 1), ("2", "y", 1)]
    again = [("1", "x", 0)] * 4
    wrong = votes(rows + [("1", f"x{i}", 0) for i in range(4)])
    for measure in (*ALPHAS, TotalVariationAgreement()):
        right = of(votes(rows + again), measure)
        assert right.value[0] == value(votes(rows), measure)
        assert right.n_answers[0] == 4
        assert abs(right.value[0] - value(wrong, measure)) > 0.05


def test_retest_by_hand() -> None:
    """x: first a, then b and a; y: first (.5, .5), then (.7, .3): two of three keep a class; moves 1, 0 and .2."""
    table = Beliefs.from_numpy(
        ["1", "2", "1", "1", "2", "3"], ["x", "y", "x", "x", "y", "z"],
        [[1, 0], [0.5, 0.5], [0, 1], [1, 0], [0.7, 0.3], [1, 0]], ["a", "b"],
    )  # fmt: skip
    result = of(table, RetestSameClass(), RetestTotalVariation())
    assert result.value.tolist() == pytest.approx([2 / 3, 0.4])
    assert result.n_items.tolist() == [2, 2]
    assert result.n_answers.tolist() == [3, 3]


def test_the_first_row_is_the_first_answer() -> None:
    rows = [("1", "x", 0), ("1", "x", 1), ("1", "y", 0), ("2", "x", 1), ("2", "y", 1)]
    assert value(votes(rows), TotalVariationAgreement()) == 0.0
    assert value(votes([rows[1], rows[0], *rows[2:]]), TotalVariationAgreement()) == 0.5


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("alpha", ALPHAS, ids=lambda each: each.name)
def test_alpha_is_undefined_where_everybody_always_says_the_same(alpha: AgreementMeasure, soft: bool) -> None:
    table = votes([(item, who, 1) for item in "123" for who in "xy"])
    if soft:
        third = [[1 / 3, 0.2, 0.1, 1 - 0.3 - 1 / 3]] * 6
        table = Beliefs.from_numpy(list("112233"), list("xyxyxy"), third, CLASSES)
    with pytest.warns(SfumatoWarning, match=r"is undefined: every answer is the same"):
        result = of(table, alpha)
    assert np.isnan([result.value[0], result.low[0], result.high[0]]).all()
    assert result.n_items[0] == 3


@pytest.mark.parametrize("member", MEASURES, ids=lambda each: each.name)
def test_what_cannot_be_computed_is_nan_and_said(member: Any) -> None:
    alone = votes([("1", "x", 0), ("2", "y", 1)])
    with pytest.warns(SfumatoWarning, match=rf"{member.name} cannot be computed: no"):
        result = of(alone, member())
    assert np.isnan(result.value[0])
    assert (result.n_items[0], result.n_answers[0]) == (0, 0)
    assert result.to_arrow().column("value").null_count == 1


def test_by_default_what_applies() -> None:
    hard = votes([("1", "x", 0), ("1", "y", 1), ("2", "x", 1), ("2", "y", 1)])
    assert of(hard).measure == ("alpha-nominal", "total-variation")
    assert of(as_soft(hard)).measure == ("alpha-nominal", "alpha-distributions", "total-variation")
    twice = votes([("1", "x", 0), ("1", "x", 1), ("2", "x", 1)])
    assert of(twice).measure == ("retest-same-class", "retest-total-variation")
    with pytest.warns(SfumatoWarning, match="nothing to compare"):
        assert len(of(votes([("1", "x", 0)]))) == 0


def test_names_and_settings_are_checked() -> None:
    with pytest.raises(SfumatoError, match="did you mean 'alpha-nominal'"):
        measure_from_name("alpha-nominl")
    assert [measure_from_name(member.name).name for member in MEASURES] == [member.name for member in MEASURES]
    table = votes([("1", "x", 0), ("1", "y", 1)])
    for wrong in (1.0, float("nan")):
        with pytest.raises(SfumatoError, match="bad-setting"):
            agreement(table, level=wrong)


def test_ties_by_rounding_are_ties() -> None:
    """.1 + .2 is a little more than .3 in floating point, and yet no preference."""
    soft = [[0.3, 0.1 + 0.2, 0.2, 0.2], [0.5, 0.2, 0.2, 0.1]]
    table = Beliefs.from_numpy(["1", "1"], ["x", "x"], soft, CLASSES)
    assert np.argmax(soft[0]) == 1
    assert value(table, RetestSameClass()) == 1.0
