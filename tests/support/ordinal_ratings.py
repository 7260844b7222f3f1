"""Simulated ratings on an ordered scale, for tests and `bench/ordinal_dawid_skene.py`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.aggregation.aggregation import Aggregator
from sfumato.tables.beliefs import Beliefs

N_CLASSES = 5


@dataclass(frozen=True)
class Ratings:
    """Ratings on a scale of five, by people with a bias and normal noise; a tenth of them answer at random."""

    truth: np.ndarray
    bias: np.ndarray
    noise: np.ndarray
    guesses: np.ndarray
    beliefs: Beliefs

    @classmethod
    def drawn(cls, n_items: int, n_annotators: int, per_item: int, seed: int) -> Ratings:
        rng = np.random.default_rng(seed)
        truth = rng.choice(N_CLASSES, n_items, p=rng.dirichlet(np.full(N_CLASSES, 5.0)))
        bias, noise = rng.normal(0, 0.4, n_annotators), np.exp(rng.uniform(np.log(0.25), np.log(0.9), n_annotators))
        guesses = rng.random(n_annotators) < 0.1
        item = np.repeat(np.arange(n_items), per_item)
        who = np.concatenate([rng.choice(n_annotators, per_item, replace=False) for _ in range(n_items)])
        perceived = truth[item] + bias[who] + noise[who] * rng.normal(size=len(item))
        thresholds = np.arange(N_CLASSES - 1) + 0.5 + rng.uniform(-0.3, 0.3, N_CLASSES - 1)
        said = np.where(guesses[who], rng.integers(N_CLASSES, size=len(item)), np.searchsorted(thresholds, perceived))
        return cls(truth, bias, noise, guesses, Beliefs.from_numpy(item, who, said, list("12345")).as_ordered())

    def log_loss(self, method: Aggregator) -> float:
        labels = method.aggregate(self.beliefs).labels
        truth = self.truth[[int(item) for item in labels.items.to_pylist()]]
        return float(-np.log(np.maximum(labels.probs[np.arange(len(truth)), truth], 1e-6)).mean())
