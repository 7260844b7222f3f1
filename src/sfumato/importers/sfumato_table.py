"""Imports sfumato's own tables of beliefs, soft labels and counts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from sfumato.importers.file_head import Evidence, Preview, marked
from sfumato.importers.importer import ImportResult
from sfumato.tables.base_table import Table
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.errors import missing_column
from sfumato.tables.files.table_file import class_names, read_rows
from sfumato.tables.soft_labels import SoftLabels


@dataclass(frozen=True)
class SfumatoTableImporter:
    """`item, annotator` and probabilities are Beliefs, `item` and probabilities SoftLabels, `item` and `counts` (or
    `n:CLASS`) Counts; `classes` if a list column `probs` or `counts` comes without their names."""

    classes: tuple[str, ...] = ()

    name: ClassVar[str] = "table"

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        kind = _kind(preview.columns)
        if kind is None or b"huggingface" in preview.metadata:
            return None
        return Evidence(f"the columns of a sfumato table: item and {', '.join(marked(preview.columns)[:3])}")

    def read(self, source: str | Path) -> ImportResult:
        rows = read_rows(source)
        kind = _kind(tuple(rows.schema.names))
        if kind is None:
            expected = "item, with probs, p:CLASS, counts or n:CLASS"
            raise missing_column(rows.schema.names, expected, "see docs/tables.md", rows.where())
        names = class_names(self.classes)
        if names and rows.classes() is None and {"probs", "counts"} & set(rows.schema.names):
            rows = rows.with_classes(names)
        table: Table = kind.from_rows(rows)
        table = table.in_class_order(names) if names else table
        name = type(table).__name__
        return ImportResult(table, (f"{len(table):,} rows of {name}, {len(table.classes)} classes",))


def _kind(columns: tuple[str, ...]) -> type[Beliefs] | type[SoftLabels] | type[Counts] | None:
    names = [name for name in marked(columns) if name != "payload"]
    if "item" not in columns or not names:
        return None
    if names[0] == "counts" or names[0].startswith("n:"):
        return Counts
    return Beliefs if "annotator" in columns else SoftLabels
