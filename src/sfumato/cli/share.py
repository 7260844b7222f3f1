"""`sfumato share`: export labels for others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sfumato.cli.options import EXACT_TIMES_NOTES, PATH, exact_times_option, same_rows_option
from sfumato.cli.output import counted, say_written
from sfumato.tables.errors import BadSetting

SUMMARY = """Export LABELS in a format that others can read.

LABELS are SoftLabels or Counts. Counts are exported as they are, and as labels: the shares of the votes."""
FORMAT_LINES = """\b
  huggingface  a folder for datasets.load_dataset: Parquet with images, and a card
  csv          a folder with one wide table and its codebook
  numpy        one .npz of plain arrays
  pytorch      a folder for sfumato.SoftLabelDataset: safetensors and JSON"""
SHOWN = 6
"""The most files of a folder that are listed."""


@click.command("share", help=f"{SUMMARY}\n\nFormats:\n\n{FORMAT_LINES}")
@click.argument("labels", type=PATH)
@click.option("--as", "format_name", required=True, metavar="FORMAT", help="The format.")
@click.option("-o", "--output", type=PATH, required=True, help="The output: a new folder, or a .npz.")
@click.option("--inputs", type=PATH, help="The items: a folder of images, an npz, or a table with texts.")
@click.option("--counts", type=PATH, help="Also export Counts: the votes per class, if LABELS are SoftLabels.")
@click.option("--beliefs", type=PATH, help="Also export the beliefs (huggingface, csv).")
@click.option("--annotations", type=PATH, help="Also export the answers (huggingface, csv).")
@click.option("--splits", type=PATH, help="The split of every item: a table with item and split.")
@click.option("--licence", help="The license by its short name: cc-by-4.0.")
@click.option("--title", help="The name of the data set.")
@exact_times_option
@same_rows_option
def command(
    labels: Path,
    format_name: str,
    output: Path,
    licence: str | None,
    title: str | None,
    exact_times: bool,
    **parts: Path | None,
) -> None:
    from sfumato.importers.label_file import read_labels_or_counts
    from sfumato.reporting.share import format_named
    from sfumato.reporting.share.release import Release, Splits
    from sfumato.tables.annotations import Annotations
    from sfumato.tables.beliefs import Beliefs
    from sfumato.tables.counts import Counts
    from sfumato.tables.model_inputs import Inputs

    form = format_named(format_name)
    unshared = [f"--{name}" for name in ("beliefs", "annotations") if parts[name]]
    if unshared and not form.holds_answers:
        named = " and ".join(unshared)
        found, fix = f"{named} for {format_name}, which contains only labels", f"omit {named}, or choose another format"
        raise BadSetting(found, "answers and beliefs only for huggingface and csv", fix)
    for source in (labels, *parts.values()):
        if source is not None and source.absolute() == output.absolute():
            found = f"the same path, {output.name!r}, for an input and for -o"
            raise BadSetting(found, "a different path for the output", "choose another path with -o")
    form.check_place(output)
    tables: dict[str, Any] = {
        "inputs": Inputs,
        "counts": Counts,
        "beliefs": Beliefs,
        "annotations": Annotations,
        "splits": Splits,
    }
    others = {name: table.read(path) for name, table in tables.items() if (path := parts[name])}
    release = Release.of(
        read_labels_or_counts(labels), title=title or labels.stem, licence=licence, exact_times=exact_times, **others
    )
    shared = form.write(release, output)
    no_license = [] if licence else ["no license: others may not use the data until you state one (--licence)"]
    what = f"{len(release.labels):,} items as {format_name}, {counted(len(shared.files), 'file')}"
    say_written(output, what, [*release.notes, *no_license, *(EXACT_TIMES_NOTES if exact_times else ())])
    for line in _lines(shared.files) if len(shared.files) > 1 else ():
        click.echo(f"    {line}")
    click.echo(f"read with: {shared.reading}")


def _lines(files: tuple[str, ...]) -> list[str]:
    """The files, one line per file; a folder with many files is one line."""
    below: dict[str, list[str]] = {}
    for name in files:
        below.setdefault(name.partition("/")[0], []).append(name)
    return [
        line
        for folder, names in below.items()
        for line in (names if len(names) <= SHOWN else [f"{folder}/ ({len(names):,} files)"])
    ]
