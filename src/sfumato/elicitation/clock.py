"""The clocks of a running study; tests use their own."""

from __future__ import annotations

import time


class Clock:
    """The system time for what is stored, and monotonic clocks for leases."""

    _offset: float | None = None

    def now(self) -> int:
        """Milliseconds since 1970, UTC."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""
        return time.monotonic()

    def steady(self) -> int:
        """Milliseconds since 1970, by the system clock at the first call and monotonic from there on."""
        if self._offset is None:
            self._offset = self.now() - 1000 * self.monotonic()
        return round(self._offset + 1000 * self.monotonic())
