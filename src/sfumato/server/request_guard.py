"""ASGI middleware for every request: host names, cross-site requests, body size, rate limits and security headers."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sfumato.server.http_responses import BodyTooLarge, error_response, plain_error_page
from sfumato.server.rate_limit import ServerLimits
from sfumato.tables.errors import NotNow

MAX_BODY = 64 * 1024
MAX_RANGES = 5
MAX_TOKEN = 64
"""Characters of a token by which its requests are counted; ours are not longer."""
HEADERS = [
    (name.lower().encode(), value.encode())
    for name, value in {
        "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
        "img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    }.items()
]
HTTPS_ONLY = (b"strict-transport-security", b"max-age=31536000")
FRAMED = ("/s/", "/from/")
"""Paths that a platform may show in a frame."""
WRONG_HOST = ("a host name that is not ours", "the address of this study", "use the address that you were given")
CROSS_SITE = ("a request from another site", "requests from the study's own page", "open the study itself")
PLAIN_HTTP = ("a request over http", "https", "open the address of the study with https://")
MANY_RANGES = (f"more than {MAX_RANGES} ranges of a file", "the file, or one part of it", "request the whole file")

OnRefusals = Callable[[dict[str, int]], Awaitable[None]]
"""Called with the number of refused requests by status."""
OnDenial = Callable[[Scope, str], Awaitable[None]]
"""Called with a request that was denied because of its origin, and the reason."""


REFUSALS = frozenset((400, 403, 404, 413, 416, 422, 429))
PROTECTED = ("/s/", "/from/", "/join", "/studio")


class RefusalCounts:
    """Refused requests by status: wrong links and trials of others, invalid bodies, exceeded limits. They are logged
    together, at most once per `seconds`, so that the log cannot fill the disk; without path, token or body."""

    def __init__(self, seconds: float = 600.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._counts: Counter[int] = Counter()
        self._due = math.inf

    def count(self, path: str, status: int) -> dict[str, int]:
        """Count a reply; returns what is to be logged now, mostly nothing."""
        if status not in REFUSALS or not path.startswith(PROTECTED):
            return {}
        now = self._clock()
        if not self._counts:
            self._due = now + self._seconds
        self._counts[status] += 1
        return self.take() if now >= self._due else {}

    def take(self) -> dict[str, int]:
        """What was counted since the last entry."""
        found = {str(status): n for status, n in sorted(self._counts.items())}
        self._counts.clear()
        return found


class RequestGuard:
    """Middleware around `app`. `hosts` are the names of this server (empty: any). The origins `framed_by` may show a
    study in a frame and receive its form at the end. With `https`, browsers must use https only."""

    def __init__(
        self,
        app: ASGIApp,
        hosts: Collection[str] = (),
        framed_by: Sequence[str] = (),
        *,
        limits: ServerLimits | None = None,
        https: bool = False,
        on_denial: OnDenial | None = None,
        on_refusals: OnRefusals | None = None,
        refusals: RefusalCounts | None = None,
    ) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._https = https
        self._headers = [*HEADERS, HTTPS_ONLY] if https else HEADERS
        self._framed = _framed(self._headers, framed_by) if framed_by else self._headers
        self._limit = limits.requests if limits else None
        self._on_denial, self._on_refusals = on_denial, on_refusals
        self._refusals = refusals or RefusalCounts()

    async def log_refusals(self) -> None:
        """Log the refusals that were counted and not yet logged, when the server stops."""
        if self._on_refusals is not None and (refused := self._refusals.take()):
            await self._on_refusals(refused)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                refused = self._refusals.count(scope["path"], message["status"]) if message["status"] >= 400 else {}
                if refused and self._on_refusals is not None:
                    await self._on_refusals(refused)
                own = self._framed if scope["path"].startswith(FRAMED) else self._headers
                message["headers"] = [*message["headers"], *own]
            await send(message)

        headers: dict[bytes, bytes] = dict(scope["headers"])
        if reply := self._refusal(scope, headers):
            if self._on_denial is not None and reply.status_code == 403:
                await self._on_denial(scope, "cross-site")
            await reply(scope, receive, send_guarded)
            return
        await self._app(scope, _limited(receive), send_guarded)

    def _refusal(self, scope: Scope, headers: dict[bytes, bytes]) -> Response | None:
        if sum(name == b"host" for name, _ in scope["headers"]) != 1 or not self._is_ours(headers[b"host"]):
            return _wrong_address(NotNow(*WRONG_HOST, "wrong-host"), headers)
        # The proxy reports how the client connected to it.
        if self._https and headers.get(b"x-forwarded-proto", b"https").lower() != b"https":
            return _wrong_address(NotNow(*PLAIN_HTTP, "not-https"), headers)
        is_post, path = scope["method"] == "POST", scope["path"]
        if is_post and _is_cross_site(path, headers):
            return error_response(NotNow(*CROSS_SITE, "cross-site"), 403)
        if headers.get(b"range", b"").count(b",") >= MAX_RANGES:
            return error_response(NotNow(*MANY_RANGES, "too-many-ranges"), 416)
        if (limit := self._limit) is not None and is_post and path.startswith("/s/"):
            # The token between "/s/" and the next slash identifies the participant. A forged one may be long.
            seconds = limit.take(path[3 : path.find("/", 3)][:MAX_TOKEN])
            if seconds:
                return error_response(limit.error(seconds))
        length = headers.get(b"content-length", b"0")
        is_too_large = length.isdigit() and (len(length) > 9 or int(length) > MAX_BODY)
        return error_response(_too_large()) if is_too_large else None

    def _is_ours(self, host: bytes) -> bool:
        name, colon, port = host.decode("latin-1").rpartition(":")
        name = name if colon and port.isdigit() else host.decode("latin-1")
        return not self._hosts or name.strip("[]").lower() in self._hosts


def _wrong_address(error: NotNow, headers: dict[bytes, bytes]) -> Response:
    """The reply to a request at another address than the study's: a page for browsers, JSON for programs."""
    is_browser = b"text/html" in headers.get(b"accept", b"")
    return plain_error_page(error, 400) if is_browser else error_response(error, 400)


