"""The simulations behind the figures of label geometry: small enough to be run while one waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.planning.costs import CostModel
from sfumato.planning.informativeness.embedding import component_rho, label_rho
from sfumato.planning.informativeness.label_types import HardLabels, SoftLabelType, SparseLabels, TopClassLabels
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.planning.informativeness.simulation import Cells, GridCell, SimulationGrid
from sfumato.planning.label_type_comparison import ValueMap, value_map
from sfumato.reporting.blocks import Columns, as_columns
from sfumato.tables.base_table import rows_of
from sfumato.tables.errors import BadTable
from sfumato.tables.files import read_rows
from sfumato_papers.finding import Estimate, chart_columns

SIZES = (3, 8, 20, 40, 65, 90)
DIMENSIONS = (5, 25, 125)
NOISES = (0.0, 0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
NOISY_SIZE = (60, 10, 5)
NOISY_SEEDS = 12
SPARSE_SIZES = ((30, 10), (90, 10), (90, 30))
SPARSE_DIMENSIONS = 5
SPARSE_SEEDS = 5
KINDS = ("choice", "top_two", "sliders")

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class GeometryRuns:
    """What was simulated: a grid of worlds, what noise does, what fewer classes lose, and the map of value.

    `size` is the number of items and of classes of the reader's own data.
    """

    size: tuple[int, int]
    cells: Cells
    noise: Columns
    sparsity: Columns
    values: ValueMap


def geometry_runs(
    n_items: int, n_classes: int, *, cells: Cells | None = None, seed: int = 0, progress: Progress | None = None
) -> GeometryRuns:
    """All simulations, in well under a minute; with `cells` of a grid that was run before, those are drawn."""
    grid = SimulationGrid(n=SIZES, k=SIZES, d=DIMENSIONS, seed=seed)
    rng = np.random.default_rng(seed)
    # First of all, for it refuses sizes that cannot be.
    values = value_map(KINDS, CostModel(), yours=(n_items, n_classes), rng=rng)
    return GeometryRuns(
        (n_items, n_classes),
        grid.run(progress=progress) if cells is None else cells,
        noise_runs(seed=seed),
        sparsity_runs(seed=seed),
        values,
    )


def noise_runs(*, seed: int = 0) -> Columns:
    """What soft, sparse and hard labels recover when people see distances with an error, in standard deviations."""
    n, k, d = NOISY_SIZE
    rows: list[tuple[Any, ...]] = []
    for noise in NOISES:
        kinds = (SoftLabelType(), SparseLabels(2), HardLabels())
        found = SimulationGrid((n,), (k,), (d,), kinds, n_seeds=NOISY_SEEDS, seed=seed, noise=noise).run().cells
        for kind in dict.fromkeys(cell.kind for cell in found):
            mean = Estimate.over_seeds(cell.rho for cell in found if cell.kind == kind)
            rows.append((noise, "sparse" if kind.startswith("sparse") else kind, mean))
    return as_columns(chart_columns(("noise", "kind", "rho"), rows))


def sparsity_runs(*, seed: int = 0) -> Columns:
    """What labels of so many classes recover, next to all (soft), one (hard), and as many principal components."""
    rows: list[tuple[Any, ...]] = []
    for n, k in SPARSE_SIZES:
        kept = sorted({*range(1, min(k, 5) + 1), *np.linspace(1, k, 8).round().astype(int).tolist()})
        rhos: dict[str, list[np.ndarray]] = {}
        for number in range(SPARSE_SEEDS):
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(n, k, number)))
            world = LatentWorld.sample(n, k, SPARSE_DIMENSIONS, rng=rng)
            curves = {
                "principal components": np.array([component_rho(world, h) for h in kept]),
                "sparse": np.array([label_rho(world, SparseLabels(h), rng=rng) for h in kept]),
                "top-class": np.array([label_rho(world, TopClassLabels(h), rng=rng) for h in kept]),
                "soft": np.full(len(kept), label_rho(world, SoftLabelType(), rng=rng)),
                "hard": np.full(len(kept), label_rho(world, HardLabels(), rng=rng)),
            }
            for kind, found in curves.items():
                rhos.setdefault(kind, []).append(found)
        for kind, runs in rhos.items():
            for h, of_worlds in zip(kept, np.array(runs).T, strict=True):
                rows.append((f"{n} items, {k} classes", h, kind, Estimate.over_seeds(of_worlds)))
    return as_columns(chart_columns(("size", "kept", "kind", "rho"), rows))


@dataclass(frozen=True)
class MeanCell:
    """What one kind of label recovers in worlds of one size, on average."""

    n: int
    k: int
    d: int
    kind: str
    information_ratio: float
    rho: float
    effective_dimensionality: float


def averaged(cells: Sequence[GridCell], kind: str) -> list[MeanCell]:
    """The cells of a kind, one for each size of worlds."""
    of_size: dict[tuple[int, int, int], list[GridCell]] = {}
    for cell in cells:
        if cell.kind == kind:
            of_size.setdefault((cell.n, cell.k, cell.d), []).append(cell)
    measures = ("information_ratio", "rho", "effective_dimensionality")
    return [
        MeanCell(*size, kind, *(float(np.mean([getattr(cell, name) for cell in some])) for name in measures))
        for size, some in of_size.items()
    ]


def share_better(cells: Sequence[GridCell]) -> float:
    """The share of worlds in which soft labels recover at least as much as hard ones."""
    soft, hard = (
        {(cell.n, cell.k, cell.d, cell.seed): cell.rho for cell in cells if cell.kind == kind}
        for kind in ("soft", "hard")
    )
    return float(np.mean([soft[world] >= hard[world] for world in soft if world in hard]))


def read_cells(path: str | Path) -> Cells:
    """The cells of a grid that was run before: `Grid(...).run().write(path)`."""
    rows = read_rows(path)
    cells = rows_of(rows, GridCell)
    if not {"soft", "hard"} <= {cell.kind for cell in cells}:
        found = "no cells of soft labels, or none of hard ones"
        expected = "the cells of a grid over soft and hard labels"
        raise BadTable(found, expected, "write them with Grid(...).run().write(path)", "bad-cells", path)
    return Cells(cells)
