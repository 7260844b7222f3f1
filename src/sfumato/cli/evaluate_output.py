"""Printed output of `sfumato evaluate`: scores of one table, of a grid of runs, or by condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from sfumato.cli.output import WIDTH, counted, printable, say

if TYPE_CHECKING:
    from sfumato.evaluation.prediction_sets import SetCoverage
    from sfumato.evaluation.run_metric_values import RunMeasurements, SeedValues
    from sfumato.tables.scores import Difference, Differences, RunScore, RunScores, Score, Scores

NAME_WIDTH = 19
CONDITION_WIDTH = 40


def show_scores(scores: Scores, level: float) -> None:
    """One block per condition, and below them the methods of the intervals."""
    rows = scores.rows()
    width = max(*(len(row.metric) for row in rows), *(min(len(row.condition), 30) for row in rows), len("all items"))
    for condition in dict.fromkeys(row.condition for row in rows):
        own = [row for row in rows if row.condition == condition]
        name = "all items" if condition == "all" else printable(condition, width)
        head = f"{100 * level:g}% interval"
        click.echo(f"{name:{width}}  {'value':>8}  {head:>20}  {'floor':>8}  {'items':>9}")
        for row in own:
            between = "-" if row.low != row.low else f"{_number(row.low)} to {_number(row.high)}"
            counts = f"{_number(row.floor)}  {row.n_items:>9,}"
            click.echo(f"{row.metric:{width}}  {_number(row.value)}  {between:>20}  {counts}")
        click.echo()
    kinds = dict.fromkeys(row.covers for row in rows)
    for kind in kinds:
        of = list(dict.fromkeys(row.metric for row in rows if row.covers == kind))
        whose = "of the others" if len(of) > len(rows) / 2 else f"of {', '.join(of)}"
        say(f"interval {whose}: {kind}" if len(kinds) > 1 else f"interval: {kind}", hanging=2)
    _explain_floors(rows)
    say("Intervals cover other items, not another training; for that give the runs of several seeds (--runs)")


def show_sets(coverage: SetCoverage, wanted: float, level: float) -> None:
    """How often prediction sets contain a person's answer, by what they are calibrated on and what others say."""
    from sfumato.evaluation.prediction_sets import EVERYONE, VOTES

    model = coverage.figures[0].model
    click.echo(f"prediction sets of {printable(model)} for {100 * wanted:g}% of people's answers")
    head = f"{'calibrated on':20}  {'the other people':21}  {'inside':>7}"
    click.echo(f"{head}  {f'{100 * level:g}% interval':>16}  {'classes':>7}  {'items':>7}")
    for row in coverage.figures:
        between = "-" if row.low != row.low else f"{row.low:6.1%} to {row.high:6.1%}"
        start = f"{row.calibrated_on if row.others == EVERYONE else '':20}  {row.others:21}"
        click.echo(f"{start}  {row.coverage:>7.1%}  {between:>16}  {row.mean_size:>7.2f}  {row.n_items:>7,}")
    on_votes = coverage.of(VOTES, model=model)
    say(
        f"{on_votes.single:.0%} of the sets calibrated on votes have one class, {on_votes.empty:.0%} have none. "
        "Intervals are over items. docs/evaluate.md#prediction-sets explains the columns"
    )
    click.echo()


def show_runs(
    measured: RunMeasurements, scores: RunScores, differences: Differences | None, shown: Sequence[str]
) -> None:
    """One block per metric, condition and network; an explanation of the intervals below."""
    better = {figures.metric.name: figures.metric.better for figures in measured.figures}
    rows = [row for row in scores.scores if row.metric in shown]
    width = _width_of([row.target for row in rows])
    apart = _by_cell(differences)
    baseline = _baseline(differences)
    single = all(row.n_seeds == 1 for row in rows)
    for metric in shown:
        for condition, network in dict.fromkeys((row.condition, row.network) for row in rows):
            own = [row for row in rows if (row.metric, row.condition, row.network) == (metric, condition, network)]
            own.sort(key=lambda row: row.target != baseline)
            click.echo(_headed(metric, network, condition, better[metric], [row.n_items for row in own]))
            seeds, halves = ("", " ±items") if single else ("  ±seeds", " ±seeds   ±both")
            head = f"{'target':{width}}  {'value':>7}{seeds}  ±items  {'floor':>7}"
            click.echo(f"{head}  {'difference':>10} {halves}  {'p':>6}" if baseline else head)
            for row in own:
                less = apart.get((row.target, network, metric, condition))
                click.echo(_line(row, less, width, single=single).rstrip())
            click.echo()
    _explain(measured, rows, differences)


def show_curves(measured: RunMeasurements, differences: Differences | None, shown: Sequence[str]) -> None:
    """One block per metric, stratum and network: conditions in rows, targets in columns."""
    apart, baseline = _by_cell(differences), _baseline(differences)
    targets = sorted(measured.targets, key=lambda target: target != baseline)
    first = min(CONDITION_WIDTH, max(len("condition"), *(len(printable(shift)) for shift in measured.shifts)))
    width = max(8, _width_of(targets))
    at_once = (WIDTH - first) // (width + 3)
    blocks: dict[tuple[str, str, str], list[SeedValues]] = {}
    for figures in measured.figures:
        blocks.setdefault((figures.metric.name, figures.stratum, figures.network), []).append(figures)
    for metric in shown:
        for (name, stratum, network), own in blocks.items():
            if name != metric:
                continue
            click.echo(_headed(metric, network, stratum, own[0].metric.better, [each.n_items for each in own]))
            cells = {(each.shift, each.target): each for each in own}
            for start in range(0, len(targets), at_once):
                across = targets[start : start + at_once]
                names = "".join(f"  {printable(target, width):>{width}} " for target in across)
                click.echo(f"{'condition':{first}}{names}".rstrip())
                for shift in dict.fromkeys(each.shift for each in own):
                    values = [_on_curve(cells.get((shift, target)), apart) for target in across]
                    line = "".join(f"  {value:>{width + 1}}" for value in values)
                    click.echo(f"{printable(shift or 'all', first):{first}}{line}".rstrip())
                click.echo()
    click.echo("mean over seeds; intervals, floors and numbers of items are in the file")
    if differences is not None and len(differences):
        say(f"*: differs from {printable(baseline)} under that condition; {_tested(differences)}", hanging=2)


