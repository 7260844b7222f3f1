"""Section 5 and the bottom of Figure 1: which labels are worth their price."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from sfumato.planning.goals import UTILITIES, subjective_loss
from sfumato.planning.informativeness.simulation import GridCell
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, heat_map
from sfumato_papers.chart_data import chart_columns
from sfumato_papers.finding import Estimate, Finding, Statement
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.sucholutsky_2023 import simulated_worlds
from sfumato_papers.sucholutsky_2023.simulated_worlds import DIMENSIONS, LARGEST, of_kind

BETAS = (0.01, 1.0, 10.0)
"""How much cost hurts: costs are shares of what the dearest cell costs, 90 soft labels of 90 classes."""
DEAREST = LARGEST**2
FEW = 22
"""Points or classes that count as few."""
EXAMPLE = (80, 20)
"""The data set of the paper's example."""

Gains = Mapping[tuple[str, float], Mapping[tuple[int, int], float]]


def cost_benefit(rerun: Rerun) -> Part:
    cells = simulated_worlds.worlds(rerun)
    gains = gains_of(cells)
    findings: list[Finding | Statement] = [_few(gains), *_high_beta(gains), *_low_beta(gains)]
    near = min(gains["linear", 1.0], key=lambda size: abs(size[0] - EXAMPLE[0]) + abs(size[1] - EXAMPLE[1]))
    findings += [
        Finding(
            f"The example (n = {EXAMPLE[0]}, k = {EXAMPLE[1]}), nearest cell n = {near[0]}, k = {near[1]}",
            f"{name}, β = {beta:g}",
            None,
            Estimate(gains[name, beta][near]),
            how="advantage of soft labels; in what unit of cost the paper's β = 10 is, it does not say",
        )
        for name, beta in gains
    ]
    about = (
        "L = β c - u(ρ), u linear, sigmoid or logit, ρ the mean over d = 5, 25, 125 of the simulations; n hard labels "
        "cost n, n soft labels nk, as the paper assumes, here as shares of 90 x 90. Preferred is the smaller loss."
    )
    title = "When soft labels are worth as many times the price as there are classes"
    smaller = simulated_worlds.scaled_down(rerun.scale)
    return Part("Figure 1, cost-benefit; Section 5", title, findings, about, smaller, (_maps(gains),))


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


def _maps(gains: Gains) -> Chart:
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
