"""All participants of a study, with their outcome and their platform id."""

from __future__ import annotations

from dataclasses import dataclass, field

from sfumato.elicitation.participant import KNOWN, REFUSED, SIGNED
from sfumato.recruitment.arrival import arrival_of
from sfumato.recruitment.platform import Arrival
from sfumato.store import researcher_queries
from sfumato.store.database import reading
from sfumato.store.export import stored_study
from sfumato.store.location import StoreLocation
from sfumato.store.schema import Row
from sfumato.study.study import Study

FINISHED, SCREENED_OUT, STOPPED, WITHDRAWN = "finished", "screened out", "stopped", "withdrew"
UNDER_WAY, NO_CONSENT, FULL, UNKNOWN = "under way", "no consent", "study full", "unknown"
OUTCOMES = (FINISHED, SCREENED_OUT, STOPPED, WITHDRAWN, UNDER_WAY, NO_CONSENT, FULL, UNKNOWN)
"""Outcomes: all answered; failed the comprehension questions; stopped after failed checks; withdrew; still active; did
not consent; got no item because the study was full; refused because the platform did not know them."""


@dataclass(frozen=True)
class ParticipantRecord:
    """A participant. `arrival` has their platform id: do not write it to files unasked."""

    annotator: str
    outcome: str
    n_labels: int
    """Answers for a label."""
    n_answers: int
    """All answers except practice."""
    seconds: float
    platform: str = ""
    arrival: Arrival | None = field(default=None, repr=False)
    earlier: tuple[str, ...] = field(default=(), repr=False)
    """Earlier visits."""
    checked: str = ""
    """The platform's check of the latest visit: `known`, `unknown`, or empty."""
    is_erased: bool = False
    is_left_out: bool = False
    """Whether their answers are left out of exports."""
    is_confirmed: bool = False
    """Whether the platform confirmed the participant, by its signature or its API."""
    code: str = ""
    """The completion code they got."""


@dataclass(frozen=True)
class ParticipantOutcomes:
    """All participants of a study, and the secret for request keys."""

    people: tuple[ParticipantRecord, ...]
    secret: str = field(repr=False)


def outcomes_of(place: StoreLocation, study: Study) -> ParticipantOutcomes:
    """The participants of a study, from a snapshot of its store; a server may be running."""
    with reading(place) as connection:
        row = stored_study(connection, place, study.name)
        rows = researcher_queries.participants(connection, row["id"])
        waiting = [each for each in rows if each["n_labels"] and each["finished_at"] is None]
        arms, n_labels = ({each["id"]: each[name] for each in waiting} for name in ("arm", "n_labels"))
        done = researcher_queries.without_further_items(connection, row["id"], study, arms, n_labels)
        people = tuple(_participant(each, study, is_done=each["id"] in done) for each in rows)
        return ParticipantOutcomes(people, row["secret"])


def _participant(row: Row, study: Study, *, is_done: bool) -> ParticipantRecord:
    refs = row["refs"]
    return ParticipantRecord(
        row["pseudonym"],
        _outcome(row, study, is_done=is_done),
        int(row["n_labels"] or 0),
        int(row["n_answers"] or 0),
        float(row["seconds"] or 0.0),
        row["platform"] or "",
        arrival_of(row) if row["platform"] else None,
        tuple(refs.get("earlier", ())),
        refs.get("check", ""),
        row["erased_at"] is not None,
        row["left_out_at"] is not None,
        row["entry"] in (KNOWN, SIGNED) or refs.get("check") == "known",
        row["code"] or "",
    )


def _outcome(row: Row, study: Study, *, is_done: bool) -> str:
    """The outcome; a participant who finished stays finished. Nobody finishes without an answer that counts.
    `is_done`: whether there is nothing left for them to answer, though their page did not tell them yet."""
    stages = (
        (UNKNOWN, row["entry"] == REFUSED and row["finished_at"] is None),
        (FINISHED, row["finished_at"] is not None and bool(row["n_labels"])),
        (FULL, row["full_at"] is not None or row["finished_at"] is not None),
        (WITHDRAWN, row["withdrawn_at"] is not None),
        (STOPPED, row["excluded_at"] is not None and (row["passed_at"] is not None or not study.comprehension)),
        (SCREENED_OUT, row["excluded_at"] is not None),
        (NO_CONSENT, bool(study.consent) and row["consented_at"] is None),
        (FINISHED, is_done),
    )
    return next((outcome for outcome, holds in stages if holds), UNDER_WAY)
