"""Overdispersion and the temperature of Dawid-Skene: against known confusions, twins and crowds that share errors."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import Beliefs, SoftLabels
from sfumato.aggregation import AggregationInputs, AnswerMatrix, DawidSkene, calibrate
from sfumato.aggregation.overdispersion import SHARED_ERRORS, overdispersion

CLASSES = ["cat", "dog", "owl"]
CONFUSION = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])


def votes(truth: np.ndarray, twins: int, rng: np.random.Generator) -> Beliefs:
    """Four independent answers per item, each given by `twins` annotators who always say the same."""
    said = [[rng.choice(3, p=CONFUSION[c]) for _ in range(4)] for c in truth]
    rows = [(i, f"{w}-{t}", each) for i, one in enumerate(said) for w, each in enumerate(one) for t in range(twins)]
    items, annotators, answers = zip(*rows, strict=True)
    return Beliefs.from_numpy([f"{i:04}" for i in items], list(annotators), np.array(answers), CLASSES)


def log_loss(probs: np.ndarray, truth: np.ndarray) -> float:
    return -float(np.log(np.maximum(probs[np.arange(len(truth)), truth], 1e-6)).mean())


@pytest.mark.parametrize("twins", [1, 2, 3])
def test_twins_count_as_often_as_they_say_the_same(twins: int) -> None:
    """The variance of t equal answers is t^2, of t independent ones t: overdispersion t."""
    truth = np.arange(1500) % 3
    answers = AnswerMatrix.of(votes(truth, twins, np.random.default_rng(1)))
    rows = np.tile(CONFUSION.T, (answers.n_annotators, 1))
    assert overdispersion(answers, rows, np.eye(3)[truth]) == pytest.approx(twins, rel=0.06)


def test_the_temperature_keeps_the_first_class_and_helps_where_errors_are_shared() -> None:
    truth = np.arange(600) % 3
    beliefs = votes(truth, 3, np.random.default_rng(2))
    usual, independent = DawidSkene().aggregate(beliefs), DawidSkene(temperature=1.0).aggregate(beliefs)
    assert usual.temperature > 1.8 * SHARED_ERRORS
    assert np.array_equal(usual.labels.probs.argmax(axis=1), independent.labels.probs.argmax(axis=1))
    assert log_loss(usual.labels.probs, truth) < log_loss(independent.labels.probs, truth) - 0.1
    raised = independent.labels.probs ** (1 / usual.temperature)
    np.testing.assert_allclose(usual.labels.probs, raised / raised.sum(axis=1, keepdims=True), atol=1e-9)


def test_which_temperature_is_used() -> None:
    truth = np.arange(90) % 3
    beliefs = votes(truth, 1, np.random.default_rng(3))
    assert DawidSkene(prior=0.0).aggregate(beliefs).temperature == 1
    assert DawidSkene(temperature=4.0).aggregate(beliefs).temperature == 4
    assert DawidSkene().aggregate(beliefs).temperature >= SHARED_ERRORS
    gold = SoftLabels.one_hot(["0000"], ["dog"], CLASSES)
    fixed = DawidSkene().aggregate(beliefs, AggregationInputs(gold=gold)).labels.probs[0]
    assert fixed.tolist() == [0, 1, 0]


def test_calibration_on_gold_does_not_depend_on_the_temperature_before() -> None:
    truth = np.arange(300) % 3
    beliefs = votes(truth, 2, np.random.default_rng(4))
    gold = SoftLabels.one_hot([f"{i:04}" for i in range(300)], [CLASSES[c] for c in truth], CLASSES)
    found = [calibrate(DawidSkene(temperature=t).aggregate(beliefs), gold) for t in (1.0, 3.0)]
    assert found[0].temperature == pytest.approx(found[1].temperature, rel=1e-3)
    np.testing.assert_allclose(found[0].labels.probs, found[1].labels.probs, atol=1e-4)
