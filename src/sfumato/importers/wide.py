"""Imports wide tables of hard labels: one row per item, one column per annotator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sfumato.importers.file_head import Evidence, Preview, delimiter_named, marked
from sfumato.importers.importer import ImportResult, summary
from sfumato.importers.source_columns import (
    annotations_of,
    choice_payloads,
    coded_array,
    coded_columns,
    label_texts,
    ordered_classes,
)
from sfumato.tables.class_columns import are_words, id_column
from sfumato.tables.errors import BadTable, doubled_item, listing, no_rows, show, unknown
from sfumato.tables.files.table_file import Rows, read_rows
from sfumato.tables.text_columns import CodedText


@dataclass(frozen=True)
class WideImporter:
    """One row per item, one column per annotator, a class name in each cell; empty cells mean no answer.

    `item` names the column of item ids (default: the first). `classes` lists the allowed classes, in order.
    """

    item: str | None = None
    classes: tuple[str, ...] = ()
    delimiter: str | None = None

    name: ClassVar[str] = "wide"

    def __post_init__(self) -> None:
        object.__setattr__(self, "delimiter", delimiter_named(self.delimiter))

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        if len(preview.columns) < 3 or marked(preview.columns) or id_column(preview.columns[:1]) is None:
            return None
        ids = [row[preview.columns[0]] for row in preview.rows]
        if len(set(ids)) < len(ids):
            return None
        cells = [str(value) for row in preview.rows for value in list(row.values())[1:] if value not in (None, "")]
        if not cells or len(set(cells)) > max(2, len(cells) / 2) or max(map(len, cells)) > 40:
            return None
        columns = [[row[name] for row in preview.rows] for name in preview.columns[1:]]
        words = {are_words(column) for column in columns if any(value not in (None, "") for value in column)}
        if len(words) == 2:
            return None  # numbers in some columns: votes per class, and other facts about the items
        why = "one row per item, and few different values in the other columns"
        return Evidence(why, certain=False, certain_if_votes=True)

    def read(self, source: str | Path) -> ImportResult:
        rows = read_rows(source, guarded=False, delimiter=self.delimiter)
        key = self.item or rows.schema.names[0]
        annotators = [name for name in rows.schema.names if name != key]
        columns = coded_columns(rows, [key, *annotators], optional=annotators)
        item = columns[key]
        _check_once(rows, key, item)
        texts = np.array([columns[name].text().to_pylist() for name in annotators], dtype=object)
        texts = texts.reshape(len(annotators), len(item.codes)).T
        answered = np.argwhere(texts != "")
        if not len(answered):
            fix = "is the first column the item? see --item"
            raise no_rows("at least one answer", fix, rows.where(), "no answer in any cell")
        encoded = pa.array(texts[texts != ""].tolist(), pa.string()).dictionary_encode()
        label = label_texts(CodedText(encoded.indices.to_numpy(), encoded.dictionary), self.classes, rows)
        self._check_cells(rows, label, answered, annotators)
        classes = ordered_classes(label, self.classes, rows, key)
        table = annotations_of(
            {
                "item": coded_array(CodedText(item.codes[answered[:, 0]], item.names)),
                "annotator": coded_array(CodedText(answered[:, 1].astype(np.int32), pa.array(annotators, pa.string()))),
                "payload": choice_payloads(label),
            },
            "choice/1",
            classes,
            rows.where(),
        )
        notes = [summary(table), f"annotators: the columns {listing(annotators)}"]
        if not self.classes:
            notes.append(f"classes as found: {listing(classes)} (set names and order with --classes)")
        if empty := len(item.names) - len(table.item.names):
            notes.append(f"{empty:,} items without any answer")
        return ImportResult(table, tuple(notes))

    def _check_cells(self, rows: Rows, label: CodedText, answered: np.ndarray, annotators: list[str]) -> None:
        """Raise unless every cell has a class: one of the given ones, or any text that is not blank."""
        for code, name in enumerate(label.names.to_pylist()):
            if name.strip() and (not self.classes or name in self.classes):
                continue
            row, column = answered[int(np.argmax(label.codes == code))]
            where = rows.where(int(row), annotators[int(column)])
            if name.strip():
                fix = "correct the cell, or the names in --classes"
                raise unknown("class", name, list(self.classes), where=where, fix=fix)
            raise BadTable(show(name), "a class, or an empty cell", "empty the cell", "empty-text", where=where)


def _check_once(rows: Rows, key: str, item: CodedText) -> None:
    _, first = np.unique(item.codes, return_index=True)
    if len(first) < len(item.codes):
        row = int(np.setdiff1d(np.arange(len(item.codes)), first)[0])
        raise doubled_item(item.names[int(item.codes[row])].as_py(), rows.where(row, key), fix="join the two rows")
