"""`sfumato plan` with options: decide, write the plan, and print the decision with its reasons."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.checked_study import checked_study
from sfumato.cli.options import seeded, typed_command
from sfumato.cli.output import bar, counted, progress_bar, say, say_written, write_table
from sfumato.cli.plan_options import budget_of, costs_of, deeper_items_of, pairs, read_source, threshold_of
from sfumato.planning.goals import goal_named
from sfumato.tables.errors import BadSetting

if TYPE_CHECKING:
    from sfumato.planning.plan_file import Plan


def run(
    context: click.Context,
    *,
    pilot: Path | None,
    study: Path | None,
    store: str | None,
    prior: str | None,
    classes: tuple[str, ...] | None,
    n_items: int | None,
    goal: str,
    budget: str | None,
    threshold: float | None,
    share: float | None,
    probability: float,
    kinds: tuple[str, ...] | None,
    votes: tuple[str, ...],
    rates: Path | None,
    most: int,
    adaptive: bool,
    items_file: Path | None,
    seed: int,
    output: Path | None,
    page: Path | None,
    **prices: Any,
) -> None:
    import msgspec

    from sfumato.planning.decision import decide, provenance_now
    from sfumato.planning.exchange_rates import ExchangeRates

    wanted = goal_named(goal)
    rng = seeded(seed)
    _check_places(output, page)
    wanted_error = threshold_of(threshold, share, probability)
    checked = None if study is None else checked_study(study)
    source = read_source(pilot, prior, classes, checked, store)
    costs, notes = costs_of(source, checked, **prices)
    items = _items(n_items, checked, source.items)
    if items is None and n_items is None:
        raise BadSetting("no number of items", "the number of items to label", "add --items")
    if kinds is None and checked is not None:
        kinds = (checked.study.question.kind,)
    with progress_bar() as progress:
        plan = decide(
            source.of,
            goal=wanted,
            costs=costs,
            classes=source.classes if checked is None else checked.study.class_names,
            n_items=len(items) if items is not None else n_items or 0,
            items=items,
            budget=budget_of(budget, costs.currency),
            threshold=wanted_error,
            kinds=kinds,
            votes=pairs("votes", votes),
            measured=None if rates is None else ExchangeRates.read(rates).by_kind(),
            adaptive=adaptive,
            deeper_items=deeper_items_of(items_file),
            most=most,
            made=msgspec.structs.replace(
                provenance_now(typed_command(context, "sfumato plan"), seed), pilot=source.file
            ),
            progress=progress,
            rng=rng,
        )
    write_table(plan, output, "the plan")
    if page is not None:
        from sfumato.reporting.plan_page import write_plan_page

        write_plan_page(plan, page, file=str(output or "plan.json"), study=str(study or "STUDY"))
        say_written(page, "the plan as a page")
    show(plan, notes)


def show(plan: Plan, notes: list[str]) -> None:
    """Print the decision, the curve, alternatives, what would change it, and the assumptions.

    Assumptions about forms that were not chosen are only in the file.
    """
    from sfumato.planning.exchange_rates import USUAL

    click.echo(f"based on {'an ' if plan.expected.source.startswith('assumed') else 'a '}{plan.expected.source}")
    for note in notes:
        say(note, "  - ")
    click.echo()
    say(decision(plan))
    if plan.deeper_items and plan.question.deeper:
        say(f"{len(plan.deeper_items):,} items get one {plan.question.deeper.kind} answer first.")
    _show_curve(plan)
    if plan.alternatives:
        click.echo("\nalternatives:")
        for each in plan.alternatives:
            say(f"{each.what}: {each.value:.4g} for {each.money:,.2f} {plan.cost.currency}; {each.why_not}", "  - ")
    click.echo("\nwhat would change it:")
    for sentence in plan.would_change:
        say(sentence, "  - ")
    click.echo("\nassumptions:")
    others = {
        f"{what} per {kind} answer" for kind in USUAL for what in ("seconds", "votes") if kind != plan.question.kind
    }
    for fact in plan.assumptions:
        if fact.what not in others:
            say(f"{fact.what}: {fact.value} ({fact.source})", "  - ")


def decision(plan: Plan) -> str:
    """The decision in words: what to collect, the expected error, and the cost."""
    from sfumato.planning.plan_file import PlanAdaptive

    answers, cost, expected = plan.answers, plan.cost, plan.expected
    titles = {"kl": "a mean KL divergence", "l2": "a mean squared distance", "wrong_class": "a share of wrong classes"}
    error = titles.get(expected.measure, f"a {expected.measure.replace('_', ' ')}")
    kind = "single-choice" if plan.question.kind == "choice" else plan.question.kind
    collect = "collect" if plan.budget else "Collect"
    what = f"{collect} {counted(cost.answers, f'{kind} answer')}"
    if isinstance(answers, PlanAdaptive):
        rule = f"until one class is {answers.lead} ahead" if answers.lead else "more for uncertain items"
        how = f"{answers.on_average:.2g} per item on average ({answers.fewest} to {answers.most}, {rule})"
    else:
        how = f"{answers.each} for each of {counted(plan.n_items, 'item')}"
    budget = f"With {plan.budget.amount:,g} {plan.budget.unit}: " if plan.budget else ""
    between = "" if expected.low is None else f" (95% CI {expected.low:.3g} to {expected.high:.3g})"
    return (
        f"{budget}{what}, {how}. Expected error: {error} of {expected.value:.3g}{between}. "
        f"Cost: {cost.money:,.2f} {cost.currency}, {cost.hours:,.1f} paid hours, about {cost.people:,} "
        f"{'people' if cost.people != 1 else 'person'}."
    )


def _show_curve(plan: Plan) -> None:
    if not plan.curve:
        return
    has_interval = plan.curve[0].low is not None
    interval = f"  {'95% interval':^20}" if has_interval else ""
    click.echo(f"\n{'answers':>7}  {'error':>8}{interval}  {'cost':>12}")
    scale = max(point.value for point in plan.curve) or 1.0
    for point in plan.curve:
        between = f"  {point.low or 0:>8.4f} to {point.high or 0:<8.4f}" if has_interval else ""
        is_chosen = abs(point.answers - plan.answers.on_average) < 0.005
        line = f"{point.answers:>7.3g}  {point.value:>8.4f}{between}  {point.money:>12,.2f}"
        click.echo(f"{line}  {bar([(point.value / scale, '█')])} {'<- the plan' if is_chosen else ''}".rstrip())


def _items(n_items: int | None, checked: Any, of_pilot: tuple[str, ...]) -> list[str] | None:
    """The ids of the items to label, if known: the study's, or without a number the pilot's."""
    if checked is not None:
        ids = list(dict.fromkeys(stimulus.item for stimulus in checked.stimuli))
        if n_items is not None and n_items > len(ids):
            raise BadSetting(f"--items {n_items:,}", f"at most the study's {len(ids):,}", "omit it")
        return ids if n_items is None else ids[:n_items]
    return list(of_pilot) if n_items is None and of_pilot else None


def _check_places(output: Path | None, page: Path | None) -> None:
    from sfumato.tables.files.atomic_write import check_place
    from sfumato.tables.files.file_type import JSON, kind_of

    if output is not None:
        kind_of(output, (JSON,), to_write=True)
        check_place(output)
    if page is not None:
        if page.suffix.lower() not in (".html", ".htm"):
            raise BadSetting(f"--page {page.name!r}", "a name that ends in .html", "choose another name")
        check_place(page)
