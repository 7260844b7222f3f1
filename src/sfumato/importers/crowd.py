"""Long tables of hard labels: one row an answer, as most crowdsourcing tools write them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from sfumato.importers.importer import ImportResult, came_in
from sfumato.importers.source_columns import (
    annotations_of,
    choice_payloads,
    coded_array,
    coded_columns,
    ordered_classes,
    purposes,
    refuse_second_answer,
    second_answers,
)
from sfumato.tables.errors import BadTable, listing, show
from sfumato.tables.files import Rows, read_rows
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.text_columns import CodedText

KNOWN_NAMES = {
    "item": ("item", "task"),
    "annotator": ("annotator", "worker"),
    "label": ("label", "class"),
}


@dataclass(frozen=True)
class CrowdImporter:
    """One row an answer, in a CSV or Parquet file; crowd-kit's `task, worker, label` is recognised.

    `classes` lists the classes allowed, in order; without it the labels found are the classes. `truth` names a column
    with known classes, kept as original labels; its values that are no class (`-1`, empty) mean unknown.
    """

    item: str | None = None
    annotator: str | None = None
    label: str | None = None
    classes: tuple[str, ...] = ()
    truth: str | None = None
    repeats: bool = False

    name: ClassVar[str] = "crowd"

    def read(self, source: str | Path) -> ImportResult:
        rows = read_rows(source, guarded=False)
        names = {role: self._column(rows, role) for role in KNOWN_NAMES}
        truth = [self.truth] if self.truth else []
        columns = coded_columns(rows, [*names.values(), *truth], optional=truth)
        item, annotator, label = (columns[names[role]] for role in ("item", "annotator", "label"))
        if not len(label.codes):
            raise BadTable(
                "a header and no rows", "at least one answer", "export the answers again", "no-rows", where=rows.where()
            )
        classes = ordered_classes(label, self.classes, rows, names["label"])
        later = second_answers(item, annotator)
        if not self.repeats:
            refuse_second_answer(rows, item, annotator, later)
        table = annotations_of(
            {
                "item": coded_array(item),
                "annotator": coded_array(annotator),
                "payload": choice_payloads(label),
                "purpose": purposes(later),
            },
            "choice/1",
            classes,
            rows.where(),
        )
        unread = [name for name in rows.schema.names if name not in (*names.values(), *truth)]
        notes = [
            came_in(table),
            f"read as item: {names['item']}, annotator: {names['annotator']}, label: {names['label']}",
        ]
        if not self.classes:
            notes.append(f"classes as found: {listing(classes)} (set names and order with --classes)")
        if later.any():
            notes.append(f"{int(later.sum()):,} second answers of a person to an item kept with purpose 'repeat'")
        if unread:
            notes.append(f"columns not read: {listing(unread)}")
        if not self.truth:
            return ImportResult(table, tuple(notes))
        original, unknown = _original(rows, item, columns[self.truth], classes, self.truth)
        if unknown:
            notes.append(f"items without a known class in {self.truth}: {listing(unknown)}")
        return ImportResult(table, tuple(notes), original)

    def _column(self, rows: Rows, role: str) -> str:
        """The column for `role`: the one named, or the first known name that is there."""
        given = getattr(self, role)
        if given is not None:
            return str(given)
        found = next((name for name in KNOWN_NAMES[role] if name in rows.schema.names), None)
        if found is None:
            raise BadTable(
                f"columns {listing(rows.schema.names)}",
                f"a column for the {role}: {' or '.join(KNOWN_NAMES[role])}",
                f"say which column it is with --{role} NAME",
                "missing-column",
                where=rows.where(),
            )
        return found


def _original(
    rows: Rows, item: CodedText, truth: CodedText, classes: tuple[str, ...], column: str
) -> tuple[SoftLabels | None, list[str]]:
    """The known classes, one an item, and the items of which none is known; two different ones are an error."""
    first: dict[int, int] = {}
    pair = item.codes.astype(np.int64) * max(len(truth.names), 1) + truth.codes
    for row in np.sort(np.unique(pair, return_index=True)[1]).tolist():
        code = int(item.codes[row])
        if code in first:
            raise BadTable(
                f"item {show(item.names[code].as_py())} with two different truths",
                "one truth an item",
                f"mend the column {column}",
                "doubled-item",
                where=rows.where(row, column),
            )
        first[code] = int(truth.codes[row])
    names, truths = item.names.to_pylist(), truth.names.to_pylist()
    known = {names[code]: truths[value] for code, value in first.items() if truths[value] in classes}
    unknown = [names[code] for code in first if names[code] not in known]
    return SoftLabels.one_hot(list(known), list(known.values()), classes) if known else None, unknown
