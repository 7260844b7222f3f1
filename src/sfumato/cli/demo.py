"""`sfumato demo`: the path walked on a small example, every step a command you could type."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.options import PATH

if TYPE_CHECKING:
    from sfumato.beliefs import Beliefs
    from sfumato.soft_labels import SoftLabels

STEPS = (
    (
        "Bring the answers in. Every row is checked; nothing is changed.",
        "sfumato import annotations {folder}/answers.csv --classes duck,goose,swan,heron,coot "
        "-o {folder}/annotations.parquet",
    ),
    (
        "Who did not look? Checks, repeats, speed and monotony, as a table; nobody is deleted.",
        "sfumato screen {folder}/annotations.parquet --gold {folder}/gold.csv -o {folder}/screening.csv",
    ),
    (
        "Turn each answer into a distribution over the classes.",
        "sfumato label {folder}/annotations.parquet --by top-two-clamp --screening {folder}/screening.csv "
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
    """Walk the path on a small simulated study: eighteen photographs of birds on a pond, fourteen people.

    Shows every command it runs, and what the doubt in the answers is made of. The files stay, to look at.
    """
    from sfumato.beliefs import Beliefs
    from sfumato.cli import group
    from sfumato.demo.pond import write_study
    from sfumato.soft_labels import SoftLabels

    output.mkdir(parents=True, exist_ok=True)
    click.echo(
        "A simulated study: 14 people say which bird a photograph shows, how sure they are, and what it cannot be.\n"
    )
    write_study(output)
    for number, (why, line) in enumerate(STEPS, 1):
        written = line.format(folder=shlex.quote(str(output)))
        click.secho(f"{number}. {why}", bold=True)
        click.secho(f"   $ {written}", dim=True)
        group.main(args=shlex.split(written)[1:], prog_name="sfumato", standalone_mode=False)
        click.echo()
    _show_pictures(Beliefs.read(output / "beliefs.parquet"), SoftLabels.read(output / "labels.parquet"))
    click.echo(
        f"\nThe files are in {output}/. Next: docs/label.md for what each labeler means, docs/aggregate.md for which"
        " aggregator to use when."
    )


def _show_pictures(beliefs: Beliefs, labels: SoftLabels) -> None:
    """Every picture: how people together judge it, and whether their doubt is shared or a quarrel."""
    import numpy as np

    from sfumato.demo.pond import PHOTOS

    doubt = beliefs.doubt()
    label_of = labels.probs[labels.rows_of(doubt.items)]
    shows = {photo.item: photo.shows for photo in PHOTOS}
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
