"""Simulated crowds with known classes, in cells of the number of classes and of answers per annotator.

Settings are chosen on the world `tuning` and confirmed on the world `confirmation`, whose annotators have errors of
another form. In `tuning` an annotator has one skill, deviations per class and own errors around those of the crowd,
which go to all other classes, to neighbors on a scale, or to a similar class. In `confirmation` confusion matrices
differ from a common one in every entry, or people guess by habit. Both have spammers, skewed classes, and items on
which people share errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from sfumato.tables.beliefs import Beliefs

SKEWS = (1.0, 3.0, 30.0)
ANSWERS_PER_ITEM = (3, 5, 10)


@dataclass(frozen=True)
class Cell:
    """Crowds with so many classes, whose annotators gave few (about 5 to 20) or many (40 to 400) answers each."""

    n_classes: int
    few: bool

    @property
    def name(self) -> str:
        return f"{self.n_classes} classes, {'few' if self.few else 'many'} answers"


CELLS = tuple(Cell(k, few) for k in (2, 4, 8, 20) for few in (True, False))


@dataclass(frozen=True, eq=False)
class SimulatedCrowd:
    """Hard votes of people, and the true class of every item, in the order of the beliefs."""

    truth: np.ndarray
    item: np.ndarray
    annotator: np.ndarray
    answer: np.ndarray
    beliefs: Beliefs
    hard: float

    @classmethod
    def drawn(cls, world: str, cell: Cell, seed: int) -> SimulatedCrowd:
        """1,500 to 8,000 answers, 3 to 10 per item; people share errors on 0 to 25% of the items."""
        rng = np.random.default_rng([seed, cell.n_classes, cell.few, list(WORLDS).index(world)])
        k, per_item = cell.n_classes, int(rng.choice(ANSWERS_PER_ITEM))
        n = max(int(np.exp(rng.uniform(np.log(1500), np.log(8000)))) // per_item, 100)
        per_annotator = rng.uniform(5, 20) if cell.few else np.exp(rng.uniform(np.log(40), np.log(400)))
        n_annotators = int(np.clip(n * per_item / per_annotator, per_item + 3, 2000))
        truth = rng.choice(k, n, p=rng.dirichlet(np.full(k, rng.choice(SKEWS))))
        confusion = WORLDS[world](rng, n_annotators, k)
        for w in np.flatnonzero(rng.random(n_annotators) < rng.choice([0, 0, 0.15, 0.3])):
            always = np.eye(k)[rng.integers(k)] * 0.9 + 0.1 / k
            confusion[w] = (np.full(k, 1 / k), always, rng.dirichlet(np.ones(k)))[rng.integers(3)]
        hard, pull = float(rng.choice([0, 0.1, 0.25])), rng.uniform(0.3, 0.8)
        is_hard, lure = rng.random(n) < hard, rng.dirichlet(np.full(k, 0.5), n)
        if rng.random() < 0.5:
            # The usual errors for this class instead of errors of this item.
            wrong = confusion.mean(axis=0) * (1 - np.eye(k))
            lure = (wrong / wrong.sum(axis=1, keepdims=True))[truth]
        activity = rng.pareto(1.5, n_annotators) + 0.3 if rng.random() < 0.5 else np.ones(n_annotators)
        order = np.log(activity) + rng.gumbel(size=(n, n_annotators))
        annotator = np.argpartition(-order, per_item - 1, axis=1)[:, :per_item].ravel()
        item = np.repeat(np.arange(n), per_item)
        chance = confusion[annotator, truth[item]]
        chance = np.where(is_hard[item][:, None], (1 - pull) * chance + pull * lure[item], chance)
        draw = rng.random(len(item))[:, None] * chance.sum(axis=1, keepdims=True)
        answer = np.minimum((chance.cumsum(axis=1) < draw).sum(axis=1), k - 1)
        # Numbered by their first answer, as in an AnswerMatrix.
        _, place, annotator = np.unique(annotator, return_index=True, return_inverse=True)
        annotator = np.argsort(np.argsort(place))[annotator]
        names = [f"{i:05}" for i in item], [f"{w:05}" for w in annotator]
        beliefs = Beliefs.from_numpy(*names, answer, [str(c) for c in range(k)])
        return cls(truth, item, annotator, answer, beliefs, hard)


def _by_skill(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """The confusion matrix of every annotator (class, answer): a skill, deviations per class, and own errors."""
    own = np.arange(k)
    errors = np.ones((k, k))
    kind = rng.choice(["uniform", "neighbors", "pairs"]) if k > 2 else "uniform"
    if kind == "neighbors":
        errors = np.exp(-np.abs(np.subtract.outer(own, own)) / rng.uniform(0.5, 1.5))
    elif kind == "pairs":
        errors = np.full((k, k), 0.25 / k)
        errors[own, own ^ 1] = 1
    errors = errors * rng.gamma(3, 1 / 3, (k, k)) * (1 - np.eye(k))
    errors /= errors.sum(axis=1, keepdims=True)
    base = rng.uniform(0.42, 0.88) if k > 2 else rng.uniform(0.6, 0.88)
    of_class = np.clip(base + rng.normal(0, rng.choice([0.03, 0.12]), k), 0.35, 0.97)
    skill, spread = rng.normal(0, rng.choice([0.2, 0.6, 1.2]), n), float(rng.choice([0, 0.6]))
    right = expit(np.log(of_class / (1 - of_class)) + skill[:, None] + rng.normal(0, 1, (n, k)) * spread)
    concentration = np.exp(rng.uniform(np.log(3), np.log(100)))
    wrong = rng.standard_gamma(np.broadcast_to(np.maximum(concentration * errors, 0.02), (n, k, k)))
    wrong = np.maximum(wrong, 1e-12) * (1 - np.eye(k))
    confusion = wrong / wrong.sum(axis=2, keepdims=True) * (1 - right)[:, :, None]
    confusion[:, own, own] = right
    return np.asarray(confusion)


def _by_matrix(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """The confusion matrix of every annotator (class, answer): around a common one, guesses by habit, or both."""
    usual, base = np.zeros((k, k)), rng.uniform(0.55, 0.92)
    for c in range(k):
        right = np.clip(base + rng.normal(0, 0.1), 0.3, 0.98)
        usual[c, np.arange(k) != c] = (1 - right) * rng.dirichlet(np.full(k - 1, rng.choice([0.5, 2.0])))
        usual[c, c] = right
    concentration, kind = np.exp(rng.uniform(np.log(2), np.log(60))), rng.choice(["own matrix", "habit", "both"])
    found = np.broadcast_to(usual, (n, k, k)).copy()
    if kind != "habit":
        found = rng.standard_gamma(concentration * np.maximum(found, 0.01)) + 1e-12
        found /= found.sum(axis=2, keepdims=True)
    if kind != "own matrix":
        knows = rng.beta(6, 1.5, n)[:, None, None]
        found = knows * found + (1 - knows) * rng.dirichlet(np.ones(k), n)[:, None]
    return np.asarray(found)


WORLDS: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "tuning": _by_skill,
    "confirmation": _by_matrix,
}
