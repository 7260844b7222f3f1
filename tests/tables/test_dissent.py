"""Pairwise dissent against direct counts over all pairs, and what is not identifiable."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

import sfumato as sf
from sfumato.tables.dissent import dissent_of_counts, squared_dissent_of_counts
from sfumato.tables.doubt import most_doubtful


def test_votes_by_hand() -> None:
    """3 of 4 votes for one class: of six pairs three differ."""
    counts = sf.Counts.from_numpy(["x", "y", "z"], [[3, 1], [2, 0], [1, 0]], ["cat", "dog"])
    doubt = counts.doubt()
    assert doubt.dissent[:2].tolist() == [0.5, 0.0]
    assert np.isnan(doubt.dissent[2])
    assert np.isnan(doubt.dissent_within).all()
    assert np.isnan(doubt.dissent_between).all()
    assert most_doubtful(doubt, 10) == [0, 1]


def test_votes_and_counts_have_the_same_doubt() -> None:
    counts = sf.Counts.from_numpy(range(6), np.random.default_rng(1).integers(1, 4, (6, 3)), list("abc"))
    ours, theirs = counts.doubt().to_polars(), counts.votes().doubt().to_polars()
    assert ours.equals(theirs)


def test_beliefs_against_all_pairs() -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(4), 5)
    doubt = sf.Beliefs.from_numpy(["x"] * 5, list("abcde"), probs, list("ghij")).doubt()
    assert doubt.dissent[0] == pytest.approx(np.mean([1 - p @ q for p, q in combinations(probs, 2)]))
    assert doubt.dissent_within[0] == pytest.approx(np.mean([1 - p @ p for p in probs]))
    apart = [((p - q) ** 2).sum() / 2 for p, q in combinations(probs, 2)]
    assert doubt.dissent_between[0] == pytest.approx(np.mean(apart))


def test_one_answer_is_not_identifiable_and_null_in_files() -> None:
    votes = sf.Beliefs.from_votes(item=["x", "y", "y"], annotator=["a", "a", "b"], label=["cat", "cat", "dog"])
    row = votes.doubt().to_arrow().to_pylist()[0]
    assert row == {
        "item": "x", "n_answers": 1, "dissent": None, "dissent_within": None, "dissent_between": None,
        "total": None, "within": None, "between": None,
    }  # fmt: skip
    soft = sf.Beliefs.from_numpy(["x"], ["a"], [[0.5, 0.5]], ["cat", "dog"]).doubt().to_arrow().to_pylist()[0]
    assert (soft["dissent"], soft["total"], soft["between"]) == (None, None, None)
    assert (soft["dissent_within"], soft["within"]) == (0.5, pytest.approx(np.log(2)))


def test_nobody_is_compared_with_himself() -> None:
    """Repeated answers of one person are one belief: they neither hide nor add dissent between people."""
    once = sf.Beliefs.from_votes(item=list("xx"), annotator=list("ab"), label=["cat", "dog"])
    twice = sf.Beliefs.from_votes(item=list("xxxx"), annotator=list("aabb"), label=["cat", "cat", "dog", "dog"])
    assert once.doubt().dissent.tolist() == twice.doubt().dissent.tolist() == [1.0]
    alone = sf.Beliefs.from_votes(item=list("xx"), annotator=list("aa"), label=["cat", "dog"])
    assert np.isnan(alone.doubt().dissent).all()


def test_squared_dissent_against_all_disjoint_pairs() -> None:
    for counts in ([2, 1, 1], [3, 1, 0], [2, 2, 2], [4, 0, 0]):
        votes = np.repeat(np.arange(3), counts)
        both = [(votes[a] != votes[b]) * (votes[c] != votes[d]) for a, b, c, d in permutations(range(len(votes)), 4)]
        assert squared_dissent_of_counts(np.array([counts]))[0] == pytest.approx(np.mean(both))
    assert np.isnan(squared_dissent_of_counts(np.array([[2, 1, 0]]))).all()


def test_dissent_is_unbiased_from_two_votes() -> None:
    rng = np.random.default_rng(0)
    shares = rng.dirichlet([0.3, 0.3, 0.3], 200)
    found = [dissent_of_counts(rng.multinomial(2, shares)).mean() for _ in range(200)]
    truth = (1 - (shares**2).sum(axis=1)).mean()
    assert np.mean(found) == pytest.approx(truth, abs=4 * np.std(found) / np.sqrt(200))
