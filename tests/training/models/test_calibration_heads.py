"""Heads on predictions: against direct minimization, against published data, and what they accept and refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from sfumato.tables.errors import BadProbabilities, BadSetting, BadTable, SfumatoWarning
from sfumato.training.models import calibration_heads
from sfumato.training.models.calibration_heads import FittedHead, LinearHead, TemperatureScaling, VectorScaling

HEADS = (LinearHead(), LinearHead(ridge=0.1), VectorScaling(), VectorScaling(ridge=0.1), TemperatureScaling())
K = 4


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


RNG = np.random.default_rng(0)
LOGITS = 3 * RNG.standard_normal((200, K))
PEOPLE = softmax(0.4 * LOGITS + 0.3 * LOGITS[:, ::-1] + RNG.standard_normal((200, K)))
HARD = np.eye(K)[PEOPLE.argmax(1)]
WEIGHTS = RNG.gamma(1.0, size=200)


def directly(head: Any, target: np.ndarray) -> np.ndarray:
    """Predictions of the head whose parameters SciPy finds for the objective in its documentation."""
    z = LOGITS - LOGITS.mean(axis=1, keepdims=True)

    def logits(theta: np.ndarray) -> np.ndarray:
        if head.name == "temperature":
            return theta[0] * z
        if head.name == "vector-scaling":
            return theta[:K] * z + theta[K:]
        return z @ theta[: K * K].reshape(K, K).T + theta[K * K :]

    first = {"temperature": np.ones(1), "vector-scaling": np.ones(K), "linear-head": np.eye(K).ravel()}[head.name]
    start = np.append(first, np.zeros(K)) if head.name != "temperature" else first

    def loss(theta: np.ndarray) -> float:
        mean = -(WEIGHTS @ (target * np.log(softmax(logits(theta)))).sum(1)) / WEIGHTS.sum()
        return float(mean + getattr(head, "ridge", 0) / 2 * ((theta[: len(first)] - first) ** 2).sum())

    return softmax(logits(minimize(loss, start, method="BFGS", options={"gtol": 1e-7}).x))


@pytest.mark.parametrize("head", HEADS, ids=repr)
def test_heads_are_at_the_minimum(head: Any) -> None:
    fitted = head.fit_many(LOGITS, np.stack([PEOPLE, HARD]), WEIGHTS)
    for mine, target in zip(fitted, (PEOPLE, HARD), strict=True):
        assert mine.converged
        np.testing.assert_allclose(mine.predict(LOGITS), directly(head, target), atol=2e-5)
        np.testing.assert_array_equal(FittedHead.from_arrays(mine.arrays()).predict(LOGITS), mine.predict(LOGITS))


@pytest.mark.parametrize("head", HEADS, ids=repr)
def test_logits_and_their_probabilities_give_the_same_head(head: Any) -> None:
    from_logits = head.fit_many(LOGITS + 5, PEOPLE[None])[0]
    from_probs = head.fit_many(softmax(LOGITS), PEOPLE[None])[0]
    assert from_logits.on_logits
    assert not from_probs.on_logits
    np.testing.assert_allclose(from_logits.predict(LOGITS - 2), from_probs.predict(softmax(LOGITS)), atol=1e-6)
    one = softmax(LOGITS[:1])
    np.testing.assert_allclose(from_probs.predict(one), from_probs.predict(softmax(LOGITS))[:1], atol=1e-12)


def test_the_labels_of_a_temperature_give_that_temperature() -> None:
    head = TemperatureScaling().fit_many(LOGITS, softmax(LOGITS / 2.5)[None])[0]
    np.testing.assert_allclose(head.matrix, np.eye(K) / 2.5, atol=1e-6)


def test_a_large_ridge_keeps_the_model_and_moves_intercepts_only() -> None:
    head = LinearHead(ridge=1e6).fit_many(LOGITS, PEOPLE[None])[0]
    np.testing.assert_allclose(head.matrix, np.eye(K), atol=1e-5)
    np.testing.assert_allclose(head.predict(LOGITS).mean(0), PEOPLE.mean(0), atol=1e-5)


def test_probabilities_of_0_are_raised_to_the_floor() -> None:
    probs = np.where(softmax(LOGITS) < 0.01, 0, softmax(LOGITS))
    probs /= probs.sum(1, keepdims=True)
    for head in HEADS:
        predicted = head.fit_many(probs, PEOPLE[None])[0].predict(probs)
        assert np.isfinite(np.log(predicted)).all()
    floored = np.maximum(probs, 1e-10)
    expected = LinearHead().fit_many(np.log(floored), PEOPLE[None])[0].predict(np.log(floored))
    np.testing.assert_allclose(LinearHead().fit_many(probs, PEOPLE[None])[0].predict(probs), expected, atol=1e-5)


def test_a_class_without_labels_has_probability_0_except_under_one_temperature() -> None:
    three = PEOPLE.copy()
    three[:, 1] = 0
    three /= three.sum(1, keepdims=True)
    for head in (LinearHead(), VectorScaling()):
        first, second = head.fit_many(LOGITS, np.stack([three, PEOPLE]))
        assert (first.predict(LOGITS)[:, 1] == 0).all()
        np.testing.assert_allclose(
            second.predict(LOGITS), head.fit_many(LOGITS, PEOPLE[None])[0].predict(LOGITS), atol=1e-5
        )
    assert (TemperatureScaling().fit_many(LOGITS, three[None])[0].predict(LOGITS)[:, 1] > 0).all()


def test_mistakes() -> None:
    with pytest.raises(BadSetting, match="ridge = -1"):
        LinearHead(-1)
    with pytest.raises(BadSetting, match="ridge = -1"):
        VectorScaling(-1)
    with pytest.raises(BadTable, match="predictions of 3 classes and labels of 4"):
        LinearHead().fit_many(LOGITS[:, :3], PEOPLE[None])
    with pytest.raises(BadProbabilities, match=r"sum to 0\.95"):
        LinearHead().fit_many(0.95 * softmax(LOGITS), PEOPLE[None])
    head = LinearHead().fit_many(softmax(LOGITS), PEOPLE[None])[0]
    with pytest.raises(BadProbabilities):
        head.predict(LOGITS)


def test_heads_that_do_not_converge_give_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration_heads, "MOST_STEPS", 1)
    with pytest.warns(SfumatoWarning, match="vector-scaling: 1 of 1 fits did not converge in 1 steps"):
        VectorScaling().fit_many(LOGITS, HARD[None])


def test_mixup_mixes_items_in_the_same_way_for_every_target() -> None:
    targets = np.stack([PEOPLE, HARD, HARD])
    plain, mixed, again = (
        LinearHead(mixup=alpha).fit_many(LOGITS, targets, seed=seed) for alpha, seed in ((0.0, 0), (1.0, 0), (1.0, 0))
    )
    np.testing.assert_array_equal(mixed[0].matrix, again[0].matrix)
    np.testing.assert_array_equal(mixed[1].matrix, mixed[2].matrix)
    assert not np.array_equal(LinearHead(mixup=1.0).fit_many(LOGITS, targets, seed=1)[0].matrix, mixed[0].matrix)
    # A tiny alpha gives proportions of 0 or 1, so every item is itself or another one.
    barely = LinearHead(mixup=1e-6).fit_many(LOGITS, np.stack([PEOPLE]))[0]
    assert np.abs(barely.predict(LOGITS) - plain[0].predict(LOGITS)).max() < 0.2
    # Mixed labels are softer.
    sure = [each[1].predict(LOGITS).max(axis=1).mean() for each in (plain, mixed)]
    assert sure[1] < sure[0]
    with pytest.raises(BadSetting, match="mixup"):
        LinearHead(mixup=-1)
