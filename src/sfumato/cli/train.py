"""`sfumato train`: train and compare models on soft and hard labels."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import (
    PATH,
    any_estimand_option,
    check_folder,
    check_not_negative,
    given,
    plain_input_options,
    same_rows_option,
)
from sfumato.cli.output import drawing, printable, say_written
from sfumato.tables.errors import BadSetting, listing, warnings_off
from sfumato.tables.strategies import StrategyText, split_choices

if TYPE_CHECKING:
    from sfumato.evaluation.run_metric_values import SeedValues
    from sfumato.training.experiment import Experiment
    from sfumato.training.grid import RunRow
    from sfumato.training.training_progress import Progress

TARGET_LINES = """\b
People's uncertainty:
  soft             people's distribution
  sampled          a class sampled from it at every access
  deaggregated     one annotator's belief at every access; annotators
  tempered         people's distribution, sharper or flatter; temperature
  class-level      the mean distribution of the item's class; by
No people's uncertainty:
  hard             the original class
  majority         the class most people chose
  smoothing        the original class, smoothed over all classes; share
  distilled        a teacher's predictions; temperature, share
Controls:
  shuffled         people's distributions shuffled within each class; by
  entropy-matched  smoothing with the entropy of people's label; level
  uniform          the same probability for every class
  random           a random label per item; form
Crowd layers, trained on beliefs together with the network:
  crowd-layer          a matrix per annotator on the predictions; decay
  annotator-heads      a linear layer per annotator on the logits; shrinkage
  annotator-confusion  a confusion matrix per annotator; trace, diagonal"""

DATA = (
    "inputs",
    "start",
    "new_head",
    "text",
    "items",
    "size",
    "beliefs",
    "original",
    "weights",
    "rest",
    "any_estimand",
)
RECIPE = ("epochs", "batch_size", "clip", "validation", "patience", "dynamics", "predictions_each_epoch", "precision")
CHOICE_LINES = """\b
Label sets: --labels equal=a.parquet --labels weighted=b.parquet, and targets soft@equal hard@original
Settings follow a name: smoothing:share=0.2 sgd:momentum=0.9:weight-decay=1e-4 steps:after=[50,55]:by=0.1
Models:     images: lenet small resnet-20 wrn-16-2 ... (docs/train.md lists all)
            features: linear mlp knn boosting     texts: text-linear encoder:folder=...
            predictions: linear-head vector-scaling temperature as-predicted
            your own: sklearn:package.Class   package:function (a torch network)
Optimizers: adam sgd     Schedules: constant steps one-cycle plateau
Mixings:    plain mixup mix-max-ent entropy-weighted class-pair
Splits:     share:test=0.3:stratify=agreement  k-fold:k=10:groups=groups.csv  items:train=900  per-class:train=8
            given:train=a.npy:validation=b.npy:test=c.npy  none
