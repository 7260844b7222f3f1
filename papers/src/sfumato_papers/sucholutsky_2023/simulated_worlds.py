"""Simulated worlds of Section 4 (points around centroids, judged by each type of label), and what is recovered of them.

The grid is stored in the folder of the rerun by its settings, and run once.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np

import sfumato
from sfumato.evaluation.rank_correlation import spearman
from sfumato.planning.informativeness.embedding import Gnmds
from sfumato.planning.informativeness.label_types import HardLabels, SoftLabelType, SparseLabels
from sfumato.planning.informativeness.simulation import Cells, GridCell, SimulationGrid
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, heat_map
from sfumato.tables.base_table import rows_of
from sfumato.tables.files import read_rows
from sfumato_papers.chart_data import chart_columns
from sfumato_papers.finding import Estimate, Finding, Statement
from sfumato_papers.paper import Part, Rerun, Scale, once
from sfumato_papers.sucholutsky_2023.geometry_runs import share_better

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


@once
def worlds(rerun: Rerun) -> tuple[GridCell, ...]:
    """What every kind recovers in every world of the grid."""
    return run_once(grid(rerun.scale), rerun).cells


@once
def gnmds_worlds(rerun: Rerun) -> tuple[GridCell, ...]:
    """The same worlds by GNMDS in as many dimensions as each has, which is the paper's method."""
    some = sizes(rerun.scale)
    grids = [SimulationGrid(n=some, k=some, d=(d,), embedder=Gnmds(d)) for d in DIMENSIONS]
    return tuple(cell for each in grids for cell in run_once(each, rerun).cells)


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
    return rerun.folder / "worlds" / f"{digest[:16]}.parquet"


def n_processes(rerun: Rerun) -> int:
    return rerun.processes or os.cpu_count() or 1


def of_kind(cells: Sequence[GridCell], kind: str, d: int | None = None) -> list[GridCell]:
    """The cells of one kind of label; `d` None is all dimensions."""
    return [cell for cell in cells if cell.kind == kind and d in (None, cell.d)]


def scaled_down(scale: Scale) -> str:
    if scale == Scale.FULL:
        return ""
    n = len(sizes(scale))
    return f"{n} x {n} numbers of points and classes, evenly spread from 3 to 90, for all 88 x 88"


KINDS = {"soft": "Soft labels", "hard": "Hard labels", SPARSE: "Sparse labels, 2 classes"}
RHO = Field("rho", "rank correlation with the truth (ρ)", ".2f", domain=(0.0, 1.0))


def simulations(rerun: Rerun) -> Part:
    cells = worlds(rerun)
    by_gnmds = gnmds_worlds(rerun)
    findings: list[Finding | Statement] = []
    for d in DIMENSIONS:
        for kind, name in KINDS.items():
            findings.append(Finding(name, f"mean ρ, d = {d}", None, mean_rho(of_kind(cells, kind, d)), places=2))
        for kind in ("soft", "hard"):
            found = mean_rho(of_kind(by_gnmds, kind, d))
            findings.append(Finding(f"{KINDS[kind]}, by GNMDS", f"mean ρ, d = {d}", None, found, places=2))
    findings += [
        _share("Soft against hard labels", cells),
        _share("Soft against hard labels, by GNMDS", by_gnmds),
        _translates(cells),
        *_phases(cells),
    ]
    n = len(of_kind(cells, "soft"))
    about = (
        f"{n:,} worlds: k standard normal centroids in d dimensions, n points around them with deviation 1, labels as "
        "in Section 3 without noise. Recovered by spectral unfolding, which needs no iterations, and next to it by "
        "GNMDS in d dimensions, the paper's method. ρ: Spearman's, of the recovered Gram matrix with true cosines, "
        "over points and centroids. The paper prints no mean ρ, so these have no verdict."
    )
    title = "What is recovered from soft, hard and sparse labels"
    return Part("Figure 1, simulations; Section 4", title, findings, about, scaled_down(rerun.scale), (_maps(cells),))


