"""Local stubs of the Prolific and Mechanical Turk APIs, with configurable faults.

A request takes effect once per key (`X-Request-Key`, or Mechanical Turk's UniqueRequestToken), also if it is repeated.
A request without a key takes effect each time. `faults` are used one per request: `"500"` and other statuses, `drop`
(the connection is closed without effect), `lose` (takes effect, but the reply is lost), `garbage`, `redirect`.
"""

from __future__ import annotations

import json
import random
import threading
from collections import Counter, deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

FAULTS = ("500", "502", "503", "429", "drop", "lose", "garbage")
"""Faults after which a client retries."""
TOKEN = "tok-for-tests-only"
PAGE = 3
"""Submissions per page, regardless of the requested number, because clients must not rely on getting all at once."""


@dataclass
class PlatformStub:
    """`rows` are submissions with the platform's own statuses, by session."""

    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    faults: deque[str] = field(default_factory=deque)
    shuffled: random.Random | None = None
    """If set, rows come in another order at each request, some of them twice."""
    effects: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Counts of effects, by operation and subject."""
    requests: list[tuple[str, str]] = field(default_factory=list)
    """Every request: operation and subject, and the key."""
    headers: list[dict[str, str]] = field(default_factory=list)
    paid: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Bonuses, by worker and reason."""

    def __enter__(self) -> PlatformStub:
        self._seen: set[str] = set()
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"stub": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables for both platforms."""
        return {
            "SFUMATO_PROLIFIC_TOKEN": TOKEN,
            "SFUMATO_PROLIFIC_API": self.url,
            "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": TOKEN,
            "SFUMATO_MTURK_API": self.url,
        }

    def add(self, person: str, session: str, status: str, code: str = "", study: str = "study1") -> None:
        self.rows[session] = {"person": person, "session": session, "status": status, "code": code, "study": study}

    def reply_to(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, Any, str]:
        """Status, body and fault of the reply."""
        with self._lock:
            self.headers.append(headers)
            fault = self.faults.popleft() if self.faults else ""
            what, about, key, reply = self._parse(method, path, headers, body)
            self.requests.append((f"{what} {about}", key))
            if fault not in ("", "lose", "garbage"):
                return (int(fault) if fault.isdigit() else 302 if fault == "redirect" else 0), {}, fault
            if not key or key not in self._seen:
                self.effects[what, about] += 1
                if what == "SendBonus":
                    asked = json.loads(body)
                    self.paid[asked["WorkerId"], asked["Reason"]] += 1
                self._seen.add(key)
            return reply[0], reply[1], fault

    def _parse(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[str, str, str, tuple[int, Any]]:
        key = headers.get("x-request-key", "")
        if method == "GET":
            parts = urlsplit(path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            if headers.get("authorization") != f"Token {TOKEN}":
                return "refused", "", key, (401, {})
            session = parts.path.removeprefix("/api/v1/submissions/").strip("/")
            if session:
                return "get", session, key, self._one_of_prolific(session)
            page = int(query.get("page", "1"))
            rows = [self._prolific(row) for row in self._page(page) if row["study"] == query["study"]]
            return "list", query["study"], key, (200, {"results": rows})
        operation = headers["x-amz-target"].rpartition(".")[2]
        asked = json.loads(body)
        if not headers.get("authorization", "").startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"):
            return "refused", "", key, (403, {})
        if operation == "GetAssignment":
            return "get", asked["AssignmentId"], key, self._one_of_mturk(asked["AssignmentId"])
        if operation == "ListAssignmentsForHIT":
            page = int(asked.get("NextToken", "1"))
            found = [self._mturk(row) for row in self._page(page) if row["study"] == asked["HITId"]]
            after = {"NextToken": str(page + 1)} if page * PAGE < len(self.rows) else {}
            return "list", asked["HITId"], key, (200, {"Assignments": found, **after})
        return operation, f"{asked['WorkerId']} {asked['Reason']}", asked.get("UniqueRequestToken", ""), (200, {})

    def _page(self, page: int) -> list[dict[str, Any]]:
        rows = list(self.rows.values())[(page - 1) * PAGE : page * PAGE]
        if self.shuffled is None or not rows:
            return rows
        # People submit while pages are read, so rows move and some occur twice.
        return [*self.shuffled.sample(rows, len(rows)), self.shuffled.choice(rows)]

    def _one_of_prolific(self, session: str) -> tuple[int, Any]:
        row = self.rows.get(session)
        if row is None:
            return 404, {"error": {}}
        return 200, {"id": session, "participant": row["person"], "study_id": row["study"], "status": row["status"]}

    def _prolific(self, row: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": row["session"],
            "participant_id": row["person"],
            "status": row["status"],
            "study_code": row["code"],
        }

    def _one_of_mturk(self, session: str) -> tuple[int, Any]:
        row = self.rows.get(session)
        return (400, {"__type": "RequestError"}) if row is None else (200, {"Assignment": self._mturk(row)})

    def _mturk(self, row: dict[str, Any]) -> dict[str, Any]:
        answer = (
            "<QuestionFormAnswers><Answer><QuestionIdentifier>code</QuestionIdentifier>"
            f"<FreeText>{row['code']}</FreeText></Answer></QuestionFormAnswers>"
        )
        return {
            "AssignmentId": row["session"],
            "WorkerId": row["person"],
            "HITId": row["study"],
            "AssignmentStatus": row["status"],
            "Answer": answer,
        }


class _Handler(BaseHTTPRequestHandler):
    stub: PlatformStub

    def do_GET(self) -> None:
        self._reply(b"")

    def do_POST(self) -> None:
        self._reply(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _reply(self, body: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        status, reply, fault = self.stub.reply_to(self.command, self.path, headers, body)
        if fault in ("drop", "lose"):
            self.close_connection = True
            return
        data = b"<html>a proxy's own page</html>" if fault == "garbage" else json.dumps(reply).encode()
        self.send_response(status)
        if fault == "redirect":
            self.send_header("Location", f"{self.stub.url}/elsewhere")
        if status == 429:
            self.send_header("Retry-After", "7")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass
