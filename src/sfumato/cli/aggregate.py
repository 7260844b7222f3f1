"""`sfumato aggregate`: beliefs into soft labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import PATH, check_outputs, given, output_option
from sfumato.cli.output import progress_bar, say_written

if TYPE_CHECKING:
    from sfumato.aggregation import Aggregation, Engine

AGGREGATOR_LINES = """\b
How people judge (keeps their doubt; what soft-label training wants):
  mean              the mean of their beliefs
  bayes             votes in the light of all others; --components
  log-pool          beliefs multiplied; --extremise --floor
  reliability-pool  people by how near they are to the others; --shrink --power --rounds
  mixture-pool      soft Dawid-Skene and reliability pool; --weight --prior --shrink

\b
How probable each class is to be true (collapses as answers come in):
  majority          the class most people chose
  dawid-skene       a confusion an annotator; --prior --evidence
  one-coin          an accuracy an annotator; --prior
  glad              able people and hard items
  mace              who knows and who guesses; --known-prior --habit-prior
  wawa              people by agreement with the majority
  zero-based-skill  the same over and over; --rate
  spectral          skills from who agrees with whom; --prior

\b
Those that iterate take --iterations and --tolerance."""

ENGINES = ("local", "ray")
ON_A_CLUSTER = ("mean", "majority", "dawid-skene", "one-coin", "mace")
"""The aggregators that do all their work in passes; the others would do theirs here."""


@click.command(
    "aggregate",
    help="Turn the BELIEFS of many people into one distribution an item.\n\n"
    f"Aggregators, by what they estimate:\n\n{AGGREGATOR_LINES}",
)
@click.argument("beliefs", type=PATH)
@click.option("--by", "name", default="mean", show_default=True, metavar="NAME", help="The aggregator.")
@output_option("Where the SoftLabels go: .parquet or .csv.")
@click.option("--annotators", type=PATH, help="Also write how good each annotator is: .csv or .parquet.")
@click.option("--annotations", type=PATH, help="The answers behind the beliefs, for the seconds of --annotators.")
@click.option("--intervals", "interval_path", type=PATH, help="Also write an interval for every item and class.")
@click.option("--level", type=float, default=0.9, show_default=True, help="How sure the intervals are.")
@click.option("--gold", type=PATH, help="SoftLabels of items whose class is known; fixed while the rest is found out.")
@click.option("--weights", type=PATH, help="How much each annotator counts: a table with annotator and weight.")
@click.option("--average-repeats", is_flag=True, help="All answers of a person to an item count as one.")
@click.option("--calibrate", is_flag=True, help="Temper posteriors on held-out annotators (dawid-skene).")
@click.option("--calibrate-on", type=PATH, help="Temper posteriors on these gold labels, which are not fixed.")
@click.option("--engine", default="local", show_default=True, metavar="NAME", help="local, or ray for a cluster.")
@click.option("--workers", type=int, help="How many processes or threads share the answers.")
@click.option("--prior", type=float, help="Answers of an ordinary person added to everybody's; 0 is the classic.")
@click.option("--iterations", type=int, help="How many iterations at most.")
@click.option("--tolerance", type=float, help="Stop when an iteration gains less than this an answer; 0 never stops.")
@click.option("--evidence", metavar="NAME", help="What a belief is: virtual evidence, or fractional votes.")
@click.option("--components", type=int, help="How many Dirichlets the prior is made of (bayes).")
@click.option("--extremise", type=float, help="The power the pool is raised to (log-pool).")
@click.option("--floor", type=float, help="Share of the uniform mixed into every belief (log-pool).")
@click.option("--shrink", type=float, help="Answers of ordinary distance added to everybody's.")
@click.option("--power", type=float, help="How steeply distance costs weight (reliability-pool).")
@click.option("--rounds", type=int, help="How often people are weighed (reliability-pool).")
@click.option("--weight", type=float, help="Share of Dawid-Skene in the mixture; found out if left alone.")
@click.option("--known-prior", type=float, help="Prior of knowing and of not knowing (mace).")
@click.option("--habit-prior", type=float, help="Prior of each class as a habit (mace).")
@click.option("--rate", type=float, help="How far skills move at first (zero-based-skill).")
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
    from sfumato.aggregation import AggregationInputs, AnswerMatrix, aggregator_from_name, intervals
    from sfumato.aggregation import calibrate as calibrated
    from sfumato.aggregation.aggregation import read_weights
    from sfumato.tables.annotations import Annotations
    from sfumato.tables.beliefs import Beliefs
    from sfumato.tables.settings import between_0_and_1
    from sfumato.tables.soft_labels import SoftLabels

    for source in (beliefs, annotations, gold, weights, calibrate_on):
        if source:
            check_outputs(source, output=output, annotators=annotators, intervals=interval_path)
    between_0_and_1("level", level)
    aggregator = aggregator_from_name(name, given(settings))
    runs_on = _engine(engine, workers, name)
    with progress_bar() as progress:
        # The beliefs are let go of as soon as the answers stand in order: of a hundred million both would be too much.
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
    result.labels.write(output)
    say_written(output, f"SoftLabels of {len(result.labels):,} items: {result.estimand}", _notes(result))
    if annotators:
        quality = result.annotators
        if annotations:
            quality = quality.with_seconds(Annotations.read(annotations))
        quality.write(annotators)
        say_written(annotators, f"quality of {len(quality):,} annotators")
    if interval_path:
        table = intervals(result, level)
        table.write(interval_path)
        say_written(interval_path, f"{len(table):,} intervals at {level:g}: {table.kind}")


def _engine(name: str, workers: int | None, aggregator: str) -> Engine:
    from sfumato.tables.errors import BadSetting, unknown

    if name == "local":
        from sfumato.aggregation import LocalEngine

        return LocalEngine(workers or 0)
    if name == "ray":
        if aggregator not in ON_A_CLUSTER:
            raise BadSetting(
                f"--engine ray for {aggregator}",
                f"an aggregator that can run on a cluster: {', '.join(ON_A_CLUSTER)}",
                "choose one of them, or leave out --engine",
            )
        from sfumato.aggregation.ray_engine import RayEngine

        return RayEngine(workers or 2)
    raise unknown("engine", name, list(ENGINES))


def _notes(result: Aggregation) -> list[str]:
    notes = [f"by {result.by.name}, from {len(result.answers.key):,} answers of {result.answers.n_annotators:,} people"]
    if result.iterations:
        how = "converged" if result.converged else "stopped"
        notes.append(f"{how} after {result.iterations} iteration{'s' if result.iterations > 1 else ''}")
    return [*notes, *result.notes]
