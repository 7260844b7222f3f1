"""`sfumato represent`: compare a model's features with human similarity judgments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.options import PATH, check_outputs, check_torch_installed, input_options, output_option, seeded
from sfumato.cli.output import number, write_table
from sfumato.tables.errors import BadSetting

if TYPE_CHECKING:
    from sfumato.evaluation.representation import Features
    from sfumato.tables.model_inputs import InputOptions
    from sfumato.tables.scores import Scores


@click.command("represent")
@click.option("--features", "features_path", type=PATH, help="Features (items x dims): npz, npy or scipy.sparse.")
@click.option("--run", "run_path", type=PATH, help="A run of sfumato train to compute features with, needs --inputs.")
@click.option("--inputs", "inputs_path", type=PATH, help="The inputs of the run: a folder of images, or an npz.")
@click.option("--save-features", type=PATH, help="Output file for the features of --run: .npz.")
@click.option("--judgments", type=PATH, required=True, help="Annotations of the kinds similarity and triplet.")
@output_option("Output file for the Scores: .csv or .parquet.")
@click.option("--by", type=click.Choice(["cosine", "euclidean", "dot"]), default="cosine", show_default=True,
              help="Similarity of features.")  # fmt: skip
@click.option("--over", type=click.Choice(["items", "annotators"]), default="items", show_default=True,
              help="What intervals generalize to.")  # fmt: skip
@click.option("--level", default=0.95, show_default=True, help="Confidence level of the intervals.")
@click.option("--seed", default=0, show_default=True, help="Seed of the split halves.")
@input_options
def command(
    features_path: Path | None, run_path: Path | None, inputs_path: Path | None, save_features: Path | None,
    judgments: Path, output: Path, by: str, over: str, level: float, seed: int, reading: InputOptions,
) -> None:  # fmt: skip
    """Compare features with human similarity judgments.

    Pairs: the rank correlation of feature similarity with the mean rating, and its noise ceiling. Triplets: how often
    features contradict the answers.
    """
    from sfumato.evaluation.representation import FeatureSimilarity, SamplingUnit, represent
    from sfumato.tables.annotations import Annotations

    rng = seeded(seed)
    check_outputs(judgments, output=output)
    features = _features(features_path, run_path, inputs_path, save_features, reading)
    answers = Annotations.read(judgments).counted()
    scores = represent(features, answers, by=FeatureSimilarity(by), over=SamplingUnit(over), level=level, rng=rng)
    what = f"Scores, {len(scores)} figures by {by} similarity of {features.values.shape[1]:,} features"
    write_table(scores, output, what)
    _show(scores)


def _features(
    path: Path | None, run: Path | None, inputs: Path | None, save: Path | None, reading: InputOptions
) -> Features:
    """The features of a file, or computed with a run."""
    from sfumato.evaluation.representation import Features

    if (path is None) == (run is None) or (run is None) != (inputs is None) or (save is not None and run is None):
        found, fix = "neither, both, or an incomplete combination", "see sfumato represent --help"
        raise BadSetting(found, "--features, or --run with --inputs", fix, "usage")
    if path is not None:
        return Features.of(reading.read(path))
    assert run is not None
    assert inputs is not None
    check_torch_installed("to take features out of a run")
    from sfumato.training.run_folder import Run
    from sfumato.training.trained_runs import features_of

    table = features_of(Run.read(run).predictor(), reading.read(inputs))
    write_table(table, save, f"features, {len(table.items):,} items x {table.features.shape[1]:,}")
    return Features(table.items, table.features.astype("float64"))


def _show(scores: Scores) -> None:
    width = max(len(name) for name in scores.metric)
    click.echo(f"{'metric':{width}}  {'value':>7}  {'interval':^16}  {'items':>7}  {'people':>7}")
    for score in scores.rows():
        between = f"{number(score.low):>6} to {number(score.high):>6}"
        line = f"{number(score.value):>7}  {between:16}  {score.n_items:>7,}  {number(score.floor):>7}"
        click.echo(f"{score.metric:{width}}  {line}")
    click.echo("people: the noise ceiling, the best possible score given the agreement between people")
    for kind in dict.fromkeys(score.covers for score in scores.rows() if not score.covers.startswith("none: a")):
        click.echo(f"interval: {kind}")
