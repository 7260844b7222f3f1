"""Reconciliation of a study's participants with the platform's list: outcome, pay, exclusion, and mismatches.

Three decisions are separate. Screening decides whether answers are used. Pay depends only on the work done. Whether the
platform's rules would allow refusing pay is reported, and never acted upon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

import pyarrow as pa

from sfumato.recruitment.participant_outcomes import FINISHED, NO_CONSENT, SCREENED_OUT, STOPPED, ParticipantRecord
from sfumato.recruitment.platform import STATUSES, Platform, PlatformSubmission
from sfumato.study.study import Recruiting, Study
from sfumato.tables.base_table import Table, columns_of

IDS = ("person", "session")
"""Columns with platform ids: written only on request."""
NOT_HERE = "never came"
DONE = ("submitted", "approved", "rejected")
"""The status of a visit after it was submitted."""
CODE_FOR = {FINISHED: "completed", SCREENED_OUT: "screened_out", STOPPED: "screened_out", NO_CONSENT: "no_consent"}
MISMATCHES = {
    "finished-not-submitted": "finished here, but not submitted on the platform: pay them anyway",
    "submitted-not-finished": "submitted on the platform with the completion code, but did not finish here",
    "wrong-code": "submitted with another code than the one given here",
    "rejected-though-finished": "rejected on the platform, but finished here: they are owed their pay",
    "screened-out-though-finished": "screened out on the platform, but finished here",
    "not-on-platform": "has an id that is not in the platform's list",
    "not-here": "submitted on the platform, but never came here (or was erased)",
    "other-session": "came here in a visit that is not in the platform's list",
    "other-study": "came here from another study than the listed one",
    "several-submissions": "has several submissions on the platform: pay once",
    "several-visits": "came here in several visits, which count as one participant",
    "told-differently": "the platform lists the same submission twice with different values; the last one is used",
    "unknown-at-entry": "the platform did not know the visit when it was checked",
    "unknown-status": "the platform's status is unknown to sfumato",
}
"""All mismatches by code, with their meaning."""


@dataclass(frozen=True)
class ReconciledParticipant:
    """One participant: outcome here, pay, exclusion, and the platform's status. `row` is their row in the platform's
    list (from 1), 0 if they are not in it."""

    annotator: str = ""
    outcome: str = ""
    n_labels: int = 0
    n_answers: int = 0
    minutes: float = 0.0
    pay: str = ""
    """`yes`, `no`, or `decide` if part of the work was done."""
    why: str = ""
    set_aside: str = ""
    """Why their answers are not used; empty if they are."""
    n_failed: int = 0
    may_refuse: str = ""
    """What the platform's rules say about refusing pay; empty without failed checks."""
    status: str = ""
    """The status of their visit on the platform."""
    row: int = 0
    mismatches: str = ""
    """Codes of `MISMATCHES`, separated by spaces."""
    person: str = field(default="", repr=False)
    session: str = field(default="", repr=False)


@dataclass(frozen=True, eq=False, repr=False)
class Reconciliation(Table):
    """One row per participant, listed ones who never came last; platform ids only `with_ids`."""

    cases: tuple[ReconciledParticipant, ...]
    with_ids: bool = False

    classes = ()
    private = True

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:
        whole = columns_of(self.cases[start:stop], ReconciledParticipant)
        return whole if self.with_ids else whole.drop_columns(list(IDS))

    def __len__(self) -> int:
        return len(self.cases)

    def n_with(self, **wanted: str) -> int:
        """How many have these values: `n_with(pay="yes")`."""
        return sum(all(getattr(case, name) == value for name, value in wanted.items()) for case in self.cases)


assert set(IDS) <= {each.name for each in fields(ReconciledParticipant)}


def reconcile_participants(
    people: Sequence[ParticipantRecord],
    study: Study,
    *,
    submissions: Sequence[PlatformSubmission] | None = None,
    platform: Platform | None = None,
    excluded: Mapping[str, str] | None = None,
    n_failed: Mapping[str, int] | None = None,
    with_ids: bool = False,
) -> Reconciliation:
    """Compare the participants of a study with the platform's list (None: only what is known here).

    `excluded` gives annotators whose answers are not used, with reasons (`sfumato screen`); `n_failed` how many checks
    each failed.
    """
    failed = n_failed or {}
    listed = None if submissions is None else _Listed.of(submissions)
    cases = [_case(each, study, listed, platform, excluded or {}, failed.get(each.annotator, 0)) for each in people]
    if listed is not None:
        here = {each.arrival.person for each in people if each.arrival is not None}
        cases += [
            _not_here(submission, row, listed)
            for person, rows in listed.by_person.items()
            if person not in here
            for row, submission in rows
        ]
    return Reconciliation(tuple(cases), with_ids)


