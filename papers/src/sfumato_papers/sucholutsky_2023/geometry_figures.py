"""The figures and the page of label geometry, after Sucholutsky et al. (2023): which items are alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.planning.goals import UTILITIES, subjective_loss
from sfumato.planning.label_type_comparison import BETA, MapCell
from sfumato.reporting.blocks import Columns, DataSource, Prose, n_rows
from sfumato.reporting.charts import Chart, Field, curve, heat_map, scatter
from sfumato.reporting.charts.scatter import correlation
from sfumato.reporting.page import Page, Section
from sfumato_papers.finding import chart_columns
from sfumato_papers.sucholutsky_2023 import geometry_runs
from sfumato_papers.sucholutsky_2023.geometry_runs import SPARSE_SEEDS, GeometryRuns, averaged, share_better

RHO = Field("rho", "rank correlation with the truth", ".2f", domain=(0.0, 1.0))
ITEMS, CLASSES = Field("n", "items (n)", ",d"), Field("k", "classes (k)", ",d")
LOSS_SIZE = "90 items, 30 classes"
DEAREST, PLAIN = "sliders", "choice"


def recovery_maps(runs: GeometryRuns, source: DataSource) -> Chart:
    """Their figure 1, middle: what soft and hard labels recover."""
    every = runs.cells.cells
    cells = [*averaged(every, "soft"), *averaged(every, "hard")]
    soft, hard = (np.mean([cell.rho for cell in cells if cell.kind == kind]) for kind in ("soft", "hard"))
    return heat_map(
        "recovery",
        title="Soft labels recover most of the geometry, hard labels little of it",
        caption=f"Rank correlation of recovered with true similarities: {soft:.2f} on average with soft labels, "
        f"{hard:.2f} with hard ones; soft labels recover more in {share_better(every):.0%} of the worlds.",
        data=chart_columns(
            ("labels", "n", "k", "rho", "information_ratio"),
            [
                (f"{cell.kind} · {cell.d} dimensions", cell.n, cell.k, cell.rho, cell.information_ratio)
                for cell in cells
            ],
        ),
        x=ITEMS,
        y=CLASSES,
        value=RHO,
        panel="labels",
        tooltip=(Field("information_ratio", "information ratio", ".3~f"),),
        source=source,
    )


def dimensionality_plot(runs: GeometryRuns, source: DataSource) -> Chart:
    """Their section 6: the information ratio foretells the effective dimensionality."""
    cells = [cell for cell in runs.cells.cells if cell.kind == "soft"]
    names = ("world", "dimensions", "information_ratio", "effective")
    rows = [
        (f"{c.n} items, {c.k} classes", f"{c.d} dimensions", c.information_ratio, c.effective_dimensionality)
        for c in cells
    ]
    each = []
    for name in dict.fromkeys(row[1] for row in rows):
        part = chart_columns(names, [row for row in rows if row[1] == name])
        each.append(f"{correlation(part, 'information_ratio', 'effective'):.2f} in {name}")
    return scatter(
        "dimensionality",
        title="The information ratio foretells how many numbers a label is worth",
        caption=f"Each point is a world. Correlation with the effective dimensionality of soft labels: "
        f"{', '.join(each)}; Sucholutsky et al. report 0.73 over all theirs.",
        data=chart_columns(names, rows),
        x=Field("information_ratio", "information ratio", ".2~f"),
        y=Field("effective", "effective dimensionality, principal components", ",d", zero=True),
        of="world",
        series="dimensions",
        regression=True,
        source=source,
    )


def dimensionality_maps(runs: GeometryRuns, source: DataSource) -> Chart:
    """Their figure 2, left: the effective dimensionality of soft labels."""
    cells = averaged(runs.cells.cells, "soft")
    few = np.mean([2 * cell.effective_dimensionality <= cell.k for cell in cells])
    return heat_map(
        "dimensionality-maps",
        title="Soft labels are worth few components next to their classes",
        caption="The fewest principal components that recover as much as soft labels do: at most half the number of "
        f"classes, which every label spells out, in {few:.0%} of the cells.",
        data=chart_columns(
            ("dimensions", "n", "k", "components"),
            [(f"{cell.d} dimensions", cell.n, cell.k, cell.effective_dimensionality) for cell in cells],
        ),
        x=ITEMS,
        y=CLASSES,
        value=Field("components", "principal components", ",.3~r"),
        panel="dimensions",
        source=source,
    )


def noise_curves(runs: GeometryRuns, source: DataSource) -> Chart:
    """What is left when people err."""
    n, k, d = geometry_runs.NOISY_SIZE
    soft = {x: r for x, kind, r in _rows(runs.noise, "noise", "kind", "rho") if kind == "soft"}
    return curve(
        "noise",
        title="Noise costs soft labels most, and leaves them ahead",
        caption=f"{n} items of {k} classes in {d} dimensions. An error of half a standard deviation in seeing "
        f"distances takes soft labels from {soft[0.0]:.2f} to {soft[0.5]:.2f}. Sparse labels keep two "
        f"classes. Bands: 95% over {geometry_runs.NOISY_SEEDS} worlds.",
        data=runs.noise,
        x=Field("noise", "error in seeing distances, standard deviations"),
        y=RHO,
        low="low",
        high="high",
        series="kind",
        source=source,
    )


def sparsity_curves(runs: GeometryRuns, source: DataSource) -> Chart:
    """Their figure 3: what labels of fewer classes recover."""
    return curve(
        "sparsity",
        title="What fewer classes per item lose",
        caption=f"What is recovered with so many classes (or principal components) an item, over {SPARSE_SEEDS} "
        "worlds; soft labels keep all classes and hard labels one, so they are level. Classes dropped from top-class "
        "labels count as not asked about, not as zero.",
        data=runs.sparsity,
        x=Field("kept", "classes or components kept", ",d", log=True),
        y=RHO,
        low="low",
        high="high",
        series="kind",
        panel="size",
        source=source,
    )


def loss_maps(runs: GeometryRuns, source: DataSource, *, beta: float = BETA) -> Chart:
    """Their figure 1, bottom: whether soft labels are worth as many times the price as there are classes."""
    d = min(cell.d for cell in runs.cells.cells)
    soft, hard = (
        {_size(cell): cell for cell in averaged(runs.cells.cells, kind) if cell.d == d} for kind in ("soft", "hard")
    )
    sizes = [size for size in soft if size in hard]
    rows: list[tuple[str, int, int, float, float]] = []
    for utility_name, utility in UTILITIES.items():
        gains = {
            (n, k): subjective_loss(hard[n, k].rho, 1, utility=utility, beta=beta)
            - subjective_loss(soft[n, k].rho, k, utility=utility, beta=beta)
            for n, k in sizes
        }
        largest = max(map(abs, gains.values()))
        rows += [(f"{utility_name} utility", n, k, gain, gain / largest) for (n, k), gain in gains.items()]
    return heat_map(
        "loss-maps",
        title="Whether soft labels are worth their price depends on what recovery is worth",
        caption=f"Loss of hard minus loss of soft labels, {beta:g} times the cost minus the utility, in {d} "
        "dimensions, relative to the largest of each utility: blue where soft labels are preferred. A soft label is "
        "taken to cost as many hard ones as there are classes, as in the paper; measured times say less.",
        data=chart_columns(("utility", "n", "k", "gain", "relative"), rows),
        x=ITEMS,
        y=CLASSES,
        value=Field("relative", "advantage of soft labels, relative", "+.2f", domain=(-1.0, 1.0)),
        tooltip=(Field("gain", "advantage", "+.3f"),),
        panel="utility",
        about=0.0,
        source=source,
    )


def loss_curves(runs: GeometryRuns, source: DataSource, *, beta: float = BETA) -> Chart:
    """Their figure 6: how many classes per item are best worth their price."""
    rows: list[tuple[str, int, str, float]] = []
    best: dict[str, tuple[float, str, int]] = {}
    n_classes = max(kept for size, kept in _rows(runs.sparsity, "size", "kept") if size == LOSS_SIZE)
    for utility_name, utility in UTILITIES.items():
        for size, kept, labels, rho in _rows(runs.sparsity, "size", "kept", "kind", "rho"):
            if size != LOSS_SIZE or labels == "principal components":
                continue
            cost = {"soft": n_classes, "hard": 1}.get(labels, kept)
            loss = subjective_loss(rho, cost, utility=utility, beta=beta)
            best[utility_name] = min(best.get(utility_name, (loss, "", 0)), (loss, labels, cost))
            rows.append((f"{utility_name} utility", kept, labels, loss))
    said = [f"{labels} labels of {kept} class{'es' * (kept != 1)} ({name})" for name, (_, labels, kept) in best.items()]
    return curve(
        "losses",
        title="The best number of classes to ask about",
        caption=f"{LOSS_SIZE}: loss, {beta:g} times the classes asked about minus the utility; lower is better. "
        f"Lowest: {', '.join(said)}.",
        data=chart_columns(("utility", "kept", "kind", "loss"), rows),
        x=Field("kept", "classes kept", ",d", log=True),
        y=Field("loss", "loss"),
        own_y=True,
        series="kind",
        panel="utility",
        source=source,
    )


def value_maps(runs: GeometryRuns, source: DataSource) -> Chart:
    """The map over items and classes, at equal items and at equal budget, the reader's own data marked."""
    n, k = runs.size
    pairs = [(a, b) for a in runs.values.cells for b in runs.values.cells if _size(a) == _size(b)]
    pairs = [(a, b) for a, b in pairs if (a.kind, b.kind) == (DEAREST, PLAIN)]
    rows = [("at equal items", a, a.rho_items - b.rho_items) for a, b in pairs]
    rows += [("at equal budget", a, a.rho_budget - b.rho_budget) for a, b in pairs]
    yours = {name: gain for name, a, gain in rows if a.yours}
    n_answers = next(b.n_answers for _, b in pairs)
    return heat_map(
        "value-map",
        title=f"What {DEAREST} recover beyond {PLAIN}, for the same items and for the same money",
        caption=f"Blue where {DEAREST} recover more, brown where {PLAIN} does. The ring is your data, {n:,} items of "
        f"{k} classes: {_signed(yours['at equal items'])} at equal items, {_signed(yours['at equal budget'])} at equal "
        f"budget, where {n_answers} people answer {PLAIN} for each who fills in {DEAREST}.",
        data=chart_columns(("comparison", "n", "k", "gain"), [(name, a.n, a.k, gain) for name, a, gain in rows]),
        x=ITEMS,
        y=CLASSES,
        value=Field("gain", f"rank correlation of {DEAREST} minus {PLAIN}", "+.2f"),
        panel="comparison",
        about=0.0,
        marked=(n, k),
        source=source,
    )


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def _size(cell: geometry_runs.MeanCell | MapCell) -> tuple[int, int]:
    return cell.n, cell.k


