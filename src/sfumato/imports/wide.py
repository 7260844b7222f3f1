"""Wide tables of hard labels: a row an item, a column an annotator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sfumato.columns import Coded
from sfumato.errors import BadTable, listing, show
from sfumato.files import read_rows
from sfumato.imports.imported import (
    Imported,
    annotations_of,
    choice_payloads,
    coded_array,
    ordered_classes,
    text_columns,
)


@dataclass(frozen=True)
class Wide:
    """Items down, annotators across, a class name in each cell; an empty cell is a question not asked.

    `item` names the column of item ids (default: the first). `classes` lists the classes allowed, in order.
    """

    item: str | None = None
    classes: tuple[str, ...] = ()

    name: ClassVar[str] = "wide"
    summary: ClassVar[str] = "items down, annotators across, a class in each cell"

    def read(self, source: str | Path) -> Imported:
        rows = read_rows(source, guarded=False)
        names = rows.schema.names
        columns = text_columns(
            rows, [self.item or names[0], *(name for name in names if name != (self.item or names[0]))]
        )
        item = columns.pop(self.item or names[0])
        people = list(columns)
        ids = item.text().to_pylist()
        if doubled := [name for name in item.names.to_pylist() if ids.count(name) > 1]:
            row = [i for i, name in enumerate(ids) if name == doubled[0]][1]
            raise BadTable(
                f"found item {show(doubled[0])} a second time",
                expected="each item once",
                fix="join the two rows",
                code="doubled-item",
                where=rows.where(row, self.item or names[0]),
            )
        texts = (
            np.array([columns[name].text().to_pylist() for name in people], dtype=object)
            .reshape(len(people), len(ids))
            .T
        )
        asked = np.argwhere(texts != "")
        if not len(asked):
            raise BadTable(
                "found no answer in any cell",
                expected="at least one answer",
                fix="is the item column the first one? see --item",
                code="no-rows",
                where=rows.where(),
            )
        encoded = pa.array(texts[texts != ""].tolist(), pa.string()).dictionary_encode()
        label = Coded(encoded.indices.to_numpy(), encoded.dictionary)
        try:
            classes = ordered_classes(label, self.classes, rows, "")
        except Exception as error:
            row, column = asked[int(np.argmax([texts[r, c] not in self.classes for r, c in asked]))]
            error.where = rows.where(int(row), people[column])  # type: ignore[attr-defined]
            raise
        table = annotations_of(
            {
                "item": coded_array(Coded(asked[:, 0].astype(np.int32), pa.array(ids, pa.string()))),
                "annotator": coded_array(Coded(asked[:, 1].astype(np.int32), pa.array(people, pa.string()))),
                "payload": choice_payloads(label),
            },
            "choice/1",
            classes,
        )
        empty = len(ids) - len(table.item.names)
        notes = [
            f"{len(table):,} answers by {len(people):,} annotators about {len(ids):,} items, {len(classes)} classes"
        ]
        if not self.classes:
            notes.append(f"classes as found: {listing(classes)} (fix them with --classes)")
        if empty:
            notes.append(f"{empty:,} items without any answer")
        return Imported(table, tuple(notes))
