"""Functions compiled with Numba, cached on disk.

Only for loops over millions of rows: importing Numba is slow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numba


class Kernel:
    """A function with one compiled version, compiled or loaded from disk at its first call."""

    def __init__(self, function: Callable[..., float], inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        self._function = function
        self._dispatcher: Any = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
        self._arguments = (*inputs, *outputs)
        self._lock = Lock()
        self._is_loaded = False

    def load(self) -> None:
        """Compile, or load the cached code; other argument types are then errors."""
        with self._lock:
            if not self._is_loaded:
                self._dispatcher.compile(self._arguments)
                self._dispatcher.disable_compile()
                self._is_loaded = True

    def is_built(self) -> bool:
        """Whether the cache has compiled code that is not older than the source."""
        source, place = Path(self._function.__code__.co_filename), Path(self._dispatcher._cache._cache_path)
        made_at = [path.stat().st_mtime for path in place.glob(f"{source.stem}.{self._function.__name__}-*.nbi")]
        return max(made_at, default=0) >= source.stat().st_mtime

    def __call__(self, *arguments: Any) -> float:
        if not self._is_loaded:
            self.load()
        return float(self._dispatcher(*arguments))


def readonly(*kinds: Any) -> list[Any]:
    """The types as read-only arrays, as in frozen tables."""
    return [numba.types.Array(kind.dtype, kind.ndim, "C", readonly=True) for kind in kinds]
