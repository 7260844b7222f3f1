"""The page of label geometry: what labels say about which items are alike, and when that is worth its price."""

from __future__ import annotations

from sfumato.reporting.blocks import DataSource, Prose
from sfumato.reporting.page import Page, Section
from sfumato_papers.sucholutsky_2023.geometry_figures import (
    dimensionality_maps,
    dimensionality_plot,
    loss_curves,
    loss_maps,
    noise_curves,
    recovery_maps,
    sparsity_curves,
    value_maps,
)
from sfumato_papers.sucholutsky_2023.geometry_runs import GeometryRuns

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
