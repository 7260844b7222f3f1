"""Limits on password attempts. Nobody can lock the researcher out: attempts from a device that logged in before are
counted and verified apart from all others (device cookies, as in the OWASP Authentication Cheat Sheet).
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import secrets
import time
from collections.abc import AsyncIterator, Callable

from starlette.concurrency import run_in_threadpool

from sfumato.server.rate_limit import Clock, SlidingWindow, TooMany, network_of

PER_ADDRESS, PER_DEVICE = 5, 10
"""Attempts per minute from one unknown address, and from one known device."""
ALL_UNKNOWN, ALL_UNKNOWN_PER_DAY = 20, 1000
"""Attempts of all unknown devices together, per minute and per day."""
LINKS_PER_ADDRESS = 20
"""Wrong links per minute from one address; a right link is never refused."""
REFUSALS_LOGGED = 30
"""Per minute, so that the log cannot fill the disk."""
MOST_WAITING = 8
DAY = 24 * 3600
DEVICE_DAYS = 400
"""The longest time that browsers keep a cookie."""


class KnownDevices:
    """Cookies of devices that have logged in, signed with the study's secret and the credentials: another password
    ends them all. Such a cookie opens nothing; it only separates attempts."""

    def __init__(self, secret: str, credentials: str, clock: Callable[[], float] = time.time) -> None:
        self._key = hmac.digest(bytes.fromhex(secret), b"known device " + credentials.encode(), hashlib.sha256)
        self._clock = clock

    def new(self, replaces: str | None = None) -> str:
        """The cookie of a device; one that was known keeps its name."""
        device = self.find(replaces) or secrets.token_urlsafe(12)
        signed = f"{device}.{int(self._clock()) + DEVICE_DAYS * DAY}"
        return f"{signed}.{self._signature(signed)}"

    def find(self, cookie: str | None) -> str | None:
        """The name of the device, if the cookie is valid."""
        signed, _, signature = (cookie or "").rpartition(".")
        device, _, expires_at = signed.rpartition(".")
        if not hmac.compare_digest(self._signature(signed).encode(), signature.encode("utf-8", "replace")):
            return None
        return device if int(expires_at) > self._clock() else None

    def _signature(self, signed: str) -> str:
        return hmac.new(self._key, signed.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


class LoginAttempts:
    """How often passwords may be tried, and how many are verified at once: one of known devices and one of all others,
    because each takes 64 MB and a core."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._devices = SlidingWindow("tries", PER_DEVICE, clock=clock)
        self._addresses = SlidingWindow("tries", PER_ADDRESS, clock=clock)
        self._unknown = SlidingWindow("tries", ALL_UNKNOWN, clock=clock)
        self._unknown_daily = SlidingWindow("tries", ALL_UNKNOWN_PER_DAY, DAY, clock)
        self._links = SlidingWindow("tries", LINKS_PER_ADDRESS, clock=clock)
        self._logged = SlidingWindow("refusals", REFUSALS_LOGGED, clock=clock)
        self._lanes = {True: asyncio.Semaphore(1), False: asyncio.Semaphore(1)}
        self._n_waiting = {True: 0, False: 0}

    def count_password(self, device: str | None, address: str) -> None:
        """Count an attempt by password; raises `TooMany`."""
        if device is not None:
            self._devices.count(device)
            return
        self._addresses.count(network_of(address))
        self._unknown.count("")
        try:
            self._unknown_daily.count("")
        except TooMany as error:
            raise TooMany("tries", ALL_UNKNOWN_PER_DAY, error.seconds, "a day") from None

    def count_wrong_link(self, address: str) -> None:
        """Count a link that is not valid; raises `TooMany`."""
        self._links.count(network_of(address))

    def is_logged(self) -> bool:
        """Whether to log one more refusal."""
        with contextlib.suppress(TooMany):
            self._logged.count("")
            return True
        return False

    async def verify(self, check: Callable[[], bool], *, known: bool) -> bool:
        """The result of `check`, in a thread, when it is its turn; raises `TooMany` if too many wait."""
        async with self._turn(known):
            return await run_in_threadpool(check)

    @contextlib.asynccontextmanager
    async def _turn(self, known: bool) -> AsyncIterator[None]:
        if self._n_waiting[known] >= MOST_WAITING:
            raise TooMany("logins", MOST_WAITING, 2, "a moment")
        self._n_waiting[known] += 1
        try:
            async with self._lanes[known]:
                yield
        finally:
            self._n_waiting[known] -= 1
