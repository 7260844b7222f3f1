"""How often the intervals of metrics hold the figure that infinitely many items would give.

`python bench/evaluate_coverage.py [studies]` draws that many studies from three populations of predictions and crowds,
of 300, 1,000 and 3,000 items each, and prints for every metric the share of studies whose 95% interval holds the figure
of a million items of the same population. What is not between 93 and 97% is marked.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.evaluation import METRICS, MatchedLabels
from sfumato.evaluation.metrics import RMSCalibration, Wasserstein
from sfumato.tables.bootstrap import Bootstrap

N_CLASSES = 6
N_VOTES = 50
MANY = 1_000_000
POPULATIONS = {"too sure": 1.8, "as sure as right": 1.0, "too unsure": 0.6}
SIZES = (300, 1000, 3000)
ASKED = [member() for member in METRICS if member is not Wasserstein] + [
    Wasserstein(ordered=True),
    RMSCalibration(size=10),
]


def sample(n: int, sharpness: float, rng: np.random.Generator) -> MatchedLabels:
    """`n` items: people vote by a distribution that the model knows but for some noise, and sharpens.

    The crowd's first choice is drawn from what the model holds probable, so that a sharpness of 1 is calibrated.
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
    """Each metric's figure with very many items; for RMS the debiased one, which its intervals are about."""
    everything = drawn(MANY, sharpness, np.random.default_rng(99))
    bootstrap = Bootstrap.of(MANY, level=0.95, draws=100, rng=np.random.default_rng(0))
    asked = [RMSCalibration(each.size, "debiased") if isinstance(each, RMSCalibration) else each for each in ASKED]
    return [each.estimate(everything, bootstrap).value for each in asked]


def coverage(n: int, sharpness: float, figures: list[float], n_studies: int, draws: int = 1000) -> np.ndarray:
    """The share of studies whose interval holds the figure, one a metric; NaN intervals hold nothing."""
    held = np.zeros(len(ASKED))
    for study in range(n_studies):
        rng = np.random.default_rng([n, study])
        matched = drawn(n, sharpness, rng)
        bootstrap = Bootstrap.of(n, level=0.95, draws=draws, rng=rng)
        for i, (metric, figure) in enumerate(zip(ASKED, figures, strict=True)):
            between = metric.estimate(matched, bootstrap).interval
            held[i] += between.low <= figure <= between.high
    return held / n_studies


def label_of(metric: Any) -> str:
    """The metric's name, with the setting that tells two of it apart."""
    return f"{metric.name} (size {metric.size})" if isinstance(metric, RMSCalibration) else str(metric.name)


def main(n_studies: int) -> None:
    for name, sharpness in POPULATIONS.items():
        figures = true_figures(sharpness)
        columns = [coverage(n, sharpness, figures, n_studies) for n in SIZES]
        print(f"{name}: {n_studies} studies\n{'':28}{'figure':>9}" + "".join(f"{n:>9,}" for n in SIZES))
        for i, metric in enumerate(ASKED):
            cells = "".join(f"{c[i]:>8.1%}" + (" " if 0.93 <= c[i] <= 0.97 else "*") for c in columns)
            print(f"{label_of(metric):28}{figures[i]:>9.4f}{cells}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
