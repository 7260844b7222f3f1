"""The clocks of a running study; tests bring their own."""

from __future__ import annotations

import time


class Clock:
    """The time of day for what is written down, and a clock that never jumps for leases."""

    def now(self) -> int:
        """Milliseconds since 1970, UTC."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()
