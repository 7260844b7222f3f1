"""Prolific: participants arrive with PROLIFIC_PID, STUDY_ID and SESSION_ID, and return with a completion code.

A study with a secured URL also gets `prolific_token`, which Prolific signs (docs.prolific.com, "Retrieve JSON Web Key
Set", 2026): its claim `prolific` holds the three ids, `aud` the address.

The client reads one submission, or all submissions of a study (docs.prolific.com, 2026). The rules on rejections are
those of its help pages (researcher-help.prolific.com, read in 2026); check them before you reject a submission.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import quote, urlsplit

from sfumato.elicitation.page_messages import Redirect
from sfumato.recruitment.platform import (
    FILE_NAME,
    Arrival,
    PlatformSubmission,
    RejectionPolicy,
    check_settings,
    column_of,
    id_in,
    status_in,
)
from sfumato.recruitment.platform_api import ApiConnection, ApiRequest, PlatformClient, pages_of
from sfumato.tables.errors import BadSetting, show

BASE = "https://api.prolific.com"
TOKEN = "SFUMATO_PROLIFIC_TOKEN"
ADDRESS = "SFUMATO_PROLIFIC_API"
"""Another address of the API, for tests."""
PAGE = 100
ID = re.compile(r"[0-9a-f]{24}")
"""Ids of people, studies and submissions. Capital letters would be a second spelling of the same id."""
IDS = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
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
    """`study`: the study's id on Prolific; participants from other studies are then refused. `keys`: a file in the
    study's folder with Prolific's public keys; only arrivals that Prolific signed are then accepted. `fee`: Prolific's
    fee on top of the pay, as a share."""

    study: str = ""
    keys: str = ""
    fee: float = 0.0

    name: ClassVar[str] = "prolific"
    title: ClassVar[str] = "Prolific"
    asks: ClassVar[str] = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
    signature: ClassVar[str] = "prolific_token"
    checks_at_entry: ClassVar[bool] = True
    token_names: ClassVar[str] = TOKEN

    def __post_init__(self) -> None:
        check_settings(self.title, "study", self.study, self.fee, ID)
        if not isinstance(self.keys, str) or (self.keys and not FILE_NAME.fullmatch(self.keys)):
            fix = "put the file next to study.toml, and write its name"
            raise BadSetting(f"keys = {show(self.keys)}", "the name of a file in the study's folder", fix)
        if self.keys and not self.study:
            fix = 'add study = "...", as Prolific shows it: Prolific also signs arrivals for other people\'s studies'
            raise BadSetting("keys without study", "the id of the study whose arrivals are signed", fix)

    @property
    def framed_by(self) -> tuple[str, ...]:
        return ()

    def arrival(self, query: Mapping[str, str]) -> Arrival:
        return Arrival(*(id_in(query, name, ID) for name in IDS))

    def is_signed(self, claims: Mapping[str, Any], arrival: Arrival, path: str) -> bool:
        """The ids must be those of the query. Of the address only the path is compared: it has the study's key, and
        behind a proxy the server does not know its own name."""
        ids, audience = claims.get("prolific"), claims.get("aud")
        expected = [arrival.person, arrival.study, arrival.session]
        if not isinstance(ids, Mapping) or [ids.get(name) for name in IDS] != expected:
            return False
        given = audience if isinstance(audience, list) else [audience]
        named = [each for each in given if isinstance(each, str)]
        if not named or len(named) < len(given):
            return False
        try:
            paths = [urlsplit(each).path.rstrip("/") for each in named if "://" in each]
        except ValueError:
            return False
        return not any(paths) or path in paths

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
        failed = f"{n_failed} failed check{'s' * (n_failed != 1)}"
        if n_failed < needed:
            return RejectionPolicy(False, f"{failed} {length}: {needed} would be needed to reject")
        return RejectionPolicy(
            True,
            f"{failed} {length}: allowed only if each check stated the required answer; "
            "an obvious image is not an attention check",
        )
