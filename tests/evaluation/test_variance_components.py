"""One test over seeds, items and people: against scipy where one of them varies alone, and by simulation."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from sfumato.evaluation.variance_components import Contributions, VarianceComponents

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
RNG = np.random.default_rng(0)


def contributions(values: np.ndarray) -> Contributions:
    """Of values, seeds x items."""
    return Contributions(values.mean(axis=1), values - values.mean(axis=1, keepdims=True))


def test_items_alone_are_the_paired_t_test() -> None:
    one, other = RNG.normal(size=(2, 1, 50))
    parts = VarianceComponents.of_difference(contributions(one), contributions(other), is_paired=True)
    expected = stats.ttest_rel(one[0], other[0])
    assert parts.p == pytest.approx(expected.pvalue)
    assert (parts.interval(0.9).low, parts.interval(0.9).high) == pytest.approx(
        tuple(expected.confidence_interval(0.9))
    )
    assert parts.covers(0.9) == "other items: 90% t interval"


def test_seeds_alone_are_the_paired_t_test_or_welchs() -> None:
    one, other = RNG.normal(size=(2, 6, 1)) + np.zeros((2, 6, 30))
    values = [contributions(each) for each in (one, other)]
    paired = VarianceComponents.of_difference(*values, is_paired=True)
    assert paired.p == pytest.approx(stats.ttest_rel(one[:, 0], other[:, 0]).pvalue)
    apart = VarianceComponents.of_difference(*values, is_paired=False)
    assert apart.p == pytest.approx(welch_1947(one[:, 0], other[:, 0]))
    # Of fewer than five seeds the variances add up.
    few = VarianceComponents.of_difference(*(each.take([0, 1, 2]) for each in values), is_paired=True)
    assert few.p == pytest.approx(welch_1947(one[:3, 0], other[:3, 0]))


def welch_1947(one: np.ndarray, other: np.ndarray) -> float:
    """Welch's t-test with his degrees of freedom for small samples, n + 1 in place of n - 1, minus 2."""
    n = len(one)
    a, b = one.var(ddof=1) / n, other.var(ddof=1) / n
    df = min((a + b) ** 2 / (a**2 / (n + 1) + b**2 / (n + 1)) - 2, 2 * (n - 1))
    t = stats.ttest_ind(one, other, equal_var=False).statistic
    return float(2 * stats.t.sf(abs(t), df))


def test_nothing_that_varies_is_not_tested() -> None:
    same = Contributions(np.array([0.3]), np.zeros((1, 30)))
    parts = VarianceComponents.of(same)
    assert np.isnan([parts.p, parts.error, parts.interval(0.95).low]).all()


def test_what_more_items_people_and_seeds_would_change() -> None:
    """Values of ten people for 400 items and 3 seeds: with all of them twice, half of the variance remains."""
    n, people, seeds = 400, 10, 3
    rng = np.random.default_rng(1)

    def found(n: int, people: int, seeds: int) -> VarianceComponents:
        x = rng.normal(0, 1, n)[:, None] + rng.normal(0, 0.2, people) + rng.normal(0, 1, (n, people))
        of_item, of_person = x.mean(axis=1) - x.mean(), (x.mean(axis=0) - x.mean()) / (people - 1)
        answers = ((x - x.mean(axis=1, keepdims=True)) / n / (people - 1)).ravel()
        run = rng.normal(0, 0.05, seeds)
        items = of_item + rng.normal(0, 0.3, (seeds, n))
        each = [np.tile(values, (seeds, 1)) for values in (of_person, answers)]
        return VarianceComponents.of(Contributions(x.mean() + run, items - items.mean(axis=1, keepdims=True), *each))

    now = found(n, people, seeds)
    assert now.with_more().variance == pytest.approx(now.variance, rel=0.02)
    assert now.with_more(items=1e9, people=1e9, seeds=1e9).variance < 1e-6 * now.variance
    for more in ({"items": 4}, {"people": 4}, {"seeds": 4}):
        assert now.with_more(**more).variance < now.variance
    many = [found(n, 4 * people, seeds).variance for _ in range(20)]
    expected = [found(n, people, seeds).with_more(people=4).variance for _ in range(20)]
    assert np.median(expected) == pytest.approx(np.median(many), rel=0.35)


def test_more_of_anything_never_adds_variance() -> None:
    """Also if what varies with seeds and items together is estimated to be larger than what varies with items."""
    now = VarianceComponents(0.5, 1.0, 40, 1.5, 1.4, 2.0, 0.3, 0.6, 7.0)
    assert now.with_more().variance == pytest.approx(now.variance)
    for more in ({"items": 2}, {"people": 2}, {"seeds": 2}, {"seeds": 1.1}):
        assert now.with_more(**more).variance <= now.variance
        assert now.with_more(**more).half_width(0.95) <= now.half_width(0.95)


@pytest.mark.parametrize("n_seeds", [3, 6])
def test_verdicts_are_rarely_false_and_find_differences(n_seeds: int) -> None:
    """The quick form of the simulation in bench/coverage_rows/verdicts.py."""
    from coverage_rows import verdicts

    found = np.mean([verdicts.cell(n_seeds, 100, *spread, studies=60) for spread in verdicts.SPREADS], axis=0)
    # 300 studies with a nominal share of 5%: two standard errors are 2.5 points.
    assert found[0] <= 0.075
    assert found[1] >= 0.55


def test_verdicts_hold_for_people_at_large() -> None:
    from coverage_rows import verdicts

    at_large, fixed = verdicts.people_cell(5, 0.8, 60, studies=30)
    assert at_large <= 0.15
    # Taking so few people as fixed gives false verdicts about people at large.
    assert fixed > at_large
