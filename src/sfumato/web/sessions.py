"""Sessions: who has come in as the researcher, by a link that works once or by the password.

Of links and sessions only hashes are kept, in memory: a server that starts anew knows nobody.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from sfumato.errors import SfumatoError

IDLE_SECONDS = 8 * 3600
"""A session ends after so long without a request that a person made."""
WHOLE_SECONDS = 24 * 3600
"""And after so long in any case."""
MOST_SESSIONS = 50
N_BYTES = 24
"""Random bytes of a link and of a session: 192 bits."""


def awake() -> float:
    """Seconds on a clock that never jumps, and that goes on while the machine sleeps where there is one."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class NotEntered(SfumatoError):
    """A request of somebody who is not known as the researcher."""

    def __init__(
        self,
        found: str = "found nobody who has come in",
        *,
        expected: str = "the researcher",
        fix: str = "open the link that the server printed, or log in",
    ) -> None:
        super().__init__(found, expected=expected, fix=fix, code="not-entered")


@dataclass(slots=True, eq=False)
class Session:
    """Somebody who came in, and how: `by` link or password."""

    by: str
    opened_at: float
    seen_at: float

    @property
    def who(self) -> str:
        """How the record of what happened calls them."""
        return f"researcher, by {self.by}"


class Sessions:
    """Every session there is, and the one link that still works."""

    def __init__(self, clock: Callable[[], float] = awake) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._link: bytes | None = None
        self._open: dict[bytes, Session] = {}

    def new_link(self) -> str:
        """The key of a link that works once; the one before works no more."""
        key = secrets.token_urlsafe(N_BYTES)
        with self._lock:
            self._link = _hash(key)
        return key

    def redeem(self, key: str) -> bool:
        """Whether this is the link; it was, if so, for nobody redeems it again."""
        with self._lock:
            if self._link is None or not hmac.compare_digest(self._link, _hash(key)):
                return False
            self._link = None
            return True

    def open(self, by: str, instead_of: str | None = None) -> str:
        """A new session; returns its token. The session `instead_of`, if there is one, ends."""
        token = secrets.token_urlsafe(N_BYTES)
        now = self._clock()
        with self._lock:
            self._open.pop(_hash(instead_of or ""), None)
            while len(self._open) >= MOST_SESSIONS:
                del self._open[min(self._open, key=lambda each: self._open[each].seen_at)]
            self._open[_hash(token)] = Session(by, now, now)
        return token

    def find(self, token: str | None, *, is_person: bool = True) -> Session | None:
        """The session with this token, unless it has ended. A request made by the page itself, and not by the person
        (`is_person` false), keeps none alive."""
        now = self._clock()
        with self._lock:
            hashed = _hash(token or "")
            session = self._open.get(hashed)
            if session is None:
                return None
            if now - session.seen_at > IDLE_SECONDS or now - session.opened_at > WHOLE_SECONDS:
                del self._open[hashed]
                return None
            if is_person:
                session.seen_at = now
            return session

    def close(self, token: str | None) -> None:
        """End a session, at once."""
        with self._lock:
            self._open.pop(_hash(token or ""), None)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
