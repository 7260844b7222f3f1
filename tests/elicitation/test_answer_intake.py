"""Answers are stored once, each for its trial, with its times; repeated and late ones are reported as such."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from study_instance import Serve, items_named, sent

from sfumato.elicitation.participant import MAX_RECEIPTS
from sfumato.tables.errors import InvalidAnswer, NotThere


def test_an_answer_is_never_older_than_its_trial(serve: Serve) -> None:
    at = serve()
    person = at.new()
    shown = person.first()
    at.clock.advance(10)
    person.submit(sent(shown.handle, "dog", "k", elapsed_ms=2500, age_ms=60 * 24 * 3600 * 1000))
    assert at.one("SELECT submitted_at FROM answers") == at.clock.now() - 10_000


def test_an_answer_is_stored_with_its_times(serve: Serve) -> None:
    at = serve()
    person = at.new()
    shown = person.first()
    at.clock.advance(10)
    outcome = person.submit(sent(shown.handle, "dog", "k", elapsed_ms=2500, age_ms=700))
    assert (outcome.again, outcome.code, outcome.state.answered) == (False, None, 1)
    now = at.clock.now()
    (row,) = at.rows(
        "SELECT a.payload, a.kind, a.purpose, a.number, a.submitted_at, a.started_at, a.received_at, a.seconds, a.key,"
        " a.handle, i.item FROM answers a JOIN items i ON i.id = a.item"
    )
    assert row == (
        '{"class":"dog"}', "choice/1", "label", 1, now - 700, now - 3200, now, 2.5, "k",
        outcome.answer, shown.stimulus.item,
    )  # fmt: skip


def test_the_same_answer_sent_again_is_the_same_answer(serve: Serve) -> None:
    at = serve()
    person = at.new()
    answer = sent(person.first().handle)
    first = person.submit(answer)
    for _ in range(3):
        again = person.submit(msgspec.structs.replace(answer, age_ms=60_000))
        assert (again.answer, again.again, again.code) == (first.answer, True, None)
    assert at.one("SELECT count(*) FROM answers") == 1
    assert at.one("SELECT count(*) FROM refused") == 0


def test_another_body_under_the_same_key_is_refused(serve: Serve) -> None:
    at = serve()
    person = at.new()
    answer = sent(person.first().handle, "cat", "k")
    person.submit(answer)
    for other in (sent(answer.trial, "dog", "k"), sent(person.first().handle, "cat", "k")):
        with pytest.raises(InvalidAnswer) as caught:
            person.submit(other)
        assert caught.value.code == "key-reused"
    assert at.rows("SELECT payload FROM answers") == [('{"class":"cat"}',)]
    assert person.state().answered == 1


def test_keys_of_two_people_are_independent(serve: Serve) -> None:
    at = serve()
    for person in (at.new(), at.new()):
        outcome = person.submit(sent(person.first().handle, key="the same"))
        assert (outcome.again, outcome.code) == (False, None)
    assert at.one("SELECT count(*) FROM answers") == 2


def test_old_keys_are_known_also_after_a_restart(serve: Serve) -> None:
    at = serve(stimuli=items_named(40), answers_per_item=2, batch_size=30)
    person = at.new()
    first = sent(person.first().handle)
    stored = person.submit(first).answer
    for _ in range(2 * MAX_RECEIPTS):
        person.answer()
    assert (person.submit(first).answer, person.submit(first).again) == (stored, True)
    restarted = at.restarted()
    assert (restarted.same(person).submit(first).answer, restarted.one("SELECT count(*) FROM answers")) == (stored, 17)
    with pytest.raises(InvalidAnswer):
        restarted.same(person).submit(sent(first.trial, "dog", first.key))


def test_a_second_answer_to_a_trial_is_kept_aside(serve: Serve) -> None:
    at = serve()
    person = at.new()
    trial = person.first().handle
    person.submit(sent(trial, "cat"))
    late = sent(trial, "dog", "other key")
    for again in (False, True):
        outcome = person.submit(late)
        assert (outcome.code, outcome.answer, outcome.again) == ("already-answered", None, again)
    outcome = at.restarted().same(person).submit(late)
    assert (outcome.code, outcome.again) == ("already-answered", True)
    assert at.rows("SELECT payload FROM answers") == [('{"class":"cat"}',)]
    assert at.rows("SELECT code, key, body FROM refused") == [("already-answered", "other key", late.body)]


def test_an_answer_that_is_none_is_refused_and_changes_nothing(serve: Serve) -> None:
    at = serve()
    person = at.new()
    trial = person.first().handle
    with pytest.raises(InvalidAnswer) as caught:
        person.submit(sent(trial, "bird", "k"))
    assert caught.value.code == "invalid-answer"
    assert person.first().handle == trial
    assert person.submit(sent(trial, "cat", "k")).again is False
    assert (at.one("SELECT count(*) FROM answers"), at.one("SELECT count(*) FROM refused")) == (1, 0)


def test_a_trial_of_somebody_else_is_not_there(serve: Serve) -> None:
    at = serve()
    person, other = at.new(), at.new()
    trial = other.first().handle
    with pytest.raises(NotThere) as caught:
        person.submit(sent(trial))
    assert caught.value.code == "unknown-trial"
    other.submit(sent(trial))
    with pytest.raises(NotThere):
        person.submit(sent(trial))
    assert (at.one("SELECT count(*) FROM answers"), at.one("SELECT count(*) FROM refused")) == (1, 0)


def test_fifty_at_once_for_one_trial_have_one_effect(serve: Serve) -> None:
    at = serve()
    person = at.new()
    trial = person.first().handle
    with ThreadPoolExecutor(10) as pool:
        outcomes = list(pool.map(lambda n: person.submit(sent(trial, key=f"key {n // 2}")), range(50)))
    stored = [outcome for outcome in outcomes if outcome.code is None]
    assert (len(stored), len({outcome.answer for outcome in stored})) == (2, 1)
    assert sorted(outcome.again for outcome in stored) == [False, True]
    assert {outcome.code for outcome in outcomes} == {None, "already-answered"}
    assert (at.one("SELECT count(*) FROM answers"), at.one("SELECT count(*) FROM refused")) == (1, 24)
