"""Annotations: the raw answers, one row per answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Float, Int, Shaped

from sfumato.tables.base_table import Table
from sfumato.tables.columns import check_classes, numbers, times, truth_values, whole_numbers
from sfumato.tables.errors import BadTable, ErrorLocation, InvalidAnswer, listing, show, unknown, warn
from sfumato.tables.files.table_file import Rows, check_columns, class_names, read_rows
from sfumato.tables.growable_array import freeze
from sfumato.tables.payloads import PAYLOAD_KINDS, PayloadFault, PayloadKind, check_objects, decode
from sfumato.tables.row_numbers import recorded_row_sources
from sfumato.tables.text_columns import CodedText, TextEncoder, TextReader

PURPOSES = ("label", "check", "repeat")

SCHEMA = pa.schema(
    [
        ("item", pa.string()),
        ("annotator", pa.string()),
        ("kind", pa.string()),
        ("payload", pa.string()),
        ("trial", pa.int64()),
        ("purpose", pa.string()),
        ("started_at", pa.timestamp("ms", "UTC")),
        ("submitted_at", pa.timestamp("ms", "UTC")),
        ("seconds", pa.float64()),
    ]
)
AUDIT = pa.field("audit", pa.bool_())
"""A column that only answers of an adaptive study have."""
PAYLOADS_AT_ONCE = 2**14
"""Answers read together: enough to vectorize, few enough to stay in the processor's cache."""
REQUIRED = ("item", "annotator", "kind", "payload")


