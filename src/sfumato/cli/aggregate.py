"""`sfumato aggregate`: aggregate beliefs into soft labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import (
    PATH,
    check_folder,
    check_outputs,
    classes_option,
    given,
    ordered_option,
    read_votes,
    repeats_option,
    same_rows_option,
)
from sfumato.cli.output import progress_bar, write_table
from sfumato.cli.strategy_help import FamilyCommand, Member, family_members
from sfumato.tables.errors import BadSetting, SfumatoError, unknown
from sfumato.tables.setting_checks import between_0_and_1

if TYPE_CHECKING:
    from sfumato.aggregation.aggregation import Aggregation, Aggregator
    from sfumato.aggregation.answer_matrix import AnswerMatrix
    from sfumato.aggregation.pass_engine import Engine

ENGINES = ("local", "ray")
ON_A_CLUSTER = ("mean", "majority", "dawid-skene", "ordinal-dawid-skene", "one-coin", "mace")
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
    help="Aggregate the VOTES of several annotators into one distribution per item.\n\nVOTES are Beliefs, Annotations, "
    "a CSV with item, annotator and label, or Counts (mean, majority, bayes and log-pool need no annotators). Several "
    "methods, or all of them, are compared: --by mean --by dawid-skene, --by all; settings follow a name: "
    "--by dawid-skene:prior=0.",
    groups=_aggregators,
)
@click.argument("votes", type=PATH)
@click.option(
    "--by", "names", multiple=True, default=("mean",), show_default=True, metavar="NAME",
    help="The aggregator; several or all are compared.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=PATH,
    help="The SoftLabels: .parquet or .csv; with several methods a folder, one file per method.",
)  # fmt: skip
@click.option("--truth", type=PATH, help="The true class of each item (item, label), or its column in VOTES.")
@click.option("--annotators", type=PATH, help="Also write the quality of each annotator: .csv or .parquet.")
@click.option("--annotations", type=PATH, help="The answers behind the beliefs, for the seconds of --annotators.")
@click.option("--intervals", "interval_path", type=PATH, help="Also write an interval for every item and class.")
@click.option("--level", type=float, default=0.9, show_default=True, help="Level of the intervals.")
@click.option("--gold", type=PATH, help="SoftLabels of items whose class is known; these are fixed.")
@click.option("--weights", type=PATH, help="Weights of annotators: a table with annotator and weight.")
@classes_option
@ordered_option
@repeats_option
@same_rows_option
@click.option("--average-repeats", is_flag=True, help="All answers of an annotator to an item count as one.")
@click.option("--calibrate", is_flag=True, help="Calibrate posteriors on held-out annotators (dawid-skene).")
@click.option("--calibrate-on", type=PATH, help="Calibrate posteriors on these gold labels, which are not fixed.")
@click.option("--engine", default="local", show_default=True, metavar="NAME", help="local, or ray for a cluster.")
@click.option("--workers", type=int, help="Number of processes or threads.")
@click.option("--prior", type=float, help="Answers of an average annotator added to each; 0: the classic method.")
@click.option("--iterations", type=int, help="Maximum number of iterations.")
@click.option("--tolerance", type=float, help="Stop when an iteration gains less than this per answer; 0: never.")
@click.option("--evidence", metavar="NAME", help="How beliefs count: virtual evidence, or fractional votes.")
@click.option("--temperature", type=float, help="Of the posterior; 1: assume independent errors (dawid-skene).")
@click.option("--bags", type=int, help="Samples of the items that the prior is fitted to (bayes).")
@click.option("--components", type=int, help="Maximum number of Dirichlets per sample of the items (bayes).")
@click.option("--extremise", type=float, help="Exponent of the pool (log-pool).")
@click.option("--floor", type=float, help="Share of the uniform distribution mixed into every belief (log-pool).")
@click.option("--careless", type=float, help="Prior share of annotators who answer carelessly (reliability-pool).")
@click.option(
    "--least", type=float, help="Smallest weight of an annotator, relative to the largest (reliability-pool)."
)
@click.option("--rounds", type=int, help="Number of rounds of weighting (reliability-pool).")
@click.option("--weight", type=float, help="Share of Dawid-Skene in the mixture; estimated if not given.")
@click.option("--known-prior", type=float, help="Prior of knowing and of guessing (mace).")
@click.option("--habit-prior", type=float, help="Prior of each class when guessing (mace).")
@click.option("--rate", type=float, help="Initial step size of skills (zero-based-skill).")
def command(
    votes: Path,
    names: tuple[str, ...],
    output: Path | None,
    truth: Path | None,
    annotators: Path | None,
    annotations: Path | None,
    interval_path: Path | None,
    level: float,
    gold: Path | None,
    weights: Path | None,
    classes: tuple[str, ...],
    ordered: bool,
    repeats: bool,
    average_repeats: bool,
    calibrate: bool,
    calibrate_on: Path | None,
    engine: str,
    workers: int | None,
    **settings: Any,
) -> None:
    from sfumato.aggregation.aggregation_options import AggregationInputs, read_weights
    from sfumato.aggregation.answer_matrix import AnswerMatrix
    from sfumato.aggregation.label_intervals import intervals
    from sfumato.aggregation.posterior_calibration import calibrate as calibrated
    from sfumato.importers.hard_labels import read_truth
    from sfumato.importers.label_file import read_labels
    from sfumato.importers.prediction_file import FileOptions
    from sfumato.tables.annotations import Annotations
    from sfumato.tables.counts import Counts, without_annotators

    aggregators = _chosen(names, given(settings))
    several = len(aggregators) > 1
    _check_asked(several, output, truth, annotators=annotators, intervals=interval_path, calibrate=calibrate or None)
    sources = (votes, annotations, gold, weights, calibrate_on, truth)
    check_outputs(*sources, output=None if several else output, annotators=annotators, intervals=interval_path)
    between_0_and_1("level", level)
    runs_on = _engine(engine, workers, [each.name for each in aggregators.values()])
    with progress_bar() as progress:
        # The beliefs are freed once the answers are sorted: with a hundred million answers, both would not fit.
        table = read_votes(votes, classes, repeats=repeats or average_repeats, ordered=ordered)
        if annotators and isinstance(table, Counts):
            raise without_annotators("--annotators")
        known = FileOptions(known=table.classes)
        inputs = AggregationInputs(
            gold=read_labels(gold, known) if gold else None,
            weights=read_weights(weights) if weights else None,
            average_repeats=average_repeats,
            engine=runs_on,
            progress=progress,
        )
        answers = AnswerMatrix.of(table, inputs)
        del table
        right = read_truth(truth, answers.classes, votes) if truth else None
        if several:
            results = _fitted(aggregators, answers, skip="all" in ",".join(names).split(","))
        else:
            ((name, aggregator),) = aggregators.items()
            results = {name: aggregator.fit(answers)}
    if several:
        _write_several(results, output)
    else:
        (result,) = results.values()
        if calibrate or calibrate_on:
            result = calibrated(result, read_labels(calibrate_on, known) if calibrate_on else None)
            results = dict.fromkeys(results, result)
        labels, quality = result.labels, result.annotators
        what = f"SoftLabels of {len(labels):,} items: {result.estimand.meaning}"
        write_table(labels, output, what, _notes(result))
        if annotators and annotations:
            quality = quality.with_seconds(Annotations.read(annotations))
        write_table(quality, annotators, f"quality of {len(quality):,} annotators")
        if interval_path:
            found = intervals(result, level)
            write_table(found, interval_path, f"{len(found):,} intervals at {level:g}: {found.kind}")
    if right is not None:
        from sfumato.aggregation.truth_scores import truth_scores

        click.echo(str(truth_scores({name: each.labels for name, each in results.items()}, right)))


def _chosen(names: tuple[str, ...], settings: dict[str, Any]) -> dict[str, Aggregator]:
    """The aggregators by the text that names them; settings as options are for a single one."""
    from sfumato.aggregation import AGGREGATORS, aggregator_from_name
    from sfumato.tables.strategies import StrategyText, split_choices

    split = [each for name in names for each in split_choices(name)]
    texts = [each for name in split for each in ([one.name for one in AGGREGATORS] if name == "all" else [name])]
    several = len(dict.fromkeys(texts)) > 1
    if several and settings:
        name, value = next(iter(settings.items()))
        option = name.replace("_", "-")
        fix = f"write it after the name: --by {texts[0].partition(':')[0]}:{option}={value}"
        raise BadSetting(f"--{option} and several methods", "settings after the names", fix)
    chosen = {}
    for text in dict.fromkeys(texts):
        choice = StrategyText.of(text)
        chosen[text] = aggregator_from_name(choice.name, {**choice.typed(AGGREGATORS), **settings})
    return chosen


def _check_asked(several: bool, output: Path | None, truth: Path | None, **single: object) -> None:
    """Raise unless there is something to write or to print, and only what goes with the number of methods."""
    if output is None and truth is None:
        fix = "add -o labels.parquet, or --truth FILE to print accuracy and log-loss"
        raise BadSetting("no -o", "a file for the labels", fix)
    if several:
        wrong = next((option for option, value in single.items() if value is not None), None)
        if wrong:
            raise BadSetting(f"--{wrong} and several methods", "one method with it", "give a single --by")
        if output is not None:
            check_folder(output)


def _fitted(aggregators: dict[str, Aggregator], answers: AnswerMatrix, *, skip: bool) -> dict[str, Aggregation]:
    """The result of each method; with `skip`, methods that cannot work with these answers are left out, with the
    reason."""
    found = {}
    for name, aggregator in aggregators.items():
        try:
            found[name] = aggregator.fit(answers)
        except SfumatoError as error:
            if not skip:
                raise
            click.echo(f"left out {name}: {error.found.removeprefix('found ')}", err=True)
    return found


def _write_several(results: dict[str, Aggregation], output: Path | None) -> None:
    """One file of labels per method, in a folder."""
    if output is None:
        return
    output.mkdir(exist_ok=True)
    for name, result in results.items():
        path = output / f"{name.replace(':', '-').replace('=', '-')}.parquet"
        write_table(result.labels, path, f"SoftLabels of {len(result.labels):,} items: {result.estimand.meaning}")


def _engine(name: str, workers: int | None, aggregators: list[str]) -> Engine:
    if name == "local":
        from sfumato.aggregation.pass_engine import LocalEngine

        return LocalEngine(workers or 0)
    if name == "ray":
        wrong = [each for each in aggregators if each not in ON_A_CLUSTER]
        if wrong:
            expected = f"an aggregator that can run on a cluster: {', '.join(ON_A_CLUSTER)}"
            raise BadSetting(f"--engine ray for {', '.join(wrong)}", expected, "choose one of them, or omit --engine")
        from sfumato.aggregation.ray_engine import RayEngine

        return RayEngine(workers or 2)
    raise unknown("engine", name, list(ENGINES))


def _notes(result: Aggregation) -> list[str]:
    n_answers, n_annotators = len(result.answers.key), result.answers.n_annotators
    whose = ", annotators not known" if result.answers.anonymous else f" of {n_annotators:,} annotators"
    notes = [f"by {result.by.name}, from {n_answers:,} answers{whose}"]
    if result.iterations:
        how = "converged" if result.converged else "stopped"
        notes.append(f"{how} after {result.iterations} iteration{'s' if result.iterations > 1 else ''}")
    return [*notes, *result.notes]
