"""`sfumato plan` with options: decide, write the plan, and print the decision with its reasons."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.checked_study import checked_study
from sfumato.cli.options import seeded, typed_command
from sfumato.cli.output import progress_bar, say_written, write_table
from sfumato.cli.plan_options import budget_of, costs_of, deeper_items_of, pairs, read_source, threshold_of
from sfumato.planning.goals import goal_named
from sfumato.planning.plan_text import plan_lines
from sfumato.tables.errors import BadSetting

if TYPE_CHECKING:
    pass


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
    click.echo("\n".join(plan_lines(plan, notes)))


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
