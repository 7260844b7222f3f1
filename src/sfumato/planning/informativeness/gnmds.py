"""GNMDS: the embedding that violates the fewest judgments, computed without listing triplets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from sfumato.planning.informativeness.embedding import Embedding, SpectralUnfolding
from sfumato.planning.informativeness.triplets import RankedLists
from sfumato.tables.errors import BadTable
from sfumato.tables.settings import at_least, not_negative

FAINT = 0.01
MOST_DOUBLINGS = 10


@final
@dataclass(frozen=True)
class Gnmds:
    """Generalized non-metric multidimensional scaling in `n_dimensions` (Agarwal et al. 2007).

    Minimizes `sum max(0, 1 + |x_a - x_b|^2 - |x_a - x_c|^2)` over all triplets "a is nearer to b than to c", plus
    `ridge` times the squared length of all positions. The triplets of one ranked list are summed without listing them
    (see `gnmds_kernels`): a step costs at most `m log m` for a list of `m` judged pairs, not `m^2`. The steps are those
    of L-BFGS with the line search of Lewis and Overton (2013) for nonsmooth losses.

    Ends when two steps in a row lower the loss by less than `tolerance` per triplet, in units of the margin, which is
    1. A lower loss is not always closer to the truth, because some triplets of a label are false: after the unfolding,
    many more steps lower the loss much and improve the recovery a little. Use 0 for the loss itself.

    Starts from the spectral unfolding, at random, or at `start`. The loss is not convex: another start may end
    elsewhere. Prefer `SpectralUnfolding` for soft labels, which recovers as much in a fraction of the time.
    """

    n_dimensions: int
    n_iterations: int = 100
    tolerance: float = 1e-3
    ridge: float = 0.0
    random_start: bool = False

    def embed(
        self,
        orders: RankedLists,
        *,
        rng: np.random.Generator,
        start: Float[np.ndarray, "objects dimensions"] | None = None,
    ) -> Embedding:
        """The embedding after at most `n_iterations` steps; `converged` if no step improves it."""
        from sfumato.planning.informativeness.gnmds_kernels import minimize

        shape = orders.n_objects, at_least("n_dimensions", self.n_dimensions, 1)
        at_least("n_iterations", self.n_iterations, 1)
        not_negative("ridge", self.ridge)
        is_unfolded = start is None and not self.random_start
        if start is None:
            start = _unfolded(orders, shape, rng) if is_unfolded else rng.standard_normal(shape)
        places = np.array(start, np.float64, order="C")
        _check_places(places, shape)
        n_doublings = MOST_DOUBLINGS if is_unfolded else 0
        least_fall = not_negative("tolerance", self.tolerance) * orders.n_triplets
        report = np.zeros(2, np.int64)
        loss = minimize(*_lists(orders), n_doublings, self.n_iterations, least_fall, self.ridge, places, report)
        return Embedding(places, loss=loss, n_iterations=int(report[0]), converged=bool(report[1]))


@dataclass(frozen=True, eq=False)
class LossAndGradient:
    loss: float
    gradient: Float[np.ndarray, "objects dimensions"]


def loss_and_gradient(orders: RankedLists, places: Float[np.ndarray, "objects dimensions"]) -> LossAndGradient:
    """The loss of `Gnmds` without its ridge, and its gradient."""
    from sfumato.planning.informativeness.gnmds_kernels import evaluate

    places = np.array(places, np.float64, order="C")
    _check_places(places, (orders.n_objects, places.shape[-1]))
    gradient = np.zeros(places.shape)
    return LossAndGradient(evaluate(*_lists(orders), places, gradient), gradient)


def _unfolded(
    orders: RankedLists, shape: tuple[int, int], rng: np.random.Generator
) -> Float[np.ndarray, "objects dimensions"]:
    """The strongest components of the spectral unfolding, plus small noise.

    Without noise, positions that are 0 along a dimension would stay there: the loss is flat.
    """
    found = SpectralUnfolding().embed(orders).objects[:, : shape[1]]
    size = np.sqrt(np.vdot(found, found) / found.size)
    start = FAINT * (size or 1.0) * rng.standard_normal(shape)
    start[:, : found.shape[1]] += found
    return start


def _lists(orders: RankedLists) -> tuple[np.ndarray | int, ...]:
    arrays = (orders.first, orders.second, orders.starts, orders.pair, orders.tie)
    return *(np.ascontiguousarray(each, np.int64) for each in arrays), orders.n_points, orders.n_classes


def _check_places(places: np.ndarray, shape: tuple[int, int]) -> None:
    if places.shape != shape or not np.isfinite(places).all():
        raise BadTable(
            f"places of shape {places.shape}, or not all finite",
            f"finite places, objects x dimensions: {shape}",
            "give a position for every point and class",
            "bad-places",
        )