def _is_cross_site(path: str, headers: dict[bytes, bytes]) -> bool:
    """Whether another site sent the request, by Sec-Fetch-Site. Browsers without it send Origin, which is checked only
    for the dashboard: there a cookie identifies the user, elsewhere the token in the path, and a proxy may change the
    host."""
    if (site := headers.get(b"sec-fetch-site")) is not None:
        return site not in (b"same-origin", b"none")
    origin = headers.get(b"origin")
    return origin is not None and path.startswith("/studio") and origin.partition(b"://")[2] != headers[b"host"]


def _framed(headers: list[tuple[bytes, bytes]], origins: Sequence[str]) -> list[tuple[bytes, bytes]]:
    """The headers of pages that these origins may frame and whose form they receive."""
    allowed = " ".join(origins).encode()
    framed = [(name, value) for name, value in headers if name != b"x-frame-options"]
    for old, new in ((b"frame-ancestors 'none'", b"frame-ancestors "), (b"form-action 'self'", b"form-action 'self' ")):
        framed = [(name, value.replace(old, new + allowed)) for name, value in framed]
    return framed


def _limited(receive: Receive) -> Receive:
    """Receives the body up to `MAX_BODY`, whatever Content-Length says."""
    n_bytes = 0

    async def limited() -> Message:
        nonlocal n_bytes
        message = await receive()
        n_bytes += len(message.get("body", b""))
        if n_bytes > MAX_BODY:
            raise _too_large()
        return message

    return limited


def _too_large() -> BodyTooLarge:
    found = f"a body of more than {MAX_BODY:,} bytes"
    return BodyTooLarge(found, "an answer as the page sends it", "reload the page and answer again", "body-too-large")
