"""`sfumato agreement`: inter-annotator agreement."""

from __future__ import annotations

from pathlib import Path

import click

from sfumato.cli.options import PATH, check_outputs, classes_option, ordered_option, read_votes
from sfumato.cli.output import write_table
from sfumato.cli.strategy_help import FamilyCommand, family_members


@click.command(
    "agreement",
    cls=FamilyCommand,
    help="Measure inter-annotator agreement in VOTES, with confidence intervals over annotators and items.\n\n"
    "VOTES are Beliefs, Annotations, Counts, or a CSV with item, annotator and label.",
    groups=lambda: {"Measures (default: all that apply)": family_members("labeling/agreement/__init__.py", "MEASURES")},
)
@click.argument("votes", type=PATH)
@click.option("--measure", "names", multiple=True, metavar="NAME", help="A measure; may be given several times.")
@click.option("--level", default=0.95, show_default=True, help="Confidence level of the intervals.")
@classes_option
@ordered_option
@click.option("-o", "--output", type=PATH, help="Write the table: .csv or .parquet.")
def command(
    votes: Path, names: tuple[str, ...], level: float, classes: tuple[str, ...], ordered: bool, output: Path | None
) -> None:
    from sfumato.labeling.agreement import agreement, measure_from_name

    check_outputs(votes, output=output)
    measures = [measure_from_name(name) for name in dict.fromkeys(names)]
    people = read_votes(votes, classes, repeats=True, ordered=ordered)
    result = agreement(people, measures=measures, level=level)
    write_table(result, output, f"Agreement, {len(result):,} measures")
    for line in result.lines():
        click.echo(line)
