"""Embeddings of judgments: spectral unfolding in closed form, GNMDS, how much of the true similarities they recover,
and the effective dimensionality of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, final, runtime_checkable

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh, svd

from sfumato.evaluation.rank_correlation import average_ranks
from sfumato.planning.informativeness.answered_triplets import RankedLists
from sfumato.planning.informativeness.label_types import LabelType
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.tables.errors import BadTable
from sfumato.tables.growable_array import freeze
from sfumato.tables.setting_checks import at_least, not_negative

DIGITS = 9
"""Similarities that differ by less than this share of the largest are tied."""


@dataclass(frozen=True, eq=False)
class Embedding:
    """A position for every object: points, then classes (if judgments were about classes)."""

    objects: Float[np.ndarray, "objects dimensions"]
    loss: float
    """The remaining loss of the method; NaN for a closed form."""
    n_iterations: int
    converged: bool

    def __post_init__(self) -> None:
        freeze(self, "objects")

    def gram(self) -> Float[np.ndarray, "objects objects"]:
        """Inner products, the recovered similarities."""
        return np.asarray(self.objects @ self.objects.T, np.float64)


@runtime_checkable
class Embedder(Protocol):
    """How judgments become positions."""

    def embed(self, orders: RankedLists, *, rng: np.random.Generator) -> Embedding:
        """An embedding; `rng` is for initial values only, never the stream of the data."""


def recovery(*, found: Float[np.ndarray, "objects objects"], true: Float[np.ndarray, "all_there all_there"]) -> float:
    """Spearman's rho of two similarity matrices above their diagonals; 0 if one of them is constant.

    Similarities that differ only by rounding are tied. `true` may be larger: then only its first objects are compared.
    """
    n = len(found)
    if len(true) < n or n < 3:
        raise BadTable(
            f"similarities of {n} objects, and true ones of {len(true)}",
            "three objects or more, all with true similarities",
            "compare with the world that the labels came from",
            "bad-similarities",
        )
    return correlation(centered_ranks(found), centered_ranks(true[:n, :n]))


def centered_ranks(similarities: Float[np.ndarray, "objects objects"]) -> Float[np.ndarray, "pairs"]:
    """The ranks above the diagonal minus their mean; for comparing one matrix with many."""
    values = similarities[np.triu_indices(len(similarities), 1)]
    largest = np.abs(values).max()
    ranks = average_ranks(np.round(values / largest, DIGITS) if largest > 0 else values)
    return np.asarray(ranks - ranks.mean(), np.float64)


def correlation(a: Float[np.ndarray, "pairs"], b: Float[np.ndarray, "pairs"]) -> float:
    """The correlation of two centered vectors; 0 if one of them is constant."""
    size = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / size) if size > 0 else 0.0


PASSES = 30
"""Iterations of centering rows and columns if entries are missing."""


@final
@dataclass(frozen=True)
class SpectralUnfolding:
    """Positions of points and classes from the singular vectors of a matrix of ranks.

    Every judged pair gets its rank, from 0 (farthest) to 1, in each list that contains it; for labels these are the
    ranks in its row and in its column, which are averaged. The matrix `A` of averages is double-centered, as in
    Torgerson's scaling (1952) and metric unfolding (Schoenemann 1970), and `A = U S V'` gives points `U S^(1/2)` and
    classes `V S^(1/2)`, scaled by `(n/k)^(1/4)` and its inverse so that both have equal mean length. All components are
    kept: the true dimension need not be known. Pairs without judgments count as average.

    Takes milliseconds, without iterations or initial values, and recovers soft labels about as well as GNMDS: the
    default. Prefer `Gnmds` if few pairs were judged (missing entries, single triplets) or the loss matters.
    """

    def embed(self, orders: RankedLists, *, rng: np.random.Generator | None = None) -> Embedding:  # noqa: ARG002
        """The embedding, strongest dimension first; deterministic."""
        nearness = mean_ranks(orders)
        n, k = orders.n_points, orders.n_classes
        if k:
            block = np.full((n, k), np.nan)
            block[orders.first, orders.second - n] = nearness
            # The QR-based driver: the faster one may not converge on degenerate matrices.
            u, s, v = svd(centered(block), full_matrices=False, lapack_driver="gesvd", check_finite=False)
            stretch = (n / k) ** 0.25
            objects = np.concatenate([u * stretch, v.T / stretch]) * np.sqrt(s)
        else:
            square = np.full((n, n), np.nan)
            square[orders.first, orders.second] = square[orders.second, orders.first] = nearness
            values, vectors = eigh(centered(square), check_finite=False)
            objects = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1]
        return Embedding(objects, loss=np.nan, n_iterations=0, converged=True)


def mean_ranks(orders: RankedLists) -> Float[np.ndarray, "pairs"]:
    """The rank of every pair, averaged over its lists: 0 is farthest, 1 nearest; ties share their mean."""
    lengths = np.diff(orders.starts)
    place = np.arange(len(orders.pair)) - np.repeat(orders.starts[:-1], lengths)
    tied = np.bincount(orders.tie)
    mean_place = np.bincount(orders.tie, weights=place) / np.maximum(tied, 1)
    rank = 1 - (mean_place[orders.tie] + 0.5) / np.repeat(lengths, lengths)
    n_pairs = len(orders.first)
    held = np.bincount(orders.pair, minlength=n_pairs)
    return np.bincount(orders.pair, weights=rank, minlength=n_pairs) / np.maximum(held, 1)


def centered(matrix: Float[np.ndarray, "rows columns"]) -> Float[np.ndarray, "rows columns"]:
    """The matrix minus its row and column means, over known entries; 0 elsewhere."""
    known = ~np.isnan(matrix)
    if known.all():
        values = matrix - matrix.mean(axis=1, keepdims=True)
        return np.asarray(values - values.mean(axis=0), np.float64)
    values = np.where(known, matrix, 0.0)
    rows, columns = (np.maximum(known.sum(axis=axis, keepdims=True), 1) for axis in (1, 0))
    for _ in range(PASSES):
        values = np.where(known, values - values.sum(axis=1, keepdims=True) / rows, 0.0)
        values = np.where(known, values - values.sum(axis=0, keepdims=True) / columns, 0.0)
    return values


def principal_components(world: LatentWorld) -> Float[np.ndarray, "objects components"]:
    """The objects of a world along their principal components, strongest first."""
    objects = world.objects - world.objects.mean(axis=0)
    u, s, _ = svd(objects, full_matrices=False, lapack_driver="gesvd")
    return np.asarray(u * s, np.float64)


def component_rho(world: LatentWorld, n_components: int) -> float:
    """What the first `n_components` principal components recover."""
    kept = principal_components(world)[:, : at_least("n_components", n_components, 1)]
    return recovery(found=kept @ kept.T, true=world.cosines())


def effective_dimensionality(world: LatentWorld, rho: float) -> int:
    """The fewest principal components that recover as much as labels that recover `rho` of a world; all of them if even
    those do not (Sucholutsky et al. 2023)."""
    components, true = principal_components(world), centered_ranks(world.cosines())
    found = np.zeros((len(components), len(components)))
    for i, component in enumerate(components.T):
        found += np.outer(component, component)
        if correlation(centered_ranks(found), true) >= rho:
            return i + 1
    return int(components.shape[1])


def label_rho(
    world: LatentWorld,
    kind: LabelType,
    *,
    rng: np.random.Generator,
    noise: float = 0.0,
    noise_rng: np.random.Generator | None = None,
    embedder: Embedder | None = None,
) -> float:
    """What labels of a kind recover of a world; `rng` is for initial values, `noise_rng` for errors of perception."""
    orders = kind.judge(world, noise=noise, rng=noise_rng)
    embedding = (embedder or SpectralUnfolding()).embed(orders, rng=rng)
    return recovery(found=embedding.gram(), true=world.cosines())


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
