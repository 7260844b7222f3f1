"""Prolific's API, as far as it is asked: one submission, and all submissions of a study (docs.prolific.com, 2026).

Prolific: people come with PROLIFIC_PID, STUDY_ID and SESSION_ID, and go back with a completion code.

What is said here of its rules is what its public help pages said (researcher-help.prolific.com, read in 2026): rules
of a platform change, so look at them before a submission is rejected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import quote

from sfumato.elicitation.participant_state import Redirect
from sfumato.recruitment.platform import (
    Arrival,
    PlatformSubmission,
    RejectionPolicy,
    check_fee,
    check_ids,
    column_of,
    given,
    status_in,
)
from sfumato.recruitment.platform_api import ApiConnection, ApiRequest, PlatformClient, pages_of

BASE = "https://api.prolific.com"
TOKEN = "SFUMATO_PROLIFIC_TOKEN"
ADDRESS = "SFUMATO_PROLIFIC_API"
"""Where the API is, if not at its own address: for trying against a stand-in."""
PAGE = 100


@dataclass
class ProlificCaller:
    """Asks Prolific with the token of the environment."""

    line: ApiConnection
    words: Mapping[str, str]

    def knows(self, arrival: Arrival, key: str) -> bool:
        found = self.line.ask(ApiRequest(f"/api/v1/submissions/{quote(arrival.session, safe='')}/"), key)
        if not isinstance(found, Mapping):
            return False
        person = found.get("participant") or found.get("participant_id")
        return (person, found.get("study_id")) == (arrival.person, arrival.study)

    def submissions(self, study: str, key: str) -> list[PlatformSubmission]:
        def ask(page: int) -> Any:
            path = f"/api/v1/submissions/?study={quote(study, safe='')}&page_size={PAGE}&page={page}"
            return self.line.ask(ApiRequest(path), f"{key}-{page}")

        rows = pages_of(ask, lambda reply: reply.get("results", ()) if isinstance(reply, Mapping) else ())
        return [self._submission(row, study) for row in rows]

    def _submission(self, row: Mapping[str, Any], study: str) -> PlatformSubmission:
        return PlatformSubmission(
            str(row.get("participant_id") or row.get("participant") or ""),
            str(row.get("id", "")),
            status_in(str(row.get("status", "")), self.words),
            str(row.get("study_code") or row.get("entered_code") or ""),
            str(row.get("study_id") or study),
        )


def prolific_caller(environment: Mapping[str, str], words: Mapping[str, str]) -> PlatformClient | None:
    """Whom to ask, if the environment has a token."""
    token = environment.get(TOKEN, "").strip()
    if not token:
        return None
    line = ApiConnection(environment.get(ADDRESS, BASE), lambda _request: {"Authorization": f"Token {token}"})
    return ProlificCaller(line, words)


RETURN = "https://app.prolific.com/submissions/complete?cc="
SHORT_MINUTES = 5
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


@dataclass(frozen=True)
class Prolific:
    """`study`: the study's id on Prolific; people who come from another of your studies there are then refused.
    `fee`: what Prolific takes on top of what people get, as a share."""

    study: str = ""
    fee: float = 0.0

    name: ClassVar[str] = "prolific"
    title: ClassVar[str] = "Prolific"
    asks: ClassVar[str] = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    checks_at_entry: ClassVar[bool] = True
    token_names: ClassVar[str] = TOKEN

    def __post_init__(self) -> None:
        check_ids(self.title, "study", self.study)
        check_fee(self.title, self.fee)

    @property
    def framed_by(self) -> tuple[str, ...]:
        return ()

    def arrival(self, query: Mapping[str, str]) -> Arrival:
        return Arrival(given(query, "PROLIFIC_PID"), given(query, "STUDY_ID"), given(query, "SESSION_ID"))

    def back(self, code: str, arrival: Arrival) -> Redirect:  # noqa: ARG002
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

    def caller(self, environment: Mapping[str, str]) -> PlatformClient | None:
        return prolific_caller(environment, WORDS)

    def may_refuse(self, n_failed: int, minutes: float | None) -> RejectionPolicy:
        """Two failed attention checks, or one where the study takes less than five minutes.

        Only checks that tell people in so many words what to answer count as attention checks there (and nonsensical
        questions); a picture we find obvious is none, and neither are questions about the instructions.
        """
        needed = 1 if minutes is not None and minutes < SHORT_MINUTES else 2
        length = f"in a study of {minutes:g} minutes" if minutes is not None else "where the length is not stated"
        if n_failed < needed:
            return RejectionPolicy(False, f"{n_failed} failed checks {length}: {needed} would be needed to reject")
        return RejectionPolicy(
            True,
            f"{n_failed} failed checks {length}: a ground only if each told people what to answer; "
            "an obvious picture is no attention check",
        )
