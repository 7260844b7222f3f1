"""`sfumato aggregate`: aggregate beliefs into soft labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import PATH, check_outputs, given, output_option
from sfumato.cli.output import progress_bar, write_table
from sfumato.cli.strategy_help import FamilyCommand, Member, family_members
from sfumato.tables.errors import BadSetting, unknown
from sfumato.tables.setting_checks import between_0_and_1

if TYPE_CHECKING:
    from sfumato.aggregation.aggregation import Aggregation
    from sfumato.aggregation.pass_engine import Engine

ENGINES = ("local", "ray")
ON_A_CLUSTER = ("mean", "majority", "dawid-skene", "one-coin", "mace")
"""The aggregators that consist of passes; only these can run on a cluster."""


def _aggregators() -> dict[str, list[Member]]:
    """All aggregators, by what they estimate."""
    members = family_members("aggregation/__init__.py", "AGGREGATORS")
    headings = {
        "Aggregators: how people judge (keep uncertainty; for soft-label training)": "Estimand.JUDGMENT",
        "Aggregators: how probable each class is to be true": "Estimand.TRUTH",
    }
    return {
        heading: [each for each in members if each.constants["estimand"] == estimand]
        for heading, estimand in headings.items()
    }


@click.command(
    "aggregate",
    cls=FamilyCommand,
    help="Aggregate the BELIEFS of several annotators into one distribution per item.",
    groups=_aggregators,
)
@click.argument("beliefs", type=PATH)
@click.option("--by", "name", default="mean", show_default=True, metavar="NAME", help="The aggregator.")
@output_option("Output file for the SoftLabels: .parquet or .csv.")
@click.option("--annotators", type=PATH, help="Also write the quality of each annotator: .csv or .parquet.")
@click.option("--annotations", type=PATH, help="The answers behind the beliefs, for the seconds of --annotators.")
@click.option("--intervals", "interval_path", type=PATH, help="Also write an interval for every item and class.")
@click.option("--level", type=float, default=0.9, show_default=True, help="Level of the intervals.")
@click.option("--gold", type=PATH, help="SoftLabels of items whose class is known; these are fixed.")
@click.option("--weights", type=PATH, help="Weights of annotators: a table with annotator and weight.")
@click.option("--average-repeats", is_flag=True, help="All answers of an annotator to an item count as one.")
@click.option("--calibrate", is_flag=True, help="Calibrate posteriors on held-out annotators (dawid-skene).")
@click.option("--calibrate-on", type=PATH, help="Calibrate posteriors on these gold labels, which are not fixed.")
@click.option("--engine", default="local", show_default=True, metavar="NAME", help="local, or ray for a cluster.")
@click.option("--workers", type=int, help="Number of processes or threads.")
@click.option("--prior", type=float, help="Answers of an average annotator added to each; 0 is the classic method.")
@click.option("--iterations", type=int, help="Maximum number of iterations.")
@click.option("--tolerance", type=float, help="Stop when an iteration gains less than this per answer; 0: never.")
@click.option("--evidence", metavar="NAME", help="How beliefs count: virtual evidence, or fractional votes.")
@click.option("--components", type=int, help="Number of Dirichlets in the prior (bayes).")
@click.option("--extremise", type=float, help="Exponent of the pool (log-pool).")
@click.option("--floor", type=float, help="Share of the uniform distribution mixed into every belief (log-pool).")
@click.option("--shrink", type=float, help="Answers of average distance added to each annotator.")
@click.option("--power", type=float, help="Exponent of the inverse distance in weights (reliability-pool).")
@click.option("--rounds", type=int, help="Number of rounds of weighting (reliability-pool).")
@click.option("--weight", type=float, help="Share of Dawid-Skene in the mixture; estimated if not given.")
@click.option("--known-prior", type=float, help="Prior of knowing and of guessing (mace).")
@click.option("--habit-prior", type=float, help="Prior of each class when guessing (mace).")
@click.option("--rate", type=float, help="Initial step size of skills (zero-based-skill).")
def command(
    beliefs: Path,
    name: str,
    output: Path,
    annotators: Path | None,
    annotations: Path | None,
    interval_path: Path | None,
    level: float,
    gold: Path | None,
    weights: Path | None,
    average_repeats: bool,
    calibrate: bool,
    calibrate_on: Path | None,
    engine: str,
    workers: int | None,
    **settings: Any,
) -> None:
    from sfumato.aggregation import aggregator_from_name
    from sfumato.aggregation.aggregation_options import AggregationInputs, read_weights
    from sfumato.aggregation.answer_matrix import AnswerMatrix
    from sfumato.aggregation.label_intervals import intervals
    from sfumato.aggregation.posterior_calibration import calibrate as calibrated
    from sfumato.tables.annotations import Annotations
    from sfumato.tables.beliefs import Beliefs
    from sfumato.tables.soft_labels import SoftLabels

    sources = (beliefs, annotations, gold, weights, calibrate_on)
    check_outputs(*sources, output=output, annotators=annotators, intervals=interval_path)
    between_0_and_1("level", level)
    aggregator = aggregator_from_name(name, given(settings))
    runs_on = _engine(engine, workers, aggregator.name)
    with progress_bar() as progress:
        # The beliefs are freed once the answers are sorted: with a hundred million answers, both would not fit.
        answers = AnswerMatrix.of(
            Beliefs.read(beliefs),
            AggregationInputs(
                gold=SoftLabels.read(gold) if gold else None,
                weights=read_weights(weights) if weights else None,
                average_repeats=average_repeats,
                engine=runs_on,
                progress=progress,
            ),
        )
        result = aggregator.fit(answers)
    if calibrate or calibrate_on:
        result = calibrated(result, SoftLabels.read(calibrate_on) if calibrate_on else None)
    labels, quality = result.labels, result.annotators
    write_table(labels, output, f"SoftLabels of {len(labels):,} items: {result.estimand.meaning}", _notes(result))
    if annotators and annotations:
        quality = quality.with_seconds(Annotations.read(annotations))
    write_table(quality, annotators, f"quality of {len(quality):,} annotators")
    if interval_path:
        table = intervals(result, level)
        write_table(table, interval_path, f"{len(table):,} intervals at {level:g}: {table.kind}")


def _engine(name: str, workers: int | None, aggregator: str) -> Engine:
    if name == "local":
        from sfumato.aggregation.pass_engine import LocalEngine

        return LocalEngine(workers or 0)
    if name == "ray":
        if aggregator not in ON_A_CLUSTER:
            expected = f"an aggregator that can run on a cluster: {', '.join(ON_A_CLUSTER)}"
            raise BadSetting(f"--engine ray for {aggregator}", expected, "choose one of them, or omit --engine")
        from sfumato.aggregation.ray_engine import RayEngine

        return RayEngine(workers or 2)
    raise unknown("engine", name, list(ENGINES))


def _notes(result: Aggregation) -> list[str]:
    n_answers, n_annotators = len(result.answers.key), result.answers.n_annotators
    notes = [f"by {result.by.name}, from {n_answers:,} answers of {n_annotators:,} annotators"]
    if result.iterations:
        how = "converged" if result.converged else "stopped"
        notes.append(f"{how} after {result.iterations} iteration{'s' if result.iterations > 1 else ''}")
    return [*notes, *result.notes]
