"""`sfumato evaluate`: how near predictions come to people, one table of them or a whole grid of runs."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import PATH, check_not_negative, check_outputs, output_option
from sfumato.cli.showing import drawing, printable, say_written
from sfumato.errors import one_line

if TYPE_CHECKING:
    from sfumato.evaluate import Difference, Differences, Measured, Metric, Stratification
    from sfumato.scores import RunScore, RunScores, Scores
    from sfumato.soft_labels import SoftLabels

SHOWN = ("accuracy", "cross_entropy", "kl_divergence", "brier", "ece", "entropy_spearman")
"""Metrics of a grid that are printed where none is named; the file has all."""
ACROSS = ("accuracy", "cross_entropy", "brier")
"""Metrics that make sense against any kind of label."""
BASELINE = "hard"
NAME_WIDTH = 19

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
@click.option("--runs", type=PATH, help="A folder of runs as sfumato learn writes it, or with a table a target.")
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
    from sfumato.soft_labels import SoftLabels

    asked = Asked(**options)
    asked.check(predicted, runs, original)
    kinds = [_named_file(text) for text in asked.against]
    sources = [each for each in (predicted, people, original, *(path for _, path in kinds)) if each]
    chosen, parts = _metrics(metrics), _strata(strata)
    sources += [path for path in (getattr(part, "path", None) for part in parts) if path]
    _check_places(sources, runs, output, asked)
    people_table = SoftLabels.read(people)
    original_table = _original(original, people_table) if original else None
    if predicted is not None:
        _evaluate_one(SoftLabels.read(predicted), people_table, original_table, chosen, parts, output, asked)
    elif runs is not None:
        _evaluate_runs(runs, people_table, original_table, chosen, parts, output, kinds, asked)


@dataclass(frozen=True)
class Asked:
    """The options that are settings."""

    common: bool
    level: float
    resamples: int
    seed: int
    thorough: bool
    baseline: str | None
    correction: str | None
    family: str | None
    differences: Path | None
    table: Path | None
    mode_shift: Path | None
    cross_label: Path | None
    against: tuple[str, ...]

    def check(self, predicted: Path | None, runs: Path | None, original: Path | None) -> None:
        """An error unless the options go together."""
        from sfumato.errors import BadSetting
        from sfumato.evaluate.comparing import FAMILIES
        from sfumato.evaluate.paired_tests import CORRECTIONS
        from sfumato.resampling import check_resampling
        from sfumato.settings import one_of

        check_not_negative("seed", self.seed)
        check_resampling(self.level, self.resamples)
        if (predicted is None) == (runs is None):
            found = "neither --predicted nor --runs" if runs is None else "--predicted beside --runs"
            raise BadSetting(f"found {found}", expected="one of them", fix="give one of them", code="bad-setting")
        for option in ("baseline", "correction", "family", "differences", "table", "mode_shift", "cross_label"):
            if predicted is not None and getattr(self, option) is not None:
                name = option.replace("_", "-")
                raise BadSetting(
                    f"found --{name} beside --predicted",
                    expected=f"runs to compare, for --{name}",
                    fix="give --runs, a folder of runs or with a table a target",
                    code="bad-setting",
                )
        if self.mode_shift and original is None:
            raise BadSetting(
                "found --mode-shift without --original",
                expected="the class every item came with",
                fix="give --original, a table with item and label",
                code="no-original",
            )
        if self.against and self.cross_label is None:
            raise BadSetting(
                "found --against without --cross-label",
                expected="a file for the table",
                fix="give --cross-label too",
                code="bad-setting",
            )
        one_of("correction", self.correction or "holm", CORRECTIONS)
        one_of("family", self.family or "metric", FAMILIES)


# --- what is asked for ---


def _metrics(names: str | None) -> list[Metric]:
    from sfumato.evaluate import METRICS, metric_named
    from sfumato.learn.choices import Choice, settings_for, split_choices

    chosen = []
    for choice in (Choice.of(text) for text in split_choices(names or "")):
        # In tables names have underlines; either is understood.
        name = choice.name.replace("-", "_")
        member = next((each for each in METRICS if each.name == name), None)
        chosen.append(metric_named(name, settings_for(member, choice.settings) if member else {}))
    return chosen


def _strata(names: str | None) -> list[Stratification]:
    from sfumato.evaluate import STRATA, Given, stratification_named
    from sfumato.learn.choices import Choice, settings_for, split_choices

    chosen: list[Stratification] = []
    for text in split_choices(names or ""):
        if Path(text).suffix in (".csv", ".parquet", ".gz", ".pq"):
            chosen.append(Given.read(text))
            continue
        choice = Choice.of(text)
        member = next((each for each in STRATA if each.name == choice.name), None)
        settings = settings_for(member, choice.settings) if member else {}
        chosen.append(stratification_named(choice.name, settings))
    return chosen


def _original(path: Path, people: SoftLabels) -> SoftLabels:
    from dataclasses import replace

    from sfumato.learn.preparing import read_original
    from sfumato.soft_labels import SoftLabels

    label = read_original(path)
    return replace(SoftLabels.one_hot(list(label), list(label.values()), people.classes), path=path)


def _named_file(text: str) -> tuple[str, Path]:
    from sfumato.errors import BadSetting, show
    from sfumato.evaluate.cross_label import KINDS

    name, equals, path = text.partition("=")
    if not name or not equals or not path or name in KINDS:
        raise BadSetting(
            f"found --against {show(text)}",
            expected=f"NAME=FILE, the name another than {', '.join(KINDS)}",
            fix="write for example --against experts=experts.parquet",
            code="bad-setting",
        )
    return name, Path(path)


def _check_places(sources: Sequence[Path], runs: Path | None, output: Path, asked: Asked) -> None:
    """An error unless every output can be written, to a file that is neither a source nor another output."""
    from sfumato.errors import BadSetting, show
    from sfumato.evaluate.paper_tables import check_ending
    from sfumato.files import check_place

    for source in sources:
        check_outputs(source, output=output, differences=asked.differences)
    seen = {path.absolute() for path in (*sources, output, asked.differences) if path}
    for path in (asked.table, asked.mode_shift, asked.cross_label):
        if path is None:
            continue
        check_ending(path)
        if check_place(path).absolute() in seen:
            raise BadSetting(
                f"found the same file, {show(path.name)}, twice",
                expected="a file of its own for each",
                fix="choose another file",
                code="bad-setting",
            )
        seen.add(path.absolute())
    if runs is None:
        return
    is_flat = not any(runs.rglob("run.json"))
    for path in seen - {source.absolute() for source in sources}:
        inside = path.parent == runs.absolute() if is_flat else (path.parent / "run.json").exists()
        if inside:
            raise BadSetting(
                f"found the output {show(path.name)} among the predictions",
                expected="a place where it is not taken for one of them, nor in the place of one",
                fix="choose another folder",
                code="bad-setting",
            )


# --- one table ---


def _evaluate_one(
    predicted: SoftLabels,
    people: SoftLabels,
    original: SoftLabels | None,
    metrics: Sequence[Metric],
    strata: Sequence[Stratification],
    output: Path,
    asked: Asked,
) -> None:
    import numpy as np

    from sfumato.evaluate import score

    scores = score(
        predicted=predicted, people=people, original=original, metrics=metrics, strata=strata, common=asked.common,
        level=asked.level, resamples=asked.resamples, rng=np.random.default_rng(asked.seed),
    )  # fmt: skip
    scores.write(output)
    _show_scores(scores, asked.level)
    say_written(output, f"Scores, {len(scores):,} rows")


def _show_scores(scores: Scores, level: float) -> None:
    """One block a condition, aligned, and below them how the intervals were found."""
    rows = scores.rows()
    width = max(*(len(row.metric) for row in rows), *(min(len(row.condition), 30) for row in rows), len("all items"))
    for condition in dict.fromkeys(row.condition for row in rows):
        own = [row for row in rows if row.condition == condition]
        name = "all items" if condition == "all" else printable(condition, width)
        head = f"{100 * level:g}% interval"
        click.echo(f"{name:{width}}  {'value':>8}  {head:>19}  {'floor':>8}  {'items':>9}")
        for row in own:
            between = "-" if row.low != row.low else f"{_number(row.low)} to{_number(row.high)}"
            counts = f"{_number(row.floor)}  {row.n_items:>9,}"
            click.echo(f"{row.metric:{width}}  {_number(row.value)}  {between:>19}  {counts}")
        click.echo()
    for kind in dict.fromkeys(row.covers for row in rows):
        of = list(dict.fromkeys(row.metric for row in rows if row.covers == kind))
        whose = "of the others" if len(of) > len(rows) / 2 else f"of {', '.join(of)}"
        _note(f"interval {whose}: {kind}")
    _note(
        "floor: the best that any predictions could score on these items. Intervals are about other items, not about "
        "another training; for that give the runs of several seeds (--runs)"
    )


def _note(text: str) -> None:
    """A sentence below a table, in lines that fit a terminal."""
    click.echo(textwrap.fill(one_line(text), 100, subsequent_indent="  ", break_on_hyphens=False))


# --- a grid ---


def _evaluate_runs(
    folder: Path,
    people: SoftLabels,
    original: SoftLabels | None,
    metrics: Sequence[Metric],
    strata: Sequence[Stratification],
    output: Path,
    kinds: Sequence[tuple[str, Path]],
    asked: Asked,
) -> None:
    import numpy as np

    from sfumato.errors import unknown
    from sfumato.evaluate import compare_runs, measure_runs, read_runs, scores_over_seeds
    from sfumato.evaluate.mode_shift import check_targets
    from sfumato.evaluate.paper_tables import table_of_scores
    from sfumato.soft_labels import SoftLabels

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
    _show_runs(measured, scores, differences, shown)
    say_written(output, f"scores of {len(targets)} targets, {len(found)} trainings, {len(names)} metrics")
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
    runs: Sequence[Any],
    people: SoftLabels,
    original: SoftLabels | None,
    metrics: Sequence[Metric],
    labels: dict[str, SoftLabels],
    asked: Asked,
) -> None:
    """What needs scores against other kinds of labels: mode shift and cross-label."""
    if asked.mode_shift is None and asked.cross_label is None:
        return
    import numpy as np

    from sfumato.evaluate import METRICS, cross_label, kinds_of_labels, measure_against, mode_shift
    from sfumato.evaluate.cross_label import ORIGINAL, PEOPLE
    from sfumato.evaluate.paper_tables import table_of_cross_label, table_of_mode_shift

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


def _show_runs(measured: Measured, scores: RunScores, differences: Differences | None, shown: Sequence[str]) -> None:
    """One block a metric, condition and network; what an interval covers stands below."""
    better = {figures.metric.name: figures.metric.better for figures in measured.figures}
    rows = [row for row in scores.scores if row.metric in shown]
    width = min(NAME_WIDTH, max(len("target"), *(len(printable(row.target)) for row in rows)))
    apart = {
        (each.target, each.network, each.metric, each.condition): each
        for each in (differences.differences if differences else ())
    }
    baseline = next(iter(apart.values())).baseline if apart else ""
    for metric in shown:
        for condition, network in dict.fromkeys((row.condition, row.network) for row in rows):
            own = [row for row in rows if (row.metric, row.condition, row.network) == (metric, condition, network)]
            own.sort(key=lambda row: row.target != baseline)
            named = ", ".join(printable(part, 40) for part in (metric, network, condition) if part and part != "all")
            click.echo(f"{named}: {better[metric]}; {_items(own[0].n_items)}")
            head = f"{'target':{width}}  {'value':>7}  ±seeds  ±items  {'floor':>7}"
            click.echo(f"{head}  {'difference':>10}  ±seeds   ±both  {'p':>6}" if baseline else head)
            for row in own:
                click.echo(_line(row, apart.get((row.target, network, metric, condition)), width).rstrip())
            click.echo()
    _explain(measured, rows, differences)


def _line(row: RunScore, less: Difference | None, width: int) -> str:
    halves = f"{_half(row.low, row.high)}  {_half(row.items_low, row.items_high)}"
    line = f"{printable(row.target, width):{width}}  {_number(row.value)}  {halves}  {_number(row.floor)}"
    if less is None:
        return line
    halves = f"{_half(less.low, less.high)}  {_half(less.both_low, less.both_high)}"
    return f"{line}  {_number(less.difference, '+'):>10}  {halves}  {_p(less.p_corrected):>6}  {less.verdict}"


def _explain(measured: Measured, rows: Sequence[RunScore], differences: Differences | None) -> None:
    level = f"{100 * measured.level:g}%"
    n_seeds = sorted({row.n_seeds for row in rows})
    if n_seeds == [1]:
        click.echo("±seeds: none; one seed says nothing of another training")
    else:
        counts = " to ".join(str(n) for n in dict.fromkeys((n_seeds[0], n_seeds[-1])))
        click.echo(f"±seeds: another training ({level} t interval over {counts} seeds)")
    click.echo(f"±items: other items, these trainings ({level} bootstrap over {measured.over})")
    click.echo("floor:  the best that any predictions could score on these items")
    if differences is None or not len(differences):
        return
    first = differences.differences[0]
    click.echo(f"difference: from {printable(first.baseline)}, paired by seed; ±both: another training on other items")
    what = "not corrected" if first.correction == "none" else f"{first.correction} comparisons"
    click.echo(f"p:      paired t over seeds, {what}")
    notes = [each.wilcoxon for each in differences.differences]
    if all(notes):
        _note(f"Wilcoxon's test would say nothing here: {notes[0]}")


def _number(value: float, sign: str = "") -> str:
    if value != value:
        return f"{'-':>7}"
    return f"{value:>{sign}7.4f}" if abs(value) < 100 else f"{value:>{sign}7.1f}"


def _half(low: float, high: float) -> str:
    half = (high - low) / 2
    return f"{'-':>6}" if half != half else f"{half:>6.4f}" if half < 10 else f"{half:>6.1f}"


def _p(value: float) -> str:
    if value != value:
        return "-"
    return "<.001" if value < 0.001 else f"{value:.3f}".replace("0.", ".", 1)


def _items(n: int) -> str:
    return f"{n:,} item{'s' * (n != 1)}"
