"""`sfumato demo`: the path walked on a small example, every step a command you could type."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.options import PATH
from sfumato.errors import BadSetting

if TYPE_CHECKING:
    from sfumato.beliefs import Beliefs
    from sfumato.soft_labels import SoftLabels

STEPS = (
    (
        "The answers as a table, with a codebook. One consistent snapshot, also while people go on answering.",
        "sfumato export {folder} -o {folder}/annotations.parquet --records {folder}/records.parquet",
    ),
    (
        "Who did not look? Repeats, speed and monotony, as a table; nobody is deleted.",
        "sfumato screen {folder}/annotations.parquet -o {folder}/screening.csv",
    ),
    (
        "Turn each answer into a distribution over the classes.",
        "sfumato label {folder}/annotations.parquet --by tokens --screening {folder}/screening.csv "
        "-o {folder}/beliefs.parquet --doubt {folder}/doubt.csv",
    ),
    (
        "How people together judge each photograph, and how near each of them is to the others.",
        "sfumato aggregate {folder}/beliefs.parquet --by mixture-pool -o {folder}/labels.parquet "
        "--annotators {folder}/annotators.csv --annotations {folder}/annotations.parquet",
    ),
    (
        "How much people agree.",
        "sfumato agreement {folder}/beliefs.parquet -o {folder}/agreement.csv",
    ),
)
MARKS = ("█", "▓", "▒", "░", "·")
# The five colours of the terminal that stay apart on light and dark, and for most colour vision.
COLOURS = ("blue", "yellow", "cyan", "magenta", "white")


@click.command("demo")
@click.option("-o", "--output", type=PATH, default=Path("demo-out"), show_default=True, help="The folder to write to.")
def command(output: Path) -> None:
    """Walk the path on a small study: eighteen photographs of birds on a pond, told in words, and fourteen people.

    The people are simulated, and answer over HTTP as people do. Shows every command it runs, and what the doubt in the
    answers is made of. The files stay, to look at; on a terminal the study stays open, for you to answer.
    """
    from sfumato.beliefs import Beliefs
    from sfumato.demo.pond import answer_study, write_study
    from sfumato.soft_labels import SoftLabels

    output.mkdir(parents=True, exist_ok=True)
    _check_unused(output / "store")
    write_study(output)
    click.secho("1. A study: which bird does a photograph show, and how sure are you?", bold=True)
    _run(f"sfumato study check {shlex.quote(str(output))}")
    click.secho("2. Fourteen simulated people take it, over HTTP, through the same door as people.", bold=True)
    click.echo(f"   {answer_study(output)} answers, each acknowledged after it was safe on disk\n")
    for number, (why, line) in enumerate(STEPS, 3):
        click.secho(f"{number}. {why}", bold=True)
        _run(line.format(folder=shlex.quote(str(output))))
    _show_pictures(Beliefs.read(output / "beliefs.parquet"), SoftLabels.read(output / "labels.parquet"))
    click.echo(
        f"\nThe files are in {output}/. Next: docs/elicit.md for a study of your own, docs/label.md for what each"
        " labeler means,\ndocs/aggregate.md for which aggregator to use when.\n"
    )
    click.secho("Now you: open the study in a browser and answer it yourself.", bold=True)
    if sys.stdout.isatty():
        _run(f"sfumato serve {shlex.quote(str(output))} --port 0")
    else:
        click.echo(f"   $ sfumato serve {shlex.quote(str(output))}   then open http://127.0.0.1:8000")


def _run(line: str) -> None:
    """Show a command, and run it."""
    from sfumato.cli import group

    click.secho(f"   $ {line}", dim=True)
    group.main(args=shlex.split(line)[1:], prog_name="sfumato", standalone_mode=False)
    click.echo()


def _check_unused(store: Path) -> None:
    """Answers that are there already stay: the demo begins with none."""
    if store.exists():
        raise BadSetting(
            f"found answers of an earlier demo in {store}",
            expected="a folder without answers",
            fix=f"answer that study with: sfumato serve {store.parent}, remove the folder, or give another with -o",
            code="demo-exists",
        )


def _show_pictures(beliefs: Beliefs, labels: SoftLabels) -> None:
    """Every picture: how people together judge it, and whether their doubt is shared or a quarrel."""
    import numpy as np

    from sfumato.demo.pond import PICTURES

    doubt = beliefs.doubt()
    label_of = labels.probs[labels.rows_of(doubt.items)]
    shows = {item: photo.shows for item, photo in PICTURES.items()}
    click.secho("How people together judge, most doubtful first", bold=True)
    key = "   ".join(
        click.style(f"{mark} {name}", fg=colour)
        for mark, name, colour in zip(MARKS, beliefs.classes, COLOURS, strict=True)
    )
    click.echo(f"   {key}\n")
    click.secho(f"   {'':35}{'soft label':26}{'doubt':>6} = {'within':>6} + {'between':>7}   (nats)", dim=True)
    for row in np.argsort(-doubt.total, kind="stable"):
        item = doubt.items[int(row)].as_py()
        parts = f"{doubt.total[row]:6.2f} = {doubt.within[row]:6.2f} + {doubt.between[row]:7.2f}"
        click.echo(
            f"   {shows[item]:34} {_stacked(label_of[row])} {parts}   {_verdict(doubt.within[row], doubt.between[row])}"
        )


def _verdict(within: float, between: float) -> str:
    if within + between < 0.6:
        return ""
    if between > within:
        return "people disagree"
    return "nobody can tell" if within > 1 else "people are unsure"


def _stacked(probs: object, width: int = 24) -> str:
    """A distribution as one bar, a mark and a colour a class."""
    import numpy as np

    edges = np.round(np.cumsum(np.asarray(probs)) * width).astype(int)
    lengths = np.diff(edges, prepend=0)
    bars = (click.style(mark * n, fg=colour) for mark, n, colour in zip(MARKS, lengths, COLOURS, strict=True))
    return "".join(bars)
