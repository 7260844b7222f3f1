"""Answers are stored once, each for its trial, with its times; repeated and late ones are reported as such."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from study_instance import Serve, items_named, plain_study, running_instance, sent

from sfumato.elicitation.participant import MAX_RECEIPTS
from sfumato.study.study import People
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


# --- times by the server's clock ---


def test_answers_cannot_claim_more_time_than_has_passed(serve: Serve) -> None:
    """A script that answers every tenth of a second and claims 130 seconds for each answer."""
    at = serve(batch_size=30, answers_per_item=5)
    at.running.trusts_times = False
    person, began = at.new(), at.clock.now()
    for _ in range(6):
        handle = person.first().handle
        at.clock.advance(0.1)
        assert person.submit(sent(handle, elapsed_ms=130_000)).code is None
    rows = at.rows("SELECT seconds, started_at, record FROM answers ORDER BY id")
    assert sum(seconds for seconds, _, _ in rows) <= 0.6 + 1e-6
    assert all(started_at >= began for _, started_at, _ in rows)
    # What the browser claimed is kept.
    assert all(msgspec.json.decode(record)["elapsed_ms"] == 130_000 for _, _, record in rows)


@given(
    st.lists(st.tuples(st.integers(100, 60_000), st.integers(0, 5_000), st.booleans()), min_size=1, max_size=12),
    st.integers(0, 10**6),
)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_times_of_an_honest_browser_are_stored_as_they_are(
    tmp_path_factory: pytest.TempPathFactory, answers: list[tuple[int, int, bool]], seed: int
) -> None:
    """Answers one after another, with pauses; some arrive late and together, as from a page that was offline."""
    store = str(tmp_path_factory.mktemp("honest") / f"{seed}.sqlite")
    with running_instance(store, plain_study(people=People(batch_size=12, answers_per_item=1)), items_named(12)) as at:
        at.running.trusts_times = False
        person, waiting = at.new(), []
        trials = list(person.state().trials)
        for n, (took_ms, pause_ms, online) in enumerate(answers):
            at.clock.advance(took_ms / 1000)
            waiting.append((sent(trials.pop(0).handle, elapsed_ms=took_ms), at.clock.monotonic()))
            if online or not trials or n == len(answers) - 1:
                at.clock.advance(pause_ms / 1000)
                for answer, given_at in waiting:
                    age = round(1000 * (at.clock.monotonic() - given_at))
                    person.submit(msgspec.structs.replace(answer, age_ms=age))
                waiting = []
                trials = list(person.state().trials)
        stored = [seconds for (seconds,) in at.rows("SELECT seconds FROM answers ORDER BY id")]
    assert stored == pytest.approx([took_ms / 1000 for took_ms, _, _ in answers], abs=1e-6)


def test_after_a_restart_answers_before_it_take_up_their_time(serve: Serve) -> None:
    at = serve(batch_size=8, answers_per_item=5)
    person = at.new()
    shown = person.state().trials
    at.clock.advance(60)
    person.submit(sent(shown[0].handle, elapsed_ms=60_000))
    again = at.restarted()
    again.running.trusts_times = False
    at.clock.advance(1)
    again.same(person).submit(sent(shown[1].handle, elapsed_ms=60_000))
    assert again.one("SELECT seconds FROM answers ORDER BY id DESC LIMIT 1") == pytest.approx(1.0)
    again.stop()
