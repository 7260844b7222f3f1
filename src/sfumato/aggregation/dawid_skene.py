"""Dawid-Skene: a confusion matrix per annotator, estimated together with the true classes."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.aggregation.aggregation import Aggregation, Fitted, PreviousAggregation, refuse_anonymous
from sfumato.aggregation.aggregation_options import AggregationInputs
from sfumato.aggregation.answer_matrix import AnswerMatrix
from sfumato.aggregation.confusion_prior import FIRST_STRENGTH, ConfusionPrior
from sfumato.aggregation.em import check_iterations, keep_known, run_em
from sfumato.aggregation.overdispersion import likelihood_temperature
from sfumato.aggregation.pass_engine import Parts, Sums
from sfumato.aggregation.passes import BeliefPass, ConfusionPass, VirtualEvidencePass, VotePass, tempered
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.errors import BadTable
from sfumato.tables.estimand import Estimand
from sfumato.tables.growable_array import occurrences
from sfumato.tables.setting_checks import above_0, not_negative, one_of

FLOOR = 1e-10
"""The smallest probability in a confusion matrix, so that one answer never makes a class impossible."""
PRIOR_STEPS = 4
"""Iterations that estimate the prior."""
EVIDENCE = ("virtual", "fractional")


@dataclass(frozen=True, eq=False)
class Confusions:
    """Row `annotator * K + answer`: the probability of the answer for an item of each class; and the class shares.

    `annotators` are the names of the rows; `prior` is the prior of the confusion matrices.
    """

    annotators: Any
    rows: Float[np.ndarray, "keys classes"]
    shares: Float[np.ndarray, "classes"]
    prior: ConfusionPrior

    def of_annotators(self) -> Float[np.ndarray, "annotators classes classes"]:
        """The probability of each answer (last axis) for an item of each class, per annotator."""
        n_classes = len(self.shares)
        return self.rows.reshape(-1, n_classes, n_classes).transpose(0, 2, 1)


@dataclass(frozen=True)
class DawidSkene:
    """A confusion matrix per annotator.

    Annotator w answers l about an item of class c with probability Pi_w[c, l]; classes have probability rho_c. EM
    maximizes the likelihood, starting from the shares of votes. By default every annotator also gets answers of a prior
    that is estimated from the crowd (`confusion_prior.py`): one skill per annotator, the errors of all annotators
    together, and as many answers as annotators are alike. With a number, `prior` adds this many answers per class,
    distributed as those of all annotators together (their confusion matrix under the shares of votes, every item
    counting once). `prior=0` is the classic method (Dawid & Skene 1979).

    Soft answers are `virtual` evidence: a belief q has likelihood `sum_l q(l) Pi_w[c, l]` for class c, and counts
    towards Pi_w[c, l] by the probability of l given c and q (Pearl 1988). `evidence="fractional"` uses q(l) of a vote
    for each l instead, which gives less confident labels. Hard votes are the same in both.

    People make the same errors on hard items, so the posterior is overconfident. It is raised to the power
    1 / `temperature`, which does not change the most probable class: by default 1.5 times the overdispersion of the
    answers (`overdispersion.py`); 1 leaves the posterior as it is, and is the default for `prior=0`.
    """

    prior: float | None = None
    iterations: int = 100
    tolerance: float = 1e-6
    evidence: str = "virtual"
    temperature: float | None = None

    name: ClassVar[str] = "dawid-skene"
    estimand: ClassVar[Estimand] = Estimand.TRUTH

    def __post_init__(self) -> None:
        if self.prior is not None:
            not_negative("prior", self.prior)
        check_iterations(self.iterations, self.tolerance)
        one_of("evidence", self.evidence, EVIDENCE)
        if self.temperature is not None:
            above_0("temperature", self.temperature)

    def aggregate(self, beliefs: Beliefs | Counts, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        refuse_anonymous(answers, self.name)
        check_memory(answers)
        seen = answers if self.evidence == "virtual" else answers.as_votes()
        em = ConfusionEm(self.prior, seen)
        if self.prior is None:
            # The iterations that estimate the prior come closer than a previous model.
            fitted = run_em(self, seen, em, None, em.estimate_prior)
        else:
            fitted = run_em(self, seen, em, previous)
        temperature = self._temperature(seen, fitted)
        fitted = with_temperature(fitted, temperature, answers)
        confusion, shares = fitted.model.of_annotators(), fitted.model.shares
        accuracy = np.einsum("wcc,c->w", confusion, shares)
        information = information_of(confusion, shares)
        found = Aggregation.of(self, answers, fitted, confusion=confusion, accuracy=accuracy, information=information)
        notes = (f"temperature {temperature:.2f}: people share errors on hard items",) if temperature != 1 else ()
        return replace(found, temperature=temperature, notes=notes)

    def _temperature(self, answers: AnswerMatrix, fitted: Fitted) -> float:
        if self.temperature is not None:
            return self.temperature
        if self.prior == 0:
            return 1.0
        return likelihood_temperature(answers, fitted.model.rows, fitted.probs)


def with_temperature(fitted: Fitted, temperature: float, answers: AnswerMatrix) -> Fitted:
    """The posterior raised to the power 1 / `temperature`; gold items stay as they are."""
    if temperature == 1:
        return fitted
    log_p = np.log(np.maximum(fitted.probs, 1e-300))
    fixed = np.zeros(len(log_p), bool) if answers.gold is None else answers.gold >= 0
    return replace(fitted, probs=np.where(fixed[:, None], fitted.probs, tempered(log_p, temperature)))


@dataclass(frozen=True, eq=False)
class ConfusionEm:
    """EM with a confusion matrix per annotator; `prior` as in `DawidSkene`."""

    prior: float | None
    answers: AnswerMatrix

    def first_pass(self) -> VotePass | BeliefPass:
        return VotePass(by_class=True) if self.answers.soft is None else BeliefPass()

    def initial_model(self, sums: Sums) -> Confusions:
        assert sums.pooled is not None
        together = sums.pooled.T + 0.01
        prior = ConfusionPrior.given(self.prior or 0.0, together / together.sum(axis=1, keepdims=True))
        if self.prior is None:
            counts = sums.counts.reshape(self.answers.n_annotators, *sums.pooled.shape)
            prior = prior.with_skills(counts, sums.shares / sums.shares.sum()).times(FIRST_STRENGTH)
        return self._estimate(sums, prior)

    def estimate_prior(self, model: Confusions, parts: Parts) -> Confusions:
        """The model after a few iterations that also estimate the prior. It is fixed then, because rare classes can
        vanish if it is estimated until convergence."""
        strength, n_classes = FIRST_STRENGTH, self.answers.n_classes
        for step in range(PRIOR_STEPS):
            sums = parts.run(self.e_step(model))
            counts, shares = sums.counts.reshape(-1, n_classes, n_classes), sums.shares / sums.shares.sum()
            expected = model.prior.with_skills(counts, shares)
            if step in (0, PRIOR_STEPS - 1):
                strength = expected.best_strength(counts)
            model = self._estimate(sums, expected.times(strength))
        return model

    def continue_from(self, first: Confusions, previous: Confusions) -> Confusions:
        n_classes = len(first.shares)
        before, after = (each.rows.reshape(-1, n_classes, n_classes) for each in (previous, first))
        rows = keep_known(after, first.annotators, before, previous.annotators)
        return Confusions(first.annotators, rows.reshape(-1, n_classes), previous.shares, first.prior)

    def e_step(self, model: Confusions) -> ConfusionPass | VirtualEvidencePass:
        log_share = np.log(np.maximum(model.shares, FLOOR))
        if self.answers.soft is not None:
            return VirtualEvidencePass(model.rows, log_share)
        return ConfusionPass(np.log(model.rows), log_share)

    def m_step(self, sums: Sums, model: Confusions) -> Confusions:
        return self._estimate(sums, model.prior)

    def objective(self, model: Confusions, sums: Sums) -> float:
        if self.prior == 0:
            return sums.log_likelihood
        n_classes = self.answers.n_classes
        return sums.log_likelihood + model.prior.log_density(np.log(model.rows).reshape(-1, n_classes, n_classes))

    def _estimate(self, sums: Sums, prior: ConfusionPrior) -> Confusions:
        """The M-step; the counts of `sums` become the confusions."""
        n_classes = self.answers.n_classes
        rows = sums.counts
        of_annotator = rows.reshape(-1, n_classes, n_classes)
        if self.prior == 0 and self.answers.soft is None:
            # As in the classic method, answers that an annotator never gave have probability 0.
            np.maximum(rows, FLOOR * self._was_said[:, None], out=rows)
        else:
            prior.add_to(of_annotator)
            np.maximum(rows, FLOOR, out=rows)
        of_annotator /= of_annotator.sum(axis=1, keepdims=True)
        np.maximum(rows, 1e-300, out=rows)
        return Confusions(self.answers.annotators, rows, sums.shares / sums.shares.sum(), prior)

    @cached_property
    def _was_said(self) -> Float[np.ndarray, "keys"]:
        return (occurrences(self.answers.key, self.answers.n_keys) > 0).astype(np.float64)


def information_of(confusion: np.ndarray, shares: np.ndarray) -> Float[np.ndarray, "annotators"]:
    """The mutual information of an annotator's answer and the class, in nats; 0 if the answer does not depend on it."""
    says = np.einsum("wcl,c->wl", confusion, shares)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(confusion > 0, confusion * np.log(confusion / says[:, None, :]), 0.0)
    return np.asarray(np.maximum(np.einsum("wcl,c->w", terms, shares), 0.0))


def check_memory(answers: AnswerMatrix) -> None:
    """Raise if the confusion matrices need more than half of this machine's memory, before the work starts."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2**33
    needed, limit = 4 * answers.n_keys * answers.n_classes * 8, total // 2
    if needed > limit:
        what = f"the confusions of {answers.n_annotators:,} annotators over {answers.n_classes:,} classes"
        expected = f"no more than {limit / 2**30:,.0f} GiB, half of this machine's memory"
        fix = "use one-coin or mace, which store one number per annotator, or mean"
        raise BadTable(f"a need for {needed / 2**30:,.0f} GiB for {what}", expected, fix, "too-large")
