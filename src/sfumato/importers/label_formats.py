"""The formats `labels` and `predictions`: one distribution or class per item, in a table, array or JSON of any kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from sfumato.importers.file_head import Evidence, Preview, marked
from sfumato.importers.hard_labels import LABEL_NAMES
from sfumato.importers.importer import ImportResult
from sfumato.importers.label_file import labels_in
from sfumato.importers.label_matrix import LOGITS, PROBABILITIES
from sfumato.importers.prediction_file import FileOptions, LabelsRead, predictions_in
from sfumato.tables.class_columns import column_records, id_column
from sfumato.tables.errors import listing
from sfumato.tables.files.table_file import class_names
from sfumato.tables.item_list import read_item_list


@dataclass(frozen=True)
class LabelsImporter:
    """People's labels: probabilities per class (one column or array column per class), or one class per item.

    `classes` and `items` (a file of ids) name the columns and rows of an array without names; `item` and `leave_out`
    choose columns of a table.
    """

    item: str | None = None
    classes: tuple[str, ...] = ()
    items: str | None = None
    leave_out: tuple[str, ...] = ()

    name: ClassVar[str] = "labels"

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        key = id_column(preview.columns)
        if marked(preview.columns) or b"huggingface" in preview.metadata:
            return None
        if preview.value is not None:
            return _shares_in_json(preview)
        others = [name for name in preview.columns if name != key]
        if key and len(others) == 1 and others[0] in LABEL_NAMES:
            return Evidence(f"one class per item: the columns {key} and {others[0]}", general=True)
        rows = [[_number(row[name]) for name in others] for row in preview.rows]
        if len(others) > 1 and rows and all(abs(sum(row) - 1) < 0.02 and min(row) >= 0 for row in rows):
            return Evidence("numbers per class that sum to 1 in every row", general=True)
        return None

    def read(self, source: str | Path) -> ImportResult:
        return _result(labels_in(Path(source), _options(self)))


@dataclass(frozen=True)
class PredictionsImporter:
    """A model's predictions: probabilities, or `logits`, as SoftLabels with the estimand `prediction`.

    `classes` and `items` (a file of ids) name the columns and rows of an array without names; `item` and `leave_out`
    choose columns of a table, and `array` an array, key or list column if there are several.
    """

    item: str | None = None
    classes: tuple[str, ...] = ()
    items: str | None = None
    logits: bool = False
    leave_out: tuple[str, ...] = ()
    array: str | None = None

    name: ClassVar[str] = "predictions"

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        own = b"sfumato.classes" in preview.metadata or "item" in preview.columns
        if (marked(preview.columns) and (own or "probs" not in preview.columns)) or b"huggingface" in preview.metadata:
            return None
        records = preview.records()
        keys = set.intersection(*(set(record) for record in records)) if records else set(preview.files)
        called = [name for name in (*PROBABILITIES, *LOGITS) if name in keys]
        is_list = not records or any(isinstance(records[0][name], (list, dict)) for name in called)
        if not called or not is_list or preview.path.is_dir():
            return None
        return Evidence(f"numbers per class called {listing(called)}", general=True)

    def read(self, source: str | Path) -> ImportResult:
        return _result(predictions_in(Path(source), _options(self)))


def _options(importer: LabelsImporter | PredictionsImporter) -> FileOptions:
    items = read_item_list(importer.items) if importer.items else ()
    given = FileOptions(class_names(importer.classes), items, item=importer.item, leave_out=importer.leave_out)
    if isinstance(importer, PredictionsImporter):
        return replace(given, logits=importer.logits, array=importer.array)
    return given


def _result(read: LabelsRead) -> ImportResult:
    labels = read.labels
    size = f"{len(labels):,} items, {len(labels.classes)} classes: {listing(labels.classes)}"
    known = "not known" if labels.estimand is None else labels.estimand.value
    return ImportResult(labels, (size, read.note, f"estimand: {known}"))


def _shares_in_json(preview: Preview) -> Evidence | None:
    """Numbers per class that sum to 1 in every record, or in every value of one object by item."""
    listed = preview.records() if isinstance(preview.value, list) else column_records(preview.value)
    entries = listed or preview.entries()
    if not entries or not all(isinstance(each, dict) for each in entries):
        return None
    key = id_column(list(entries[0]))
    rows = [[_number(value) for name, value in each.items() if name != key] for each in entries]
    if all(len(row) > 1 and abs(sum(row) - 1) < 0.02 and min(row) >= 0 for row in rows):
        return Evidence("numbers per class that sum to 1 for every item", general=True)
    return None


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return -1.0
