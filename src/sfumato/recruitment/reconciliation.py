"""Reconciling: who finished, who is to be paid, who was set aside and why, beside what the platform says of them.

Three decisions are kept apart. Whether somebody's answers are used is decided by screening. Whether they are paid
follows from the work they did alone. Whether a platform's rules would let you refuse is told, and never acted upon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

import pyarrow as pa

from sfumato.recruitment.platform import STATUSES, Platform, PlatformSubmission
from sfumato.recruitment.turnout import FINISHED, NO_CONSENT, SCREENED_OUT, STOPPED, ParticipantRecord
from sfumato.study.study import Recruiting, Study
from sfumato.tables.table import Table, columns_of

IDS = ("person", "session")
"""Columns that say who somebody is elsewhere: written only where they are asked for."""
NOT_HERE = "never came"
DONE = ("submitted", "approved", "rejected")
"""How a visit stands on a platform once the person has handed in."""
CODE_FOR = {FINISHED: "completed", SCREENED_OUT: "screened_out", STOPPED: "screened_out", NO_CONSENT: "no_consent"}
MISMATCHES = {
    "finished-not-submitted": "finished here, but not handed in there: pay them all the same",
    "submitted-not-finished": "handed in there with the code of who has finished, but did not finish here",
    "wrong-code": "handed in with another code than the one they were given here",
    "rejected-though-finished": "rejected there, though they finished here: they are owed their pay",
    "screened-out-though-finished": "screened out there, though they finished here",
    "not-on-platform": "came here with an id that the platform does not list",
    "not-here": "handed in there, but never came here (or was erased)",
    "other-session": "came here in another visit than those the platform lists",
    "other-study": "came here from another study than the one listed",
    "several-submissions": "has several submissions there: one person is paid once",
    "several-visits": "came here in several visits: one person, one set of answers",
    "told-differently": "the platform told two different things of the same submission; the last one is taken",
    "unknown-at-entry": "the platform did not know of the visit when it was asked",
    "unknown-status": "the platform has a word for how it stands that we do not know",
}
"""Everything that may not fit, and what it means."""


@dataclass(frozen=True)
class ReconciledParticipant:
    """One person: how it ended here, whether they are paid, whether their answers are set aside, and what the platform
    says. `row` is their place in the platform's list (from 1), 0 where they are not in it."""

    annotator: str
    outcome: str
    n_labels: int
    n_answers: int
    minutes: float
    pay: str
    """`yes`, `no`, or `decide`: part of the work is there."""
    why: str
    set_aside: str
    """Why their answers are not used; empty where they are."""
    n_failed: int
    may_refuse: str
    """What the platform's rules say of refusing pay; empty where there is nothing to speak of."""
    status: str
    """How their visit stands on the platform."""
    row: int
    mismatches: str
    """Codes of `MISMATCHES`, separated by blanks."""
    person: str = field(default="", repr=False)
    session: str = field(default="", repr=False)


@dataclass(frozen=True, eq=False, repr=False)
class Reconciliation(Table):
    """One row a person, those of the platform's list who never came last. Ids only `with_ids`."""

    cases: tuple[ReconciledParticipant, ...]
    with_ids: bool = False

    classes = ()

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        whole = columns_of(self.cases[start:stop], ReconciledParticipant)
        return whole if self.with_ids else whole.drop_columns(list(IDS))

    def __len__(self) -> int:
        return len(self.cases)

    def n_with(self, **wanted: str) -> int:
        """How many have these values: `n_with(pay="yes")`."""
        return sum(all(getattr(case, name) == value for name, value in wanted.items()) for case in self.cases)

    @property
    def n_mismatches(self) -> int:
        return sum(len(case.mismatches.split()) for case in self.cases)


assert set(IDS) <= {each.name for each in fields(ReconciledParticipant)}


