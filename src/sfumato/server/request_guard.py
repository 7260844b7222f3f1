"""The guard before every request: whom we answer, how much we read, and what browsers may do with what we say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sfumato.server.rate_limit import ServerLimits
from sfumato.server.responses import BodyTooLarge, Json, refusal
from sfumato.tables.errors import NotNow, SfumatoError

MAX_BODY = 64 * 1024
MAX_RANGES = 5
Denied = Callable[[Scope, str], Awaitable[None]]
"""Told of a request that was refused for who sent it, and why."""
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
"""What a platform may show in a frame, where it shows studies so."""


class RequestGuard:
    """ASGI middleware. `hosts` are the names we answer to; an empty collection means any. `framed_by` are the origins
    that may show a study in a frame, and take its form when it is done. Where people come by https, browsers are told
    to come in no other way."""

    def __init__(
        self,
        app: ASGIApp,
        hosts: Collection[str] = (),
        framed_by: Sequence[str] = (),
        *,
        limits: ServerLimits | None = None,
        https: bool = False,
        denied: Denied | None = None,
    ) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._headers = [*HEADERS, HTTPS_ONLY] if https else HEADERS
        self._framed = _framed(self._headers, framed_by) if framed_by else self._headers
        self._pace = limits.pace if limits else None
        self._denied = denied

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = self._framed if scope["path"].startswith(FRAMED) else self._headers
                message["headers"] = [*message["headers"], *own]
            await send(message)

        headers: dict[bytes, bytes] = dict(scope["headers"])
        if reply := self._refusal(scope, headers):
            if self._denied is not None and reply.status_code == 403:
                await self._denied(scope, "cross-site")
            await reply(scope, receive, send_guarded)
            return
        await self._app(scope, _limited(receive), send_guarded)

    def _refusal(self, scope: Scope, headers: dict[bytes, bytes]) -> Json | None:
        if sum(name == b"host" for name, _ in scope["headers"]) != 1 or not self._is_ours(headers[b"host"]):
            return _told(
                400,
                NotNow(
                    "found a host name that is not ours",
                    expected="a request to the address this study is served at",
                    fix="use the address that the server printed",
                    code="wrong-host",
                ),
            )
        if scope["method"] == "POST" and _is_from_elsewhere(scope["path"], headers):
            return _told(
                403,
                NotNow(
                    "found a request from another site",
                    expected="requests from the study's own page",
                    fix="open the study itself",
                    code="cross-site",
                ),
            )
        if headers.get(b"range", b"").count(b",") >= MAX_RANGES:
            return _told(
                416,
                NotNow(
                    f"found more than {MAX_RANGES} ranges of a file",
                    expected="the file, or a part of it",
                    fix="ask for it whole",
                    code="too-many-ranges",
                ),
            )
        if self._pace is not None and scope["method"] == "POST" and (seconds := self._wait(scope["path"])):
            return refusal(self._pace.refusal(seconds))
        length = headers.get(b"content-length", b"0")
        return refusal(_too_large()) if length.isdigit() and (len(length) > 9 or int(length) > MAX_BODY) else None

    def _wait(self, path: str) -> float:
        """Seconds that the person whose path it is must wait."""
        if self._pace is None or not path.startswith("/s/"):
            return 0.0
        return self._pace.take(path[3 : path.find("/", 3)])

    def _is_ours(self, host: bytes) -> bool:
        name, colon, port = host.decode("latin-1").rpartition(":")
        name = name if colon and port.isdigit() else host.decode("latin-1")
        return not self._hosts or name.strip("[]").lower() in self._hosts


def _is_from_elsewhere(path: str, headers: dict[bytes, bytes]) -> bool:
    """Whether another site sent the request, as browsers tell. Those that do not say so by name still name the page it
    came from: that counts where a cookie says who asks. (A proxy may change the host; elsewhere the token in the path
    is enough.)"""
    if (site := headers.get(b"sec-fetch-site")) is not None:
        return site not in (b"same-origin", b"none")
    origin = headers.get(b"origin")
    return origin is not None and path.startswith("/studio") and origin.partition(b"://")[2] != headers[b"host"]


def _framed(headers: list[tuple[bytes, bytes]], origins: Sequence[str]) -> list[tuple[bytes, bytes]]:
    """The headers of pages that these origins may show in a frame, and take a form from."""
    allowed = " ".join(origins).encode()
    return [
        (
            name,
            value.replace(b"frame-ancestors 'none'", b"frame-ancestors " + allowed).replace(
                b"form-action 'self'", b"form-action 'self' " + allowed
            ),
        )
        for name, value in headers
        if name != b"x-frame-options"
    ]


def _limited(receive: Receive) -> Receive:
    """The body, up to `MAX_BODY`, whatever length was announced."""
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
    return BodyTooLarge(
        f"found a body of more than {MAX_BODY:,} bytes",
        expected="an answer as the page sends it",
        fix="reload the page and answer again",
        code="body-too-large",
    )


def _told(status: int, error: SfumatoError) -> Json:
    reply = refusal(error)
    reply.status_code = status
    return reply
