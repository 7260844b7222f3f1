"""Memory that is kept: what one batch frees, the next one uses.

glibc gives large blocks back to the system whenever they are freed, and the system clears every page it hands out
anew. A stack of LeNets spends a fifth of its time on that.
"""

from __future__ import annotations

import contextlib
import ctypes
from functools import cache

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
LARGEST_BLOCK = 32 * 1024 * 1024
"""The largest that glibc takes from memory it keeps."""


@cache
def keep_memory() -> None:
    """Have this process keep the memory it frees; nothing on systems without glibc."""
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(M_MMAP_THRESHOLD, LARGEST_BLOCK)
        libc.mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
