"""`sfumato plan figures`: what labels say about which items are alike, as a page of figures."""

from __future__ import annotations

from pathlib import Path

import click

from sfumato.cli.options import PATH, check_not_negative, output_option
from sfumato.cli.output import drawing, say_written


@click.command("figures", short_help="What labels say about which items are alike, as figures.")
@click.option("--items", "n_items", type=int, default=1000, show_default=True, help="How many items you have.")
@click.option("--classes", "n_classes", type=int, default=10, show_default=True, help="How many classes they have.")
@click.option("--cells", type=PATH, help="Draw the maps from a grid run before: what `Grid(...).run()` wrote.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the simulation.")
@output_option("Where to write the page: .html.")
def command(n_items: int, n_classes: int, cells: Path | None, seed: int, output: Path) -> None:
    """Draw the figures of Sucholutsky et al. (2023) from our simulation, with your own data marked.

    What soft and hard labels recover of the geometry of items, over items, classes and dimensions; what noise and fewer
    classes lose; and when soft labels are worth their price, for the same items and for the same money.
    """
    from sfumato.planning.label_type_comparison import check_size
    from sfumato.tables.errors import BadSetting
    from sfumato.tables.files import check_place
    from sfumato_papers.sucholutsky_2023.geometry_figures import geometry_page
    from sfumato_papers.sucholutsky_2023.geometry_runs import geometry_runs, read_cells

    check_not_negative("seed", seed)
    check_size(n_items, n_classes)
    if output.suffix.lower() not in (".html", ".htm"):
        raise BadSetting(f"the output {output.name!r}", "a name that ends in .html", "choose another name with -o")
    check_place(output)
    given = read_cells(cells) if cells else None
    with drawing() as draw:

        def progress(done: int, of: int) -> None:
            draw(done / of, f"world {done} of {of}")

        runs = geometry_runs(n_items, n_classes, cells=given, seed=seed, progress=progress)
    said = f"sfumato plan figures --items {n_items} --classes {n_classes} --seed {seed}"
    page = geometry_page(runs, command=f"{said} --cells {cells}" if cells else said, cells=str(cells or ""))
    page.write(output)
    say_written(output, f"{len(page.charts)} figures, {n_items:,} items of {n_classes} classes marked")
