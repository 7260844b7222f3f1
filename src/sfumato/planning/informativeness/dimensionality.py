"""Dimensionality: how many numbers an item would need to say as much as its label, and what fewer classes lose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import svd

from sfumato.planning.informativeness.embedding import Embedder, centred_ranks, correlation, recovery
from sfumato.planning.informativeness.kinds import LabelType, SparseLabels, TopClassLabels
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.planning.informativeness.unfolding import SpectralUnfolding
from sfumato.tables.settings import at_least


@dataclass(frozen=True)
class EffectiveDimensionality:
    """The fewest principal components that recover as much as labels do; all of them, where even those do not."""

    n_components: int
    rho: float
    """What these components recover."""
    reached: bool


def principal_components(world: LatentWorld) -> Float[np.ndarray, "objects components"]:
    """The objects of a world along their principal components, strongest first."""
    objects = world.objects - world.objects.mean(axis=0)
    u, s, _ = svd(objects, full_matrices=False, lapack_driver="gesvd")
    return np.asarray(u * s, np.float64)


def component_rho(world: LatentWorld, n_components: int) -> float:
    """What the first `n_components` principal components recover: about the most that so many numbers can say."""
    kept = principal_components(world)[:, : at_least("n_components", n_components, 1)]
    return recovery(found=kept @ kept.T, true=world.cosines())


def effective_dimensionality(world: LatentWorld, rho: float) -> EffectiveDimensionality:
    """The effective dimensionality of labels that recover `rho` of a world (Sucholutsky et al. 2023)."""
    components, true = principal_components(world), centred_ranks(world.cosines())
    found = np.zeros((len(components), len(components)))
    reached = 0.0
    for i, component in enumerate(components.T):
        found += np.outer(component, component)
        reached = correlation(centred_ranks(found), true)
        if reached >= rho:
            return EffectiveDimensionality(i + 1, reached, reached=True)
    return EffectiveDimensionality(components.shape[1], reached, reached=False)


def judged_rho(
    world: LatentWorld,
    kind: LabelType,
    *,
    rng: np.random.Generator,
    noise: float = 0.0,
    noise_rng: np.random.Generator | None = None,
    embedder: Embedder | None = None,
) -> float:
    """What labels of a kind recover of a world; `rng` is for initial values, `noise_rng` for what people mistake."""
    orders = kind.judge(world, noise=noise, rng=noise_rng)
    embedding = (embedder or SpectralUnfolding()).embed(orders, rng=rng)
    return recovery(found=embedding.gram(), true=world.cosines())


@dataclass(frozen=True, eq=False)
class SparsityCurve:
    """What is recovered with so many classes (or components) an item, by kind."""

    kept: tuple[int, ...]
    components: Float[np.ndarray, "kept"]
    sparse: Float[np.ndarray, "kept"]
    top_class: Float[np.ndarray, "kept"]


def sparsity_curve(
    world: LatentWorld,
    *,
    rng: np.random.Generator,
    noise_rng: Callable[[], np.random.Generator] | None = None,
    kept: Sequence[int] | None = None,
    noise: float = 0.0,
    embedder: Embedder | None = None,
) -> SparsityCurve:
    """Recovery by the number of classes that a label keeps: of each item its own, or for all items the same.

    Sparse labels say that the classes left out lie below; labels of the top classes say nothing of those. With as many
    classes as there are, both are soft labels. `noise_rng` makes the generator of the noise: the same for all points
    of the curve, so that they differ by what is kept alone.
    """
    kept = tuple(kept or range(1, world.n_classes + 1))
    rhos = [
        [
            judged_rho(
                world, kind, rng=rng, noise=noise, noise_rng=noise_rng() if noise_rng else None, embedder=embedder
            )
            for kind in (SparseLabels(h), TopClassLabels(h))
        ]
        for h in kept
    ]
    sparse, top_class = np.array(rhos).T
    return SparsityCurve(kept, np.array([component_rho(world, h) for h in kept]), sparse, top_class)