def _rows(columns: Columns, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(columns[name][i] for name in names) for i in range(n_rows(columns))]


PAPER = "Sucholutsky et al. (2023), On the informativeness of supervision signals, UAI"

COARSE = "A coarse grid, simulated when the command runs; draw the full one with `--cells`."


def geometry_page(runs: GeometryRuns, *, command: str = "", cells: str = "") -> Page:
    """The page, your own data first; `command` made it, `cells` is the file of its grid, where that was given."""
    source = DataSource(command, "", "Simulated when the command runs; the same seed gives the same numbers.")
    grid = DataSource(command, cells, COARSE if not cells else "The cells of a grid that was run before.")
    n, k = runs.size
    return Page(
        title="What labels say about which items are alike",
        lead=f"The figures of {PAPER}, drawn again from our own simulation, and where your {n:,} items of {k} classes "
        "are among them.",
        sections=(
            Section("Your data on the map", (value_maps(runs, source),)),
            Section(
                "What is recovered",
                (
                    Prose((
                        "Points lie about the centres of classes in a space of 5, 25 or 125 dimensions. A soft label "
                        "says how near a point is to every center, a hard label only which is nearest. From such "
                        "labels the points are placed again, and the similarities of that placement are ranked against "
                        "the true ones: 1 is perfect, 0 is chance.",
                    )),
                    recovery_maps(runs, grid),
                    noise_curves(runs, source),
                ),
            ),
            Section("How much a label says", (dimensionality_plot(runs, grid), dimensionality_maps(runs, grid))),
            Section("Fewer classes", (sparsity_curves(runs, source), loss_curves(runs, source))),
            Section("What it is worth", (loss_maps(runs, grid),)),
        ),
        kind="sfumato · plan · figures",
        made=f"Made with sfumato{f': `{command}`' if command else ''}.",
    )  # fmt: skip
