"""Ordinal Dawid-Skene on simulated ratings: against other methods, its annotators, and its calculations by hand."""

from __future__ import annotations

import numpy as np
import pytest
from ordinal_ratings import Ratings

from sfumato.aggregation import DawidSkene, Majority, Mean, OrdinalDawidSkene, update
from sfumato.aggregation.ordinal_dawid_skene import AnnotatorTypes
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.errors import BadTable


@pytest.mark.parametrize("answers_each", [8, 30])
def test_better_than_other_methods_with_few_answers_per_annotator(answers_each: int) -> None:
    methods = (
        OrdinalDawidSkene(),
        DawidSkene(),
        DawidSkene(temperature=1.0),
        DawidSkene(prior=0.0),
        Majority(),
        Mean(),
    )
    losses = []
    for seed in range(3):
        ratings = Ratings.drawn(120, 480 // answers_each, 4, seed)
        losses.append([ratings.log_loss(method) for method in methods])
    ordinal, *others = np.mean(losses, axis=0)
    # bench/ordinal_dawid_skene.py has the figures of larger crowds: about half of the loss of dawid-skene.
    assert ordinal < 0.8 * min(others)


def test_it_finds_bias_spread_and_guessing() -> None:
    ratings = Ratings.drawn(400, 30, 8, seed=1)
    found = OrdinalDawidSkene().aggregate(ratings.beliefs).annotators
    who = np.array([int(name) for name in found.annotators.to_pylist()])
    rated = ~ratings.guesses[who]
    assert np.corrcoef(found.measures["bias"][rated], ratings.bias[who][rated])[0, 1] > 0.9
    assert np.corrcoef(np.log(found.measures["spread"][rated]), np.log(ratings.noise[who][rated]))[0, 1] > 0.8
    assert found.measures["information"][~rated].max() < found.measures["information"][rated].min()
    assert found.confusion is not None
    np.testing.assert_allclose(found.confusion.sum(axis=2), 1, atol=1e-8)


def test_the_objective_never_falls_and_an_update_continues() -> None:
    ratings = Ratings.drawn(100, 20, 5, seed=2)
    method = OrdinalDawidSkene(temperature=1.0)
    whole = method.aggregate(ratings.beliefs)
    assert whole.converged
    assert np.diff(whole.objective).min() > -1e-8 * abs(whole.objective[0])
    first = np.arange(len(ratings.beliefs)) < 440
    after = update(method.aggregate(ratings.beliefs.take(first)), ratings.beliefs.take(~first))
    assert after.objective[-1] > whole.objective[-1] - 0.01 * len(ratings.beliefs)
    same = after.labels.argmax() == whole.labels.argmax()[whole.labels.rows_of(after.labels.items)]
    assert same.mean() > 0.95


def test_answers_of_a_type_by_hand() -> None:
    types = AnnotatorTypes(np.array([0.5]), np.array([0.4]), np.array([0.1]), np.array([1.0]))
    (answers,) = types.answers(np.array([0.5, 1.5]), np.array([0.2, 0.3, 0.5]))
    # An item of class 1 is perceived around 1.5: below 0.5 with 1 / (1 + e^2.5), below 1.5 with one half.
    below = 1 / (1 + np.exp(2.5))
    np.testing.assert_allclose(
        answers[:, 1], 0.9 * np.array([below, 0.5 - below, 0.5]) + 0.1 * np.array([0.2, 0.3, 0.5])
    )
    np.testing.assert_allclose(answers.sum(axis=0), 1)


def test_it_needs_an_order_and_annotators() -> None:
    plain = Beliefs.from_numpy(["a", "b"], ["x", "y"], np.array([0, 2]), ["none", "mild", "severe"])
    with pytest.raises(BadTable, match=r"ordered classes; fix: if they are a scale, write votes.as_ordered"):
        OrdinalDawidSkene().aggregate(plain)
    with pytest.raises(BadTable, match="the annotator of each vote"):
        OrdinalDawidSkene().aggregate(Counts.of(plain.as_ordered()))
    two = Beliefs.from_numpy(["a", "b"], ["x", "y"], np.array([0, 1]), ["no", "yes"])
    assert OrdinalDawidSkene(iterations=3, tolerance=0.0).aggregate(two).labels.classes == ("no", "yes")
