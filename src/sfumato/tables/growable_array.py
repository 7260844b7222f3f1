"""Arrays that grow while chunks are read, and read-only arrays in tables."""

from __future__ import annotations

from typing import Any

import numpy as np

SPARE_BYTES = 2**25
BLOCK = 2**22


def freeze(table: object, *names: str) -> None:
    """Make the arrays `names` of a frozen dataclass read-only; the caller's own arrays stay writable."""
    for name in names:
        array = getattr(table, name)
        if array is not None:
            view = array.view()
            view.setflags(write=False)
            object.__setattr__(table, name, view)


class GrowableArray:
    """Rows of `shape` and `dtype`, appended chunk by chunk; `finish` gives them as one array.

    Memory grows in place (large blocks are remapped, not copied), so the peak is the array and one chunk.
    """

    def __init__(self, dtype: Any, *shape: int) -> None:
        self._array = np.empty((0, *shape), dtype)
        self._n_rows = 0

    def __len__(self) -> int:
        return self._n_rows

    def append(self, rows: np.ndarray) -> None:
        """Add `rows` at the end."""
        needed = self._n_rows + len(rows)
        self._array = resized(self._array, needed)
        self._array[self._n_rows : needed] = rows
        self._n_rows = needed

    def finish(self) -> np.ndarray:
        """Everything appended, in order; nothing can be appended afterwards."""
        _resize(self._array, self._n_rows)
        return self._array


def resized(array: np.ndarray, needed: int) -> np.ndarray:
    """`array` (without other references) with room for at least `needed` rows, and up to a quarter more."""
    if needed > len(array):
        spare = min(len(array) // 4, SPARE_BYTES // max(array.itemsize * int(np.prod(array.shape[1:])), 1))
        _resize(array, max(needed, len(array) + spare))
    return array


def _resize(array: np.ndarray, n_rows: int) -> None:
    # refcheck would fail because of slices that were assigned; there is no other reference.
    array.resize((n_rows, *array.shape[1:]), refcheck=False)


def occurrences(codes: np.ndarray, n: int, weight: np.ndarray | None = None) -> np.ndarray:
    """How often each of 0 to n - 1 occurs in `codes`, or the sum of its weights; in blocks, which need less memory."""
    counts = np.zeros(n, np.int64 if weight is None else np.float64)
    for start in range(0, len(codes), BLOCK):
        rows = slice(start, start + BLOCK)
        counts += np.bincount(codes[rows], None if weight is None else weight[rows], minlength=n)
    return counts


def is_sorted(codes: np.ndarray) -> bool:
    """Whether `codes` never decrease."""
    return all(
        bool((codes[start + 1 : start + BLOCK + 1] >= codes[start : start + BLOCK][: len(codes) - start - 1]).all())
        for start in range(0, len(codes), BLOCK)
    )
