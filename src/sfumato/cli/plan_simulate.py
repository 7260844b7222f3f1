"""`sfumato plan simulate`: what labels of each type recover of a simulated world."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import NameList, check_outputs, output_option
from sfumato.cli.output import counting, write_table
from sfumato.tables.setting_checks import bad_setting

if TYPE_CHECKING:
    from sfumato.planning.informativeness.simulation import Cells, GridCell

KIND_LINES = """\b
  soft           a share for every class
  hard           only the most relevant class
  sparse:H       shares for the H most relevant classes of each point, none for the others
  top-class:H    shares for the same H classes of every point
  similarity     the similarity of every pair of points; needs no classes
  triplets:M     M answers to "is a nearer to b or to c?\""""


@click.command(
    "simulate",
    help=(
        "Simulate what labels of each kind recover of a simulated world: points around class centroids.\n\n"
        "One world per number of points (--n), classes (--k) and dimensions (--d), the same for all kinds. "
        "rho is the rank correlation of the recovered similarities with the true ones.\n\n"
        f"Kinds:\n\n{KIND_LINES}"
    ),
)
@click.option("--n", "n", type=NameList(), default="20,50,100", show_default=True, metavar="NUMBERS", help="Points.")
@click.option("--k", "k", type=NameList(), default="5,10,20", show_default=True, metavar="NUMBERS", help="Classes.")
@click.option("--d", "d", type=NameList(), default="5,25,125", show_default=True, metavar="NUMBERS", help="Dimensions.")
@click.option("--kinds", type=NameList(), default="soft,hard", show_default=True, metavar="KINDS", help="See above.")
@click.option("--noise", default=0.0, show_default=True, help="Noise of perceived distances, in standard deviations.")
@click.option("--spread", default=1.0, show_default=True, help="Deviation of points around their centroid.")
@click.option("--seeds", default=1, show_default=True, help="Worlds per size.")
@click.option("--seed", default=0, show_default=True, help="Random seed.")
@click.option("--less-than-one-shot", is_flag=True, help="Worlds may have more classes than points.")
@click.option(
    "--engine", default="processes", show_default=True, metavar="NAME", help="processes, or ray for a cluster."
)
@click.option("--processes", default=1, show_default=True, help="Number of processes; one per core is best.")
@output_option("Output table: .csv or .parquet.")
def command(
    n: tuple[str, ...],
    k: tuple[str, ...],
    d: tuple[str, ...],
    kinds: tuple[str, ...],
    seeds: int,
    engine: str,
    processes: int,
    output: Path,
    **settings: Any,
) -> None:
    from sfumato.planning.informativeness.label_types import label_kind_named
    from sfumato.planning.informativeness.simulation import SimulationGrid, check_engine

    check_outputs(output=output)
    grid = SimulationGrid(
        n=_numbers("n", n),
        k=_numbers("k", k),
        d=_numbers("d", d),
        kinds=tuple(label_kind_named(each) for each in dict.fromkeys(kinds)),
        n_seeds=seeds,
        **settings,
    )
    check_engine(engine)
    begun = time.monotonic()
    with counting("worlds") as progress:
        cells = grid.run(n_processes=processes, engine=engine, progress=progress)
    what = f"{len(cells):,} cells of {len(grid.worlds()):,} worlds, {time.monotonic() - begun:.0f} s"
    write_table(cells, output, what)
    _show(cells)


def _numbers(option: str, parts: tuple[str, ...]) -> tuple[int, ...]:
    """Whole numbers, and ranges: `3,13,20-30`."""
    numbers: list[int] = []
    for part in parts:
        low, dash, high = part.partition("-")
        if not low.isdecimal() or (dash and not high.isdecimal()) or (dash and int(high) < int(low)):
            raise bad_setting(f"--{option}", part, "whole numbers, as in 3,13,20-30")
        numbers += range(int(low), int(high if dash else low) + 1)
    return tuple(dict.fromkeys(numbers))


def _show(cells: Cells) -> None:
    """Mean recovery by dimensions and kind, and how often a kind recovers more than the first one."""
    kinds = list(dict.fromkeys(cell.kind for cell in cells.cells))
    first = kinds[0]
    versus_first = f"beats {first}"
    click.echo(f"{'d':>4}  {'kind':14}{'rho':>7}{'lowest':>8}{'highest':>9}{'dimensions':>12}{versus_first:>16}")
    for d in dict.fromkeys(cell.d for cell in cells.cells):
        here = {kind: [cell for cell in cells.cells if (cell.d, cell.kind) == (d, kind)] for kind in kinds}
        for kind, some in here.items():
            rho = [cell.rho for cell in some]
            needed = sum(cell.effective_dimensionality for cell in some) / len(some)
            line = f"{d:>4}  {kind:14}{sum(rho) / len(rho):>7.2f}{min(rho):>8.2f}{max(rho):>9.2f}{needed:>12.1f}"
            click.echo(line + (f"{_beats(some, here[first]):>16.1%}" if kind != first else ""))
    click.echo("rho: recovered similarities, mean over worlds; dimensions: principal components with the same rho")


def _beats(some: list[GridCell], others: list[GridCell]) -> float:
    """Over points only if one of the kinds has no classes."""
    whole = all(a.rho != a.points_rho and b.rho != b.points_rho for a, b in zip(some, others, strict=True))
    pairs = [(a.rho, b.rho) if whole else (a.points_rho, b.points_rho) for a, b in zip(some, others, strict=True)]
    return sum(a > b for a, b in pairs) / len(pairs)
