"""The clocks of a running study; tests bring their own."""

from __future__ import annotations

import time


class Clock:
    """The time of day for what is written down, and clocks that never jump for leases."""

    _offset: float | None = None

    def now(self) -> int:
        """Milliseconds since 1970, UTC."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    def steady(self) -> int:
        """Milliseconds since 1970 as they were when first asked for, and from there on without a jump."""
        if self._offset is None:
            self._offset = self.now() - 1000 * self.monotonic()
        return round(self._offset + 1000 * self.monotonic())
