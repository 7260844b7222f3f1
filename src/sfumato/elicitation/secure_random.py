"""Unpredictable random numbers, read from the system in large blocks.

Python releases the interpreter lock for every `os.urandom`. The writer would wait for it three times per answer; with
this buffer it waits once per several hundred answers.
"""

from __future__ import annotations

import base64
import os
import random

BLOCK_BYTES = 8192
"""Bytes read from the system at once."""


class SecureRandom(random.SystemRandom):
    """The system's random numbers, buffered. For one thread."""

    _left = b""
    _at = 0

    def randbytes(self, n: int) -> bytes:
        if self._at + n > len(self._left):
            self._left, self._at = os.urandom(max(BLOCK_BYTES, n)), 0
        self._at += n
        return self._left[self._at - n : self._at]

    def random(self) -> float:
        return (int.from_bytes(self.randbytes(7), "big") >> 3) * 2**-53

    def getrandbits(self, k: int) -> int:
        n_bytes = (k + 7) // 8
        return int.from_bytes(self.randbytes(n_bytes), "big") >> (8 * n_bytes - k)

    def handle(self) -> str:
        """A URL-safe name of 144 random bits."""
        return base64.urlsafe_b64encode(self.randbytes(18)).decode()
