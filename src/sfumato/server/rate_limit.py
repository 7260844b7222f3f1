"""Rate limits: how often something may happen, and how long to wait otherwise."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from starlette.requests import HTTPConnection

from sfumato.tables.errors import NotNow

KEYS_KEPT = 10_000
PER_SECOND, BURST = 5.0, 20
"""Requests of one participant: per second, and in a burst. A page that was offline sends its stored answers at once."""
ARRIVALS_PER_MINUTE = 60
"""New participants from one IPv4 address or IPv6 /64: a whole school class may share one."""
WIDE_ARRIVALS_PER_MINUTE = 240
"""New participants from one IPv6 /48, the most that providers give to one customer."""

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
    """Rate limits per participant and per network; None means no limit, as for simulated annotators."""

    requests: TokenBucket | None = None
    arrivals: SlidingWindow | None = None
    wide_arrivals: SlidingWindow | None = None
    proxies: tuple[str, ...] = ()
    """The addresses or networks of the proxies, which report client addresses."""

    @classmethod
    def per_participant(cls, per_second: float = PER_SECOND) -> ServerLimits:
        """The limits of a study for people; with 0 per second there are none."""
        if per_second <= 0:
            return cls()
        return cls(
            TokenBucket(per_second, max(1, math.ceil(per_second * BURST / PER_SECOND))),
            SlidingWindow("arrivals", ARRIVALS_PER_MINUTE),
            SlidingWindow("arrivals", WIDE_ARRIVALS_PER_MINUTE),
        )

    def count_arrival(self, request: HTTPConnection) -> None:
        """Count a new participant; raises `TooMany` if too many joined from their network within a minute."""
        network = self.network(request.scope.get("client"))
        if network and self.arrivals is not None:
            self.arrivals.count(network)
            if self.wide_arrivals is not None:
                self.wide_arrivals.count(network_of(network.partition("/")[0], WIDE_BITS))

    def network(self, client: tuple[str, int] | None) -> str:
        """The network of a client, by which it is limited; empty if it is not limited."""
        address = client[0] if client else ""
        # Without a proxy the loopback interface is a trial run.
        if self.arrivals is None or (not self.proxies and is_loopback(address)):
            return ""
        return network_of(address)

    def network_of_person(self, client: tuple[str, int] | None) -> str:
        """The network of a client, by which annotators are compared; empty if the address says nothing about a person:
        that of this machine, or of a proxy that did not report the client's. All people would share it.

        The other loopback addresses are those of simulated networks.
        """
        known = parsed_address(client[0]) if client else None
        if known is None or str(known) in OWN_ADDRESSES or any(known in each for each in _networks(self.proxies)):
            return ""
        return network_of(str(known))


OWN_ADDRESSES = ("127.0.0.1", "::1")
NETWORK_BITS, WIDE_BITS = 64, 48
"""What one customer of a provider has at least, and at most."""
MAX_ADDRESS = 45


def network_of(address: str, bits: int = NETWORK_BITS) -> str:
    """The part of an address that its user cannot change: an IPv4 address, or the first bits of an IPv6 address."""
    known = parsed_address(address[:MAX_ADDRESS])
    if known is None or known.version == 4:
        return address[:MAX_ADDRESS] if known is None else str(known)
    first = int(known) >> (128 - bits) << (128 - bits)
    return f"{ipaddress.IPv6Address(first)}/{bits}"


def is_loopback(address: str) -> bool:
    known = parsed_address(address)
    return known is not None and known.is_loopback


@lru_cache(16)
def _networks(texts: tuple[str, ...]) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    return [ipaddress.ip_network(each) for each in texts]


@lru_cache(4096)
def parsed_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address; an IPv4 address in its IPv6 form is an IPv4 address. None if it is no address."""
    try:
        known = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(known, "ipv4_mapped", None) or known
