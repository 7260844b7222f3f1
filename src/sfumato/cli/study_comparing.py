"""`sfumato study compare`: the forms of a study with arms, by what their answers tell a second."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.options import PATH
from sfumato.cli.output import printable, say_written
from sfumato.cli.serve import STORE_HELP, missing_extra
from sfumato.tables.errors import BadSetting, CannotWrite, ErrorLocation

if TYPE_CHECKING:
    from sfumato.planning.form_comparison import FormScores

NAME = 24
PICTURES = (".svg", ".png")


@click.command("compare")
@click.argument("study", type=PATH)
@click.option("--store", help=STORE_HELP)
@click.option("-o", "--output", type=PATH, help="Every figure as a table: .csv or .parquet.")
@click.option("--chart", type=PATH, help="Divergence by seconds spent, as a picture: .svg or .png.")
@click.option("--seed", default=0, show_default=True, help="What groups of answers and items are drawn by.")
def compare(study: Path, store: str | None, output: Path | None, chart: Path | None, seed: int) -> None:
    """Compare the forms of STUDY, which has [[arms]]: how far answers in each lie from the pooled label, and what each
    annotator-second takes off, with intervals.

    The pooled label is the mean over forms of their mean beliefs, the answers being scored left out.
    """
    try:
        from sfumato.store.export import answers_by_arm
        from sfumato.store.location import StoreLocation, default_location
    except ImportError as error:
        raise missing_extra(error) from error
    import numpy as np

    if chart is not None and chart.suffix not in PICTURES:
        raise BadSetting(
            f"found --chart {str(chart)!r}",
            expected=f"a file that ends in {' or '.join(PICTURES)}",
            fix="name the picture so",
            code="bad-setting",
        )
    from sfumato.planning.form_comparison import compare_forms
    from sfumato.study import read_study

    asked = read_study(study)
    with tempfile.TemporaryDirectory() as folder:
        annotations, arms = answers_by_arm(StoreLocation.of(store or default_location(asked)), asked, Path(folder))
    found = compare_forms(annotations, arms, rng=np.random.default_rng(seed))
    for measure in dict.fromkeys(score.measure for score in found.scores):
        own = [score for score in found.scores if score.measure == measure]
        click.secho(f"{measure} from the pooled label, {own[0].n_items:,} items", bold=True)
        head = f"{'form':{NAME}}  {'answers':>7}  {'seconds':>7}  {'divergence':>22}  {'taken off a second':>24}"
        click.echo(f"{head}  {'more than ' + printable(own[0].form, 12):>26}")
        for score in own:
            click.echo(
                f"{printable(score.form, NAME):{NAME}}  {score.n_answers:>7}  {score.seconds:>7.1f}  "
                f"{_between(score.divergence, score.low, score.high, 3):>22}  "
                f"{_between(score.per_second, score.per_second_low, score.per_second_high, 4):>24}  "
                f"{_between(score.more, score.more_low, score.more_high, 4):>26}"
            )
        click.echo()
    click.echo("in brackets 95% intervals for other items, and the same people")
    if output is not None:
        found.write(output)
        say_written(output, f"{len(found)} figures")
    if chart is not None:
        _draw(found, chart)
        say_written(chart, "a chart")


def _draw(found: FormScores, path: Path) -> None:
    from sfumato.reporting.form_curves import form_curves

    drawn = form_curves(found)
    try:
        path.write_bytes(drawn.png() if path.suffix == ".png" else drawn.svg().encode())
    except OSError as error:
        raise CannotWrite(
            f"writing failed ({error.strerror})",
            expected="a place to write",
            fix="check the folder and its permissions",
            code="cannot-write",
            where=ErrorLocation(str(path)),
        ) from error


def _between(value: float, low: float, high: float, places: int) -> str:
    return f"{value:.{places}f} ({low:.{places}f} to {high:.{places}f})"
