"""Overdispersion: how much more answers about an item vary than independent errors would, and the temperature for it.

People make the same errors on hard items. A posterior that multiplies their likelihoods as if errors were independent
is overconfident. As in quasi-likelihood (Wedderburn 1974), the log-likelihood is divided by the overdispersion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from sfumato.aggregation.answer_matrix import AnswerMatrix

MOST_ITEMS, MOST_CLASSES = 20_000, 20
"""More items are not needed for one number; only the most frequent classes are compared."""
AVERAGE_ITEMS = 20
"""Items without overdispersion added to the others, so that a few items do not determine it."""
SHARED_ERRORS = 1.5
"""Errors that people share also change the estimated class, so that the estimate is too low: the factor by which it is
raised, chosen on simulated crowds (`bench/crowds.py`)."""


@dataclass(frozen=True, eq=False)
class _Ratios:
    """Log-likelihood ratios of one class to the others: of every answer, and their mean and variance per annotator."""

    of_answer: Float[np.ndarray, "keys classes"]
    mean: Float[np.ndarray, "annotators classes"]
    variance: Float[np.ndarray, "annotators classes"]

    @classmethod
    def of(cls, rows: Float[np.ndarray, "keys classes"], own: int, others: np.ndarray, n_classes: int) -> _Ratios:
        logs = np.log(rows[:, own, None]) - np.log(rows[:, others])
        chance = rows[:, own].reshape(-1, n_classes)
        per_annotator = logs.reshape(-1, n_classes, len(others))
        mean = np.einsum("wl,wlc->wc", chance, per_annotator)
        square = np.einsum("wl,wlc->wc", chance, per_annotator**2)
        return cls(logs, mean, np.maximum(square - mean**2, 0))


def overdispersion(
    answers: AnswerMatrix, rows: Float[np.ndarray, "keys classes"], probs: Float[np.ndarray, "items classes"]
) -> float:
    """The variance between items of the log-likelihood ratios of their answers, given the most probable class, relative
    to the variance for independent answers with the confusions `rows` (as in `Confusions`)."""
    if answers.n_items > MOST_ITEMS:
        kept = np.zeros(answers.n_items, bool)
        kept[np.linspace(0, answers.n_items - 1, MOST_ITEMS).astype(np.int64)] = True
        answers, probs = answers.only(kept), probs[kept]
    first = probs.argmax(axis=1)
    of_row = first[answers.item]
    compared = np.argsort(-np.bincount(first, minlength=answers.n_classes), kind="stable")[:MOST_CLASSES]
    weight = answers.weights()
    observed = expected = 0.0
    for own in compared:
        chosen = np.flatnonzero(of_row == own)
        if not len(chosen):
            continue
        ratios = _Ratios.of(rows, int(own), compared[compared != own], answers.n_classes)
        item, annotator, w = answers.item[chosen], answers.annotator[chosen], weight[chosen]
        for other in range(ratios.mean.shape[1]):
            ratio = _of_rows(answers, chosen, ratios.of_answer[:, other])
            observed += float((np.bincount(item, w * (ratio - ratios.mean[annotator, other])) ** 2).sum())
        expected += float((w**2 @ ratios.variance[annotator]).sum())
    if expected <= 0:
        return 1.0
    usual = expected * AVERAGE_ITEMS / answers.n_items
    return (observed + usual) / (expected + usual)


def _of_rows(
    answers: AnswerMatrix, chosen: Int[np.ndarray, "chosen"], of_key: Float[np.ndarray, "keys"]
) -> Float[np.ndarray, "chosen"]:
    """The value of each chosen answer; a belief counts as a fraction of a vote for each class."""
    if answers.soft is None:
        return np.asarray(of_key[answers.key[chosen]])
    per_annotator = of_key.reshape(-1, answers.n_classes)
    return np.asarray((answers.soft[chosen] * per_annotator[answers.annotator[chosen]]).sum(axis=1))


def likelihood_temperature(
    answers: AnswerMatrix, rows: Float[np.ndarray, "keys classes"], probs: Float[np.ndarray, "items classes"]
) -> float:
    """The temperature of a posterior, for errors that people share; at least `SHARED_ERRORS`."""
    return SHARED_ERRORS * max(1.0, overdispersion(answers, rows, probs))
