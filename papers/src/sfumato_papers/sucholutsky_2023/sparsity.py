"""Figure 3, Section 6 and Figure 6: what labels of fewer classes recover, and how many classes are best worth it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from sfumato.jobs import run_jobs
from sfumato.planning.goals import UTILITIES, subjective_loss
from sfumato.planning.informativeness.answered_triplets import RankedLists
from sfumato.planning.informativeness.embedding import Gnmds, component_rho, recovery
from sfumato.planning.informativeness.label_types import HardLabels, SoftLabelType, SparseLabels, TopClassLabels
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.reporting.charts import Chart, Field, curve
from sfumato_papers.finding import Estimate, Finding, Statement, chart_columns
from sfumato_papers.paper import Part, Rerun, Scale, once
from sfumato_papers.sucholutsky_2023.simulated_worlds import n_processes

SIZES = ((30, 10), (90, 10), (90, 30), (30, 30))
D = 5
N_WORLDS = {Scale.SMALL: 4, Scale.CPU: 15, Scale.FULL: 40}
PCA, SPARSE, TOP, ZEROS = "PCA", "sparse", "top-class, missing", "top-class, zeros"
SOFT, HARD = "soft", "hard"
WAYS = (PCA, SPARSE, TOP, ZEROS, SOFT, HARD)
BETAS = (0.1, 1.0)
"""For the loss curves; costs are shares of a soft label over all classes."""


@dataclass(frozen=True)
class Recovered:
    """What is recovered in one world with so many classes (or components), over all objects and over points alone."""

    n: int
    k: int
    number: int
    kept: int
    way: str
    rho: float
    points_rho: float


def sparsity_curves(rerun: Rerun) -> Part:
    rows = recovered(rerun)
    findings: list[Finding | Statement] = []
    for way, how in ((ZEROS, "set to 0, as the paper does"), (TOP, "treated as not asked about")):
        for over, what in (("rho", "points and centroids"), ("points_rho", "points alone")):
            share, says = wins(rows, SPARSE, way, over), "sparse labels consistently outperform top-class labels"
            row = f"Sparse over top-class labels, dropped classes {how}, over {what}"
            ours = f"in {share:.0%} of {len(_inner(rows)):,} comparisons"
            why = "zeros claim that every point was found far from a class that nobody was asked about"
            is_first = (way, over) == (ZEROS, "rho")
            findings.append(Statement(row, says, share > 0.8, ours, why if is_first else ""))
    gap = [_by(rows, PCA)[key].rho - _by(rows, SPARSE)[key].rho for key in _inner(rows)]
    findings += [
        Statement(
            "PCA over sparse labels",
            "there is a gap between PCA and sparse labels",
            holds=float(np.mean(gap)) > 0 and float(np.mean(np.array(gap) > 0)) > 0.5,
            ours=f"{np.mean(gap):+.2f} in ρ on average; PCA is ahead in {np.mean(np.array(gap) > 0):.0%}",
            how=f"in {D} dimensions as many components are all there is, whatever the number of classes",
        ),
        *(
            Finding(way, f"mean ρ, n = {n}, k = {k}", None, _mean(rows, way, n, k), places=2)
            for way in WAYS
            for n, k in SIZES
        ),
    ]
    about = (
        f"Worlds in {D} dimensions, {rerun.scale.of(N_WORLDS)} of each size, embedded by GNMDS; every number of "
        "classes kept from 2 to one less than there are is a comparison. Top classes are those whose column alone says "
        "most about similarity."
    )
    title = "Label sparsity"
    smaller = f"{rerun.scale.of(N_WORLDS)} worlds of {len(SIZES)} sizes"
    return Part("Figure 3; Section 6", title, findings, about, smaller, (_curves(rows),))


def label_optimization(rerun: Rerun) -> Part:
    rows = recovered(rerun)
    losses = loss_curves(rows)
    findings: list[Finding | Statement] = []
    n_inner = 0
    for (utility, beta, n, k), curves in losses.items():
        best = min((loss, kept) for kept, loss in curves[SPARSE].items())
        ends = {SOFT: curves[SOFT][k], HARD: curves[HARD][k]}
        gain = min(ends.values()) - best[0]
        n_inner += gain > 0
        row, how = f"{utility}, β = {beta:g}, n = {n}, k = {k}", f"sparse labels of {best[1]} classes"
        column = f"loss below {min(ends, key=ends.__getitem__)} labels"
        findings.append(Finding(row, column, None, Estimate(gain), how=how))
    says = "it can often provide big gains over both hard and dense soft labels"
    ours = f"sparse labels have the lowest loss in {n_inner} of {len(losses)} cases"
    findings.append(Statement("Picking the right sparsity", says, n_inner > len(losses) / 2, ours))
    about = "L = β c - u(ρ); a label of h classes costs h/k, a soft one 1, a hard one 1/k. Means over the worlds above."
    title = "Optimizing label collection"
    smaller = f"{rerun.scale.of(N_WORLDS)} worlds of {len(SIZES)} sizes"
    return Part("Figure 6; Section 6", title, findings, about, smaller, (_loss_chart(losses),))


@once
def recovered(rerun: Rerun) -> list[Recovered]:
    """All worlds, kept numbers and ways; one process per core."""
    worlds = [(n, k, number) for n, k in SIZES for number in range(rerun.scale.of(N_WORLDS))]
    return [row for rows in run_jobs(in_world, worlds, workers=n_processes(rerun)) for row in rows]


def in_world(size: tuple[int, int, int]) -> list[Recovered]:
    """What every way recovers in one world."""
    n, k, number = size
    world = LatentWorld.sample(n, k, D, rng=np.random.default_rng([n, k, number]))
    soft, true = world.soft_labels(), world.cosines()
    rows = []

    def note(way: str, kept: int, gram: Float[np.ndarray, "objects objects"]) -> None:
        points = recovery(found=gram[:n, :n], true=true)
        rows.append(Recovered(n, k, number, kept, way, recovery(found=gram, true=true), points))

    note(SOFT, k, _gram(SoftLabelType().labels(soft)))
    note(HARD, k, _gram(HardLabels().labels(soft)))
    for kept in kept_numbers(k):
        top = TopClassLabels(kept).labels(soft)
        note(SPARSE, kept, _gram(SparseLabels(kept).labels(soft)))
        note(TOP, kept, _gram(top))
        note(ZEROS, kept, _gram(np.nan_to_num(top)))
        rows.append(Recovered(n, k, number, kept, PCA, component_rho(world, kept), np.nan))
    return rows


def kept_numbers(k: int) -> list[int]:
    """A few numbers of classes from 1 to all."""
    return sorted({1, 2, 3, 5, k, *np.linspace(1, k, 8).round().astype(int).tolist()} & set(range(1, k + 1)))


def _gram(labels: Float[np.ndarray, "points classes"]) -> Float[np.ndarray, "objects objects"]:
    return Gnmds(D).embed(RankedLists.of_labels(labels), rng=np.random.default_rng(0)).gram()


def wins(rows: list[Recovered], one: str, other: str, over: str) -> float:
    """How often `one` recovers more than `other`, where some classes are dropped and more than one is kept."""
    a, b = _by(rows, one), _by(rows, other)
    return float(np.mean([getattr(a[key], over) > getattr(b[key], over) for key in _inner(rows)]))


def _by(rows: list[Recovered], way: str) -> dict[tuple[int, int, int, int], Recovered]:
    return {(row.n, row.k, row.number, row.kept): row for row in rows if row.way == way}


def _inner(rows: list[Recovered]) -> list[tuple[int, int, int, int]]:
    return [key for key in _by(rows, SPARSE) if 1 < key[3] < key[1]]


def _mean(rows: list[Recovered], way: str, n: int, k: int) -> Estimate:
    """The mean over worlds, and over how many classes are kept."""
    by_world: dict[int, list[float]] = {}
    for row in rows:
        if (row.way, row.n, row.k) == (way, n, k):
            by_world.setdefault(row.number, []).append(row.rho)
    found = Estimate.over_seeds(float(np.mean(each)) for each in by_world.values())
    return replace(found, covers=f"95% over {len(by_world)} worlds")


def loss_curves(rows: list[Recovered]) -> dict[tuple[str, float, int, int], dict[str, dict[int, float]]]:
    """By utility, β and size: the loss of every way and number of classes, of mean ρ over worlds."""
    mean: dict[tuple[int, int, str, int], list[float]] = {}
    for row in rows:
        if row.way != PCA:
            mean.setdefault((row.n, row.k, row.way, row.kept), []).append(row.rho)
    found: dict[tuple[str, float, int, int], dict[str, dict[int, float]]] = {}
    for utility_name, utility in UTILITIES.items():
        for beta in BETAS:
            for (n, k, way, kept), rho in mean.items():
                cost = (1 if way == HARD else kept) / k
                loss = subjective_loss(float(np.mean(rho)), cost, utility=utility, beta=beta)
                found.setdefault((utility_name, beta, n, k), {}).setdefault(way, {})[kept] = loss
    return found


def _curves(rows: list[Recovered]) -> Chart:
    mean: dict[tuple[int, int, int, str], list[float]] = {}
    for row in rows:
        for kept in kept_numbers(row.k) if row.way in (SOFT, HARD) else (row.kept,):
            mean.setdefault((row.n, row.k, kept, row.way), []).append(row.rho)
    drawn = [(f"n = {n}, k = {k}", kept, way, float(np.mean(rho))) for (n, k, kept, way), rho in mean.items()]
    return curve(
        "figure-3",
        title="What labels of fewer classes recover",
        caption="ρ by the number of classes or components kept, means over worlds; soft labels keep all and hard "
        "labels one, so they are level. Top-class labels twice: dropped classes set to 0, and missing.",
        data=chart_columns(("size", "kept", "labels", "rho"), sorted(drawn)),
        x=Field("kept", "classes or components kept (k̂)", ",d", log=True),
        y=Field("rho", "rank correlation with the truth (ρ)", ".2f"),
        series="labels",
        panel="size",
    )


def _loss_chart(losses: dict[tuple[str, float, int, int], dict[str, dict[int, float]]]) -> Chart:
    rows = [
        (f"{utility}, β = {beta:g}", kept, way, loss)
        for (utility, beta, n, k), curves in losses.items()
        if (n, k) == (90, 30)
        for way, curve_of in curves.items()
        for kept, loss in (
            [(h, next(iter(curve_of.values()))) for h in kept_numbers(k)] if way in (SOFT, HARD) else curve_of.items()
        )
    ]
    return curve(
        "figure-6",
        title="The best number of classes to ask about",
        caption="n = 90, k = 30: loss by the number of classes kept; lower is better. Soft and hard labels are level.",
        data=chart_columns(("case", "kept", "labels", "loss"), sorted(rows)),
        x=Field("kept", "classes kept (k̂)", ",d", log=True),
        y=Field("loss", "loss"),
        series="labels",
        panel="case",
        own_y=True,
    )
