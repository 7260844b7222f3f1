"""`sfumato agreement`: inter-annotator agreement."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.options import PATH, check_outputs, classes_option, ordered_option, read_votes, seeded
from sfumato.cli.output import number, write_table
from sfumato.cli.strategy_help import FamilyCommand, family_members

if TYPE_CHECKING:
    from sfumato.labeling.agreement.measure_protocol import AgreementTable


@click.command(
    "agreement",
    cls=FamilyCommand,
    help="Measure inter-annotator agreement in VOTES, with bootstrap intervals over items.\n\n"
    "VOTES are Beliefs, Annotations, Counts, or a CSV with item, annotator and label.",
    groups=lambda: {"Measures (default: all that apply)": family_members("labeling/agreement/__init__.py", "MEASURES")},
)
@click.argument("votes", type=PATH)
@click.option("--measure", "names", multiple=True, metavar="NAME", help="A measure; may be given several times.")
@click.option("--level", default=0.95, show_default=True, help="Confidence level of the intervals.")
@click.option("--resamples", default=1000, show_default=True, help="Number of bootstrap resamples.")
@click.option("--seed", default=0, show_default=True, help="Seed of the bootstrap.")
@classes_option
@ordered_option
@click.option("-o", "--output", type=PATH, help="Write the table: .csv or .parquet.")
def command(
    votes: Path, names: tuple[str, ...], level: float, resamples: int, seed: int, classes: tuple[str, ...],
    ordered: bool, output: Path | None,
) -> None:  # fmt: skip
    from sfumato.labeling.agreement import agreement, measure_from_name

    rng = seeded(seed)
    check_outputs(votes, output=output)
    measures = [measure_from_name(name) for name in dict.fromkeys(names)]
    people = read_votes(votes, classes, repeats=True, ordered=ordered)
    result = agreement(people, measures=measures, level=level, resamples=resamples, rng=rng)
    write_table(result, output, f"Agreement, {len(result):,} measures")
    _show(result)


def _show(result: AgreementTable) -> None:
    """Print the table, and below it the methods of the intervals."""
    if not len(result):
        return
    width = max(len(name) for name in result.measure)
    click.echo(f"{'measure':{width}}  {'value':>7}  {'interval':^17}  {'items':>9}  {'answers':>9}")
    for i, name in enumerate(result.measure):
        between = f"{number(result.low[i]):>7} to {number(result.high[i]):>6}"
        counts = f"{result.n_items[i]:>9,}  {result.n_answers[i]:>9,}"
        click.echo(f"{name:{width}}  {number(result.value[i]):>7}  {between:17}  {counts}")
    for kind in dict.fromkeys(result.interval):
        of = [name for name, its in zip(result.measure, result.interval, strict=True) if its == kind]
        whose = "" if len(of) == len(result) else f" of {', '.join(of)}"
        click.echo(f"interval{whose}: {kind}")
