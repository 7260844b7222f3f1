"""Paired tests over seeds or items: p values, effect sizes, intervals, and corrections for multiple comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln, ndtr, ndtri, stdtr, stdtrit

from sfumato.tables.bootstrap import Interval
from sfumato.tables.setting_checks import one_of

MOST_EXACT = 200
"""Up to this many seeds the distribution of Wilcoxon's statistic is exact."""
CORRECTIONS = ("holm", "benjamini-hochberg", "none")
ONE_SEED = "none: one seed does not show the variation between trainings"


@dataclass(frozen=True)
class TestResult:
    """A p value; NaN with the reason in `note` if there is none."""

    p: float
    note: str = ""


def t_interval(values: Float[np.ndarray, "seeds"], level: float) -> Interval:
    """Student's t interval for the mean over seeds (Student 1908)."""
    n = len(values)
    if not np.isfinite(values).all():
        return Interval(np.nan, np.nan, "none: not finite for every seed")
    if n < 2:
        return Interval(np.nan, np.nan, ONE_SEED)
    half = float(stdtrit(n - 1, (1 + level) / 2) * values.std(ddof=1) / np.sqrt(n))
    mean = float(values.mean())
    return Interval(mean - half, mean + half, f"another training: {100 * level:g}% t interval over {n} seeds")


def paired_t(differences: Float[np.ndarray, "seeds"]) -> TestResult:
    """The two-sided p value of a mean difference of 0, by Student's t-test."""
    n = len(differences)
    if n < 2 or not np.isfinite(differences).all():
        return TestResult(np.nan, "one seed" if n < 2 else "not finite for every seed")
    spread = differences.std(ddof=1)
    if spread <= 1e-12 * max(1.0, float(np.abs(differences).max())):
        return TestResult(np.nan, "the same difference with every seed")
    t = differences.mean() / (spread / np.sqrt(n))
    return TestResult(float(2 * stdtr(n - 1, -abs(t))))


OVER_SEEDS = "paired t over seeds"
OVER_ITEMS = "paired by item, these predictions: normal, with the standard error of the bootstrap"


def paired_by_item(difference: float, drawn: Float[np.ndarray, "draws"]) -> TestResult:
    """The two-sided p value of a difference of 0 for other items, from the difference in every draw of items."""
    defined = drawn[np.isfinite(drawn)]
    if not len(defined) or not np.isfinite(difference):
        return TestResult(np.nan, "there are no draws of items")
    error = float(defined.std())
    if error < 1e-12:
        return TestResult(np.nan, "every resample gives the same")
    return TestResult(float(2 * ndtr(-abs(difference) / error)))


def wilcoxon(differences: Float[np.ndarray, "seeds"], alpha: float) -> TestResult:
    """The exact two-sided p value of Wilcoxon's signed-rank test (1945), with ties; differences of 0 are omitted.

    If `alpha` cannot be reached with so few seeds, there is a note instead: n seeds give at least 2 / 2^n, which is
    0.0625 for five and 0.031 for six.
    """
    kept = differences[differences != 0]
    n = len(kept)
    if not np.isfinite(kept).all():
        return TestResult(np.nan, "not finite for every seed")
    least = 2.0 ** (1 - n)
    if least > alpha:
        enough = int(np.ceil(1 - np.log2(alpha)))
        seeds = f"{n} seeds" if n == len(differences) else f"{n} seeds that differ"
        return TestResult(np.nan, f"{seeds} cannot reach {alpha:g} (at least {min(least, 1.0):.4f}); {enough} could")
    if n > MOST_EXACT:
        from scipy.stats import wilcoxon as of_scipy

        return TestResult(float(of_scipy(kept, method="asymptotic").pvalue))
    # Doubled ranks, so that the mean ranks of ties are whole numbers.
    _, own, times = np.unique(np.abs(kept), return_inverse=True, return_counts=True)
    doubled = (2 * np.cumsum(times) - times + 1)[own]
    ways = np.zeros(int(doubled.sum()) + 1)
    ways[0] = 1.0
    for rank in doubled.tolist():
        ways[rank:] += ways[: len(ways) - rank].copy()
        ways /= 2
    positive = int(doubled[kept > 0].sum())
    smaller = min(positive, len(ways) - 1 - positive)
    return TestResult(float(min(1.0, 2 * ways[: smaller + 1].sum())))


