"""Long tables of hard labels: one row an answer, as most crowdsourcing tools write them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from sfumato.columns import Coded
from sfumato.errors import BadTable, listing
from sfumato.files import Rows, read_rows
from sfumato.imports.imported import (
    Imported,
    annotations_of,
    came_in,
    choice_payloads,
    coded_array,
    id_columns,
    ordered_classes,
    purposes,
    refuse_second_answer,
    second_answers,
)
from sfumato.soft_labels import SoftLabels

KNOWN_NAMES = {
    "item": ("item", "task"),
    "annotator": ("annotator", "worker"),
    "label": ("label", "class"),
}


@dataclass(frozen=True)
class Crowd:
    """One row an answer, in a CSV, Parquet or Arrow file; crowd-kit's `task, worker, label` is recognised.

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
    summary: ClassVar[str] = "one row an answer: item, annotator, label (crowd-kit's task, worker, label too)"

    def read(self, source: str | Path) -> Imported:
        rows = read_rows(source, guarded=False)
        names = {role: self._column(rows, role) for role in KNOWN_NAMES}
        wanted = [*names.values(), *([self.truth] if self.truth else [])]
        columns = id_columns(rows, wanted)
        item, annotator, label = (columns[names[role]] for role in ("item", "annotator", "label"))
        if not len(label.codes):
            raise BadTable(
                "found a header and no rows",
                expected="at least one answer",
                fix="export the answers again",
                code="no-rows",
                where=rows.where(),
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
        )
        unread = [name for name in rows.schema.names if name not in wanted]
        notes = [
            came_in(table),
            f"read as item: {names['item']}, annotator: {names['annotator']}, label: {names['label']}",
        ]
        if not self.classes:
            notes.append(f"classes as found: {listing(classes)} (fix them with --classes)")
        if later.any():
            notes.append(f"{int(later.sum()):,} second answers of a person to an item kept with purpose 'repeat'")
        if unread:
            notes.append(f"columns not read: {listing(unread)}")
        return Imported(table, tuple(notes), self._original(item, columns, classes))

    def _column(self, rows: Rows, role: str) -> str:
        """The column for `role`: the one named, or the first known name that is there."""
        given = getattr(self, role)
        if given is not None:
            return str(given)
        found = next((name for name in KNOWN_NAMES[role] if name in rows.schema.names), None)
        if found is None:
            raise BadTable(
                f"found columns {listing(rows.schema.names)}",
                expected=f"a column for the {role}: {' or '.join(KNOWN_NAMES[role])}",
                fix=f"say which column it is with --{role} NAME",
                code="missing-column",
                where=rows.where(),
            )
        return found

    def _original(self, item: Coded, columns: dict[str, Coded], classes: tuple[str, ...]) -> SoftLabels | None:
        """The known classes, one an item; two different ones for an item are an error."""
        if self.truth is None:
            return None
        pairs = dict.fromkeys(zip(item.text().to_pylist(), columns[self.truth].text().to_pylist(), strict=True))
        known = [(name, truth) for name, truth in pairs if truth in classes]
        items = [name for name, _ in known]
        if len(set(items)) < len(items):
            raise BadTable(
                "found an item with two different truths",
                expected="one truth an item",
                fix=f"mend the column {self.truth}",
                code="doubled-item",
            )
        return SoftLabels.one_hot(items, [truth for _, truth in known], classes) if known else None
