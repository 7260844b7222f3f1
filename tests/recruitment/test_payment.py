"""Payments: amounts by hand, one row per annotator and reason, the same key in every run."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, nan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from study_instance import plain_study

from sfumato.recruitment.bonus_rules import BrierBonus, PeerAnswers
from sfumato.recruitment.participant_outcomes import FINISHED, UNDER_WAY, ParticipantRecord
from sfumato.recruitment.payment import ChangedPayment, Payments, bonus_for, money, payments, read_paid
from sfumato.recruitment.platform import Arrival
from sfumato.recruitment.reconciliation import reconcile_participants
from sfumato.study.study import Bonus, Pay, People
from sfumato.tables.errors import BadSetting, BadTable

SECRET = "ab" * 32
PAY = Pay(2.0, "GBP", 8.0, Bonus("brier", 1.0, 0.5))
STUDY = plain_study(pay=PAY, people=People(batch_size=4, batches=3))
PEOPLE = [
    ParticipantRecord("Aone", FINISHED, 4, 5, 90.0, "prolific", Arrival("pid1", "st1", "se1"), is_confirmed=True),
    ParticipantRecord("Atwo", FINISHED, 9, 9, 90.0),
    ParticipantRecord("Athree", UNDER_WAY, 3, 3, 90.0),
    ParticipantRecord("Afour", UNDER_WAY, 0, 0, 0.0),
]
TWO_ITEMS = PeerAnswers(
    np.array([0, 0, 0, 1, 1]),
    np.array([0, 1, 2, 0, 1]),
    np.array([(1, 0), (0.5, 0.5), (0, 1), (1, 0), (1, 0)], float),
    np.ones(4, bool),
)


def owed(study: object = STUDY, rule: object = BrierBonus(), **more: bool) -> Payments:
    cases = reconcile_participants(PEOPLE, study).cases  # type: ignore[arg-type]
    return payments(cases, study, SECRET, rule, TWO_ITEMS, **more)  # type: ignore[arg-type]


def test_base_bonus_and_part_by_hand() -> None:
    # Brier scores as in test_bonus_rules: 0.71875, 1 and 0.4375; above the floor 0.5 they earn 0.4375 and 1 of 1.00.
    found = {(each.annotator, each.reason): each for each in owed().payments}
    assert {key: each.amount for key, each in found.items()} == {
        ("Aone", "base"): 2.00,
        ("Aone", "bonus"): 0.44,
        ("Atwo", "base"): 6.00,  # nine answers in batches of four: three batches
        ("Atwo", "bonus"): 1.00,
        ("Athree", "part"): 1.50,  # three answers of four
    }
    assert [found[key].due for key in found] == ["yes", "yes", "yes", "yes", "decide"]
    assert found["Aone", "bonus"].score == pytest.approx(0.71875)
    assert found["Aone", "bonus"].n_compared == 2
    assert isnan(found["Aone", "base"].score)
    assert found["Aone", "bonus"].why == "brier 0.719 over 2 answers"


def test_totals_count_what_is_due_and_not_what_is_to_be_decided() -> None:
    found = owed()
    assert (found.total(), found.total("base"), found.total("bonus")) == (9.44, 8.0, 1.44)
    assert found.total(due="decide") == 1.5


def test_one_row_a_person_and_reason_with_a_key_that_stays() -> None:
    first, second = owed().payments, owed().payments
    assert len({(each.annotator, each.reason) for each in first}) == len(first) == len({each.key for each in first})
    assert [each.key for each in first] == [each.key for each in second]
    assert all(len(each.key) == 32 for each in first)  # MTurk's UniqueRequestToken takes 64
    assert not any("pid1" in each.key or "Aone" in each.key for each in first)
    other_study = payments(
        reconcile_participants(PEOPLE, STUDY).cases, STUDY, "cd" * 32, BrierBonus(), TWO_ITEMS
    ).payments
    assert not {each.key for each in first} & {each.key for each in other_study}


def test_without_a_rule_there_is_no_bonus() -> None:
    study = replace(STUDY, pay=replace(PAY, bonus=None))
    assert {each.reason for each in owed(study, None).payments} == {"base", "part"}


def test_without_pay_there_is_nothing_to_list() -> None:
    with pytest.raises(BadSetting) as error:
        owed(replace(STUDY, pay=None))
    assert error.value.code == "no-pay"


def test_a_part_is_never_more_than_the_whole() -> None:
    study = replace(STUDY, people=People(batch_size=2, batches=1))
    found = {each.reason: each.amount for each in owed(study).payments if each.annotator == "Athree"}
    assert found == {"part": 2.0}


def test_nobody_to_compare_with_is_no_bonus_and_says_so() -> None:
    alone = PeerAnswers(np.array([0]), np.array([0]), np.array([[1.0, 0.0]]), np.ones(4, bool))
    found = payments(reconcile_participants(PEOPLE, STUDY).cases, STUDY, SECRET, BrierBonus(), alone).payments
    bonus = next(each for each in found if each.reason == "bonus")
    assert (bonus.amount, bonus.n_compared, bonus.why) == (0.0, 0, "brier: no answers to compare with yet")


@pytest.mark.parametrize(
    ("score", "floor", "amount"),
    [
        (0, 0, 0),
        (1, 0, 0.5),
        (0.5, 0, 0.25),
        (0.6, 0.6, 0),
        (0.8, 0.6, 0.25),
        (1, 0.999, 0.5),
        (0.3, 0.6, 0),
        (nan, 0, 0),
    ],
)
def test_the_bonus_goes_up_in_a_straight_line_from_the_floor(score: float, floor: float, amount: float) -> None:
    assert bonus_for(score, Bonus("brier", 0.5, floor)) == amount


@given(st.floats(0, 1), st.floats(0, 0.999), st.floats(0, 1000))
def test_a_bonus_is_never_below_nothing_nor_above_the_most(score: float, floor: float, most: float) -> None:
    assert 0 <= bonus_for(score, Bonus("brier", most, floor)) <= money(most)


def test_money_is_in_whole_hundredths_halves_upwards() -> None:
    assert [money(each) for each in (0.005, 1.005, 2.675, 0.1 + 0.2, 1 / 3)] == [0.01, 1.01, 2.68, 0.3, 0.33]


def test_what_was_paid_is_not_listed_again(tmp_path: Path) -> None:
    for name in ("paid.csv", "paid.parquet"):
        whole = owed()
        whole.write(tmp_path / name)
        paid = read_paid([tmp_path / name])
        assert len(whole.without(paid)) == 0
        assert whole.changed(paid) == []


def test_a_bonus_that_moved_and_a_part_that_became_the_whole_are_told(tmp_path: Path) -> None:
    owed().write(tmp_path / "paid.csv")
    paid = read_paid([tmp_path / "paid.csv"])
    finished = [*PEOPLE[:2], replace(PEOPLE[2], outcome=FINISHED, n_labels=4)]
    moved = PeerAnswers(TWO_ITEMS.item, TWO_ITEMS.annotator, TWO_ITEMS.probs[:, ::-1].copy(), TWO_ITEMS.is_peer)
    moved.probs[0] = (0.5, 0.5)
    now = payments(reconcile_participants(finished, STUDY).cases, STUDY, SECRET, BrierBonus(), moved)
    assert {(each.annotator, each.reason) for each in now.without(paid).payments} == {
        ("Athree", "base"),
        ("Athree", "bonus"),
    }
    changed = now.changed(paid)
    assert ChangedPayment("Athree", "part", 1.5, 0.0) in changed
    assert ("Aone", "bonus") in {(each.annotator, each.reason) for each in changed}


def test_a_list_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("annotator,amount\nA,1\n")
    with pytest.raises(BadTable) as error:
        read_paid([tmp_path / "x.csv"])
    assert error.value.code == "missing-column"


def test_ids_are_in_the_list_only_when_asked_for(tmp_path: Path) -> None:
    for with_ids in (False, True):
        owed(with_ids=with_ids).write(tmp_path / "p.csv")
        written = (tmp_path / "p.csv").read_text()
        assert ["pid1" in written, "se1" in written] == [with_ids] * 2


def test_cells_that_a_spreadsheet_would_run_are_guarded(tmp_path: Path) -> None:
    """A currency is free text of the study file, an id of a platform's list can be any text."""
    study = replace(STUDY, pay=replace(PAY, currency="=1+1"))
    owed(study).write(tmp_path / "p.csv")
    assert "=1+1" in (tmp_path / "p.csv").read_text()
    assert ",=1+1" not in (tmp_path / "p.csv").read_text()
