"""Sessions: who has come in as the researcher, by a link that works once or by the password.

Of links and sessions only hashes are kept. Sessions are kept in a file, too, for a server that was killed and starts
again; one on a machine that was started anew knows nobody.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from sfumato.tables.errors import SfumatoError

IDLE_SECONDS = 8 * 3600
"""A session ends after so long without a request that a person made."""
WHOLE_SECONDS = 24 * 3600
"""And after so long in any case."""
MOST_SESSIONS = 50
KEPT_EVERY_SECONDS = 600.0
"""When a session was last used is written down as often as this, and no oftener."""
BOOT = Path("/proc/sys/kernel/random/boot_id")
N_BYTES = 24
"""Random bytes of a link and of a session: 192 bits."""


def awake() -> float:
    """Seconds on a clock that never jumps, and that goes on while the machine sleeps where there is one."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class NotLoggedIn(SfumatoError):
    """A request of somebody who is not known as the researcher."""

    def __init__(
        self,
        found: str = "found nobody who has come in",
        *,
        expected: str = "the researcher",
        fix: str = "open the link that the server printed, or log in",
    ) -> None:
        super().__init__(found, expected=expected, fix=fix, code="not-entered")


def this_boot() -> str:
    """Which start of the machine this is, as a clock that begins with it is worth nothing after the next; empty where
    the system does not say."""
    with contextlib.suppress(OSError):
        return BOOT.read_text().strip()
    return ""


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


class SavedSessions(msgspec.Struct):
    """Sessions as they are written down: by the hash of their token, `by, opened_at, seen_at`."""

    boot: str
    open: dict[str, tuple[str, float, float]]


class Sessions:
    """Every session there is, and the one link that still works. In a `file` they outlive the process."""

    def __init__(
        self, clock: Callable[[], float] = awake, file: Path | None = None, boot: Callable[[], str] = this_boot
    ) -> None:
        self._clock, self._file, self._boot = clock, file, boot()
        self._lock = threading.Lock()
        self._link: bytes | None = None
        self._open = self._read()
        self._kept_at = clock()

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
            self._keep()
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
                self._keep()
                return None
            if is_person:
                session.seen_at = now
                if now - self._kept_at > KEPT_EVERY_SECONDS:
                    self._keep()
            return session

    def close(self, token: str | None) -> None:
        """End a session, at once."""
        with self._lock:
            self._open.pop(_hash(token or ""), None)
            self._keep()

    def _read(self) -> dict[bytes, Session]:
        """The sessions in the file, if they are of this start of the machine."""
        if self._file is None or not self._boot:
            return {}
        try:
            kept = msgspec.json.decode(self._file.read_bytes(), type=SavedSessions)
            found = {bytes.fromhex(hashed): Session(*each) for hashed, each in kept.open.items()}
        except (OSError, msgspec.MsgspecError, ValueError):
            return {}
        return found if kept.boot == self._boot else {}

    def _keep(self) -> None:
        """Write the sessions down, for the owner's eyes; where that fails they are kept in memory all the same."""
        self._kept_at = self._clock()
        if self._file is None or not self._boot:
            return
        kept = SavedSessions(
            self._boot, {hashed.hex(): (s.by, s.opened_at, s.seen_at) for hashed, s in self._open.items()}
        )
        part = self._file.with_name(f".{self._file.name}.part")
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                stream.write(msgspec.json.encode(kept))
            os.replace(part, self._file)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
