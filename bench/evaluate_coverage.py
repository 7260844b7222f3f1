"""Coverage of the metrics' intervals: how often a 95% interval contains the true value.

`python bench/evaluate_coverage.py [STUDIES]` simulates this many studies from three populations of predictions and
votes, with 300, 1,000 and 3,000 items, and prints for every metric the share of studies whose 95% interval contains the
value for one million items of the same population. An asterisk marks shares below 93% or above 97%.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.evaluation import METRICS, MatchedLabels
from sfumato.evaluation.metrics import EntropyDifference, RMSCalibration, Wasserstein
from sfumato.tables.bootstrap import Bootstrap

N_CLASSES = 6
N_VOTES = 50
MANY = 1_000_000
POPULATIONS = {"overconfident": 1.8, "calibrated": 1.0, "underconfident": 0.6}
SIZES = (300, 1000, 3000)
METRICS_UNDER_TEST = [member() for member in METRICS if member not in (Wasserstein, EntropyDifference)] + [
    EntropyDifference(entropy="plug-in"),  # the corrected one has no interval
    Wasserstein(ordered=True),
    RMSCalibration(size=10),
]


def sample(n: int, sharpness: float, rng: np.random.Generator) -> MatchedLabels:
    """`n` simulated items. The model predicts a distribution p, raised to the power `sharpness`.

    The class most people choose is drawn from p, so the model is calibrated if `sharpness` is 1. Half of people's
    probability is on this class, the other half is distributed as p.
    """
    logits = rng.normal(0, 1.7, (n, N_CLASSES))
    believed = _softmax(logits)
    kind = (believed.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, N_CLASSES - 1)
    crowd = 0.5 * believed + 0.5 * np.eye(N_CLASSES)[kind]
    people = rng.multinomial(N_VOTES, crowd / crowd.sum(axis=1, keepdims=True)) / N_VOTES
    predicted = _softmax(sharpness * logits)
    names = pa.array([str(i) for i in range(n)])
    votes = np.full(n, N_VOTES)
    return MatchedLabels(names, tuple("abcdef"), predicted, people, kind, votes)


def _softmax(logits: np.ndarray) -> np.ndarray:
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def true_figures(sharpness: float) -> list[float]:
    """Each metric's value for a million items; for RMS the debiased value, which its intervals estimate."""
    everything = sample(MANY, sharpness, np.random.default_rng(99))
    bootstrap = Bootstrap.of(MANY, level=0.95, draws=100, rng=np.random.default_rng(0))
    metrics = [
        RMSCalibration(each.size, "debiased") if isinstance(each, RMSCalibration) else each
        for each in METRICS_UNDER_TEST
    ]
    return [each.estimate(everything, bootstrap).value for each in metrics]


def coverage(n: int, sharpness: float, figures: list[float], n_studies: int, draws: int = 1000) -> np.ndarray:
    """The share of studies whose interval contains the true value, per metric; a NaN interval contains nothing."""
    n_covered = np.zeros(len(METRICS_UNDER_TEST))
    for study in range(n_studies):
        rng = np.random.default_rng([n, study])
        matched = sample(n, sharpness, rng)
        bootstrap = Bootstrap.of(n, level=0.95, draws=draws, rng=rng)
        for i, (metric, figure) in enumerate(zip(METRICS_UNDER_TEST, figures, strict=True)):
            interval = metric.estimate(matched, bootstrap).interval
            n_covered[i] += interval.low <= figure <= interval.high
    return n_covered / n_studies


def label_of(metric: Any) -> str:
    """The metric's name, with its bin size for the RMS calibration error, which is listed twice, and its entropy."""
    setting = getattr(metric, "entropy", "") or (f"size {metric.size}" if isinstance(metric, RMSCalibration) else "")
    return f"{metric.name} ({setting})" if setting else str(metric.name)


def main(n_studies: int) -> None:
    for name, sharpness in POPULATIONS.items():
        figures = true_figures(sharpness)
        columns = [coverage(n, sharpness, figures, n_studies) for n in SIZES]
        print(f"{name}: {n_studies} studies\n{'':28}{'value':>9}" + "".join(f"{n:>9,}" for n in SIZES))
        for i, metric in enumerate(METRICS_UNDER_TEST):
            cells = "".join(f"{c[i]:>8.1%}" + (" " if 0.93 <= c[i] <= 0.97 else "*") for c in columns)
            print(f"{label_of(metric):28}{figures[i]:>9.4f}{cells}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
