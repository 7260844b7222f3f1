"""`sfumato plan items --screening`: which items to top up after annotators were excluded."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.checked_study import checked_study
from sfumato.cli.options import check_outputs
from sfumato.cli.output import counted, printable, say, write_table
from sfumato.cli.plan_options import PlanSource, costs_of, read_answers, stored_answers
from sfumato.tables.errors import BadSetting, BadTable, show

if TYPE_CHECKING:
    from sfumato.planning.top_up import TopUp

SHOWN = 10


def show_top_up(
    answers: Path | None,
    study: Path | None,
    store: str | None,
    screening: Path,
    wanted: int | None,
    seconds: tuple[str, ...],
    output: Path,
) -> None:
    """Plan what to ask for again, write the table, and print the answer."""
    from sfumato.labeling.screening import read_excluded
    from sfumato.planning.pilot_answers import dirichlet
    from sfumato.planning.top_up import plan_top_up
    from sfumato.tables.annotations import Annotations

    check_outputs(answers or screening, output=output)
    excluded = read_excluded(screening)
    checked = None if study is None else checked_study(study)
    if checked is not None:
        known = stored_answers(checked, store)
        if known is None:
            raise BadSetting("a study without answers", "answers to screen", "serve the study first (sfumato serve)")
        special = checked.study.special_items
        items = [item for item in dict.fromkeys(each.item for each in checked.stimuli) if item not in special]
        wanted = wanted or checked.study.people.answers_per_item
    else:
        assert answers is not None
        known, items = read_answers(answers), None
    if not isinstance(known, Annotations):
        fix = "give the file that sfumato export wrote"
        raise BadTable(f"a table of {show(type(known).__name__)}", "answers with annotators (Annotations)", fix)
    if wanted is None:
        raise BadSetting(
            "--screening without --answers-per-item", "answers wanted per item", "add --answers-per-item 5"
        )
    # Only the prices of a plan's source are used.
    costs, notes = costs_of(PlanSource(dirichlet([1.0], 2), (), answers=known), checked, seconds=seconds)
    found = plan_top_up(known, excluded, wanted, costs=costs, items=items)
    write_table(found, output, f"{counted(len(found), 'item')} to top up")
    for note in notes:
        say(note, "  - ")
    _show(found)
    if len(found) and study is not None:
        command = shlex.join(["sfumato", "study", "reopen", str(study), "--screening", str(screening)])
        say(f"Reopen these items: {command}")


def _show(found: TopUp) -> None:
    without = f"Without {counted(len(found.excluded), 'excluded annotator')}"
    if not len(found):
        say(
            f"{without}, all {found.n_items:,} items have {counted(found.wanted, 'answer')} or more: nothing to top up."
        )
        return
    are = "item has" if len(found) == 1 else "items have"
    say(
        f"{without}, {len(found):,} of {found.n_items:,} {are} fewer than {counted(found.wanted, 'answer')}: ask for "
        f"{counted(found.n_answers, 'answer')} again, from {found.n_people:,} new "
        f"{'people' if found.n_people != 1 else 'person'} (at most {found.batch_size} items each), "
        f"for about {found.money:,.2f} {found.currency}."
    )
    if found.n_by_kept:
        say(f"Annotators who were kept could give {found.n_by_kept:,} of them, about items that are new to them.")
    order = sorted(range(len(found)), key=lambda i: -int(found.missing[i]))[:SHOWN]
    width = max([len(printable(found.items[i], 24)) for i in order] + [4])
    click.echo(f"\n{'item':<{width}}  answers left   excluded  missing")
    for i in order:
        left, aside, missing = found.answers[i], found.set_aside[i], found.missing[i]
        click.echo(f"{printable(found.items[i], 24):<{width}}  {left:>12}  {aside:>9}  {missing:>7}")
    if len(found) > SHOWN:
        click.echo(f"... and {len(found) - SHOWN:,} more")