Select:     rate  weight-decay  epochs  smoothing.share  mixup.alpha  linear.penalty  knn.k ..."""


@click.command(
    "train",
    help="Train models for every combination of target, model, seed and fold, and write the predictions of each for "
    "its test items.\n\nAll targets of a seed start with the same weights and see the same batches. If the command is "
    "stopped, run it again to continue; finished runs are not trained again.\n\n"
    f"Targets:\n\n{TARGET_LINES}\n\n{CHOICE_LINES}",
)
@click.option("--grid", "grid_path", type=PATH, help="All settings as a TOML file (examples/grid.toml).")
@click.option(
    "--inputs", type=PATH, help="Images (a folder or npz), texts (CSV, Parquet, JSON Lines) or features (npz)."
)
@click.option(
    "--start",
    type=PATH,
    help="Predictions or features to train heads on, instead of inputs; or weights (.safetensors) to start networks "
    "with, in addition to --inputs.",
)
@click.option("--new-head", is_flag=True, help="With weights: replace the last layer, for other classes.")
@plain_input_options
@click.option(
    "--labels",
    multiple=True,
    metavar="[NAME=]FILE",
    help="People's soft labels (SoftLabels); repeat with names to compare label sets.",
)
@click.option("--beliefs", type=PATH, help="The belief of each annotator (Beliefs).")
@click.option("--original", type=PATH, help="The original class of each item: a table with item and label.")
@click.option(
    "--teacher", "teachers", type=PATH, multiple=True, help="Predictions of a teacher (SoftLabels); repeat for a mean."
)
@click.option("--rest", metavar="NAME", help="Labels of items that have none: original, or a label set.")
@click.option("--weights", type=PATH, help="How much each item counts in training: a table with item and weight.")
@click.option(
    "--targets",
    metavar="NAMES",
    help="Targets, separated by commas.  [default: hard (or majority), soft]",
)
@click.option(
    "--model",
    "--network",
    "networks",
    metavar="NAMES",
    help="Models, separated by commas.  [default: lenet for images, linear, text-linear]",
)
@click.option("--seeds", type=int, help="Number of seeds.  [default: 1]")
@click.option("--folds", type=int, help="Number of folds: each item is predicted by models trained on the others.")
@click.option("--split", metavar="NAME", help="How items are split into training and test.  [default: share:test=0.3]")
@click.option("--epochs", type=int, help="Passes over the training items.  [default: 30]")
@click.option("--batch-size", type=int, help="Items per batch.  [default: 64]")
@click.option("--optimiser", metavar="NAME", help="adam or sgd.  [default: adam]")
@click.option("--rate", type=float, help="Learning rate of the optimizer.")
@click.option("--schedule", metavar="NAME", help="How the learning rate changes.  [default: constant]")
@click.option("--mixing", metavar="NAMES", help="How items are mixed; several are compared.  [default: plain]")
@click.option(
    "--augment",
    is_flag=False,
    flag_value="crop-and-flip",
    metavar="[NAME]",
    help="Crop and flip images at random: crop-and-flip or none.  [default: crop-and-flip for color images of at least "
    "24 pixels]",
)
@click.option("--clip", type=float, help="Largest gradient norm.")
@click.option("--validation", type=float, help="Share of the training items used for validation.")
@click.option(
    "--select",
    multiple=True,
    metavar="SETTING=VALUES",
    help="Choose a setting on the validation items, per target and model: rate=0.01,0.1 or smoothing.share=0.1,0.2. "
    "Repeat for combinations.",
)
@click.option(
    "--select-by", metavar="LABELS", help="Labels of the validation items: people or original.  [default: people]"
)
@click.option("--patience", type=int, help="Stop after this many epochs without a lower validation loss.")
@click.option("--dynamics", metavar="WHEN", help="Record predictions of training items: none, online, end or both.")
@click.option("--predictions-each-epoch", is_flag=True, help="Keep predictions of every epoch, not only the last.")
@click.option("--precision", metavar="NAME", help="float32, bfloat16 or float16.  [default: float32]")
@click.option("--device", metavar="NAME", help="Device to train on.  [default: cpu]")
@click.option("--processes", type=int, default=0, help="Number of parallel processes.  [default: one per core]")
@click.option("--engine", default="local", show_default=True, metavar="NAME", help="local, or ray for a cluster.")
@any_estimand_option
@same_rows_option
@click.option("--allow-drift", is_flag=True, help="Keep runs made with other settings, data or versions.")
@click.option("-o", "--output", type=PATH, required=True, help="The folder for the runs, with one folder per run.")
def command(
    grid_path: Path | None, output: Path, processes: int, engine: str, allow_drift: bool, **options: Any
) -> None:
    from sfumato.training.experiment_file import ExperimentFile

    check_not_negative("processes", processes)
    settings = {name: value for name, value in given(options).items() if value != ()}
    if grid_path and settings:
        option = next(iter(settings)).replace("_", "-")
        fix = f"omit --{option}, or write it into the file"
        raise BadSetting(f"--{option} with --grid", "all settings in the file", fix)
    file = ExperimentFile.read(grid_path) if grid_path else ExperimentFile.of(_document(settings))
    check_folder(output)
    file.load()
    from sfumato.training.worker_pool import run_experiment

    experiment = file.experiment(output, allow_drift=allow_drift)
    for note in file.notes:
        click.echo(f"  - {note}")
    if not experiment.grid.has_networks:
        with _progress() as progress:
            run_experiment(experiment, processes=processes, engine=engine, on_progress=progress)
        _show(experiment, experiment.write_table())
        return
    from sfumato.training.ranks import process_group

    with process_group() as ranks:
        with _progress() as progress:
            run_experiment(
                experiment, processes=processes, engine=engine, on_progress=progress if ranks.writes else None
            )
        if ranks.writes:
            _show(experiment, experiment.write_table())


def _document(settings: dict[str, Any]) -> dict[str, Any]:
    """The options as the document of an experiment file."""

    def part(*names: str) -> dict[str, Any]:
        return {name: settings[name] for name in names if name in settings}

    document: dict[str, Any] = {
        "data": part(*DATA),
        "grid": part("seeds", "device"),
        "recipe": part(*RECIPE),
        **part("optimiser", "schedule"),
    }
    if "labels" in settings:
        document["data"]["labels"] = _label_files(settings["labels"])
    if "mixing" in settings:
        mixings = split_choices(settings["mixing"])
        document["mixing"] = mixings if len(mixings) > 1 else settings["mixing"]
    if "select" in settings or "select_by" in settings:
        from sfumato.training.setting_selection import values_of_options

        by = {"by": settings["select_by"]} if "select_by" in settings else {}
        document["select"] = {**values_of_options(settings.get("select", ())), **by}
    if "teachers" in settings:
        document["data"]["teachers"] = list(settings["teachers"])
    for name in ("targets", "networks"):
        if name in settings:
            document["grid"][name] = split_choices(settings[name])
    if "rate" in settings:
        choice = StrategyText.of(settings.get("optimiser", "adam"))
        document["optimiser"] = {"name": choice.name, **choice.settings, "rate": settings["rate"]}
    if "augment" in settings:
        document["augmentation"] = settings["augment"]
    if "folds" in settings and "split" in settings:
        raise BadSetting("--folds with --split", "one of them", "omit one of them")
    if "folds" in settings:
        document["split"] = {"name": "k-fold", "k": settings["folds"]}
    if "split" in settings:
        document["split"] = settings["split"]
    return document


def _label_files(labels: Sequence[str]) -> dict[str, str]:
    """The files of `--labels`, by the name of the label set; a file without a name is that of people's labels."""
    from sfumato.training.training_set import PEOPLE

    found: dict[str, str] = {}
    for text in labels:
        name, equals, file = text.partition("=")
        if not equals or Path(text).exists():
            name, file = PEOPLE, text
        if name in found:
            fix = f"name them, for example --labels a={found[name]} --labels b={file}"
            raise BadSetting(f"two label sets called {name}", "a name of its own for each", fix, "doubled-name")
        found[name] = file
    return found


