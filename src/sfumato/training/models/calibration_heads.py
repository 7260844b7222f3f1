"""Heads on the predictions of a finished model, fitted to soft labels: `linear-head`, `vector-scaling`, `temperature`.

The input of an item is what the model predicts for it: a distribution, or logits. Heads use its centered
log-probabilities, `z = log p - mean(log p)`, with probabilities below 1e-10 raised to it. Logits are centered only.
Guo et al. (2017), *On calibration of modern neural networks*; fitted to people's labels: Peterson et al. (2019).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.tables.columns import check_probs
from sfumato.tables.errors import warn, wrong_shape
from sfumato.tables.setting_checks import not_negative
from sfumato.training.models.fit_inputs import FitInputs, checked_features, softmax
from sfumato.training.models.lbfgs import Evaluation, Minimum, Vectors, Which, minimize
from sfumato.training.models.linear import MOST_STEPS, TOLERANCE, minimum_of
from sfumato.training.models.softmax_loss import SoftmaxLoss
from sfumato.training.seeds import rng_of

FLOOR = 1e-10
"""The least probability that is used; released predictions have zeros, or values that only rounding explains."""

Probs = Float[np.ndarray, "targets items classes"]
Weights = Float[np.ndarray, "items"] | None


@dataclass(frozen=True)
class LinearHead:
    """A linear layer: logits `A z + b`, with classes x classes + classes parameters.

    Minimizes the mean cross-entropy plus `ridge / 2 * |A - I|^2`: with few items the head stays near the model itself.
    A class without any label has probability 0.

    With `mixup` above 0 the head is fitted to mixtures (Zhang et al. 2018): every item is mixed with another one, in a
    proportion from Beta(mixup, mixup), inputs `z` and labels alike. The draws depend on the seed, not on the target.
    """

    ridge: float = 0.001
    mixup: float = 0.0

    name: ClassVar[str] = "linear-head"
    takes: ClassVar[tuple[str, ...]] = ("features",)

    def __post_init__(self) -> None:
        not_negative("ridge", self.ridge)
        not_negative("mixup", self.mixup)

    def fit_many(self, x: Any, probs: Probs, weights: Weights = None, *, seed: int = 0) -> list[FittedHead]:
        """One head per target on the predictions `x`, items x classes."""
        given = _Predictions.checked(x, probs, weights)
        if self.mixup:
            given = given.mixed(self.mixup, rng_of(seed, "mixup"))
        n_targets, n_items, n_classes = given.probs.shape
        penalty = np.append(np.full(n_classes, self.ridge * given.weights.sum()), 0.0)
        design = np.hstack([given.z, np.ones((n_items, 1))])
        penalties = np.tile(penalty, (n_targets, 1))
        loss = SoftmaxLoss.of(design, given.probs, given.weights, penalties, offset=given.z)
        found = minimum_of(loss, np.zeros((n_targets, n_classes * (n_classes + 1))), scaled=False)
        parts = found.points.reshape(n_targets, n_classes, -1)
        intercepts = np.where(loss.present, parts[:, :, -1], -np.inf)
        return _heads(self.name, given, np.eye(n_classes) + parts[:, :, :-1], intercepts, found)


@dataclass(frozen=True)
class VectorScaling:
    """One factor and one intercept per class: logits `a_k z_k + b_k`.

    Minimizes the mean cross-entropy plus `ridge / 2 * |a - 1|^2`.
    """

    ridge: float = 0.001

    name: ClassVar[str] = "vector-scaling"
    takes: ClassVar[tuple[str, ...]] = ("features",)

    def __post_init__(self) -> None:
        not_negative("ridge", self.ridge)

    def fit_many(self, x: Any, probs: Probs, weights: Weights = None, *, seed: int = 0) -> list[FittedHead]:  # noqa: ARG002
        """One head per target on the predictions `x`, items x classes."""
        given = _Predictions.checked(x, probs, weights)
        n_classes = given.probs.shape[2]
        loss = _ScalingLoss.of(given, np.eye(2 * n_classes), self.ridge)
        found = minimize(loss, np.zeros((len(given.probs), 2 * n_classes)), TOLERANCE, MOST_STEPS)
        factors = 1 + found.points[:, :n_classes]
        intercepts = np.where(loss.present, found.points[:, n_classes:], -np.inf)
        return _heads(self.name, given, factors[:, :, None] * np.eye(n_classes), intercepts, found)


@dataclass(frozen=True)
class TemperatureScaling:
    """One temperature T: logits `z / T`. It changes how sure the model is, never which class comes first."""

    name: ClassVar[str] = "temperature"
    takes: ClassVar[tuple[str, ...]] = ("features",)

    def fit_many(self, x: Any, probs: Probs, weights: Weights = None, *, seed: int = 0) -> list[FittedHead]:  # noqa: ARG002
        """One head per target on the predictions `x`, items x classes."""
        given = _Predictions.checked(x, probs, weights)
        n_targets, _, n_classes = given.probs.shape
        same_factor = np.append(np.ones(n_classes), np.zeros(n_classes))[:, None]
        loss = _ScalingLoss.of(given, same_factor, 0.0)
        found = minimize(loss, np.zeros((n_targets, 1)), TOLERANCE, MOST_STEPS)
        matrices = (1 + found.points)[:, :, None] * np.eye(n_classes)
        return _heads(self.name, given, matrices, np.zeros((n_targets, n_classes)), found)


@dataclass(frozen=True, eq=False)
class FittedHead:
    """A fitted head: the logits of an item are `matrix @ z + intercept`."""

    matrix: Float[np.ndarray, "classes classes"]
    intercept: Float[np.ndarray, "classes"]
    on_logits: bool
    converged: bool = True

    def predict(self, x: Any) -> Float[np.ndarray, "items classes"]:
        """The distribution of each item, from the model's predictions in the same form as in training."""
        z = _centered(checked_features(x, len(self.matrix)), self.on_logits)
        return softmax(z @ self.matrix.T + self.intercept)

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays to store."""
        return {"matrix": self.matrix, "intercept": self.intercept, "on_logits": np.array([self.on_logits])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> FittedHead:
        """The head with stored arrays."""
        matrix, intercept = np.asarray(arrays["matrix"], np.float64), np.asarray(arrays["intercept"], np.float64)
        return cls(matrix, intercept, bool(arrays["on_logits"][0]))


@dataclass(frozen=True, eq=False)
class _Predictions:
    """What heads are fitted to: centered log-probabilities, labels and weights."""

    z: Float[np.ndarray, "items classes"]
    on_logits: bool
    probs: Probs
    weights: Float[np.ndarray, "items"]

    @classmethod
    def checked(cls, x: Any, probs: Any, weights: Any) -> _Predictions:
        given = FitInputs.checked(x, probs, weights)
        if given.x.shape[1] != given.probs.shape[2]:
            found = f"predictions of {given.x.shape[1]} classes and labels of {given.probs.shape[2]}"
            raise wrong_shape(found, "the same classes in both", "give one column per class, in the same order")
        dense = given.x if isinstance(given.x, np.ndarray) else given.x.toarray()
        # Rows that nearly sum to 1 are probabilities with a mistake in them, not logits.
        on_logits = bool((dense < 0).any() or (np.abs(dense.sum(axis=1) - 1) > 0.1).any())
        return cls(_centered(dense, on_logits), on_logits, given.probs, given.weights)

    def mixed(self, alpha: float, rng: np.random.Generator) -> _Predictions:
        """Every item mixed with another one, in the same way for all targets."""
        share = rng.beta(alpha, alpha, len(self.z))
        other = rng.permutation(len(self.z))

        def mix(values: Any, of: Any) -> Any:
            return of * values + (1 - of) * np.take(values, other, axis=-2)

        weights = share * self.weights + (1 - share) * self.weights[other]
        column = share[:, None]
        return _Predictions(mix(self.z, column), self.on_logits, mix(self.probs, column), weights)


def _centered(x: Any, on_logits: bool) -> Float[np.ndarray, "items classes"]:
    """Centered log-probabilities of predictions."""
    values = x if isinstance(x, np.ndarray) else x.toarray()
    if not on_logits:
        check_probs(values)
        values = np.log(np.maximum(values, FLOOR))
    return np.asarray(values - values.mean(axis=1, keepdims=True))


def _heads(name: str, given: _Predictions, matrices: Any, intercepts: Any, found: Minimum) -> list[FittedHead]:
    n_failed = int((~found.converged).sum())
    if n_failed:
        warn(f"{name}: {n_failed} of {len(matrices)} fits did not converge in {MOST_STEPS:,} steps")
    return [
        FittedHead(matrix, intercept, given.on_logits, bool(converged))
        for matrix, intercept, converged in zip(matrices, intercepts, found.converged, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class _ScalingLoss:
    """The loss of heads with logits `(1 + a_k) z_k + b_k`, where (a, b) = `basis @ parameters`."""

    z: Float[np.ndarray, "classes items"]
    label_sums: Float[np.ndarray, "targets scales"]
    weights: Float[np.ndarray, "items"]
    basis: Float[np.ndarray, "scales parameters"]
    ridge: Float[np.ndarray, "scales"]
    present: Any

    @classmethod
    def of(cls, given: _Predictions, basis: Float[np.ndarray, "scales parameters"], ridge: float) -> _ScalingLoss:
        weighted = given.probs * given.weights[:, None]
        sums = np.concatenate([np.einsum("tik,ik->tk", weighted, given.z), weighted.sum(axis=1)], axis=1)
        n_classes = given.probs.shape[2]
        strength = np.append(np.full(n_classes, ridge * given.weights.sum()), np.zeros(n_classes))
        has_intercepts = basis[n_classes:].any()
        present = weighted.any(axis=1) if has_intercepts else np.ones((len(weighted), n_classes), bool)
        return cls(np.ascontiguousarray(given.z.T), sums, given.weights, basis, strength, present)

    def evaluate(self, points: Vectors, which: Which) -> Evaluation:
        n_classes = len(self.z)
        scales = points @ self.basis.T
        loss = np.einsum("ts,ts->t", self.ridge * scales / 2 - self.label_sums[which], scales)
        gradient = self.ridge * scales - self.label_sums[which]
        hessian = np.empty((len(points), points.shape[1], points.shape[1]))
        for t, present in enumerate(self.present[which]):
            logits = (1 + scales[t, :n_classes, None]) * self.z + scales[t, n_classes:, None]
            logits[~present] = -np.inf
            highest = logits.max(axis=0)
            probs = np.exp(logits - highest)
            sums = probs.sum(axis=0)
            probs /= sums
            loss[t] += self.weights @ (np.log(sums) + highest)
            slopes = np.concatenate([self.z * probs, probs])
            gradient[t] += slopes @ self.weights
            full = np.diag(self.ridge) - (slopes * self.weights) @ slopes.T
            factor, shift = np.arange(n_classes), n_classes + np.arange(n_classes)
            full[factor, factor] += (self.z * slopes[:n_classes]) @ self.weights
            full[factor, shift] += slopes[:n_classes] @ self.weights
            full[shift, factor] += slopes[:n_classes] @ self.weights
            full[shift, shift] += probs @ self.weights
            hessian[t] = self.basis.T @ full @ self.basis
        return Evaluation(loss, gradient @ self.basis, hessian)

    def precondition(
        self,
        vectors: Vectors,
        curvature: Float[np.ndarray, "targets parameters parameters"],
        which: Which,  # noqa: ARG002
    ) -> Vectors:
        # A common intercept of all classes changes no prediction: without the addition it would divide by 0.
        n_parameters = vectors.shape[1]
        least = 1e-10 * np.einsum("tpp->t", curvature)[:, None, None] * np.eye(n_parameters)
        return np.asarray(np.linalg.solve(curvature + least, vectors[:, :, None])[:, :, 0])
