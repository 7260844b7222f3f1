"""`sfumato duplicates`: items that occur twice, and what leaks from one split into another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.options import PATH, check_outputs, output_option
from sfumato.cli.output import printable, say_written

if TYPE_CHECKING:
    from sfumato.evaluation.duplicates import Duplicates

SHOWN = 5


@click.command("duplicates")
@click.argument("inputs", type=PATH, nargs=-1, required=True)
@output_option("Where the pairs go: .csv or .parquet.")
@click.option(
    "--groups", "groups_path", type=PATH, help="Also write the group of every duplicate, and which to leave out."
)
@click.option(
    "--distance",
    type=float,
    help="Pictures at most so far apart are near.  [default: 0.01 for grey ones, 0.05 for colour]",
)
@click.option("--shift", type=int, default=1, show_default=True, help="Pixels a near picture may be moved by.")
@click.option("--exact", is_flag=True, help="Only what is the same in every pixel or character.")
def command(
    inputs: tuple[Path, ...], output: Path, groups_path: Path | None, distance: float | None, shift: int, exact: bool
) -> None:
    """Find duplicates within and across INPUTS, an npz with images or texts for each split, in order of rank.

    Exact: the same pixels or characters. Near: pictures whose pixels correlate to 1 - distance or more, wherever they
    are moved by a pixel; texts that differ in case, spaces and punctuation alone.
    """
    from sfumato.evaluation.duplicates import find_duplicates
    from sfumato.tables.inputs import Inputs

    for path in inputs:
        check_outputs(path, output=output, groups=groups_path)
    splits = dict(zip(_names(inputs), (Inputs.read(path) for path in inputs), strict=True))
    found = find_duplicates(splits, distance=distance, shift=shift, near=not exact)
    found.write(output)
    say_written(output, f"Duplicates, {len(found):,} pairs among {len(found.items):,} items")
    if groups_path:
        found.write_groups(groups_path)
        say_written(groups_path, f"groups, {int(found.to_leave_out().sum()):,} items to leave out")
    _show(found)


def _names(paths: tuple[Path, ...]) -> list[str]:
    """A name a split: the file's, or its folder's where files have the same name in different folders."""
    names = [path.stem for path in paths]
    if len(set(names)) < len(names):
        names = [path.absolute().parent.name for path in paths]
    if len(set(names)) < len(names):
        from sfumato.tables.errors import BadSetting

        raise BadSetting(
            f"two splits called {next(name for name in names if names.count(name) > 1)}",
            "each split once, under a name of its own",
            "name each file once, under different file names or folders",
        )
    return names


def _show(found: Duplicates) -> None:
    for kind in dict.fromkeys(found.kind):
        click.echo(f"{found.kind.count(kind):>8,} {kind} pairs")
    others = found.n_of_other_labels()
    if others:
        click.echo(f"{others:>8,} pairs with different labels")
    if found.n_flat:
        click.echo(f"{found.n_flat:>8,} pictures of one shade, compared exactly only")
    width = max(len(printable(name, 30)) for name in found.splits)
    if len(found):
        click.echo("items with a duplicate in")
        heads = [printable(name, 20) for name in found.splits]
        click.echo(f"  {'':{width}}  {'  '.join(f'{head:>20}' for head in heads)}")
        for name in found.splits:
            cells = [found.leaking(name, other) for other in found.splits]
            click.echo(f"  {printable(name, 30):{width}}  {'  '.join(f'{n:>20,}' for n in cells)}")
    for i in range(min(SHOWN, len(found))):
        one, other = int(found.first[i]), int(found.second[i])
        named = [f"{found.splits[found.split[row]]}:{found.items[row]}" for row in (one, other)]
        said = f"{printable(named[0], 32):32} {printable(named[1], 32):32} {found.kind[i]:10} {found.distance[i]:.4f}"
        click.echo(f"  {said}")
    if len(found) > SHOWN:
        click.echo(f"  ... and {len(found) - SHOWN:,} more")