def reconciled(
    people: Sequence[ParticipantRecord],
    study: Study,
    *,
    submissions: Sequence[PlatformSubmission] | None = None,
    platform: Platform | None = None,
    set_aside: Mapping[str, str] | None = None,
    n_failed: Mapping[str, int] | None = None,
    with_ids: bool = False,
) -> Reconciliation:
    """Set the people of a study beside the platform's list (none: only what is known here is told).

    `set_aside` says of whom answers are not used, and why (`sfumato screen`); `n_failed` how many checks each failed.
    """
    aside, failed = set_aside or {}, n_failed or {}
    listed = None if submissions is None else _Listed.of(submissions)
    cases = [_case(each, study, listed, platform, aside, failed.get(each.annotator, 0)) for each in people]
    if listed is not None:
        here = {each.arrival.person for each in people if each.arrival is not None}
        cases += [
            _stranger(submission, row, listed)
            for person, rows in listed.by_person.items()
            if person not in here
            for row, submission in rows
        ]
    return Reconciliation(tuple(cases), with_ids)


@dataclass(frozen=True)
class _Listed:
    """A platform's list by person, each submission once, with its place in the list."""

    by_person: Mapping[str, Sequence[tuple[int, PlatformSubmission]]]
    told_twice: frozenset[str]
    """Sessions of which different things were told."""

    @classmethod
    def of(cls, submissions: Sequence[PlatformSubmission]) -> _Listed:
        """The last word about a submission counts: lists that come in pages may tell of one twice."""
        last: dict[tuple[str, str], tuple[int, PlatformSubmission]] = {}
        differently = set()
        for row, each in enumerate(submissions, 1):
            key = (each.person, each.session)
            if key in last and last[key][1] != each:
                differently.add(each.session)
            last[key] = (row, each)
        by_person: dict[str, list[tuple[int, PlatformSubmission]]] = {}
        for (person, _), told in last.items():
            by_person.setdefault(person, []).append(told)
        return cls(by_person, frozenset(differently))


def _case(
    person: ParticipantRecord,
    study: Study,
    listed: _Listed | None,
    platform: Platform | None,
    aside: Mapping[str, str],
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
        "on their request" if person.is_left_out else aside.get(person.annotator, ""),
        n_failed,
        ground,
        submission.status if submission else "",
        row,
        " ".join(_mismatches(person, submission, there, listed, study.recruiting)),
        person.arrival.person if person.arrival else "",
        person.arrival.session if person.arrival else "",
    )


def _pay(person: ParticipantRecord) -> tuple[str, str]:
    """Whether somebody is paid, from the work they did: what their answers were like plays no part in it."""
    erased = "; who they are was erased, so they can no longer be found there" if person.is_erased else ""
    if person.outcome == FINISHED:
        return "yes", f"finished{erased}"
    if person.n_labels:
        return "decide", f"{person.outcome} after {person.n_labels} answers: part of the pay would be fair{erased}"
    if person.outcome == SCREENED_OUT:
        return "no", "screened out before the first item; the platform pays what it has for that"
    return "no", f"{person.outcome}, no answers"


def _visit(
    person: ParticipantRecord, there: Sequence[tuple[int, PlatformSubmission]]
) -> tuple[int, PlatformSubmission | None]:
    """The submission that belongs to somebody's last visit, or to an earlier one, or else the last there is."""
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
    """Everything that does not fit, in the order of `MISMATCHES`."""
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
            "told-differently": any(each.session in listed.told_twice for _, each in there),
            "unknown-status": status not in STATUSES,
        }
    return [code for code in MISMATCHES if found.get(code)]


def _stranger(submission: PlatformSubmission, row: int, listed: _Listed) -> ReconciledParticipant:
    """Somebody of the platform's list who never came here."""
    found = {
        "not-here": submission.status in (*DONE, "screened out"),
        "told-differently": submission.session in listed.told_twice,
        "unknown-status": submission.status not in STATUSES,
    }
    return ReconciledParticipant(
        "",
        NOT_HERE,
        0,
        0,
        0.0,
        "no",
        "no answers here",
        "",
        0,
        "",
        submission.status,
        row,
        " ".join(code for code in MISMATCHES if found.get(code)),
        submission.person,
        submission.session,
    )
