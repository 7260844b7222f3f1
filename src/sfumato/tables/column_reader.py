"""Reads whole columns of texts and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.tables.columns import numbers
from sfumato.tables.files.table_file import Rows, check_columns
from sfumato.tables.text_columns import CodedText, TextEncoder


@dataclass(frozen=True)
class ReadColumns:
    """Columns by name: texts coded, numbers as arrays."""

    texts: dict[str, CodedText]
    numbers: dict[str, np.ndarray]

    def listed(self, name: str) -> list[str]:
        """A column of texts as a list."""
        return self.texts[name].text().to_pylist()  # type: ignore[no-any-return]


def read_columns(
    rows: Rows, texts: Sequence[str], figures: Sequence[str] = (), *, optional: Sequence[str] = ()
) -> ReadColumns:
    """The columns `texts` and `figures` (numbers) of all rows; an empty field is an error unless its column is
    `optional`."""
    check_columns(rows, (*texts, *figures))
    encoders = {name: TextEncoder.of(rows, name, optional=name in optional) for name in texts}
    parts: dict[str, list[np.ndarray]] = {name: [np.empty(0)] for name in figures}
    n_rows = 0
    for chunk in rows.chunks:
        for name, encoder in encoders.items():
            encoder.append(chunk.column(name))
        for name in figures:
            parts[name].append(numbers(rows, name, chunk.column(name), n_rows, optional=name in optional))
        n_rows += len(chunk)
    read = {name: encoder.finish() for name, encoder in encoders.items()}
    return ReadColumns(read, {name: np.concatenate(arrays) for name, arrays in parts.items()})
