"""`sfumato agreement`: inter-annotator agreement."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.options import PATH, check_outputs, classes_option, ordered_option, read_votes
from sfumato.cli.output import counted, write_table
from sfumato.cli.strategy_help import FamilyCommand, Member, family_members

if TYPE_CHECKING:
    pass


def _measures() -> dict[str, list[Member]]:
    """The measures by whether they are computed without being named."""
    found: dict[str, list[Member]] = {"Measures by default, as far as they apply": [], "Measures on request": []}
    usual, on_request = found.values()
    for member in family_members("labeling/agreement/__init__.py", "MEASURES"):
        (on_request if member.constants["default_for"] == "()" else usual).append(member)
    return found


@click.command(
    "agreement",
    cls=FamilyCommand,
    help="Measure inter-annotator agreement in VOTES, with confidence intervals over annotators and items.\n\n"
    "VOTES are Beliefs, Annotations, Counts, or a CSV with item, annotator and label.",
    groups=_measures,
)
@click.argument("votes", type=PATH)
@click.option("--measure", "names", multiple=True, metavar="NAME", help="A measure; may be given several times.")
@click.option("--level", default=0.95, show_default=True, help="Confidence level of the intervals.")
@classes_option
@ordered_option
@click.option("--camps", "with_camps", is_flag=True, help="Also test for camps: people who deviate together.")
@click.option("--members", type=PATH, help="Write who belongs to which camp (with --camps): .csv or .parquet.")
@click.option("--divided", type=PATH, help="Write the items that divide the camps (with --camps): .csv or .parquet.")
@click.option("-o", "--output", type=PATH, help="Write the table: .csv or .parquet.")
def command(
    votes: Path, names: tuple[str, ...], level: float, classes: tuple[str, ...], ordered: bool, with_camps: bool,
    members: Path | None, divided: Path | None, output: Path | None,
) -> None:  # fmt: skip
    from sfumato.aggregation.adaptive_agreement import study_agreement
    from sfumato.labeling.agreement import measure_from_name

    check_outputs(votes, output=output, members=members, divided=divided)
    measures = [measure_from_name(name) for name in dict.fromkeys(names)]
    people = read_votes(votes, classes, repeats=True, ordered=ordered)
    result = study_agreement(people, measures=measures, level=level)
    write_table(result, output, f"Agreement, {len(result):,} measures")
    for line in result.lines():
        click.echo(line)
    if with_camps or members is not None or divided is not None:
        import numpy as np

        from sfumato.labeling.camps import camps

        found = camps(people, rng=np.random.default_rng(0))
        write_table(found.members, members, f"Members of camps, {counted(len(found.members), 'annotator')}")
        write_table(found.items, divided, f"Items of camps, {counted(len(found.items), 'item')}")
        click.echo(str(found))
