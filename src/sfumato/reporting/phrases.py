"""Wording: figures as sentences and sources, the same in every section about models.

Names and counts as a report says them: names cut where they are long, and still no two the same.

Estimates: a number with the interval it lies in, and how both are said.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import final

import numpy as np
from jaxtyping import Float
from scipy.stats import binom

from sfumato.evaluation.comparison import Difference
from sfumato.reporting.blocks import DataSource
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.scores import RunScore

WORDS = {
    "accuracy": "accuracy",
    "accuracy_original": "accuracy against the original label",
    "second_best_accuracy": "accuracy of the second choice",
    "cross_entropy": "cross-entropy",
    "kl_divergence": "KL divergence",
    "brier": "Brier score",
    "ece": "expected calibration error",
    "rms_calibration": "RMS calibration error",
    "aurc": "area under risk and coverage",
    "entropy_pearson": "correlation of entropies",
}
"""What metrics are called in a report."""
JOIN = "\u00a0"
"""A space at which no line is broken."""


def worded(metric: str) -> str:
    """A metric in words."""
    return WORDS.get(metric, metric.replace("_", " "))


def figure(value: float, *, signed: bool = False) -> str:
    """A number with three decimals, a minus that is one, and a sign before gains where asked for."""
    text = f"{value:+.3f}" if signed else f"{value:.3f}"
    return text.replace("-", "−")


def between(low: float, high: float, *, signed: bool = False) -> str:
    """Both ends of an interval; a dash where there is none."""
    if low != low or high != high:
        return "–"
    return f"{figure(low, signed=signed)}{JOIN}to{JOIN}{figure(high, signed=signed)}"


def interval_of(difference: Difference) -> tuple[float, float, str]:
    """The widest interval there is, and what it is over: seeds and items, else seeds, else items alone."""
    n = f"{difference.n_seeds} seed{'s' * (difference.n_seeds != 1)}"
    if difference.both_low == difference.both_low:
        return difference.both_low, difference.both_high, f"over {n} and {difference.n_items:,} items"
    if difference.low == difference.low:
        return difference.low, difference.high, f"over {n}"
    return difference.items_low, difference.items_high, f"over {difference.n_items:,} items, one training each"


def is_apart(difference: Difference) -> bool:
    """Whether the interval leaves 0 out."""
    low, high, _ = interval_of(difference)
    return low == low and low * high > 0


def told(difference: Difference, level: float = 0.95) -> str:
    """A difference as a clause: what was found, and between what it lies."""
    low, high, over = interval_of(difference)
    if low != low:
        return f"{figure(difference.difference, signed=True)} (no interval: {difference.both_covers})"
    return (
        f"{figure(difference.difference, signed=True)} ({level:.0%} interval {between(low, high, signed=True)}, {over})"
    )


def drawn_interval(score: RunScore) -> tuple[float | None, float | None]:
    """The interval over seeds of a score; None where there was one seed."""
    return (None, None) if score.low != score.low else (score.low, score.high)


def evaluation_source(
    evidence: ReportInputs, metrics: Sequence[str], *, strata: bool = False, resamples: int, folder: str = "runs"
) -> DataSource:
    """The command that computes these figures anew."""
    runs = evidence.origins.get(folder)
    scores = evidence.origins.get("scores")
    if runs is None and scores is not None:
        return evidence.source("scores")
    people = next((each.file for key, each in evidence.origins.items() if key.partition("/")[0] == "labels"), "LABELS")
    parts = [
        f"sfumato evaluate --runs {runs.file if runs else 'RUNS'} --people {people}",
        f"--metrics {','.join(metrics)}",
        *(["--strata agree"] if strata else []),
        f"--resamples {resamples} --common -o scores.csv --differences differences.csv",
    ]
    original = evidence.origins.get("original")
    if "accuracy_original" in metrics and original is not None:
        parts.insert(1, f"--original {original.file}")
    return DataSource(" ".join(parts), runs.file if runs else "", "Means over seeds; the draws of items have seed 0.")


LONGEST_NAME = 28
DIRECTIONS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
"""Characters that turn what follows them around, and would turn around the sentence that a name stands in."""


def shortened(text: str, most: int = LONGEST_NAME) -> str:
    """The text without what would turn its surroundings around; of a long one the beginning, and that there is more."""
    plain = "".join(each for each in text if unicodedata.bidirectional(each) not in DIRECTIONS)
    return plain if len(plain) <= most else f"{plain[: most - 1].rstrip()}…"


def short_names(names: Sequence[str], most: int = LONGEST_NAME) -> list[str]:
    """Every name short enough for an axis; those that would be the same when cut are numbered."""
    short = [shortened(name, most) for name in names]
    return [name if short.count(name) == 1 else f"{shortened(name, most - 4)} {i + 1}" for i, name in enumerate(short)]


def counted(n: int, what: str) -> str:
    """`1 item`, `2,000 items`."""
    return f"{n:,} {what}{'s' * (n != 1)}"


LEVEL = 0.95


@final
@dataclass(frozen=True)
class DisplayedEstimate:
    """A figure and its 95% interval, both NaN where there is nothing to go by; `n` is how many it rests on."""

    value: float
    low: float
    high: float
    n: int

    def percent(self, decimals: int | None = None) -> str:
        """`1.2% (0.9% to 1.6%)`."""
        places = _places(100 * (self.high - self.low)) if decimals is None else decimals
        return self._said(lambda value: f"{100 * value:.{places}f}%")

    def figure(self, decimals: int | None = None, unit: str = "") -> str:
        """`0.32 (0.29 to 0.35)`, with as many decimals as its interval calls for."""
        places = _places(self.high - self.low) if decimals is None else decimals
        return self._said(lambda value: f"{value:,.{places}f}", unit)

    def _said(self, shown, unit: str = "") -> str:  # type: ignore[no-untyped-def]
        after = f" {unit}" if unit else ""
        if self.value != self.value:
            return "unknown"
        if self.low != self.low:
            return f"{shown(self.value)}{after}"
        return f"{shown(self.value)}{after} ({shown(self.low)} to {shown(self.high)})"


def share_of(n: int, of: int) -> DisplayedEstimate:
    """The share `n / of`, with Wilson's score interval (1927): never below 0 nor above 1, sound for few."""
    if not of:
        return DisplayedEstimate(np.nan, np.nan, np.nan, 0)
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    share = n / of
    middle = (share + z**2 / (2 * of)) / (1 + z**2 / of)
    reach = z / (1 + z**2 / of) * np.sqrt(share * (1 - share) / of + z**2 / (4 * of**2))
    low, high = max(middle - reach, 0.0), min(middle + reach, 1.0)
    return DisplayedEstimate(share, 0.0 if n == 0 else float(low), 1.0 if n == of else float(high), of)


