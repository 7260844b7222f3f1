"""Person: what comes next for them (practice, batches, repeats), and which keys they used."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sfumato.elicitation.assignment import NextTrial
from sfumato.elicitation.participant import MAX_RECEIPTS, AnswerReceipt, Participant, Trial
from sfumato.elicitation.trial_sequence import TrialSequence
from sfumato.store.schema import ANSWERED, LAPSED, OPEN
from sfumato.study.study import People


def someone() -> Participant:
    return Participant(1, "hash", 7)


def shown(person: Participant, item: int, purpose: str = "label", state: int = OPEN) -> Trial:
    number = person.n_trials + 1
    trial = Trial(number, f"h{number}", person.id, item, number, purpose, state, 0.0)
    person.add(trial)
    return trial


def test_a_trial_goes_from_open_to_lapsed_and_back_to_answered() -> None:
    person = someone()
    trial = shown(person, 5)
    assert (list(person.open), list(person.lapsed), person.seen) == ([1], [], {5})
    person.move(trial, LAPSED)
    assert (list(person.open), list(person.lapsed), person.trials) == ([], [1], {"h1": trial})
    person.move(trial, OPEN)
    person.move(trial, ANSWERED)
    assert (person.open, person.lapsed, person.trials) == ({}, {}, {})
    assert (person.answered["label"], person.n_trials, person.seen) == (1, 1, {5})


def test_practice_first_then_batches_each_followed_by_its_repeats() -> None:
    person, people = someone(), People(batch_size=3, batches=2, repeats=1)
    purposes, item = [], 0
    while (purpose := TrialSequence(people, {0: 0, 1: 0}).next_purpose(person)) is not None:
        purposes.append(purpose)
        asked = TrialSequence(people).next_repeat(person, random.Random(1)) if purpose == "repeat" else NextTrial(item)
        assert asked is not None
        person.move(shown(person, asked.item, purpose), ANSWERED)
        item += 1
    assert purposes == ["practice"] * 2 + (["label"] * 3 + ["repeat"]) * 2


def test_open_trials_count_as_begun() -> None:
    person, people = someone(), People(batch_size=2, batches=1)
    shown(person, 1)
    assert TrialSequence(people).next_purpose(person) == "label"
    lapsing = shown(person, 2)
    assert TrialSequence(people).next_purpose(person) is None
    person.move(lapsing, LAPSED)
    assert TrialSequence(people).next_purpose(person) == "label"


@given(st.integers(1, 6), st.integers(1, 3), st.integers(0, 6), st.integers(0, 99))
def test_repeats_are_of_the_batch_before_them_and_each_once(size: int, batches: int, repeats: int, seed: int) -> None:
    person, rng = someone(), random.Random(seed)
    people = People(batch_size=size, batches=batches, repeats=min(repeats, size))
    batch: list[int] = []
    repeated: list[int] = []
    fresh = 0
    while (purpose := TrialSequence(people).next_purpose(person)) is not None:
        if purpose == "label":
            if len(batch) == size:
                batch = []
            batch.append(fresh)
            person.move(shown(person, fresh), ANSWERED)
            fresh += 1
        else:
            assert len(batch) == size
            pick = TrialSequence(people).next_repeat(person, rng)
            assert pick is not None
            item = pick.item
            assert item in batch
            assert item not in repeated
            repeated.append(item)
            person.move(shown(person, item, "repeat"), ANSWERED)
    assert (fresh, len(repeated)) == (size * batches, people.repeats * batches)


def test_a_repeat_drawn_ahead_is_of_its_own_batch() -> None:
    # The last item of the second batch is held but not yet answered while its repeat is drawn ahead.
    person, people = someone(), People(batch_size=2, batches=2, repeats=1)
    for item in (1, 2):
        person.move(shown(person, item), ANSWERED)
    person.move(shown(person, 1, "repeat"), ANSWERED)
    person.move(shown(person, 3), ANSWERED)
    shown(person, 4)
    assert TrialSequence(people).next_purpose(person) == "repeat"
    assert {TrialSequence(people).next_repeat(person, random.Random(seed)) for seed in range(20)} <= {
        NextTrial(3),
        None,
    }


def test_nothing_to_repeat_before_anything_is_answered() -> None:
    person, people = someone(), People(batch_size=1, repeats=1)
    shown(person, 1)
    assert TrialSequence(people).next_purpose(person) == "repeat"
    assert TrialSequence(people).next_repeat(person, random.Random(1)) is None


def test_repeats_come_from_the_older_half_where_that_will_do() -> None:
    person, people = someone(), People(batch_size=6, repeats=1)
    for item in range(6):
        person.move(shown(person, item), ANSWERED)
    assert {TrialSequence(people).next_repeat(person, random.Random(seed)) for seed in range(100)} == {
        NextTrial(0),
        NextTrial(1),
        NextTrial(2),
    }


def test_the_latest_receipts_are_at_hand_and_every_key_is_known() -> None:
    person = someone()
    keys = [f"key-{number}" for number in range(3 * MAX_RECEIPTS)]
    for key in keys:
        person.note(key, AnswerReceipt("digest", key))
    assert list(person.receipts) == keys[-MAX_RECEIPTS:]
    assert all(hash(key) in person.sent for key in keys)
    assert all(a < b for a, b in pairwise(int(key[4:]) for key in person.receipts))
