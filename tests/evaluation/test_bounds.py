"""Intervals of scores and differences stay within the bounds of their metric, with few seeds and few items too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato.evaluation.comparison import compare_runs, scores_over_seeds
from sfumato.evaluation.metrics import METRICS
from sfumato.evaluation.run_predictions import RunPredictions
from sfumato.evaluation.run_scores import measure_runs
from sfumato.tables.soft_labels import SoftLabels

ITEMS = [str(i) for i in range(24)]
BOUNDED = {metric().name: metric().bounds for metric in METRICS if getattr(metric, "needs", ()) == ()}


def labels(probs: np.ndarray) -> SoftLabels:
    return SoftLabels.from_numpy(ITEMS[: len(probs)], probs / probs.sum(axis=1, keepdims=True), ["a", "b", "c"], 5)


@pytest.mark.filterwarnings("ignore::sfumato.tables.errors.SfumatoWarning")
@given(st.integers(0, 10_000), st.floats(0, 1), st.floats(0, 1))
@example(0, 0.0, 1.0)
@example(1, 1.0, 0.9)
@settings(max_examples=6, deadline=None)
def test_intervals_stay_within_the_bounds(seed: int, far: float, other: float) -> None:
    rng = np.random.default_rng(seed)
    people = np.eye(3)[rng.integers(0, 3, 24)] * 4 + rng.multinomial(1, [1 / 3] * 3, 24)
    runs = [
        RunPredictions(target, "ffn", k, labels((1 - noise) * people + noise * rng.dirichlet([1] * 3, 24) + 1e-3))
        for target, noise in (("hard", far), ("soft", other))
        for k in range(2)
    ]
    metrics = [metric() for metric in METRICS if metric().name in BOUNDED]
    measured = measure_runs(runs, people=labels(people), metrics=metrics, resamples=100, rng=rng, any_estimand=True)
    for row in scores_over_seeds(measured).scores:
        least, most = BOUNDED[row.metric]
        ends = [row.low, row.high]
        assert all(np.isnan(end) or least <= end <= most for end in ends), row
    for row in compare_runs(measured, baseline="hard").differences:
        least, most = BOUNDED[row.metric]
        ends = [row.low, row.high]
        assert all(np.isnan(end) or least - most <= end <= most - least for end in ends), row


@pytest.mark.filterwarnings("ignore::sfumato.tables.errors.SfumatoWarning")
def test_two_seeds_near_one_would_leave_the_bounds() -> None:
    """With accuracies of 1 and 0.75 the t interval goes from -0.71 to 2.46: it is cut at 0 and 1."""
    right = np.eye(3)[np.arange(12) % 3] * 9 + 1
    wrong = right.copy()
    wrong[:3] = np.roll(right[:3], 1, axis=1)
    runs = [RunPredictions("soft", "ffn", k, labels(each)) for k, each in enumerate((right, wrong))]
    metric = next(each() for each in METRICS if each().name == "accuracy")
    measured = measure_runs(runs, people=labels(right), metrics=[metric], resamples=100, any_estimand=True)
    row = scores_over_seeds(measured).scores[0]
    assert (row.value, row.low, row.high) == (0.875, 0.0, 1.0)
