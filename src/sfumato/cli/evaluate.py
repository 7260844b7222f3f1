"""`sfumato evaluate`: how near predictions come to people, one table of them or a whole grid of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.evaluate_options import (
    EvaluateOptions,
    check_places,
    metrics_named,
    named_file,
    read_original_labels,
    strata_named,
)
from sfumato.cli.evaluate_output import show_curves, show_runs, show_scores
from sfumato.cli.options import PATH, output_option
from sfumato.cli.output import drawing, printable, say_written

if TYPE_CHECKING:
    from sfumato.evaluation import Metric, RunPredictions, Stratification
    from sfumato.tables.soft_labels import SoftLabels

SHOWN = ("accuracy", "cross_entropy", "kl_divergence", "brier", "ece", "entropy_spearman")
"""Metrics of a grid that are printed where none is named; the file has all."""
ACROSS = ("accuracy", "cross_entropy", "brier")
"""Metrics that make sense against any kind of label."""
BASELINE = "hard"

STRATA_LINES = """\b
Strata, scored apart beside all items together:
  agree    items on which people agree, and those on which they do not
  entropy  by how much people doubt; quantiles
  class    by class; by
  FILE     strata of your own: a table with item and stratum"""


@click.command(
    "evaluate",
    help="Score what networks predict against what people say: one table (--predicted), or every run of a grid "
    "(--runs), with intervals and the floor that no predictions get under.\n\nA choice has its settings behind it: "
    "ece:bins=10, entropy:quantiles=5. docs/evaluate.md explains every metric; without --metrics all that can be had "
    f"are written.\n\n{STRATA_LINES}",
)
@click.option("--predicted", type=PATH, help="SoftLabels that a network predicts.")
@click.option(
    "--runs", type=PATH, help="A folder of runs as sfumato train, shift or attack writes it, or with a table a target."
)
@click.option("--people", type=PATH, required=True, help="SoftLabels: how people judge.")
@click.option("--original", type=PATH, help="The class every item came with: a table with item and label.")
@output_option("Where the Scores go: .csv or .parquet.")
@click.option("--metrics", metavar="NAMES", help="Metrics, with commas between them.  [default: all]")
@click.option("--strata", metavar="NAMES", help="Strata, with commas between them: agree,entropy:quantiles=4,FILE.")
@click.option("--common", is_flag=True, help="Leave out predicted items that people did not judge.")
@click.option("--level", default=0.95, show_default=True, help="How sure intervals are; 1 - level is where p is shown.")
@click.option("--resamples", default=1000, show_default=True, help="How often the items are drawn anew.")
@click.option("--seed", default=0, show_default=True, help="Seed of the draws.")
@click.option("--thorough", is_flag=True, help="Intervals over items for every comparison, also where that takes long.")
@click.option("--baseline", metavar="TARGET", help="Compare every target with this one.  [default: hard]")
@click.option("--correction", metavar="NAME", help="holm, benjamini-hochberg or none.  [default: holm]")
@click.option(
    "--family", metavar="NAME", help="Correct within each metric, or over the whole table.  [default: metric]"
)
@click.option("--differences", type=PATH, help="Write the comparison with the baseline: .csv or .parquet.")
@click.option("--table", type=PATH, help="Write scores as a table for a paper: .md, .tex or .csv.")
@click.option("--mode-shift", type=PATH, help="Write what other classes and what doubt gained: .md, .tex or .csv.")
@click.option("--cross-label", type=PATH, help="Write targets against kinds of labels: .md, .tex or .csv.")
@click.option("--against", multiple=True, metavar="NAME=FILE", help="Another kind of labels for --cross-label.")
def command(
    predicted: Path | None,
    runs: Path | None,
    people: Path,
    original: Path | None,
    output: Path,
    metrics: str | None,
    strata: str | None,
    **options: Any,
) -> None:
    from sfumato.tables.soft_labels import SoftLabels

    asked = EvaluateOptions(**options)
    asked.check(predicted, runs, original)
    kinds = [named_file(text) for text in asked.against]
    sources = [each for each in (predicted, people, original, *(path for _, path in kinds)) if each]
    chosen, parts = metrics_named(metrics), strata_named(strata)
    sources += [path for path in (getattr(part, "path", None) for part in parts) if path]
    check_places(sources, runs, output, asked)
    people_table = SoftLabels.read(people)
    original_table = read_original_labels(original, people_table) if original else None
    if predicted is not None:
        _evaluate_one(SoftLabels.read(predicted), people_table, original_table, chosen, parts, output, asked)
    elif runs is not None:
        _evaluate_runs(runs, people_table, original_table, chosen, parts, output, kinds, asked)


def _evaluate_one(
    predicted: SoftLabels,
    people: SoftLabels,
    original: SoftLabels | None,
    metrics: Sequence[Metric],
    strata: Sequence[Stratification],
    output: Path,
    asked: EvaluateOptions,
) -> None:
    import numpy as np

    from sfumato.evaluation import score

    scores = score(
        predicted=predicted, people=people, original=original, metrics=metrics, strata=strata, common=asked.common,
        level=asked.level, resamples=asked.resamples, rng=np.random.default_rng(asked.seed),
    )  # fmt: skip
    scores.write(output)
    show_scores(scores, asked.level)
    say_written(output, f"Scores, {len(scores):,} rows")


def _evaluate_runs(
    folder: Path,
    people: SoftLabels,
    original: SoftLabels | None,
    metrics: Sequence[Metric],
    strata: Sequence[Stratification],
    output: Path,
    kinds: Sequence[tuple[str, Path]],
    asked: EvaluateOptions,
) -> None:
    import numpy as np

    from sfumato.evaluation import compare_runs, measure_runs, read_runs, scores_over_seeds
    from sfumato.evaluation.mode_shift import check_targets
    from sfumato.evaluation.publication_tables import table_of_scores
    from sfumato.tables.errors import unknown
    from sfumato.tables.soft_labels import SoftLabels

    found = read_runs(folder)
    targets = list(dict.fromkeys(run.target for run in found))
    baseline = asked.baseline or (BASELINE if BASELINE in targets and len(targets) > 1 else None)
    if baseline is not None and baseline not in targets:
        raise unknown("target", baseline, targets, fix="name the target the others are compared with")
    if asked.mode_shift:
        check_targets(targets)
    labels = {name: SoftLabels.read(path) for name, path in kinds}
    with drawing() as draw:
        measured = measure_runs(
            found, people=people, original=original, metrics=metrics, strata=strata, common=asked.common,
            level=asked.level, resamples=asked.resamples, rng=np.random.default_rng(asked.seed),
            thorough=asked.thorough, on_progress=lambda done, of: draw(done / of, f"{done:,} of {of:,} figures"),
        )  # fmt: skip
    scores = scores_over_seeds(measured)
    differences = None
    if baseline is not None:
        differences = compare_runs(
            measured, baseline=baseline, correction=asked.correction or "holm", family=asked.family or "metric",
            rng=np.random.default_rng(asked.seed),
        )  # fmt: skip
    scores.write(output)
    names = {figures.metric.name: figures.metric for figures in measured.figures}
    shown = [name for name in names if metrics or name in SHOWN] or list(names)
    if len(measured.shifts) > 1:
        show_curves(measured, differences, shown)
    else:
        show_runs(measured, scores, differences, shown)
    n_trained = len({(run.target, run.network, run.seed) for run in found})
    under = f" under {len(measured.shifts)} conditions" if len(measured.shifts) > 1 else ""
    say_written(output, f"scores of {len(targets)} targets, {n_trained} trainings{under}, {len(names)} metrics")
    if len(shown) < len(names):
        click.echo(f"  - {len(names) - len(shown)} metrics more than shown; --metrics says which to show")
    if asked.differences and differences is not None:
        differences.write(asked.differences)
        say_written(asked.differences, f"{len(differences):,} comparisons with {printable(baseline or '')}")
    if asked.table:
        table_of_scores(scores, list(names.values()), differences).write(asked.table)
        say_written(asked.table, "the scores as a table")
    _write_across(found, people, original, metrics, labels, asked)


def _write_across(
    runs: Sequence[RunPredictions],
    people: SoftLabels,
    original: SoftLabels | None,
    metrics: Sequence[Metric],
    labels: dict[str, SoftLabels],
    asked: EvaluateOptions,
) -> None:
    """What needs scores against other kinds of labels: mode shift and cross-label."""
    if asked.mode_shift is None and asked.cross_label is None:
        return
    import numpy as np

    from sfumato.evaluation import METRICS, cross_label, kinds_of_labels, measure_against, mode_shift
    from sfumato.evaluation.cross_label import ORIGINAL, PEOPLE
    from sfumato.evaluation.publication_tables import table_of_cross_label, table_of_mode_shift

    chosen = list(metrics) or [member() for member in METRICS if member.name in ACROSS]
    kinds = kinds_of_labels(people, original) if asked.cross_label else {}
    if asked.mode_shift:
        everything = kinds_of_labels(people, original)
        kinds |= {name: everything[name] for name in (ORIGINAL, PEOPLE)}
    with drawing() as draw:
        measured = measure_against(
            runs, kinds | labels, original=original, metrics=chosen, common=asked.common, level=asked.level,
            resamples=asked.resamples, seed=asked.seed, thorough=asked.thorough,
            on_progress=lambda done, of: draw(done / of, f"{done:,} of {of:,} figures"),
        )  # fmt: skip
    if asked.mode_shift:
        both = {name: measured[name] for name in (ORIGINAL, PEOPLE)}
        shift = mode_shift(both, rng=np.random.default_rng(asked.seed))
        table_of_mode_shift(shift).write(asked.mode_shift)
        say_written(asked.mode_shift, "what other classes and what doubt gained")
    if asked.cross_label:
        table_of_cross_label(cross_label(measured), chosen).write(asked.cross_label)
        say_written(asked.cross_label, f"targets against {', '.join(measured)}")
