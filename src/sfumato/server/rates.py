"""Rates: how often something may be done, and how long to wait where it was done too often."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable

from sfumato.tables.errors import NotNow

KEYS_KEPT = 10_000


class TooMany(NotNow):
    """A request that came too soon after others; `seconds` says when the next one will be heard."""

    def __init__(self, what: str, most: int, seconds: float, within: str = "a minute") -> None:
        self.seconds = max(1, math.ceil(seconds))
        super().__init__(
            f"found more than {most} {what} within {within}",
            expected=f"at most {most}",
            fix=f"try again in {self.seconds} seconds",
            code="too-many",
        )


class SlidingWindow:
    """At most `most` times in any `seconds`, for each key (an address, an account) by itself.

    What was refused does not count, so waiting as long as told is enough.
    """

    def __init__(
        self, what: str, most: int, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._what, self._most, self._seconds, self._clock = what, most, seconds, clock
        self._times: dict[str, deque[float]] = {}

    def count(self, key: str) -> None:
        """Count one time more; raises `TooMany` instead where that would be too many."""
        now = self._clock()
        if len(self._times) > KEYS_KEPT:
            self._times = {each: times for each, times in self._times.items() if times[-1] > now - self._seconds}
        times = self._times.setdefault(key, deque())
        while times and times[0] <= now - self._seconds:
            times.popleft()
        if len(times) >= self._most:
            raise TooMany(self._what, self._most, times[0] + self._seconds - now)
        times.append(now)
