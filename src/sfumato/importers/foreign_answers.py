"""Collects the answers of a foreign file and converts them to Annotations, with a note on everything left out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.importers.importer import ImportResult, summary
from sfumato.importers.source_columns import annotations_of, by_value, duplicate_fix, purposes
from sfumato.tables.errors import (
    BadTable,
    ErrorLocation,
    SfumatoError,
    listing,
    no_rows,
    raise_together,
    show,
    unknown,
)
from sfumato.tables.files.csv import row_lines
from sfumato.tables.files.file_type import JSON, JSON_LINES, kind_of
from sfumato.tables.files.json import read_json
from sfumato.tables.files.table_file import class_names, read_rows
from sfumato.tables.soft_labels import SoftLabels

FIX = "export again, or correct the file"


def bad_field(found: str, expected: str, where: ErrorLocation, fix: str = FIX, code: str = "bad-field") -> BadTable:
    """A value that the format does not allow."""
    return BadTable(found, expected, fix, code, where)


@dataclass(frozen=True)
class ForeignAnswer:
    """One answer: the chosen classes (or tokens per class), and where it is in the file."""

    item: str
    annotator: str
    chosen: tuple[str, ...]
    where: ErrorLocation
    submitted_at: str | None = None
    seconds: float | None = None
    marks: dict[str, str] | None = None
    tokens: dict[str, int] | None = None


@dataclass
class AnswerList:
    """The answers read so far, what was left out (a count for each reason), and the faults found."""

    answers: list[ForeignAnswer] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    faults: list[SfumatoError] = field(default_factory=list)

    def add(self, item: Any, annotator: Any, chosen: Iterable[Any], where: ErrorLocation, **details: Any) -> None:
        """Add an answer; ids and classes that are neither text nor whole numbers are faults."""
        try:
            names = tuple(id_text(name, "a class", where) for name in chosen)
            who, what = id_text(annotator, "an annotator id", where), id_text(item, "an item id", where)
        except SfumatoError as fault:
            self.faults.append(fault)
            return
        self.answers.append(ForeignAnswer(what, who, names, where, **details))

    def fault(self, found: str, expected: str, where: ErrorLocation, fix: str = FIX) -> None:
        """Note a fault; all are reported together by `result`."""
        self.faults.append(bad_field(found, expected, where, fix))

    def result(
        self,
        source: ErrorLocation,
        *,
        classes: Sequence[str] = (),
        known: Sequence[str] = (),
        several: bool = False,
        repeats: bool = False,
        notes: Sequence[str] = (),
        original: SoftLabels | None = None,
    ) -> ImportResult:
        """The answers as Annotations of type `choice`; of type `plausible` if anyone chose several or no classes.

        `classes` are the user's, which must include every class found; `known` are named in the file, in order.
        `several`: the form allows several classes, even if nobody chose more than one.
        """
        raise_together(self.faults)
        if not self.answers:
            left = "; ".join(self._left_out())
            raise no_rows("at least one answer", "check how the file was exported", source, left or "no answers")
        named = self._classes(class_names(classes), known)
        later = self._later(repeats=repeats)
        raise_together(self.faults)
        kind, payloads = self._payloads(named, several)
        columns = {
            "item": pa.array([a.item for a in self.answers], pa.string()),
            "annotator": pa.array([a.annotator for a in self.answers], pa.string()),
            "payload": pa.array(payloads, pa.string()),
            "submitted_at": pa.array([a.submitted_at for a in self.answers], pa.string()),
            "seconds": pa.array([a.seconds for a in self.answers], pa.float64()),
            "purpose": purposes(later),
        }
        table = annotations_of(columns, kind, named, source)
        found = "" if classes else " (as found; set names and order with --classes)"
        lines = [f"{summary(table)}; question type {kind}", f"classes: {listing(named)}{found}", *notes]
        if later.any():
            again = "second answers of an annotator to an item, kept with purpose 'repeat'"
            lines.append(f"{int(later.sum()):,} {again}")
        return ImportResult(table, (*lines, *self._left_out()), original)

    def _left_out(self) -> list[str]:
        return [f"{what}: {n:,}" for what, n in sorted(self.left_out.items()) if n]

    def _classes(self, given: tuple[str, ...], known: Sequence[str]) -> tuple[str, ...]:
        first: dict[str, ForeignAnswer] = {}
        for answer in self.answers:
            for name in (*answer.chosen, *(answer.marks or answer.tokens or ())):
                first.setdefault(name, answer)
        if not given:
            return (*known, *sorted(set(first) - set(known), key=by_value))
        for name, answer in first.items():
            if name not in given:
                fix = "correct the file, or the names in --classes"
                self.faults.append(unknown("class", name, list(given), where=answer.where, fix=fix))
        return given

    def _later(self, *, repeats: bool) -> np.ndarray:
        """Which answers are an annotator's second to the same item; faults unless `repeats`."""
        seen: set[tuple[str, str]] = set()
        later = np.zeros(len(self.answers), dtype=bool)
        for row, answer in enumerate(self.answers):
            pair = (answer.item, answer.annotator)
            later[row] = pair in seen
            seen.add(pair)
            if later[row] and not repeats:
                found = f"annotator {show(answer.annotator)} answering item {show(answer.item)} again"
                expected = "one answer per annotator and item"
                self.faults.append(bad_field(found, expected, answer.where, duplicate_fix(), "duplicate-answer"))
        return later

    def _payloads(self, classes: Sequence[str], several: bool) -> tuple[str, list[str]]:
        if any(a.tokens is not None for a in self.answers):
            return "tokens/1", [_text({"tokens": a.tokens or {}, "others": False}) for a in self.answers]
        if not several and all(len(a.chosen) == 1 and a.marks is None for a in self.answers):
            texts = {name: _text({"class": name}) for name in classes}
            return "choice/1", [texts[a.chosen[0]] for a in self.answers]
        marks = ({name: (a.marks or {}).get(name, _mark(a, name)) for name in classes} for a in self.answers)
        return "plausible/1", [_text(each) for each in marks]


