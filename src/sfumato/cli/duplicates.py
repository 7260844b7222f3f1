"""`sfumato duplicates`: find duplicate items and leakage between splits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.options import PATH, check_outputs, input_options, output_option
from sfumato.cli.output import printable, say_written, write_table
from sfumato.tables.errors import BadSetting

if TYPE_CHECKING:
    from sfumato.evaluation.duplicates import Duplicates
    from sfumato.tables.model_inputs import InputOptions

SHOWN = 5


@click.command("duplicates")
@click.argument("inputs", type=PATH, nargs=-1, required=True)
@output_option("Output file for the pairs: .csv or .parquet.")
@click.option(
    "--groups", "groups_path", type=PATH, help="Also write the group of every duplicate, and which to remove."
)
@click.option(
    "--distance",
    type=float,
    help="Images at most this far apart are near.  [default: 0.01 for gray ones, 0.05 for color]",
)
@click.option("--shift", type=int, default=1, show_default=True, help="Largest shift of a near image, in pixels.")
@click.option("--exact", is_flag=True, help="Only items with identical pixels, characters or numbers.")
@input_options
def command(
    inputs: tuple[Path, ...],
    output: Path,
    groups_path: Path | None,
    distance: float | None,
    shift: int,
    exact: bool,
    reading: InputOptions,
) -> None:
    """Find duplicates within and across INPUTS, one per split, most important split first.

    Each is a folder of images, an npz with images, texts or features, or a table (CSV, Parquet) with texts.

    Exact: the same pixels, characters or numbers. Near: images whose pixels have a correlation of at least
    1 - distance, also if shifted; texts that differ only in case, spaces and punctuation.
    """
    from sfumato.evaluation.duplicates import find_duplicates

    check_outputs(*inputs, output=output, groups=groups_path)
    splits = dict(zip(_names(inputs), (reading.read(path) for path in inputs), strict=True))
    found = find_duplicates(splits, distance=distance, shift=shift, near=not exact)
    write_table(found, output, f"Duplicates, {len(found):,} pairs among {len(found.items):,} items")
    if groups_path:
        found.write_groups(groups_path)
        say_written(groups_path, f"groups, {int(found.to_leave_out().sum()):,} items to remove")
    _show(found)


def _names(paths: tuple[Path, ...]) -> list[str]:
    """The name of each split: the file's, or its folder's if files in different folders have the same name."""
    names = [path.stem for path in paths]
    if len(set(names)) < len(names):
        names = [path.absolute().parent.name for path in paths]
    if len(set(names)) < len(names):
        found = f"two splits called {next(name for name in names if names.count(name) > 1)}"
        fix = "give each file once, with different file names or folders"
        raise BadSetting(found, "each split once, with a different name", fix)
    return names


def _show(found: Duplicates) -> None:
    for kind in dict.fromkeys(found.kind):
        click.echo(f"{found.kind.count(kind):>8,} {kind} pairs")
    others = found.n_of_other_labels()
    if others:
        click.echo(f"{others:>8,} pairs with different labels")
    if found.n_flat:
        click.echo(f"{found.n_flat:>8,} images of a single shade, compared only exactly")
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
        pair = f"{printable(named[0], 32):32} {printable(named[1], 32):32}"
        click.echo(f"  {pair} {found.kind[i]:10} {found.distance[i]:.4f}")
    if len(found) > SHOWN:
        click.echo(f"  ... and {len(found) - SHOWN:,} more")