@contextmanager
def _progress() -> Iterator[Callable[[Progress], None]]:
    """A callback that shows the progress and the time left."""
    with drawing() as draw:

        def show(progress: Progress) -> None:
            done = f"{progress.n_done} of {progress.n_groups} trainings, {_time(progress.seconds)}"
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
    """Print accuracy and cross-entropy by target, the output folder, and which runs diverged."""
    _show_scores(experiment)
    if experiment.grid.selection is not None:
        _show_selection(experiment)
    say_written(output := experiment.folder, f"{len(rows):,} runs; runs.csv lists them")
    diverged = [row.run for row in rows if row.ended == "diverged"]
    if diverged:
        click.echo(
            f"{len(diverged)} of {len(rows)} runs diverged: {listing(diverged, 5)}; their last good weights are in "
            f"{printable(str(output))}. Try a smaller --rate, or --clip 1",
            err=True,
        )
        sys.stdout.flush()
        sys.exit(1)


def _show_scores(experiment: Experiment) -> None:
    """Means over seeds, for seeds whose folds are all finished; against each label set, else the original labels."""
    import numpy as np

    from sfumato.evaluation.metrics.accuracy import Accuracy
    from sfumato.evaluation.metrics.divergence import CrossEntropy
    from sfumato.evaluation.run_predictions import RunPredictions
    from sfumato.evaluation.run_scores import measure_runs
    from sfumato.tables.soft_labels import SoftLabels
    from sfumato.training.grid import RunKey
    from sfumato.training.training_set import ORIGINAL

    data, grid = experiment.data, experiment.grid
    against = data.set_names or ([ORIGINAL] if data.original is not None else [])
    runs = [
        RunPredictions(RunKey(target, network, seed, None, recipe).label, network, seed, table)
        for network in grid.networks
        for recipe in grid.recipes_of(network)
        for target in grid.targets
        for seed in grid.seeds
        if (table := experiment.predictions(target, network, seed, recipe)) is not None
    ]
    for name in against if runs else ():
        labels = data.named_set(name)
        assert labels is not None
        known = np.flatnonzero(labels.known)
        # sfumato evaluate prints these warnings, with intervals.
        with warnings_off():
            people = SoftLabels.from_numpy([data.items[i] for i in known], labels.probs[known], data.classes)
            if not set(people.items.to_pylist()) & set(runs[0].predictions.items.to_pylist()):
                click.echo(f"no test item has a label of {printable(name)}: there is nothing to score")
                continue
            scores = measure_runs(runs, people=people, metrics=[Accuracy(), CrossEntropy()], common=True).figures
        _show_block(scores, "the original labels" if name == ORIGINAL else name)


def _show_block(scores: Sequence[SeedValues], against: str) -> None:
    """Accuracy and cross-entropy of every target and model, against one label set."""
    width = max(len(name) for name in ("target", *(score.target for score in scores)))
    networks = max(len(name) for name in ("model", *(score.network for score in scores)))
    tested = f"against {printable(against)}, {scores[0].n_items:,} test item{'s' * (scores[0].n_items != 1)}"
    click.echo(f"{'target':{width}}  {'model':{networks}}  accuracy  cross-entropy   ({tested})")
    for accuracy, cross_entropy in zip(scores[::2], scores[1::2], strict=True):
        named = f"{printable(accuracy.target):{width}}  {printable(accuracy.network):{networks}}"
        seeds = f"{len(accuracy.seeds)} seed{'s' * (len(accuracy.seeds) != 1)}"
        click.echo(f"{named}  {accuracy.values.mean():8.4f}  {cross_entropy.values.mean():13.4f}   {seeds}")


def _show_selection(experiment: Experiment) -> None:
    """Print the settings that most runs of each target and model chose."""
    from sfumato.training.selected_runs import chosen_settings

    assert experiment.grid.selection is not None
    rows = chosen_settings(experiment)
    widths = [max((len(getattr(row, name)) for row in rows), default=0) for name in ("target", "network")]
    by = "people's" if experiment.grid.selection.by == "people" else "the original"
    click.echo(f"chosen on validation items, by cross-entropy against {by} labels (selection.csv lists every trial)")
    for row in rows:
        named = f"{printable(row.target):{widths[0]}}  {printable(row.network):{widths[1]}}"
        click.echo(f"{named}  {row.text}   {row.n_runs} of {row.n_all} run{'s' * (row.n_all != 1)}")
