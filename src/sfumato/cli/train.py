"""`sfumato train`: networks from soft labels, any target against any other."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import PATH, check_folder, check_torch_installed, given
from sfumato.cli.output import drawing, printable, say_written

if TYPE_CHECKING:
    from sfumato.training.experiment import Experiment
    from sfumato.training.grid import RunRow
    from sfumato.training.training_progress import Progress

TARGET_LINES = """\b
With people's doubt:
  soft             how people judge
  sampled          a vote drawn anew at every access
  deaggregated     one annotator's belief at every access; annotators
  tempered         people's label, sharper or flatter; temperature
  class-level      the mean label of an item's class; by
Without:
  hard             the original class
  majority         the class most people chose
  smoothing        the original class and some of all others; share
  distilled        what a teacher predicts; temperature, share
Controls:
  shuffled         people's labels, dealt out anew within a class; by
  entropy-matched  smoothing with as much doubt as people have; level
  uniform          every class alike
  random           a label drawn once an item; form
From beliefs directly, the annotators learnt beside the network:
  crowd-layer          a matrix an annotator on what is predicted; decay
  annotator-heads      a linear layer an annotator on the logits; shrinkage
  annotator-confusion  a confusion an annotator; trace, diagonal"""

CHOICE_LINES = """\b
A choice has its settings behind it: smoothing:share=0.2 sgd:momentum=0.9:weight-decay=1e-4 steps:after=[50,55]:by=0.1
Networks:   simple-ffn deeper-ffn lenet small vgg-11 resnet-20 wrn-16-2 ... (docs/train.md lists all)
Optimisers: adam sgd     Schedules: constant steps one-cycle plateau
Mixings:    plain mixup mix-max-ent entropy-weighted class-pair
Splits:     share:test=0.3  k-fold:k=10  given:train=a.npy:test=b.npy  none"""


@click.command(
    "train",
    help="Train networks on the labels of items, one for every target, network, seed and fold, and keep what each "
    "predicts for the items it did not learn from.\n\nAll targets of a seed begin with the same weights and see the "
    "same batches. A command that was stopped goes on when it is given again; what is done is never done twice.\n\n"
    f"Targets, by what is in them:\n\n{TARGET_LINES}\n\n{CHOICE_LINES}",
)
@click.option("--grid", "grid_path", type=PATH, help="Everything below as a TOML file (examples/grid.toml).")
@click.option("--inputs", type=PATH, help="What the networks see: an npz with images, perhaps items and labels.")
@click.option("--labels", type=PATH, help="SoftLabels: how people judge.")
@click.option("--beliefs", type=PATH, help="Beliefs: what every annotator believes.")
@click.option("--original", type=PATH, help="The class every item came with: a table with item and label.")
@click.option(
    "--teacher", "teachers", type=PATH, multiple=True, help="SoftLabels a model predicts; several: their mean."
)
@click.option("--targets", metavar="NAMES", help="Targets, with commas between them.  [default: hard,soft]")
@click.option(
    "--model", "--network", "networks", metavar="NAMES", help="Models, separated by commas.  [default: lenet]"
)
@click.option("--seeds", type=int, help="How many seeds.  [default: 1]")
@click.option("--folds", type=int, help="Predict every item once, by networks that learnt from the other folds.")
@click.option("--split", metavar="NAME", help="Which items are predicted.  [default: share:test=0.3]")
@click.option("--epochs", type=int, help="How often all items are seen.  [default: 30]")
@click.option("--batch-size", type=int, help="Items seen at once.  [default: 64]")
@click.option("--optimiser", metavar="NAME", help="adam or sgd.  [default: adam]")
@click.option("--rate", type=float, help="The optimiser's rate.")
@click.option("--schedule", metavar="NAME", help="How the rate changes.  [default: constant]")
@click.option("--mixing", metavar="NAME", help="How items are mixed.  [default: plain]")
@click.option(
    "--augment", is_flag=False, flag_value="crop-and-flip", metavar="[NAME]", help="Move and mirror pictures a little."
)
@click.option("--clip", type=float, help="The longest a gradient may be.")
@click.option("--validation", type=float, help="Share of the items learnt from to watch the loss on.")
@click.option("--patience", type=int, help="Stop after so many epochs without a better validation loss.")
@click.option("--dynamics", metavar="WHEN", help="Note how training items are predicted: none, online, end or both.")
@click.option("--predictions-each-epoch", is_flag=True, help="Keep predictions of every epoch, not only the last.")
@click.option("--precision", metavar="NAME", help="float32, bfloat16 or float16.  [default: float32]")
@click.option("--device", metavar="NAME", help="Where to train.  [default: cpu]")
@click.option("--processes", type=int, default=0, help="How many at once.  [default: one a core]")
@click.option("--engine", default="local", show_default=True, metavar="NAME", help="local, or ray for a cluster.")
@click.option("--allow-drift", is_flag=True, help="Keep what was made with other settings, data or versions.")
@click.option("-o", "--output", type=PATH, required=True, help="The folder the runs go to, a folder each.")
def command(
    grid_path: Path | None, output: Path, processes: int, engine: str, allow_drift: bool, **options: Any
) -> None:
    from sfumato.cli.options import check_not_negative
    from sfumato.training.experiment_file import ExperimentFile

    check_not_negative("processes", processes)
    asked = {name: value for name, value in given(options).items() if value != ()}
    if grid_path:
        _refuse_beside(asked)
    file = ExperimentFile.read(grid_path) if grid_path else ExperimentFile.of(_document(asked))
    check_folder(output)
    loaded = file.load()
    check_torch_installed()
    from sfumato.training.ranks import together
    from sfumato.training.worker_pool import run_experiment

    experiment = file.experiment(output, loaded, allow_drift=allow_drift)
    for note in loaded.notes:
        click.echo(f"  - {note}")
    with together() as ranks:
        with _progress() as progress:
            run_experiment(
                experiment, processes=processes, engine=engine, on_progress=progress if ranks.writes else None
            )
        if ranks.writes:
            _show(experiment, experiment.write_table())


def _document(asked: dict[str, Any]) -> dict[str, Any]:
    """The options as a grid file would say them."""
    from sfumato.tables.errors import BadSetting
    from sfumato.tables.strategies import StrategyText, split_choices

    document: dict[str, Any] = {"data": {}, "grid": {}, "recipe": {}}
    for name in ("inputs", "labels", "beliefs", "original"):
        if name in asked:
            document["data"][name] = asked[name]
    if "teachers" in asked:
        document["data"]["teachers"] = list(asked["teachers"])
    for name in ("targets", "networks"):
        if name in asked:
            document["grid"][name] = split_choices(asked[name])
    document["grid"] |= {name: asked[name] for name in ("seeds", "device") if name in asked}
    recipe = (
        "epochs",
        "batch_size",
        "clip",
        "validation",
        "patience",
        "dynamics",
        "predictions_each_epoch",
        "precision",
    )
    document["recipe"] = {name: asked[name] for name in recipe if name in asked}
    document |= {name: asked[name] for name in ("optimiser", "schedule", "mixing") if name in asked}
    if "rate" in asked:
        choice = StrategyText.of(asked.get("optimiser", "adam"))
        document["optimiser"] = {"name": choice.name, **choice.settings, "rate": asked["rate"]}
    if "augment" in asked:
        document["augmentation"] = asked["augment"]
    if "folds" in asked and "split" in asked:
        raise BadSetting(
            "found --folds beside --split", expected="one of them", fix="leave one out", code="bad-setting"
        )
    if "folds" in asked:
        document["split"] = {"name": "k-fold", "k": asked["folds"]}
    if "split" in asked:
        document["split"] = asked["split"]
    return document


def _refuse_beside(asked: dict[str, Any]) -> None:
    if asked:
        from sfumato.tables.errors import BadSetting

        option = next(iter(asked)).replace("_", "-")
        raise BadSetting(
            f"found --{option} beside --grid",
            expected="all settings in the grid file",
            fix=f"leave --{option} out, or write it into the file",
            code="bad-setting",
        )


@contextmanager
def _progress() -> Iterator[Callable[[Progress], None]]:
    """A function to be told how far a grid has come: shows that, and the time left."""
    with drawing() as draw:

        def show(progress: Progress) -> None:
            done = f"{progress.n_done} of {progress.n_stacks} trainings, {_time(progress.seconds)}"
            left = progress.seconds_left
            draw(progress.share, f"{progress.share:4.0%}, {done}" + ("" if left is None else f", {_time(left)} left"))

        yield show


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds // 3600:.0f} h {seconds % 3600 / 60:02.0f} min"


def _show(experiment: Experiment, rows: list[RunRow]) -> None:
    """How near each target came to people, where the runs are, and which of them came to nothing."""
    from sfumato.training.grid_scores import scores_of

    scores = scores_of(experiment)
    if scores:
        width = max(len(name) for name in ("target", *(score.target for score in scores)))
        networks = max(len(name) for name in ("network", *(score.network for score in scores)))
        against = scores[0].against
        click.echo(f"{'target':{width}}  {'network':{networks}}  accuracy  cross-entropy   (against {against})")
        for score in scores:
            named = f"{printable(score.target):{width}}  {printable(score.network):{networks}}"
            seeds = f"{score.n_seeds} seed{'s' * (score.n_seeds != 1)}"
            click.echo(f"{named}  {score.accuracy:8.4f}  {score.cross_entropy:13.4f}   {seeds}")
    say_written(output := experiment.folder, f"{len(rows):,} runs; runs.csv lists them")
    diverged = [row.key.name for row in rows if row.ended == "diverged"]
    if diverged:
        from sfumato.tables.errors import listing

        click.echo(
            f"{len(diverged)} of {len(rows)} runs diverged: {listing(diverged, 5)}; their last good weights are in "
            f"{printable(str(output))}. Try a smaller --rate, or --clip 1",
            err=True,
        )
        sys.stdout.flush()
        sys.exit(1)
