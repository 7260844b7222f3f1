"""Participants: everybody of a study, how it ended for them here, and who they are on the platform they came from."""

from __future__ import annotations

from dataclasses import dataclass, field

from sfumato.recruitment.arrival import arrival_of
from sfumato.recruitment.platform import Arrival
from sfumato.store import queries, researcher_queries
from sfumato.store.database import reading_engine
from sfumato.store.export import unknown_study
from sfumato.store.location import StoreLocation
from sfumato.store.schema import Row
from sfumato.study.study import Study

FINISHED, SCREENED_OUT, STOPPED, WITHDRAWN = "finished", "screened out", "stopped", "withdrew"
UNDER_WAY, NO_CONSENT = "under way", "no consent"
OUTCOMES = (FINISHED, SCREENED_OUT, STOPPED, WITHDRAWN, UNDER_WAY, NO_CONSENT)
"""How it ended: all answered; not let in by the questions about the instructions; stopped by the checks; left; still
there; has not consented."""


@dataclass(frozen=True)
class ParticipantRecord:
    """Somebody who came. `arrival` tells who they are on the platform: keep it out of whatever you write."""

    annotator: str
    outcome: str
    n_labels: int
    """Answers for a label."""
    n_answers: int
    """All answers but those for practice."""
    seconds: float
    platform: str = ""
    arrival: Arrival | None = field(default=None, repr=False)
    earlier: tuple[str, ...] = field(default=(), repr=False)
    """Visits before the last one."""
    checked: str = ""
    """What the platform said of them: `known`, `unknown`, or nothing."""
    is_erased: bool = False
    is_left_out: bool = False
    """Whether their answers are in no export."""


@dataclass(frozen=True)
class Turnout:
    """Everybody of a study, and the secret that keys of requests are made with."""

    people: tuple[ParticipantRecord, ...]
    secret: str = field(repr=False)


def turnout_of(place: StoreLocation, study: Study) -> Turnout:
    """Who took part in a study, from a snapshot of its store; also while it is served."""
    engine = reading_engine(place)
    try:
        with engine.connect() as connection, connection.begin():
            row = queries.study_row(connection, study.name)
            if row is None:
                raise unknown_study(place, study.name, queries.study_names(connection))
            rows = researcher_queries.participants(connection, row["id"])
            return Turnout(tuple(_participant(each, study) for each in rows), row["secret"])
    finally:
        engine.dispose()


def _participant(row: Row, study: Study) -> ParticipantRecord:
    refs = row["refs"]
    return ParticipantRecord(
        row["pseudonym"],
        _outcome(row, study),
        int(row["n_labels"] or 0),
        int(row["n_answers"] or 0),
        float(row["seconds"] or 0.0),
        row["platform"] or "",
        arrival_of(row) if row["platform"] else None,
        tuple(refs.get("earlier", ())),
        refs.get("check", ""),
        row["erased_at"] is not None,
        row["left_out_at"] is not None,
    )


def _outcome(row: Row, study: Study) -> str:
    """Whoever finished has finished, whatever came later."""
    stages = (
        (FINISHED, row["finished_at"] is not None),
        (WITHDRAWN, row["withdrawn_at"] is not None),
        (STOPPED, row["excluded_at"] is not None and (row["passed_at"] is not None or not study.comprehension)),
        (SCREENED_OUT, row["excluded_at"] is not None),
        (NO_CONSENT, bool(study.consent) and row["consented_at"] is None),
    )
    return next((outcome for outcome, holds in stages if holds), UNDER_WAY)
