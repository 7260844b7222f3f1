"""Wide tables of hard labels: a row an item, a column an annotator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sfumato.importers.importer import ImportResult, came_in
from sfumato.importers.source_columns import (
    annotations_of,
    choice_payloads,
    coded_array,
    coded_columns,
    ordered_classes,
)
from sfumato.tables.errors import BadTable, listing, show, unknown
from sfumato.tables.files import Rows, read_rows
from sfumato.tables.text_columns import CodedText


@dataclass(frozen=True)
class WideImporter:
    """Items down, annotators across, a class name in each cell; an empty cell is a question not asked.

    `item` names the column of item ids (default: the first). `classes` lists the classes allowed, in order.
    """

    item: str | None = None
    classes: tuple[str, ...] = ()

    name: ClassVar[str] = "wide"

    def read(self, source: str | Path) -> ImportResult:
        rows = read_rows(source, guarded=False)
        key = self.item or rows.schema.names[0]
        people = [name for name in rows.schema.names if name != key]
        columns = coded_columns(rows, [key, *people], optional=people)
        item = columns[key]
        _check_once(rows, key, item)
        texts = np.array([columns[name].text().to_pylist() for name in people], dtype=object)
        texts = texts.reshape(len(people), len(item.codes)).T
        asked = np.argwhere(texts != "")
        if not len(asked):
            raise BadTable(
                "no answer in any cell",
                "at least one answer",
                "is the item column the first one? see --item",
                "no-rows",
                where=rows.where(),
            )
        encoded = pa.array(texts[texts != ""].tolist(), pa.string()).dictionary_encode()
        label = CodedText(encoded.indices.to_numpy(), encoded.dictionary)
        self._check_cells(rows, label, asked, people)
        classes = ordered_classes(label, self.classes, rows, key)
        table = annotations_of(
            {
                "item": coded_array(CodedText(item.codes[asked[:, 0]], item.names)),
                "annotator": coded_array(CodedText(asked[:, 1].astype(np.int32), pa.array(people, pa.string()))),
                "payload": choice_payloads(label),
            },
            "choice/1",
            classes,
            rows.where(),
        )
        notes = [came_in(table), f"annotators: the columns {listing(people)}"]
        if not self.classes:
            notes.append(f"classes as found: {listing(classes)} (set names and order with --classes)")
        if empty := len(item.names) - len(table.item.names):
            notes.append(f"{empty:,} items without any answer")
        return ImportResult(table, tuple(notes))

    def _check_cells(self, rows: Rows, label: CodedText, asked: np.ndarray, people: list[str]) -> None:
        """Raise unless every cell holds a class: one of those given, or at least a name."""
        for code, name in enumerate(label.names.to_pylist()):
            if name.strip() and (not self.classes or name in self.classes):
                continue
            row, column = asked[int(np.argmax(label.codes == code))]
            where = rows.where(int(row), people[int(column)])
            if name.strip():
                fix = "mend the cell, or the names in --classes"
                raise unknown("class", name, list(self.classes), where=where, fix=fix)
            raise BadTable(f"{show(name)}", "a class, or nothing at all", "empty the cell", "empty-text", where=where)


def _check_once(rows: Rows, key: str, item: CodedText) -> None:
    _, first = np.unique(item.codes, return_index=True)
    if len(first) < len(item.codes):
        row = int(np.setdiff1d(np.arange(len(item.codes)), first)[0])
        raise BadTable(
            f"item {show(item.names[int(item.codes[row])].as_py())} a second time",
            "each item once",
            "join the two rows",
            "doubled-item",
            where=rows.where(row, key),
        )
