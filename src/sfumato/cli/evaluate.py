"""`sfumato evaluate`: score predictions against people's labels, one table or all runs of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.evaluate_options import (
    EvaluateInputs,
    EvaluateOptions,
    check_places,
    metrics_from_text,
    models_from_text,
    named_file,
    read_original_labels,
    strata_from_text,
)
from sfumato.cli.evaluate_output import (
    ShownInterval,
    say_about_people,
    show_curves,
    show_runs,
    show_scores,
    show_uncertainty,
    shown_interval,
)
from sfumato.cli.options import (
    PATH,
    NameList,
    any_estimand_option,
    ordered_option,
    output_option,
    put_in_order,
    same_rows_option,
    seeded,
)
from sfumato.cli.output import counted, counting, printable, say, say_written, write_table
from sfumato.cli.strategy_help import FamilyCommand, Member, family_members
from sfumato.tables.errors import BadSetting, unknown

if TYPE_CHECKING:
    from sfumato.evaluation.run_predictions import RunPredictions
    from sfumato.tables.scores import Scores
    from sfumato.tables.soft_labels import SoftLabels

SHOWN = ("accuracy", "cross_entropy", "kl_divergence", "brier", "ece", "entropy_spearman")
"""Metrics of a grid that are printed by default; the file has all."""
ACROSS = ("accuracy", "cross_entropy", "brier")
"""Metrics that make sense against any kind of label."""


def _strata() -> dict[str, list[Member]]:
    own_file = Member("FILE", "Your own strata: a table with item and stratum", (), {})
    return {"Strata (scored in addition to all items)": [*family_members("evaluation/strata.py", "STRATA"), own_file]}


@click.command(
    "evaluate",
    cls=FamilyCommand,
    help="Score predictions against people's labels: one table (--predicted), or every run of a grid (--runs), with "
    "intervals and the floor, a score to compare with.\n\nSettings follow a name: ece:bins=10, entropy:quantiles=5. "
    "docs/evaluate.md explains every metric; without --metrics all whose inputs are there are written.",
    groups=_strata,
)
@click.option(
    "--predicted", multiple=True, metavar="[NAME=]FILE",
    help="Predictions: CSV or Parquet, npz, npy or JSON with one number per class; repeat it to compare models.",
)  # fmt: skip
@click.option(
    "--runs", type=PATH, help="A folder of runs of sfumato train, shift or attack, or with one table per target."
)
@click.option(
    "--people",
    type=PATH,
    required=True,
    help="How people judge: labels, counts, or single answers (Beliefs, Annotations).",
)
@click.option(
    "--original", "--truth", "original", type=PATH,
    help="The original or true class of every item: a table with item and label.",
)  # fmt: skip
@click.option(
    "--classes", type=NameList(), help="The classes in order: of people's votes, and of predictions without names."
)
@ordered_option
@click.option("--items", type=PATH, help="The items of predictions without ids, in the order of rows: one per line.")
@click.option("--array", metavar="NAME", help="Which array or list column holds the predictions, if there are several.")
@click.option("--logits", is_flag=True, help="The predictions are logits: take their softmax.")
@output_option("Output file for the Scores: .csv or .parquet.")
@click.option("--metrics", metavar="NAMES", help="Metrics, separated by commas.  [default: all]")
@click.option("--strata", metavar="NAMES", help="Strata, separated by commas: agree,entropy:quantiles=4,FILE.")
@any_estimand_option
@same_rows_option
@click.option("--common", is_flag=True, help="Skip predicted items that people did not judge.")
@click.option("--level", default=0.95, show_default=True, help="Confidence level; p < 1 - level is significant.")
@click.option("--resamples", default=1000, show_default=True, help="Number of bootstrap resamples.")
@click.option("--seed", default=0, show_default=True, help="Seed of the bootstrap.")
@click.option(
    "--baseline", metavar="TARGET", help="Compare every target with this one.  [default: hard, else the first]"
)
@click.option("--correction", metavar="NAME", help="holm, benjamini-hochberg or none.  [default: holm]")
@click.option(
    "--family", metavar="NAME", help="Correct within each metric, or over the whole table.  [default: metric]"
)
@click.option("--differences", type=PATH, help="Write the comparison with the baseline: .csv or .parquet.")
@click.option("--table", type=PATH, help="Write the scores as a table for a paper: .md, .tex or .csv.")
@click.option("--mode-shift", type=PATH, help="Write the gain from other classes and uncertainty: .md, .tex or .csv.")
@click.option(
    "--cross-label",
    type=PATH,
    help="Write scores against each kind of labels and label set: .md, .tex or .csv.",
)
@click.option("--against", multiple=True, metavar="NAME=FILE", help="Another kind of labels for --cross-label.")
@click.option(
    "--sets", type=float, metavar="SHARE", help="Prediction sets that contain this share of people's answers."
)
@click.option("--sets-table", type=PATH, help="Write the coverage of the sets: .csv or .parquet.")
@click.option("--sets-items", type=PATH, help="Write the set of every item, for one --predicted: .csv or .parquet.")
def command(
    predicted: tuple[str, ...],
    runs: Path | None,
    people: Path,
    original: Path | None,
    output: Path,
    metrics: str | None,
    strata: str | None,
    classes: tuple[str, ...] | None,
    ordered: bool,
    items: Path | None,
    array: str | None,
    logits: bool,
    **settings: Any,
) -> None:
    from sfumato.importers.prediction_file import FileOptions, read_predictions
    from sfumato.labeling.people_labels import people_labels
    from sfumato.tables.item_list import read_item_list

    options = EvaluateOptions(**settings)
    models = models_from_text(predicted)
    options.check(models, runs, original)
    if runs is not None and (items or array or logits):
        option = "--items" if items else "--array" if array else "--logits"
        fix = "give one file with --predicted"
        raise BadSetting(f"{option} together with --runs", f"{option} for one file of predictions", fix)
    kinds = [named_file(text) for text in options.against]
    sources = [each for each in (*models.values(), people, original, *(path for _, path in kinds)) if each]
    chosen, parts = metrics_from_text(metrics), strata_from_text(strata)
    sources += [path for path in (getattr(part, "path", None) for part in parts) if path]
    check_places(sources, runs, output, options)
    labels = people_labels(people, classes=classes or ())
    labels = put_in_order(labels, classes or ()) if ordered else labels
    inputs = EvaluateInputs(labels, read_original_labels(original, labels) if original else None, chosen, parts)
    from sfumato.evaluation.run_predictions import RunPredictions, read_runs

    if runs is not None:
        _evaluate_runs(read_runs(runs), inputs, output, kinds, options, runs)
        return
    ids = read_item_list(items) if items else ()
    given = FileOptions(tuple(classes or ()), ids, logits, known=labels.classes, array=array)
    if logits:
        say("predictions are the softmax of the logits")
    tables = {name: read_predictions(path, given) for name, path in models.items()}
    if options.sets is not None:
        _calibrate_sets(tables, inputs, options.sets, options)
    if len(tables) == 1:
        _evaluate_one(next(iter(tables.values())), inputs, output, options)
    else:
        several = [RunPredictions(name, "", 0, table) for name, table in tables.items()]
        _evaluate_runs(several, inputs, output, kinds, options)


def _evaluate_one(predicted: SoftLabels, inputs: EvaluateInputs, output: Path, options: EvaluateOptions) -> None:
    from sfumato.evaluation.metric_scores import score

    scores = score(
        predicted=predicted, people=inputs.people, original=inputs.original, metrics=inputs.metrics,
        strata=inputs.strata, common=options.common, level=options.level, resamples=options.resamples,
        rng=seeded(options.seed), any_estimand=options.any_estimand,
    )  # fmt: skip
    scores.write(output)
    show_scores(scores, options.level)
    say_about_people(inputs.n_people)
    if inputs.n_people > 1:
        _show_one_uncertainty(predicted, inputs, scores, options)
    say_written(output, f"Scores, {counted(len(scores), 'row')}")


def _calibrate_sets(
    tables: dict[str, SoftLabels], inputs: EvaluateInputs, wanted: float, options: EvaluateOptions
) -> None:
    """Print and write prediction sets calibrated on people's votes, for each model."""
    from sfumato.evaluation.matched_labels import match_labels
    from sfumato.evaluation.prediction_sets import SetCoverage, SetFigure, calibrate_sets

    figures: list[SetFigure] = []
    for name, predicted in tables.items():
        matched = match_labels(
            predicted=predicted, people=inputs.labels, original=inputs.original, common=options.common,
            any_estimand=options.any_estimand,
        )  # fmt: skip
        found = calibrate_sets(matched, wanted, level=options.level, model=name, rng=seeded(options.seed))
        click.echo(f"{found}\n")
        figures += found.coverage.figures
        if options.sets_items:
            write_table(found.sets, options.sets_items, f"sets of {counted(len(found.sets), 'item')}")
    write_table(SetCoverage(tuple(figures)), options.sets_table, "the coverage of prediction sets")


