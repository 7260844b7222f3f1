"""The way back to the platform somebody came from, with the code that says how it ended for them."""

from __future__ import annotations

import sqlalchemy as sa

from sfumato.elicitation.participant_state import Redirect
from sfumato.recruitment import platform_of
from sfumato.recruitment.platform import Arrival
from sfumato.store import researcher_queries
from sfumato.store.queries import Row
from sfumato.study.study import Study


def redirect_for(connection: sa.Connection, study: Study, annotator: int, outcome: str) -> Redirect | None:
    """How an annotator gets back to the platform after this outcome (`completed`, `screened_out` or `no_consent`).

    None for who came by a link, and where the platform has no code for it.
    """
    platform, recruiting = platform_of(study), study.recruiting
    if platform is None or recruiting is None:
        return None
    code = getattr(recruiting, outcome)
    row = researcher_queries.platform_id_of(connection, annotator)
    if not code or row is None or row["platform"] != platform.name:
        return None
    return platform.back(code, arrival_of(row))


def arrival_of(row: Row) -> Arrival:
    """The latest arrival that a row of `platform_ids` tells of."""
    refs = row["refs"]
    return Arrival(row["person"], refs.get("study", ""), refs.get("session", ""), refs.get("submit_to", ""))
