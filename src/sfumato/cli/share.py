"""`sfumato share`: labels in the forms that others read."""

from __future__ import annotations

from pathlib import Path

import click

from sfumato.cli.options import PATH
from sfumato.cli.output import say_written

FORMAT_LINES = """\b
  huggingface  a folder for datasets.load_dataset: Parquet, pictures inside, a card
  csv          a folder with one wide table and its codebook
  numpy        one .npz of plain arrays
  pytorch      a folder for sfumato.reporting.share.SoftLabelDataset: safetensors and JSON"""
SHOWN = 6
"""So many files of a folder are listed one by one."""


@click.command("share", help=f"Write LABELS in a form that others read.\n\nForms:\n\n{FORMAT_LINES}")
@click.argument("labels", type=PATH)
@click.option("--as", "format_name", required=True, metavar="FORMAT", help="The form.")
@click.option("-o", "--output", type=PATH, required=True, help="Where it goes: a new folder, or a .npz.")
@click.option("--inputs", type=PATH, help="The items themselves: an npz with images or texts.")
@click.option("--beliefs", type=PATH, help="What each person believes, to be shared beside (huggingface, csv).")
@click.option("--annotations", type=PATH, help="The answers themselves, to be shared beside (huggingface, csv).")
@click.option("--splits", type=PATH, help="The split of every item: a table with item and split.")
@click.option("--licence", help="Under which licence, by its short name: cc-by-4.0.")
@click.option("--title", help="What the set is called.")
def command(
    labels: Path,
    format_name: str,
    output: Path,
    inputs: Path | None,
    beliefs: Path | None,
    annotations: Path | None,
    splits: Path | None,
    licence: str | None,
    title: str | None,
) -> None:
    from sfumato.reporting.share import Release, Splits, format_named
    from sfumato.tables.annotations import Annotations
    from sfumato.tables.beliefs import Beliefs
    from sfumato.tables.errors import BadSetting
    from sfumato.tables.inputs import Inputs
    from sfumato.tables.soft_labels import SoftLabels

    form = format_named(format_name)
    unshared = [f"--{name}" for name, path in (("beliefs", beliefs), ("annotations", annotations)) if path]
    if unshared and not form.holds_answers:
        raise BadSetting(
            f"found {' and '.join(unshared)} for {format_name}, which holds labels alone",
            expected="answers and beliefs only for huggingface and csv",
            fix=f"leave out {' and '.join(unshared)}, or choose another form",
            code="bad-setting",
        )
    for source in (labels, inputs, beliefs, annotations, splits):
        if source is not None and source.absolute() == output.absolute():
            raise BadSetting(
                f"found the same place, {output.name!r}, for a source and for -o",
                expected="a place of its own for what is written",
                fix="choose another place with -o",
                code="bad-setting",
            )
    form.check_place(output)
    release = Release.of(
        SoftLabels.read(labels),
        inputs=Inputs.read(inputs) if inputs else None,
        beliefs=Beliefs.read(beliefs) if beliefs else None,
        annotations=Annotations.read(annotations) if annotations else None,
        splits=Splits.read(splits) if splits else None,
        title=title or labels.stem,
        licence=licence,
    )
    shared = form.write(release, output)
    unsaid = [] if licence else ["no licence is said: nobody may use it before you name one (--licence)"]
    what = f"{len(release.labels):,} items as {format_name}, {len(shared.files):,} file{'s' * (len(shared.files) != 1)}"
    say_written(output, what, [*release.notes, *unsaid])
    for line in _lines(shared.files) if len(shared.files) > 1 else ():
        click.echo(f"    {line}")
    click.echo(f"read it with: {shared.reading}")


def _lines(files: tuple[str, ...]) -> list[str]:
    """The files, a line each; folders with many of them in one."""
    below: dict[str, list[str]] = {}
    for name in files:
        below.setdefault(name.partition("/")[0], []).append(name)
    return [
        line
        for folder, names in below.items()
        for line in (names if len(names) <= SHOWN else [f"{folder}/ ({len(names):,} files)"])
    ]
