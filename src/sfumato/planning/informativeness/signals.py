"""Signals: what the answers of each kind of question keep of a full soft label, for formulas and simulations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, final

import numpy as np
from jaxtyping import Float

from sfumato.planning.informativeness.embedding import recovery
from sfumato.planning.informativeness.informativeness import information_ratio
from sfumato.planning.informativeness.kinds import (
    HardLabels,
    LabelSet,
    LabelType,
    SimilarityLabels,
    SoftLabelType,
    SparseLabels,
    TripletLabels,
)
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.planning.informativeness.rank_orders import RankedLists, checked_labels
from sfumato.planning.informativeness.unfolding import SpectralUnfolding
from sfumato.tables.errors import unknown

TOKENS_ON = 3
MOST_SIMULATED = 200
YES, UNSURE = 0.5, 0.1
"""From which share of the most probable class on somebody says yes to another, or is unsure."""


@final
@dataclass(frozen=True)
class Graded(LabelSet):
    """Yes (1), unsure (1/2) or no (0) for every class: an order of three steps, most classes being tied."""

    title: ClassVar[str] = "graded"

    def n_triplets(self, n: int, k: int) -> float:
        """`n (2k - 3) + k m (2n - 3m)`, `m = n / k`: one class is a yes and one unsure, all others are a no."""
        m = n / k
        return n * (2 * k - 3) + k * m * (2 * n - 3 * m)

    def labels(self, soft: Float[np.ndarray, "points classes"]) -> Float[np.ndarray, "points classes"]:
        """The answers, as shares."""
        felt = checked_labels(soft) / np.nanmax(soft, axis=1, keepdims=True)
        graded = np.where(np.isnan(felt), np.nan, (felt >= UNSURE) / 2 + (felt >= YES) / 2)
        return np.asarray(graded / np.nansum(graded, axis=1, keepdims=True))


SIGNALS: Mapping[str, Callable[[int, int], LabelType]] = MappingProxyType(
    {
        "choice": lambda n, k: HardLabels(),  # noqa: ARG005
        "top_two": lambda n, k: SparseLabels(min(2, k)),  # noqa: ARG005
        "plausible": lambda n, k: Graded(),  # noqa: ARG005
        "sliders": lambda n, k: SoftLabelType(),  # noqa: ARG005
        "tokens": lambda n, k: SparseLabels(min(TOKENS_ON, k)),  # noqa: ARG005
        "typicality": lambda n, k: SparseLabels(1),  # noqa: ARG005
        "similarity": lambda n, k: SimilarityLabels(),  # noqa: ARG005
        "triplet": lambda n, k: TripletLabels(n),  # noqa: ARG005
        "mixture": lambda n, k: SparseLabels(min(2, k)),  # noqa: ARG005
    }
)
"""By kind of question, for `n` items and `k` classes: the kind of label whose triplets are counted and simulated.

Tokens are taken to lie on three classes. Similarity is every pair of items judged, triplets are one question an item.
"""


def signal_of(kind: str, n: int, k: int) -> LabelType:
    """What answers of a kind say about `n` items of `k` classes."""
    if kind not in SIGNALS:
        raise unknown("kind", kind, list(SIGNALS))
    return SIGNALS[kind](n, k)


def ratio_of(kind: str, n: int, k: int) -> float:
    """The information ratio of one answer an item, by formula: of all questions about items and classes, as a share."""
    return information_ratio(signal_of(kind, n, k).n_triplets(n, k), n + k)


def answers_an_item(kind: str, n: int) -> float:
    """Answers an item that the signal of a kind takes: one, or half of all others where every pair is judged."""
    return (n - 1) / 2 if kind == "similarity" else 1.0


def simulated_rho(
    kind: str, world: LatentWorld, *, n_answers: int = 1, noise: float, rng: np.random.Generator
) -> float:
    """What answers of a kind recover of the similarities of a world's points, `n_answers` people about each.

    Everybody sees every distance with an error of their own, labels are averaged over people and unfolded. Kinds that
    do not label items are judged once.
    """
    n = world.n_points
    signal = signal_of(kind, n, world.n_classes)
    if isinstance(signal, LabelSet):
        seen = [signal.labels(world.soft_labels(noise=noise, rng=rng)) for _ in range(n_answers)]
        orders = RankedLists.of_labels(np.mean(seen, axis=0))
    else:
        orders = signal.judge(world, noise=noise, rng=rng)
    return recovery(found=SpectralUnfolding().embed(orders).gram()[:n, :n], true=world.cosines())
