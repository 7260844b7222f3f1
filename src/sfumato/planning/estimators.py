"""From counts to soft labels, and how far these are from the truth: the two estimators that replays compare."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import xlogy

from sfumato.planning.indices.known import ItemPosteriors
from sfumato.planning.prior import fit_prior

CONSTANTS = np.geomspace(1e-3, 2, 34)
ADD_CONSTANT, BAYES = "add-constant", "bayes"


@dataclass(frozen=True)
class Loss:
    """How far estimates are from the truth, on average over items; logarithms in nats."""

    log_loss: float
    kl: float
    total_variation: float
    squared_error: float


def loss_of(estimate: Float[np.ndarray, "items classes"], truth: Float[np.ndarray, "items classes"]) -> Loss:
    """Log-loss `-sum_k q_k log p_k`, KL divergence (log-loss less the entropy of q) total variation, `|p - q|^2`."""
    log_loss = -xlogy(truth, estimate).sum(axis=1).mean()
    entropy = -xlogy(truth, truth).sum(axis=1).mean()
    distance = np.abs(estimate - truth).sum(axis=1).mean() / 2
    squared = ((estimate - truth) ** 2).sum(axis=1).mean()
    return Loss(float(log_loss), float(log_loss - entropy), float(distance), float(squared))


def add_constant(
    counts: Float[np.ndarray, "items classes"], truth: Float[np.ndarray, "items classes"]
) -> Float[np.ndarray, "items classes"]:
    """`(c + a) / (n + a K)` with the constant `a` that is best by log-loss *on the truth itself*.

    Nobody can choose it so well in earnest: as a baseline it is favoured, which keeps what is compared with it honest.
    """
    # A log-loss needs only how much truth stands at each count and at each total, of which there are few.
    count, of_count = _truth_at(counts, truth)
    total, of_total = _truth_at(counts.sum(axis=1, keepdims=True), truth.sum(axis=1, keepdims=True))
    n_classes = counts.shape[1]
    gains = [of_count @ np.log(count + a) - of_total @ np.log(total + a * n_classes) for a in CONSTANTS]
    best = CONSTANTS[int(np.argmax(gains))]
    return np.asarray((counts + best) / (counts.sum(axis=1, keepdims=True) + best * n_classes))


def bayes(counts: Float[np.ndarray, "items classes"]) -> Float[np.ndarray, "items classes"]:
    """The posterior mean under a Dirichlet mixture fitted on these very counts: it never sees the truth."""
    rows, place = np.unique(counts, axis=0, return_inverse=True)
    return np.asarray(ItemPosteriors(rows, fit_prior(counts)).mean[place.ravel()])


def _truth_at(counts: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different counts, and how much truth there is at each."""
    found, place = np.unique(counts, return_inverse=True)
    return found, np.bincount(place.ravel(), truth.ravel())
