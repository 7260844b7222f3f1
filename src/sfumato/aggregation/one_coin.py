"""One-coin Dawid-Skene: one accuracy per annotator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.aggregation.aggregation import Aggregation, PreviousAggregation, refuse_anonymous
from sfumato.aggregation.aggregation_options import AggregationInputs
from sfumato.aggregation.answer_matrix import AnswerMatrix
from sfumato.aggregation.em import check_iterations, keep_known, run_em
from sfumato.aggregation.pass_engine import Sums
from sfumato.aggregation.passes import OwnClassPass, VotePass
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.estimand import Estimand
from sfumato.tables.setting_checks import not_negative

FLOOR = 1e-10


@dataclass(frozen=True, eq=False)
class Accuracies:
    """The accuracy of each annotator, the class shares, and the accuracy of all annotators together."""

    annotators: Any
    accuracy: Float[np.ndarray, "annotators"]
    shares: Float[np.ndarray, "classes"]
    pooled: float


@dataclass(frozen=True)
class OneCoin:
    """One accuracy per annotator.

    An answer is the true class with probability s_w, else any other class with equal probability (Zhang et al. 2016).
    `prior` adds this many answers of average accuracy to each annotator; 0 is the classic method. One number per
    annotator instead of K x K: prefer it to `dawid-skene` with few answers per annotator or many classes. Soft beliefs
    count as fractional votes.
    """

    prior: float = 5.0
    iterations: int = 100
    tolerance: float = 1e-6

    name: ClassVar[str] = "one-coin"
    estimand: ClassVar[Estimand] = Estimand.TRUTH

    def __post_init__(self) -> None:
        not_negative("prior", self.prior)
        check_iterations(self.iterations, self.tolerance)

    def aggregate(self, beliefs: Beliefs | Counts, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        refuse_anonymous(answers, self.name)
        votes = answers.as_votes()
        fitted = run_em(self, votes, _OneCoinEm(self.prior, votes), previous)
        return Aggregation.of(self, answers, fitted, accuracy=fitted.model.accuracy)


@dataclass(frozen=True, eq=False)
class _OneCoinEm:
    prior: float
    answers: AnswerMatrix

    def first_pass(self) -> VotePass:
        return VotePass(by_class=False)

    def initial_model(self, sums: Sums) -> Accuracies:
        return self._estimate(sums, float(sums.counts.sum() / self._answers_of.sum()))

    def continue_from(self, first: Accuracies, previous: Accuracies) -> Accuracies:
        accuracy = keep_known(first.accuracy, first.annotators, previous.accuracy, previous.annotators)
        return Accuracies(first.annotators, accuracy, previous.shares, first.pooled)

    def e_step(self, model: Accuracies) -> OwnClassPass:
        gain, base = coin_evidence(model.accuracy, self.answers.n_classes)
        return OwnClassPass(gain, base, np.log(np.maximum(model.shares, FLOOR)))

    def m_step(self, sums: Sums, model: Accuracies) -> Accuracies:
        return self._estimate(sums, model.pooled)

    def objective(self, model: Accuracies, sums: Sums) -> float:
        s = np.clip(model.accuracy, FLOOR, 1 - FLOOR)
        lean = model.pooled * np.log(s) + (1 - model.pooled) * np.log(1 - s)
        return sums.log_likelihood + self.prior * float(lean.sum())

    def _estimate(self, sums: Sums, pooled: float) -> Accuracies:
        right = sums.counts.reshape(self.answers.n_annotators, -1).sum(axis=1)
        accuracy = (right + self.prior * pooled) / (self._answers_of + self.prior)
        return Accuracies(self.answers.annotators, accuracy, sums.shares / sums.shares.sum(), pooled)

    @cached_property
    def _answers_of(self) -> Float[np.ndarray, "annotators"]:
        """The weighted number of answers of each annotator."""
        return np.asarray(self.answers.votes_per_key.reshape(self.answers.n_annotators, -1).sum(axis=1))


def coin_evidence(accuracy: Float[np.ndarray, "annotators"], n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """The log-likelihood gain of the named class over the others, and the base for all, per annotator and class."""
    s = np.clip(accuracy, FLOOR, 1 - FLOOR)
    base = np.log((1 - s) / max(n_classes - 1, 1))
    return np.repeat(np.log(s) - base, n_classes), np.repeat(base, n_classes)
