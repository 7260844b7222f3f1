"""T6: every operation of the API is sent what its document allows and what it forbids, by schemathesis.

100 cases an operation here, `SFUMATO_CASES` of them in `make faults`. No failure of ours, no reply that is not in the
document, nothing accepted that the document forbids, nothing of the researcher's without a session.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from picture_study import write_picture_study
from researcher import Researcher, UnlimitedAttempts
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)
from site_client import AskedSite, asked_site
from starlette.routing import Mount, Route

from sfumato.elicitation.researcher_actions import set_paused
from sfumato.recruitment.arrival import entry_key
from sfumato.server import dashboard_login, openapi
from sfumato.server.app import routes
from sfumato.server.server import LOOPBACK, bind_socket, create_server

N_CASES = int(os.environ.get("SFUMATO_CASES", "100"))
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    negative_data_rejection,
    content_type_conformance,
    response_schema_conformance,
]
CONFIG = SchemathesisConfig.from_dict(
    {
        "checks": {
            "negative_data_rejection": {"expected-statuses": [400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 429]}
        }
    }
)
"""What counts as a refusal: by default a body that is too large (413) and a link that has ended (410) do not."""
LINES = [f"{method} {path}" for method, path in openapi.OPERATIONS]
Case = Any


class Fuzzed:
    """A study on a socket, with somebody who takes part and a researcher, and what both know."""

    def __init__(self, asked: AskedSite, url: str) -> None:
        self.asked, self.url = asked, url
        self._http = requests.Session()

    def document(self, path: str) -> tuple[dict[str, Any], dict[str, str]]:
        """The document with known parameters, and the headers of the client."""
        asked = self.asked
        asked.site.writer.run(lambda running: set_paused(running, False, "test"))
        people = [asked.ready() for _ in range(3)]
        trials = [person.trial()["trial"] for person in people]
        known = {
            "token": [person.token for person in people],
            "trial": trials,
            "n": ["0"],
            "index": ["0"],
            "kind": ["choice"],
            "file": ["form.js"],
            "path": ["style.css"],
            "platform": ["prolific"],
            "number": [str(row["id"]) for row in asked.stored("items")],
        }
        if path.startswith("/from/"):
            known["key"] = [asked.site.writer.run(lambda running: entry_key(running.secret, "prolific"))]
        # A stream would not end: only who is not let in asks for it here.
        cookie = {"Cookie": Researcher.by_link(asked).cookie} if path != "/studio/events" else {}
        document = openapi.document(known)
        if path.startswith("/from/"):
            ids = {"type": "string", "pattern": "^[0-9a-f]{24}$"}
            document["paths"][path]["get"]["parameters"] += [
                {"name": name, "in": "query", "required": True, "schema": ids}
                for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
            ]
        properties = document["components"]["schemas"]["Submission"]["properties"]
        properties["trial"] = {"type": "string", "enum": trials}
        return document, cookie

    def check(self, case: Case, headers: dict[str, str], checks: list[Any]) -> None:
        response = case.call(base_url=self.url, session=self._http, headers=headers, allow_redirects=False)
        case.validate_response(response, checks=checks, headers=headers)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzed]:
    folder = write_picture_study(tmp_path_factory.mktemp("fuzzed"))
    file = folder / "study.toml"
    file.write_text(f'{file.read_text()}[platform]\nname = "prolific"\ncompleted = "C0DE"\n')
    with asked_site(folder) as asked, contextlib.closing(bind_socket("127.0.0.1", 0)) as listener:
        asked.site.dashboard.attempts = UnlimitedAttempts()
        server = create_server(asked.site, LOOPBACK)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
        thread.start()
        try:
            yield Fuzzed(asked, f"http://127.0.0.1:{listener.getsockname()[1]}")
        finally:
            server.should_exit = True
            thread.join()


def listed_routes() -> set[tuple[str, str]]:
    """Method and path of every route of the application, as the document writes them."""
    found = set()
    for route in routes():
        path = re.sub(r":\w+\}", "}", route.path)
        if isinstance(route, Mount):
            found.add(("GET", f"{path}/{{path}}"))
        elif isinstance(route, Route):
            found |= {(method, path) for method in (route.methods or set()) - {"HEAD"}}
    return found


def test_the_document_has_every_route_and_no_other() -> None:
    assert listed_routes() == set(openapi.OPERATIONS)


def operation_of(document: dict[str, Any], line: str) -> Any:
    method, path = line.split(" ")
    return schemathesis.openapi.from_dict(document, config=CONFIG)[path][method]


def run(fuzzed: Fuzzed, line: str, n_cases: int, checks: list[Any]) -> None:
    document, headers = fuzzed.document(line.split(" ")[1])
    said = document["paths"][line.split(" ")[1]][line.split(" ")[0].lower()]
    # The session is given with every request here, and is no field to be filled in.
    said.pop("security", None)
    operation = operation_of(document, line)
    has_rules = "requestBody" in said or any("enum" in each["schema"] for each in said["parameters"])

    @seed(1)
    @settings(
        max_examples=n_cases,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=schemathesis.GenerationMode.POSITIVE))
    def allowed(case: Case) -> None:
        fuzzed.check(case, headers, checks)

    @seed(2)
    @settings(
        max_examples=n_cases,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE))
    def forbidden(case: Case) -> None:
        fuzzed.check(case, headers, checks)

    allowed()
    if has_rules:
        forbidden()


@pytest.mark.parametrize("line", LINES)
def test_operation(fuzzed: Fuzzed, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Guessing would be slow by design.
    monkeypatch.setattr(dashboard_login, "is_password", lambda *_: False)
    run(fuzzed, line, N_CASES // 2, CHECKS)


# A stream does not end; tests/server/test_access.py asks for its head.
BEHIND = [f"{method} {path}" for (method, path), each in openapi.OPERATIONS.items() if each.session]
BEHIND.remove("GET /studio/events")


@pytest.mark.parametrize("line", BEHIND)
def test_nothing_of_the_researchers_without_a_session(fuzzed: Fuzzed, line: str) -> None:
    document, headers = fuzzed.document(line.split(" ")[1])

    @settings(max_examples=3, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation_of(document, line).as_strategy(generation_mode=schemathesis.GenerationMode.POSITIVE))
    def kept_out(case: Case) -> None:
        fuzzed.check(case, headers, [ignored_auth])

    kept_out()


def test_a_server_that_accepts_anything_is_found_out(fuzzed: Fuzzed, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.server import answer_api

    monkeypatch.setattr(answer_api, "decode", lambda *_: answer_api.Choices(["yes", "2"]))
    with pytest.raises((Exception, BaseExceptionGroup), match=r"[Aa]ccepted|[Nn]egative|schema"):
        run(fuzzed, "POST /s/{token}/api/comprehension", 30, [negative_data_rejection])


def test_a_server_that_fails_is_found_out(fuzzed: Fuzzed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.server.pages._number", lambda text: 1 // (len(text) - len(text)))
    with pytest.raises((Exception, BaseExceptionGroup), match=r"[Ss]erver error"):
        run(fuzzed, "GET /s/{token}/examples/{index}", 5, [not_a_server_error])
