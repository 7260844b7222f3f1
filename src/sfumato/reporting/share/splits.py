"""Splits: which part of a set each item belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int

from sfumato.tables.columns import check_columns
from sfumato.tables.errors import BadTable, ErrorLocation, listing, show
from sfumato.tables.files import Rows, read_rows
from sfumato.tables.text_columns import CodedText, TextReader


@dataclass(frozen=True, eq=False)
class Splits:
    """The split of every item, by name; splits stand in the order in which they first occur."""

    items: pa.StringArray
    split: CodedText
    path: Path | None = None

    @classmethod
    def of(cls, split_of: Mapping[str, str]) -> Splits:
        """Splits from a split's name an item."""
        table = {"item": pa.array(list(split_of), pa.string()), "split": pa.array(list(split_of.values()), pa.string())}
        return cls.from_rows(Rows.of(pa.table(table)))

    @classmethod
    def read(cls, path: str | Path) -> Splits:
        """Splits from a Parquet or CSV file with `item` and `split`."""
        return cls.from_rows(read_rows(path))

    @classmethod
    def from_rows(cls, rows: Rows) -> Splits:
        check_columns(rows, ("item", "split"))
        readers = {name: TextReader(rows, name) for name in ("item", "split")}
        texts: dict[str, list[str]] = {"item": [], "split": []}
        for chunk in rows.chunks:
            for name, reader in readers.items():
                texts[name] += [text for piece in reader.read(chunk.column(name)) for text in piece.to_pylist()]
        first: dict[str, int] = {}
        for row, item in enumerate(texts["item"]):
            if first.setdefault(item, row) != row:
                raise BadTable(
                    f"found item {show(item)} a second time",
                    expected="each item once: it belongs to one split",
                    fix="keep one row an item",
                    code="doubled-item",
                    where=rows.where(row, "item"),
                )
        names = list(dict.fromkeys(texts["split"]))
        codes = np.array([names.index(name) for name in texts["split"]], np.int32)
        return cls(pa.array(texts["item"], pa.string()), CodedText(codes, pa.array(names, pa.string())), rows.path)

    def of_items(self, items: pa.StringArray) -> CodedText:
        """The split of each of `items`; an item without one is an error."""
        rows = pc.index_in(items, value_set=self.items)
        if rows.null_count:
            without = items.filter(pc.is_null(rows))
            raise BadTable(
                f"found no split for {listing([show(name, 40) for name in without[:5].to_pylist()])}"
                f" ({rows.null_count:,} items have none)",
                expected="a split for every labelled item",
                fix="add the missing items to the splits, or leave their labels out",
                code="missing-item",
                where=ErrorLocation(str(self.path) if self.path else None),
            )
        taken: Int[np.ndarray, "items"] = rows.to_numpy()
        return self.split.take(taken)
