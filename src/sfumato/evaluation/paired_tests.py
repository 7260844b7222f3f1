"""Intervals over seeds, and corrections for multiple comparisons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

from sfumato.tables.bootstrap import Interval
from sfumato.tables.setting_checks import one_of

CORRECTIONS = ("holm", "benjamini-hochberg", "none")
ONE_SEED = "none: one seed does not show the variation between trainings"


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


def correction_factors(p: Sequence[float], how: str) -> list[float]:
    """By what each p value is multiplied to correct it for multiple comparisons; NaN values do not count.

    An interval at the level `1 - alpha / factor` excludes 0 exactly if the corrected p value is below alpha. `holm`
    (Holm 1979) controls the probability of any false finding; `benjamini-hochberg` (1995) the share of false findings,
    which is less strict.
    """
    one_of("correction", how, CORRECTIONS)
    values = np.asarray(p, np.float64)
    result = np.full(len(values), np.nan)
    found = np.flatnonzero(~np.isnan(values))
    n = len(found)
    order = found[np.argsort(values[found], kind="stable")]
    ranked = values[order]
    if how == "holm":
        raised = np.maximum.accumulate(ranked * (n - np.arange(n)))
    elif how == "benjamini-hochberg":
        raised = np.minimum.accumulate((ranked * n / np.arange(1, n + 1))[::-1])[::-1]
    else:
        raised = ranked
    largest = 1.0 if how == "none" else float(n)
    result[order] = np.divide(raised, ranked, out=np.full(n, largest), where=ranked > 0)
    return [float(each) for each in np.maximum(result, 1.0)]


def corrected(p: Sequence[float], how: str) -> list[float]:
    """p values corrected for multiple comparisons, at most 1."""
    return [
        min(value * factor, 1.0) if value == value else value
        for value, factor in zip(p, correction_factors(p, how), strict=True)
    ]
