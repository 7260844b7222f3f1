"""Arrays as they are made and as they are kept: growing while chunks arrive, read-only once they stand in a table."""

from __future__ import annotations

from typing import Any

import numpy as np

SPARE_BYTES = 2**25


def freeze(table: object, *names: str) -> None:
    """Make the arrays `names` of a frozen dataclass read-only; whoever made an array may still change their own."""
    for name in names:
        array = getattr(table, name)
        if array is not None:
            view = array.view()
            view.setflags(write=False)
            object.__setattr__(table, name, view)


class Growing:
    """Rows of `shape` and `dtype`, appended chunk by chunk; `finish` gives them as one array.

    Memory is grown in place (a large block moves by remapping its pages, not by copying), so that the peak is the
    array itself and one chunk.
    """

    def __init__(self, dtype: Any, *shape: int) -> None:
        self._array = np.empty((0, *shape), dtype)
        self._n_rows = 0

    def __len__(self) -> int:
        return self._n_rows

    def append(self, rows: np.ndarray) -> None:
        """Add `rows` at the end."""
        needed = self._n_rows + len(rows)
        if needed > len(self._array):
            # By a quarter while that is little; a large block is moved by remapping, so growing it often costs nothing.
            spare = min(len(self._array) // 4, SPARE_BYTES // max(self._array[:1].nbytes, 1))
            self._resize(max(needed, len(self._array) + spare))
        self._array[self._n_rows : needed] = rows
        self._n_rows = needed

    def finish(self) -> np.ndarray:
        """Everything appended, in order; nothing may be appended after."""
        self._resize(self._n_rows)
        return self._array

    def _resize(self, n_rows: int) -> None:
        # refcheck would refuse because of the slice just assigned through; nobody else holds this array.
        self._array.resize((n_rows, *self._array.shape[1:]), refcheck=False)