def mean_rho(cells: Sequence[GridCell]) -> Estimate:
    """The mean over worlds, with the t interval for other worlds of these sizes."""
    rho = np.array([cell.rho for cell in cells])
    half = 1.96 * rho.std(ddof=1) / np.sqrt(len(rho))
    mean = float(rho.mean())
    return Estimate(mean, float(mean - half), float(mean + half), "95% over the worlds of the grid")


def _share(row: str, cells: Sequence[GridCell]) -> Statement:
    share = share_better(cells)
    return Statement(
        row,
        "soft labels should generally lead to better performance than hard labels",
        holds=share > 0.95,
        ours=f"soft ≥ hard in {share:.1%} of {len(of_kind(cells, 'soft')):,} worlds",
    )


def _translates(cells: Sequence[GridCell]) -> Statement:
    every = [cell for kind in ("soft", "hard") for cell in of_kind(cells, kind)]
    over = {
        name: spearman(np.array([c.information_ratio for c in some]), np.array([c.rho for c in some]))
        for name, some in (
            ("both kinds", every),
            ("soft alone", of_kind(cells, "soft")),
            ("hard alone", of_kind(cells, "hard")),
        )
    }
    return Statement(
        "Information ratio and ρ",
        "a higher information ratio translates into better performance",
        holds=min(over.values()) > 0,
        ours="rank correlation " + ", ".join(f"{value:+.2f} over {name}" for name, value in over.items()),
        how="within soft labels the ratio is highest where points and classes are few, and there ρ varies most",
    )


def _phases(cells: Sequence[GridCell]) -> list[Statement]:
    """How ρ goes along the paths that the three regimes are about: on average over dimensions."""
    sizes = sorted({cell.n for cell in cells})
    low, middle, high = sizes[1], sizes[len(sizes) // 2], sizes[-1]

    def rho(kind: str, n: int, k: int) -> float:
        return float(np.mean([c.rho for c in of_kind(cells, kind) if (c.n, c.k) == (n, k)]))

    paths = {
        "many-shot": ([(middle, low), (high, low)], f"n from {middle} to {high} at k = {low}"),
        "one-shot": ([(middle, middle), (high, high)], f"n = k from {middle} to {high}"),
        "less-than-one-shot": ([(low, middle), (low, high)], f"k from {middle} to {high} at n = {low}"),
    }
    found = []
    for kind, (name, (path, words)) in product(("soft", "hard"), paths.items()):
        before, after = (rho(kind, *size) for size in path)
        says, holds = "ρ degrades with size", after < before
        if (kind, name) == ("soft", "one-shot"):
            says, holds = "ρ does not degrade as both increase", after >= before - 0.01
        found.append(Statement(f"Phase: {kind}, {name}", says, holds, f"{words}: ρ from {before:.3f} to {after:.3f}"))
    return found


def _maps(cells: Sequence[GridCell]) -> Chart:
    shown = [cell for kind in KINDS for cell in of_kind(cells, kind)]
    soft, hard = (np.mean([cell.rho for cell in of_kind(cells, kind)]) for kind in ("soft", "hard"))
    return heat_map(
        "figure-1-simulations",
        title="Soft labels recover most of the geometry, hard labels little of it",
        caption=f"ρ of recovered with true similarities: {soft:.2f} on average with soft labels, {hard:.2f} with hard "
        "ones. Sparse labels keep the two largest classes of each point.",
        data=chart_columns(
            ("labels", "n", "k", "rho", "information_ratio"),
            [
                (f"{KINDS[c.kind].partition(',')[0].lower()} · d = {c.d}", c.n, c.k, c.rho, c.information_ratio)
                for c in shown
            ],
        ),
        x=Field("n", "points (n)", ",d"),
        y=Field("k", "classes (k)", ",d"),
        value=RHO,
        panel="labels",
        tooltip=(Field("information_ratio", "information ratio", ".3~f"),),
    )
