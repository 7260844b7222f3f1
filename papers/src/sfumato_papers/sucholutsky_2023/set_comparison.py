"""What networks that learned each label set reach, by set and seed, and how sets compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.evaluation import RunPredictions
from sfumato.evaluation.metric import Metric
from sfumato.evaluation.run_scores import measure_runs
from sfumato.tables.soft_labels import SoftLabels
from sfumato_papers.finding import Estimate, Statement

Values = Mapping[str, Mapping[int, float]]
"""By label set and seed."""


def by_set(runs: Sequence[RunPredictions], labels: SoftLabels, metric: Metric) -> dict[str, dict[int, float]]:
    """A metric by label set and seed, the mean of networks."""
    measured = measure_runs(runs, people=labels, metrics=[metric], common=True, resamples=100)
    found: dict[str, dict[int, list[float]]] = {}
    for figures in measured.figures:
        for seed, value in zip(figures.seeds, figures.values, strict=True):
            found.setdefault(figures.target, {}).setdefault(seed, []).append(float(value))
    return {name: {seed: float(np.mean(each)) for seed, each in own.items()} for name, own in found.items()}


def paired(reference: Mapping[int, float], other: Mapping[int, float]) -> Estimate:
    """How much lower `other` is, seed by seed."""
    return Estimate.over_seeds([reference[seed] - other[seed] for seed in sorted(reference.keys() & other.keys())])


def band(values: Mapping[int, float]) -> tuple[float, float, float]:
    """The mean over seeds, and the ends of its interval."""
    found = Estimate.over_seeds(list(values.values()))
    return found.value, found.low, found.high


def u_shape(row: str, values: Values, names: Sequence[str]) -> Statement:
    """Whether the lowest cross-entropy along `names`, from hard to softest, is at neither end."""
    mean = {name: float(np.mean(list(values[name].values()))) for name in names}
    best = min(mean, key=lambda name: mean[name])
    ends = [paired(values[end], values[best]) for end in (names[0], names[-1])]
    return Statement(
        row,
        "a U-shaped relationship between label entropy and performance",
        holds=best not in (names[0], names[-1]) and min(each.low for each in ends) > 0,
        ours=f"{mean[names[0]]:.3f} hard, {mean[best]:.3f} {best}, {mean[names[-1]]:.3f} softest",
        how="lowest at neither end, by the paired interval over seeds",
    )
