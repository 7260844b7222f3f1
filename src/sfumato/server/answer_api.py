"""The JSON API of the study page: steps through the study, and answers.

The token in the path identifies the participant. Every reply holds their state, and nothing about other participants.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from sfumato.elicitation.page_messages import ParticipantState, Submission, SubmittedAnswer
from sfumato.elicitation.session import ParticipantSessions, hash_of
from sfumato.server.http_responses import ENCODE, InternalError, Json, error_response
from sfumato.server.rate_limit import ServerLimits
from sfumato.server.served_study import ServedStudy
from sfumato.tables.errors import InvalidAnswer, SfumatoError

MAX_DEPTH = 20
"""Nesting of lists and objects in an answer."""
LONGEST_AGE_MS = 60 * 24 * 3600 * 1000


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An empty object."""


class Choices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Answers to the questions about the instructions."""

    answers: Annotated[list[Annotated[str, msgspec.Meta(max_length=2000)]], msgspec.Meta(max_length=100)]


PATH = re.compile(r"/s/([^/]+)/api/answers")
HEADERS = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
NOTHING = msgspec.json.Decoder(Nothing)
CHOICES = msgspec.json.Decoder(Choices)
SUBMISSION = msgspec.json.Decoder(Submission)
STEPS: dict[str, Callable[[ParticipantSessions, str], ParticipantState]] = {
    "state": ParticipantSessions.state,
    "consent": ParticipantSessions.consent,
    "instructions": ParticipantSessions.finish_instructions,
    "trials": ParticipantSessions.state,
    "pulse": ParticipantSessions.heartbeat,
    "withdraw": ParticipantSessions.withdraw,
}
"""The paths under `/api` without a request body, and what they do."""


def step(name: str) -> Callable[[Request], Awaitable[Response]]:
    """The handler of one of `STEPS`."""
    run = STEPS[name]

    async def handler(request: Request) -> Response:
        site: ServedStudy = request.app.state.site
        token = request.path_params["token"]
        decode(NOTHING, await json_body(request))
        network = request.app.state.limits.network(request.scope["client"])
        state = await site.writer.ask(lambda running: run(running.requested_from(network), hash_of(token)))
        return Json(site.state(token, state))

    return handler


async def comprehension(request: Request) -> Response:
    site: ServedStudy = request.app.state.site
    token = request.path_params["token"]
    choices = decode(CHOICES, await json_body(request))
    token_hash, network = hash_of(token), request.app.state.limits.network(request.scope["client"])
    state = await site.writer.ask(
        lambda running: running.requested_from(network).answer_comprehension(token_hash, choices.answers)
    )
    return Json(site.state(token, state))


async def unreachable(_request: Request) -> Response:
    """Placeholder in the table of routes: `AnswerEndpoint` handles these requests before the router."""
    raise AssertionError("an answer that AnswerEndpoint did not handle")


class AnswerEndpoint:
    """Stores an answer: 201 after it is on disk; 200 if it was stored before; 409 if it came too late.

    An ASGI application in front of `rest`, which gets every other request: answers are the most frequent requests, and
    routing and request objects would cost as much as storing them.
    """

    def __init__(self, site: ServedStudy, rest: ASGIApp, limits: ServerLimits) -> None:
        self._site = site
        self._rest = rest
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = PATH.fullmatch(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if path is None:
            await self._rest(scope, receive, send)
            return
        try:
            status, body = await self._submit(path[1], scope, receive)
        except ClientLeft:
            return
        except SfumatoError as error:
            await error_response(error)(scope, receive, send)
            return
        except Exception as error:
            await error_response(InternalError(error))(scope, receive, send)
            raise
        length = (b"content-length", str(len(body)).encode())
        await send({"type": "http.response.start", "status": status, "headers": [*HEADERS, length]})
        await send({"type": "http.response.body", "body": body})

    async def _submit(self, token: str, scope: Scope, receive: Receive) -> tuple[int, bytes]:
        """Status and body of the reply."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        self._site.writer.check_room()
        _check_json(headers.get(b"content-type", b"").decode("latin-1"))
        body = await _whole_body(receive)
        submission = decode(SUBMISSION, body)
        if _is_deeper(submission.answer, MAX_DEPTH) or _is_deeper(submission.record.first, MAX_DEPTH):
            found = f"lists and objects nested more than {MAX_DEPTH} deep in the answer"
            raise InvalidAnswer(found, "an answer as the page sends it", "reload the page and answer again", "too-deep")
        submitted = SubmittedAnswer(
            submission.key,
            submission.trial,
            submission.answer,
            submission.record,
            body.decode(),
            hashlib.sha256(body).hexdigest(),
            _age(headers.get(b"x-sfumato-age", b"0").decode("latin-1")),
        )
        token_hash, network = hash_of(token), self._limits.network(scope["client"])
        result = await self._site.writer.ask(
            lambda running: running.requested_from(network).submit(token_hash, submitted)
        )
        state = self._site.state(token, result.state)
        if result.code:
            return 409, ENCODE({"code": result.code, "state": state})
        passed = {} if result.passed is None else {"passed": result.passed}
        return 200 if result.again else 201, ENCODE({"answer": result.answer, "state": state, **passed})


class ClientLeft(Exception):
    """The connection ended before the body was complete."""


async def _whole_body(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def json_body(request: Request) -> bytes:
    """The body of a request with the content type JSON."""
    _check_json(request.headers.get("content-type", ""))
    return await request.body()


def _check_json(content_type: str) -> None:
    media_type = content_type.partition(";")[0].strip()
    if media_type != "application/json":
        fix = "send JSON with the header Content-Type: application/json"
        raise InvalidAnswer(f"the content type {media_type[:60]!r}", "application/json", fix, "not-json")


def decode(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    """The decoded body; raises `InvalidAnswer` with the reason and the field."""
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        reason, _, at = str(error).partition(" - at `$")
        found = reason[:1].lower() + reason[1:] + (f" at {at.rstrip('`').lstrip('.')}" if at else "")
        expected = f"a body as the page sends it ({decoder.type.__name__.lower()})"
        raise InvalidAnswer(found, expected, "reload the page and answer again", "bad-body") from None


def _is_deeper(value: Any, limit: int) -> bool:
    """Whether lists and objects are nested more than `limit` deep."""
    if not isinstance(value, (dict, list)):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return limit == 0 or any(_is_deeper(each, limit - 1) for each in inside)


def _age(text: str) -> int:
    """Milliseconds since the participant submitted, by the browser's clock; 0 if invalid."""
    return min(int(text), LONGEST_AGE_MS) if text.isascii() and text.isdigit() and len(text) < 16 else 0
