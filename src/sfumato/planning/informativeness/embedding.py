"""Embeddings: where judgments put the objects, and how much of the truth that recovers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from scipy.stats import rankdata

from sfumato.planning.informativeness.rank_orders import RankedLists
from sfumato.tables.errors import BadTable
from sfumato.tables.growable_array import freeze

DIGITS = 9
"""Similarities closer than this share of the largest are tied."""


@dataclass(frozen=True, eq=False)
class Embedding:
    """A place for every object: points, then classes (where judgments were about classes)."""

    objects: Float[np.ndarray, "objects dimensions"]
    loss: float
    """What is left unexplained, in the method's own unit; NaN for a closed form."""
    n_iterations: int
    converged: bool

    def __post_init__(self) -> None:
        freeze(self, "objects")

    def gram(self) -> Float[np.ndarray, "objects objects"]:
        """Inner products, the recovered similarities."""
        return np.asarray(self.objects @ self.objects.T, np.float64)


@runtime_checkable
class Embedder(Protocol):
    """How judgments become places."""

    def embed(self, orders: RankedLists, *, rng: np.random.Generator) -> Embedding:
        """An embedding; `rng` is for initial values alone, never the stream that the data came from."""


def recovery(*, found: Float[np.ndarray, "objects objects"], true: Float[np.ndarray, "all_there all_there"]) -> float:
    """Spearman's rho of two similarity matrices above their diagonals; 0 where one of them is constant.

    Similarities that differ by rounding alone are tied: points with equal labels have equal places, and an order among
    them would be that of the machine. `true` may be larger: then only its first objects are compared.
    """
    n = len(found)
    if len(true) < n or n < 3:
        raise BadTable(
            f"found similarities of {n} objects beside {len(true)} true ones",
            expected="three objects or more, all of which have true similarities",
            fix="compare with the world that the labels came from",
            code="bad-similarities",
        )
    return correlation(centred_ranks(found), centred_ranks(true[:n, :n]))


def centred_ranks(similarities: Float[np.ndarray, "objects objects"]) -> Float[np.ndarray, "pairs"]:
    """The ranks of what lies above the diagonal, less their mean; for comparing one matrix with many."""
    ranks = rankdata(_rounded(similarities[np.triu_indices(len(similarities), 1)]))
    return np.asarray(ranks - ranks.mean(), np.float64)


def correlation(a: Float[np.ndarray, "pairs"], b: Float[np.ndarray, "pairs"]) -> float:
    """The correlation of two centred vectors; 0 where one of them is constant."""
    size = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / size) if size > 0 else 0.0


def _rounded(values: Float[np.ndarray, "pairs"]) -> Float[np.ndarray, "pairs"]:
    largest = np.abs(values).max()
    return np.round(values / largest, DIGITS) if largest > 0 else values
