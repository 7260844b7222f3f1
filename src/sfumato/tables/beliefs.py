"""Beliefs: one distribution per answer. Hard votes are stored as class numbers."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int, Shaped

from sfumato.tables.base_table import Table
from sfumato.tables.call_arguments import explained
from sfumato.tables.class_order import OrderedClasses, names_like
from sfumato.tables.columns import (
    WIDE_PREFIX,
    check_classes,
    check_probs,
    classes_of,
    probs_array,
    probs_of,
    truth_values,
)
from sfumato.tables.doubt import Doubt, doubt_of
from sfumato.tables.errors import unknown, wrong_shape
from sfumato.tables.files.table_file import Rows, check_columns, class_names, read_rows
from sfumato.tables.frame_votes import beliefs_of_frame
from sfumato.tables.growable_array import GrowableArray, freeze
from sfumato.tables.row_numbers import recorded_row_sources
from sfumato.tables.text_columns import CodedText, TextEncoder

LONG = 2**18
"""Columns longer than this are encoded in parallel threads."""


@dataclass(frozen=True)
class CodedBeliefs:
    """Beliefs with items, annotators and classes as integers: the input of every aggregator.

    Exactly one of `hard` (the chosen class per row) and `soft` (a distribution per row) is not None.
    """

    item: Int[np.ndarray, "rows"]
    annotator: Int[np.ndarray, "rows"]
    hard: Int[np.ndarray, "rows"] | None
    soft: Float[np.ndarray, "rows classes"] | None
    n_items: int
    n_annotators: int
    n_classes: int

    def take(self, rows: Any) -> CodedBeliefs:
        """Only `rows` (indices, a mask or a slice)."""
        return replace(
            self,
            item=self.item[rows],
            annotator=self.annotator[rows],
            hard=None if self.hard is None else self.hard[rows],
            soft=None if self.soft is None else self.soft[rows],
        )

    def probs(self) -> Float[np.ndarray, "rows classes"]:
        """Every row as a distribution; a hard vote becomes one-hot."""
        if self.soft is not None:
            return self.soft
        assert self.hard is not None
        probs = np.zeros((len(self.hard), self.n_classes))
        probs[np.arange(len(self.hard)), self.hard] = 1
        return probs


@dataclass(frozen=True, eq=False, repr=False)
class Beliefs(Table):
    """One distribution (a row of `probs`) per answer of an annotator about an item.

    An annotator who answered about an item twice has two rows. If every row is one-hot, only the chosen classes are
    stored (`hard`), one integer per vote; `probs` computes the distributions. `audit` exists for adaptive studies:
    whether an answer decided nothing (see `Annotations`).
    """

    item: CodedText
    annotator: CodedText
    classes: tuple[str, ...]
    hard: Int[np.ndarray, "rows"] | None = None
    soft: Float[np.ndarray, "rows classes"] | None = None
    audit: Bool[np.ndarray, "rows"] | None = None
    row_sources: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_classes(self.classes)
        assert (self.hard is None) != (self.soft is None)
        chosen = self.soft if self.hard is None else self.hard
        assert chosen is not None
        fits = len(chosen) == len(self.item.codes) == len(self.annotator.codes)
        if not fits or (
            self.hard is not None and len(chosen) and not 0 <= chosen.min() <= chosen.max() < len(self.classes)
        ):
            found = f"{len(self.item.codes)} items, {len(self.annotator.codes)} annotators and {len(chosen)} beliefs"
            expected = f"the same number of each, and classes numbered 0 to {len(self.classes) - 1}"
            raise wrong_shape(found, expected, "give one row per answer")
        if self.soft is not None:
            check_probs(self.soft)
        freeze(self, "hard", "soft", "audit")

    @classmethod
    @explained
    def from_numpy(cls, items: Any, annotators: Any, probs: Any, classes: Sequence[Any]) -> Beliefs:
        """Beliefs from a rows x classes array, or from a vector of class numbers for hard votes."""
        classes = _names(classes)
        values = _array(probs)
        columns, _ = _arrow_columns(item=items, annotator=annotators)
        coded = (_coded(columns["item"], "item"), _coded(columns["annotator"], "annotator"))
        n_rows = {len(coded[0].codes), len(coded[1].codes), len(values)}
        hard_wrong = values.ndim == 1 and (
            values.dtype.kind not in "iu" or ((values < 0) | (values >= len(classes))).any()
        )
        if (
            len(n_rows) > 1
            or hard_wrong
            or (values.ndim == 2 and values.shape[1] != len(classes))
            or values.ndim not in (1, 2)
        ):
            found = f"{len(items)} items, {len(annotators)} annotators and an array of shape {values.shape}"
            expected = f"one row each, with {len(classes)} columns, or class numbers from 0 to {len(classes) - 1}"
            raise wrong_shape(found, expected, "give one row per answer and one column per class")
        votes = HardVotes(len(classes))
        if values.ndim == 1:
            votes.append_hard(values)
        else:
            votes.append(values.astype(np.float64))
        return votes.beliefs(*coded, classes)

    @classmethod
    @explained
    def from_votes(cls, *, item: Any, annotator: Any, label: Any, classes: Sequence[Any] = ()) -> Beliefs:
        """Beliefs from three columns of the same length (lists, arrays, Series).

        Without `classes`, the classes are the labels that occur, sorted (numbers by value, text alphabetically), or the
        categories of an ordered categorical, which stay ordered.
        """
        votes, n_rows = _arrow_columns(item=item, annotator=annotator, label=label)
        # Encoding releases the GIL, so long columns can be encoded in parallel.
        with ThreadPoolExecutor(len(votes)) if n_rows > LONG else nullcontext() as threads:
            each = map if threads is None else threads.map
            items, annotators, chosen = each(_coded, votes.values(), votes)
        given = _names(classes) or _scale(votes["label"]) or _in_order(votes["label"].type, chosen.names.to_pylist())
        check_classes(given)
        place = {name: k for k, name in enumerate(given)}
        for name in chosen.names.to_pylist():
            if name not in place:
                raise unknown("class", name, list(given), fix="list every class that was chosen in classes")
        number = np.array(
            [place[name] for name in chosen.names.to_pylist()], np.int16 if len(given) < 2**15 else np.int32
        )
        return cls(items, annotators, given, number[chosen.codes])

    @classmethod
    @explained
    def from_probs(cls, *, item: Any, annotator: Any, probs: Any, classes: Sequence[Any]) -> Beliefs:
        """Beliefs from two columns and a rows x classes array of distributions, in the order of `classes`."""
        return cls.from_numpy(item, annotator, probs, classes)

    @classmethod
    @explained
    def from_counts(cls, items: Any, counts: Any, classes: Sequence[Any]) -> Beliefs:
        """One row per vote from an items x classes array of votes, each vote by an annotator of its own."""
        # Counts are made of beliefs, so their module is imported when it is used.
        return import_module("sfumato.tables.counts").Counts.from_numpy(items, counts, classes).votes()  # type: ignore[no-any-return]

    @classmethod
    @explained
    def from_pandas(
        cls, frame: Any, *, item: str = "", annotator: str = "", label: str = "", classes: Sequence[Any] = ()
    ) -> Beliefs:
        """Beliefs from a pandas data frame with columns of items, annotators, and labels or probabilities.

        Columns called `item` or `task`, `annotator` or `worker`, `label` or `class` are found by themselves; name
        others. Probabilities are in `probs`, or in one column per class (`p:cat`).
        """
        return beliefs_of_frame(cls, frame, {"item": item, "annotator": annotator, "label": label}, classes)

    @classmethod
    @explained
    def from_polars(
        cls, frame: Any, *, item: str = "", annotator: str = "", label: str = "", classes: Sequence[Any] = ()
    ) -> Beliefs:
        """Beliefs from a Polars data frame; see `from_pandas`."""
        return beliefs_of_frame(cls, frame, {"item": item, "annotator": annotator, "label": label}, classes)

    @classmethod
    @explained
    def from_hf(
        cls, dataset: Any, *, item: str = "", annotator: str = "", label: str = "", classes: Sequence[Any] = ()
    ) -> Beliefs:
        """Beliefs from a Hugging Face `Dataset`, with the names of a ClassLabel as classes; see `from_pandas`."""
        return beliefs_of_frame(cls, dataset, {"item": item, "annotator": annotator, "label": label}, classes)

    @classmethod
    def from_arrow(cls, frame: Any, classes: Sequence[str] = ()) -> Beliefs:
        """Beliefs from any Arrow-compatible table, with `probs` or one column per class (`p:cat`).

        `classes` names the columns of `probs` if the table cannot (Polars and pandas keep no metadata).
        """
        return cls.from_rows(Rows.of(frame, classes))

    @classmethod
    def read(cls, path: str | Path) -> Beliefs:
        """Beliefs from a Parquet or CSV file."""
        return cls.from_rows(read_rows(path))

    @classmethod
    def from_rows(cls, rows: Rows) -> Beliefs:
        check_columns(rows, ("item", "annotator"))
        classes = classes_of(rows)
        item, annotator = TextEncoder.of(rows, "item"), TextEncoder.of(rows, "annotator")
        votes = HardVotes(len(classes))
        audits: list[np.ndarray] = []
        n_rows = 0
        # A class may be called audit: it is then a column of probabilities.
        is_audited = "audit" in rows.schema.names and "audit" not in classes
        for chunk in rows.chunks:
            item.append(chunk.column("item"))
            annotator.append(chunk.column("annotator"))
            votes.append(probs_of(rows, chunk, classes, n_rows))
            if is_audited:
                audits.append(truth_values(rows, "audit", chunk.column("audit"), n_rows))
            n_rows += len(chunk)
        found = votes.beliefs(item.finish(), annotator.finish(), classes)
        audit = np.concatenate(audits) if audits else None
        return replace(found, audit=audit, row_sources=recorded_row_sources(rows))

    @property
    def probs(self) -> Float[np.ndarray, "rows classes"]:
        """Every row as a distribution."""
        return self.coded().probs()

    def coded(self) -> CodedBeliefs:
        """The integer-coded form that aggregators use."""
        return CodedBeliefs(
            self.item.codes,
            self.annotator.codes,
            self.hard,
            self.soft,
            len(self.item.names),
            len(self.annotator.names),
            len(self.classes),
        )

    def take(self, kept: Shaped[np.ndarray, "kept"]) -> Beliefs:
        """The rows `kept` (a mask or indices)."""
        return Beliefs(
            self.item.take(kept),
            self.annotator.take(kept),
            self.classes,
            None if self.hard is None else self.hard[kept],
            None if self.soft is None else self.soft[kept],
            None if self.audit is None else self.audit[kept],
            self.row_sources,
        )

    def doubt(self) -> Doubt:
        """Per item, the uncertainty within and between annotators."""
        view = self.coded()
        return doubt_of(self.item.names, view.item, view.annotator, view.hard, view.soft, view.n_classes)

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:
        rows = slice(start, stop)
        part = self.coded().take(rows).probs()
        columns: dict[str, Any] = {
            "item": self.item.names.take(pa.array(self.item.codes[rows])),
            "annotator": self.annotator.names.take(pa.array(self.annotator.codes[rows])),
        }
        if wide:
            columns |= {WIDE_PREFIX + name: pa.array(part[:, k]) for k, name in enumerate(self.classes)}
        else:
            columns["probs"] = probs_array(part)
        if self.audit is not None:
            columns["audit"] = pa.array(self.audit[rows])
        return pa.table(columns)

    def __len__(self) -> int:
        return len(self.item.codes)


class HardVotes:
    """Collects distributions chunk by chunk; stores only the chosen classes while all rows are one-hot."""

    def __init__(self, n_classes: int) -> None:
        self._n_classes = n_classes
        self._hard = GrowableArray(np.int16 if n_classes < 2**15 else np.int32)
        self._soft: GrowableArray | None = None

    def append(self, probs: Float[np.ndarray, "rows classes"]) -> None:
        """Add distributions, which are already checked."""
        if self._soft is None and _is_one_hot(probs):
            self._hard.append(probs.argmax(axis=1))
            return
        self._switch_to_soft()
        assert self._soft is not None
        self._soft.append(probs)

    def append_hard(self, chosen: Int[np.ndarray, "rows"]) -> None:
        """Add class numbers."""
        if self._soft is None:
            self._hard.append(chosen)
        else:
            self._soft.append(np.eye(self._n_classes)[chosen])

    def beliefs(self, item: CodedText, annotator: CodedText, classes: tuple[str, ...]) -> Beliefs:
        """The table of everything collected."""
        if self._soft is None:
            return Beliefs(item, annotator, classes, hard=self._hard.finish())
        return Beliefs(item, annotator, classes, soft=self._soft.finish())

    def _switch_to_soft(self) -> None:
        """Store distributions from now on."""
        if self._soft is None:
            self._soft = GrowableArray(np.float64, self._n_classes)
            if len(self._hard):
                self._soft.append(np.eye(self._n_classes)[self._hard.finish()])


def _is_one_hot(probs: Float[np.ndarray, "rows classes"]) -> bool:
    """Whether every row is one-hot; the first rows decide quickly for soft ones."""
    head = probs[:64]
    return bool(
        (np.count_nonzero(head, axis=1) == 1).all()
        and np.count_nonzero(probs) == len(probs)
        and np.count_nonzero(probs == 1) == len(probs)
    )


def _arrow_columns(**columns: Any) -> tuple[dict[str, pa.ChunkedArray], int]:
    """The columns as Arrow, and their number of rows; different lengths are an error."""
    as_arrow = {name: _arrow_column(values) for name, values in columns.items()}
    lengths = {len(column) for column in as_arrow.values()}
    if len(lengths) > 1:
        found = ", ".join(f"{len(column):,} of {name}" for name, column in as_arrow.items())
        raise wrong_shape(found, "the same number of each", "give one row per answer")
    return as_arrow, lengths.pop()


def _arrow_column(values: Any) -> pa.ChunkedArray:
    if isinstance(values, pa.ChunkedArray):
        return values
    try:
        column = pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        # Ids of several types in one list: each is converted to text.
        column = pa.array([None if _is_missing(value) else str(value) for value in values], pa.string())
    if pa.types.is_null(column.type) and not len(column):
        column = column.cast(pa.string())
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _is_missing(value: Any) -> bool:
    """Whether `value` is None, or a missing value of NumPy or pandas."""
    return value is None or (not isinstance(value, str) and str(value) in ("nan", "<NA>", "NaT"))


def _coded(column: pa.ChunkedArray, name: str) -> CodedText:
    frame = pa.table({name: column})
    encoder = TextEncoder.of(Rows.of(frame), name)
    encoder.append(column)
    return encoder.finish()


def _names(classes: Any) -> tuple[str, ...]:
    """The classes as text; labels may be whole numbers."""
    given: tuple[Any, ...] = class_names(classes)
    return names_like((str(name) if isinstance(name, (int, np.integer)) else name for name in given), given)


def _array(probs: Any) -> np.ndarray:
    try:
        values = np.asarray(probs)
    except ValueError:
        values = np.empty((), object)
    if values.dtype.kind not in "biuf" or values.ndim == 0:
        fix = "give one row per answer and one column per class"
        raise wrong_shape("probabilities that are not an array of numbers", "rows of the same length", fix)
    return values


def _scale(column: pa.ChunkedArray) -> tuple[str, ...]:
    """The categories of an ordered categorical (pandas, Arrow), used or not; empty for other columns."""
    if not pa.types.is_dictionary(column.type) or not column.type.ordered or not column.num_chunks:
        return ()
    return OrderedClasses(map(str, column.unify_dictionaries().chunk(0).dictionary.to_pylist()))


def _in_order(kind: pa.DataType, names: list[str]) -> tuple[str, ...]:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return tuple(sorted(names, key=int) if pa.types.is_integer(kind) else sorted(names))