@dataclass(frozen=True, eq=False, repr=False)
class Annotations(Table):
    """One row per answer: annotator, item, question type, answer and times.

    `classes` are the possible classes in order (empty if the file does not name them). `payload` holds the answers as
    JSON, dictionary-coded per chunk; `trial`, the times and `seconds` may be missing in single rows. `audit` exists for
    adaptive studies, whose number of answers per item depends on the answers: whether an answer decided nothing.
    """

    item: CodedText
    annotator: CodedText
    kind: CodedText
    purpose: CodedText
    payload: pa.ChunkedArray
    trial: pa.ChunkedArray
    started_at: pa.ChunkedArray
    submitted_at: pa.ChunkedArray
    seconds: Float[np.ndarray, "rows"]
    classes: tuple[str, ...] = ()
    path: Path | None = None
    audit: Bool[np.ndarray, "rows"] | None = None
    row_sources: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze(self, "seconds", "audit")

    @classmethod
    def from_arrow(cls, frame: Any, classes: Sequence[str] = ()) -> Annotations:
        """Annotations from any Arrow-compatible table."""
        return cls.from_rows(Rows.of(frame), classes)

    @classmethod
    def read(cls, path: str | Path, classes: Sequence[str] = ()) -> Annotations:
        """Annotations from a Parquet or CSV file; `classes` if the file does not name them."""
        return cls.from_rows(read_rows(path), classes)

    @classmethod
    def from_rows(cls, rows: Rows, classes: Sequence[str] = ()) -> Annotations:
        check_columns(rows, REQUIRED)
        if extra := [name for name in rows.schema.names if name not in (*SCHEMA.names, AUDIT.name)]:
            warn(f"columns that are not part of Annotations are ignored: {listing(extra)}")
        text = {name: TextEncoder.of(rows, name) for name in ("item", "annotator", "kind", "purpose")}
        parts: dict[str, list[pa.ChunkedArray]] = {
            name: [] for name in ("payload", "trial", "started_at", "submitted_at")
        }
        seconds: list[np.ndarray] = []
        audits: list[np.ndarray] = []
        n_rows = 0
        for chunk in rows.chunks:
            for name, column in text.items():
                column.append(chunk.column(name) if name in chunk.column_names else _default_purpose(len(chunk)))
            parts["payload"].append(_payloads(rows, chunk.column("payload"), n_rows))
            parts["trial"].append(whole_numbers(rows, "trial", _column(chunk, "trial"), n_rows))
            parts["started_at"].append(times(rows, "started_at", _column(chunk, "started_at"), n_rows))
            parts["submitted_at"].append(times(rows, "submitted_at", _column(chunk, "submitted_at"), n_rows))
            seconds.append(_seconds(rows, _column(chunk, "seconds"), n_rows))
            if AUDIT.name in chunk.column_names:
                audits.append(truth_values(rows, AUDIT.name, chunk.column(AUDIT.name), n_rows))
            n_rows += len(chunk)
        coded = {name: column.finish() for name, column in text.items()}
        _check_names(rows, coded["kind"], "kind", [kind.label for kind in PAYLOAD_KINDS])
        _check_names(rows, coded["purpose"], "purpose", PURPOSES)
        named = class_names(classes) or rows.classes() or ()
        return cls(
            **coded,
            **{name: _joined(arrays, name) for name, arrays in parts.items()},
            seconds=np.concatenate(seconds) if seconds else np.empty(0),
            classes=check_classes(named, rows.where()) if named else (),
            path=rows.path,
            audit=np.concatenate(audits) if audits else None,
            row_sources=recorded_row_sources(rows),
        )

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        rows = slice(start, stop)
        seconds = self.seconds[rows]
        columns = {
            name: getattr(self, name).names.take(pa.array(getattr(self, name).codes[rows]))
            for name in ("item", "annotator", "kind", "purpose")
        }
        for name in ("payload", "trial", "started_at", "submitted_at"):
            columns[name] = getattr(self, name).slice(start, stop - start).cast(SCHEMA.field(name).type)
        columns["seconds"] = pa.array(seconds, mask=np.isnan(seconds))
        if self.audit is None:
            return pa.table([columns[name] for name in SCHEMA.names], schema=SCHEMA)
        listed = [*(columns[name] for name in SCHEMA.names), pa.array(self.audit[rows])]
        return pa.table(listed, schema=SCHEMA.append(AUDIT))

    def take(self, kept: Shaped[np.ndarray, "kept"]) -> Annotations:
        """The rows `kept` (a mask or indices)."""
        names = ("payload", "trial", "started_at", "submitted_at")
        if kept.dtype == bool:
            others = {name: getattr(self, name).filter(pa.array(kept)) for name in names}
        else:
            # Rows of several chunks can be put in another order only if their payloads have one dictionary.
            others = {name: getattr(self, name).unify_dictionaries().take(pa.array(kept)) for name in names}
        return replace(
            self,
            **{name: getattr(self, name).take(kept) for name in ("item", "annotator", "kind", "purpose")},
            **others,
            seconds=self.seconds[kept],
            audit=None if self.audit is None else self.audit[kept],
        )

    def for_purposes(self, *purposes: str) -> Annotations:
        """The rows shown for one of `purposes`: `label`, `check`, `repeat`."""
        for purpose in purposes:
            if purpose not in PURPOSES:
                raise unknown("purpose", purpose, PURPOSES)
        wanted = self.purpose.among(purposes)
        return self if wanted.all() else self.take(wanted)

    def counted(self, *, repeats: bool = False) -> Annotations:
        """The answers that count in labels, uncertainty and agreement: those with purpose `label`, the first pass.

        `repeats` adds second answers, which test-retest agreement needs. Checks never count.
        """
        kept = self.for_purposes("label", *(["repeat"] if repeats else []))
        if len(self) and not len(kept):
            purposes = self.purpose.names.to_pylist()
            found = f"only answers with purpose {listing(purposes)}"
            fix = "give the file with the first answers"
            fix += ", or count the repeats with --repeats (in Python: repeats=True)" if "repeat" in purposes else ""
            raise BadTable(found, "answers with purpose label", fix, "nothing-counted", self.path)
        return kept

    @property
    def are_votes(self) -> bool:
        """Whether every answer is a choice of one class, for a label."""
        return bool(self.kind.names.to_pylist() == ["choice/1"] and self.purpose.names.to_pylist() == ["label"])

    def of_kind(self, label: str) -> Annotations:
        """The rows of one question type: `top_two/1`, or `top_two` if there is one version."""
        names = self.kind.names.to_pylist()
        versions = [name for name in names if name.split("/")[0] == label]
        label = versions[0] if len(versions) == 1 else label
        if label not in names:
            where = ErrorLocation(str(self.path) if self.path else None, column="kind")
            raise unknown("kind", label, names, where)
        return self.take(self.kind.codes == names.index(label))

    def without(self, annotators: Sequence[str]) -> Annotations:
        """The rows of all annotators except these."""
        left = ~self.annotator.among(set(annotators))
        return self if left.all() else self.take(left)

    def median_seconds(self) -> Float[np.ndarray, "annotators"]:
        """Each annotator's median time per answer; NaN without times."""
        timed = ~np.isnan(self.seconds)
        who, seconds = self.annotator.codes[timed], self.seconds[timed]
        ordered = seconds[np.lexsort((seconds, who))]
        n = np.bincount(who, minlength=len(self.annotator.names))
        start, has = np.cumsum(n) - n, n > 0
        low, high = start + (n - 1) // 2, start + n // 2
        medians = np.full(len(n), np.nan)
        medians[has] = (ordered[low[has]] + ordered[high[has]]) / 2
        return medians

    def distinct_payloads(self) -> Iterator[tuple[list[str], Int[np.ndarray, "chunk_rows"]]]:
        """Per chunk: the distinct payload texts, and the index of the text of each row."""
        for chunk in self.payload.chunks:
            codes = chunk.indices.to_numpy(zero_copy_only=False)
            for start in range(0, len(codes), PAYLOADS_AT_ONCE):
                used, inverse = np.unique(codes[start : start + PAYLOADS_AT_ONCE], return_inverse=True)
                yield chunk.dictionary.take(pa.array(used)).to_pylist(), inverse

    def decoded(self, kind: PayloadKind) -> Iterator[tuple[list[Any], Int[np.ndarray, "chunk_rows"], int]]:
        """Per chunk: the distinct answers, all of `kind`, the index of the answer of each row, and the first row."""
        row = 0
        for payloads, inverse in self.distinct_payloads():
            try:
                answers = decode(payloads, kind)
            except PayloadFault as fault:
                found, expected = f"{show(payloads[fault.index])} ({fault.found})", f"{fault.expected} as {kind.label}"
                where = self.where(row + int(np.argmax(inverse == fault.index)))
                fix = "see docs/tables.md for the payload of each question type"
                raise InvalidAnswer(found, expected, fix, "bad-payload", where) from fault
            yield answers, inverse, row
            row += len(inverse)

    def where(self, row: int, column: str = "payload") -> ErrorLocation:
        """The location of the answer in `row`, by item and annotator, which stay the same when a table is filtered."""
        item = self.item.names[int(self.item.codes[row])].as_py()
        annotator = self.annotator.names[int(self.annotator.codes[row])].as_py()
        return ErrorLocation(str(self.path) if self.path else None, item=item, annotator=annotator, column=column)

    def __len__(self) -> int:
        return len(self.item.codes)


