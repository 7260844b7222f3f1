"""Figures of adaptive studies: right after a stopping rule, where means of votes are not; audits find wrong models."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.aggregation.posterior_figures import check_audit, posterior_figures
from sfumato.tables.doubt import entropy

N_CLASSES = 3


def votes(probs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One vote per row, one-hot."""
    edges = probs.cumsum(axis=1)
    edges[:, -1] = np.inf
    return np.eye(probs.shape[1])[(rng.random((len(probs), 1)) < edges).argmax(axis=1)]


def stopped(probs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Two votes per item, and three more if they differ."""
    counts = votes(probs, rng) + votes(probs, rng)
    more = counts.max(axis=1) == 1
    for _ in range(3):
        counts[more] += votes(probs[more], rng)
    return counts


def plain_dissent(counts: np.ndarray) -> np.ndarray:
    m = counts.sum(axis=1)
    return (m**2 - (counts**2).sum(axis=1)) / (m * (m - 1))


def test_figures_are_right_after_a_stopping_rule() -> None:
    rng = np.random.default_rng(5)
    found, naive = [], []
    for _ in range(8):
        probs = rng.dirichlet(np.full(N_CLASSES, 0.35), 250)
        counts = stopped(probs, rng)
        figures = posterior_figures(counts, level=0.9, rng=rng)
        truth = float((1 - (probs**2).sum(axis=1)).mean())
        found.append((figures.dissent.value - truth) / truth)
        naive.append((plain_dissent(counts).mean() - truth) / truth)
        assert 0 <= figures.dissent.interval.low <= figures.dissent.value <= figures.dissent.interval.high <= 1
        assert figures.n_items == 250
        assert "too narrow with fewer than 10 answers per item" in figures.dissent.interval.kind
    # Plain means are 15% too low here.
    assert np.mean(naive) < -0.1
    assert abs(np.mean(found)) < 0.05
    assert entropy(probs).mean() == pytest.approx(figures.entropy.value, rel=0.15)
    by_chance = 1 - (probs.mean(axis=0) ** 2).sum()
    assert 1 - truth / by_chance == pytest.approx(figures.alpha.value, abs=0.08)


def test_intervals_contain_the_value_for_other_items() -> None:
    rng = np.random.default_rng(8)
    many = rng.dirichlet(np.full(N_CLASSES, 0.35), 200_000)
    truth = float((1 - (many**2).sum(axis=1)).mean())
    inside = []
    for study in range(12):
        rng = np.random.default_rng([study, 8])
        counts = stopped(rng.dirichlet(np.full(N_CLASSES, 0.35), 200), rng)
        interval = posterior_figures(counts, level=0.9, rng=rng).dissent.interval
        inside.append(interval.low <= truth <= interval.high)
    # Chance alone gives fewer than 8 of 12 with probability 0.004.
    assert sum(inside) >= 8


def test_audits_pass_honest_votes_and_find_a_wrong_model() -> None:
    rng = np.random.default_rng(2)
    fails = {"same people": 0, "other people": 0}
    for _ in range(4):
        probs = rng.dirichlet(np.full(N_CLASSES, 0.35), 300)
        counts = stopped(probs, rng)
        audited = np.zeros(counts.shape)
        on = rng.choice(300, 100, replace=False)
        for who, mixed in (("same people", probs[on]), ("other people", 0.3 * probs[on] + 0.7 / N_CLASSES)):
            audited[on] = votes(mixed, rng) + votes(mixed, rng)
            result = check_audit(counts, audited)
            assert result is not None
            assert result.n_items == 100
            assert result.observed == pytest.approx(plain_dissent(audited[on]).mean())
            fails[who] += result.fails
    assert fails == {"same people": 0, "other people": 4}


def test_audits_need_two_votes_about_two_items() -> None:
    counts = np.array([[2.0, 0], [1, 1], [2, 0]])
    assert check_audit(counts, np.zeros(counts.shape)) is None
    assert check_audit(counts, np.array([[1.0, 0], [0, 1], [1, 1]])) is None
