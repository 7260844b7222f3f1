"""Wording: figures as sentences and sources, the same in every section about models."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.evaluation.comparison import Difference
from sfumato.reporting.data import DataSource
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
