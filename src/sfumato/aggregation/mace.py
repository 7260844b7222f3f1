"""MACE: an annotator either knows the answer, or answers by habit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from scipy.special import betaln, digamma, expit, gammaln

from sfumato.aggregation.aggregation import Aggregation, PreviousAggregation, refuse_anonymous
from sfumato.aggregation.aggregation_options import AggregationInputs
from sfumato.aggregation.answer_matrix import AnswerMatrix
from sfumato.aggregation.em import check_iterations, keep_known, run_em
from sfumato.aggregation.pass_engine import Sums
from sfumato.aggregation.passes import OwnClassPass, VotePass
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.estimand import Estimand
from sfumato.tables.setting_checks import bad_setting

FLOOR = 1e-10
"""The smallest share of a class."""


@dataclass(frozen=True, eq=False)
class Habits:
    """Per annotator, counts of known and guessed answers (with prior), and of the classes of guessed answers; and the
    class shares."""

    annotators: Any
    knowing: Float[np.ndarray, "annotators 2"]
    habit: Float[np.ndarray, "annotators classes"]
    shares: Float[np.ndarray, "classes"]


@dataclass(frozen=True)
class Mace:
    """Annotators either know the answer or guess by habit.

    An annotator knows the class with probability theta_w; else the answer is class l with probability xi_w(l),
    independent of the item (Hovy et al. 2013). Fitted by variational Bayes with priors Beta(`known_prior`,
    `known_prior`) on theta and Dirichlet(`habit_prior`) on xi. Unlike the original, it estimates the shares of the
    classes: with equal shares it is less accurate than the majority where classes are rare. It starts from the shares
    of votes, so the result depends neither on a seed nor on the names of annotators. Its posterior assumes independent
    errors: calibrate it before use as a probability. Soft beliefs count as fractional votes.
    """

    known_prior: float = 1.0
    habit_prior: float = 10.0
    iterations: int = 100
    tolerance: float = 1e-6

    name: ClassVar[str] = "mace"
    estimand: ClassVar[Estimand] = Estimand.TRUTH

    def __post_init__(self) -> None:
        for name, value in (("known_prior", self.known_prior), ("habit_prior", self.habit_prior)):
            if not 0 < value < float("inf"):
                raise bad_setting(name, value, "a number above 0")
        check_iterations(self.iterations, self.tolerance)

    def aggregate(self, beliefs: Beliefs | Counts, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        refuse_anonymous(answers, self.name)
        votes = answers.as_votes()
        fitted = run_em(self, votes, _MaceEm(self, votes), previous)
        knowing = fitted.model.knowing
        return Aggregation.of(self, answers, fitted, knows=knowing[:, 0] / knowing.sum(axis=1))


@dataclass(frozen=True, eq=False)
class _MaceEm:
    settings: Mace
    answers: AnswerMatrix

    def first_pass(self) -> VotePass:
        return VotePass(by_class=False)

    def initial_model(self, sums: Sums) -> Habits:
        return self._estimate(sums.counts, sums.shares)

    def continue_from(self, first: Habits, previous: Habits) -> Habits:
        knowing = keep_known(first.knowing, first.annotators, previous.knowing, previous.annotators)
        habit = keep_known(first.habit, first.annotators, previous.habit, previous.annotators)
        return Habits(first.annotators, knowing, habit, previous.shares)

    def e_step(self, model: Habits) -> OwnClassPass:
        knew, guessed = _log_evidence(model)
        log_share = np.log(np.maximum(model.shares, FLOOR))
        return OwnClassPass((np.logaddexp(knew, guessed) - guessed).ravel(), guessed.ravel(), log_share)

    def m_step(self, sums: Sums, model: Habits) -> Habits:
        knew, guessed = _log_evidence(model)
        return self._estimate(sums.counts * expit(knew - guessed).ravel(), sums.shares)

    def objective(self, model: Habits, sums: Sums) -> float:
        """The evidence lower bound: the expected likelihood minus the divergence of the parameters from the prior."""
        a, h, n_classes = self.settings.known_prior, self.settings.habit_prior, self.answers.n_classes
        log_known, log_habit = _expected_logs(model.knowing), _expected_logs(model.habit)
        cost = ((model.knowing - a) * log_known).sum() - betaln(model.knowing[:, 0], model.knowing[:, 1]).sum()
        cost += len(model.knowing) * betaln(a, a)
        cost += ((model.habit - h) * log_habit).sum() + gammaln(model.habit.sum(axis=1)).sum()
        cost += len(model.habit) * (n_classes * gammaln(h) - gammaln(n_classes * h)) - gammaln(model.habit).sum()
        return sums.log_likelihood - float(cost)

    def _estimate(self, known: Float[np.ndarray, "keys"], of_class: Float[np.ndarray, "classes"]) -> Habits:
        """The model from the number of known answers per pair, the rest being guessed, and of items per class."""
        shape = (self.answers.n_annotators, self.answers.n_classes)
        guessed = np.maximum(self.answers.votes_per_key - known, 0.0).reshape(shape)
        knowing = np.stack([known.reshape(shape).sum(axis=1), guessed.sum(axis=1)], axis=1)
        knowing += self.settings.known_prior
        return Habits(self.answers.annotators, knowing, guessed + self.settings.habit_prior, of_class / of_class.sum())


def _log_evidence(model: Habits) -> tuple[np.ndarray, np.ndarray]:
    """The expected log-probability of knowing, and of guessing each class."""
    log_known = _expected_logs(model.knowing)
    return log_known[:, :1], log_known[:, 1:] + _expected_logs(model.habit)


def _expected_logs(counts: Float[np.ndarray, "annotators options"]) -> Float[np.ndarray, "annotators options"]:
    """The expected log-probability of each option under the Dirichlet distribution with these counts."""
    return np.asarray(digamma(counts) - digamma(counts.sum(axis=1, keepdims=True)))
