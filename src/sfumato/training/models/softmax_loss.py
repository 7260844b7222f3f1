"""Cross-entropy of softmax models with linear logits: loss, gradient and preconditioners for many targets at once.

    loss_t(W) = sum_i weight_i CE(q_ti, softmax(W x_i + offset_i)) + penalty_t / 2 sum_kj scale_j W_kj^2

As the loss is linear in the labels q, they enter once, through `sum_i weight_i q_ti x_i'`. What remains is one matrix
product for the logits of all targets, and one for their gradients.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from sfumato.training.models.lbfgs import Evaluation, Vectors, Which

Features = Any
"""Items x features: an array, or a `scipy.sparse` matrix in CSR format."""
LOGITS_PER_BLOCK = 400_000
"""How many logits are computed at once: few enough to stay in the cache, enough for fast matrix products."""
SMALLEST_SHARE = 1e-9
"""Eigenvalues below this share of the largest one count as zero."""


@dataclass(frozen=True, eq=False)
class _Block:
    """Some items: their features, and the predictions of every target for them."""

    rows: slice
    x: Features
    probs: Float[np.ndarray, "targets classes items"]
    log_sums: Float[np.ndarray, "targets items"]


@dataclass(frozen=True, eq=False)
class SoftmaxLoss:
    """The loss of every target over shared features; a point has the weights of a target, classes x features.

    A class without any label has probability 0. `squares` has the sum of squares of each feature: the curvature, if
    features are uncorrelated. `inverses` has, per class, the inverse of `sum_i weight_i p_ik (1 - p_ik) x_i x_i'` plus
    the penalty, averaged over targets: a better preconditioner that takes longer to prepare.
    """

    x: Features
    label_sums: Float[np.ndarray, "targets classes features"]
    weights: Float[np.ndarray, "items"]
    penalty: Float[np.ndarray, "targets features"]
    present: Bool[np.ndarray, "targets classes"]
    squares: Float[np.ndarray, "features"]
    offset: Float[np.ndarray, "classes items"] | None = None
    inverses: Float[np.ndarray, "classes features features"] | None = None

    @classmethod
    def of(
        cls,
        x: Features,
        probs: Float[np.ndarray, "targets items classes"],
        weights: Float[np.ndarray, "items"],
        penalty: Float[np.ndarray, "targets features"],
        offset: Float[np.ndarray, "items classes"] | None = None,
    ) -> SoftmaxLoss:
        weighted = probs * weights[:, None]
        sums = _times(np.ascontiguousarray(weighted.transpose(0, 2, 1)), x)
        squared = x.multiply(x) if hasattr(x, "multiply") else x * x
        shift = None if offset is None else np.ascontiguousarray(offset.T)
        return cls(x, sums, weights, penalty, weighted.any(axis=1), np.asarray(squared.T @ weights), shift)

    def single_precision(self) -> SoftmaxLoss:
        """The same loss with matrix products in single precision, for the first steps."""
        return replace(self, x=self.x.astype(np.float32))

    def evaluate(self, points: Vectors, which: Which) -> Evaluation:
        shape = len(points), *self.label_sums.shape[1:]
        weights = points.reshape(shape)
        penalized = self.penalty[which, None, :] * weights
        loss = np.einsum("tkj,tkj->t", penalized / 2 - self.label_sums[which], weights)
        gradient = penalized - self.label_sums[which]
        curvature = np.zeros((*shape[:2], shape[1]))
        diagonal = np.einsum("tkk->tk", curvature)
        for block in self._blocks(weights, which):
            item_weights = self.weights[block.rows]
            weighted = block.probs * item_weights.astype(block.probs.dtype)
            loss += block.log_sums @ item_weights
            gradient += _times(weighted, block.x)
            curvature -= weighted @ block.probs.transpose(0, 2, 1)
            diagonal += weighted.sum(axis=2)
        return Evaluation(loss, gradient.reshape(points.shape), curvature / self.weights.sum())

    def precondition(
        self, vectors: Vectors, curvature: Float[np.ndarray, "targets classes classes"], which: Which
    ) -> Vectors:
        given = vectors.reshape(len(vectors), *self.label_sums.shape[1:])
        solved = self._by_mean(given, curvature, which) if self.inverses is None else self._by_class(given, which)
        return np.asarray(solved.reshape(vectors.shape))

    def with_class_curvature(self, points: Vectors) -> SoftmaxLoss:
        """The same loss, preconditioned with the curvature of each class at `points`; for dense features."""
        n_targets, n_classes, n_features = self.label_sums.shape
        spread = np.empty((n_classes, len(self.weights)))
        for block in self._blocks(points.reshape(self.label_sums.shape), np.arange(n_targets)):
            spread[:, block.rows] = (block.probs * (1 - block.probs)).mean(axis=0) * self.weights[block.rows]
        ridge = self.penalty.mean(axis=0) + SMALLEST_SHARE * (1 + self.squares)
        inverses = np.empty((n_classes, n_features, n_features))
        single = self.x.astype(np.float32)
        for k in range(n_classes):
            scaled = single * np.sqrt(spread[k]).astype(np.float32)[:, None]
            inverses[k] = np.linalg.inv((scaled.T @ scaled).astype(np.float64) + np.diag(ridge))
        return replace(self, inverses=inverses)

    def _by_mean(
        self, vectors: Float[np.ndarray, "targets classes features"], curvature: Any, which: Which
    ) -> Float[np.ndarray, "targets classes features"]:
        """Divides by the mean curvature over items, (classes x classes), times the squares of features."""
        size, basis = np.linalg.eigh(curvature)
        size = np.where(size > SMALLEST_SHARE * size[:, -1:], size, 0)[:, :, None]
        divisor = size * self.squares + self.penalty[which, None, :]
        rotated = basis.transpose(0, 2, 1) @ vectors
        # Weights that change no prediction have no curvature, and no gradient.
        divided = np.divide(rotated, divisor, out=np.zeros_like(rotated), where=divisor > 0)
        return np.asarray(basis @ divided)

    def _by_class(
        self, vectors: Float[np.ndarray, "targets classes features"], which: Which
    ) -> Float[np.ndarray, "targets classes features"]:
        assert self.inverses is not None
        present = self.present[which][:, :, None]
        solved = (vectors.transpose(1, 0, 2) @ self.inverses).transpose(1, 0, 2) * present
        # The weights of all classes together change no prediction: their sum stays 0.
        return np.asarray((solved - solved.sum(axis=1, keepdims=True) / present.sum(axis=1, keepdims=True)) * present)

    def _blocks(self, weights: Float[np.ndarray, "targets classes features"], which: Which) -> Iterator[_Block]:
        """The predictions for all items, some at a time."""
        size = max(LOGITS_PER_BLOCK // (weights.shape[0] * weights.shape[1]), 64)
        flat = weights.reshape(-1, weights.shape[2]).astype(self.x.dtype)
        absent = None if self.present[which].all() else ~self.present[which]
        for first in range(0, len(self.weights), size):
            rows = slice(first, first + size)
            x = self.x[rows]
            logits = flat @ x.T if isinstance(x, np.ndarray) else np.ascontiguousarray((x @ flat.T).T)
            probs = logits.reshape(*weights.shape[:2], -1)
            if self.offset is not None:
                probs += self.offset[:, rows]
            if absent is not None:
                probs[absent] = -np.inf
            highest = probs.max(axis=1, keepdims=True)
            probs -= highest
            np.exp(probs, out=probs)
            sums = probs.sum(axis=1, keepdims=True)
            probs /= sums
            yield _Block(rows, x, probs, (np.log(sums) + highest)[:, 0])


def _times(
    weighted: Float[np.ndarray, "targets classes items"], x: Features
) -> Float[np.ndarray, "targets classes features"]:
    flat = weighted.reshape(-1, weighted.shape[2])
    product = flat @ x if isinstance(x, np.ndarray) else (x.T @ np.ascontiguousarray(flat.T)).T
    return np.asarray(product).reshape(*weighted.shape[:2], -1)
