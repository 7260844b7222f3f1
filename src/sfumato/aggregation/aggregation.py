"""The aggregator protocol, its result with labels and annotator quality, and updates with new answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Float, Int

from sfumato.aggregation.aggregation_options import AggregationInputs
from sfumato.aggregation.answer_matrix import AnswerMatrix, warn_of_repeats
from sfumato.tables.annotations import Annotations
from sfumato.tables.base_table import Table
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts, without_annotators
from sfumato.tables.errors import BadSetting
from sfumato.tables.estimand import Estimand
from sfumato.tables.growable_array import freeze
from sfumato.tables.soft_labels import SoftLabels

MOST_CONFUSION_COLUMNS = 400
"""Confusion matrices are written to the table of annotators up to this many columns (twenty classes)."""


@runtime_checkable
class Aggregator(Protocol):
    """A method that turns beliefs into soft labels. A frozen dataclass whose fields are its settings."""

    @property
    def name(self) -> str: ...

    @property
    def estimand(self) -> Estimand: ...

    def aggregate(self, beliefs: Beliefs | Counts, inputs: AggregationInputs | None = None) -> Aggregation:
        """The labels of `beliefs`, with annotator quality."""

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        """The same from sorted answers; `previous` is the result of an aggregation of some of them."""


@dataclass(frozen=True, eq=False)
class PreviousAggregation:
    """The model and labels of an aggregation of the first items, and which items have new answers."""

    model: Any
    probs: Float[np.ndarray, "previous classes"]
    touched: Bool[np.ndarray, "items"]

    def refreshed(
        self, answers: AnswerMatrix, pool: Callable[[AnswerMatrix], Float[np.ndarray, "items classes"]]
    ) -> np.ndarray:
        """Every item's distribution; `pool` is applied only to the items with new answers."""
        probs = np.empty((answers.n_items, answers.n_classes))
        probs[: len(self.probs)] = self.probs
        probs[self.touched] = pool(answers.only(self.touched))
        return probs


@dataclass(frozen=True, eq=False)
class Fitted:
    """Every item's distribution, the model behind it, the objective after each iteration, and whether it converged."""

    probs: Float[np.ndarray, "items classes"]
    model: Any = None
    objective: tuple[float, ...] = ()
    converged: bool = True


@dataclass(frozen=True, eq=False)
class Aggregation:
    """The result: labels, annotator quality, and how they were computed.

    `objective` is the objective after each iteration, empty for methods without one. `update` starts from `model` and
    `answers`. `temperature` is that of the posterior, set by `dawid-skene` and by `calibrate`.
    """

    by: Aggregator
    labels: SoftLabels
    annotators: AnnotatorQuality
    answers: AnswerMatrix
    model: Any = None
    converged: bool = True
    objective: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()
    temperature: float = 1.0

    @classmethod
    def of(cls, by: Aggregator, answers: AnswerMatrix, fitted: Fitted, **measures: np.ndarray) -> Aggregation:
        """The result `fitted` of the method `by`, with named measures of annotator quality."""
        labels = labels_of(answers, fitted.probs, by.estimand, by.name)
        quality = AnnotatorQuality.of(answers, **measures)
        return cls(by, labels, quality, answers, fitted.model, fitted.converged, fitted.objective)

    @property
    def estimand(self) -> Estimand:
        return self.by.estimand

    @property
    def iterations(self) -> int:
        return len(self.objective)


