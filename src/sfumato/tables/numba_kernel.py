"""Compiled functions: one version each, compiled once a machine and kept on disk.

Only what works on millions of rows is worth it; nothing else should import this module, for Numba takes its time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numba


class Kernel:
    """A function with one compiled version, made (or loaded from disk) when it is first called."""

    def __init__(self, function: Callable[..., float], inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        self._function = function
        self._dispatcher: Any = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
        self._arguments = (*inputs, *outputs)
        self._lock = Lock()
        self._is_loaded = False

    def load(self) -> None:
        """Compile, or load what was compiled before; from then on nothing else is compiled for other types."""
        with self._lock:
            if not self._is_loaded:
                self._dispatcher.compile(self._arguments)
                self._dispatcher.disable_compile()
                self._is_loaded = True

    def is_built(self) -> bool:
        """Whether compiled code no older than the source lies on disk."""
        source, place = Path(self._function.__code__.co_filename), Path(self._dispatcher._cache._cache_path)
        made_at = [path.stat().st_mtime for path in place.glob(f"{source.stem}.{self._function.__name__}-*.nbi")]
        return max(made_at, default=0) >= source.stat().st_mtime

    def __call__(self, *arguments: Any) -> float:
        if not self._is_loaded:
            self.load()
        return float(self._dispatcher(*arguments))


def readonly(*kinds: Any) -> list[Any]:
    """The kinds as arrays that are read only, which is how frozen tables hand theirs over."""
    return [numba.types.Array(kind.dtype, kind.ndim, "C", readonly=True) for kind in kinds]
