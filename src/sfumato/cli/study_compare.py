"""`sfumato study compare`: the forms of a study with arms, by information per second; `sfumato study depth`: estimates
for the deeper form.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.options import PATH, seeded, server_packages, store_option
from sfumato.cli.output import printable, say_written, write_table
from sfumato.study.study_file import read_study
from sfumato.tables.errors import BadSetting, CannotWrite

if TYPE_CHECKING:
    from sfumato.planning.form_comparison import FormScores


NAME = 24
PICTURES = (".svg", ".png")


@click.command("compare")
@click.argument("study", type=PATH)
@store_option
@click.option("-o", "--output", type=PATH, help="All values as a table: .csv or .parquet.")
@click.option("--chart", type=PATH, help="Divergence by seconds spent, as a chart: .svg or .png.")
@click.option("--seed", default=0, show_default=True, help="Seed for sampling answers and items.")
def compare(study: Path, store: str | None, output: Path | None, chart: Path | None, seed: int) -> None:
    """Compare the forms of STUDY, which has [[arms]]: the divergence of each form's answers from the pooled label, and
    its reduction per annotator-second, with intervals.

    The pooled label is the mean over forms of their mean beliefs, without the answers that are scored.
    """
    with server_packages():
        from sfumato.store.export import answers_by_arm
        from sfumato.store.location import StoreLocation
    rng = seeded(seed)
    if chart is not None and chart.suffix not in PICTURES:
        expected = f"a file that ends in {' or '.join(PICTURES)}"
        raise BadSetting(f"--chart {str(chart)!r}", expected, "choose such a file name")
    from sfumato.planning.form_comparison import compare_forms

    asked = read_study(study)
    annotations, arms = answers_by_arm(StoreLocation.of_study(asked, store), asked)
    found = compare_forms(annotations, arms, rng=rng)
    for measure in dict.fromkeys(score.measure for score in found.scores):
        own = [score for score in found.scores if score.measure == measure]
        click.secho(f"{measure} from the pooled label, {own[0].n_items:,} items", bold=True)
        head = f"{'form':{NAME}}  {'answers':>7}  {'seconds':>7}  {'divergence':>22}  {'reduction per second':>24}"
        click.echo(f"{head}  {'more than ' + printable(own[0].form, 12):>26}")
        for score in own:
            click.echo(
                f"{printable(score.form, NAME):{NAME}}  {score.n_answers:>7}  {score.seconds:>7.1f}  "
                f"{_between(score.divergence, score.low, score.high, 3):>22}  "
                f"{_between(score.per_second, score.per_second_low, score.per_second_high, 4):>24}  "
                f"{_between(score.more, score.more_low, score.more_high, 4):>26}"
            )
        click.echo()
    click.echo("in parentheses: 95% CI over items, for the same annotators")
    write_table(found, output, f"{len(found)} values")
    if chart is not None:
        _draw(found, chart)
        say_written(chart, "a chart")


def _draw(found: FormScores, path: Path) -> None:
    from sfumato.reporting.notebook_plots import form_curves

    drawn = form_curves(found)
    try:
        path.write_bytes(drawn.png() if path.suffix == ".png" else drawn.svg().encode())
    except OSError as error:
        fix = "check the folder and its permissions"
        raise CannotWrite(f"writing failed ({error.strerror})", "a place to write", fix, where=path) from error


def _between(value: float, low: float, high: float, places: int) -> str:
    return f"{value:.{places}f} ({low:.{places}f} to {high:.{places}f})"


WIDTH = 24
MOST_CLASSES = 20


@click.command("depth")
@click.argument("study", type=PATH)
@store_option
@click.option("-o", "--output", type=PATH, help="Soft labels estimated for the deeper form: .parquet or .csv.")
@click.option("--estimates", type=PATH, help="All values as a table: .csv or .parquet.")
@click.option("--seed", default=0, show_default=True, help="Seed for the intervals (bootstrap over items).")
def depth(study: Path, store: str | None, output: Path | None, estimates: Path | None, seed: int) -> None:
    """Estimate what the deeper form of STUDY, which has [deeper], would have given for every answer: answers with the
    deeper form are weighted by the inverse of the probability that it opened.

    For comparison, the plain mean of these answers, which come mostly from unsure people.
    """
    with server_packages():
        from sfumato.store.export import export
        from sfumato.store.location import StoreLocation
    rng = seeded(seed)
    import pyarrow.parquet as pq

    from sfumato.planning.deeper_form_estimates import estimate_deeper_form
    from sfumato.tables.annotations import Annotations

    asked = read_study(study)
    with tempfile.TemporaryDirectory() as folder:
        answers, records = Path(folder) / "answers.parquet", Path(folder) / "records.parquet"
        export(StoreLocation.of_study(asked, store), asked.name, answers, records, exact_times=True)
        found = estimate_deeper_form(Annotations.read(answers), pq.read_table(records), rng=rng)
    rows = found.estimates.rows
    why = ", ".join(f"{name} {n:,}" for name, n in found.reasons.items())
    click.echo(f"{rows[0].n_answers:,} answers; the deeper form opened {rows[0].n_deeper:,} times: {why}")
    click.echo(f"effective sample size after weighting: {found.n_effective:,.0f}")
    click.echo()
    click.secho(
        f"{'mean over all answers':{WIDTH}}  {'plain':>7}  {'weighted':>24}  {'Horvitz-Thompson':>16}", bold=True
    )
    for row in rows[: 1 + MOST_CLASSES]:
        name, weighted = printable(row.quantity, WIDTH), f"{row.hajek:.3f} ({row.low:.3f} to {row.high:.3f})"
        click.echo(f"{name:{WIDTH}}  {row.naive:>7.3f}  {weighted:>24}  {row.horvitz_thompson:>16.3f}")
    if len(rows) > 1 + MOST_CLASSES:
        click.echo(f"... and {len(rows) - 1 - MOST_CLASSES:,} more classes: write them with --estimates")
    click.echo("in parentheses: 95% CI over items")
    if output is not None:
        write_table(found.labels(), output, f"soft labels of {len(found.items):,} items")
    write_table(found.estimates, estimates, f"{len(rows)} values")
