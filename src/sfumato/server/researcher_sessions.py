"""Sessions of the researcher, opened by a link that works once or by the password.

Only hashes of sessions are stored. Sessions are saved to a file, so that they survive a restart of the server, but not
of the machine, and not a change of the password.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from sfumato.store.private_file import read_private, write_private
from sfumato.tables.errors import SfumatoError

IDLE_SECONDS = 8 * 3600
"""A session ends after this time without activity of the researcher."""
LONGEST_SECONDS = 24 * 3600
"""A session ends after this time in any case."""
MOST_SESSIONS = 50
SAVE_SECONDS = 600.0
"""The time of the last activity is saved at most this often."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
N_BYTES = 24
"""Random bytes of a session and of a login link: 192 bits."""


def boot_clock() -> float:
    """Seconds on a monotonic clock that includes time asleep, if the system has one."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def boot_id() -> str:
    """Identifies the start of the machine, because `boot_clock` begins with it; empty if the system has none."""
    with contextlib.suppress(OSError):
        return BOOT_ID.read_text().strip()
    return ""


class NotLoggedIn(SfumatoError):
    """A request without a valid researcher session."""

    def __init__(
        self,
        found: str = "no session",
        expected: str = "a researcher who has logged in",
        fix: str = "open a login link (sfumato study login), or log in by password",
    ) -> None:
        super().__init__(found, expected, fix, "not-entered")


@dataclass(slots=True, eq=False)
class Session:
    """A session opened `by` link or password."""

    by: str
    opened_at: float
    seen_at: float

    @property
    def who(self) -> str:
        """The name in the event log."""
        return f"researcher, by {self.by}"


class SavedSessions(msgspec.Struct):
    """Sessions in the file: `by, opened_at, seen_at` by the hash of the token."""

    boot: str
    open: dict[str, tuple[str, float, float]]
    credentials: str = ""


class Sessions:
    """All open sessions; saved to `file` if given. They end when the `credentials` change: the password or the second
    factor, given as a fingerprint."""

    def __init__(
        self,
        clock: Callable[[], float] = boot_clock,
        file: Path | None = None,
        boot: Callable[[], str] = boot_id,
        credentials: str = "",
    ) -> None:
        self._clock, self._file, self._boot, self.credentials = clock, file, boot(), credentials
        self._lock = threading.Lock()
        self._open = self._read()
        self._saved_at = clock()

    def open(self, by: str, replaces: str | None = None) -> str:
        """Open a session and end the session `replaces`; returns the new token."""
        token = secrets.token_urlsafe(N_BYTES)
        now = self._clock()
        with self._lock:
            self._open.pop(_hash(replaces or ""), None)
            while len(self._open) >= MOST_SESSIONS:
                del self._open[min(self._open, key=lambda each: self._open[each].seen_at)]
            self._open[_hash(token)] = Session(by, now, now)
            self._save()
        return token

    def find(self, token: str | None, *, is_activity: bool = True) -> Session | None:
        """The session with this token, if it has not ended. Automatic requests of the page (`is_activity` false) do not
        extend it."""
        now = self._clock()
        with self._lock:
            hashed = _hash(token or "")
            session = self._open.get(hashed)
            if session is None:
                return None
            if now - session.seen_at > IDLE_SECONDS or now - session.opened_at > LONGEST_SECONDS:
                del self._open[hashed]
                self._save()
                return None
            if is_activity:
                session.seen_at = now
                if now - self._saved_at > SAVE_SECONDS:
                    self._save()
            return session

    def close(self, token: str | None) -> None:
        with self._lock:
            self._open.pop(_hash(token or ""), None)
            self._save()

    def close_all(self) -> None:
        """End every session."""
        with self._lock:
            self._open.clear()
            self._save()

    def set_credentials(self, credentials: str) -> None:
        """End every session if these are not the credentials that opened them."""
        if credentials != self.credentials:
            self.credentials = credentials
            self.close_all()

    def _read(self) -> dict[bytes, Session]:
        """The sessions in the file, if neither the machine has restarted nor the credentials have changed since."""
        content = read_private(self._file) if self._file and self._boot else None
        if content is None:
            return {}
        try:
            saved = msgspec.json.decode(content, type=SavedSessions)
            found = {bytes.fromhex(hashed): Session(*each) for hashed, each in saved.open.items()}
        except (msgspec.MsgspecError, ValueError):
            return {}
        return found if (saved.boot, saved.credentials) == (self._boot, self.credentials) else {}

    def _save(self) -> None:
        """Write the file. If that fails, the sessions stay in memory only: an old file could open ended ones again."""
        self._saved_at = self._clock()
        if self._file is None or not self._boot:
            return
        rows = {hashed.hex(): (each.by, each.opened_at, each.seen_at) for hashed, each in self._open.items()}
        try:
            write_private(self._file, msgspec.json.encode(SavedSessions(self._boot, rows, self.credentials)))
        except OSError:
            with contextlib.suppress(OSError):
                self._file.unlink()


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
