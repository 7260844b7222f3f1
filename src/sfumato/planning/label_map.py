"""The comparison of hard, sparse and soft labels over numbers of items and classes, around the user's own: recovery,
loss, and the effective dimensionality of soft labels (figures 1 and 2 of Sucholutsky et al. 2023)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.planning.informativeness.kind_recovery import Progress, RecoveryGrid, SimulatedKind, WorldSize
from sfumato.planning.informativeness.label_types import HardLabels, LabelType, SoftLabelType, SparseLabels
from sfumato.planning.label_choice import MOST_ITEMS, LabelChoice, LabelQuestion
from sfumato.planning.label_prices import LabelPrices, Tradeoff
from sfumato.tables.base_table import RecordTable
from sfumato.tables.setting_checks import at_least

MAP_KINDS: tuple[LabelType, ...] = (HardLabels(), SparseLabels(2), SoftLabelType())
LEAST = 3
MOST_SIDE = 200
"""The largest number of items or classes next to the user's own."""
N_SIDE = 7
WORLDS_EACH = 2
"""Worlds per cell and number of dimensions."""


@dataclass(frozen=True)
class MapCell:
    """One kind of label for `n` items of `k` classes: mean rho over worlds, in `d` dimensions or in all (`d = 0`), its
    price in hard labels and its loss.

    `needed` is the effective dimensionality of soft labels, NaN if it was not computed; `yours` is 1 for the user's own
    numbers, with at most 300 items simulated.
    """

    n: int
    k: int
    d: int
    kind: str
    rho: float
    total: float
    loss: float
    needed: float
    yours: int


@dataclass(frozen=True, eq=False, repr=False)
class LabelMap(RecordTable):
    """One row per number of items, of classes, of dimensions, and kind."""

    record = MapCell
    cells: tuple[MapCell, ...]

    def loss(self, n: int, k: int, kind: str) -> float:
        """The loss over all dimensions."""
        return next(c.loss for c in self.cells if (c.n, c.k, c.d, c.kind) == (n, k, 0, kind))

    def advantage(self, n: int, k: int) -> float:
        """The loss of hard minus that of soft labels: above 0 soft labels are preferred."""
        return self.loss(n, k, "hard") - self.loss(n, k, "soft")

    @property
    def sizes(self) -> tuple[tuple[int, int], ...]:
        return tuple(dict.fromkeys((cell.n, cell.k) for cell in self.cells))


def around(own: int, n_side: int = N_SIDE) -> tuple[int, ...]:
    """Numbers from 3 to twice the user's own (90 or more, 200 at most), evenly spaced in logarithms, own included."""
    largest = max(min(max(2 * own, 90), MOST_SIDE), own)
    found = np.unique(np.geomspace(LEAST, largest, n_side).round().astype(int))
    found[np.abs(np.log(found / max(own, 1))).argmin()] = own
    return tuple(sorted(set(found.tolist())))


def label_map(
    question: LabelQuestion,
    prices: LabelPrices,
    tradeoff: Tradeoff,
    *,
    own: LabelChoice | None = None,
    n: Sequence[int] | None = None,
    k: Sequence[int] | None = None,
    worlds_each: int = WORLDS_EACH,
    workers: int = 0,
    cache: bool = True,
    progress: Progress | None = None,
) -> LabelMap:
    """The map. Prices per judgment, and what a unit of utility is worth, are those of the user's own numbers: in
    other cells only the numbers of items and classes differ.

    In the user's own cell, kinds that `own` compares have its recovery, from more worlds.
    """
    at_least("worlds_each", worlds_each, 1)
    own_n, own_k = question.n_items, question.n_classes
    sizes = [(a, b) for a in n or around(own_n) for b in k or around(own_k)]
    noises = [question.noise[kind.title].value if kind.title in question.noise else 0.0 for kind in MAP_KINDS]
    grid = RecoveryGrid(
        tuple(WorldSize(min(a, MOST_ITEMS), b, question.dimensions) for a, b in sizes),
        tuple(SimulatedKind(kind, noise) for kind, noise in zip(MAP_KINDS, noises, strict=True)),
        worlds_each * len(question.dimensions), question.embedder, question.seed, with_dimensionality=True,
    )  # fmt: skip
    cells = []
    for (a, b), found in zip(sizes, grid.run(workers=workers, cache=cache, progress=progress), strict=True):
        rho = found.rho(items_only=question.items_only)
        for d in (0, *question.dimensions):
            in_d = found.dimensions == d if d else np.ones(len(rho), bool)
            known = found.needed[in_d]
            needed = float(known[known >= 0].mean()) if (known >= 0).any() else float("nan")
            for i, kind in enumerate(MAP_KINDS):
                yours = int((a, b) == (own_n, own_k))
                total, mean = prices.total(kind, a, b), float(rho[in_d, i].mean())
                if yours and own is not None:
                    mean = own.mean_rho(kind.title, d, mean)
                cells.append(MapCell(a, b, d, kind.title, mean, total, tradeoff.loss(mean, total), needed, yours))
    return LabelMap(tuple(cells))
