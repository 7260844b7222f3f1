"""How much each annotator counts, from a file."""

from __future__ import annotations

from pathlib import Path

from sfumato.tables.columns import check_columns, numbers
from sfumato.tables.errors import BadTable, show
from sfumato.tables.files import read_rows
from sfumato.tables.text_columns import TextReader


def read_weights(path: str | Path) -> dict[str, float]:
    """The weight of every annotator in a table with the columns `annotator` and `weight`."""
    rows = read_rows(path)
    check_columns(rows, ("annotator", "weight"))
    reader = TextReader(rows, "annotator")
    weights: dict[str, float] = {}
    for chunk in rows.chunks:
        start = reader.n_rows
        names = [name for piece in reader.read(chunk.column("annotator")) for name in piece.to_pylist()]
        values = numbers(rows, "weight", chunk.column("weight"), start)
        for i, name in enumerate(names):
            if name in weights:
                raise BadTable(
                    f"found annotator {show(name)} a second time",
                    expected="one weight an annotator",
                    fix="keep one row an annotator",
                    code="doubled-annotator",
                    where=rows.where(start + i, "annotator"),
                )
            weights[name] = float(values[i])
    return weights
