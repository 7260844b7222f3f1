"""`sfumato doubt`: uncertainty per item, within and between annotators."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.options import PATH, check_not_negative, check_outputs, classes_option, read_votes, repeats_option
from sfumato.cli.output import write_table

if TYPE_CHECKING:
    from sfumato.tables.doubt import Doubt


@click.command("doubt")
@click.argument("votes", type=PATH)
@click.option("-o", "--output", type=PATH, help="Write the table: .csv or .parquet.")
@click.option("--top", default=10, show_default=True, help="How many of the most uncertain items to show.")
@click.option("--plug-in", is_flag=True, help="Also print mean entropies of the shares, biased low if answers are few.")
@click.option("--level", default=0.95, show_default=True, help="Confidence level of the intervals.")
@classes_option
@repeats_option
def command(
    votes: Path, output: Path | None, top: int, plug_in: bool, level: float, classes: tuple[str, ...], repeats: bool
) -> None:
    """Measure how often two people give different answers about the items in VOTES.

    The table has the dissent of every item, for beliefs within (█) and between (░) annotators, and entropies in nats.
    VOTES are Beliefs, Annotations, Counts, or a CSV with item, annotator and label.
    """
    from sfumato.aggregation.adaptive_study import audit_of, audit_sentence, study_doubt
    from sfumato.tables.errors import warn
    from sfumato.tables.setting_checks import between_0_and_1

    check_not_negative("top", top)
    between_0_and_1("level", level)
    check_outputs(votes, output=output)
    people = read_votes(votes, classes, repeats=repeats)
    doubt = people.doubt()
    write_table(doubt, output, f"Doubt, {len(doubt):,} items")
    click.echo(str(study_doubt(people, level=level)))
    if (audit := audit_of(people, level=level)) is not None:
        click.echo(audit_sentence(audit))
        if audit.fails:
            warn("the audit does not fit the model: use the audited answers alone for means over items")
    if plug_in:
        click.echo(_plug_in(doubt))
    for line in doubt.item_lines(top):
        click.echo(line)


def _plug_in(doubt: Doubt) -> str:
    """The mean entropies of the shares."""
    import numpy as np

    known = ~np.isnan(doubt.total)
    if not known.any():
        return "Plug-in entropies: not identifiable."
    total, within, between = (each[known].mean() for each in (doubt.total, doubt.within, doubt.between))
    return f"Plug-in entropies: {total:.3f} nats = {within:.3f} within annotators + {between:.3f} between annotators."
