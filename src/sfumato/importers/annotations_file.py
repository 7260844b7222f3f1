"""Imports Annotations files (CSV or Parquet) after checking every answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from sfumato.importers.file_head import Evidence, Preview
from sfumato.importers.importer import ImportResult, summary
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import listing
from sfumato.tables.payloads import payload_kind


@dataclass(frozen=True)
class AnnotationsImporter:
    """A table with the columns of Annotations; `classes` if the file does not name them (a CSV cannot)."""

    classes: tuple[str, ...] = ()

    name: ClassVar[str] = "annotations"

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        if not preview.has_columns("item", "annotator", "kind", "payload"):
            return None
        return Evidence("the columns item, annotator, kind and payload of a sfumato table")

    def read(self, source: str | Path) -> ImportResult:
        table = Annotations.read(source, self.classes)
        for label in table.kind.names.to_pylist():
            for _ in table.of_kind(label).decoded(payload_kind(label)):
                pass
        kinds = listing(table.kind.names.to_pylist())
        notes = [f"{summary(table)}; question type {kinds or 'none'}"]
        if not table.classes:
            notes.append("the file names no classes: give --classes here or to `sfumato label`")
        return ImportResult(table, tuple(notes))
