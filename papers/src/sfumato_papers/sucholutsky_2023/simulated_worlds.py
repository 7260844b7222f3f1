"""Simulated worlds of Sections 4 and 5: what each type of label recovers of them, and which is worth its price."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np

import sfumato
from sfumato.evaluation.rank_correlation import spearman
from sfumato.planning.goals import UTILITIES, subjective_loss
from sfumato.planning.informativeness.embedding import Gnmds
from sfumato.planning.informativeness.label_types import HardLabels, SoftLabelType, SparseLabels
from sfumato.planning.informativeness.simulation import Cells, GridCell, SimulationGrid
from sfumato.planning.label_choice import LabelQuestion
from sfumato.planning.label_prices import tradeoff_of
from sfumato.reporting.charts import Chart, Field, heat_map
from sfumato.tables.base_table import rows_of
from sfumato.tables.files import read_rows
from sfumato_papers.finding import Estimate, Finding, Statement, chart_columns
from sfumato_papers.paper import Part, Rerun, Scale, once

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


def share_better(cells: Sequence[GridCell]) -> float:
    """The share of worlds in which soft labels recover at least as much as hard ones."""
    soft, hard = (
        {(cell.n, cell.k, cell.d, cell.seed): cell.rho for cell in cells if cell.kind == kind}
        for kind in ("soft", "hard")
    )
    return float(np.mean([soft[world] >= hard[world] for world in soft if world in hard]))


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


BETAS = (0.01, 1.0, 10.0)
"""How much cost hurts: with 1, the dearest labels of the map, 90 soft ones of 90 classes, cost one unit of utility."""
DEAREST = LARGEST**2
FEW = 22
"""Points or classes that count as few."""
EXAMPLE = (80, 20)
"""The data set of the paper's example."""

Gains = Mapping[tuple[str, float], Mapping[tuple[int, int], float]]


def cost_benefit(rerun: Rerun) -> Part:
    cells = worlds(rerun)
    gains = gains_of(cells)
    findings: list[Finding | Statement] = [_few(gains), *_high_beta(gains), *_low_beta(gains)]
    findings += [
        Finding(
            f"The example (n = {EXAMPLE[0]}, k = {EXAMPLE[1]}), `sfumato plan labels`",
            f"{name}, β = {beta:g}",
            None,
            Estimate(gain),
            how="advantage of soft labels; the paper does not say in what unit its β = 10 is; here soft labels of all "
            "items cost β units of utility",
        )
        for (name, beta), gain in example_gains().items()
    ]
    about = (
        "L = β c - u(ρ), u linear, sigmoid or logit, ρ the mean over d = 5, 25, 125 of the simulations; n hard labels "
        "cost n, n soft labels nk, as the paper assumes, here as shares of 90 x 90: with β = 1 the dearest labels of "
        "the map cost one unit of utility. Preferred is the smaller loss."
    )
    title = "When soft labels are worth as many times the price as there are classes"
    smaller = scaled_down(rerun.scale)
    return Part("Figure 1, cost-benefit; Section 5", title, findings, about, smaller, (_gain_maps(gains),))


def gains_of(cells: Sequence[GridCell]) -> dict[tuple[str, float], dict[tuple[int, int], float]]:
    """How much lower the loss of soft labels is, by utility, β, and number of points and classes."""
    soft, hard = (_mean_by_size(cells, kind) for kind in ("soft", "hard"))
    found: dict[tuple[str, float], dict[tuple[int, int], float]] = {}
    for utility_name, utility in UTILITIES.items():
        for beta in BETAS:
            found[utility_name, beta] = {
                (n, k): subjective_loss(hard[n, k], n / DEAREST, utility=utility, beta=beta)
                - subjective_loss(soft[n, k], n * k / DEAREST, utility=utility, beta=beta)
                for n, k in soft
            }
    return found