def _on_curve(figures: SeedValues | None, apart: dict[tuple[str, str, str, str], Difference]) -> str:
    if figures is None:
        return "- "
    less = apart.get((figures.target, figures.network, figures.metric.name, figures.condition))
    return f"{_number(float(figures.values.mean()))}{'*' if less is not None and less.verdict else ' '}"


def _headed(metric: str, network: str, condition: str, better: str, n_items: Sequence[int]) -> str:
    """The heading of a block."""
    named = ", ".join(printable(part, 40) for part in (metric, network, condition) if part and part != "all")
    fewest, most = min(n_items), counted(max(n_items), "item")
    return f"{named}: {better}; {most if fewest == max(n_items) else f'{fewest:,} to {most}'}"


def _by_cell(differences: Differences | None) -> dict[tuple[str, str, str, str], Difference]:
    return {
        (each.target, each.network, each.metric, each.condition): each
        for each in (differences.differences if differences else ())
    }


def _baseline(differences: Differences | None) -> str:
    return differences.differences[0].baseline if differences and len(differences) else ""


def _width_of(targets: Sequence[str]) -> int:
    return min(NAME_WIDTH, max(len("target"), *(len(printable(target)) for target in targets)))


def _line(row: RunScore, less: Difference | None, width: int, *, single: bool) -> str:
    """One row; `single` if every target has one prediction, so that nothing is known about other trainings."""
    # The longer side of the interval over seeds: one end may be cut at a bound.
    over_seeds = max(row.high - row.value, row.value - row.low)
    halves = _half((row.items_high - row.items_low) / 2)
    halves = halves if single else f"{_half(over_seeds)}  {halves}"
    line = f"{printable(row.target, width):{width}}  {_number(row.value)}  {halves}  {_number(row.floor)}"
    if less is None:
        return line
    over_seeds = max(less.high - less.difference, less.difference - less.low)
    halves = f"{_half(over_seeds)}  {_half((less.both_high - less.both_low) / 2)}"
    halves = _half((less.items_high - less.items_low) / 2) if single else halves
    return f"{line}  {_number(less.difference, '+'):>10}  {halves}  {_p(less.p_corrected):>6}  {less.verdict}"


def _explain(measured: RunMeasurements, rows: Sequence[RunScore], differences: Differences | None) -> None:
    level = f"{100 * measured.level:g}%"
    n_seeds = sorted({row.n_seeds for row in rows})
    if n_seeds != [1]:
        counts = " to ".join(str(n) for n in dict.fromkeys((n_seeds[0], n_seeds[-1])))
        click.echo(f"±seeds: another training ({level} t interval over {counts} seeds)")
    click.echo(f"±items: other items, these predictions ({level} bootstrap over {measured.over})")
    if n_seeds == [1]:
        click.echo("One prediction per target does not show the variation between trainings; several seeds would.")
    _explain_floors(rows)
    if differences is None or not len(differences):
        return
    first = differences.differences[0]
    if n_seeds == [1]:
        click.echo(f"difference: from {printable(first.baseline)}, paired by item")
    else:
        both = "±both: another training on other items"
        click.echo(f"difference: from {printable(first.baseline)}, paired by seed; {both}")
    click.echo(f"p:      {_tested(differences)}")
    if n_seeds == [1]:
        return
    notes = [each.wilcoxon for each in differences.differences]
    if all(notes):
        say(f"Wilcoxon's test is not possible: {notes[0]}", hanging=2)


def _explain_floors(rows: Sequence[Score] | Sequence[RunScore]) -> None:
    """What the floors are, or why there are none, by metric and, if the reason differs, by condition."""
    notes: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.floor_note:
            notes.setdefault(row.floor_note, {})[row.metric] = None
    for note, metrics in notes.items():
        where = list(dict.fromkeys(row.condition for row in rows if row.floor_note == note))
        every = {row.condition for row in rows if row.metric in metrics}
        named = "" if len(where) == len(every) else f" ({', '.join(printable(each, 30) for each in where)})"
        say(f"floor of {', '.join(metrics)}{named}: {note}", hanging=2)


def _tested(differences: Differences) -> str:
    first = differences.differences[0]
    n_compared = "comparison" if first.correction.endswith(" over 1") else "comparisons"
    what = "not corrected" if first.correction == "none" else f"{first.correction} {n_compared}"
    tests = dict.fromkeys("over items" if each.n_seeds == 1 else "t over seeds" for each in differences.differences)
    return f"paired {' or '.join(tests)}, {what}"


def _number(value: float, sign: str = "") -> str:
    if value != value:
        return f"{'-':>7}"
    return f"{value:>{sign}7.4f}" if abs(value) < 100 else f"{value:>{sign}7.1f}"


def _half(half: float) -> str:
    return f"{'-':>6}" if half != half else f"{half:>6.4f}" if half < 10 else f"{half:>6.1f}"


def _p(value: float) -> str:
    if value != value:
        return "-"
    return "<0.001" if value < 0.001 else f"{value:.3f}"
