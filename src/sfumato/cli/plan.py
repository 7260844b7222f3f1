"""`sfumato plan`: what to ask, of how many, about which items. With options it decides; one file a question."""

from __future__ import annotations

from typing import Any

import click

from sfumato.cli.lazy_group import LazyGroup
from sfumato.cli.options import PATH, NameList

QUESTIONS = {
    "compare": ("sfumato.cli.plan_compare", "Compare question types by information per cost."),
    "annotators": ("sfumato.cli.plan_annotators", "Compute how many answers per item are needed."),
    "items": ("sfumato.cli.plan_items", "Select items that need more answers or a richer form."),
    "rehearse": ("sfumato.cli.plan_rehearse", "Try a plan with simulated annotators."),
    "replay": ("sfumato.cli.plan_replay", "Replay assignment policies on recorded answers."),
    "simulate": ("sfumato.cli.plan_simulate", "Simulate what labels of each type reveal about item similarity."),
}


@click.command(
    cls=LazyGroup,
    members=QUESTIONS,
    heading="Commands",
    prefix="plan ",
    invoke_without_command=True,
    subcommand_metavar="[COMMAND ...]",
)
@click.option("--pilot", type=PATH, help="What was said already: Annotations, Beliefs, or SoftLabels with counts.")
@click.option("--study", type=PATH, help="A study: its items, classes, kind and pay; answers in its store are a pilot.")
@click.option("--store", help="Where the study's answers are, if not beside it.")
@click.option("--prior", metavar="PRIOR", help="Without a pilot: uniform, or dirichlet:0.5,... (one number a class).")
@click.option("--classes", type=NameList(), metavar="NAMES", help="The classes, for a prior: cat,dog,... or how many.")
@click.option(
    "--items", "n_items", type=int, help="How many items are to be labelled.  [default: the study's, pilot's]"
)
@click.option("--goal", default="distribution", show_default=True, help="distribution, class, geometry or calibration.")
@click.option("--budget", metavar="AMOUNT", help="What there is to spend: 500 (money), or '5000 answers'.")
@click.option("--target", type=float, help="The error that is small enough, on average over items.")
@click.option("--share", type=float, help="The share of items to end within the target, in place of their mean.")
@click.option("--probability", type=float, default=0.95, show_default=True, help="How sure to be of the target.")
@click.option(
    "--kinds", type=NameList(), metavar="KINDS", help="Kinds of question to weigh.  [default: the study's, all]"
)
@click.option("--seconds", multiple=True, metavar="KIND=S", help="Mean seconds of an answer, in place of those known.")
@click.option(
    "--votes", multiple=True, metavar="KIND=V", help="Plain votes an answer is worth, in place of those known."
)
@click.option("--rates", type=PATH, help="What answers of other kinds are worth: from sfumato plan compare --rates.")
@click.option("--wage", type=float, help="Pay an hour.  [default: the study's, 12]")
@click.option("--fee", type=float, help="What the platform takes, as a share of the pay.  [default: a third]")
@click.option("--overhead", type=float, help="Paid time over the time of the answers.  [default: 1.29]")
@click.option("--currency", help="The currency of all of it.  [default: the study's, USD]")
@click.option("--most", type=int, default=100, show_default=True, help="How many answers an item at most.")
@click.option("--adaptive/--no-adaptive", default=True, help="Whether to look at asking by what was answered.")
@click.option("--items-file", type=PATH, help="Which items to ask about with the richer form: from sfumato plan items.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the draws.")
@click.option("-o", "--output", type=PATH, help="Write the plan: .json.")
@click.option("--page", type=PATH, help="Write a page to decide from: .html.")
@click.pass_context
def command(context: click.Context, /, **settings: Any) -> None:
    """Decide what to ask, of how many, about which items; or answer one question about it.

    \b
    sfumato plan --pilot answers.parquet --budget 500 -o plan.json
    sfumato plan --study study.toml --target 0.05 --page plan.html

    What the budget buys for the goal, or the cheapest that reaches the target, with what came close and what would
    change it. A question (see below) has options of its own.
    """
    given = [name for name in settings if _is_given(context, name)]
    if context.invoked_subcommand is not None:
        _refuse_options(context, given)
    elif not given:
        click.echo(context.get_help())
    else:
        from sfumato.cli.plan_decide import run

        run(context, **settings)


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _refuse_options(context: click.Context, given: list[str]) -> None:
    """An option before a question would be lost in silence."""
    if not given:
        return
    from sfumato.tables.errors import BadSetting

    raise BadSetting(
        f"found --{given[0].replace('_', '-')} before the question {context.invoked_subcommand}",
        expected="options of a question behind it",
        fix=f"see sfumato plan {context.invoked_subcommand} --help",
        code="usage",
    )
