"""`sfumato study depth`: what the deeper form would have said of every answer."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from sfumato.cli.options import PATH
from sfumato.cli.output import printable, say_written
from sfumato.cli.serve import STORE_HELP, missing_extra

WIDTH = 24
MOST_CLASSES = 20


@click.command("depth")
@click.argument("study", type=PATH)
@click.option("--store", help=STORE_HELP)
@click.option(
    "-o", "--output", type=PATH, help="A soft label an item, as the deeper form would have it: .parquet or .csv."
)
@click.option("--estimates", type=PATH, help="Every figure as a table: .csv or .parquet.")
@click.option("--seed", default=0, show_default=True, help="What items are drawn by for the intervals.")
def depth(study: Path, store: str | None, output: Path | None, estimates: Path | None, seed: int) -> None:
    """Say what the deeper form of STUDY, which has [deeper], would have said of every answer: each that it opened for
    is weighed by the inverse of the probability with which it did.

    Beside it the plain mean of the answers it opened for, which are those of people in doubt.
    """
    try:
        from sfumato.store.export import export
        from sfumato.store.location import StoreLocation, default_location
    except ImportError as error:
        raise missing_extra(error) from error
    import numpy as np
    import pyarrow.parquet as pq

    from sfumato.planning.deepening import deepened
    from sfumato.study import read_study
    from sfumato.tables.annotations import Annotations

    asked = read_study(study)
    with tempfile.TemporaryDirectory() as folder:
        answers, records = Path(folder) / "answers.parquet", Path(folder) / "records.parquet"
        export(StoreLocation.of(store or default_location(asked)), asked.name, answers, records)
        found = deepened(Annotations.read(answers), pq.read_table(records), rng=np.random.default_rng(seed))
    rows = found.estimates.rows
    why = ", ".join(f"{name} {n:,}" for name, n in found.reasons.items())
    click.echo(f"{rows[0].n_answers:,} answers; the deeper form opened {rows[0].n_deeper:,} times: {why}")
    click.echo(f"weighed, these tell as much as {found.n_effective:,.0f} of equal weight")
    click.echo()
    click.secho(
        f"{'mean over all answers':{WIDTH}}  {'plain':>7}  {'weighed':>24}  {'Horvitz-Thompson':>16}", bold=True
    )
    for row in rows[: 1 + MOST_CLASSES]:
        weighed = f"{row.hajek:.3f} ({row.low:.3f} to {row.high:.3f})"
        click.echo(
            f"{printable(row.quantity, WIDTH):{WIDTH}}  {row.naive:>7.3f}  {weighed:>24}  {row.horvitz_thompson:>16.3f}"
        )
    if len(rows) > 1 + MOST_CLASSES:
        click.echo(f"... and {len(rows) - 1 - MOST_CLASSES:,} more classes: write them with --estimates")
    click.echo("in brackets 95% intervals for other items")
    if output is not None:
        found.labels().write(output)
        say_written(output, f"soft labels of {len(found.items):,} items")
    if estimates is not None:
        found.estimates.write(estimates)
        say_written(estimates, f"{len(rows)} figures")
