"""Multinomial logistic regression on soft labels: `linear`, fitted for all targets of a comparison at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from sfumato.tables.errors import warn
from sfumato.tables.setting_checks import not_negative
from sfumato.training.models.fit_inputs import FeatureScale, FitInputs, checked_features, softmax
from sfumato.training.models.lbfgs import Minimum, minimize
from sfumato.training.models.softmax_loss import Features, SoftmaxLoss

TOLERANCE = 3e-5
"""The decrement at which a fit ends. Predictions were then within 1e-5 of the exact minimum."""
COARSE = 0.03
"""The decrement up to which single precision is enough."""
FIRST_STEPS = 7
"""Steps with the mean curvature, before the curvature of each class is worth its cost."""
MOST_STEPS = 2000
MOST_COARSE_STEPS = 100
"""Steps in single precision, in case its rounding keeps a fit from getting closer."""
MOST_ROTATED = 2048
"""The most features (or items, if there are fewer) of which the principal axes are computed."""
FEATURES_PER_TARGET = 128
"""The curvature of each class costs as much as some steps of this many features per target."""
BYTES_OF_STEPS = 256 * 2**20
"""Memory for the steps that the optimizer remembers; more targets are fitted one group after the other."""


@dataclass(frozen=True)
class LinearModel:
    """Logistic regression on distributions: softmax of a linear function of the features.

    Minimizes `sum_i weight_i CE(q_i, p_i) + penalty / 2 * |W|^2`: `penalty` is 1/C of scikit-learn's
    LogisticRegression, the default is its default C = 1, and intercepts are not penalized. As there, with two classes
    the penalty is on the weights of the log odds. The minimum is unique, so nothing is random.

    `standardize` gives dense features mean 0 and standard deviation 1 over the training items before the penalty
    applies; the stored weights are for the features as given. Sparse features are used as they are, because without
    their zeros they would not fit into memory. A class without any label has probability 0.
    """

    penalty: float = 1.0
    standardize: bool = True

    name: ClassVar[str] = "linear"
    takes: ClassVar[tuple[str, ...]] = ("features", "images")

    def __post_init__(self) -> None:
        not_negative("penalty", self.penalty)

    def fit_many(
        self,
        x: Features,
        probs: Float[np.ndarray, "targets items classes"],
        weights: Float[np.ndarray, "items"] | None = None,
        *,
        seed: int = 0,  # noqa: ARG002
    ) -> list[FittedLinear]:
        """One fitted model per target. `weights` are weights of items, 1 by default."""
        given = FitInputs.checked(x, probs, weights)
        design = _Design.of(given.x, given.weights, self.standardize)
        n_targets, _, n_classes = given.probs.shape
        group = max(BYTES_OF_STEPS // (8 * 24 * n_classes * design.x.shape[1]), 1)
        fitted: list[FittedLinear] = []
        for first in range(0, n_targets, group):
            fitted += self._fitted(design, given.probs[first : first + group], given.weights)
        n_failed = sum(not each.converged for each in fitted)
        if n_failed:
            warn(f"linear: {n_failed} of {n_targets} fits did not converge in {MOST_STEPS:,} steps; raise the penalty")
        return fitted

    def _fitted(
        self, design: _Design, probs: Float[np.ndarray, "targets items classes"], weights: Float[np.ndarray, "items"]
    ) -> list[FittedLinear]:
        mass = np.einsum("tik,i->tk", probs, weights)
        present = mass > 0
        # Two weight vectors, u/2 and -u/2, have half the squared length of their difference u, which is penalized.
        strength = np.where(present.sum(axis=1) == 2, 2.0, 1.0) * self.penalty
        penalty = strength[:, None] * np.append(np.ones(design.x.shape[1] - 1), 0.0)
        loss = SoftmaxLoss.of(design.x, probs, weights, penalty)
        start = np.zeros(loss.label_sums.shape)
        logs = np.log(np.where(present, mass, 1.0))
        start[:, :, -1] = np.where(present, logs - (logs.sum(1) / present.sum(1))[:, None], 0.0)
        minimum = minimum_of(loss, start.reshape(len(start), -1), design.scaled)
        found = design.weights_of(minimum.points.reshape(start.shape))
        return [
            FittedLinear(each[:, :-1], np.where(has, each[:, -1], -np.inf), bool(converged), int(iterations))
            for each, has, converged, iterations in zip(
                found, present, minimum.converged, minimum.iterations, strict=True
            )
        ]


@dataclass(frozen=True, eq=False)
class FittedLinear:
    """A fitted linear model: the logits of an item are `weights @ x + intercept`."""

    weights: Float[np.ndarray, "classes features"]
    intercept: Float[np.ndarray, "classes"]
    converged: bool = True
    iterations: int = 0

    def predict(self, x: Features) -> Float[np.ndarray, "items classes"]:
        """The predicted distribution of each item."""
        features = checked_features(x, self.weights.shape[1])
        return softmax(np.asarray(features @ self.weights.T) + self.intercept)

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays to store."""
        return {"weights": self.weights, "intercept": self.intercept}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> FittedLinear:
        """The model with stored arrays."""
        return cls(np.asarray(arrays["weights"], np.float64), np.asarray(arrays["intercept"], np.float64))


