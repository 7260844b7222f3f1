"""Hard labels with a few exchanged, by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sfumato.tables.strategies import described
from sfumato.training.targets import DeaggregatedTarget, RandomTarget, SoftTarget, UniformTarget
from sfumato.training.training_set import AnnotatorBeliefs, TrainingSet
from sfumato_papers.collins_2022.label_sets import Labelled, Relabelled

CLASSES = ("cat", "dog", "fox")


@pytest.fixture
def known() -> Labelled:
    """Two items: `c` with one annotator, `a` with two."""
    rows = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 0.2, 0.8]])
    pool = AnnotatorBeliefs(rows, np.array([0, 1, 3]), np.array([0, 0, 1]), 2)
    means = np.array([[0.5, 0.5, 0.0], [0.5, 0.1, 0.4]])
    return Labelled("some", TrainingSet(("c", "a"), CLASSES, np.array([1, 0]), means, pool))


@pytest.fixture
def training_set() -> TrainingSet:
    return TrainingSet(("a", "b", "c", "d"), CLASSES, np.array([0, 2, 1, 1]))


def test_means_where_there_are_any(known: Labelled, training_set: TrainingSet) -> None:
    labels = Relabelled(SoftTarget(), known).labels(training_set, np.random.default_rng(0)).mean()
    np.testing.assert_allclose(labels, [[0.5, 0.1, 0.4], [0, 0, 1], [0.5, 0.5, 0], [0, 1, 0]], atol=1e-7)


def test_one_annotator_at_a_time(known: Labelled, training_set: TrainingSet) -> None:
    labels = Relabelled(DeaggregatedTarget(), known).labels(training_set, np.random.default_rng(0))
    drawn = labels.at(torch.tensor([0, 0, 1, 2, 2]), torch.tensor([0.1, 0.9, 0.9, 0.1, 0.9])).numpy()
    expected = [[1, 0, 0], [0, 0.2, 0.8], [0, 0, 1], [0.5, 0.5, 0], [0.5, 0.5, 0]]
    np.testing.assert_allclose(drawn, expected, atol=1e-7)


def test_pools_of_fewer_annotators_lie_in_those_of_more(known: Labelled, training_set: TrainingSet) -> None:
    one = Relabelled(DeaggregatedTarget(1), known).labels(training_set, np.random.default_rng(5))
    assert one.starts.tolist() == [0, 1, 2, 3, 4]
    both = Relabelled(DeaggregatedTarget(2), known).labels(training_set, np.random.default_rng(5))
    assert one.rows[0].tolist() in both.rows[:2].tolist()


def test_targets_without_people(known: Labelled, training_set: TrainingSet) -> None:
    even = Relabelled(UniformTarget(), known).labels(training_set, np.random.default_rng(0)).mean()
    np.testing.assert_allclose(even[[0, 2]], 1 / 3, atol=1e-6)
    np.testing.assert_allclose(even[[1, 3]], [[0, 0, 1], [0, 1, 0]])
    luck = Relabelled(RandomTarget("soft"), known).labels(training_set, np.random.default_rng(0)).mean()
    assert luck[0].max() < 1
    np.testing.assert_allclose(luck[[1, 3]], [[0, 0, 1], [0, 1, 0]])


def test_what_a_run_keeps_of_it_changes_with_the_labels(known: Labelled) -> None:
    said = described(Relabelled(SoftTarget(), known))
    assert said["target"] == {"name": "soft"}
    assert said["known"].startswith("some, 2 items, ")
    people = known.training_set.people
    assert people is not None
    moved = TrainingSet(("c", "a"), CLASSES, np.array([1, 0]), people[::-1].copy(), known.training_set.beliefs)
    assert described(Relabelled(SoftTarget(), Labelled("some", moved)))["known"] != said["known"]
