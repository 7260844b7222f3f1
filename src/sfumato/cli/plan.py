"""`sfumato plan`: decide what to ask, how often, about which items. Subcommands answer single planning questions."""

from __future__ import annotations

from typing import Any

import click

from sfumato.cli.lazy_group import LazyGroup
from sfumato.cli.options import PATH, NameList
from sfumato.tables.errors import BadSetting

QUESTIONS = {
    "labels": ("sfumato.cli.plan_labels", "Compare kinds of label by what they recover and what they cost."),
    "annotators": ("sfumato.cli.plan_annotators", "Compute how many answers per item are needed."),
    "items": ("sfumato.cli.plan_items", "Select items that need more answers or a richer form."),
    "models": ("sfumato.cli.plan_models", "Compute how many items and answers tell two models apart."),
    "rehearse": ("sfumato.cli.plan_rehearse", "Try a plan with simulated annotators."),
    "replay": ("sfumato.cli.plan_replay", "Replay assignment policies on recorded answers."),
}


@click.command(
    cls=LazyGroup,
    members=QUESTIONS,
    heading="Commands",
    prefix="plan ",
    invoke_without_command=True,
    subcommand_metavar="[COMMAND ...]",
)
@click.option("--pilot", type=PATH, help="Answers so far: Annotations, Beliefs, Counts or SoftLabels.")
@click.option("--study", type=PATH, help="A study: its items, classes, kind and pay; answers in its store are a pilot.")
@click.option("--store", help="The study's store, if not the default.")
@click.option("--prior", metavar="PRIOR", help="Without a pilot: uniform, or dirichlet:0.5,... (one number per class).")
@click.option("--classes", type=NameList(), metavar="NAMES", help="The classes, for a prior: cat,dog,... or how many.")
@click.option("--items", "n_items", type=int, help="Number of items to label.  [default: the study's, pilot's]")
@click.option("--goal", default="distribution", show_default=True, help="distribution, class, geometry or calibration.")
@click.option("--budget", metavar="AMOUNT", help="Budget: 500 (money), or '5000 answers'.")
@click.option("--threshold", "--target", "threshold", type=float, help="Mean error that is small enough.")
@click.option("--share", type=float, help="Share of items to end within the threshold, instead of their mean.")
@click.option("--probability", type=float, default=0.95, show_default=True, help="Probability to reach the threshold.")
@click.option(
    "--kinds", type=NameList(), metavar="KINDS", help="Kinds of question to compare.  [default: the study's, all]"
)
@click.option("--seconds", multiple=True, metavar="KIND=S", help="Mean seconds per answer, instead of known values.")
@click.option("--votes", multiple=True, metavar="KIND=V", help="Plain votes per answer, instead of known values.")
@click.option("--rates", type=PATH, help="Votes per answer of other kinds: from sfumato plan labels --rates.")
@click.option("--wage", type=float, help="Pay per hour.  [default: the study's, 12]")
@click.option("--fee", type=float, help="Platform fee as a share of the pay.  [default: a third]")
@click.option("--overhead", type=float, help="Paid time divided by answering time.  [default: 1.29]")
@click.option("--currency", help="Currency of all amounts.  [default: the study's, USD]")
@click.option("--most", type=int, default=100, show_default=True, help="Maximum answers per item.")
@click.option("--adaptive/--no-adaptive", default=True, help="Whether to consider adaptive assignment.")
@click.option("--items-file", type=PATH, help="Items for the richer form: from sfumato plan items.")
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option("-o", "--output", type=PATH, help="Write the plan: .json.")
@click.option("--page", type=PATH, help="Write the plan as a page: .html.")
@click.pass_context
def command(context: click.Context, /, **settings: Any) -> None:
    """Decide what to ask, how often, about which items; or answer one planning question.

    \b
    sfumato plan --pilot answers.parquet --budget 500 -o plan.json
    sfumato plan --study study.toml --threshold 0.05 --page plan.html

    The best plan for the budget, or the cheapest one that reaches the threshold, with alternatives and what would
    change the decision. The commands below have their own options.
    """
    typed = click.core.ParameterSource.COMMANDLINE
    given = [name for name in settings if context.get_parameter_source(name) is typed]
    if context.invoked_subcommand is not None and given:
        # They would be ignored.
        found = f"--{given[0].replace('_', '-')} before the command {context.invoked_subcommand}"
        fix = f"see sfumato plan {context.invoked_subcommand} --help"
        raise BadSetting(found, "options after the command", fix, "usage")
    if context.invoked_subcommand is not None:
        return
    if not given:
        click.echo(context.get_help())
    else:
        from sfumato.cli.plan_decision import run

        run(context, **settings)