@dataclass(frozen=True)
class _Listed:
    """A platform's list by participant, each submission once, with its row."""

    by_person: Mapping[str, Sequence[tuple[int, PlatformSubmission]]]
    differing: frozenset[str]
    """Sessions listed twice with different values."""

    @classmethod
    def of(cls, submissions: Sequence[PlatformSubmission]) -> _Listed:
        """The last entry of a submission counts: paged lists may have one twice."""
        last: dict[tuple[str, str], tuple[int, PlatformSubmission]] = {}
        differing = set()
        for row, each in enumerate(submissions, 1):
            key = (each.person, each.session)
            if key in last and last[key][1] != each:
                differing.add(each.session)
            last[key] = (row, each)
        by_person: dict[str, list[tuple[int, PlatformSubmission]]] = {}
        for (person, _), entry in last.items():
            by_person.setdefault(person, []).append(entry)
        return cls(by_person, frozenset(differing))


def _case(
    person: ParticipantRecord,
    study: Study,
    listed: _Listed | None,
    platform: Platform | None,
    excluded: Mapping[str, str],
    n_failed: int,
) -> ReconciledParticipant:
    there = list(listed.by_person.get(person.arrival.person, ())) if listed and person.arrival else []
    row, submission = _visit(person, there)
    pay, why = _pay(person)
    minutes = study.pay.minutes if study.pay else None
    ground = platform.may_refuse(n_failed, minutes).sentence if platform and n_failed else ""
    return ReconciledParticipant(
        person.annotator,
        person.outcome,
        person.n_labels,
        person.n_answers,
        round(person.seconds / 60, 2),
        pay,
        why,
        "on their request" if person.is_left_out else excluded.get(person.annotator, ""),
        n_failed,
        ground,
        submission.status if submission else "",
        row,
        " ".join(_mismatches(person, submission, there, listed, study.recruiting)),
        person.arrival.person if person.arrival else "",
        person.arrival.session if person.arrival else "",
    )


def _pay(person: ParticipantRecord) -> tuple[str, str]:
    """Whether a participant is paid: by the work done, not by the quality of the answers."""
    erased = "; their platform id was erased, so they cannot be paid there" if person.is_erased else ""
    if person.outcome == FINISHED:
        return "yes", f"finished{erased}"
    if person.n_labels:
        return "decide", f"{person.outcome} after {person.n_labels} answers: partial pay would be fair{erased}"
    if person.outcome == SCREENED_OUT:
        return "no", "screened out before the first item; the platform's own rules apply"
    return "no", f"{person.outcome}, no answers"


def _visit(
    person: ParticipantRecord, there: Sequence[tuple[int, PlatformSubmission]]
) -> tuple[int, PlatformSubmission | None]:
    """The submission of a participant's last visit, else of an earlier one, else the last one listed."""
    by_session = {submission.session: (row, submission) for row, submission in there}
    sessions = ([person.arrival.session] if person.arrival else []) + list(reversed(person.earlier))
    for session in sessions:
        if session in by_session:
            return by_session[session]
    return there[-1] if there else (0, None)


def _mismatches(
    person: ParticipantRecord,
    submission: PlatformSubmission | None,
    there: Sequence[tuple[int, PlatformSubmission]],
    listed: _Listed | None,
    recruiting: Recruiting | None,
) -> list[str]:
    """All mismatches of a participant, in the order of `MISMATCHES`."""
    if person.arrival is None:
        return []
    found = {
        "several-visits": bool(person.earlier),
        "unknown-at-entry": person.checked == "unknown",
        "not-on-platform": listed is not None and submission is None,
    }
    if submission is not None and listed is not None and recruiting is not None:
        finished, status, code = person.outcome == FINISHED, submission.status, submission.code
        own_code = getattr(recruiting, CODE_FOR.get(person.outcome, ""), None)
        came_early = status in DONE and not finished and code == recruiting.completed
        arrival = person.arrival
        found |= {
            "finished-not-submitted": finished and status in ("active", "returned", "timed out"),
            "submitted-not-finished": came_early,
            "wrong-code": status in DONE and bool(code) and code != own_code and not came_early,
            "rejected-though-finished": finished and status == "rejected",
            "screened-out-though-finished": finished and status == "screened out",
            "other-session": submission.session not in (arrival.session, *person.earlier),
            "other-study": bool(submission.study and arrival.study) and submission.study != arrival.study,
            "several-submissions": len(there) > 1,
            "told-differently": any(each.session in listed.differing for _, each in there),
            "unknown-status": status not in STATUSES,
        }
    return [code for code in MISMATCHES if found.get(code)]


def _not_here(submission: PlatformSubmission, row: int, listed: _Listed) -> ReconciledParticipant:
    """A participant in the platform's list who never came here."""
    found = {
        "not-here": submission.status in (*DONE, "screened out"),
        "told-differently": submission.session in listed.differing,
        "unknown-status": submission.status not in STATUSES,
    }
    return ReconciledParticipant(
        outcome=NOT_HERE,
        pay="no",
        why="no answers here",
        status=submission.status,
        row=row,
        mismatches=" ".join(code for code in MISMATCHES if found.get(code)),
        person=submission.person,
        session=submission.session,
    )
