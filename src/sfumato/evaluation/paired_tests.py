"""Paired tests: is a difference over a few seeds more than luck, how large is it, and how often was it looked for?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln, ndtri, stdtr, stdtrit

from sfumato.tables.bootstrap import Interval
from sfumato.tables.settings import one_of

MOST_EXACT = 200
"""Up to so many seeds the distribution of Wilcoxon's statistic is counted out."""
CORRECTIONS = ("holm", "benjamini-hochberg", "none")


@dataclass(frozen=True)
class TestResult:
    """A p value, NaN where there is none; `note` then says why."""

    p: float
    note: str = ""


def t_interval(values: Float[np.ndarray, "seeds"], level: float) -> Interval:
    """Student's interval for the mean over all seeds there could be (Student 1908)."""
    n = len(values)
    if not np.isfinite(values).all():
        return Interval(np.nan, np.nan, "none: not finite for every seed")
    if n < 2:
        return Interval(np.nan, np.nan, "none: one seed says nothing of another training")
    half = float(stdtrit(n - 1, (1 + level) / 2) * values.std(ddof=1) / np.sqrt(n))
    mean = float(values.mean())
    return Interval(mean - half, mean + half, f"another training: {100 * level:g}% t interval over {n} seeds")


def paired_t(differences: Float[np.ndarray, "seeds"]) -> TestResult:
    """The two-sided p of a mean difference of 0, by Student's t."""
    n = len(differences)
    if n < 2 or not np.isfinite(differences).all():
        return TestResult(np.nan, "one seed" if n < 2 else "not finite for every seed")
    spread = differences.std(ddof=1)
    if spread <= 1e-12 * max(1.0, float(np.abs(differences).max())):
        return TestResult(np.nan, "the same difference with every seed")
    t = differences.mean() / (spread / np.sqrt(n))
    return TestResult(float(2 * stdtr(n - 1, -abs(t))))


def wilcoxon(differences: Float[np.ndarray, "seeds"], alpha: float) -> TestResult:
    """The two-sided p of Wilcoxon's signed-rank test (1945), counted out, ties and all; differences of 0 are left out.

    Where so few seeds cannot reach `alpha` whatever they say, there is a note instead of a p: n seeds give no less
    than 2 / 2^n, which is .0625 for five and .031 for six.
    """
    kept = differences[differences != 0]
    n = len(kept)
    if not np.isfinite(kept).all():
        return TestResult(np.nan, "not finite for every seed")
    least = 2.0 ** (1 - n)
    if least > alpha:
        enough = int(np.ceil(1 - np.log2(alpha)))
        seeds = f"{n} seeds" if n == len(differences) else f"{n} seeds that differ"
        return TestResult(np.nan, f"{seeds} cannot reach {alpha:g} (least {min(least, 1.0):.4f}); {enough} could")
    if n > MOST_EXACT:
        from scipy.stats import wilcoxon as of_scipy

        return TestResult(float(of_scipy(kept, method="asymptotic").pvalue))
    # Ranks doubled, so that those shared by ties are whole numbers too.
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
    """Cohen's d of paired differences, mean over standard deviation, corrected for few seeds (Hedges 1981).

    NaN under three seeds, and where every seed gives the same difference.
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
    """How often a training of the one beats a training of the other, any seed against any; ties count half.

    Mann and Whitney's U over all pairs (Agarwal et al. 2021, *Deep reinforcement learning at the edge of the
    statistical precipice*).
    """
    if np.isnan(better).any() or np.isnan(worse).any():
        return float("nan")
    sign = 1.0 if high_is_better else -1.0
    one, other = sign * better[:, None], sign * worse[None, :]
    return float(((one > other) + 0.5 * (one == other)).mean())


def items_interval(drawn: Float[np.ndarray, "seeds draws"], level: float, over: str) -> Interval:
    """The percentile interval of the mean over these seeds, for other items."""
    values = drawn.mean(axis=0)
    return _percentiles(values, level, f"other items, these trainings: bootstrap over {over}")


def both_interval(
    drawn: Float[np.ndarray, "seeds draws"], level: float, over: str, rng: np.random.Generator
) -> Interval:
    """A two-way bootstrap: items are drawn anew, and seeds weighed anew, each on its own (as in Owen 2007, *The
    pigeonhole bootstrap*).

    Drawing so few seeds gives few different means, and an interval that is too narrow: of three seeds at 90% it held
    the truth 87% of the time. How far seeds lie from their mean is instead multiplied by normal numbers, stretched so
    that without any luck of items this is the t interval. What seeds and items do together counts more than once, so
    the interval is if anything too wide.
    """
    n, draws = drawn.shape
    if n < 2:
        return Interval(np.nan, np.nan, "none: one seed says nothing of another training")
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
    """p values as large as they must be because there are several; those that are NaN were not looked at.

    `holm` (Holm 1979) keeps the chance of a single false finding down; `benjamini-hochberg` (1995) the share of
    findings that are false, which lets more through.
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
