"""Prolific: participants arrive with PROLIFIC_PID, STUDY_ID and SESSION_ID, and return with a completion code.

The client reads one submission, or all submissions of a study (docs.prolific.com, 2026). The rules on rejections are
those of its help pages (researcher-help.prolific.com, read in 2026); check them before you reject a submission.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import quote

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
from sfumato.recruitment.platform_api import ApiConnection, ApiRequest, PlatformClient, pages_of

BASE = "https://api.prolific.com"
TOKEN = "SFUMATO_PROLIFIC_TOKEN"
ADDRESS = "SFUMATO_PROLIFIC_API"
"""Another address of the API, for tests."""
PAGE = 100
WORDS = {
    "reserved": "active",
    "active": "active",
    "awaiting review": "submitted",
    "approved": "approved",
    "partially approved": "approved",
    "rejected": "rejected",
    "returned": "returned",
    "timed out": "timed out",
    "screened out": "screened out",
}


@dataclass
class ProlificClient:
    """Reads from Prolific's API with the token of the environment."""

    connection: ApiConnection

    def knows(self, arrival: Arrival, key: str) -> bool:
        found = self.connection.ask(ApiRequest(f"/api/v1/submissions/{quote(arrival.session, safe='')}/"), key)
        if not isinstance(found, Mapping):
            return False
        person = found.get("participant") or found.get("participant_id")
        return (person, found.get("study_id")) == (arrival.person, arrival.study)

    def submissions(self, study: str, key: str) -> list[PlatformSubmission]:
        def ask(page: int) -> Any:
            path = f"/api/v1/submissions/?study={quote(study, safe='')}&page_size={PAGE}&page={page}"
            return self.connection.ask(ApiRequest(path), f"{key}-{page}")

        rows = pages_of(ask, lambda reply: reply.get("results", ()) if isinstance(reply, Mapping) else ())
        return [self._submission(row, study) for row in rows]

    def _submission(self, row: Mapping[str, Any], study: str) -> PlatformSubmission:
        return PlatformSubmission(
            str(row.get("participant_id") or row.get("participant") or ""),
            str(row.get("id", "")),
            status_in(str(row.get("status", "")), WORDS),
            str(row.get("study_code") or row.get("entered_code") or ""),
            str(row.get("study_id") or study),
        )


RETURN = "https://app.prolific.com/submissions/complete?cc="
SHORT_MINUTES = 5


@dataclass(frozen=True)
class Prolific:
    """`study`: the study's id on Prolific; participants from other studies are then refused. `fee`: Prolific's fee on
    top of the pay, as a share."""

    study: str = ""
    fee: float = 0.0

    name: ClassVar[str] = "prolific"
    title: ClassVar[str] = "Prolific"
    asks: ClassVar[str] = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    checks_at_entry: ClassVar[bool] = True
    token_names: ClassVar[str] = TOKEN

    def __post_init__(self) -> None:
        check_settings(self.title, "study", self.study, self.fee)

    @property
    def framed_by(self) -> tuple[str, ...]:
        return ()

    def arrival(self, query: Mapping[str, str]) -> Arrival:
        return Arrival(id_in(query, "PROLIFIC_PID"), id_in(query, "STUDY_ID"), id_in(query, "SESSION_ID"))

    def back(self, code: str, arrival: Arrival) -> Redirect:
        return Redirect(code, RETURN + quote(code, safe=""))

    def submissions(self, rows: Sequence[Mapping[str, str]]) -> list[PlatformSubmission]:
        return [
            PlatformSubmission(
                column_of(row, "Participant id"),
                column_of(row, "Submission id"),
                status_in(column_of(row, "Status"), WORDS),
                column_of(row, "Completion code", needed=False),
            )
            for row in rows
        ]

    def client(self, environment: Mapping[str, str]) -> PlatformClient | None:
        token = environment.get(TOKEN, "").strip()
        if not token:
            return None
        headers = {"Authorization": f"Token {token}"}
        return ProlificClient(ApiConnection(environment.get(ADDRESS, BASE), lambda _request: headers))

    def may_refuse(self, n_failed: int, minutes: float | None) -> RejectionPolicy:
        """Two failed attention checks, or one where the study takes less than five minutes.

        Only checks that state the required answer count as attention checks there (and nonsensical questions); an
        obvious image does not count, and neither do questions about the instructions.
        """
        needed = 1 if minutes is not None and minutes < SHORT_MINUTES else 2
        length = f"in a study of {minutes:g} minutes" if minutes is not None else "where the length is not stated"
        if n_failed < needed:
            return RejectionPolicy(False, f"{n_failed} failed checks {length}: {needed} would be needed to reject")
        return RejectionPolicy(
            True,
            f"{n_failed} failed checks {length}: allowed only if each check stated the required answer; "
            "an obvious image is not an attention check",
        )
