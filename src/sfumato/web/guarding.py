"""The guard before every request: whom we answer, how much we read, and what browsers may do with what we say."""

from __future__ import annotations

from collections.abc import Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sfumato.errors import InvalidAnswer, NotNow
from sfumato.web.replies import Json, refusal

MAX_BODY = 64 * 1024
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


class Guard:
    """ASGI middleware. `hosts` are the names we answer to; an empty collection means any."""

    def __init__(self, app: ASGIApp, hosts: Collection[str] = ()) -> None:
        self._app = app
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *HEADERS]
            await send(message)

        headers = dict(scope["headers"])
        if reply := self._refusal(scope, headers):
            await reply(scope, receive, send_guarded)
            return
        try:
            await self._app(scope, _limited(receive), send_guarded)
        except _TooLarge:
            await _too_large()(scope, receive, send_guarded)

    def _refusal(self, scope: Scope, headers: dict[bytes, bytes]) -> Json | None:
        host = headers.get(b"host", b"").decode("latin-1").rpartition(":")
        name = host[0] if host[1] and host[2].isdigit() else "".join(host)
        if self._hosts and name.strip("[]").lower() not in self._hosts:
            return Json({"code": "wrong-host", "found": "found a host name that is not ours"}, 400)
        if scope["method"] == "POST" and headers.get(b"sec-fetch-site", b"none") not in (b"same-origin", b"none"):
            return refusal(
                NotNow(
                    "found a request from another site",
                    expected="requests from the study's own page",
                    fix="open the study itself",
                    code="cross-site",
                )
            )
        length = headers.get(b"content-length", b"0")
        return _too_large() if length.isdigit() and int(length) > MAX_BODY else None


class _TooLarge(Exception):
    pass


def _limited(receive: Receive) -> Receive:
    """The body, up to `MAX_BODY`, whatever length was announced."""
    n_bytes = 0

    async def limited() -> Message:
        nonlocal n_bytes
        message = await receive()
        n_bytes += len(message.get("body", b""))
        if n_bytes > MAX_BODY:
            raise _TooLarge
        return message

    return limited


def _too_large() -> Json:
    error = InvalidAnswer(
        f"found a body of more than {MAX_BODY:,} bytes",
        expected="an answer as the page sends it",
        fix="reload the page and answer again",
        code="body-too-large",
    )
    reply = refusal(error)
    reply.status_code = 413
    return reply
