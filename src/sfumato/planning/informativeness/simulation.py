"""Simulation of label types over numbers of points, classes and dimensions, as a table. Called by
`sfumato_papers`; `kind_recovery` simulates for plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from time import perf_counter

import numpy as np

from sfumato.jobs import run_jobs
from sfumato.planning.informativeness.answered_triplets import information_ratio
from sfumato.planning.informativeness.embedding import Embedder, SpectralUnfolding, effective_dimensionality, recovery
from sfumato.planning.informativeness.label_types import HardLabels, LabelType, SoftLabelType
from sfumato.planning.informativeness.latent_world import LatentWorld, check_world
from sfumato.tables.base_table import RecordTable
from sfumato.tables.errors import unknown
from sfumato.tables.setting_checks import at_least, bad_setting, not_negative

Size = tuple[int, int, int, int]
"""`n`, `k`, `d` and number of a world."""
ENGINES = {"processes": "local", "ray": "ray"}
"""Names of `--engine`, and of the engine of `run_jobs`."""
TOGETHER = 4
"""Worlds that are sent to a process at once."""
WORLD, NOISE, START = range(3)
"""The random streams of a cell: the truth, the noise, initial values."""


@dataclass(frozen=True)
class GridCell:
    """What one label type recovers in one world."""

    n: int
    k: int
    d: int
    kind: str
    seed: int
    n_triplets: int
    information_ratio: float
    rho: float
    """Over all judged objects: points and classes, or only points."""
    points_rho: float
    """Over points only, to compare types with and without classes."""
    effective_dimensionality: int
    seconds: float
    """The time of the embedding."""


@dataclass(frozen=True, eq=False, repr=False)
class Cells(RecordTable):
    """One row per cell, in the order of the grid; everything except `seconds` follows from the grid."""

    record = GridCell
    cells: tuple[GridCell, ...]


@dataclass(frozen=True)
class SimulationGrid:
    """Worlds of every size, judged by every label type. Types are compared in the same worlds, at equal `n`.

    The random draws of a world follow from `seed`, its size and its number, regardless of the rest of the grid.
    """

    n: tuple[int, ...] = (3, 13, 22, 32, 42, 51, 61, 71, 80, 90)
    k: tuple[int, ...] = (3, 13, 22, 32, 42, 51, 61, 71, 80, 90)
    d: tuple[int, ...] = (5, 25, 125)
    kinds: tuple[LabelType, ...] = (SoftLabelType(), HardLabels())
    n_seeds: int = 1
    seed: int = 0
    spread: float = 1.0
    noise: float = 0.0
    embedder: Embedder = field(default_factory=SpectralUnfolding)

    def __post_init__(self) -> None:
        if not self.kinds:
            raise bad_setting("kinds", "()", "one kind of label or more")
        at_least("n_seeds", self.n_seeds, 1)
        at_least("seed", self.seed, 0)
        not_negative("noise", self.noise)
        not_negative("spread", self.spread)
        if not self.worlds():
            raise bad_setting("n, k or d", "()", "one number each, or more")
        for n, k, d, _ in self.worlds():
            check_world(n, k, d)
        for kind, n, k in product(self.kinds, self.n, self.k):
            # Raises now, not after hours, if such labels are impossible.
            kind.n_triplets(n, k)

    def worlds(self) -> list[Size]:
        """The size of every world."""
        return list(product(self.n, self.k, self.d, range(self.n_seeds)))

    def run(
        self, *, n_processes: int = 1, engine: str = "processes", progress: Callable[[int, int], None] | None = None
    ) -> Cells:
        """All cells, by so many processes: one a core is best. With the engine "ray" they are those of a cluster.

        The figures do not depend on either. `progress` is called with the number of worlds done, and of all.
        """
        at_least("n_processes", n_processes, 1)
        check_engine(engine)
        worlds = self.worlds()
        some = 1 if n_processes == 1 and engine == "processes" else TOGETHER
        pieces = [worlds[i : i + some] for i in range(0, len(worlds), some)]
        cells: list[GridCell] = []
        n_done = 0
        results = run_jobs(self._cells_of, pieces, engine=ENGINES[engine], workers=n_processes)
        for piece, found in zip(pieces, results, strict=True):
            cells += found
            n_done += len(piece)
            if progress:
                progress(n_done, len(worlds))
        return Cells(tuple(cells))

    def _cells_of(self, worlds: Sequence[Size]) -> list[GridCell]:
        return [cell for size in worlds for cell in cells_in(self, size)]


def check_engine(name: str) -> None:
    """Raise an error if there is no such engine."""
    if name not in ENGINES:
        raise unknown("engine", name, list(ENGINES))


def cells_in(grid: SimulationGrid, size: Size) -> list[GridCell]:
    """What every label type of the grid recovers in one world."""
    n, k, d, number = size

    def stream(which: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(grid.seed, spawn_key=(*size, which)))

    world = LatentWorld.sample(n, k, d, rng=stream(WORLD), spread=grid.spread)
    true = world.cosines()
    cells = []
    for kind in grid.kinds:
        orders = kind.judge(world, noise=grid.noise, rng=stream(NOISE))
        begun = perf_counter()
        found = grid.embedder.embed(orders, rng=stream(START)).gram()
        seconds = perf_counter() - begun
        rho = recovery(found=found, true=true)
        points_rho = recovery(found=found[:n, :n], true=true) if n > 2 else float("nan")
        needed = effective_dimensionality(world, rho)
        ratio = information_ratio(orders.n_triplets, n + k)
        cells.append(GridCell(n, k, d, kind.title, number, orders.n_triplets, ratio, rho, points_rho, needed, seconds))
    return cells
