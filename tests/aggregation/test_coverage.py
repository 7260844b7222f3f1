"""Whether intervals hold what they promise, on crowds where items differ.

Simulations in which everybody errs independently mislead: there, the model behind Dawid-Skene is true by construction,
and its posteriors are as good as they claim. Real people who see the same blurred item err together. So the items here
have a difficulty (or a distribution of votes) of their own that everybody shares.
"""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import Beliefs, SoftLabels
from sfumato.aggregation import Aggregation, Bayes, DawidSkene, Mean, calibrate, intervals
from sfumato.tables.errors import SfumatoWarning

CLASSES = ("cat", "dog", "fox", "owl")
N_CLASSES = len(CLASSES)


def judged(n_items: int, n_votes: int, seed: int) -> tuple[np.ndarray, Beliefs]:
    """Items that are plain, torn between two classes, or anything; and votes drawn from each one's distribution."""
    rng = np.random.default_rng(seed)
    sort = rng.choice(3, n_items, p=[0.6, 0.25, 0.15])
    one = rng.integers(N_CLASSES, size=n_items)
    other = (one + rng.integers(1, N_CLASSES, n_items)) % N_CLASSES
    alpha = np.full((n_items, N_CLASSES), 0.3)
    alpha[np.arange(n_items), one] += np.where(sort == 0, 15, 3)
    alpha[np.arange(n_items), other] += np.where(sort == 1, 3, 0)
    alpha[sort == 2] = 1.5
    p = np.stack([rng.dirichlet(a) for a in alpha])
    votes = (p.cumsum(axis=1)[:, None, :] > rng.random((n_items, n_votes, 1))).argmax(axis=2)
    items = [f"i{i}" for i in range(n_items) for _ in range(n_votes)]
    people = [f"a{(i + j) % 40}" for i in range(n_items) for j in range(n_votes)]
    return p, Beliefs.from_numpy(items, people, votes.ravel(), CLASSES)


def covered(aggregation: Aggregation, p: np.ndarray, level: float) -> float:
    table = intervals(aggregation, level)
    return float(((table.low <= p) & (p <= table.high)).mean())


def test_credible_intervals_cover_how_people_judge() -> None:
    """Seen: .92 at .9 and .59 at .5: limits near 0 are 0, and the prior allows for more than these items show."""
    p, beliefs = judged(2000, 8, seed=1)
    aggregation = Bayes().aggregate(beliefs)
    assert covered(aggregation, p, 0.9) == pytest.approx(0.9, abs=0.03)
    assert covered(aggregation, p, 0.5) == pytest.approx(0.55, abs=0.06)
    # The expected error is what the error is.
    error = (p * np.log(np.maximum(p, 1e-300) / aggregation.labels.probs)).sum(axis=1).mean()
    expected = intervals(aggregation).expected_error
    assert expected is not None
    assert float(expected.mean()) == pytest.approx(float(error), rel=0.1)


def test_intervals_around_the_mean_cover_at_least_what_they_say() -> None:
    """Seen: .954 at .9; eight votes that agree say little about the ninth, and the intervals know."""
    p, beliefs = judged(2000, 8, seed=1)
    aggregation = Mean().aggregate(beliefs)
    assert 0.88 <= covered(aggregation, p, 0.9) <= 0.98
    assert covered(aggregation, p, 0.5) < covered(aggregation, p, 0.9)


def crowd(seed: int, *, hard: float) -> tuple[np.ndarray, Beliefs]:
    """Seven answers an item; on a share `hard` of the items, everybody is drawn to the same wrong class."""
    rng = np.random.default_rng(seed)
    n_items, n_annotators, n_votes = 1500, 40, 7
    truth = rng.integers(N_CLASSES, size=n_items)
    trap = (truth + rng.integers(1, N_CLASSES, n_items)) % N_CLASSES
    is_hard = (rng.random(n_items) < hard)[:, None]
    who = np.stack([rng.choice(n_annotators, n_votes, replace=False) for _ in range(n_items)])
    accuracy = rng.uniform(0.5, 0.75, n_annotators)
    is_right = rng.random((n_items, n_votes)) < np.where(is_hard, 0.45, accuracy[who])
    anything = (truth[:, None] + rng.integers(1, N_CLASSES, (n_items, n_votes))) % N_CLASSES
    trapped = is_hard & (rng.random((n_items, n_votes)) < 0.85)
    said = np.where(is_right, truth[:, None], np.where(trapped, trap[:, None], anything))
    items = [f"i{i}" for i in range(n_items) for _ in range(n_votes)]
    return truth, Beliefs.from_numpy(items, [f"a{w}" for w in who.ravel()], said.ravel(), CLASSES)


def hits(aggregation: Aggregation, truth: np.ndarray, first: int = 0) -> float:
    """How often the sets at .9 hold the truth, from item `first` on."""
    return float(intervals(aggregation, 0.9).high[np.arange(len(truth)), truth][first:].mean())


def promised(aggregation: Aggregation, first: int = 0) -> float:
    """The probability that the sets claim to hold: more than .9, because a set takes whole classes."""
    return float((intervals(aggregation, 0.9).high * aggregation.labels.probs)[first:].sum(axis=1).mean())


@pytest.mark.parametrize("seed", [1, 2])
def test_sets_keep_their_promise_where_errors_are_independent(seed: int) -> None:
    truth, beliefs = crowd(seed, hard=0.0)
    aggregation = DawidSkene(temperature=1.0).aggregate(beliefs)
    assert hits(aggregation, truth) >= 0.9
    assert hits(aggregation, truth) == pytest.approx(promised(aggregation), abs=0.03)


@pytest.mark.parametrize("seed", [1, 2])
def test_sets_break_their_promise_where_people_err_together_until_calibrated(seed: int) -> None:
    truth, beliefs = crowd(seed, hard=0.35)
    aggregation = DawidSkene(temperature=1.0).aggregate(beliefs)
    assert hits(aggregation, truth) < 0.88
    assert promised(aggregation) > hits(aggregation, truth) + 0.05
    gold = SoftLabels.one_hot([f"i{i}" for i in range(150)], [CLASSES[k] for k in truth[:150]], CLASSES)
    honest = calibrate(aggregation, gold)
    assert hits(honest, truth, 150) >= 0.88
    assert hits(honest, truth, 150) == pytest.approx(promised(honest, 150), abs=0.04)


def test_intervals_of_few_items_warn() -> None:
    """The prior of so few items is too certain."""
    with pytest.warns(SfumatoWarning, match="prior is fitted on 19 items"):
        intervals(Bayes().aggregate(judged(19, 3, 0)[1]))
    intervals(Bayes().aggregate(judged(20, 3, 0)[1]))
    intervals(Mean().aggregate(judged(19, 3, 0)[1]))