@dataclass(frozen=True, eq=False, repr=False)
class AnnotatorQuality(Table):
    """One row per annotator: number of answers, median seconds per answer, and the quality the method estimates.

    `measures` holds one value per annotator under each name (`weight`, `accuracy`, ...); `confusion`, if the method has
    one, the probability of each answer (last axis) for an item of each class.
    """

    annotators: pa.StringArray
    n_answers: Int[np.ndarray, "annotators"]
    measures: dict[str, Float[np.ndarray, "annotators"]] = field(default_factory=dict)
    confusion: Float[np.ndarray, "annotators classes classes"] | None = None
    seconds: Float[np.ndarray, "annotators"] | None = None
    of_classes: tuple[str, ...] = ()

    classes = ()

    def __post_init__(self) -> None:
        freeze(self, "n_answers", "confusion", "seconds")

    @classmethod
    def of(cls, answers: AnswerMatrix, confusion: np.ndarray | None = None, **measures: np.ndarray) -> AnnotatorQuality:
        """From the answers, the confusion matrices and named measures."""
        return cls(answers.annotators, answers.answers_of, measures, confusion, None, answers.classes)

    def with_seconds(self, annotations: Annotations) -> AnnotatorQuality:
        """The same with each annotator's median seconds in `annotations`."""
        place = pc.index_in(self.annotators, value_set=annotations.annotator.names)
        seconds = np.full(len(self), np.nan)
        known = place.is_valid().to_numpy(zero_copy_only=False)
        seconds[known] = annotations.median_seconds()[place.drop_null().to_numpy()]
        return replace(self, seconds=seconds)

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        columns: dict[str, Any] = {
            "annotator": self.annotators.slice(start, stop - start),
            "n_answers": pa.array(self.n_answers[start:stop]),
        }
        if self.seconds is not None:
            columns["seconds"] = _column(self.seconds[start:stop])
        columns |= {name: _column(values[start:stop]) for name, values in self.measures.items()}
        if self.confusion is not None and len(self.of_classes) ** 2 <= MOST_CONFUSION_COLUMNS:
            columns |= {
                f"says {said} | is {true}": _column(self.confusion[start:stop, c, k])
                for c, true in enumerate(self.of_classes)
                for k, said in enumerate(self.of_classes)
            }
        return pa.table(columns)

    def __len__(self) -> int:
        return len(self.annotators)


def _column(values: np.ndarray) -> pa.Array:
    return pa.array(values, mask=np.isnan(values))


def labels_of(
    answers: AnswerMatrix, probs: Float[np.ndarray, "items classes"], estimand: Estimand, made_by: str | None = None
) -> SoftLabels:
    """The items' distributions as a table with its estimand."""
    n_annotators, sources = answers.n_annotators_of, answers.row_sources
    return SoftLabels(answers.items, answers.classes, probs, n_annotators, None, estimand, made_by, sources)


def refuse_anonymous(answers: AnswerMatrix, name: str) -> None:
    """Raise if the annotators are not known to a method that estimates how good each of them is."""
    if answers.anonymous:
        raise without_annotators(name, "mean, majority or bayes")


def refuse_gold(answers: AnswerMatrix, name: str) -> None:
    """Raise if gold labels are given to a method that estimates how people judge."""
    if answers.gold is not None:
        found = f"gold labels for {name}, which estimates {Estimand.JUDGMENT.meaning}"
        expected = f"gold labels only for methods that estimate {Estimand.TRUTH.meaning}"
        fix = "omit the gold labels, or choose such a method, for example dawid-skene"
        raise BadSetting(found, expected, fix, "wrong-estimand")


def distances(answers: AnswerMatrix, probs: Float[np.ndarray, "items classes"]) -> Float[np.ndarray, "annotators"]:
    """The mean total variation (0 to 1) between each annotator's answers and the items' distributions."""
    total = np.zeros(answers.n_annotators)
    for first, last in answers.blocks():
        block = answers.part(first, last)
        if block.soft is None:
            apart = 1 - probs[first:last][block.item, block.key % block.n_classes]
        else:
            apart = np.abs(block.soft - probs[first:last][block.item]).sum(axis=1) / 2
        total += np.bincount(block.annotator, apart, minlength=answers.n_annotators)
    return np.asarray(total / answers.answers_of)


def update(aggregation: Aggregation, more: Beliefs, inputs: AggregationInputs | None = None) -> Aggregation:
    """The aggregation of the previous answers and `more`, continued instead of started again.

    `mean`, `log-pool` and `majority` process only the items with new answers, with exactly the result of a new start;
    `reliability-pool`, `wawa`, `zero-based-skill` and `spectral` are exact too, but compute all weights again.
    Iterative methods continue from the previous model and reach the same optimum within their tolerance in fewer
    iterations (`dawid-skene` with an estimated prior starts again); `bayes` and `ordinal-dawid-skene`, whose priors
    have many optima, may reach another one. New items and annotators are appended. `inputs` holds weights, gold labels
    and the handling of repeats for the new answers; the
    engine does not change. A calibration is lost: calibrate again.
    """
    old = aggregation.answers
    new = AnswerMatrix.of(more, inputs or AggregationInputs(engine=old.engine, progress=old.progress))
    answers = old.joined(new)
    if answers.n_repeats > old.n_repeats + new.n_repeats:
        warn_of_repeats(answers.n_repeats - old.n_repeats - new.n_repeats)
    touched = np.diff(answers.starts) > 0
    touched[: old.n_items] = np.diff(answers.starts)[: old.n_items] > np.diff(old.starts)
    return aggregation.by.fit(answers, PreviousAggregation(aggregation.model, aggregation.labels.probs, touched))
