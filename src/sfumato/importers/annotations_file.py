"""Imports Annotations files (CSV or Parquet) after checking every answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from sfumato.importers.file_head import Evidence, Preview
from sfumato.importers.importer import ImportResult, summary
from sfumato.tables.annotations import Annotations
from sfumato.tables.columns import check_classes
from sfumato.tables.errors import BadTable, ErrorLocation, listing
from sfumato.tables.payloads import ChoicePayload, payload_kind

UNNAMED = ("top_two", "tokens", "typicality", "mixture")
"""Question types whose answers are about classes and do not name them all."""


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
        kinds = table.kind.names.to_pylist()
        observed: set[str] = set()
        for label in kinds:
            for answers, _, _ in table.of_kind(label).decoded(payload_kind(label)):
                observed.update(*map(_classes_in, answers))
        notes = []
        if not table.classes and (len(observed) == 1 or any(label.partition("/")[0] in UNNAMED for label in kinds)):
            fix = "name them with --classes cat,dog"
            raise BadTable("no class names", "the classes people could choose from", fix, "missing-classes", source)
        if not table.classes and observed:
            table = replace(table, classes=check_classes(tuple(sorted(observed)), ErrorLocation(str(source))))
            notes.append(f"classes as found: {listing(table.classes)} (set names and order with --classes)")
        size = f"{summary(table)}; question type {listing(kinds) or 'none'}"
        return ImportResult(table, (size, *notes))


def _classes_in(answer: Any) -> Iterable[str]:
    """The classes that an answer names: the chosen one, or all classes that were rated."""
    return (answer.chosen,) if isinstance(answer, ChoicePayload) else answer if isinstance(answer, dict) else ()
