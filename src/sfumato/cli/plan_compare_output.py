"""The printed output of `sfumato plan compare`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from sfumato.cli.output import number, say

if TYPE_CHECKING:
    from sfumato.planning.costs import CostModel
    from sfumato.planning.exchange_rates import ExchangeRates
    from sfumato.planning.goals import Goal
    from sfumato.planning.label_type_comparison import Comparison, LabelTypeComparison, ValueMap
    from sfumato.planning.pilot_evidence import PilotEvidence

CELL = 11


def show_evidence(evidence: PilotEvidence, has_runs: bool) -> None:
    """The measured data, or that there is none."""
    if not evidence.kinds and not has_runs:
        click.echo("no pilot: nothing was measured; values are published, simulated or assumed (see below)")
    for note in evidence.notes:
        say(f"pilot: {note}", hanging=2)


def show_comparison(
    comparison: Comparison, goal: Goal, size: tuple[int, int], costs: CostModel, measured: Mapping[str, ExchangeRates]
) -> None:
    """The table of the goal, the result in sentences, the other goals, and the sources."""
    rows = comparison.of_goal(goal)
    n, k = size
    click.echo(f"\ngoal: {goal}, {goal.meaning}\n{n:,} items of {k} classes; values are in hard votes per item\n")
    _show_values(rows, comparison, goal, costs)
    click.echo("")
    for row in rows:
        _show_rates(row.kind, goal, measured)
    _show_answer(comparison, goal)
    _show_other_goals(comparison, goal)
    _show_information(rows)
    click.echo("\nsources")
    for row in rows:
        say(f"  {row.kind:<10}  time: {row.time_source}", hanging=14)
        say(f"  {'':<10}  votes: {row.votes_source}", hanging=14)
    say(
        f"  {'money':<10}  {costs.wage:g} {costs.currency} per hour, {costs.fee:.0%} platform fee, paid time "
        f"{costs.overhead:g} times answering time: assumptions unless given",
        hanging=14,
    )


def _show_values(rows: tuple[LabelTypeComparison, ...], comparison: Comparison, goal: Goal, costs: CostModel) -> None:
    bought = f"with {comparison.budget:,.2f} {costs.currency}"
    click.echo(f"{'':<10}  {'per answer':>17}  {'votes per answer':>22}  {'':>2}  {bought:>28}")
    click.echo(f"{'kind':<10}  {'seconds':>7}  {costs.currency:>8}  {'votes':>6}  {'95% CI':>14}    "
               f"  {'answers per item':>16}  {'votes':>6}  {'95% CI':>14}")  # fmt: skip
    best = {at: comparison.best(goal, at_equal_budget=at) for at in (False, True)}
    for row in rows:
        speaks = row.votes == row.votes
        items = "*" if speaks and row.kind == best[False] else " "
        budget = "*" if speaks and row.kind == best[True] else " "
        click.echo(
            f"{row.kind:<10}  {row.seconds:>7.1f}  {row.money:>8.4f}  {number(row.votes, 2):>6}{items} "
            f"{_between(row.votes_low, row.votes_high):>14}  {row.n_answers:>16.2f}  {number(row.equal_budget, 2):>6}"
            f"{budget} {_between(row.equal_budget_low, row.equal_budget_high):>14}".rstrip()
        )
    click.echo("* best at equal items (one answer per item) and at equal budget")


def _show_rates(kind: str, goal: Goal, measured: Mapping[str, ExchangeRates]) -> None:
    """The exchange rate of one answer and of the largest number compared, by every measure of the goal."""
    from sfumato.planning.exchange_rates import rate_sentence

    if kind not in measured:
        return
    for measure in dict.fromkeys(rate.measure for rate in measured[kind].rates if rate.goal == goal):
        rates = measured[kind].of_goal(goal, measure)
        for rate in dict.fromkeys((rates[0], rates[-1])):
            say(rate_sentence(rate), hanging=2)


def _show_answer(comparison: Comparison, goal: Goal) -> None:
    rows = {row.kind: row for row in comparison.of_goal(goal)}
    items, budget = (comparison.best(goal, at_equal_budget=at) for at in (False, True))
    if rows[items].votes != rows[items].votes:
        click.echo(f"none of these kinds serves the goal {goal}: they do not name classes")
        return
    same = [kind for kind, row in rows.items() if kind != items and row.rank_items == 1]
    equal = f" (equal: {', '.join(same)})" if same else ""
    after = _next([row for row in rows.values() if row.rank_items > 1], rows[items], "votes")
    say(f"at equal items: {items}{equal}, {rows[items].votes:.2f} votes per answer{after}", hanging=2)
    after = _next([row for row in rows.values() if row.kind != budget], rows[budget], "equal_budget")
    say(f"at equal budget: {budget}, {rows[budget].equal_budget:.2f} votes per item{after}", hanging=2)


def _next(others: list[LabelTypeComparison], best: LabelTypeComparison, value: str) -> str:
    """The kind with the second highest value, and whether it may be the first."""
    known = [row for row in others if getattr(row, value) == getattr(row, value)]
    if not known:
        return ""
    second = max(known, key=lambda row: float(getattr(row, value)))
    is_certain = getattr(second, f"{value}_high") < getattr(best, f"{value}_low")
    note = "" if is_certain else " (the order is uncertain)"
    return f"; next {second.kind}, {getattr(second, value):.2f}{note}"


def _show_other_goals(comparison: Comparison, goal: Goal) -> None:
    from sfumato.planning.exchange_rates import BY_DISTRIBUTION
    from sfumato.planning.goals import Goal as Goals

    click.echo("\nother goals")
    for other in Goals:
        if other is goal:
            continue
        if all(row.votes != row.votes for row in comparison.of_goal(other)):
            say(f"  {other:<12}  none of these kinds serves it", hanging=16)
            continue
        items, budget = (comparison.best(other, at_equal_budget=at) for at in (False, True))
        is_by_distribution = any(BY_DISTRIBUTION in row.votes_source for row in comparison.of_goal(other))
        note = " (as for the distribution: not known from answers alone)" if is_by_distribution else ""
        say(f"  {other:<12}  at equal items {items}, at equal budget {budget}{note}", hanging=16)


def _show_information(rows: tuple[LabelTypeComparison, ...]) -> None:
    has_pilot = any(row.measured_ratio == row.measured_ratio for row in rows)
    head = f"\n{'kind':<10}  {'information ratio':>17}"
    head += f"  {'in the pilot':>12}  {'false':>6}  {'kept':>5}" if has_pilot else ""
    click.echo(f"{head}  {'simulated rho':>13}  {'beta c - u(rho)':>15}")
    for row in sorted(rows, key=lambda row: row.loss):
        line = f"{row.kind:<10}  {row.information_ratio:>17.5f}"
        if has_pilot:
            line += f"  {number(row.measured_ratio, 5):>12}  {number(row.flip_rate, 2):>6}  {number(row.kept, 2):>5}"
        click.echo(f"{line}  {row.rho:>13.2f}  {row.loss:>15.3f}")
    click.echo("information ratio: share of questions 'is a nearer to b than to c?' answered by one answer per item;")
    if has_pilot:
        click.echo("in the pilot (at most 100 items): the share of false answers, and the information kept;")
    click.echo("simulated rho: recovered share of the true similarities; the smallest beta c - u(rho) is best")


def show_map(table: ValueMap, size: tuple[int, int]) -> None:
    """The best kind by numbers of items and classes, at equal items and at equal budget."""
    classes = sorted({cell.k for cell in table.cells})
    sizes = {(cell.n, cell.k) for cell in table.cells}
    for at_budget, basis in ((False, "equal items"), (True, "equal budget")):
        click.echo(f"\nsimulated geometry: best kind at {basis} (> your size)")
        click.echo(f"{'items':>6}  " + "  ".join(f"{f'{k} classes':<{CELL}}" for k in classes).rstrip())
        for n in sorted({cell.n for cell in table.cells}):
            marks = [">" if (n, k) == size else "" for k in classes]
            best = [table.best(n, k, at_equal_budget=at_budget) if (n, k) in sizes else "" for k in classes]
            shown = [f"{mark + kind:<{CELL}}" for mark, kind in zip(marks, best, strict=True)]
            click.echo(f"{n:>6}  " + "  ".join(shown).rstrip())


def _between(low: float, high: float) -> str:
    if low != low:
        return ""
    if high == float("inf"):
        return f"{low:.2f} or more"
    return "" if low == high else f"{low:.2f} to {high:.2f}"