def _show_one_uncertainty(
    predicted: SoftLabels, inputs: EvaluateInputs, scores: Scores, options: EvaluateOptions
) -> None:
    """Where the uncertainty of the leading score comes from."""
    from sfumato.evaluation.comparison import leading_uncertainty
    from sfumato.evaluation.metrics import CrossEntropy
    from sfumato.evaluation.run_predictions import RunPredictions
    from sfumato.evaluation.run_scores import measure_runs
    from sfumato.tables.errors import warnings_off

    with warnings_off():  # the scores have warned already
        measured = measure_runs(
            [RunPredictions("the predictions", "", 0, predicted)], people=inputs.people, original=inputs.original,
            metrics=list(inputs.metrics)[:1] or [CrossEntropy()], common=options.common, level=options.level,
            any_estimand=options.any_estimand,
        )  # fmt: skip
    leading = leading_uncertainty(measured, [each.metric.name for each in measured.figures], None)
    if leading is not None:
        metric = leading.one.metric.name
        row = next(each for each in scores.rows() if each.metric == metric)
        show_uncertainty(leading, ShownInterval(row.value, row.low, row.high), options.level)


def _evaluate_runs(
    found: Sequence[RunPredictions],
    inputs: EvaluateInputs,
    output: Path,
    kinds: Sequence[tuple[str, Path]],
    options: EvaluateOptions,
    folder: Path | None = None,
) -> None:
    from sfumato.evaluation.comparison import compare_runs, leading_uncertainty, scores_over_seeds
    from sfumato.evaluation.cross_label import label_sets_in
    from sfumato.evaluation.gain_decomposition import check_targets
    from sfumato.evaluation.publication_tables import table_of_scores
    from sfumato.evaluation.run_predictions import default_baseline, paired_runs
    from sfumato.evaluation.run_scores import are_single, measure_runs
    from sfumato.importers.label_file import read_labels

    targets = list(dict.fromkeys(run.target for run in found))
    baseline = options.baseline or default_baseline(targets)
    if baseline is not None and baseline not in targets:
        raise unknown("target", baseline, targets, fix="give the target to compare the others with")
    if options.mode_shift:
        check_targets(targets)
    found = paired_runs(found, baseline)
    labels = label_sets_in(folder) if folder is not None and options.cross_label else {}
    labels |= {name: read_labels(path) for name, path in kinds}
    with counting("figures") as on_progress:
        measured = measure_runs(
            found, people=inputs.people, original=inputs.original, metrics=inputs.metrics, strata=inputs.strata,
            common=options.common, level=options.level, resamples=options.resamples, rng=seeded(options.seed),
            on_progress=on_progress, any_estimand=options.any_estimand,
        )  # fmt: skip
    scores = scores_over_seeds(measured)
    differences = None
    if baseline is not None:
        differences = compare_runs(
            measured, baseline=options.baseline, correction=options.correction or "holm",
            family=options.family or "metric",
        )  # fmt: skip
    scores.write(output)
    names = {figures.metric.name: figures.metric for figures in measured.figures}
    shown = [name for name in names if inputs.metrics or name in SHOWN] or list(names)
    if len(measured.shifts) > 1:
        show_curves(measured, differences, shown)
    else:
        show_runs(measured, scores, differences, shown)
        leading = leading_uncertainty(measured, shown, baseline)
        if leading is not None:
            show_uncertainty(leading, shown_interval(leading, scores, differences), options.level)
    n_trained = len({(run.target, run.network, run.seed) for run in found})
    what = f"{n_trained} predictions" if are_single(found) else f"{len(targets)} targets, {n_trained} trainings"
    under = f" under {len(measured.shifts)} conditions" if len(measured.shifts) > 1 else ""
    say_written(output, f"scores of {what}{under}, {counted(len(names), 'metric')}")
    if len(shown) < len(names):
        click.echo(f"  - {len(names) - len(shown)} more metrics in the file; choose those to print with --metrics")
    if differences is not None:
        what = f"{len(differences):,} comparisons with {printable(baseline or '')}"
        write_table(differences, options.differences, what)
    if options.table:
        table = table_of_scores(scores, list(names.values()), differences)
        write_table(table, options.table, "the scores as a table")
    _write_across(found, inputs, labels, options)


