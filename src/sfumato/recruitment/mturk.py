"""Amazon Mechanical Turk: a HIT with an external question shows the study in a frame, and expects a form at the end.

The address is opened with assignmentId, hitId, workerId and turkSubmitTo; in a preview there is no assignment yet
(Amazon's guide to external questions, 2017-01-17). The client reads one assignment, or all assignments of a HIT;
requests are signed here with Amazon's Signature Version 4, which avoids a large dependency.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar
from urllib.parse import urlsplit

from sfumato.elicitation.kind import check_flag
from sfumato.elicitation.page_messages import Redirect
from sfumato.recruitment.platform import (
    Arrival,
    PlatformSubmission,
    RejectionPolicy,
    check_settings,
    column_of,
    id_in,
    status_in,
)
from sfumato.recruitment.platform_api import ApiConnection, ApiRequest, PlatformClient
from sfumato.tables.errors import NotThere, Refused

BASES = {
    False: "https://mturk-requester.us-east-1.amazonaws.com",
    True: "https://mturk-requester-sandbox.us-east-1.amazonaws.com",
}
ACCESS, SECRET = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"
SESSION = "AWS_SESSION_TOKEN"
ADDRESS = "SFUMATO_MTURK_API"
TARGET = "MTurkRequesterServiceV20170117."
REGION, SERVICE = "us-east-1", "mturk-requester"
PAGE_SIZE = 100
WORDS = {"submitted": "submitted", "approved": "approved", "rejected": "rejected", "returned": "returned",
         "abandoned": "timed out", "accepted": "active"}  # fmt: skip
WORKER_ID = re.compile(r"A[A-Z0-9]{8,63}")
OTHER_ID = re.compile(r"[A-Z0-9]{20,64}")
"""Ids of HITs and assignments: 30 characters today. Amazon's guide shows examples of 20 and 40, and its API documents
capital letters and digits, at most 64, for both kinds of ids."""
CODE = re.compile(
    r"<QuestionIdentifier>(?:code|surveycode)</QuestionIdentifier>\s*<FreeText>([A-Za-z0-9-]{1,64})</FreeText>"
)


@dataclass
class MTurkClient:
    """Reads from Mechanical Turk's API with the keys of the environment. Assignments appear once submitted."""

    connection: ApiConnection

    def knows(self, arrival: Arrival, key: str) -> bool:
        try:
            found = self._ask("GetAssignment", {"AssignmentId": arrival.session}, key)
        except Refused as error:
            # 400 means an unknown assignment; a wrong key is 401 or 403.
            if "status 400" not in error.found:
                raise
            return False
        assignment = found.get("Assignment", {}) if isinstance(found, Mapping) else {}
        return (assignment.get("WorkerId"), assignment.get("HITId")) == (arrival.person, arrival.study)

    def submissions(self, study: str, key: str) -> list[PlatformSubmission]:
        found: list[PlatformSubmission] = []
        for hit in study.split():
            after: dict[str, str] = {}
            for page in range(1000):
                asked = {"HITId": hit, "MaxResults": PAGE_SIZE, **after}
                reply = self._ask("ListAssignmentsForHIT", asked, f"{key}-{hit}-{page}")
                found += [self._submission(row) for row in reply.get("Assignments", ())]
                if not reply.get("NextToken"):
                    break
                after = {"NextToken": reply["NextToken"]}
        return found

    def _ask(self, operation: str, body: Mapping[str, Any], key: str) -> Any:
        headers = {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": TARGET + operation}
        return self.connection.ask(ApiRequest("/", headers, json.dumps(body).encode()), key) or {}

    def _submission(self, row: Mapping[str, Any]) -> PlatformSubmission:
        code = CODE.search(str(row.get("Answer", "")))
        return PlatformSubmission(
            str(row.get("WorkerId", "")),
            str(row.get("AssignmentId", "")),
            status_in(str(row.get("AssignmentStatus", "")), WORDS),
            code[1] if code else "",
            str(row.get("HITId", "")),
        )


def signed(
    request: ApiRequest, host: str, access: str, secret: str, now: datetime, extra: Mapping[str, str]
) -> dict[str, str]:
    """The headers that sign a POST to `/`: Signature Version 4 (Amazon's "Signing AWS API requests")."""
    moment, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    headers = {**request.headers, **extra, "Host": host, "X-Amz-Date": moment}
    lines = sorted((name.lower(), value.strip()) for name, value in headers.items())
    names = ";".join(name for name, _ in lines)
    body_hash = hashlib.sha256(request.body or b"").hexdigest()
    canonical = "\n".join(
        ("POST", request.path, "", *(f"{name}:{value}" for name, value in lines), "", names, body_hash)
    )
    scope = f"{day}/{REGION}/{SERVICE}/aws4_request"
    text = "\n".join(("AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(canonical.encode()).hexdigest()))
    key = f"AWS4{secret}".encode()
    for part in (day, REGION, SERVICE, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    authorization = f"AWS4-HMAC-SHA256 Credential={access}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {"X-Amz-Date": moment, "Authorization": authorization, **extra}


PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
SUBMIT_PATH = "/mturk/externalSubmit"
HOSTS = {False: "www.mturk.com", True: "workersandbox.mturk.com"}
FRAMES = {False: "worker.mturk.com", True: "workersandbox.mturk.com"}
CODE_COLUMNS = ("Answer.code", "Answer.surveycode")


@dataclass(frozen=True)
class MTurk:
    """`hit`: the HIT's id, or ids separated by spaces; others are then refused. `sandbox`: use the sandbox for tests.
    `fee`: Amazon's fee on top of the pay, as a share."""

    hit: str = ""
    sandbox: bool = False
    fee: float = 0.0

    name: ClassVar[str] = "mturk"
    title: ClassVar[str] = "Mechanical Turk"
    asks: ClassVar[str] = ""
    signature: ClassVar[str] = ""
    checks_at_entry: ClassVar[bool] = False
    token_names: ClassVar[str] = f"{ACCESS} and {SECRET}"

    def __post_init__(self) -> None:
        check_settings(self.title, "hit", self.hit, self.fee, OTHER_ID)
        check_flag(self.name, "sandbox", self.sandbox)

    @property
    def study(self) -> str:
        return self.hit

    @property
    def keys(self) -> str:
        return ""

    @property
    def framed_by(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(f"https://{hosts[self.sandbox]}" for hosts in (FRAMES, HOSTS)))

    def arrival(self, query: Mapping[str, str]) -> Arrival | None:
        if query.get("assignmentId", "") in ("", PREVIEW):
            return None
        session, study = (id_in(query, name, OTHER_ID) for name in ("assignmentId", "hitId"))
        person = id_in(query, "workerId", WORKER_ID)
        return Arrival(person, study, session, self._submit_to(query.get("turkSubmitTo", "")))

    def is_signed(self, claims: Mapping[str, Any], arrival: Arrival, path: str) -> bool:
        """Mechanical Turk signs nothing."""
        return False

    def back(self, code: str, arrival: Arrival) -> Redirect:
        return Redirect(code, arrival.submit_to + SUBMIT_PATH, {"assignmentId": arrival.session, "code": code})

    def submissions(self, rows: Sequence[Mapping[str, str]]) -> list[PlatformSubmission]:
        return [
            PlatformSubmission(
                column_of(row, "WorkerId"),
                column_of(row, "AssignmentId"),
                status_in(column_of(row, "AssignmentStatus"), WORDS),
                next((row[name] for name in CODE_COLUMNS if row.get(name)), ""),
                column_of(row, "HITId", needed=False),
            )
            for row in rows
        ]

    def client(self, environment: Mapping[str, str]) -> PlatformClient | None:
        access, secret = (environment.get(name, "").strip() for name in (ACCESS, SECRET))
        if not access or not secret:
            return None
        base = environment.get(ADDRESS, BASES[self.sandbox])

        def headers_of(request: ApiRequest) -> Mapping[str, str]:
            session = environment.get(SESSION, "").strip()
            extra = {"X-Amz-Security-Token": session} if session else {}
            return signed(request, urlsplit(base).netloc, access, secret, datetime.now(UTC), extra)

        return MTurkClient(ApiConnection(base, headers_of))

    def may_refuse(self, n_failed: int, minutes: float | None) -> RejectionPolicy:
        """Mechanical Turk leaves it to the requester; rejections lower a worker's approval rate: we advise none."""
        failed = f"{n_failed} failed check{'s' * (n_failed != 1)}"
        return RejectionPolicy(False, f"{failed}: the decision is yours there, and lowers the worker's approval rate")

    def _submit_to(self, address: str) -> str:
        """The origin to post to; an error unless it is Amazon's."""
        parts = urlsplit(address if address.isascii() else "")
        known = HOSTS[self.sandbox]
        if parts.scheme != "https" or parts.netloc != known or parts.path not in ("", "/") or parts.query:
            found = "a submit address that is not the platform's"
            fix = "open the study from the platform; sandbox = true in [platform] is for its sandbox"
            raise NotThere(found, f"turkSubmitTo=https://{known}", fix, "not-from-platform")
        return f"https://{known}"
