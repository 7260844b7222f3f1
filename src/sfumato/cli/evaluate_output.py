"""Printed output of `sfumato evaluate`: scores of one table, of a grid of runs, or by condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from sfumato.cli.output import WIDTH, counted, printable, say

if TYPE_CHECKING:
    from sfumato.evaluation.comparison import LeadingUncertainty
    from sfumato.evaluation.prediction_sets import SetCoverage
    from sfumato.evaluation.run_metric_values import RunMeasurements, SeedValues
    from sfumato.tables.scores import Difference, Differences, RunScore, RunScores, Score, Scores

NAME_WIDTH, NAME_WIDTH_WITH_RANGE = 19, 13
CONDITION_WIDTH = 40
RANGE, RANGE_WIDTH = "low to high", 18
SYMMETRIC = 0.01
"""An interval whose halves differ by at most this share is printed with ±."""


@dataclass(frozen=True)
class ShownInterval:
    """A value and its interval, as printed: with ± only if it is symmetric."""

    value: float
    low: float
    high: float

    @property
    def is_symmetric(self) -> bool:
        """Also if there is no interval."""
        below, above = self.value - self.low, self.high - self.value
        return below != below or abs(below - above) <= max(SYMMETRIC * above, 5e-5)

    def text(self, *, as_range: bool) -> str:
        """Half the width, or both ends, as a cell of a table."""
        if as_range:
            ends = "-" if self.low != self.low else f"{_number(self.low)} to {_number(self.high)}"
            return f"{ends:>{RANGE_WIDTH}}"
        return _half(max(self.high - self.value, self.value - self.low))

    def scaled(self, ratio: float) -> ShownInterval:
        """With both halves so many times as long."""
        low, high = (self.value + ratio * (end - self.value) for end in (self.low, self.high))
        return ShownInterval(self.value, low, high)

    def __str__(self) -> str:
        text = " ".join(self.text(as_range=not self.is_symmetric).split())
        return f"±{text}" if self.is_symmetric else text


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
    say("Intervals do not cover another training; for that give the runs of several seeds (--runs)")


def show_sets(coverage: SetCoverage, wanted: float, level: float) -> None:
    """How often prediction sets contain a person's answer, by what they are calibrated on and what others say."""
    from sfumato.evaluation.prediction_sets import EVERYONE, VOTES

    first = coverage.figures[0]
    model, are_votes = first.model, first.calibrated_on == VOTES
    click.echo(f"prediction sets of {printable(model)} for {100 * wanted:g}% of people's answers")
    head = f"{'calibrated on':20}  {'the other people' if are_votes else 'people':21}  {'inside':>7}"
    click.echo(f"{head}  {f'{100 * level:g}% interval':>16}  {'classes':>7}  {'items':>7}")
    for row in coverage.figures:
        between = "-" if row.low != row.low else f"{row.low:6.1%} to {row.high:6.1%}"
        inside, size = (f"{row.coverage:.1%}", f"{row.mean_size:.2f}") if row.n_items else ("-", "-")
        start = f"{row.calibrated_on if row.others == EVERYONE else '':20}  {row.others:21}"
        click.echo(f"{start}  {inside:>7}  {between:>16}  {size:>7}  {row.n_items:>7,}")
    say(
        f"{first.single:.0%} of the sets calibrated on {first.calibrated_on} have one class, {first.empty:.0%} have "
        f"none. "
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
    column = "target" if any(row.network or row.n_seeds > 1 for row in rows) else "model"
    for metric in shown:
        for condition, network in dict.fromkeys((row.condition, row.network) for row in rows):
            own = [row for row in rows if (row.metric, row.condition, row.network) == (metric, condition, network)]
            own.sort(key=lambda row: row.target != baseline)
            click.echo(_headed(metric, network, condition, better[metric], [row.n_items for row in own]))
            others = [apart.get((row.target, network, metric, condition)) for row in own]
            as_range = not all(_of_score(row).is_symmetric for row in own)
            wide = min(width, NAME_WIDTH_WITH_RANGE) if as_range else width
            between = f"{RANGE:>{RANGE_WIDTH}}" if as_range else f"{'±':>6}"
            head = f"{column:{wide}}  {'value':>7}  {between}  {'floor':>7}"
            click.echo(f"{head}  {'difference':>10}  {'±':>6}  {'p':>6}  result" if baseline else head)
            for row, less in zip(own, others, strict=True):
                line = f"{printable(row.target, wide):{wide}}  {_number(row.value)}"
                line += f"  {_of_score(row).text(as_range=as_range)}  {_number(row.floor)}"
                if less is not None:
                    line += f"  {_number(less.difference, '+'):>10}  {_of_difference(less).text(as_range=False)}"
                    line += f"  {_p(less.p_corrected):>6}  {_result(less)}"
                click.echo(line.rstrip())
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
        say(
            f"*: differs from {printable(baseline)} under that condition; {_tested(differences.differences)}", hanging=2
        )


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


def _of_score(row: RunScore) -> ShownInterval:
    return ShownInterval(row.value, row.low, row.high)


def _of_difference(less: Difference) -> ShownInterval:
    return ShownInterval(less.difference, less.low, less.high)


def _result(less: Difference) -> str:
    """The verdict; without one, the smallest difference that would have been found."""
    if less.verdict:
        return less.verdict
    return f"no evidence ({less.detectable:.2g})" if less.is_tested else "not tested"


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
    _explain_floors(rows)
    compared = [
        each for each in (differences.differences if differences else ()) if each.metric in {row.metric for row in rows}
    ]
    if not compared:
        return
    say(f"difference: from {printable(compared[0].baseline)}, on the same items; {_tested(compared)}", hanging=2)
    if any(each.is_tested and not each.verdict for each in compared):
        say(
            "no evidence: there is no evidence of a difference; in brackets the smallest difference that would have "
            "been found with a probability of 80%",
            hanging=2,
        )
    reasons = dict.fromkeys(each.covers.removeprefix("none: ") for each in compared if not each.is_tested)
    for reason in reasons:
        of = dict.fromkeys(each.metric for each in compared if each.covers.removeprefix("none: ") == reason)
        say(f"not tested ({', '.join(of)}): {reason}", hanging=2)


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
        click.echo(f"  {name:40}  standard error {_half(variance**0.5)}")
    click.echo()


def _covered(rows: Sequence[RunScore]) -> str:
    """What the intervals of scores cover, in words."""
    names = ["items"]
    if any(row.n_seeds > 1 for row in rows):
        names.insert(0, "trainings (seeds)")
    if any(row.se_people == row.se_people for row in rows):
        names.append("people")
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


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


def _tested(differences: Sequence[Difference]) -> str:
    """How differences were tested and corrected; the number of comparisons may differ between metrics."""
    tested = [each for each in differences if each.is_tested]
    if not tested:
        return "not tested"
    covered = " or ".join(dict.fromkeys(each.covers.partition(":")[0] for each in tested))
    if tested[0].correction == "none":
        return f"interval and p for {covered}, not corrected"
    how, _, _ = tested[0].correction.partition(" over ")
    numbers = sorted({int(each.correction.rpartition(" ")[2]) for each in tested})
    n = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    return f"interval and p for {covered}, {how} over {n} comparison{'s' * (numbers[-1] > 1)}"


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
