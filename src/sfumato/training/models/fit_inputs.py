"""What models are fitted to: features, distributions and weights of the same items, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from sfumato.tables.columns import check_probs
from sfumato.tables.errors import BadTable, ErrorLocation, wrong_shape


@dataclass(frozen=True, eq=False)
class FitInputs:
    """Features (an array or a CSR matrix), one distribution per target and item, and one weight per item."""

    x: Any
    probs: Float[np.ndarray, "targets items classes"]
    weights: Float[np.ndarray, "items"]

    @classmethod
    def checked(cls, x: Any, probs: Any, weights: Any = None) -> FitInputs:
        """The inputs as float64, or an error that says what is wrong with them."""
        features = checked_features(x)
        labels = np.asarray(probs)
        if labels.ndim != 3 or labels.dtype.kind not in "fiub" or labels.shape[2] < 2 or not len(labels):
            found = f"labels of shape {labels.shape} and type {labels.dtype}"
            raise wrong_shape(found, "numbers, targets x items x at least 2 classes", "stack the labels of all targets")
        if labels.shape[1] != features.shape[0]:
            found = f"{features.shape[0]:,} rows of inputs and labels of {labels.shape[1]:,} items"
            raise wrong_shape(found, "the same items in both", "give the inputs in the order of the labels")
        labels = labels.astype(np.float64)
        check_probs(labels.reshape(-1, labels.shape[2]))
        return cls(features, labels, _checked_weights(weights, labels.shape[1]))


def checked_features(x: Any, n_features: int | None = None) -> Any:
    """Items x features as float64, dense or CSR; an error unless all are finite and there are `n_features`."""
    features: Any = x.tocsr() if hasattr(x, "tocsr") else np.asarray(x)
    if features.ndim != 2 or features.dtype.kind not in "fiub" or 0 in features.shape:
        found = f"inputs of shape {features.shape} and type {features.dtype}"
        raise wrong_shape(found, "numbers, items x features", "give one row of numbers per item")
    if n_features is not None and features.shape[1] != n_features:
        found = f"inputs with {features.shape[1]:,} columns"
        raise wrong_shape(found, f"{n_features:,}, as in training", "compute the same features as for training")
    features = features.astype(np.float64)
    values = features.data if hasattr(features, "tocsr") else features
    if not np.isfinite(values).all():
        rows = features.tocoo().row if hasattr(features, "tocsr") else np.arange(len(features))
        row = int(rows[np.argmax(~np.isfinite(values).reshape(len(rows), -1).all(axis=1))])
        fix = "fill in missing values, or leave the item out"
        raise BadTable("a value that is not finite", "finite numbers", fix, "not-finite", ErrorLocation(row=row))
    return features


@dataclass(frozen=True, eq=False)
class FeatureScale:
    """Mean and standard deviation of each feature over the training items; 0 and 1 if features are used as given."""

    mean: Float[np.ndarray, "features"]
    deviation: Float[np.ndarray, "features"]

    @classmethod
    def of(cls, x: Any, weights: Float[np.ndarray, "items"], standardize: bool) -> FeatureScale:
        """Of dense features, if `standardize`; a constant feature has deviation 1."""
        if not standardize or not isinstance(x, np.ndarray):
            return cls(np.zeros(x.shape[1]), np.ones(x.shape[1]))
        share = weights / weights.sum()
        mean = share @ x
        deviation = np.sqrt(share @ (x - mean) ** 2)
        return cls(mean, np.where(deviation > 1e-12 * np.abs(mean), deviation, 1.0))

    def standardized(self, x: Any) -> Any:
        """The features with this mean and deviation taken out; sparse features unchanged."""
        return (x - self.mean) / self.deviation if isinstance(x, np.ndarray) else x


def softmax(logits: Float[np.ndarray, "items classes"]) -> Float[np.ndarray, "items classes"]:
    """The distribution of each row of logits; a logit of minus infinity gives probability 0."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def _checked_weights(weights: Any, n_items: int) -> Float[np.ndarray, "items"]:
    if weights is None:
        return np.ones(n_items)
    given = np.asarray(weights)
    if given.shape != (n_items,) or given.dtype.kind not in "fiub":
        found, expected = (
            f"weights of shape {given.shape} and type {given.dtype}",
            f"one number for each of {n_items:,}",
        )
        raise wrong_shape(found, expected, "give one weight per item")
    given = given.astype(np.float64)
    bad = ~(np.isfinite(given) & (given >= 0))
    if bad.any() or not given.any():
        row = int(np.argmax(bad))
        found = f"the weight {given[row]:g}" if bad.any() else "only weights of 0"
        expected = "finite weights, 0 or more, not all 0"
        raise BadTable(
            found, expected, "correct the weights", "bad-weight", ErrorLocation(row=row if bad.any() else None)
        )
    return given
