"""`sfumato doubt`: uncertainty per item, within and between annotators."""

from __future__ import annotations

from pathlib import Path

import click

from sfumato.cli.options import PATH, check_not_negative, check_outputs, classes_option, read_votes, repeats_option
from sfumato.cli.output import bar, printable, write_table


@click.command("doubt")
@click.argument("votes", type=PATH)
@click.option("-o", "--output", type=PATH, help="Write the table: .csv or .parquet.")
@click.option("--top", default=10, show_default=True, help="How many of the most uncertain items to show.")
@classes_option
@repeats_option
def command(votes: Path, output: Path | None, top: int, classes: tuple[str, ...], repeats: bool) -> None:
    """Split the uncertainty of every item in VOTES, in nats: total = within (█) + between (░) annotators.

    VOTES are Beliefs, Annotations, Counts, or a CSV with item, annotator and label.
    """
    from sfumato.reporting.item_votes import NOT_MEASURED, ItemVotes, measured_items, only_some
    from sfumato.tables.doubt import most_doubtful

    check_not_negative("top", top)
    check_outputs(votes, output=output)
    people = read_votes(votes, classes, repeats=repeats)
    doubt, measured = people.doubt(), measured_items(people, ItemVotes.of(people))
    write_table(doubt, output, f"Doubt, {len(doubt):,} items")
    if measured.any():
        total, within, between = (each[measured].mean() for each in (doubt.total, doubt.within, doubt.between))
        only = "" if measured.all() else f", over {only_some(measured)}"
        parts = f"{within:.3f} within annotators + {between:.3f} between annotators"
        click.echo(f"{len(doubt):,} items: mean uncertainty {total:.3f} nats = {parts}{only}")
    else:
        click.echo(f"{len(doubt):,} items. {NOT_MEASURED}")
    largest = max(float(doubt.total.max()), 1e-12)
    for row in most_doubtful(doubt, top):
        line = bar([(doubt.within[row] / largest, "█"), (doubt.between[row] / largest, "░")])
        click.echo(f"  {printable(doubt.items[row].as_py(), 48):48} {line} {doubt.total[row]:.3f}")