def d_z(differences: Float[np.ndarray, "seeds"]) -> float:
    """Cohen's d of paired differences (mean / standard deviation), corrected for few seeds (Hedges 1981).

    NaN with fewer than three seeds, and if every seed gives the same difference.
    """
    n = len(differences)
    if n < 3 or np.isnan(paired_t(differences).p):
        return float("nan")
    df = n - 1
    correction = np.exp(gammaln(df / 2) - gammaln((df - 1) / 2)) / np.sqrt(df / 2)
    return float(correction * differences.mean() / differences.std(ddof=1))


def probability_of_improvement(
    better: Float[np.ndarray, "seeds"], worse: Float[np.ndarray, "other_seeds"], *, high_is_better: bool
) -> float:
    """The probability that a run of one is better than a run of the other, over all pairs of seeds; ties count half.

    Mann-Whitney U over all pairs (Agarwal et al. 2021, *Deep reinforcement learning at the edge of the statistical
    precipice*).
    """
    if np.isnan(better).any() or np.isnan(worse).any():
        return float("nan")
    sign = 1.0 if high_is_better else -1.0
    one, other = sign * better[:, None], sign * worse[None, :]
    return float(((one > other) + 0.5 * (one == other)).mean())


def items_interval(drawn: Float[np.ndarray, "seeds draws"], level: float, over: str) -> Interval:
    """The percentile interval for other items, of the mean over these seeds."""
    values = drawn.mean(axis=0)
    return _percentiles(values, level, f"other items, these trainings: bootstrap over {over}")


def both_interval(
    drawn: Float[np.ndarray, "seeds draws"], level: float, over: str, rng: np.random.Generator
) -> Interval:
    """A two-way bootstrap: items are resampled and seeds reweighted independently (as in Owen 2007, *The pigeonhole
    bootstrap*).

    Resampling few seeds gives an interval that is too narrow: with three seeds the 90% interval covered the truth 87%
    of the time. Instead the deviations of seeds from their mean are multiplied by normal variables, scaled so that
    without variation between items this is the t interval. The interaction of seeds and items counts more than once, so
    the interval is slightly too wide.
    """
    n, draws = drawn.shape
    if n < 2:
        return Interval(np.nan, np.nan, ONE_SEED)
    mean = drawn.mean(axis=0)
    apart = (rng.standard_normal((n, draws)) * (drawn - mean)).mean(axis=0)
    upper = (1 + level) / 2
    stretch = np.sqrt(n / (n - 1)) * stdtrit(n - 1, upper) / ndtri(upper)
    how = f"another training on other items: two-way bootstrap over {n} seeds and {over}"
    return _percentiles(mean + stretch * apart, level, how)


def _percentiles(values: Float[np.ndarray, "draws"], level: float, how: str) -> Interval:
    defined = values[np.isfinite(values)]
    if not len(defined):
        return Interval(np.nan, np.nan, "none: there are no draws of items")
    if np.ptp(defined) < 1e-12:
        return Interval(np.nan, np.nan, "none: every resample gives the same")
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), f"{how}, {100 * level:g}%")


def corrected(p: Sequence[float], how: str) -> list[float]:
    """p values corrected for multiple comparisons; NaN values do not count.

    `holm` (Holm 1979) controls the probability of any false finding; `benjamini-hochberg` (1995) the share of false
    findings, which is less strict.
    """
    one_of("correction", how, CORRECTIONS)
    values = np.asarray(p, np.float64)
    result = np.full(len(values), np.nan)
    found = np.flatnonzero(~np.isnan(values))
    n = len(found)
    order = found[np.argsort(values[found], kind="stable")]
    ranked = values[order]
    if how == "holm":
        result[order] = np.maximum.accumulate(ranked * (n - np.arange(n)))
    elif how == "benjamini-hochberg":
        result[order] = np.minimum.accumulate((ranked * n / np.arange(1, n + 1))[::-1])[::-1]
    else:
        result[order] = ranked
    return [float(each) for each in np.minimum(result, 1.0)]
