"""`sfumato plan rehearse`: test a plan with simulated people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.checked_study import checked_study, truth_of
from sfumato.cli.options import PATH, check_not_negative, check_one_given, seeded
from sfumato.cli.plan_options import pilot_of
from sfumato.tables.errors import BadSetting, listing

if TYPE_CHECKING:
    import numpy as np

    from sfumato.planning.plan_file import Plan
    from sfumato.planning.rehearsal import Crowd


@click.command("rehearse")
@click.argument("plan", type=PATH)
@click.option("--study", type=PATH, help="The study: simulated people answer its form.")
@click.option("--truth", type=PATH, help="With --study: SoftLabels of its items.  [default: simulated]")
@click.option("--pilot", type=PATH, help="Without a study: items like the pilot's, and people who answer alike.")
@click.option("--annotators", type=int, help="Number of people.  [default: 1.5 times the plan's]")
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
def command(
    plan: Path, study: Path | None, truth: Path | None, pilot: Path | None, annotators: int | None, seed: int
) -> None:
    """Let simulated people answer PLAN, and compare the result with the expected error and cost.

    Runs in memory: nothing is stored, and no server is needed. With --pilot people are as the plan assumes; with
    --study they differ in skill, attention and bias, and their answers are labeled like real ones.
    """
    from sfumato.planning.plan_file import Plan as PlanFile
    from sfumato.planning.rehearsal import rehearse

    rng = seeded(seed)
    check_not_negative("annotators", annotators or 0)
    check_one_given(study=study, pilot=pilot)
    if truth is not None and study is None:
        raise BadSetting("--truth without --study", "the study of these items", "add --study")
    wanted = PlanFile.read(plan)
    # A stopping rule may need more people than expected: half as many more are available.
    n_people = annotators if annotators is not None else wanted.cost.people + wanted.cost.people // 2 + 1
    crowd = _like_pilot(wanted, pilot, n_people, rng) if pilot else _of_study(wanted, study, truth, n_people, rng)
    batch_size = max(-(-wanted.cost.answers // wanted.cost.people), 1)
    done = rehearse(wanted, crowd, n_items=wanted.n_items, batch_size=batch_size, rng=rng)
    between = "" if wanted.expected.low is None else f" ({wanted.expected.low:.3g} to {wanted.expected.high:.3g})"
    low, high = max(done.value - 1.96 * done.spread, 0.0), done.value + 1.96 * done.spread
    found = f"{done.value:.4g} ({low:.3g} to {high:.3g})"
    rows = [
        ("", "planned", "rehearsed"),
        (f"error ({wanted.expected.measure})", f"{wanted.expected.value:.4g}{between}", found),
        ("answers", f"{wanted.cost.answers:,}", f"{done.answers:,}"),
        (f"cost ({wanted.cost.currency})", f"{wanted.cost.money:,.2f}", f"{done.money:,.2f}"),
        ("paid hours", f"{wanted.cost.hours:,.1f}", f"{done.hours:,.1f}"),
        ("people", f"{wanted.cost.people:,}", f"{done.people:,}"),
    ]
    for name, planned, rehearsed in rows:
        click.echo(f"{name:<24}  {planned:>28}  {rehearsed:>28}")
    click.echo(f"finished items: {done.finished:.1%}; error measured on {done.n_scored:,} items")
    if study is not None:
        click.echo(f"simulated time: {done.seconds:.1f} s per answer; cost and hours use the plan's seconds")
    click.echo(f"result: {done.verdict(wanted)}")


def _like_pilot(plan: Plan, pilot: Path, n_people: int, rng: np.random.Generator) -> Crowd:
    from sfumato.planning.item_prior import Population
    from sfumato.planning.rehearsal import DrawnCrowd

    source = pilot_of(pilot)
    _check_classes(plan, source.classes)
    columns = [source.classes.index(name) for name in plan.classes]
    probs = Population.of(source.of, plan.n_items, rng).probs[:, columns]
    return DrawnCrowd(probs[rng.permutation(len(probs))[: plan.n_items]], n_people, plan.question.seconds)


def _of_study(plan: Plan, study: Path | None, truth: Path | None, n_people: int, rng: np.random.Generator) -> Crowd:
    from sfumato.elicitation.simulated_annotator import drawn_annotators
    from sfumato.planning.rehearsal import JUDGES, SimulatedCrowd

    assert study is not None
    checked = checked_study(study)
    asked = checked.study
    _check_classes(plan, asked.class_names)
    there = [item for item in checked.items if plan.items == "all" or item.id in set(plan.items)]
    if len(there) < plan.n_items:
        found, fix = f"{len(there):,} items of the plan in the study", "give the study that the plan was made for"
        raise BadSetting(found, f"all {plan.n_items:,} items of the plan", fix)
    items = there[: plan.n_items]
    known = truth_of(truth, asked, items)
    people = drawn_annotators(n_people + JUDGES, len(asked.classes), rng)
    return SimulatedCrowd(
        asked, tuple(item.id for item in items), known, tuple(people[:n_people]), tuple(people[n_people:])
    )


def _check_classes(plan: Plan, classes: tuple[str, ...]) -> None:
    if sorted(plan.classes) != sorted(classes):
        found = f"a plan over the classes {listing(plan.classes)}"
        expected = f"the classes of the study or pilot: {listing(classes)}"
        raise BadSetting(found, expected, "give the study or the pilot that the plan was made for")
