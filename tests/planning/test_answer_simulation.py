"""The chance of a wrong class, and what stopping at a lead is worth, against sums over everything that can happen."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sfumato.planning.adaptive_gain import LEADS, adaptive_curve_by_lead
from sfumato.planning.answers_per_item import plan_answers_per_item
from sfumato.planning.item_prior import Population
from sfumato.planning.pilot_answers import dirichlet
from sfumato.planning.precision import WrongClass, wrong_class


def exact(p: tuple[float, ...], n_answers: int) -> float:
    """The chance of a wrong class, summed over every sequence of answers."""
    wrong = 0.0
    for answers in product(range(len(p)), repeat=n_answers):
        counts = np.bincount(answers, minlength=len(p))
        leads = np.flatnonzero(counts == counts.max())
        wrong += float(np.prod([p[a] for a in answers])) * (1 - (int(np.argmax(p)) in leads) / len(leads))
    return wrong


def test_against_every_sequence_of_answers() -> None:
    p = (0.5, 0.3, 0.2)
    items = Population(dirichlet([1.0], 3), np.tile(p, (40_000, 1)), np.arange(40_000))
    found = WrongClass().of_items(items, range(1, 6), np.random.default_rng(0)).mean(axis=0)
    for m in range(1, 6):
        assert found[m - 1] == pytest.approx(exact(p, m), abs=4 * 0.5 / np.sqrt(40_000))


def test_ties_are_drawn_by_lot() -> None:
    counts = np.array([[2.0, 2.0, 0.0], [0.0, 2.0, 2.0], [3.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    assert wrong_class(counts, np.tile([0.6, 0.3, 0.1], (4, 1))) == pytest.approx([0.5, 1.0, 0.0, 2 / 3])


def test_it_is_a_measure_like_any_other() -> None:
    # One answer from a uniform p: right with probability E max(p, 1 - p) = 3/4.
    curve = plan_answers_per_item(dirichlet([1.0], 2), measure=WrongClass(), most=3, rng=np.random.default_rng(1))
    assert curve.value[0] == pytest.approx(0.25, abs=0.015)
    assert curve.value[2] < curve.value[0]


def test_stopping_at_a_lead_is_a_random_walk() -> None:
    """Two classes: gambler's ruin says how long it takes and how often it errs (Feller 1968, XIV)."""
    p, q = 0.8, 0.2
    items = Population(dirichlet([1.0], 2), np.tile([p, q], (4_000, 1)), np.arange(4_000))
    found = adaptive_curve_by_lead(items, most=200, rng=np.random.default_rng(2))
    for i, lead in enumerate(LEADS[:5]):
        odds = (p / q) ** lead
        length = lead / (p - q) * (odds - 1) / (odds + 1)
        assert found.lead[i] == lead
        assert found.on_average[i] == pytest.approx(length, rel=0.05)
        # The error itself: the ratio times that of as many answers for every item.
        below = int(found.on_average[i])
        between = found.on_average[i] - below
        equal = (1 - between) * exact((p, q), below) + between * exact((p, q), below + 1)
        assert found.ratio[i] * equal == pytest.approx(1 / (1 + odds), abs=4 * np.sqrt(1 / (1 + odds) / 4_000))


def test_the_most_holds() -> None:
    items = Population(dirichlet([1.0], 2), np.tile([0.5, 0.5], (500, 1)), np.arange(500))
    found = adaptive_curve_by_lead(items, most=9, rng=np.random.default_rng(3))
    assert found.most.max() == 9
    assert (found.on_average <= 9).all()
