"""Leases: held, renewed, given back, and expired at their time; only labels take from a quota."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from study_instance import LEASE, Serve, StudyPerson, items_named, plain_study, sent

from sfumato.elicitation.assignment import NextTrial
from sfumato.elicitation.lease import IDLE_LEASES, MAX_STALE, NEWCOMER_SHARE, LeaseTable
from sfumato.elicitation.page_messages import ParticipantState
from sfumato.elicitation.participant import Trial
from sfumato.store.schema import OPEN
from sfumato.study.study import People


def trial(number: int, item: int, expires: float = 10.0, purpose: str = "label") -> Trial:
    return Trial(number, f"h{number}", 1, item, number, purpose, OPEN, expires)


def test_held_answered_and_given_back() -> None:
    leases = LeaseTable([(1, 2, 0)])
    first, second = trial(1, 1), trial(2, 1)
    leases.hold(first)
    leases.hold(second)
    assert (leases.room(), len(leases), set(leases)) == (0, 2, {first, second})
    assert not leases.has_room(trial(3, 1))
    leases.complete(first)
    assert (leases.room(), len(leases), leases.get(1), leases.get(2)) == (0, 1, None, second)
    leases.release(second)
    assert (leases.room(), len(leases)) == (1, 0)
    assert leases.choose((), random.Random(1)) == NextTrial(1)


def test_giving_back_twice_or_after_the_answer_changes_nothing() -> None:
    leases = LeaseTable([(1, 2, 0)])
    first, second = trial(1, 1), trial(2, 1)
    leases.hold(first)
    leases.hold(second)
    leases.complete(first)
    for each in (first, second, second):
        leases.release(each)
    assert leases.room() == 1


@pytest.mark.parametrize("purpose", ["practice", "repeat"])
def test_practice_and_repeats_take_nothing_and_never_lapse(purpose: str) -> None:
    leases = LeaseTable([(1, 1, 0)])
    leases.hold(trial(1, 1, purpose=purpose))
    leases.release(trial(1, 1, purpose=purpose))
    assert (leases.room(), len(leases), list(leases.expired(1e9))) == (1, 0, [])
    leases.hold(trial(2, 1))
    assert leases.has_room(trial(3, 1, purpose=purpose))


def test_overdue_at_the_moment_and_not_before() -> None:
    leases = LeaseTable([(1, 3, 0)])
    early, late = trial(1, 1, 10.0), trial(2, 1, 20.0)
    leases.hold(late)
    leases.hold(early)
    assert list(leases.expired(9.999)) == []
    assert list(leases.expired(10.0)) == [early]
    leases.release(early)
    assert list(leases.expired(1e9)) == [late]


def test_a_renewed_lease_is_overdue_at_its_new_time_only() -> None:
    leases = LeaseTable([(1, 1, 0)])
    held = trial(1, 1, 10.0)
    leases.hold(held)
    held.expires = 30.0
    assert list(leases.expired(10.0)) == []
    assert list(leases.expired(29.0)) == []
    assert list(leases.expired(30.0)) == [held]


def test_restored_trials_are_counted_once() -> None:
    leases = LeaseTable([(1, 2, 1)])
    held = trial(1, 1)
    leases.restore(held)
    assert leases.room() == 1
    leases.release(held)
    assert leases.room() == 2


def test_what_was_answered_takes_no_room() -> None:
    leases = LeaseTable([(1, 10**9, 0)])
    kept = trial(0, 1, 5.0)
    leases.hold(kept)
    tracemalloc.start()
    for number in range(1, 20_000):
        each = trial(number, 1)
        leases.hold(each)
        leases.complete(each)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size < 500_000, f"{size:,} bytes are kept of 20,000 answers"
    assert list(leases.expired(1e9)) == [kept]


@given(
    st.lists(st.tuples(st.sampled_from(["hold", "answer", "back", "renew", "pass"]), st.integers(0, 30)), max_size=60),
    st.sampled_from([0, MAX_STALE]),
)
def test_a_random_walk_agrees_with_a_naive_count(steps: list[tuple[str, int]], max_stale: int) -> None:
    with mock.patch("sfumato.elicitation.lease.MAX_STALE", max_stale):
        _walk(steps)


def _walk(steps: list[tuple[str, int]]) -> None:
    leases, now = LeaseTable([(item, 3, 0) for item in range(3)]), 0.0
    held: dict[int, Trial] = {}
    n_answered = 0
    for number, (step, amount) in enumerate(steps):
        item = amount % 3
        if step == "hold" and leases.has_room(trial(number, item)):
            held[number] = trial(number, item, now + 10)
            leases.hold(held[number])
        elif step == "pass":
            now += amount
            due = {each.id for each in held.values() if each.expires <= now}
            expired = list(leases.expired(now))
            assert {each.id for each in expired} == due
            for each in expired:
                leases.release(each)
                del held[each.id]
        elif held and step in ("answer", "back", "renew"):
            picked = sorted(held)[amount % len(held)]
            if step == "renew":
                held[picked].expires = now + 10
                continue
            (leases.complete if step == "answer" else leases.release)(held.pop(picked))
            n_answered += step == "answer"
        assert leases.room() == 9 - len(held) - n_answered
        assert {each.id for each in leases} == set(held)


# --- leases without answers, in a running study ---


@pytest.mark.parametrize("sign", [StudyPerson.heartbeat, StudyPerson.state])
@pytest.mark.parametrize("restarts", [False, True])
def test_nobody_holds_an_item_for_ever_without_an_answer(
    serve: Serve, sign: Callable[[StudyPerson], object], restarts: bool
) -> None:
    at = serve(plain_study(people=People(answers_per_item=1, batch_size=4)), items_named(1))
    person, other = at.new(), at.new()
    trial = person.first().handle
    waited = 0.0
    while other.state().stage == "empty":
        assert waited < (IDLE_LEASES + 1) * LEASE, "held for ever"
        at.clock.advance(LEASE / 10)
        waited += LEASE / 10
        if restarts:
            at = at.restarted()
            person, other = at.same(person), at.same(other)
        sign(person)
    # Who waits for an item gets no code for it.
    assert person.state().stage == "empty"
    # The item is with the other, who answers; the first is late.
    assert other.submit(sent(other.first().handle)).code is None
    assert person.submit(sent(trial)).code == "given-to-others"


def test_who_was_long_idle_gets_an_item_again_after_a_while_and_all_after_an_answer(serve: Serve) -> None:
    at = serve(plain_study(people=People(answers_per_item=2, batch_size=8)), items_named(8))
    person = at.new()
    assert len(person.state().trials) == 3
    while person.state().stage == "trials":
        at.clock.advance(LEASE / 4)
    at.clock.advance(LEASE)
    (shown,) = person.state().trials
    assert person.submit(sent(shown.handle)).code is None
    assert len(person.state().trials) == 3
    # Late answers are taken as long as there is room.
    late = person.first().handle
    at.clock.advance(20 * LEASE)
    assert person.submit(sent(late)).code is None


def test_newcomers_of_one_network_hold_a_part_of_the_items(serve: Serve) -> None:
    at = serve(plain_study(people=People(answers_per_item=1, batch_size=40)), items_named(40))

    def arrives(network: str) -> StudyPerson:
        person = at.new(ready=False)
        at.run(lambda running: running.requested_from(network).finish_instructions(person.token_hash))
        return person

    def shown(person: StudyPerson, network: str) -> ParticipantState:
        return at.run(lambda running: running.requested_from(network).state(person.token_hash))

    crowd = [arrives("2001:db8::/64") for _ in range(50)]
    states = [shown(each, "2001:db8::/64") for each in crowd]
    assert sum(len(state.trials) for state in states) == 40 // NEWCOMER_SHARE
    # They wait, and are not sent away with a code.
    assert {state.stage for state in states} == {"trials", "empty"}
    # Others are not affected, nor is a study without known networks.
    assert shown(arrives("192.0.2.1"), "192.0.2.1").trials
    assert at.new().state().trials
    # Who has answered an item is no newcomer, and makes room for another one.
    holder = next(each for each, state in zip(crowd, states, strict=True) if state.trials)
    answer = sent(shown(holder, "2001:db8::/64").trials[0].handle)
    at.run(lambda running: running.requested_from("2001:db8::/64").submit(holder.token_hash, answer))
    waiting = [each for each, state in zip(crowd, states, strict=True) if not state.trials]
    assert any(shown(each, "2001:db8::/64").trials for each in waiting)
