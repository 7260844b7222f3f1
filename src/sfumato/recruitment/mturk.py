"""Amazon Mechanical Turk: a HIT with an external question shows the study in a frame, and waits for a form.

The address is opened with assignmentId, hitId, workerId and turkSubmitTo; while somebody only looks, the assignment is
not there yet. Amazon's guide to external questions (2017-01-17) is the reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import urlsplit

from sfumato.elicitation.kind import check_flag
from sfumato.elicitation.participant_state import Redirect
from sfumato.recruitment.columns import column_of
from sfumato.recruitment.mturk_api import ACCESS, SECRET, mturk_caller
from sfumato.recruitment.platform import (
    Arrival,
    PlatformSubmission,
    RejectionPolicy,
    check_fee,
    check_ids,
    given,
    status_in,
)
from sfumato.recruitment.platform_api import PlatformClient
from sfumato.tables.errors import NotThere

PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
SUBMIT_PATH = "/mturk/externalSubmit"
HOSTS = {False: "www.mturk.com", True: "workersandbox.mturk.com"}
FRAMES = {False: "worker.mturk.com", True: "workersandbox.mturk.com"}
WORDS = {"submitted": "submitted", "approved": "approved", "rejected": "rejected", "returned": "returned",
         "abandoned": "timed out", "accepted": "active"}  # fmt: skip
CODE_COLUMNS = ("Answer.code", "Answer.surveycode")


@dataclass(frozen=True)
class MTurk:
    """`hit`: the HIT's id, or ids separated by blanks; others are then refused. `sandbox`: the one for trying out.
    `fee`: what Amazon takes on top of what people get, as a share."""

    hit: str = ""
    sandbox: bool = False
    fee: float = 0.0

    name: ClassVar[str] = "mturk"
    title: ClassVar[str] = "Mechanical Turk"
    asks: ClassVar[str] = ""
    checks_at_entry: ClassVar[bool] = False
    token_names: ClassVar[str] = f"{ACCESS} and {SECRET}"

    def __post_init__(self) -> None:
        check_ids(self.title, "hit", self.hit)
        check_flag(self.name, "sandbox", self.sandbox)
        check_fee(self.title, self.fee)

    @property
    def study(self) -> str:
        return self.hit

    @property
    def framed_by(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(f"https://{hosts[self.sandbox]}" for hosts in (FRAMES, HOSTS)))

    def arrival(self, query: Mapping[str, str]) -> Arrival | None:
        if query.get("assignmentId", "") in ("", PREVIEW):
            return None
        session, study, person = (given(query, name) for name in ("assignmentId", "hitId", "workerId"))
        return Arrival(person, study, session, self._submit_to(query.get("turkSubmitTo", "")))

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

    def caller(self, environment: Mapping[str, str]) -> PlatformClient | None:
        return mturk_caller(environment, WORDS, sandbox=self.sandbox)

    def may_refuse(self, n_failed: int, minutes: float | None) -> RejectionPolicy:  # noqa: ARG002
        """Mechanical Turk leaves it to the requester, and tells people the share of their work that was rejected: a
        rejection costs them more than its pay. We list none as safe."""
        return RejectionPolicy(
            False, f"{n_failed} failed checks: rejecting is left to you there, and harms a person's standing"
        )

    def _submit_to(self, address: str) -> str:
        """The origin to post to; an error unless it is Amazon's own."""
        parts = urlsplit(address if address.isascii() else "")
        known = HOSTS[self.sandbox]
        if parts.scheme != "https" or parts.netloc != known or parts.path not in ("", "/") or parts.query:
            raise NotThere(
                "found another address to hand in to than the platform's",
                expected=f"turkSubmitTo=https://{known}",
                fix="open the study from the platform; sandbox = true in [platform] is for its sandbox",
                code="not-from-platform",
            )
        return f"https://{known}"
