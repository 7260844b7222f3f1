"""Recognizes the format of a file by its content, and says by what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from math import isfinite
from pathlib import Path
from typing import Any

from sfumato.importers.file_head import Evidence, Preview, marked
from sfumato.importers.importer import Importer, ImportResult
from sfumato.tables.class_columns import id_column, with_point
from sfumato.tables.errors import BadTable, listing, show, warn
from sfumato.tables.files.csv import DELIMITERS
from sfumato.tables.files.file_type import FileKind
from sfumato.tables.option_words import is_command
from sfumato.tables.strategies import strategy_from_name


@dataclass(frozen=True)
class Recognition:
    """The importer for a file, and the evidence for its format."""

    importer: Importer
    why: str

    @property
    def name(self) -> str:
        """The name of the format."""
        return self.importer.name

    @property
    def output_kinds(self) -> tuple[FileKind, ...]:
        """The types of file that the result is written to; none for tables."""
        return getattr(self.importer, "output_kinds", ())

    def read(self, source: str | Path) -> ImportResult:
        """Read the file; the first note says what it was taken for."""
        result = self.importer.read(source)
        note = f"read as {self.importer.name}: {self.why}"
        return replace(result, notes=(note, *result.notes))


def recognize(
    source: str | Path, formats: Iterable[Any], settings: Mapping[str, Any] | None = None, *, are_votes: bool = False
) -> Recognition:
    """The one format whose evidence is certain, with `settings`; an error with the candidates if there is none.

    `are_votes` means that only votes or counts are asked for: a format that may be something else is taken as votes if
    it is the only candidate, with a warning.
    """
    settings = dict(settings or {})
    preview = Preview.of(source, settings.get("delimiter")).without(settings.get("leave_out") or ())
    members = tuple(formats)
    found: list[tuple[Any, Evidence]] = []
    for member in members:
        evidence = member.recognize(preview) if hasattr(member, "recognize") else None
        if evidence is not None:
            found.append((member, evidence))
    named = {settings.get(role) for role in ("item", "annotator", "label")}
    if None not in named and named <= set(preview.columns):
        found = [(each, Evidence("the columns that were named")) for each in members if each.name == "crowd"]
    certain = [(member, evidence) for member, evidence in found if evidence.certain]
    certain = [each for each in certain if not each[1].general] or certain
    if are_votes and not certain and len(found) == 1 and found[0][1].certain_if_votes:
        certain = found
        warn(f"{preview.path.name}: read as {found[0][0].name}: {found[0][1].why}")
    if len(certain) != 1:
        raise _not_certain(preview, certain or found)
    (member, evidence), why = certain[0], [certain[0][1].why]
    if preview.delimiter and "delimiter" in {each.name for each in fields(member)}:
        settings["delimiter"] = preview.delimiter
        if are_votes:
            warn(f"{preview.path.name}: columns are separated by {DELIMITERS[preview.delimiter]}")
        why.append(f"columns separated by {DELIMITERS[preview.delimiter]}")
    return Recognition(strategy_from_name("format", members, member.name, settings), "; ".join(why))


def _not_certain(preview: Preview, candidates: list[tuple[Any, Evidence]]) -> BadTable:
    """The error for a file that no format, or more than one, claims."""
    where = preview.path
    kinds = {"images", "texts", "features", "text"} & {*preview.files, *preview.columns}
    is_sparse = {"format", "shape", "data"} <= set(preview.files)
    if not candidates and (kinds or is_sparse):
        found = f"inputs of models: {listing(sorted(kinds)) if kinds else 'a matrix of scipy.sparse'}"
        fix = "give the file to --inputs" if is_command() else f"read it with sf.Inputs.read({str(where)!r})"
        return BadTable(found, "votes, counts or labels", fix, "unknown-table", where)
    if candidates:
        why = "; or ".join(f"{member.name} ({evidence.why})" for member, evidence in candidates)
        names = " or ".join(_reading(where, member.name) for member, _ in candidates)
        fix = f"name it: {names}" + ("; or, for inputs of a model, give it to --inputs" if kinds else "")
        return BadTable(f"a file that may be {why}", "one certain format", fix, "not-certain", where)
    if preview.shape:
        found = f"an array of shape {preview.shape} without names of rows and columns"
        options = " --classes cat,dog --items ids.txt" if is_command() else ', classes=["cat", "dog"], items="ids.txt"'
        fix = f"name what it is (predictions, labels or counts): {_reading(where, 'predictions', options)}"
        return BadTable(found, "a format that can be recognized", fix, "unknown-table", where)
    if numbers := _other_numbers(preview):
        found = f"numbers per class in {listing(numbers, 6)} that are neither counts nor probabilities"
        logits = " --logits" if is_command() else ", logits=True"
        fix = f"if they are logits of a model: {_reading(where, 'predictions', logits)}"
        return BadTable(found, "votes, counts or probabilities", fix, "unknown-table", where)
    cells = [value for row in preview.rows for value in row.values()]
    if written := next((value for value in cells if with_point(value)), None):
        found, fix = f"numbers written as {show(written)}", f"write them with a point: {with_point(written)}"
        return BadTable(found, "numbers with a decimal point", fix, "bad-number", where)
    if preview.columns:
        found = f"columns {listing(preview.columns)}"
        expected = "item, annotator and label; or item and p:CLASS or n:CLASS for each class; or kind and payload"
        options = " --item ..." if is_command() else ", item=..."
        fix = f"rename the columns, or name the format and the columns: {_reading(where, 'crowd', options)}"
        return BadTable(found, expected, fix, "unknown-table", where)
    if records := preview.records():
        found = f"records with {listing(sorted(map(str, records[0])))}"
    elif preview.files:
        found = f"files {listing(preview.files, 8)}"
    else:
        found = f"{type(preview.value).__name__} values"
    fix = f"name the format: {_reading(where, 'FORMAT')}; sfumato import --help lists them"
    return BadTable(found, "a format that can be recognized", fix, "unknown-table", where)


def _other_numbers(preview: Preview) -> list[str]:
    """The columns of a table in which every column except that of the ids has numbers, some of them below 0 or not
    whole; none for other tables."""
    key = id_column(preview.columns)
    others = [name for name in preview.columns if name != key]
    try:
        values = [float(row[name]) for row in preview.rows for name in others]
    except (TypeError, ValueError):
        return []
    is_table = len(others) > 1 and bool(values) and not marked(preview.columns)
    return others if is_table and any(value < 0 or value != int(value) for value in values if isfinite(value)) else []


def _reading(path: Path, format_name: str, options: str = "") -> str:
    """How to read the file as this format: a command, or a call in Python."""
    if is_command():
        return f"sfumato import {format_name} {path} -o FILE{options}"
    return f'sf.read("{path}", format="{format_name}"{options})'
