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


class FastClock(Clock):
    """A clock that runs `speed` times as fast, for simulated annotators who wait a fraction of the time they take."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._started_at = time.monotonic()
        self._began_at = super().now()

    def now(self) -> int:
        return self._began_at + round(1000 * (self.monotonic() - self._started_at))

    def monotonic(self) -> float:
        return self._started_at + self._speed * (time.monotonic() - self._started_at)
