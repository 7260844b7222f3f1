"""Features: what a network, or anything else, makes of each item, as an items x dims array in an npz."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from sfumato.tables.errors import BadTable, ErrorLocation, show
from sfumato.tables.files import read_arrays


@dataclass(frozen=True, eq=False)
class Features:
    """One finite vector an item."""

    items: tuple[str, ...]
    values: Float[np.ndarray, "items dims"]
    path: Path | None = None

    def __post_init__(self) -> None:
        if len(self.items) != len(self.values) or not len(self.values) or not self.values.shape[1]:
            found = f"{len(self.items):,} ids for features of shape {self.values.shape}"
            raise self._bad(found, "one id a row, at least one row and dimension", "wrong-shape", "save both anew")
        if len(set(self.items)) < len(self.items):
            doubled = next(item for item in self.items if self.items.count(item) > 1)
            raise self._bad(f"the id {show(doubled)} twice", "each item once", "doubled-item", "keep one row an item")
        bad = ~np.isfinite(self.values).all(axis=1)
        if bad.any():
            found = (
                f"features of {show(self.items[int(np.argmax(bad))])} that are not finite ({int(bad.sum()):,} items)"
            )
            raise self._bad(found, "finite numbers", "bad-number", "did the network diverge? leave these items out")

    @classmethod
    def read(cls, path: str | Path) -> Features:
        """Features from an npz with `features` and perhaps `items`; without, ids are row numbers as text."""
        path = Path(path)
        arrays = read_arrays(path)
        values, items = arrays.get("features"), arrays.get("items")
        if values is None or values.ndim != 2 or values.dtype.kind not in "fiu":
            found = "no array features" if values is None else f"features of type {values.dtype}, shape {values.shape}"
            raise _bad(path, found, "numbers, items x dims, under the name features", "bad-features", "save them anew")
        if items is not None and (items.ndim != 1 or items.dtype.kind not in "Uiu"):
            found = f"items of type {items.dtype} and shape {items.shape}"
            raise _bad(path, found, "one text or whole number a row", "bad-items", "save them anew")
        names = map(str, range(len(values)) if items is None else items.tolist())
        return cls(tuple(names), values.astype(np.float64), path)

    def rows_of(self, items: Sequence[str]) -> Int[np.ndarray, "asked"]:
        """The row of each of `items`; -1 for one that is not here."""
        row = {name: i for i, name in enumerate(self.items)}
        return np.array([row.get(name, -1) for name in items], np.int64)

    def _bad(self, found: str, expected: str, code: str, fix: str) -> BadTable:
        return _bad(self.path, found, expected, code, fix)


def _bad(path: Path | None, found: str, expected: str, code: str, fix: str) -> BadTable:
    where = ErrorLocation(str(path) if path else None)
    return BadTable(f"found {found}", expected=expected, fix=fix, code=code, where=where)
