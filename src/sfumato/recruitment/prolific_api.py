"""Prolific's API, as far as it is asked: one submission, and all submissions of a study (docs.prolific.com, 2026)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from sfumato.recruitment.platform import Arrival, PlatformSubmission, status_in
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
