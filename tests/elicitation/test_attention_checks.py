"""Checks in between, repeats at a distance, and what follows from failing: on both databases, through the writer."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from study_instance import StudyInstance, items_named, plain_study, sent

from sfumato.elicitation.participant import Participant, Trial
from sfumato.elicitation.trial_sequence import TrialSequence, _check_positions
from sfumato.store.schema import ANSWERED, OPEN
from sfumato.study import read_study
from sfumato.study.study import Check, People, Quality, Region
from sfumato.tables.errors import BadStudy

CAT = Region(("cat",), 0.6)


class ByChoice:
    """A judge of choices alone, without NumPy: all the mass on the class that was chosen."""

    def passes(self, region: Region, question: int, payload: dict[str, str]) -> bool:
        assert question == 0
        return region.has({payload["class"]: 1.0})


def running_instance(store: str, **quality: object) -> StudyInstance:
    study = replace(
        plain_study(people=People(answers_per_item=9, batch_size=4)),
        checks=(Check("i0", CAT, 1), Check("i1", CAT), Check("i2", Region(none_on=("dog",)), 3)),
        quality=Quality(**quality),  # type: ignore[arg-type]
    )
    at = StudyInstance(store, study, items_named(8))
    at.running.check_judge = ByChoice()
    return at.start()


# --- regions ---


@pytest.mark.parametrize(
    ("region", "belief", "holds"),
    [
        (Region(("cat", "dog"), 0.6), {"cat": 0.3, "dog": 0.3, "ship": 0.4}, True),  # "at least 6 of 10 on {cat, dog}"
        (Region(("cat", "dog"), 0.6), {"cat": 0.3, "dog": 0.2, "ship": 0.5}, False),
        (Region(none_on=("ship",)), {"cat": 1.0}, True),  # "no mass on ship"
        (Region(none_on=("ship",)), {"cat": 0.99, "ship": 0.01}, False),
        (Region(near={"cat": 0.7, "dog": 0.3}, within=0.3), {"cat": 0.4, "dog": 0.6}, True),  # TV is 0.3
        (Region(near={"cat": 0.7, "dog": 0.3}, within=0.3), {"cat": 0.39, "dog": 0.61}, False),
        (Region(near={"cat": 0.7, "dog": 0.3}, within=0.3), {"ship": 1.0}, False),
        (Region(("cat",), 0.5, ("ship",), {"cat": 1.0}, 0.4), {"cat": 0.6, "dog": 0.4}, True),
        (Region(("cat",), 0.5, ("dog",), {"cat": 1.0}, 0.4), {"cat": 0.6, "dog": 0.4}, False),
    ],
)
def test_a_region_of_the_simplex(region: Region, belief: dict[str, float], holds: bool) -> None:
    assert region.has(belief) is holds


# --- where checks and repeats come ---


def led_through(sequence: TrialSequence, seed: int, fresh: int) -> list[tuple[str, int]]:
    """Why each trial of somebody was shown, and its item, where there are `fresh` items to label."""
    person, rng = Participant(1, "hash", seed), random.Random(seed)
    shown: list[tuple[str, int]] = []
    items = iter(range(fresh))
    while (purpose := sequence.next_purpose(person)) is not None:
        item = next(items, None) if purpose == "label" else sequence.next_check(person)
        if purpose == "repeat":
            pick = sequence.next_repeat(person, rng)
            item = None if pick is None else pick.item
        if item is None:
            assert purpose == "label", f"no item for a {purpose}"
            break
        number = person.n_trials + 1
        trial = Trial(number, f"h{number}", 1, item, number, purpose, OPEN, 0.0)
        person.add(trial)
        person.move(trial, ANSWERED)
        shown.append((purpose, item))
    return shown


@given(st.integers(0, 2**31 - 1), st.integers(1, 4), st.integers(0, 9), st.integers(0, 3), st.integers(0, 4))
def test_everybody_sees_each_check_once_and_repeats_at_their_distance(
    seed: int, batches: int, more: int, repeats: int, n_checks: int
) -> None:
    size = 5 + max(repeats, 1) + more
    people = People(batch_size=size, batches=batches, repeats=repeats, repeat_distance=5)
    sequence = TrialSequence(people, {}, {1000 + n: None if n % 2 else n + 1 for n in range(n_checks)})
    shown = led_through(sequence, seed, fresh=size * batches)
    assert len(shown) == sequence.n_wanted
    assert [item for purpose, item in shown if purpose == "label"] == list(range(size * batches))
    checks = [place for place, (purpose, _) in enumerate(shown) if purpose == "check"]
    assert len({shown[place] for place in checks}) == n_checks
    assert 0 not in checks
    repeated = [item for purpose, item in shown if purpose == "repeat"]
    assert len(set(repeated)) == len(repeated) == repeats * batches
    for place, (purpose, item) in enumerate(shown):
        if purpose == "repeat":
            since = [each for each, _ in shown[shown.index(("label", item)) + 1 : place]].count("label")
            assert since >= 4  # the fifth item after it at the earliest


@pytest.mark.parametrize("distance", [0, 5])
@given(st.integers(0, 2**31 - 1), st.integers(2, 8), st.integers(1, 5), st.integers(0, 2))
def test_no_check_drawn_by_chance_falls_behind_the_last_item(
    distance: int, seed: int, n_items: int, n_checks: int, repeats: int
) -> None:
    """However many there are, and also where there are fewer items than in a batch."""
    checks = {1000 + n: None for n in range(n_checks)}
    for batch_size in (n_items + 5, 25):
        people = People(batch_size=batch_size, repeats=repeats, repeat_distance=distance)
        sequence = TrialSequence(people, {}, checks, n_items)
        shown = led_through(sequence, seed, fresh=n_items)
        purposes = [purpose for purpose, _ in shown]
        assert purposes.count("check") == n_checks
        assert purposes.count("repeat") == min(repeats, max(n_items - distance, 0))
        assert "check" not in (purposes[0], purposes[-1])
        assert len(shown) == sequence.n_wanted


def test_places_of_checks_differ_from_person_to_person_and_stay() -> None:
    sequence = TrialSequence(People(batch_size=50), {}, {7: None})
    checks = tuple(sequence.checks.items())
    places = [_check_positions(checks, 1, sequence._n_between, seed)[0][0] for seed in range(200)]
    _check_positions.cache_clear()
    assert places == [_check_positions(checks, 1, sequence._n_between, seed)[0][0] for seed in range(200)]
    assert len(set(places)) > 30
    assert min(places) >= 1
    assert max(places) <= 50


# --- in a running study ---


def test_checks_come_in_between_and_take_nothing_from_quotas(store: str) -> None:
    at = running_instance(store)
    shown = at.new().answer_all()
    assert len(shown) == 4 + 3
    assert shown[1].stimulus.item == "i0"
    assert at.rows("SELECT count(*) FROM answers WHERE purpose = 'check'") == [(3,)]
    assert not {"i0", "i1", "i2"} & set(at.answers_by_item())
    assert not any(each.practice for each in shown)  # nothing tells a check from an item
    at.stop()


def test_who_fails_is_thanked_where_the_study_says_so_and_keeps_their_answers(store: str) -> None:
    at = running_instance(store, most_failed=2, stop=True)
    person = at.new()
    stages = []
    while (state := person.state()).stage == "trials":
        person.submit(sent(state.trials[0].handle, "dog"))
        stages.append(state.stage)
    assert person.state().stage == "excluded"
    answers = at.one("SELECT count(*) FROM answers")
    assert answers == len(stages) < 7
    assert at.one("SELECT count(*) FROM trials WHERE state = 0") == 0
    again = at.restarted()
    again.running.check_judge = ByChoice()
    assert again.same(person).state().stage == "excluded"
    again.stop()


def test_without_stop_people_who_fail_checks_continue(store: str) -> None:
    at = running_instance(store, most_failed=1)
    assert len(at.new().answer_all()) == 7
    at.stop()


def test_failed_checks_are_counted_over_a_restart(store: str) -> None:
    at = running_instance(store, most_failed=2, stop=True)
    person = at.new()
    person.answer("cat")
    assert person.answer("dog").stimulus.item == "i0"  # failed, the first
    at.stop()
    again = running_instance(store, most_failed=2, stop=True)
    person = again.same(person)
    while (state := person.state()).stage == "trials":
        person.submit(sent(state.trials[0].handle, "dog"))
    assert state.stage == "excluded"
    assert again.one("SELECT count(*) FROM answers WHERE purpose = 'check'") == 2
    again.stop()


# --- the study file ---

STUDY = """
title = "Pets"
classes = ["cat", "dog", "ship"]
items = {{ csv = "items.csv" }}
[people]
batch_size = 10
repeats = 2
repeat_distance = 6
{more}
"""


def read(tmp_path: Path, more: str):  # type: ignore[no-untyped-def]
    (tmp_path / "items.csv").write_text("item,text\na,one\nb,two\n")
    (tmp_path / "study.toml").write_text(STUDY.format(more=more))
    return read_study(tmp_path)


def test_checks_are_read_from_the_study_file(tmp_path: Path) -> None:
    more = """
    [[checks]]
    item = "a"
    classes = ["cat", "dog"]
    at_least = 0.6
    none_on = ["ship"]
    at = 5
    [[checks]]
    item = "b"
    near = { cat = 0.7, dog = 0.3 }
    within = 0.2
    [quality]
    most_failed = 1
    stop = true
    """
    study = read(tmp_path, more)
    assert study.checks == (
        Check("a", Region(("cat", "dog"), 0.6, ("ship",)), 5),
        Check("b", Region(near={"cat": 0.7, "dog": 0.3}, within=0.2)),
    )
    assert study.quality == Quality(1, True)
    assert study.people.repeat_distance == 6


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        ('[[checks]]\nitem = "a"', "missing-key", "without a condition"),
        ('[[checks]]\nclasses = ["cat"]', "missing-key", "no item"),
        ('[[checks]]\nitem = "a"\nclasses = ["bird"]', "unknown-class", "'bird'"),
        ('[[checks]]\nitem = "a"\nat_least = 0.5\nnone_on = ["cat"]', "missing-key", "at_least without classes"),
        ('[[checks]]\nitem = "a"\nnear = { cat = 0.7 }', "bad-sum", "sum of 0.7"),
        ('[[checks]]\nitem = "a"\nclasses = ["cat"]\nnone_on = ["cat"]', "empty-region", "the same classes"),
        ('[[checks]]\nitem = "a"\nclasses = ["cat"]\nat_least = 1.5', "out-of-range", "1.5"),
        ('[[checks]]\nitem = "a"\nclasses = ["cat"]\n[[checks]]\nitem = "a"\nclasses = ["dog"]', "doubled-item", "too"),
        ('[[checks]]\nitem = "a"\nclasses = ["cat"]\nregion = 1', "unknown-key", "'region'"),
        ("[quality]\nstop = true", "no-checks", "without checks"),
    ],
)
def test_a_wrong_check_is_named_with_its_line(tmp_path: Path, more: str, code: str, words: str) -> None:
    with pytest.raises(BadStudy) as caught:
        read(tmp_path, more)
    found = {each.code: each for each in caught.value.mistakes}
    assert code in found
    assert words in found[code].found
    assert found[code].where.line is not None


def test_a_distance_must_fit_into_a_batch(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("item,text\na,one\n")
    text = STUDY.format(more="").replace("repeat_distance = 6", "repeat_distance = 9")
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(BadStudy, match="at most 8"):
        read_study(tmp_path)
