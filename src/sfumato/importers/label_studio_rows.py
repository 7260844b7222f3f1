"""Reads Label Studio's JSON-MIN, CSV and TSV exports: one record per annotation, with the task's data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfumato.importers.foreign_answers import AnswerList, Record, bad_field, located_records, value_at
from sfumato.importers.importer import ImportResult
from sfumato.tables.columns import is_time
from sfumato.tables.errors import ErrorLocation, listing, show, unknown
from sfumato.tables.files.file_type import CSV, TSV, kind_of

FIXED = ("annotator", "annotation_id", "created_at", "updated_at", "lead_time")
"""The keys of every record; the others are `id`, the task's data and one key per control."""


def read_annotation_rows(
    path: Path, classes: Sequence[str], item: str | None, control: str | None, *, repeats: bool
) -> ImportResult:
    """The choices and ratings of one control, as `choice` or (several chosen) `plausible`."""
    answers = AnswerList()
    records = located_records(path)
    if kind_of(path) in (CSV, TSV):
        records = [({key: _cell(value) for key, value in record.items()}, where) for record, where in records]
    control = _control(records, control, ErrorLocation(str(path)))
    for record, where in records:
        if record.get("annotator") in (None, ""):
            answers.left_out["tasks without an annotation"] += 1
            continue
        chosen = _chosen(record.get(control))
        if chosen is None:
            answers.left_out[f"annotations without an answer to {control}"] += 1
            continue
        at, seconds = record.get("created_at"), _seconds(record.get("lead_time"))
        at = at if isinstance(at, str) and is_time(at) else None
        answers.add(
            value_at(record, item or "id"), record["annotator"], chosen, where, submitted_at=at, seconds=seconds
        )
    notes = [f"read from {control}"]
    return answers.result(ErrorLocation(str(path)), classes=classes, repeats=repeats, notes=notes)


def _cell(text: Any) -> Any:
    """A cell of a CSV: JSON if it is an object or a list, else the text."""
    if isinstance(text, str) and text[:1] in ("{", "["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text


def _control(records: list[Record], given: str | None, where: ErrorLocation) -> str:
    """The control to read: the given one, or the only key whose values differ between annotations of one task."""
    keys = dict.fromkeys(key for record, _ in records for key in record)
    others = [key for key in keys if key not in (*FIXED, "id", "agreement", "history")]
    if given is not None:
        if given not in others:
            raise unknown("control", given, others, where)
        return given
    # A value with a marked type can only be an answer.
    marked = [key for key in others if any(_is_marked(record.get(key)) for record, _ in records)]
    if len(marked) == 1:
        return marked[0]
    seen = f"the keys {listing(others)}, any of which may be the answer"
    raise bad_field(seen, "the name of the control with the answers", where, "choose one with --label NAME")


def _is_marked(value: Any) -> bool:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return isinstance(value, dict) and bool({"choices", "rating", "number"} & value.keys())


def _chosen(value: Any) -> list[Any] | None:
    """The classes in a value: a text, `{"choices": [...]}`, `[{"rating": 4}]` or `[{"number": 3}]`."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        value = next((value[key] for key in ("choices", "rating", "number") if key in value), show(value))
    if value in (None, "", []):
        return None
    return value if isinstance(value, list) else [value]


def _seconds(value: Any) -> float | None:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        return None
    return seconds if 0 <= seconds < 1e9 else None
