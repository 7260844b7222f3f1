"""HTTP responses: JSON bodies, HTML pages, and errors with their status, for all routes."""

from __future__ import annotations

import logging
import secrets
from typing import Any

import msgspec
from markupsafe import escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from sfumato.elicitation.participant_link import LinkEnded
from sfumato.server.rate_limit import TooMany
from sfumato.server.researcher_sessions import NotLoggedIn
from sfumato.tables.errors import Busy, InvalidAnswer, NotNow, NotThere, SfumatoError, StoreDown


class BodyTooLarge(InvalidAnswer):
    """A body longer than the limit, whatever Content-Length says."""


STATUS: tuple[tuple[type[SfumatoError], int], ...] = (
    (BodyTooLarge, 413),
    (NotLoggedIn, 401),
    (TooMany, 429),
    (InvalidAnswer, 422),
    (LinkEnded, 410),
    (NotThere, 404),
    (NotNow, 409),
    (StoreDown, 503),
)
ENCODE = msgspec.json.Encoder().encode
LOG = logging.getLogger("sfumato.server")
NO_STORE = {"Cache-Control": "no-store"}


class Json(Response):
    """A JSON body that caches must not store."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return ENCODE(content)

    def __init__(self, content: Any, status_code: int = 200, headers: dict[str, str] | None = None) -> None:
        super().__init__(content, status_code, NO_STORE | (headers or {}))


class InternalError(SfumatoError):
    """An unexpected error, with an id that is also in the log together with the error's type."""

    def __init__(self, error: Exception) -> None:
        self.id = secrets.token_hex(4)
        LOG.error("internal error %s: %s", self.id, type(error).__name__)
        super().__init__("", "no internal error", "try again", "server-error")


def html(text: str, status: int = 200, retry_after: int | None = None) -> HTMLResponse:
    """A page that caches must not store."""
    return HTMLResponse(text, status, NO_STORE if retry_after is None else NO_STORE | {"Retry-After": str(retry_after)})


def error_response(error: SfumatoError, status: int | None = None) -> Json:
    """An error as JSON with the status of its class (500 for unexpected ones); internal details stay in the log."""
    status = status or next((status for kind, status in STATUS if isinstance(error, kind)), 500)
    body = {"code": error.code, "found": error.found, "expected": error.expected, "fix": error.fix}
    if error.where.column:
        body["field"] = error.where.column
    if isinstance(error, InternalError):
        body["id"] = error.id
    if status >= 500:
        body["found"] = "found that the server could not do this now"
    wait = error.seconds if isinstance(error, (TooMany, Busy)) else 1 if status == 503 else None
    return Json(body, status, {"Retry-After": str(wait)} if wait else None)


def own_words(error: SfumatoError) -> tuple[str, str]:
    """What was found and how to fix it, as sentences."""
    found = error.found.removeprefix("found ")
    return f"{found[:1].upper()}{found[1:]}.", f"{error.fix[:1].upper()}{error.fix[1:]}."


def plain_error_page(error: SfumatoError, status: int) -> HTMLResponse:
    """An error as a page without style sheet or scripts, for requests that reach no study."""
    message, fix = map(escape, own_words(error))
    head = f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{message}</title></head>\n'
    return html(f"{head}<body>\n<h1>{message}</h1>\n<p>{fix}</p>\n</body>\n</html>\n", status)


def client_address(request: Request) -> str:
    return request.client.host if request.client else "unknown"
