"""`sfumato select`: keep a part of a table, or divide it into splits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import PATH, check_outputs, output_option, same_rows_option
from sfumato.cli.output import counted, say_written
from sfumato.tables.errors import BadSetting, one_line

if TYPE_CHECKING:
    from sfumato.tables.selected_files import FileContent

VALUE_LINES = """\b
Names in --where and --stratify: the columns of the table, and per item
  class         most probable class, or the label
  entropy       entropy of the distribution, in nats
  confidence    largest probability
  n_annotators  number of annotators
  n_answers     number of rows
  p:CLASS       probability of a class; n:CLASS its votes"""


class SplitShares(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """Parts with their shares or numbers of items: `train=0.8,test=0.2`."""

    name = "name=share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, float]:  # noqa: ARG002
        if isinstance(value, dict):
            return value
        from sfumato.tables.selection import split_shares

        return split_shares(value, "--split")


@click.command(
    "select",
    help="Keep a part of TABLE: Annotations, Beliefs, Counts, SoftLabels, labels, predictions or scores (Parquet, "
    "CSV), an npz, a folder of images, or a JSON or other file that sfumato import auto recognizes.\n\nAll rows of an "
    "item stay together. All choices given must hold. With --split, -o labels.parquet writes labels-train.parquet, "
    "labels-test.parquet ... Tables with the same items are "
    f"divided in the same way.\n\n{VALUE_LINES}",
)
@click.argument("table", type=PATH)
@output_option("Output file, of the type of TABLE: .parquet, .csv or .npz.")
@click.option("--items", type=PATH, help="Keep these items: ids, one per line; or a table, npz or folder with them.")
@click.option("--leave-out", type=PATH, help="Remove these items; the same kinds of file.")
@click.option("--where", multiple=True, metavar="CONDITION", help='A condition: "n_annotators>=5"; repeatable.')
@click.option("--per-class", type=int, help="At most this many items of each class, at random.")
@click.option("--split", type=SplitShares(), help="Random parts by share or number of items: train=0.8,test=0.2.")
@click.option("--stratify", metavar="NAME", help="Balance the parts over the values of this column: class.")
@click.option("--labels", type=PATH, help="Take class, entropy and the other values per item from this table.")
@click.option("--splits", type=PATH, help="Also write the part of every item: a table with item and split.")
@click.option("--seed", default=0, show_default=True, help="Seed of the random choice.")
@same_rows_option
def command(
    table: Path, output: Path, items: Path | None, leave_out: Path | None, where: tuple[str, ...],
    per_class: int | None, split: dict[str, float] | None, stratify: str | None, labels: Path | None,
    splits: Path | None, seed: int,
) -> None:  # fmt: skip
    from dataclasses import replace

    from sfumato.tables.files.file_type import check_readable
    from sfumato.tables.item_list import read_item_list
    from sfumato.tables.selected_files import part_path
    from sfumato.tables.selection import Selection

    if splits is not None and split is None:
        raise BadSetting("--splits without --split", "a split to write", "give --split train=0.8,test=0.2 too")
    chosen = Selection(
        None if items is None else read_item_list(items),
        None if leave_out is None else read_item_list(leave_out),
        where, per_class, split, stratify, seed,
    )  # fmt: skip
    if not table.is_dir():
        check_readable(table)
    content = _content(table)
    for part in split or ("",):
        sources = (table, items, leave_out, labels)
        check_outputs(*sources, kinds=content.kinds, output=part_path(output, part), splits=splits)
    values = content.values()
    if labels is not None:
        values = replace(values, labels=_content(labels).values())
    found = chosen.of(values)
    for part, rows in found.rows.items():
        place = part_path(output, part)
        content.write(rows, place)
        n_items = len(set(values.item.codes[rows].tolist())) if values.has_items else len(rows)
        about = f" about {counted(n_items, 'item')}" if values.has_items and n_items < len(rows) else ""
        say_written(place, f"{len(rows):,} of {counted(len(values.columns), 'row')}{about}")
    for note in found.notes:
        click.echo(f"  - {one_line(note)}")
    if splits is not None:
        _write_splits(found.rows, values, splits)


def _content(path: Path) -> FileContent:
    """The content of a table, npz or folder of images with all its columns; of other files what `sf.read` reads."""
    from dataclasses import replace

    from sfumato.api import read
    from sfumato.tables.base_table import Table
    from sfumato.tables.errors import SfumatoError, warnings_off
    from sfumato.tables.files.file_type import NUMPY, TABLE_KINDS, TSV
    from sfumato.tables.picture_folder import has_pictures
    from sfumato.tables.selected_files import InputsContent, SfumatoContent, TableContent, read_content
    from sfumato.tables.selection import values_of

    kept_whole = tuple(end for kind in (*TABLE_KINDS, TSV, NUMPY) for end in kind.suffixes)
    if (path.is_dir() and has_pictures(path)) or path.name.lower().endswith(kept_whole):
        content = read_content(path)
        if not isinstance(content, TableContent) or content.values().has_distributions:
            return content
        # A table with one plain column per class: all columns are kept; the values per item are as `sf.read` reads it.
        try:
            with warnings_off():
                recognized = read(path)
        except SfumatoError:
            return content
        return replace(content, recognized=values_of(recognized))
    try:
        table = read(path)
    except SfumatoError:
        if path.is_dir():
            return read_content(path)  # whose error says what a folder of images needs
        raise
    return SfumatoContent(table) if isinstance(table, Table) else InputsContent(table)


def _write_splits(parts: Any, values: Any, path: Path) -> None:
    import numpy as np
    import pyarrow as pa

    from sfumato.tables.files.table_file import write_table

    codes = {part: np.unique(values.item.codes[rows]) for part, rows in parts.items()}
    items = values.item.names.take(pa.array(np.concatenate(list(codes.values()))))
    names = [part for part, members in codes.items() for _ in members]
    write_table(pa.table({"item": items, "split": pa.array(names, pa.string())}), path)
    say_written(path, f"the part of {counted(len(names), 'item')}")
