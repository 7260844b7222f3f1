"""Leases: held, renewed, given back, and expired at their time; only labels take from a quota."""

from __future__ import annotations

import random
import tracemalloc
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.elicitation.assignment import NextTrial
from sfumato.elicitation.lease import MAX_STALE, LeaseTable
from sfumato.elicitation.participant import Trial
from sfumato.store.schema import OPEN


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
