"""Reconciliation: three separate decisions, and every mismatch with the platform's list is reported."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from study_instance import plain_study

from sfumato.recruitment import MTurk, Prolific
from sfumato.recruitment.participant_outcomes import (
    FINISHED,
    NO_CONSENT,
    OUTCOMES,
    SCREENED_OUT,
    STOPPED,
    UNDER_WAY,
    UNKNOWN,
    WITHDRAWN,
)
from sfumato.recruitment.participant_outcomes import ParticipantRecord as Person
from sfumato.recruitment.platform import STATUSES, Arrival, PlatformSubmission
from sfumato.recruitment.reconciliation import (
    MISMATCHES,
    NOT_HERE,
    ReconciledParticipant,
    Reconciliation,
    reconcile_participants,
)
from sfumato.study.study import Pay, Recruiting

STUDY = plain_study(recruiting=Recruiting("prolific", "DONE", "OUT", "NO"), pay=Pay(2.0, "GBP", 8.0))
HERE = Person("Aone", FINISHED, 4, 5, 90.0, "prolific", Arrival("pid1", "st1", "se1"))
THERE = PlatformSubmission("pid1", "se1", "submitted", "DONE", "st1")


def case(person: Person = HERE, *submissions: PlatformSubmission, **more: Any) -> ReconciledParticipant:
    return reconcile_participants([person], STUDY, submissions=submissions, **more).cases[0]


def test_all_is_well() -> None:
    assert case(HERE, THERE) == ReconciledParticipant(
        "Aone", "finished", 4, 5, 1.5, "yes", "finished", "", 0, "", "submitted", 1, "", "", "pid1", "se1"
    )


@pytest.mark.parametrize(
    ("person", "submissions", "expected"),
    [
        (HERE, [replace(THERE, status="approved")], ""),
        (HERE, [replace(THERE, code="")], ""),  # an API that does not tell the code
        (HERE, [replace(THERE, status="returned", code="")], "finished-not-submitted"),
        (HERE, [replace(THERE, status="timed out")], "finished-not-submitted"),
        (HERE, [replace(THERE, status="active", code="")], "finished-not-submitted"),
        (HERE, [replace(THERE, status="rejected")], "rejected-though-finished"),
        (HERE, [replace(THERE, status="screened out", code="OUT")], "screened-out-though-finished"),
        (HERE, [replace(THERE, code="NOCODE")], "wrong-code"),
        (HERE, [replace(THERE, code="OUT")], "wrong-code"),
        (HERE, [], "not-on-platform"),
        (HERE, [replace(THERE, session="se9")], "other-session"),
        (HERE, [replace(THERE, study="st9")], "other-study"),
        (HERE, [THERE, replace(THERE, session="se9", status="returned", code="")], "several-submissions"),
        (HERE, [replace(THERE, status="active", code=""), THERE], "told-differently"),
        (HERE, [THERE, THERE], ""),  # the same page twice
        (HERE, [replace(THERE, status="pending")], "unknown-status"),
        (replace(HERE, earlier=("se0",)), [THERE], "several-visits"),
        (replace(HERE, earlier=("se0",)), [replace(THERE, session="se0")], "several-visits"),
        (replace(HERE, checked="unknown"), [THERE], "unknown-at-entry"),
        (replace(HERE, checked="unknown"), [], "not-on-platform unknown-at-entry"),
        (replace(HERE, outcome=UNDER_WAY), [THERE], "submitted-not-finished"),
        (replace(HERE, outcome=WITHDRAWN), [replace(THERE, status="approved")], "submitted-not-finished"),
        (replace(HERE, outcome=SCREENED_OUT), [THERE], "submitted-not-finished"),
        (replace(HERE, outcome=SCREENED_OUT), [replace(THERE, status="screened out", code="OUT")], ""),
        (replace(HERE, outcome=STOPPED), [replace(THERE, code="OUT")], ""),
        (replace(HERE, outcome=SCREENED_OUT), [replace(THERE, code="NO")], "wrong-code"),
        (replace(HERE, outcome=NO_CONSENT), [replace(THERE, code="NO")], ""),
        (replace(HERE, outcome=UNDER_WAY), [replace(THERE, status="active", code="")], ""),
        (replace(HERE, outcome=WITHDRAWN), [replace(THERE, status="returned", code="")], ""),
        (replace(HERE, platform="", arrival=None), [], ""),  # came by a link
    ],
)
def test_what_does_not_fit_is_told(person: Person, submissions: list[PlatformSubmission], expected: str) -> None:
    assert case(person, *submissions).mismatches == expected


@pytest.mark.parametrize("status", [*STATUSES, "pending"])
def test_who_never_came_is_listed(status: str) -> None:
    found = reconcile_participants([], STUDY, submissions=[replace(THERE, status=status)]).cases
    (stranger,) = found
    assert (stranger.annotator, stranger.outcome, stranger.pay, stranger.row) == ("", NOT_HERE, "no", 1)
    handed_in = status in ("submitted", "approved", "rejected", "screened out")
    assert stranger.mismatches == ("not-here" if handed_in else "unknown-status" if status == "pending" else "")


def test_every_kind_of_mismatch_is_tried() -> None:
    tried = {
        code
        for mark in test_what_does_not_fit_is_told.pytestmark
        for *_, codes in mark.args[1]
        for code in codes.split()
    }
    assert tried | {"not-here", "not-confirmed"} == set(MISMATCHES)


def test_of_several_submissions_the_one_of_the_visit_counts() -> None:
    other = replace(THERE, session="se9", status="returned", code="")
    assert case(HERE, other, THERE).status == case(HERE, THERE, other).status == "submitted"
    assert (case(HERE, other, THERE).row, case(HERE, THERE, other).row) == (2, 1)


def test_each_person_is_one_row_whatever_the_list_repeats() -> None:
    people = [replace(HERE, annotator=f"A{n}", arrival=Arrival(f"pid{n}", "st1", f"se{n}")) for n in range(5)]
    there = [replace(THERE, person=f"pid{n}", session=f"se{n}") for n in range(5)] * 3
    found = reconcile_participants(people, STUDY, submissions=list(reversed(there)))
    assert [each.annotator for each in found.cases] == [f"A{n}" for n in range(5)]
    assert not any(each.mismatches for each in found.cases)


@pytest.mark.parametrize(
    ("outcome", "n_labels", "pay"),
    [
        (FINISHED, 4, "yes"),
        (FINISHED, 0, "no"),  # nothing that counts was done
        *((outcome, 3, "decide") for outcome in OUTCOMES if outcome not in (FINISHED, UNKNOWN)),
        *((outcome, 0, "no") for outcome in OUTCOMES if outcome != FINISHED),
    ],
)
def test_pay_follows_from_the_work_alone(outcome: str, n_labels: int, pay: str) -> None:
    """Whatever the answers were like, whatever the platform says of it, as long as it knows them."""
    person = replace(HERE, outcome=outcome, n_labels=n_labels)
    assert case(person).pay == "no"
    for submissions in ([THERE], [replace(THERE, status="rejected")]):
        for aside in ({}, {"Aone": "checks_passed"}):
            for n_failed in (0, 9):
                found = case(person, *submissions, excluded=aside, n_failed={"Aone": n_failed}, platform=Prolific())
                assert found.pay == pay
                assert found.set_aside == aside.get("Aone", "")


def test_an_obvious_picture_is_no_ground_to_refuse_pay_on_prolific() -> None:
    """Excluded for failing them, and paid anyway; with enough failures the table states the condition for refusal."""
    for n_failed, begins in ((1, "no: 1 failed check in a study of 8 minutes: 2 would be needed"), (2, "perhaps: ")):
        found = case(HERE, THERE, platform=Prolific(), n_failed={"Aone": n_failed}, excluded={"Aone": "failed checks"})
        assert (found.pay, found.set_aside, found.n_failed) == ("yes", "failed checks", n_failed)
        assert found.may_refuse.startswith(begins)
    assert found.may_refuse.endswith("an obvious image is not an attention check")
    assert case(HERE, THERE, platform=MTurk(), n_failed={"Aone": 9}).may_refuse.startswith("no: ")
    assert case(HERE, THERE, platform=Prolific()).may_refuse == ""


def test_a_study_of_less_than_five_minutes_needs_one() -> None:
    assert Prolific().may_refuse(1, 4).holds
    assert not Prolific().may_refuse(1, 5).holds
    assert not Prolific().may_refuse(1, None).holds
    assert not MTurk().may_refuse(99, 1).holds


def test_who_asked_to_be_left_out_is_said_to_have() -> None:
    found = case(replace(HERE, is_erased=True, is_left_out=True, arrival=None, platform=""))
    assert (found.pay, found.set_aside) == ("no", "on their request")
    assert "erased" in found.why


def test_without_the_platforms_list_nothing_is_made_up() -> None:
    (found,) = reconcile_participants([HERE], STUDY).cases
    assert (found.status, found.row, found.mismatches, found.pay) == ("", 0, "not-confirmed", "confirm")
    (found,) = reconcile_participants([replace(HERE, is_confirmed=True)], STUDY).cases
    assert (found.mismatches, found.pay) == ("", "yes")


def test_who_came_to_a_full_study_is_known_by_its_code() -> None:
    full = replace(THERE, person="pid9", session="se9", status="screened out", code="OUT")
    (found,) = reconcile_participants([], STUDY, submissions=[full]).cases
    assert (found.outcome, found.pay, found.mismatches) == ("study full", "no", "")
    (found,) = reconcile_participants([], STUDY, submissions=[replace(full, code="DONE", status="submitted")]).cases
    assert (found.outcome, found.mismatches) == (NOT_HERE, "not-here")


def test_ids_are_in_the_table_only_when_asked_for(tmp_path: Any) -> None:
    for with_ids in (False, True):
        table = reconcile_participants(
            [HERE], STUDY, submissions=[THERE, replace(THERE, person="pid2", session="se2")], with_ids=with_ids
        )
        for name in ("r.csv", "r.parquet"):
            table.write(tmp_path / name)
            written = (tmp_path / name).read_bytes()
            assert [each in written for each in (b"pid1", b"se1", b"pid2", b"se2")] == [with_ids] * 4
        assert ("pid1" in repr(table)) is False
    assert "pid1" not in repr(table.cases)


def test_the_table_counts() -> None:
    table = reconcile_participants(
        [HERE, replace(HERE, annotator="Atwo", outcome=UNDER_WAY, arrival=None)], STUDY, submissions=[THERE]
    )
    assert isinstance(table, Reconciliation)
    assert (len(table), table.n_with(pay="yes"), table.n_with(pay="decide")) == (2, 1, 1)
    assert not any(each.mismatches for each in table.cases)
