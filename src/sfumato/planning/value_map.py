"""The map of value: which kind of label recovers most, over numbers of items and classes, at equal items and budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sfumato.planning.costs import CostModel
from sfumato.planning.informativeness.kinds import LabelSet
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.planning.informativeness.signals import MOST_SIMULATED, ratio_of, signal_of, simulated_rho
from sfumato.tables.settings import at_least, bad_setting, not_negative
from sfumato.tables.table import Table, columns_of

NUMBERS_OF_ITEMS = (10, 20, 50, 100)
NUMBERS_OF_CLASSES = (2, 5, 10, 20, 50)
MOST_ANSWERS = 40
SEEDS = 3


@dataclass(frozen=True)
class MapCell:
    """What one kind recovers of `n` items of `k` classes: with an answer an item, and with what one answer of the
    dearest kind costs spent on this one. `best_items` and `best_budget` are 1 where no other kind recovers more,
    `yours` is 1 where the numbers are those of the study (simulated with at most 200 items)."""

    n: int
    k: int
    kind: str
    information_ratio: float
    rho_items: float
    n_answers: int
    rho_budget: float
    best_items: int
    best_budget: int
    yours: int


@dataclass(frozen=True, eq=False, repr=False)
class ValueMap(Table):
    """One row a number of items, number of classes and kind; those of the study last."""

    cells: tuple[MapCell, ...]

    classes = ()

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        return columns_of(self.cells[start:stop], MapCell)

    def __len__(self) -> int:
        return len(self.cells)

    def best(self, n: int, k: int, *, at_equal_budget: bool) -> str:
        """The kind that recovers most of `n` items of `k` classes."""
        of_size = [cell for cell in self.cells if (cell.n, cell.k) == (n, k)]
        return next(cell.kind for cell in of_size if (cell.best_budget if at_equal_budget else cell.best_items))


def value_map(
    kinds: Sequence[str],
    costs: CostModel,
    *,
    yours: tuple[int, int] | None = None,
    n: Sequence[int] = NUMBERS_OF_ITEMS,
    k: Sequence[int] = NUMBERS_OF_CLASSES,
    d: int = 5,
    noise: float = 1.0,
    seeds: int = SEEDS,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> ValueMap:
    """The map, by simulation: worlds of every size, people who see distances with an error of `noise` standard
    deviations, labels unfolded, Spearman's rho with the true similarities of the items.

    At equal budget a kind that costs a tenth is asked of ten people, at most 40. Kinds that do not label items
    (similarities, triplets) are left out: their price grows otherwise. Without noise further people add nothing, and
    equal items and equal budget would be one map.
    """
    not_negative("noise", noise)
    size = yours or (max(n), min(k))
    chosen = [kind for kind in kinds if isinstance(signal_of(kind, *size), LabelSet)]
    if not chosen:
        raise bad_setting("kinds", ", ".join(kinds), "one kind or more that labels items")
    prices = {kind: costs.seconds(kind) for kind in chosen}
    dearest = max(prices.values())
    n_answers = {
        kind: int(min(max(dearest / price, 1), MOST_ANSWERS)) if price > 0 else MOST_ANSWERS
        for kind, price in prices.items()
    }
    sizes = [(items, classes) for items in n for classes in k if classes <= items and (items, classes) != yours]
    sizes += [yours] if yours else []
    cells: list[MapCell] = []
    for i, (items, classes) in enumerate(sizes):
        rho = _simulated(chosen, n_answers, items, classes, d, noise, at_least("seeds", seeds, 1), rng)
        cells += _compared(
            [
                MapCell(
                    items, classes, kind, ratio_of(kind, items, classes), rho[kind][0], n_answers[kind], rho[kind][1],
                    0, 0, int((items, classes) == yours),
                )
                for kind in chosen
            ]
        )  # fmt: skip
        if progress:
            progress(i + 1, len(sizes))
    return ValueMap(tuple(cells))


def _simulated(
    kinds: Sequence[str],
    n_answers: dict[str, int],
    n: int,
    k: int,
    d: int,
    noise: float,
    seeds: int,
    rng: np.random.Generator,
) -> dict[str, tuple[float, float]]:
    """The mean recovery of each kind, with one answer and with so many, in the same worlds."""
    rhos: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
    for _ in range(seeds):
        world = LatentWorld.drawn(max(min(n, MOST_SIMULATED), k, 3), k, d, rng=rng)
        known: dict[tuple[object, int], float] = {}
        for kind in kinds:
            for m in (1, n_answers[kind]):
                # Kinds that say the same, and the same number of answers, are simulated once.
                if (said := (signal_of(kind, n, k), m)) not in known:
                    known[said] = simulated_rho(kind, world, n_answers=m, noise=noise, rng=rng)
            signal = signal_of(kind, n, k)
            rhos[kind].append((known[signal, 1], known[signal, n_answers[kind]]))
    return {kind: (float(np.mean(some, axis=0)[0]), float(np.mean(some, axis=0)[1])) for kind, some in rhos.items()}


def _compared(cells: list[MapCell]) -> list[MapCell]:
    items, budget = max(cell.rho_items for cell in cells), max(cell.rho_budget for cell in cells)
    return [
        replace(cell, best_items=int(cell.rho_items == items), best_budget=int(cell.rho_budget == budget))
        for cell in cells
    ]
