"""Rates: how often something may be done, and how long to wait where it was done too often.

Pace: how fast one person may send, with room for a burst; and how many new people may come from one address.

A person whose page has waited for the network sends what it kept in one go: that is the burst. Whoever is told to wait
loses nothing, for the page keeps an answer until it is stored.
"""

from __future__ import annotations

import ipaddress
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from starlette.requests import Request

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


A_SECOND, BURST = 5.0, 20
"""Answers a person may hand in: so many a second, beyond so many at once."""
ARRIVALS_A_MINUTE = 60
"""New people from one address: a class of students sits behind one."""


class TokenBucket:
    """`a_second` requests for each person, beyond a burst of `burst`: a bucket of that size which fills at that rate.

    Cheap in time (one look-up a request) and in room: a bucket that has had time to fill is as good as none, so buckets
    live in two generations, of which the older is thrown away whole.
    """

    def __init__(
        self, a_second: float = A_SECOND, burst: int = BURST, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._a_second, self._burst, self._clock = a_second, burst, clock
        self._fills_in = burst / a_second
        self._young: dict[str, tuple[float, float]] = {}
        self._old: dict[str, tuple[float, float]] = {}
        self._turned_at = clock()

    def take(self, key: str) -> float:
        """Seconds until `key` may send; 0 if they may now, and have."""
        now = self._clock()
        if now - self._turned_at > self._fills_in:
            # What neither generation holds was last used longer ago than it takes to fill.
            self._old = self._young if now - self._turned_at < 2 * self._fills_in else {}
            self._young, self._turned_at = {}, now
        level, at = self._young.get(key) or self._old.get(key) or (self._burst, now)
        level = min(self._burst, level + (now - at) * self._a_second)
        if level < 1:
            self._young[key] = (level, now)
            return (1 - level) / self._a_second
        self._young[key] = (level - 1, now)
        return 0.0

    def refusal(self, seconds: float) -> TooMany:
        """The error for somebody who must wait."""
        return TooMany("requests", self._burst, seconds, "a few seconds")


@dataclass(frozen=True)
class ServerLimits:
    """How much is taken from whom; None is no limit, as for simulated people."""

    pace: TokenBucket | None = None
    arrivals: SlidingWindow | None = None

    @classmethod
    def usual(cls, a_second: float = A_SECOND) -> ServerLimits:
        """The limits of a study that is open to people; with 0 a second there are none."""
        if a_second <= 0:
            return cls()
        burst = max(1, math.ceil(a_second * BURST / A_SECOND))
        return cls(TokenBucket(a_second, burst), SlidingWindow("arrivals", ARRIVALS_A_MINUTE))

    def count_arrival(self, request: Request) -> None:
        """Count somebody new; raises `TooMany` where too many came from their address within a minute.

        The loopback is nobody's address: either somebody tries the study out, or a proxy has not told us who asks.
        """
        address = request.client.host if request.client else ""
        if self.arrivals is not None and not _is_loopback(address):
            self.arrivals.count(address)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