def mean_of(values: Float[np.ndarray, "values"]) -> DisplayedEstimate:
    """The mean, with the normal interval of its standard error; of fewer than two values without one.

    For means over many; of a few the interval is too narrow.
    """
    if not len(values):
        return DisplayedEstimate(np.nan, np.nan, np.nan, 0)
    mean = float(values.mean())
    if len(values) < 2:
        return DisplayedEstimate(mean, np.nan, np.nan, len(values))
    reach = NormalDist().inv_cdf((1 + LEVEL) / 2) * float(values.std(ddof=1)) / np.sqrt(len(values))
    return DisplayedEstimate(mean, mean - reach, mean + reach, len(values))


def median_of(values: Float[np.ndarray, "values"]) -> DisplayedEstimate:
    """The median, between the two order statistics that hold it with 95% at least, whatever the distribution.

    Without an interval where there are too few values for one (Conover 1999, section 3.2).
    """
    n = len(values)
    if not n:
        return DisplayedEstimate(np.nan, np.nan, np.nan, 0)
    ordered = np.sort(values)
    below = int(binom.ppf((1 - LEVEL) / 2, n, 0.5))
    if below < 1:
        return DisplayedEstimate(float(np.median(ordered)), np.nan, np.nan, n)
    return DisplayedEstimate(float(np.median(ordered)), float(ordered[below - 1]), float(ordered[n - below]), n)


def _places(width: float) -> int:
    """So many decimals that an interval of this width is shown in two digits or so."""
    if width != width or width <= 0:
        return 2
    return int(min(max(1 - np.floor(np.log10(width)), 0), 4))