def _default_purpose(n_rows: int) -> pa.ChunkedArray:
    return pa.chunked_array([pa.DictionaryArray.from_arrays(np.zeros(n_rows, np.int32), pa.array(["label"]))])


def _column(chunk: pa.Table, name: str) -> pa.ChunkedArray:
    """The column, or nulls if the table does not have it."""
    return chunk.column(name) if name in chunk.column_names else pa.chunked_array([pa.nulls(len(chunk))])


def _joined(arrays: list[pa.ChunkedArray], name: str) -> pa.ChunkedArray:
    kind = pa.dictionary(pa.int32(), pa.string()) if name == "payload" else SCHEMA.field(name).type
    return pa.chunked_array([piece for array in arrays for piece in array.chunks], kind)


def _payloads(rows: Rows, column: pa.ChunkedArray, start: int) -> pa.ChunkedArray:
    """The payload column dictionary-coded; every text must be a JSON object."""
    pieces = TextReader(rows, "payload", n_rows=start).read(column)
    for chunk in pieces:
        used, inverse = np.unique(chunk.indices.to_numpy(), return_inverse=True)
        texts = chunk.dictionary.take(pa.array(used)).to_pylist()
        try:
            check_objects(texts)
        except PayloadFault as fault:
            row = int(np.argmax(inverse == fault.index))
            found, where = f"{show(texts[fault.index])} ({fault.found})", rows.where(start + row, "payload")
            fix = "write the answer as a JSON object, with double quotes"
            raise InvalidAnswer(found, fault.expected, fix, "bad-payload", where) from fault
        start += len(chunk)
    return pa.chunked_array(pieces, pa.dictionary(pa.int32(), pa.string()))


def _seconds(rows: Rows, column: pa.ChunkedArray, start: int) -> Float[np.ndarray, "rows"]:
    values = numbers(rows, "seconds", column, start, optional=True)
    if (values < 0).any():
        row = int(np.argmax(values < 0))
        expected, fix = "a duration >= 0, or an empty field", "leave the field empty if it is not known"
        raise BadTable(f"{values[row]:g}", expected, fix, "bad-number", rows.where(start + row, "seconds"))
    return values


def _check_names(rows: Rows, column: CodedText, name: str, known: Sequence[str]) -> None:
    """Raise unless every name of a coded column is known."""
    unknown_name = pc.invert(pc.is_in(column.names, value_set=pa.array(list(known), pa.string())))
    if pc.any(unknown_name).as_py():
        code = int(np.argmax(unknown_name.to_numpy(zero_copy_only=False)))
        row = int(np.argmax(column.codes == code))
        raise unknown(name, column.names[code].as_py(), list(known), where=rows.where(row, name))
