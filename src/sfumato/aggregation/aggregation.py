"""What an aggregation gives: labels that say what they are, how good each annotator is, and how it was found.

New answers for an aggregation that exists.

How much each annotator counts, from a file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int

from sfumato.aggregation.answer_matrix import AggregationInputs, AnswerMatrix, warn_of_repeats
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.columns import check_columns, numbers
from sfumato.tables.errors import BadSetting, BadTable, show
from sfumato.tables.files import read_rows
from sfumato.tables.growable_array import freeze
from sfumato.tables.soft_labels import Estimand, SoftLabels
from sfumato.tables.table import Table
from sfumato.tables.text_columns import TextReader

MOST_CONFUSION_COLUMNS = 400
"""Whole confusions go into the table of annotators up to this many columns (twenty classes)."""


@runtime_checkable
class Aggregator(Protocol):
    """What people together say."""

    @property
    def name(self) -> str: ...

    @property
    def estimand(self) -> Estimand:
        """Which distribution it estimates."""

    def aggregate(self, beliefs: Beliefs, inputs: AggregationInputs | None = None) -> Aggregation:
        """The labels that `beliefs` amount to."""

    def fit(self, answers: AnswerMatrix, previous: PreviousAggregation | None = None) -> Aggregation:
        """The same from answers already in order; `previous` is what is known from having aggregated some of them."""


@dataclass(frozen=True, eq=False)
class PreviousAggregation:
    """An earlier aggregation of the first items of the answers now at hand, and which of all items have new answers."""

    model: Any
    probs: Float[np.ndarray, "previous classes"]
    touched: Bool[np.ndarray, "items"]

    def refreshed(
        self, answers: AnswerMatrix, pool: Callable[[AnswerMatrix], Float[np.ndarray, "items classes"]]
    ) -> np.ndarray:
        """Every item's distribution, where `pool` needs to look only at the items with new answers."""
        probs = np.empty((answers.n_items, answers.n_classes))
        probs[: len(self.probs)] = self.probs
        probs[self.touched] = pool(answers.only(self.touched))
        return probs


@dataclass(frozen=True, eq=False)
class Aggregation:
    """The labels, who gave them and how well, and how they were found.

    `objective` is what the method climbs, once an iteration; empty for methods that climb nothing. `model` is what it
    estimated along the way, `answers` what it worked on; `update` begins with both. `temperature` is what `calibrate`
    found.
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

    @property
    def estimand(self) -> Estimand:
        return self.by.estimand

    @property
    def iterations(self) -> int:
        return len(self.objective)


@dataclass(frozen=True, eq=False, repr=False)
class AnnotatorQuality(Table):
    """One row an annotator: how many answers, how long they took, and how good the method holds them to be.

    `measures` holds one number an annotator under each name (`weight`, `accuracy`, ...); `confusion`, where the method
    has one, what they say (last axis) of an item of each class. `seconds` is the median time on an answer.
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
        """The quality of the annotators of `answers`."""
        return cls(answers.annotators, answers.answers_of, measures, confusion, None, answers.classes)

    def with_seconds(self, annotations: Annotations) -> AnnotatorQuality:
        """The same with the median seconds of everybody's answers in `annotations`."""
        from dataclasses import replace

        seconds = np.full(len(self), np.nan)
        if annotations.seconds is not None:
            code_of = {name: code for code, name in enumerate(annotations.annotator.names.to_pylist())}
            order = np.argsort(annotations.annotator.codes, kind="stable")
            starts = np.searchsorted(annotations.annotator.codes[order], np.arange(len(code_of) + 1))
            for row, name in enumerate(self.annotators.to_pylist()):
                if name in code_of:
                    taken = annotations.seconds[order[starts[code_of[name]] : starts[code_of[name] + 1]]]
                    taken = taken[~np.isnan(taken)]
                    seconds[row] = np.median(taken) if len(taken) else np.nan
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


def labels_of(answers: AnswerMatrix, probs: Float[np.ndarray, "items classes"], estimand: Estimand) -> SoftLabels:
    """The items' distributions as a table that says what they are."""
    return SoftLabels(answers.items, answers.classes, probs, answers.n_annotators_of, estimand=estimand)


def refuse_gold(answers: AnswerMatrix, name: str) -> None:
    """Raise where gold labels are given to a method that does not ask what is true."""
    if answers.gold is not None:
        raise BadSetting(
            f"gold labels for {name}, which estimates {Estimand.PEOPLE.value}",
            f"gold labels only for methods that estimate {Estimand.TRUTH.value}",
            "leave out the gold labels, or choose such a method, like dawid-skene",
            "mixed-targets",
        )


def distances(answers: AnswerMatrix, probs: Float[np.ndarray, "items classes"]) -> Float[np.ndarray, "annotators"]:
    """How far each annotator's answers lie from the items' distributions: mean total variation, 0 to 1."""
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
    """The aggregation of what it held and `more` together, without beginning again.

    `mean`, `log-pool` and `majority` look only at the items with new answers, and are exactly what they would have
    been from the start; `reliability-pool`, `wawa`, `zero-based-skill` and `spectral` are exact too, but weigh
    everybody anew. Methods that climb go on from where they were, and arrive within their tolerance of the same place
    in fewer iterations; `bayes`, whose prior has many optima, perhaps at a neighbouring one. New items and annotators
    come after those known. `inputs` holds weights, gold labels and how to take repeats for the new answers; the engine
    stays as it was. A calibration is not carried over: calibrate again.
    """
    old = aggregation.answers
    new = AnswerMatrix.of(more, inputs or AggregationInputs(engine=old.engine, progress=old.progress))
    answers = old.joined(new)
    if answers.n_repeats > old.n_repeats + new.n_repeats:
        warn_of_repeats(answers.n_repeats - old.n_repeats - new.n_repeats)
    touched = np.diff(answers.starts) > 0
    touched[: old.n_items] = np.diff(answers.starts)[: old.n_items] > np.diff(old.starts)
    return aggregation.by.fit(answers, PreviousAggregation(aggregation.model, aggregation.labels.probs, touched))


def read_weights(path: str | Path) -> dict[str, float]:
    """The weight of every annotator in a table with the columns `annotator` and `weight`."""
    rows = read_rows(path)
    check_columns(rows, ("annotator", "weight"))
    reader = TextReader(rows, "annotator")
    weights: dict[str, float] = {}
    for chunk in rows.chunks:
        start = reader.n_rows
        names = [name for piece in reader.read(chunk.column("annotator")) for name in piece.to_pylist()]
        values = numbers(rows, "weight", chunk.column("weight"), start)
        for i, name in enumerate(names):
            if name in weights:
                raise BadTable(
                    f"annotator {show(name)} a second time",
                    "one weight an annotator",
                    "keep one row an annotator",
                    "doubled-annotator",
                    rows.where(start + i, "annotator"),
                )
            weights[name] = float(values[i])
    return weights