def example_gains() -> dict[tuple[str, float], float]:
    """How much lower the loss of soft labels is in the paper's example, as `sfumato plan labels` computes it."""
    n, k = EXAMPLE
    question = LabelQuestion(n, k, (HardLabels(), SoftLabelType()))
    hard, soft = question.grid().run(workers=1, cache=False)[0].rho(items_only=False).mean(axis=0).tolist()
    found = {}
    for name in UTILITIES:
        for beta in BETAS:
            tradeoff = tradeoff_of(n * k, utility=name, beta=beta)
            found[name, beta] = tradeoff.loss(hard, n) - tradeoff.loss(soft, n * k)
    return found


def _mean_by_size(cells: Sequence[GridCell], kind: str) -> dict[tuple[int, int], float]:
    by_size: dict[tuple[int, int], list[float]] = {}
    for cell in of_kind(cells, kind):
        by_size.setdefault((cell.n, cell.k), []).append(cell.rho)
    assert all(len(each) == len(DIMENSIONS) for each in by_size.values())
    return {size: float(np.mean(each)) for size, each in by_size.items()}


def _few(gains: Gains) -> Statement:
    """The first regularity: few classes or few points."""
    found = {
        key: float(np.mean([gain > -0.05 for (n, k), gain in each.items() if min(n, k) <= FEW]))
        for key, each in gains.items()
    }
    says = "in all cases, when k or n is low, soft labels are roughly as preferred as hard ones, or more"
    shares = ", ".join(f"{share:.0%} ({name}, β = {beta:g})" for (name, beta), share in found.items())
    ours, how = f"k or n at most {FEW}: {shares}", "roughly: a loss at most 0.05 higher"
    return Statement("Few classes or points", says, min(found.values()) > 0.95, ours, how)


def _high_beta(gains: Gains) -> list[Statement]:
    high = max(BETAS)
    return [
        Statement(
            f"High β, {name} utility",
            "with an emphasis on cost, hard labels become preferable as n and k both increase",
            holds=_at(gains[name, high], min) > 0 > _at(gains[name, high], max),
            ours=f"β = {high:g}: soft labels' advantage {_at(gains[name, high], min):+.2f} with fewest, "
            f"{_at(gains[name, high], max):+.2f} with most of both",
        )
        for name in dict.fromkeys(name for name, _ in gains)
    ]


def _low_beta(gains: Gains) -> list[Statement]:
    low = min(BETAS)
    shares = {
        name: float(np.mean([gain > 0 for gain in each.values()]))
        for (name, beta), each in gains.items()
        if beta == low
    }
    return [
        Statement(
            f"Low β, {name} utility",
            "with an emphasis on performance, soft labels remain preferable as n and k increase",
            holds=_at(gains[name, low], max) > 0 and share > 0.95,
            ours=f"β = {low:g}: preferred in {share:.0%} of the sizes; advantage {_at(gains[name, low], max):+.2f} "
            "with most of both",
        )
        for name, share in shares.items()
    ]


def _at(gains: Mapping[tuple[int, int], float], which: Callable[[Iterable[tuple[int, int]]], tuple[int, int]]) -> float:
    return gains[which(gains)]


def _gain_maps(gains: Gains) -> Chart:
    rows = []
    for (name, beta), each in gains.items():
        largest = max(map(abs, each.values()))
        rows += [(f"{name}, β = {beta:g}", n, k, gain, gain / largest) for (n, k), gain in each.items()]
    return heat_map(
        "figure-1-cost-benefit",
        title="Whether soft labels are worth their price depends on the price and on what recovery is worth",
        caption="Loss of hard minus loss of soft labels, relative to the largest of each map: blue where soft labels "
        "are preferred. A soft label is taken to cost as many hard ones as there are classes, as in the paper.",
        data=chart_columns(("case", "n", "k", "gain", "relative"), rows),
        x=Field("n", "points (n)", ",d"),
        y=Field("k", "classes (k)", ",d"),
        value=Field("relative", "advantage of soft labels, relative", "+.2f", domain=(-1.0, 1.0)),
        tooltip=(Field("gain", "advantage", "+.3f"),),
        panel="case",
        about=0.0,
    )
