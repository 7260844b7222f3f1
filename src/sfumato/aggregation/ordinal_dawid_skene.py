"""Ordinal Dawid-Skene: a bias and a spread per annotator on the scale of the classes, instead of a confusion matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from scipy.special import expit, softmax

from sfumato.aggregation.aggregation import Aggregation, PreviousAggregation, refuse_anonymous
from sfumato.aggregation.aggregation_options import AggregationInputs
from sfumato.aggregation.answer_matrix import AnswerMatrix
from sfumato.aggregation.dawid_skene import EVIDENCE, check_memory, information_of, with_temperature
from sfumato.aggregation.em import check_iterations, keep_known, run_em
from sfumato.aggregation.overdispersion import likelihood_temperature
from sfumato.aggregation.pass_engine import Sums
from sfumato.aggregation.passes import BeliefPass, ConfusionPass, VirtualEvidencePass, VotePass
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.class_order import is_ordered
from sfumato.tables.counts import Counts
from sfumato.tables.errors import BadTable, listing
from sfumato.tables.estimand import Estimand
from sfumato.tables.option_words import is_command
from sfumato.tables.setting_checks import above_0, one_of

FLOOR = 1e-10
"""The smallest probability of an answer, so that one answer never makes a class impossible."""
N_BIASES = 13
SPREADS = np.geomspace(0.08, 2.0, 10)
"""Spreads in classes: with 0.08 an annotator finds the class in 99% of cases, with 2 hardly ever."""
MOST_CLASSES = 100
ITEMS_PER_CLASS = 5
"""Items of average class that are added per class, so that no class vanishes from a small data set."""
LAPSES = (0.01, 0.25)
"""Shares of answers that do not depend on the item; one more kind of annotator answers so always."""

Types = Float[np.ndarray, "types"]
Counted = Float[np.ndarray, "annotators answers classes"]


@dataclass(frozen=True, eq=False)
class AnnotatorTypes:
    """A grid of annotators: bias and spread in classes, and the share of answers that do not depend on the item.

    `usual` is the share of each type before the answers are seen: a bias is around 0 (standard deviation half a class),
    and all spreads are equally likely.
    """

    bias: Types
    spread: Types
    lapse: Types
    usual: Types

    @classmethod
    def of(cls, n_classes: int) -> AnnotatorTypes:
        most = max(1.5, n_classes / 4)
        biases = np.linspace(-most, most, N_BIASES)
        lapse, bias, spread = (each.ravel() for each in np.meshgrid(LAPSES, biases, SPREADS, indexing="ij"))
        usual = np.exp(-2 * bias**2) * np.where(lapse == LAPSES[0], 0.8, 0.15)
        guesses = np.array([0.0]), np.array([1.0]), np.array([1.0])
        usual = np.append(0.95 * usual / usual.sum(), 0.05)
        bias, spread, lapse = (np.append(a, b) for a, b in zip((bias, spread, lapse), guesses, strict=True))
        return cls(bias, spread, lapse, usual)

    def below(self, thresholds: Float[np.ndarray, "thresholds"]) -> Float[np.ndarray, "types thresholds classes"]:
        """The probability of an answer below each threshold, for an item of each class, without lapses."""
        away = thresholds[None, :, None] - np.arange(len(thresholds) + 1) - self.bias[:, None, None]
        return np.asarray(expit(away / self.spread[:, None, None]))

    def answers(
        self, thresholds: Float[np.ndarray, "thresholds"], habit: Float[np.ndarray, "classes"]
    ) -> Float[np.ndarray, "types answers classes"]:
        """The probability of each answer for an item of each class."""
        perceived = np.diff(self.below(thresholds), axis=1, prepend=0.0, append=1.0)
        lapse = self.lapse[:, None, None]
        return np.asarray(np.maximum((1 - lapse) * perceived + lapse * habit[:, None], FLOOR))


@dataclass(frozen=True, eq=False)
class ScaleModel:
    """How probable each type is for each annotator, the share of each type, the thresholds and the class shares."""

    annotators: Any
    of_annotator: Float[np.ndarray, "annotators types"]
    shares_of_types: Types
    thresholds: Float[np.ndarray, "thresholds"]
    shares: Float[np.ndarray, "classes"]
    habit: Float[np.ndarray, "classes"]
    """The answers that do not depend on the item: the shares of the votes, with each item counting once."""

    def answers(self, types: AnnotatorTypes) -> Float[np.ndarray, "types answers classes"]:
        """The probability of each answer of each type for an item of each class."""
        return types.answers(self.thresholds, self.habit)


@dataclass(frozen=True)
class OrdinalDawidSkene:
    """A bias and a spread per annotator, for ordered classes.

    An item of class c (0, 1, ...) is perceived at `c + b_w + s_w e`, with e of a standard logistic distribution, and
    annotator w answers the class between whose thresholds this is: `P(answer <= l) = 1 / (1 + exp((c + b_w - t_l) /
    s_w))`. A share of the answers, also of the annotator, does not depend on the item. The thresholds t are the same
    for all annotators (Uebersax & Grove 1993; Lakshminarayanan & Teh 2013). Bias and spread have a prior that is
    estimated from all annotators, and count by their posterior: EM with the mean log-likelihood (variational). Class
    shares include five items per class with the shares of the votes.

    Two numbers per annotator instead of K x K, and near misses count less: prefer it to `dawid-skene` for ratings and
    grades with few answers per annotator. `evidence` and `temperature` are those of `dawid-skene`.
    """

    iterations: int = 200
    tolerance: float = 1e-5
    evidence: str = "virtual"
    temperature: float | None = None

    name: ClassVar[str] = "ordinal-dawid-skene"
    estimand: ClassVar[Estimand] = Estimand.TRUTH

    def __post_init__(self) -> None:
        check_iterations(self.iterations, self.tolerance)
        one_of("evidence", self.evidence, EVIDENCE)
        if self.temperature is not None:
            above_0("temperature", self.temperature)

    def aggregate(self, beliefs: Beliefs | Counts, inputs: AggregationInputs | None = None) -> Aggregation:
        return self.fit(AnswerMatrix.of(beliefs, inputs))

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        refuse_anonymous(answers, self.name)
        _check_scale(answers, self.name)
        check_memory(answers)
        seen = answers if self.evidence == "virtual" else answers.as_votes()
        em = _ScaleEm(seen)
        fitted = run_em(self, seen, em, previous)
        model: ScaleModel = fitted.model
        said = np.einsum("wg,glc->wlc", model.of_annotator, model.answers(em.types))
        rows = said.reshape(-1, answers.n_classes)
        confusion = said.transpose(0, 2, 1)
        temperature = likelihood_temperature(seen, rows, fitted.probs) if self.temperature is None else self.temperature
        found = Aggregation.of(
            self, answers, with_temperature(fitted, temperature, answers), confusion=confusion,
            accuracy=np.einsum("wcc,c->w", confusion, model.shares),
            information=information_of(confusion, model.shares),
            bias=model.of_annotator @ em.types.bias, spread=model.of_annotator @ em.types.spread,
        )  # fmt: skip
        notes = (f"temperature {temperature:.2f}: people share errors on hard items",) if temperature != 1 else ()
        return replace(found, temperature=temperature, notes=notes)


def _check_scale(answers: AnswerMatrix, name: str) -> None:
    """Raise unless the classes are a scale, of a length that the tables of all types can have. Two are always one."""
    if answers.n_classes > MOST_CLASSES:
        expected, fix = f"at most {MOST_CLASSES} classes", "merge neighboring classes, or use one-coin or mace"
        raise BadTable(f"{answers.n_classes:,} classes for {name}", expected, fix, "too-large")
    if answers.n_classes > 2 and not is_ordered(answers.classes):
        say = "give --ordered" if is_command() else "write votes.as_ordered()"
        found = f"classes without an order ({listing(answers.classes)}) for {name}"
        raise BadTable(found, "ordered classes", f"if they are a scale, {say}; else use dawid-skene", "no-order")


@dataclass(frozen=True, eq=False)
class _ScaleEm:
    """The steps of EM. The M-step has closed forms for the types; the thresholds move only where it helps."""

    answers: AnswerMatrix

    def first_pass(self) -> VotePass | BeliefPass:
        return VotePass(by_class=True) if self.answers.soft is None else BeliefPass()

    def initial_model(self, sums: Sums) -> ScaleModel:
        shares, thresholds = sums.shares / sums.shares.sum(), np.arange(self.answers.n_classes - 1) + 0.5
        usual = self.types.usual
        everybody = np.tile(usual, (self.answers.n_annotators, 1))
        return self._estimate(sums, ScaleModel(self.answers.annotators, everybody, usual, thresholds, shares, shares))

    def continue_from(self, first: ScaleModel, previous: ScaleModel) -> ScaleModel:
        of = keep_known(first.of_annotator, first.annotators, previous.of_annotator, previous.annotators)
        return replace(previous, annotators=first.annotators, of_annotator=of)

    def e_step(self, model: ScaleModel) -> ConfusionPass | VirtualEvidencePass:
        n_classes = self.answers.n_classes
        log_answers = np.log(model.answers(self.types)).reshape(len(self.types.bias), -1)
        log_rows = np.ascontiguousarray((model.of_annotator @ log_answers).reshape(-1, n_classes))
        log_share = np.log(np.maximum(model.shares, FLOOR))
        if self.answers.soft is not None:
            return VirtualEvidencePass(np.exp(log_rows), log_share)
        return ConfusionPass(log_rows, log_share)

    def m_step(self, sums: Sums, model: ScaleModel) -> ScaleModel:
        counts = self._counts(sums)
        n_answers = counts.sum(axis=(1, 2))
        # Only annotators with several answers show where thresholds are: many people with one answer each about the
        # same item do not.
        several = np.maximum(n_answers - 1, 0) / np.maximum(n_answers, 1)
        weights, guide = (self._by_type(model, counts, weight) for weight in (np.ones(len(counts)), several))
        return self._estimate(sums, replace(model, thresholds=self._better_thresholds(weights, guide, model)))

    def _by_type(self, model: ScaleModel, counts: Counted, weight: Float[np.ndarray, "annotators"]) -> np.ndarray:
        """The expected answers by type, answer and class, with a weight per annotator."""
        weighted = (model.of_annotator * weight[:, None]).T @ counts.reshape(len(counts), -1)
        return np.asarray(weighted.reshape(-1, *counts.shape[1:]))

    def objective(self, model: ScaleModel, sums: Sums) -> float:
        """The lower bound of the log-likelihood, with one annotator of usual types as a prior of the shares."""
        q, shares = model.of_annotator, np.log(model.shares_of_types)
        information = float((q * (np.log(np.maximum(q, 1e-300)) - shares)).sum())
        items = self.average_items * float(model.habit @ np.log(np.maximum(model.shares, FLOOR)))
        return sums.log_likelihood - information + float(self.types.usual @ shares) + items

    def _counts(self, sums: Sums) -> Counted:
        """The expected number of answers of each annotator, by answer and class."""
        return sums.counts.reshape(-1, self.answers.n_classes, self.answers.n_classes)

    def _estimate(self, sums: Sums, model: ScaleModel) -> ScaleModel:
        """`model` with the types of the annotators, their shares and the class shares estimated again."""
        counts = self._counts(sums)
        log_answers = np.log(model.answers(self.types)).reshape(len(self.types.bias), -1)
        of = softmax(counts.reshape(len(counts), -1) @ log_answers.T + np.log(model.shares_of_types), axis=1)
        shares_of_types = (of.sum(axis=0) + self.types.usual) / (len(of) + 1)
        shares = sums.shares + self.average_items * model.habit
        shares /= shares.sum()
        return replace(model, of_annotator=of, shares_of_types=shares_of_types, shares=shares)

    def _better_thresholds(self, weights: np.ndarray, guide: np.ndarray, model: ScaleModel) -> np.ndarray:
        """Thresholds with a higher expected log-likelihood; their mean stays, because a shift is a bias of everybody.

        They are found for the answers `guide`, and kept if they are better for the answers `weights`, both by type,
        answer and class.
        """
        from scipy.optimize import minimize

        start = model.thresholds
        if len(start) < 2:
            return start
        middle = start.mean()

        def placed(log_gaps: np.ndarray) -> np.ndarray:
            edges = np.concatenate([[0.0], np.cumsum(np.exp(log_gaps))])
            return np.asarray(edges - edges.mean() + middle)

        def loss(log_gaps: np.ndarray) -> tuple[float, np.ndarray]:
            thresholds = placed(log_gaps)
            answers = self.types.answers(thresholds, model.habit)
            below = self.types.below(thresholds)
            density = ((1 - self.types.lapse) / self.types.spread)[:, None, None] * below * (1 - below)
            ratio = guide / answers
            slope = (density * (ratio[:, :-1] - ratio[:, 1:])).sum(axis=(0, 2))
            # A gap moves all thresholds above it, and the centering moves all back by its share of them.
            above = np.cumsum(slope[::-1])[::-1][1:]
            share = np.arange(len(log_gaps), 0, -1) / len(thresholds)
            gradient = np.exp(log_gaps) * (above - share * slope.sum())
            return -float((guide * np.log(answers)).sum()), -gradient

        first = np.log(np.diff(start))
        found = minimize(
            loss, first, jac=True, method="L-BFGS-B", options={"maxiter": 5}, bounds=[(-3, 3)] * len(first)
        )
        logs = (np.log(self.types.answers(each, model.habit)) for each in (start, placed(found.x)))
        before, after = (float((weights * each).sum()) for each in logs)
        return placed(found.x) if after > before else start

    @property
    def average_items(self) -> float:
        """The number of items with the class shares of the votes that are added to the others."""
        return ITEMS_PER_CLASS * self.answers.n_classes

    @cached_property
    def types(self) -> AnnotatorTypes:
        return AnnotatorTypes.of(self.answers.n_classes)
