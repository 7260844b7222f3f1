"""`sfumato transform`: smooth, sharpen, sparsify or complete labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sfumato.cli.options import PATH, any_estimand_option, check_outputs, given, output_option, same_rows_option
from sfumato.cli.output import write_table
from sfumato.cli.strategy_help import FamilyCommand, family_members


@click.command(
    "transform",
    cls=FamilyCommand,
    help="Change the distributions in TABLE (SoftLabels or Beliefs).",
    groups=lambda: {"Transforms": family_members("labeling/transforms.py", "TRANSFORMS")},
)
@click.argument("table", type=PATH)
@click.option("--by", "name", required=True, metavar="NAME", help="The transform.")
@output_option("Output file: .parquet or .csv.")
@click.option("--rate", type=float, help="Share spread over all classes (smooth).")
@click.option("--k", type=int, help="Number of classes to keep (sparsify).")
@click.option("--temperature", type=float, help="Above 1 flatter, below 1 sharper (temper).")
@click.option("--original", type=PATH, help="SoftLabels with the class of every item (class-means).")
@click.option("--filling", type=PATH, help="SoftLabels for the missing items (infill).")
@any_estimand_option
@same_rows_option
def command(table: Path, name: str, output: Path, original: Path | None, filling: Path | None, **settings: Any) -> None:
    from sfumato.importers.label_file import read_labels
    from sfumato.labeling.transforms import transform_from_name
    from sfumato.tables.beliefs import Beliefs
    from sfumato.tables.files.table_file import read_rows

    check_outputs(table, output=output)
    settings = given(settings) | {
        role: read_labels(path) for role, path in (("original", original), ("filling", filling)) if path
    }
    transform = transform_from_name(name, settings)
    is_beliefs = "annotator" in read_rows(table).schema.names
    result = transform.apply(Beliefs.read(table) if is_beliefs else read_labels(table))
    write_table(result, output, f"{type(result).__name__}, {len(result):,} rows")
