"""Links that log the researcher in: each works once and expires after an hour.

The server prints links of its own. `sfumato study login` makes one while the server runs: it leaves the link's hash in
a private file next to the store, where only its owner can write. Only hashes are kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from sfumato.server.researcher_sessions import N_BYTES, boot_clock
from sfumato.store.location import StoreLocation, default_location
from sfumato.store.private_file import read_private, write_private
from sfumato.study.study import Study

LINK_SECONDS = 3600


class LeftLink(msgspec.Struct, frozen=True):
    """A link in the file: the hash of its key, and when it expires, in seconds since 1970."""

    hash: str
    expires_at: float


def link_file(study: Study, place: StoreLocation) -> Path:
    """The file for links made while the server runs; with PostgreSQL it is where the study's file store would be."""
    store = place.file or default_location(study)
    return store.with_name(f"{store.name}.{study.name}.login-link")


def leave_link(file: Path) -> str:
    """Leave a new link for the server that serves the study; returns its path. An earlier link left there ends."""
    key = secrets.token_urlsafe(N_BYTES)
    left = LeftLink(_hash(key).hex(), time.time() + LINK_SECONDS)
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_private(file, msgspec.json.encode(left))
    return path_of(key)


def path_of(key: str) -> str:
    """The path of a link on the server."""
    return f"/studio/enter/{key}"


class LoginLinks:
    """The link that was printed last, and the one left in `file`. Both clocks count seconds."""

    def __init__(
        self,
        file: Path | None = None,
        clock: Callable[[], float] = boot_clock,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._file, self._clock, self._wall_clock = file, clock, wall_clock
        self._lock = threading.Lock()
        self._printed: tuple[bytes, float] | None = None

    def new(self) -> str:
        """The path of a new link; the one printed before ends."""
        key = secrets.token_urlsafe(N_BYTES)
        with self._lock:
            self._printed = _hash(key), self._clock() + LINK_SECONDS
        return path_of(key)

    def redeem(self, key: str) -> bool:
        """Whether this is a valid link; it ends if so."""
        hashed = _hash(key)
        with self._lock:
            return self._is_printed(hashed) or self._is_left(hashed)

    def _is_printed(self, hashed: bytes) -> bool:
        if self._printed is None or not hmac.compare_digest(self._printed[0], hashed):
            return False
        expires_at, self._printed = self._printed[1], None
        return self._clock() < expires_at

    def _is_left(self, hashed: bytes) -> bool:
        content = read_private(self._file) if self._file else None
        if self._file is None or content is None:
            return False
        try:
            left = msgspec.json.decode(content, type=LeftLink)
        except msgspec.MsgspecError:
            return False
        if not hmac.compare_digest(left.hash.encode(), hashed.hex().encode()):
            return False
        # Of several servers, the one that deletes the file opens the session. A set clock cannot prolong a link.
        with contextlib.suppress(OSError):
            self._file.unlink()
            return 0 < left.expires_at - self._wall_clock() <= LINK_SECONDS
        return False


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "replace")).digest()
