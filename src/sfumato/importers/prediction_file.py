"""Reads models' predictions from any file as SoftLabels: tables, NumPy arrays, JSON; probabilities or logits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from sfumato.importers.hard_labels import label_column, read_hard_labels
from sfumato.importers.label_matrix import LOGITS, PROBABILITIES, LabelMatrix, named, numbers_in
from sfumato.tables.class_columns import ColumnChoice, id_column
from sfumato.tables.columns import SUM_TOLERANCE, check_probs
from sfumato.tables.errors import BadProbabilities, BadTable, SfumatoError, listing, show, warn
from sfumato.tables.estimand import Estimand
from sfumato.tables.files.file_type import CSV, PARQUET
from sfumato.tables.files.table_file import Rows, read_rows
from sfumato.tables.soft_labels import SoftLabels

if TYPE_CHECKING:
    from sfumato.tables.counts import Counts

MOST_ROUNDING = 0.02
"""Rows whose sum differs from 1 by more are never rescaled: they are not rounded distributions."""


@dataclass(frozen=True)
class FileOptions:
    """What the user says about a file of labels or predictions.

    `classes` and `items` name the columns and rows of an array that has no names of its own; `logits` takes the softmax
    of its numbers. `item` and `leave_out` choose columns of a table, `array` an array or list column if there are
    several. `known` are the classes of the table that the labels go with: hard labels are one-hot over them.
    """

    classes: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    logits: bool = False
    item: str | None = None
    leave_out: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    array: str | None = None

    @property
    def choice(self) -> ColumnChoice:
        return ColumnChoice(self.item, self.classes, self.leave_out, bool(self.items))


@dataclass(frozen=True)
class LabelsRead:
    """The labels of a file, a note on which array, key or column they are from, and the votes if it has votes."""

    labels: SoftLabels
    note: str
    counts: Counts | None = None


def read_predictions(path: str | Path, options: FileOptions | None = None) -> SoftLabels:
    """A model's predictions: SoftLabels with the estimand `prediction`.

    From Parquet or CSV (`probs`, `p:cat`, or plain class columns), npz or npy, and JSON; probabilities, or with
    `logits` their softmax. Rounded probabilities (float16, four decimals) are rescaled to sum to 1, with a warning.
    """
    return predictions_in(Path(path), options or FileOptions()).labels


def predictions_in(path: Path, options: FileOptions) -> LabelsRead:
    """The same, with a note on what they are from."""
    if not options.logits and not options.array and (table := own_table(path, options)) is not None:
        return replace(table, labels=_as_predictions(table.labels))
    usual = (*LOGITS, *PROBABILITIES) if options.logits else (*PROBABILITIES, *LOGITS)
    wanted = (options.array,) if options.array else usual
    numbers = named(numbers_in(path, options.choice, wanted), options.classes, options.items)
    if numbers.name in LOGITS and not options.logits and not options.array:
        raise BadTable("logits", "probabilities", LOGITS_FIX, "logits", numbers.where())
    say_how_read(numbers)
    if options.logits:
        numbers = replace(numbers, values=_softmax(numbers))
    return LabelsRead(_as_predictions(distributions(numbers, predicted=True)), numbers.note)


ROUNDED_SUM = 0.01
"""Rows that all sum to 1 within this, without negative numbers, are probabilities."""
LOGITS_FIX = "give --logits, which takes their softmax"


def convert_first(error: SfumatoError, format_name: str = "predictions") -> SfumatoError:
    """The error of a step that has no options for single files, whose fix is to convert the file before."""
    options = {"missing-classes": "--classes cat,dog", "logits": "--logits", "negative": "--logits"}.get(error.code)
    options = "--array NAME" if "--array" in error.fix else options
    if options and error.where.file:
        name = format_name if error.code == "missing-classes" else "predictions"
        error.fix = f"convert the file first: sfumato import {name} {error.where.file} {options} -o {name}.parquet"
    return error


def own_table(path: Path, options: FileOptions) -> LabelsRead | None:
    """A table of ours, or hard labels; None for other files, and for distributions that were rounded."""
    if not path.name.lower().endswith((*CSV.suffixes, *PARQUET.suffixes)):
        return None
    rows = read_rows(path)
    names = rows.schema.names
    _refuse_answers(rows)
    if "counts" in names or any(name.startswith("n:") for name in names):
        fix = "give them as people's labels; predictions are probabilities per class"
        raise BadTable("votes per class", "predictions", fix, "not-predictions", rows.where())
    if (any(name.startswith("p:") for name in names) or ("probs" in names and rows.classes())) and "item" in names:
        try:
            by_class = "probs" not in names
            note = "numbers from one column per class" if by_class else "numbers from the column 'probs'"
            return LabelsRead(SoftLabels.from_rows(rows), note)
        except BadProbabilities as error:
            if error.code != "bad-sum":
                raise
            return None
    if (column := label_column(rows)) is not None and id_column(names) is not None:
        hard = read_hard_labels(path)
        # Columns named as the labels are: the numbers per class in addition to the label.
        if not (set(names) - {column}) & set(hard.of.values()):
            return LabelsRead(hard.one_hot(options.classes or options.known), f"classes from the column {show(column)}")
    return None


def _refuse_answers(rows: Rows) -> None:
    """Raise for a table of single answers, which is one step earlier."""
    if {"annotator", "worker"} & set(rows.schema.names):
        found = f"one row per answer (columns {listing(rows.schema.names)})"
        fix = f"aggregate the answers first: sfumato aggregate {rows.path} --by mean -o labels.parquet"
        raise BadTable(found, "one row per item", fix, "not-labels", rows.where())


def say_how_read(numbers: LabelMatrix) -> None:
    """Warn of columns that were not read, and of items that were numbered."""
    if numbers.unread:
        warn(f"{numbers.path.name}: columns not read: {listing(numbers.unread)}")
    if numbers.items is None:
        last = len(numbers.values) - 1
        warn(f"{numbers.path.name}: items are numbered 0 to {last} in the order of the rows; name them with --items")


def _softmax(numbers: LabelMatrix) -> Float[np.ndarray, "items classes"]:
    """exp(z) / sum exp(z) of each row, computed without overflow."""
    bad = ~np.isfinite(numbers.values)
    if bad.any():
        row = int(np.argmax(bad.any(axis=1)))
        fix = "remove the row, or correct its source"
        raise BadProbabilities("a value that is not finite", "finite logits", fix, "not-finite", numbers.where(row))
    if (numbers.values >= 0).all() and (np.abs(numbers.values.sum(axis=1) - 1) < ROUNDED_SUM).all():
        found, fix = (
            "rows >= 0 that sum to 1: probabilities",
            "leave out --logits, or evaluate this file alone without it",
        )
        raise BadProbabilities(found, "logits", fix, "not-logits", numbers.where())
    shifted = np.exp(numbers.values - numbers.values.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def distributions(numbers: LabelMatrix, *, predicted: bool = False) -> SoftLabels:
    """The numbers as SoftLabels; rows that sum to 1 within their rounding are rescaled, others are an error. Votes in
    place of predictions (`predicted`) are called votes."""
    values = numbers.values
    with np.errstate(all="ignore"):
        sums = values.sum(axis=1)
        off = np.abs(sums - 1)
        rounded = (off > SUM_TOLERANCE) & (off <= _rounding(values, numbers.bits)) & (values.min(axis=1) >= 0)
    if rounded.any():
        values = np.where(rounded[:, None], values / np.where(rounded, sums, 1.0)[:, None], values)
    try:
        check_probs(values)
    except SfumatoError as error:
        fix = f"if these are logits, {LOGITS_FIX}" if error.code == "negative" else error.fix
        is_whole = bool((values == np.round(values)).all()) and values.min() >= 0 and sums.min() > 1
        if predicted and error.code == "bad-sum" and is_whole:
            found = f"whole numbers per class ({error.found}), which look like votes"
            fix = "give them as people's labels: are the predictions and people's labels swapped?"
            raise BadTable(found, "predictions", fix, "not-predictions", numbers.where(error.where.row)) from None
        if error.code == "bad-sum" and (extra := _extra_column(values, numbers)):
            found = f"a column that is not a class: without {show(extra)} the numbers of every row sum to 1"
            fix = f"leave it out: sfumato import predictions {numbers.path} --leave-out {extra} -o predictions.parquet"
            raise BadProbabilities(found, "one column per class", fix, "not-classes", numbers.where()) from None
        where = numbers.where(error.where.row)
        raise BadProbabilities(error.found, error.expected, fix, error.code, where) from None
    if rounded.any():
        between = f"sums {sums[rounded].min():.4f} to {sums[rounded].max():.4f}"
        n_rows = f"{int(rounded.sum()):,} rows"
        warn(f"{numbers.path.name}: {n_rows} of rounded numbers are rescaled to sum to 1 ({between})")
    return replace(SoftLabels.from_numpy(numbers.ids, values, numbers.classes or ()), path=numbers.path)


def _extra_column(values: Float[np.ndarray, "items classes"], numbers: LabelMatrix) -> str:
    """The only column without which all rows are distributions; empty if there is none, or the classes were named."""
    if numbers.rows is None or numbers.name or not np.isfinite(values).all():
        return ""
    rest = values.sum(axis=1)[:, None] - values
    lowest = np.stack([np.delete(values, k, axis=1).min(axis=1) for k in range(values.shape[1])], axis=1)
    fits = ((np.abs(rest - 1) < ROUNDED_SUM) & (lowest >= 0)).all(axis=0)
    names = numbers.classes or ()
    return names[int(np.argmax(fits))] if fits.sum() == 1 and len(names) > 2 else ""


def _rounding(values: Float[np.ndarray, "items classes"], bits: int) -> Float[np.ndarray, "items"]:
    """The largest difference of each row's sum from 1 that rounding explains."""
    if bits <= 16:
        # A float16 has 11 significant bits, a bfloat16 8: a softmax in either adds a few errors of half a unit.
        return np.full(len(values), MOST_ROUNDING)
    allowed = np.full(len(values), 2e-7 * values.shape[1] if bits == 32 else 0.0)
    for decimals in reversed(range(2, 8)):
        scaled = values * 10.0**decimals
        exact = np.abs(scaled - np.round(scaled)).max(axis=1, initial=0.0) < 1e-3
        allowed[exact] = min(0.5 * values.shape[1] * 10.0**-decimals, MOST_ROUNDING)
    return allowed


def _as_predictions(labels: SoftLabels) -> SoftLabels:
    """The labels with the estimand `prediction`, unless they say otherwise."""
    return labels if labels.estimand is not None else replace(labels, estimand=Estimand.PREDICTION)
