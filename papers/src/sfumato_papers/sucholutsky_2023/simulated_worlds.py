"""The worlds of Section 4: points around centroids, judged by every kind of label, and what is recovered of them.

The grid is kept under the rerun's folder by its settings, and run once.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import sfumato
from sfumato.planning.informativeness.gnmds import Gnmds
from sfumato.planning.informativeness.label_types import HardLabels, SoftLabelType, SparseLabels
from sfumato.planning.informativeness.simulation import Cells, GridCell, SimulationGrid
from sfumato.tables.files import read_rows
from sfumato.tables.table import rows_of
from sfumato_papers.paper import Rerun, Scale

DIMENSIONS = (5, 25, 125)
N_SIZES = {Scale.SMALL: 10, Scale.CPU: 20, Scale.FULL: 88}
"""How many numbers of points, and of classes, from 3 to 90."""
SMALLEST, LARGEST = 3, 90
KEPT = 2
"""Classes that a sparse label keeps."""
SPARSE = SparseLabels(KEPT).title


def sizes(scale: Scale) -> tuple[int, ...]:
    """Evenly spread over the paper's 3 to 90."""
    return tuple(np.unique(np.linspace(SMALLEST, LARGEST, scale.of(N_SIZES)).round().astype(int)).tolist())


def grid(scale: Scale) -> SimulationGrid:
    """Every number of points and of classes, in every dimension, by spectral unfolding."""
    some = sizes(scale)
    return SimulationGrid(n=some, k=some, d=DIMENSIONS, kinds=(SoftLabelType(), HardLabels(), SparseLabels(KEPT)))


def gnmds_grid(scale: Scale, d: int) -> SimulationGrid:
    """The same worlds of one dimension by GNMDS in as many dimensions, which is the paper's method."""
    some = sizes(scale)
    return SimulationGrid(n=some, k=some, d=(d,), embedder=Gnmds(d))


def worlds(rerun: Rerun) -> tuple[GridCell, ...]:
    """What every kind recovers in every world of the grid."""
    return rerun.once("worlds", lambda: run_once(grid(rerun.scale), rerun).cells)


def gnmds_worlds(rerun: Rerun) -> tuple[GridCell, ...]:
    return rerun.once(
        "gnmds worlds",
        lambda: tuple(cell for d in DIMENSIONS for cell in run_once(gnmds_grid(rerun.scale, d), rerun).cells),
    )


def run_once(asked: SimulationGrid, rerun: Rerun) -> Cells:
    """The cells of a grid: those kept under its settings, or else they are simulated now and kept."""
    path = kept_at(asked, rerun)
    if path.exists():
        return Cells(rows_of(read_rows(path), GridCell))
    cells = asked.run(n_processes=n_processes(rerun))
    path.parent.mkdir(parents=True, exist_ok=True)
    cells.write(path)
    return cells


def kept_at(asked: SimulationGrid, rerun: Rerun) -> Path:
    """Where the cells of a grid are kept: other settings, or another version of this package, is another file."""
    digest = hashlib.sha256(f"{sfumato.__version__} {asked!r}".encode()).hexdigest()
    return rerun.runs / str(rerun.scale) / "worlds" / f"{digest[:16]}.parquet"


def n_processes(rerun: Rerun) -> int:
    return rerun.processes or os.cpu_count() or 1


def of_kind(cells: Sequence[GridCell], kind: str, d: int | None = None) -> list[GridCell]:
    """The cells of one kind of label; `d` None is all dimensions."""
    return [cell for cell in cells if cell.kind == kind and d in (None, cell.d)]


def scaled_down(scale: Scale) -> str:
    """In what the grid is smaller than the paper's."""
    if scale == Scale.FULL:
        return ""
    n = len(sizes(scale))
    return f"{n} x {n} numbers of points and classes, evenly spread from 3 to 90, for all 88 x 88"