def _mark(answer: ForeignAnswer, name: str) -> str:
    """The mark of a class that the answer does not mark itself: not chosen, or (in a yes/no question) not asked."""
    if answer.marks is not None:
        return "unsure"
    return "yes" if name in answer.chosen else "no"


def _text(payload: Any) -> str:
    return json.dumps(payload, ensure_ascii=False)


def id_text(value: Any, what: str, where: ErrorLocation) -> str:
    """An id or a class as text; an error unless it is text or a whole number."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, str)) or not str(value).strip():
        raise bad_field(show(value), f"{what}: a number or text that is not blank", where)
    return str(value)


def unix_time(value: Any) -> str | None:
    """Seconds since 1970 as a time in UTC; None if it is not such a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 2**33:
        return None
    return datetime.fromtimestamp(value, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def value_at(record: Any, key: str) -> Any:
    """The value under `key`, or under a path like `meta.id`; None if there is none."""
    if isinstance(record, dict) and key in record:
        return record[key]
    first, _, rest = key.partition(".")
    return value_at(record.get(first), rest) if rest and isinstance(record, dict) else None


Record = tuple[dict[str, Any], ErrorLocation]
"""A record of a foreign file and its location."""


def located_records(path: Path, delimiter: str | None = None) -> list[Record]:
    """The records of a JSON, JSON Lines, Parquet, CSV or TSV file, each with its location."""
    if kind_of(path) in (JSON, JSON_LINES):
        content = read_json(path)
        return [(record, content.where(number)) for number, record in enumerate(content.records())]
    rows = read_rows(path, guarded=False, delimiter=delimiter)
    records = [record for chunk in rows.chunks for record in chunk.to_pylist()]
    if not rows.is_text:
        return [(record, ErrorLocation(str(path), row=number)) for number, record in enumerate(records)]
    lines = row_lines(path, rows.delimiter)
    return [(record, ErrorLocation(str(path), line=line)) for record, line in zip(records, lines, strict=True)]
