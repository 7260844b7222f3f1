"""Chance nobody can foresee, at a price that a busy writer can pay.

Python lets other threads go first whenever it asks the system for random bytes. A writer that asks three times an
answer would wait its turn three times an answer; this one asks once in some hundred answers.
"""

from __future__ import annotations

import base64
import os
import random

AT_ONCE = 8192
"""Bytes asked of the system together."""


class SecureRandom(random.SystemRandom):
    """The system's random numbers, some thousand bytes at a time. For one thread."""

    _left = b""
    _at = 0

    def randbytes(self, n: int) -> bytes:
        if self._at + n > len(self._left):
            self._left, self._at = os.urandom(max(AT_ONCE, n)), 0
        self._at += n
        return self._left[self._at - n : self._at]

    def random(self) -> float:
        return (int.from_bytes(self.randbytes(7), "big") >> 3) * 2**-53

    def getrandbits(self, k: int) -> int:
        n_bytes = (k + 7) // 8
        return int.from_bytes(self.randbytes(n_bytes), "big") >> (8 * n_bytes - k)

    def handle(self) -> str:
        """A name of 96 random bits that can stand in an address."""
        return base64.urlsafe_b64encode(self.randbytes(12)).decode()