def _write_across(
    runs: Sequence[RunPredictions], inputs: EvaluateInputs, labels: dict[str, SoftLabels], options: EvaluateOptions
) -> None:
    """Write the tables that need scores against other kinds of labels: mode shift and cross-label."""
    if options.mode_shift is None and options.cross_label is None:
        return
    from sfumato.evaluation import cross_label, mode_shift
    from sfumato.evaluation.cross_label import ORIGINAL, PEOPLE, kinds_of_labels, measure_against
    from sfumato.evaluation.metrics import METRICS
    from sfumato.evaluation.publication_tables import table_of_cross_label, table_of_mode_shift

    chosen = list(inputs.metrics) or [member() for member in METRICS if member.name in ACROSS]
    kinds = kinds_of_labels(inputs.labels, inputs.original)
    if not options.cross_label:
        kinds = {name: kinds[name] for name in (ORIGINAL, PEOPLE)}
    with counting("figures") as on_progress:
        measured = measure_against(
            runs, kinds | labels, original=inputs.original, metrics=chosen, strata=inputs.strata, common=options.common,
            level=options.level, resamples=options.resamples, seed=options.seed,
            on_progress=on_progress,
        )  # fmt: skip
    if options.mode_shift:
        both = {name: measured[name] for name in (ORIGINAL, PEOPLE)}
        shift = mode_shift(both)
        table = table_of_mode_shift(shift)
        write_table(table, options.mode_shift, "the gain from other classes and from uncertainty")
    if options.cross_label:
        table = table_of_cross_label(cross_label(measured), chosen)
        write_table(table, options.cross_label, f"targets against {', '.join(measured)}")
