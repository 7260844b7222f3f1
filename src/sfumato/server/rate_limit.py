"""Rate limits: how often something may happen, and how long to wait otherwise."""

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
PER_SECOND, BURST = 5.0, 20
"""Requests of one participant: per second, and in a burst. A page that was offline sends its stored answers at once."""
ARRIVALS_PER_MINUTE = 60
"""New participants from one address: a whole school class may share one."""

Clock = Callable[[], float]


class TooMany(NotNow):
    """A request that exceeds a rate limit; `seconds` is the time to wait."""

    def __init__(self, what: str, most: int, seconds: float, within: str = "a minute") -> None:
        self.seconds = max(1, math.ceil(seconds))
        fix = f"try again in {self.seconds} seconds"
        super().__init__(f"more than {most} {what} within {within}", f"at most {most}", fix, "too-many")


class SlidingWindow:
    """At most `most` events in any `seconds`, separately for each key (address, account). Refused events do not
    count."""

    def __init__(self, what: str, most: int, seconds: float = 60.0, clock: Clock = time.monotonic) -> None:
        self._what, self._most, self._seconds, self._clock = what, most, seconds, clock
        self._times: dict[str, deque[float]] = {}

    def count(self, key: str) -> None:
        """Count one event; raises `TooMany` if the limit is reached."""
        now = self._clock()
        if len(self._times) > KEYS_KEPT:
            self._times = {each: times for each, times in self._times.items() if times[-1] > now - self._seconds}
        times = self._times.setdefault(key, deque())
        while times and times[0] <= now - self._seconds:
            times.popleft()
        if len(times) >= self._most:
            raise TooMany(self._what, self._most, times[0] + self._seconds - now)
        times.append(now)


class TokenBucket:
    """`per_second` requests for each key after a burst of `burst`.

    A full bucket needs no entry, so buckets are kept in two generations and the older one is dropped as a whole.
    """

    def __init__(self, per_second: float = PER_SECOND, burst: int = BURST, clock: Clock = time.monotonic) -> None:
        self._per_second, self._burst, self._clock = per_second, burst, clock
        self._fill_seconds = burst / per_second
        self._young: dict[str, tuple[float, float]] = {}
        self._old: dict[str, tuple[float, float]] = {}
        self._young_since = clock()

    def take(self, key: str) -> float:
        """Seconds until `key` may send; 0 if it may now, which is then counted."""
        now = self._clock()
        if now - self._young_since > self._fill_seconds:
            # A key in neither generation was last used longer ago than a bucket takes to fill.
            self._old = self._young if now - self._young_since < 2 * self._fill_seconds else {}
            self._young, self._young_since = {}, now
        level, at = self._young.get(key) or self._old.get(key) or (self._burst, now)
        level = min(self._burst, level + (now - at) * self._per_second)
        if level < 1:
            self._young[key] = (level, now)
            return (1 - level) / self._per_second
        self._young[key] = (level - 1, now)
        return 0.0

    def error(self, seconds: float) -> TooMany:
        """The error for a participant who must wait."""
        return TooMany("requests", self._burst, seconds, "a few seconds")


@dataclass(frozen=True)
class ServerLimits:
    """Rate limits per participant and per address; None means no limit, as for simulated annotators."""

    requests: TokenBucket | None = None
    arrivals: SlidingWindow | None = None

    @classmethod
    def per_participant(cls, per_second: float = PER_SECOND) -> ServerLimits:
        """The limits of a study for people; with 0 per second there are none."""
        if per_second <= 0:
            return cls()
        burst = max(1, math.ceil(per_second * BURST / PER_SECOND))
        return cls(TokenBucket(per_second, burst), SlidingWindow("arrivals", ARRIVALS_PER_MINUTE))

    def count_arrival(self, request: Request) -> None:
        """Count a new participant; raises `TooMany` if too many joined from their address within a minute.

        The loopback address is not limited: it is a trial run, or a proxy that does not forward addresses.
        """
        address = request.client.host if request.client else ""
        if self.arrivals is not None and not _is_loopback(address):
            self.arrivals.count(address)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
