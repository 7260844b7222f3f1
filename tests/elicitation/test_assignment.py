"""Openings: fewest first, at random among equals, never past a quota; and the sums agree with a naive count."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from sfumato.elicitation.assignment import PROBES, NextTrial, QuotaTable


def test_by_hand() -> None:
    quotas = QuotaTable([(1, 2, 0), (2, 2, 1), (3, 2, 2)])
    assert quotas.room == 2 + 1
    assert (1 in quotas, 2 in quotas, 3 in quotas, 4 in quotas) == (True, True, False, False)
    rng = random.Random(1)
    assert quotas.choose((), rng) == NextTrial(1)
    assert quotas.choose({1}, rng) == NextTrial(2)
    assert quotas.choose({1, 2}, rng) is None
    quotas.take(1)
    assert quotas.room == 2
    assert {quotas.choose((), rng) for _ in range(50)} == {NextTrial(1), NextTrial(2)}
    quotas.take(1)
    assert 1 not in quotas
    quotas.release(3)
    assert (quotas.taken(3), quotas.room) == (1, 2)
    assert {quotas.choose((), rng) for _ in range(50)} == {NextTrial(2), NextTrial(3)}


def test_a_quota_goes_down_below_what_is_taken_and_up_again() -> None:
    quotas = QuotaTable([(1, 5, 3)])
    quotas.set_quota(1, 2)
    assert (quotas.room, 1 in quotas, quotas.taken(1)) == (0, False, 3)
    quotas.release(1)
    assert 1 not in quotas
    quotas.release(1)
    assert (quotas.room, 1 in quotas) == (1, True)
    quotas.set_quota(1, 4)
    assert quotas.room == 3
    quotas.set_quota(9, 2)
    assert (quotas.taken(9), quotas.room) == (0, 5)


def test_an_empty_study_has_nothing_to_choose() -> None:
    assert QuotaTable([]).choose((), random.Random(1)) is None
    assert QuotaTable([(1, 0, 0)]).choose((), random.Random(1)) is None


@given(
    items=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8),
    steps=st.lists(st.tuples(st.sampled_from(["take", "back", "quota"]), st.integers(0, 9), st.integers(0, 5))),
    seen=st.sets(st.integers(0, 9)),
    seed=st.integers(0, 9),
)
def test_a_random_walk_agrees_with_a_naive_count(
    items: list[tuple[int, int]], steps: list[tuple[str, int, int]], seen: set[int], seed: int
) -> None:
    naive = {item: list(start) for item, start in enumerate(items)}
    quotas = QuotaTable((item, quota, taken) for item, (quota, taken) in naive.items())
    rng = random.Random(seed)
    for step, item, quota in steps:
        if step == "quota":
            quotas.set_quota(item, quota)
            naive.setdefault(item, [0, 0])[0] = quota
        elif step == "back" and naive.get(item, [0, 0])[1] > 0:
            quotas.release(item)
            naive[item][1] -= 1
        elif step == "take" and (pick := quotas.choose(seen, rng)) is not None:
            chosen = pick.item
            assert naive[chosen][1] < naive[chosen][0]
            quotas.take(chosen)
            naive[chosen][1] += 1
        with_room = {item: taken for item, (quota, taken) in naive.items() if taken < quota}
        assert quotas.room == sum(naive[item][0] - taken for item, taken in with_room.items())
        assert all((item in quotas) == (item in with_room) for item in range(10))
        assert all(quotas.taken(item) == taken for item, (_, taken) in naive.items())
        free = {item: taken for item, taken in with_room.items() if item not in seen}
        pick = quotas.choose(seen, rng)
        if free:
            assert pick is not None
            assert free[pick.item] == min(free.values())
        else:
            assert pick is None


@pytest.mark.parametrize("n_seen", [0, 5, 9], ids=["nothing seen", "half seen", "mostly seen: the list is searched"])
def test_equals_are_equally_likely(n_seen: int) -> None:
    quotas = QuotaTable([(item, 3, 1) for item in range(12)] + [(99, 3, 2)])
    seen = set(range(n_seen))
    rng = random.Random(20)
    drawn = Counter(quotas.choose(seen, rng).item for _ in range(6_000))
    assert set(drawn) == set(range(n_seen, 12))
    assert chisquare([drawn[item] for item in range(n_seen, 12)]).pvalue > 0.001


def test_equals_are_equally_likely_after_many_moves_in_the_lists() -> None:
    rng = random.Random(3)
    quotas = QuotaTable([(item, 100, 0) for item in range(10)])
    for _ in range(500):
        item = rng.randrange(10)
        quotas.take(item)
        quotas.release(item)
    drawn = Counter(quotas.choose((), rng).item for _ in range(6_000))
    assert chisquare([drawn[item] for item in range(10)]).pvalue > 0.001


def test_the_last_available_item_is_always_found() -> None:
    n_items = 200 * PROBES
    quotas = QuotaTable([(item, 1, 0) for item in range(n_items)])
    assert quotas.choose(set(range(n_items)) - {77}, random.Random(1)) == NextTrial(77)