@dataclass(frozen=True, eq=False)
class _Design:
    """Features as the optimizer sees them, with a last column of ones: standardized, and turned to principal axes.

    The penalty is the same along any axes. Along the principal ones features are uncorrelated, so that the optimizer
    needs fewer steps. `axes` is features x columns.
    """

    x: Any
    scale: FeatureScale
    axes: Float[np.ndarray, "features columns"] | None
    scaled: bool

    @classmethod
    def of(cls, x: Features, weights: Float[np.ndarray, "items"], standardize: bool) -> _Design:
        scale = FeatureScale.of(x, weights, standardize)
        ones = np.ones((x.shape[0], 1))
        if not isinstance(x, np.ndarray):
            from scipy.sparse import csr_array, hstack

            return cls(csr_array(hstack([x, csr_array(ones)], format="csr")), scale, None, False)
        columns = scale.standardized(x)
        axes = _principal_axes(columns * np.sqrt(weights)[:, None])
        return cls(np.hstack([columns if axes is None else columns @ axes, ones]), scale, axes, standardize)

    def weights_of(
        self, found: Float[np.ndarray, "targets classes columns"]
    ) -> Float[np.ndarray, "targets classes features"]:
        """Weights for the features as given, the intercept last."""
        weights = found[:, :, :-1] if self.axes is None else found[:, :, :-1] @ self.axes.T
        weights = weights / self.scale.deviation
        return np.concatenate([weights, (found[:, :, -1] - weights @ self.scale.mean)[:, :, None]], axis=2)


def _principal_axes(x: Float[np.ndarray, "items features"]) -> Float[np.ndarray, "features columns"] | None:
    """Orthonormal axes along which the columns of `x` are uncorrelated; None if there are too many."""
    n_items, n_features = x.shape
    if min(n_items, n_features) > MOST_ROTATED:
        return None
    if n_features <= n_items:
        return np.asarray(np.linalg.eigh(x.T @ x)[1])
    # With more features than items, the weights lie in the space that the items span.
    size, axes = np.linalg.eigh(x @ x.T)
    kept = size > 1e-12 * max(size[-1], 1e-300)
    return np.asarray(x.T @ (axes[:, kept] / np.sqrt(size[kept])))


def minimum_of(loss: SoftmaxLoss, start: Float[np.ndarray, "targets parameters"], scaled: bool) -> Minimum:
    """The minimum of every target: first steps in single precision if the features are standardized."""
    n_targets, _, n_features = loss.label_sums.shape
    coarse, rounding = (loss.single_precision(), 1e-6) if scaled else (loss, 1e-11)
    first = minimize(coarse, start, COARSE, FIRST_STEPS, rounding)
    steps = first.iterations
    if not first.converged.all():
        if isinstance(loss.x, np.ndarray) and n_features <= min(FEATURES_PER_TARGET * n_targets, MOST_ROTATED + 1):
            coarse = coarse.with_class_curvature(first.points)
        first = minimize(coarse, first.points, COARSE, MOST_COARSE_STEPS, rounding)
        steps = steps + first.iterations
    last = minimize(replace(coarse, x=loss.x), first.points, TOLERANCE, MOST_STEPS)
    return replace(last, iterations=steps + last.iterations)
