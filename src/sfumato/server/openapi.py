"""The HTTP API as OpenAPI 3.1 (`document()`): every route with its request body and possible replies.

For client programs, and for tests that generate requests from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from sfumato.elicitation.page_messages import Submission
from sfumato.server.answer_api import STEPS, Choices, Nothing
from sfumato.server.dashboard_login import Login, Logout
from sfumato.server.dashboard_routes import Extension, Wanted

JSON, HTML, FILE = "application/json", "text/html", "application/octet-stream"
REFS = "#/components/schemas/{name}"
TEXT, OBJECT = {"type": "string"}, {"type": "object"}
ERROR = {
    "type": "object",
    "required": ["code", "found", "expected", "fix"],
    "properties": {"code": TEXT, "found": TEXT, "expected": TEXT, "fix": TEXT, "field": TEXT, "id": TEXT},
    "additionalProperties": False,
}
STATE = {
    "type": "object",
    "required": ["stage", "answered", "wanted", "batch_size"],
    "properties": {
        "stage": TEXT,
        "answered": {"type": "integer"},
        "wanted": {"type": "integer"},
        "batch_size": {"type": "integer"},
        "trials": {"type": "array", "items": {"type": "object", "required": ["trial", "pictures", "texts"]}},
    },
}
TAKEN = {
    "type": "object",
    "properties": {"answer": TEXT, "code": TEXT, "state": {"$ref": REFS.format(name="State")}},
    "required": ["state"],
}
WHY = {
    200: "done",
    201: "stored on disk",
    303: "redirect to another address",
    304: "not modified",
    400: "wrong host name",
    401: "not logged in as the researcher",
    403: "request from another site, or a study with personal links only",
    404: "no such link, trial, picture or file, or that of another participant",
    405: "method not allowed",
    409: "not counted: too late or already answered; or a step that is not possible now",
    410: "an expired link",
    413: "body too large",
    416: "no such range of the file",
    422: "invalid body; nothing was changed",
    429: "too many requests: wait as Retry-After says",
    503: "the store is not available: try again, nothing is lost",
}
ALWAYS = (400, 503)
WITH_BODY = (403, 413, 422, 429)


@dataclass(frozen=True)
class Operation:
    """One route; `replies` are the statuses in addition to those of every route."""

    summary: str
    replies: Sequence[int]
    body: type[msgspec.Struct] | None = None
    gives: str = JSON
    schema: Mapping[str, Any] = field(default_factory=lambda: OBJECT)
    session: bool = False


def _step(summary: str, body: type[msgspec.Struct] = Nothing) -> Operation:
    return Operation(summary, (200, 404, 409, 410), body, schema={"$ref": REFS.format(name="State")})


PERSON = "/s/{token}"
OPERATIONS: dict[tuple[str, str], Operation] = {
    ("POST", f"{PERSON}/api/answers"): Operation(
        "Submit an answer under a unique key", (200, 201, 404, 409), Submission, schema=TAKEN
    ),
    **{("POST", f"{PERSON}/api/{name}"): _step(f"The participant's state after: {name}") for name in STEPS},
    ("POST", f"{PERSON}/api/comprehension"): _step("Answer the questions about the instructions", Choices),
    ("GET", f"{PERSON}/pictures/{{trial}}/{{n}}"): Operation("A picture of a trial", (200, 404), gives="image/*"),
    ("GET", f"{PERSON}/examples/{{index}}"): Operation("The example of a class", (200, 404, 410), gives="image/*"),
    ("GET", PERSON): Operation("The page on which the study is taken", (200, 404, 410), gives=HTML),
    ("GET", "/studio"): Operation("The dashboard, or its login page", (200, 401), gives=HTML, session=True),
    ("GET", "/studio/enter/{key}"): Operation("The page of a login link", (200,), gives=HTML),
    ("POST", "/studio/enter/{key}"): Operation("Log in by a link", (303, 403, 404, 413, 429), gives=HTML),
    ("POST", "/studio/login"): Operation("Log in by password", (200, 401), Login),
    ("POST", "/studio/logout"): Operation("Log out, here or everywhere", (200, 401), Logout, session=True),
    ("GET", "/studio/state"): Operation("The current figures", (200, 401), session=True),
    ("GET", "/studio/events"): Operation("The stream of changed figures", (200, 401), gives=FILE, session=True),
    ("GET", "/studio/pictures/{number}"): Operation(
        "The picture of an item", (200, 401, 404), gives="image/*", session=True
    ),
    ("POST", "/studio/pause"): Operation("Pause", (200, 401), Nothing, session=True),
    ("POST", "/studio/resume"): Operation("Resume", (200, 401), Nothing, session=True),
    ("POST", "/studio/extend"): Operation("More answers per item", (200, 401, 409), Extension, session=True),
    ("POST", "/studio/downloads"): Operation("Make a file of the answers", (201, 401, 409), Wanted, session=True),
    ("GET", "/studio/downloads/{handle}"): Operation(
        "A file that was made", (200, 206, 401, 404, 416), gives=FILE, session=True
    ),
    ("GET", "/"): Operation("The landing page", (200,), gives=HTML),
    ("POST", "/join"): Operation("Take part", (303, 403, 413, 429), gives=HTML),
    ("GET", "/from/{platform}/{key}"): Operation("Entry from a platform", (200, 303, 404, 429), gives=HTML),
    ("GET", "/health"): Operation("Whether the store can be read", (200,)),
    ("GET", "/static/kinds/{kind}/{file}"): Operation("A form's file", (200, 206, 304, 404, 416), gives="*/*"),
    ("GET", "/static/{path}"): Operation("A script or style sheet", (200, 206, 304, 404, 416), gives="*/*"),
}
"""Every route; a test compares it with `routes()`."""


def document(known: Mapping[str, Sequence[str]] | None = None) -> dict[str, Any]:
    """The document. `known` lists values of path parameters (tokens, handles), if the caller knows them."""
    bodies = [each.body for each in OPERATIONS.values() if each.body is not None]
    schemas, components = msgspec.json.schema_components(list(dict.fromkeys(bodies)), ref_template=REFS)
    refs = dict(zip(dict.fromkeys(bodies), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for (method, path), operation in OPERATIONS.items():
        body = refs[operation.body] if operation.body is not None else None
        paths.setdefault(path, {})[method.lower()] = _operation(path, operation, body, known or {})
    return {
        "openapi": "3.1.0",
        "info": {"title": "A study served by sfumato", "version": "1"},
        "paths": paths,
        "components": {
            "schemas": {**components, "Error": ERROR, "State": STATE},
            "securitySchemes": {"session": {"type": "apiKey", "in": "cookie", "name": "sfumato"}},
        },
    }


def _operation(path: str, operation: Operation, body: Any, known: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    statuses = sorted({*operation.replies, *ALWAYS, *(WITH_BODY if body is not None else ())})
    described: dict[str, Any] = {
        "summary": operation.summary,
        "parameters": [
            {
                "name": name,
                "in": "path",
                "required": True,
                "schema": TEXT | ({"enum": list(known[name])} if known.get(name) else {"minLength": 1}),
            }
            for name in re.findall(r"\{(\w+)\}", path)
        ],
        "responses": {str(status): _reply(status, operation) for status in statuses},
    }
    if body is not None:
        described["requestBody"] = {"required": True, "content": {JSON: {"schema": body}}}
    if operation.session:
        described["security"] = [{"session": []}]
    return described


def _reply(status: int, operation: Operation) -> dict[str, Any]:
    is_good = status < 400 or (status == 409 and operation.schema is TAKEN)
    if status in (303, 304):
        return {"description": WHY[status]}
    if is_good and operation.gives == JSON:
        content: dict[str, Any] = {JSON: {"schema": operation.schema}}
    elif is_good:
        content = {operation.gives: {}}
    else:
        # A page for browsers, JSON for programs.
        content = {JSON: {"schema": {"$ref": REFS.format(name="Error")}}, HTML: {}}
    return {"description": WHY.get(status, "a part of it"), "content": content}
