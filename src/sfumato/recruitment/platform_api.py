"""Requests to a platform's API: each has a key, is retried under that key, and never logs the token.

Everything here only reads; nothing pays, approves or rejects.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import random
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from sfumato.recruitment.platform import Arrival, PlatformSubmission
from sfumato.tables.errors import BadSetting, NoReply, Refused

TIMEOUT_SECONDS = 10.0
ATTEMPTS = 6
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 60.0
LARGEST_REPLY = 16 * 2**20
LOOPBACK = ("127.0.0.1", "localhost", "::1")
KEY_HEADER = "X-Request-Key"


class PlatformClient(Protocol):
    """Reads from a platform's API; every request has a key."""

    def knows(self, arrival: Arrival, key: str) -> bool:
        """Whether the platform confirms this visit."""

    def submissions(self, study: str, key: str) -> list[PlatformSubmission]:
        """All submissions of the study."""


def request_key(secret: str, pseudonym: str, reason: str) -> str:
    """The key of a request about an annotator: always the same, and without personal data."""
    message = f"request {reason} {pseudonym}".encode()
    return hmac.new(bytes.fromhex(secret), message, hashlib.sha256).hexdigest()[:32]


@dataclass(frozen=True)
class ApiRequest:
    """A request: GET without a body, POST with one."""

    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """No redirects: they would send the token elsewhere."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


@dataclass
class ApiConnection:
    """The connection to an API with retries. `headers_of` signs each attempt."""

    base: str
    headers_of: Callable[[ApiRequest], Mapping[str, str]]
    timeout: float = TIMEOUT_SECONDS
    attempts: int = ATTEMPTS
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        parts = urlsplit(self.base)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
            found = f"an API address that begins with {parts.scheme or 'nothing'!r}"
            raise BadSetting(found, "https", "leave the address out, or give one with https", "not-https")
        self._opener = urllib.request.build_opener(_NoRedirects)

    def ask(self, request: ApiRequest, key: str) -> Any:
        """The JSON reply; None for 404."""
        found = ""
        for attempt in range(self.attempts):
            wait = 0.0
            try:
                return self._once(request, key)
            except urllib.error.HTTPError as error:
                found = f"status {error.code}"
                wait = _seconds(error.headers.get("Retry-After", ""))
                error.close()
                if error.code == 404:
                    return None
                if error.code != 429 and error.code < 500:
                    is_token = error.code in (401, 403)
                    expected = "a token that may read the study" if is_token else "a request that the platform accepts"
                    fix = f"check the {'token in the environment' if is_token else 'id of the study in [platform]'}"
                    found = f"{found} from {urlsplit(self.base).hostname}"
                    raise Refused(found, expected, fix, "platform-refused") from None
            except (urllib.error.URLError, OSError, ValueError) as error:
                found = type(getattr(error, "reason", error)).__name__
            if attempt + 1 < self.attempts:
                pause = FIRST_PAUSE_SECONDS * 2**attempt * (1 + random.random() / 4)
                self.sleep(min(max(wait, pause), LONGEST_PAUSE_SECONDS))
        expected, fix = "a reply from the platform", "try again later; nothing was changed"
        raise NoReply(
            f"{found} from {urlsplit(self.base).hostname} after {self.attempts} attempts", expected, fix
        ) from None

    def _once(self, request: ApiRequest, key: str) -> Any:
        headers = {"Accept": "application/json", KEY_HEADER: key, **request.headers, **self.headers_of(request)}
        signed = urllib.request.Request(self.base.rstrip("/") + request.path, request.body, headers)
        with self._opener.open(signed, timeout=self.timeout) as reply:
            data = reply.read(LARGEST_REPLY + 1)
        if len(data) > LARGEST_REPLY:
            raise ValueError("the reply is too large")
        return json.loads(data)


def pages_of(ask: Callable[[int], Any], rows_in: Callable[[Any], Sequence[Any]], most: int = 1000) -> list[Any]:
    """All rows of a paged reply, until a page is empty or equal to the one before."""
    found: list[Any] = []
    last: Sequence[Any] = ()
    for page in range(1, most + 1):
        rows = rows_in(ask(page))
        if not rows or rows == last:
            break
        found += rows
        last = rows
    return found


def _seconds(text: str) -> float:
    """A Retry-After in seconds; 0 for a date or nothing."""
    return float(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0.0
