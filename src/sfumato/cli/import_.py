"""`sfumato import`: imports votes, counts, predictions and published data sets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import PATH, NameList, check_outputs, given, ordered_option, output_option, put_in_order
from sfumato.cli.output import write_table
from sfumato.tables.errors import BadSetting, warn

if TYPE_CHECKING:
    from sfumato.importers.importer import Importer

FORMAT_LINES = """\b
  auto             the format is recognized, and a note says by what
  \b
  crowd            one row per answer (also crowd-kit's task, worker, label)
  wide             one row per item, one column per annotator
  counts           one row per item, one column per class
  json             JSON or JSON Lines of votes or of counts
  labels           one distribution or one class per item: tables, arrays, JSON
  predictions      the same from a model: probabilities, or --logits
  hugging-face     data sets of the datasets library, and what sfumato share writes
  \b
  argilla          records of Argilla 1 and 2
  doccano          folder or zip with one file per user
  label-studio     JSON, JSON-MIN, CSV, TSV: Choices, Rating, Number
  potato           users' folders, or exported files
  prodigy          db-out
  \b
  chaosnli         votes per class
  cifar-10h        votes per class; single answers with --annotator-level
  cifar-10s        top-two answers: first pass, --repeats, or --as-released
  cifar-n          CIFAR-10N and CIFAR-100N: votes per class
  fashion-mnist-h  votes per class
  ferplus          votes per class
  hmix             mixture judgments; --part soft-labels for beliefs
  lewidi           2023 and 2025; --part binary for two classes of ConvAbuse
  peerannot        LabelMe, Music, and other folders of peerannot
  soft-digits      soft labels and uncertainty measures; --column selects the label
  \b
  annotations      a sfumato Annotations file, checked and written again
  table            a sfumato file of Beliefs, SoftLabels or Counts
  images           a folder of images as one npz; folders are classes; --size resizes"""


@click.command(
    "import",
    help="Read SOURCE (a file, a zip or a folder) as FORMAT and write a table.\n\n"
    f"Formats:\n\n{FORMAT_LINES}\n\nAn option that a format does not have is an error that lists its options.",
)
@click.argument("format_name", metavar="FORMAT")
@click.argument("source", type=PATH)
@output_option("The table to write: .parquet or .csv; for images .npz.")
@click.option("--item", help="The column, key or data field of item ids.")
@click.option("--annotator", help="The column or key of annotator ids.")
@click.option("--label", help="The column, key, question, schema or control of labels.")
@click.option("--truth", help="The true classes, used for --original: a column, or a file with item and label (crowd).")
@click.option("--classes", type=NameList(), help="The allowed classes, in order: cat,dog.")
@ordered_option
@click.option("--items", help="A file of item ids for an array without ids (labels, predictions).")
@click.option("--array", metavar="NAME", help="Which array, key or list column to read (predictions).")
@click.option("--logits", is_flag=True, help="The numbers are logits: take their softmax (predictions).")
@click.option("--delimiter", help="What separates the columns of a CSV: ';' or tab (crowd, wide, counts).")
@click.option("--leave-out", type=NameList(), help="Columns that are not classes: Usage,total (counts, labels).")
@click.option("--repeats", is_flag=True, help="Keep second answers of an annotator to an item, marked as repeats.")
@click.option("--as-released", is_flag=True, help="All rows used for the released labels (cifar-10s).")
@click.option("--annotator-level", is_flag=True, help="Single answers instead of votes per class (cifar-10h).")
@click.option("--part", help="A part of the source (hmix, hugging-face, json, lewidi).")
@click.option("--column", help="soft_label, soft_label_yes_unc_equal or soft_label_argmax (soft-digits).")
@click.option("--split", help="Only this split (ferplus, hugging-face, lewidi, soft-digits).")
@click.option("--source-set", "set_name", help="Only this source, mnist or mukhoti (soft-digits).")
@click.option("--scale", type=float, help="The largest value of a Rating or Number (label-studio).")
@click.option("--size", metavar="PIXELS", help="Size of all images: 32, or 32x48, height x width (images).")
@click.option("--original", type=PATH, help="Also write the original labels here, as one-hot SoftLabels.")
@click.option("--doubt", type=PATH, help="Also write published uncertainty measures here (soft-digits).")
def command(
    format_name: str,
    source: Path,
    output: Path,
    original: Path | None,
    doubt: Path | None,
    set_name: str | None,
    ordered: bool,
    **settings: Any,
) -> None:
    from sfumato.importers import importer_for

    importer = importer_for(source, format_name, given({**settings, "source": set_name}))
    check_outputs(source, kinds=getattr(importer, "output_kinds", ()), output=output, original=original, doubt=doubt)
    imported = importer.read(source)
    if ordered:
        imported = replace(imported, table=put_in_order(imported.table, settings["classes"] or ()))
    extras = (("--original", original, imported.original), ("--doubt", doubt, imported.doubt))
    for option, path, table in extras:
        if path is not None and table is None:
            raise _nothing_to_write(option, importer, source, settings.get("truth"))
    if settings.get("truth") and original is None:
        warn("the classes of --truth are not written: name their file with --original")
    write_table(imported.table, output, type(imported.table).__name__, imported.notes)
    for _, path, table in extras:
        if table is not None:
            write_table(table, path, f"{type(table).__name__}, {len(table):,} rows")


def _nothing_to_write(option: str, importer: Importer, source: Path, truth: str | None) -> BadSetting:
    """The error for --original or --doubt with a source that has no such labels."""
    from sfumato.importers.file_head import Preview
    from sfumato.importers.hard_labels import LABEL_NAMES

    if option == "--original" and truth:
        found, expected = f"no class of an item in {truth}", "the true class of some items"
        return BadSetting(
            found, expected, "check the column, or leave out --original and --truth", "no-original", source
        )
    if option == "--original" and hasattr(getattr(importer, "importer", importer), "truth"):
        near = [name for name in Preview.of(source).columns if name in LABEL_NAMES and name not in ("label", "class")]
        expected = "the true class of each item: a column of the source, or a file with item and label"
        fix = f"name it with --truth {near[0] if near else 'COLUMN'}, or leave out --original"
        return BadSetting("--original without --truth", expected, fix, "no-original", source)
    what = "original labels" if option == "--original" else "uncertainty measures"
    found, expected = f"{option}, but no {what} in a source of the format {importer.name}", f"a source with {what}"
    return BadSetting(found, expected, f"leave out {option}")
