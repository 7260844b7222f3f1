"""Imports long tables of hard labels: one row per answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.importers.file_head import Evidence, Preview, delimiter_named, marked
from sfumato.importers.hard_labels import read_hard_labels
from sfumato.importers.importer import ImportResult, summary
from sfumato.importers.source_columns import (
    annotations_of,
    check_no_second_answer,
    choice_payloads,
    coded_array,
    coded_columns,
    label_texts,
    ordered_classes,
    purposes,
    second_answers,
)
from sfumato.tables.errors import BadTable, listing, missing_column, nearest, no_rows, show
from sfumato.tables.files.table_file import Rows, read_rows
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.text_columns import CodedText

KNOWN_NAMES = {
    "item": ("item", "task"),
    "annotator": ("annotator", "worker"),
    "label": ("label", "class"),
}


@dataclass(frozen=True)
class CrowdImporter:
    """One row per answer, in a CSV or Parquet file; crowd-kit's `task, worker, label` is recognized.

    `classes` lists the allowed classes in order; without it the classes are the labels that occur. `truth` names a
    column of true classes, or a file with them (`item`, `label`), kept as original labels; values that are not classes
    (`-1`, empty) mean unknown. `delimiter` separates the columns of a CSV (default: a comma; a tab in a file named
    `.tsv`).
    """

    item: str | None = None
    annotator: str | None = None
    label: str | None = None
    classes: tuple[str, ...] = ()
    truth: str | None = None
    repeats: bool = False
    delimiter: str | None = None

    name: ClassVar[str] = "crowd"

    def __post_init__(self) -> None:
        object.__setattr__(self, "delimiter", delimiter_named(self.delimiter))

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        found = [next((name for name in known if name in preview.columns), None) for known in KNOWN_NAMES.values()]
        if marked(preview.columns) or b"huggingface" in preview.metadata:
            return None
        if None in found:
            return _unnamed(preview)
        return Evidence(f"the columns {', '.join(map(str, found))}", general=True)

    def read(self, source: str | Path) -> ImportResult:
        rows = read_rows(source, guarded=False, delimiter=self.delimiter)
        truth_file = self.truth if self.truth and self.truth not in rows.schema.names else None
        if truth_file and Path(truth_file).is_file():
            apart = replace(self, truth=None).read(source)
            known = read_hard_labels(truth_file)
            return replace(apart, notes=(*apart.notes, *known.notes), original=known.one_hot(apart.table.classes or ()))
        names = {role: self._column(rows, role) for role in KNOWN_NAMES}
        truth = [self.truth] if self.truth else []
        columns = coded_columns(rows, [*names.values(), *truth], optional=truth)
        item, annotator, label = (columns[names[role]] for role in ("item", "annotator", "label"))
        label = label_texts(label, self.classes, rows)
        if not len(label.codes):
            raise no_rows("at least one answer", "export the answers again", rows.where(), "a header without rows")
        classes = ordered_classes(label, self.classes, rows, names["label"])
        later = second_answers(item, annotator)
        if not self.repeats:
            check_no_second_answer(rows, item, annotator, later)
        given = {"item": coded_array(item), "annotator": coded_array(annotator), "purpose": purposes(later)}
        given["payload"] = choice_payloads(label)
        table = annotations_of(given, "choice/1", classes, rows.where())
        unread = [name for name in rows.schema.names if name not in (*names.values(), *truth)]
        notes = [
            summary(table),
            f"read as item: {names['item']}, annotator: {names['annotator']}, label: {names['label']}",
        ]
        if not self.classes:
            notes.append(f"classes as found: {listing(classes)} (set names and order with --classes)")
        if later.any():
            notes.append(f"{int(later.sum()):,} second answers of an annotator to an item, kept with purpose 'repeat'")
        if unread:
            notes.append(f"columns not read: {listing(unread)}")
        if not self.truth:
            return ImportResult(table, tuple(notes))
        original, unknown = _original(rows, item, columns[self.truth], classes, self.truth)
        if unknown:
            notes.append(f"items without a known class in {self.truth}: {listing(unknown)}")
        return ImportResult(table, tuple(notes), original)

    def _column(self, rows: Rows, role: str) -> str:
        """The column for `role`: the chosen one, or the first known name that exists."""
        given = getattr(self, role)
        columns = rows.schema.names
        if given is not None and given not in columns:
            fix = f"{nearest(given, columns)}give --{role} with one of the columns found"
            raise missing_column(columns, f"the column {show(given)} of --{role}", fix, rows.where())
        if given is not None:
            return str(given)
        found = next((name for name in KNOWN_NAMES[role] if name in columns), None)
        if found is None:
            expected = f"a column for the {role}: {' or '.join(KNOWN_NAMES[role])}"
            raise missing_column(columns, expected, f"name the column with --{role} NAME", rows.where())
        return found


def _unnamed(preview: Preview) -> Evidence | None:
    """A guess for a table of three columns or more whose ids repeat: votes whose columns have other names."""
    ids = [row[preview.columns[0]] for row in preview.rows] if len(preview.columns) > 2 else []
    if len(set(ids)) == len(ids):
        return None
    return Evidence("several rows per item: name the columns with --item, --annotator and --label", certain=False)


def _original(
    rows: Rows, item: CodedText, truth: CodedText, classes: tuple[str, ...], column: str
) -> tuple[SoftLabels | None, list[str]]:
    """The true class of each item, and the items without one; two different classes are an error."""
    first: dict[int, int] = {}
    pair = item.codes.astype(np.int64) * max(len(truth.names), 1) + truth.codes
    for row in np.sort(np.unique(pair, return_index=True)[1]).tolist():
        code = int(item.codes[row])
        if code in first:
            found, fix = f"item {show(item.names[code].as_py())} with two true classes", f"correct the column {column}"
            raise BadTable(found, "one true class per item", fix, "doubled-item", rows.where(row, column))
        first[code] = int(truth.codes[row])
    names, truths = item.names.to_pylist(), truth.names.to_pylist()
    known = {names[code]: truths[value] for code, value in first.items() if truths[value] in classes}
    unknown = [names[code] for code in first if names[code] not in known]
    return SoftLabels.one_hot(list(known), list(known.values()), classes) if known else None, unknown
