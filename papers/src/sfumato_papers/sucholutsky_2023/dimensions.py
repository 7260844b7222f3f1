"""Figure 2 and Section 6: how many principal components are worth as much as soft labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import pearsonr

from sfumato.planning.informativeness.embedding import component_rho, label_rho
from sfumato.planning.informativeness.label_types import SoftLabelType
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.planning.informativeness.simulation import GridCell
from sfumato.reporting.charts import Chart, Field, curve, heat_map, scatter
from sfumato_papers.finding import Estimate, Finding, Published, Statement, chart_columns
from sfumato_papers.paper import Part, Rerun
from sfumato_papers.sucholutsky_2023 import simulated_worlds
from sfumato_papers.sucholutsky_2023.simulated_worlds import DIMENSIONS, of_kind

PUBLISHED_R, PUBLISHED_P = Published("0.734"), 1e-15
EXAMPLES = ((30, 10), (60, 30), (90, 60))
"""Points and classes of the worlds whose curves are drawn; the paper does not name its three."""
EXAMPLE_DIMENSIONS = 25


def effective_dimensionality(rerun: Rerun) -> Part:
    cells = of_kind(simulated_worlds.worlds(rerun), "soft")
    findings: list[Finding | Statement] = [
        Finding(
            "r(information ratio, effective dimensionality)",
            "all d" if d is None else f"d = {d}",
            PUBLISHED_R,
            correlated(of_kind(cells, "soft", d)),
            how="the paper does not say over which d: each is given" if d is None else "",
        )
        for d in (None, *DIMENSIONS)
    ]
    p = max(float(pearsonr(*_columns(of_kind(cells, "soft", d))).pvalue) for d in DIMENSIONS)
    few = float(np.mean([2 * cell.effective_dimensionality <= cell.k for cell in cells]))
    findings += [
        Statement(
            "Strong positive correlation",
            "p < 10⁻¹⁵",
            holds=p < PUBLISHED_P,
            ours=f"p = {p:.1g} at most in any d, over {len(cells) // len(DIMENSIONS):,} worlds each",
        ),
        Statement(
            "Redundancy",
            "the effective dimensionality is generally much lower than the number of classes",
            holds=few > 0.5,
            ours=f"at most half the number of classes in {few:.0%} of the worlds",
        ),
    ]
    about = (
        f"Worlds and labels as in Section 4 ({len(cells):,} of the paper's 88 x 88 x 3). Effective: the fewest "
        "principal components of points and centroids whose Gram matrix reaches the soft labels' ρ. The interval is "
        "over worlds, by Fisher's transformation."
    )
    title = "Effective dimensionality of soft labels"
    return Part("Figure 2; Section 6", title, findings, about, charts=(_maps(cells), _curves(), _scatter(cells)))


def correlated(cells: Sequence[GridCell]) -> Estimate:
    found = pearsonr(*_columns(cells))
    low, high = found.confidence_interval(0.95)
    return Estimate(float(found.statistic), float(low), float(high), f"95% over {len(cells):,} worlds")


def _columns(cells: Sequence[GridCell]) -> tuple[list[float], list[float]]:
    return [c.information_ratio for c in cells], [float(c.effective_dimensionality) for c in cells]


def _maps(cells: Sequence[GridCell]) -> Chart:
    few = np.mean([2 * cell.effective_dimensionality <= cell.k for cell in cells])
    return heat_map(
        "figure-2-left",
        title="Soft labels are worth few components next to their classes",
        caption="The fewest principal components that recover as much as soft labels do: at most half the number of "
        f"classes, all of which a label spells out, in {few:.0%} of the worlds.",
        data=chart_columns(
            ("dimensions", "n", "k", "components"),
            [(f"d = {cell.d}", cell.n, cell.k, cell.effective_dimensionality) for cell in cells],
        ),
        x=Field("n", "points (n)", ",d"),
        y=Field("k", "classes (k)", ",d"),
        value=Field("components", "principal components", ",.3~r"),
        panel="dimensions",
    )


def _curves() -> Chart:
    rows = []
    for n, k in EXAMPLES:
        world = LatentWorld.sample(n, k, EXAMPLE_DIMENSIONS, rng=np.random.default_rng([n, k]))
        soft = label_rho(world, SoftLabelType(), rng=np.random.default_rng(0))
        for kept in range(1, EXAMPLE_DIMENSIONS + 1):
            case = f"n = {n}, k = {k}"
            rows += [(case, kept, "principal components", component_rho(world, kept)), (case, kept, "soft", soft)]
    return curve(
        "figure-2-right",
        title="Where the curve of components crosses the soft labels' line is their effective dimensionality",
        caption=f"Recovery by the number of principal components retained, three worlds in {EXAMPLE_DIMENSIONS} "
        "dimensions.",
        data=chart_columns(("case", "kept", "labels", "rho"), rows),
        x=Field("kept", "components retained", ",d"),
        y=Field("rho", "rank correlation with the truth (ρ)", ".2f"),
        series="labels",
        panel="case",
    )


def _scatter(cells: Sequence[GridCell]) -> Chart:
    return scatter(
        "section-6-information-ratio",
        title="The information ratio foretells how many components a label is worth",
        caption="Each point is a world; lines are least squares. The paper reports r = 0.734 over its own.",
        data=chart_columns(
            ("world", "dimensions", "information_ratio", "effective"),
            [
                (f"{c.n} points, {c.k} classes", f"d = {c.d}", c.information_ratio, c.effective_dimensionality)
                for c in cells
            ],
        ),
        x=Field("information_ratio", "information ratio", ".2~f"),
        y=Field("effective", "effective dimensionality, components", ",d", zero=True),
        of="world",
        series="dimensions",
        regression=True,
    )
