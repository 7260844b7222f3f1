"""Printed output of `sfumato evaluate`: scores of one table, of a grid of runs, or by condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from sfumato.cli.output import say
from sfumato.tables.printed_text import (
    DIFFERENCE_HEAD,
    NAME_WIDTH,
    WIDTH,
    block_head,
    difference_cells,
    difference_notes,
    floor_lines,
    half_cell,
    interval_cell,
    is_symmetric,
    name_width,
    number_cell,
    printable,
    score_lines,
    tested_text,
)

if TYPE_CHECKING:
    from sfumato.evaluation.comparison import LeadingUncertainty
    from sfumato.evaluation.run_metric_values import RunMeasurements, SeedValues
    from sfumato.tables.scores import Difference, Differences, RunScore, RunScores, Scores

NAME_WIDTH_WITH_RANGE = 13
CONDITION_WIDTH = 40
RANGE, RANGE_WIDTH = "low to high", 18


@dataclass(frozen=True)
class ShownInterval:
    """A value and its interval, as printed: with ± only if it is symmetric."""

    value: float
    low: float
    high: float

    @property
    def is_symmetric(self) -> bool:
        """Also if there is no interval."""
        return is_symmetric(self.value, self.low, self.high)

    def text(self, *, as_range: bool) -> str:
        """Half the width, or both ends, as a cell of a table."""
        if as_range:
            return f"{interval_cell(self.low, self.high):>{RANGE_WIDTH}}"
        return half_cell(max(self.high - self.value, self.value - self.low))

    def scaled(self, ratio: float) -> ShownInterval:
        """With both halves so many times as long."""
        low, high = (self.value + ratio * (end - self.value) for end in (self.low, self.high))
        return ShownInterval(self.value, low, high)

    def __str__(self) -> str:
        text = " ".join(self.text(as_range=not self.is_symmetric).split())
        return f"±{text}" if self.is_symmetric else text


def show_scores(scores: Scores, level: float) -> None:
    """One block per condition, and below them the methods of the intervals."""
    click.echo("\n".join(score_lines(scores.rows(), level)))
    say("Intervals do not cover another training; for that give the runs of several seeds (--runs)")


def show_runs(
    measured: RunMeasurements, scores: RunScores, differences: Differences | None, shown: Sequence[str]
) -> None:
    """One block per metric, condition and network; an explanation of the intervals below."""
    better = {figures.metric.name: figures.metric.better for figures in measured.figures}
    rows = [row for row in scores.scores if row.metric in shown]
    apart = _by_cell(differences)
    baseline = _baseline(differences)
    column = "target" if any(row.network or row.n_seeds > 1 for row in rows) else "model"
    for metric in shown:
        for condition, network in dict.fromkeys((row.condition, row.network) for row in rows):
            own = [row for row in rows if (row.metric, row.condition, row.network) == (metric, condition, network)]
            own.sort(key=lambda row: row.target != baseline)
            click.echo(block_head(metric, network, condition, [row.n_items for row in own], better[metric]))
            others = [apart.get((row.target, network, metric, condition)) for row in own]
            as_range = not all(_of_score(row).is_symmetric for row in own)
            limit = NAME_WIDTH_WITH_RANGE if as_range else NAME_WIDTH
            wide = name_width((row.target for row in rows), limit=limit)
            between = f"{RANGE:>{RANGE_WIDTH}}" if as_range else f"{'±':>6}"
            head = f"{column:{wide}}  {'value':>7}  {between}  {'floor':>7}"
            click.echo(f"{head}  {DIFFERENCE_HEAD}" if baseline else head)
            for row, less in zip(own, others, strict=True):
                line = f"{printable(row.target, wide):{wide}}  {number_cell(row.value)}"
                line += f"  {_of_score(row).text(as_range=as_range)}  {number_cell(row.floor)}"
                if less is not None:
                    line += f"  {difference_cells(less)}"
                click.echo(line.rstrip())
            click.echo()
    _explain(measured, rows, differences)


def show_curves(measured: RunMeasurements, differences: Differences | None, shown: Sequence[str]) -> None:
    """One block per metric, stratum and network: conditions in rows, targets in columns."""
    apart, baseline = _by_cell(differences), _baseline(differences)
    targets = sorted(measured.targets, key=lambda target: target != baseline)
    first = min(CONDITION_WIDTH, max(len("condition"), *(len(printable(shift)) for shift in measured.shifts)))
    width = max(8, name_width(targets))
    at_once = max(1, (WIDTH - first) // (width + 3))
    blocks: dict[tuple[str, str, str], list[SeedValues]] = {}
    for figures in measured.figures:
        blocks.setdefault((figures.metric.name, figures.stratum, figures.network), []).append(figures)
    for metric in shown:
        for (name, stratum, network), own in blocks.items():
            if name != metric:
                continue
            better = own[0].metric.better
            click.echo(block_head(metric, network, stratum, [each.n_items for each in own], better))
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
        say(
            f"*: differs from {printable(baseline)} under that condition; {tested_text(differences.differences)}",
            hanging=2,
        )


def _on_curve(figures: SeedValues | None, apart: dict[tuple[str, str, str, str], Difference]) -> str:
    if figures is None:
        return "- "
    less = apart.get((figures.target, figures.network, figures.metric.name, figures.condition))
    return f"{number_cell(float(figures.values.mean()))}{'*' if less is not None and less.verdict else ' '}"


def _by_cell(differences: Differences | None) -> dict[tuple[str, str, str, str], Difference]:
    return {
        (each.target, each.network, each.metric, each.condition): each
        for each in (differences.differences if differences else ())
    }


def _baseline(differences: Differences | None) -> str:
    return differences.differences[0].baseline if differences and len(differences) else ""


def _of_score(row: RunScore) -> ShownInterval:
    return ShownInterval(row.value, row.low, row.high)


def _of_difference(less: Difference) -> ShownInterval:
    return ShownInterval(less.difference, less.low, less.high)


def _explain(measured: RunMeasurements, rows: Sequence[RunScore], differences: Differences | None) -> None:
    level = f"{100 * measured.level:g}%"
    own = [row for row in rows if row.low == row.low]
    if own:
        symmetric = {_of_score(row).is_symmetric for row in own}
        marks = "±" if all(symmetric) else f"± or {RANGE}" if any(symmetric) else RANGE
        say(f"{marks}: {level} interval over {_covered(own)}", hanging=2)
    if all(row.n_seeds == 1 for row in rows):
        click.echo("One prediction per model does not show the variation between trainings; several seeds would.")
    say_about_people(measured.n_people)
    for line in floor_lines(rows):
        click.echo(line)
    compared = [
        each for each in (differences.differences if differences else ()) if each.metric in {row.metric for row in rows}
    ]
    if not compared:
        return
    click.echo("\n".join(difference_notes(compared)))


def say_about_people(n_people: int) -> None:
    """Whether results hold for people at large, or for these people only."""
    if n_people > 1:
        say(f"people: {n_people:,} people are taken as a sample, so that results hold for people at large")
    elif n_people == 1:
        say(
            "people: all answers are by one annotator, which cannot show how people differ, so that results hold for "
            "this person",
            hanging=2,
        )
    else:
        say(
            "people: the crowd is taken as fixed, so that results hold for these people; give their single answers "
            "(--people beliefs.parquet) for people at large",
            hanging=2,
        )


def shown_interval(leading: LeadingUncertainty, scores: RunScores, differences: Differences | None) -> ShownInterval:
    """The interval of the value in the tables."""
    if leading.baseline:
        return _of_difference(_by_cell(differences)[leading.cell])
    cells = {(row.target, row.network, row.metric, row.condition): row for row in scores.scores}
    return _of_score(cells[leading.cell])


def show_uncertainty(leading: LeadingUncertainty, shown: ShownInterval, level: float) -> None:
    """Where the uncertainty of one value comes from, and what more items, people or seeds would change from the
    interval `shown` in the table."""
    parts = leading.parts
    has_seeds, has_people = parts.seeds == parts.seeds, parts.people == parts.people
    if not has_seeds and not has_people:
        return
    click.echo(f"\nUncertainty of {printable(leading.what, WIDTH)}: {100 * level:g}% interval")
    lines = [("as it is", parts), ("with twice the items", parts.with_more(items=2))]
    lines += [("with twice the people per item", parts.with_more(people=2))] * has_people
    lines += [("with twice the seeds", parts.with_more(seeds=2))] * has_seeds
    for name, each in lines:
        ratio = each.half_width(level) / parts.half_width(level)
        click.echo(f"  {name:40}  {shown.scaled(ratio) if ratio < 1 + 1e-9 else 'no narrower'}")
    alone = [("other items of this number, same people", parts.items)]
    alone += [("another crowd of this size, same items", parts.people)] * has_people
    alone += [("another training, same items and people", parts.seeds)] * has_seeds
    for name, variance in alone:
        click.echo(f"  {name:40}  standard error {half_cell(variance**0.5)}")
    click.echo()


def _covered(rows: Sequence[RunScore]) -> str:
    """What the intervals of scores cover, in words."""
    names = ["items"]
    if any(row.n_seeds > 1 for row in rows):
        names.insert(0, "trainings (seeds)")
    if any(row.se_people == row.se_people for row in rows):
        names.append("people")
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
