"""Prediction sets: how often they contain a new person's answer, for a model that is too sure."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.prediction_sets import MOST_FREQUENT, VOTES, calibrate_sets

GOAL = "Sets for 90% should contain the answer of a new person with probability 0.9 to 0.9 + 2 / items."
HEAD = ("items", "votes per item", "classes", "calibrated on votes", "on the most frequent class")
CELLS = [(n, votes, classes) for n in (50, 200, 1000) for votes in (1, 3, 10) for classes in (3, 10)]


def simulate(n_studies: int, processes: int) -> list[list[str]]:
    return [_cell(*cell, n_studies) for cell in CELLS]


def _cell(n: int, votes: int, n_classes: int, n_studies: int) -> list[str]:
    rng = np.random.default_rng([n, votes, n_classes])
    names = tuple(f"class-{k}" for k in range(n_classes))
    inside: dict[str, list[float]] = {VOTES: [], MOST_FREQUENT: []}
    for _ in range(n_studies):
        # Twice the items: the second half are new items, on which the votes of the first half set the threshold.
        logits = rng.normal(0, 1.5, (2 * n, n_classes))
        truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        predicted = truth**2 / (truth**2).sum(axis=1, keepdims=True)
        counts = rng.multinomial(votes, truth)
        items = pa.array([str(i) for i in range(2 * n)])
        matched = MatchedLabels(items, names, predicted, counts / votes, None, np.full(2 * n, votes))
        found = calibrate_sets(matched, 0.9, folds=2, rng=rng)
        for name in inside:
            inside[name].append(found.coverage.of(name).coverage)
    cells = [f"{np.mean(each):.3f} ± {2 * np.std(each) / np.sqrt(n_studies):.3f}" for each in inside.values()]
    return [f"{n:,}", str(votes), str(n_classes), *cells]
