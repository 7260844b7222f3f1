"""Replies: JSON out, and errors of ours as the status and body that a page or a program can act on."""

from __future__ import annotations

import logging
import secrets
from typing import Any

import msgspec
from starlette.responses import Response

from sfumato.elicitation.participant_link import LinkEnded
from sfumato.server.rate_limit import TooMany
from sfumato.server.researcher_sessions import NotLoggedIn
from sfumato.tables.errors import Busy, InvalidAnswer, NotNow, NotThere, SfumatoError, StoreDown


class BodyTooLarge(InvalidAnswer):
    """More came than we read, whatever length was announced."""


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


class Json(Response):
    """A JSON body that is never kept by a cache."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return ENCODE(content)

    def __init__(self, content: Any, status_code: int = 200, headers: dict[str, str] | None = None) -> None:
        super().__init__(content, status_code, {"Cache-Control": "no-store"} | (headers or {}))


def status_of(error: SfumatoError) -> int:
    """The HTTP status of an error of ours; what we did not foresee is the server's fault."""
    return next((status for kind, status in STATUS if isinstance(error, kind)), 500)


def refusal(error: SfumatoError) -> Json:
    """An error as a reply: what was found, what must hold, what to do; no traces of the machine."""
    status = status_of(error)
    body = {"code": error.code, "found": error.found, "expected": error.expected, "fix": error.fix}
    if error.where.column:
        body["field"] = error.where.column
    if isinstance(error, InternalError):
        body["id"] = error.id
    if status >= 500:
        # What went wrong inside is for the log alone.
        body["found"] = "found that the server could not do this now"
    wait = error.seconds if isinstance(error, (TooMany, Busy)) else 1 if status == 503 else None
    return Json(body, status, {"Retry-After": str(wait)} if wait else None)


class InternalError(SfumatoError):
    """A fault of ours, under an id that stands in the log as well, beside what kind of fault it was."""

    def __init__(self, error: Exception) -> None:
        self.id = secrets.token_hex(4)
        LOG.error("fault %s: %s", self.id, type(error).__name__)
        super().__init__("", expected="no fault of ours", fix="try again", code="server-error")
