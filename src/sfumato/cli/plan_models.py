"""`sfumato plan models`: how many items and answers per item are needed to tell two models apart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.evaluate_options import models_from_text
from sfumato.cli.options import PATH, NameList, check_outputs
from sfumato.cli.output import bar, counted, say, write_table
from sfumato.cli.plan_options import budget_of, costs_of_answers
from sfumato.tables.errors import BadSetting

if TYPE_CHECKING:
    from sfumato.planning.model_power import ModelDifference, ModelPlan

BAR = 20


@click.command("models")
@click.option("--pilot", type=PATH, help="People's votes about pilot items: single answers, counts, or labels.")
@click.option("--predicted", multiple=True, metavar="NAME=FILE", help="Predictions of a model on these items; twice.")
@click.option("--metric", default="cross_entropy", show_default=True, help="A metric of sfumato evaluate.")
@click.option("--power", type=float, default=0.8, show_default=True, help="Wanted probability of a verdict.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence level of the verdict.")
@click.option("--answers", type=NameList(), default="1,2,3,5,10,20", show_default=True, help="Answers per item.")
@click.option("--budget", metavar="AMOUNT", help="Compare them at equal cost: 500 (money), or '5000 answers'.")
@click.option("--items", "most_items", type=int, help="Number of items that can be labeled at most.")
@click.option("--difference", type=float, help="Without a pilot: the difference to find.")
@click.option("--item-sd", type=float, help="Without a pilot: its standard deviation between items.")
@click.option("--answer-sd", type=float, help="Without a pilot: between answers about an item.  [default: 0]")
@click.option("--seconds", type=float, help="Mean seconds per answer, for a budget in money.")
@click.option("--wage", type=float, help="Pay per hour, for a budget in money.  [default: 12]")
@click.option("-o", "--output", type=PATH, help="Write the power curves: .csv or .parquet.")
def command(
    pilot: Path | None,
    predicted: tuple[str, ...],
    metric: str,
    power: float,
    level: float,
    answers: tuple[str, ...],
    budget: str | None,
    most_items: int | None,
    output: Path | None,
    seconds: float | None,
    wage: float | None,
    **stated: Any,
) -> None:
    """Compute how many items and answers are needed to tell two models apart.

    \b
    sfumato plan models --pilot votes.csv --predicted a=a.csv --predicted b=b.csv
    sfumato plan models --difference 0.02 --item-sd 0.3 --answer-sd 0.4

    The verdict is that of sfumato evaluate: over items, and over people if the pilot has annotators.
    """
    from sfumato.planning.model_power import plan_models

    sizes = _sizes(answers)
    check_outputs(pilot, output=output)
    costs = costs_of_answers(seconds, wage)
    wanted = budget_of(budget, costs.currency)
    n_bought = None
    if wanted is not None:
        n_bought = int(wanted.amount) if wanted.unit == "answers" else costs.affordable("choice", wanted.amount)
    difference = _difference(pilot, predicted, metric, **stated)
    plan = plan_models(difference, power=power, level=level, n_answers=sizes, budget=n_bought, most_items=most_items)
    write_table(plan, output, f"power at {counted(len(plan), 'combination')} of items and answers")
    _show_difference(difference)
    _show(plan, most_items)


def _difference(
    pilot: Path | None,
    predicted: tuple[str, ...],
    name: str,
    *,
    difference: float | None,
    item_sd: float | None,
    answer_sd: float | None,
) -> ModelDifference:
    from sfumato.evaluation.metric_scores import metric_from_name
    from sfumato.importers.prediction_file import FileOptions, read_predictions
    from sfumato.labeling.people_labels import people_labels
    from sfumato.planning.model_power import pilot_difference, stated_difference

    metric = metric_from_name(name)
    if (pilot is None) == (difference is None):
        found = "neither a pilot nor a difference" if pilot is None else "both --pilot and --difference"
        fix = "give --pilot with --predicted twice, or --difference with --item-sd"
        raise BadSetting(found, "people's votes and two models' predictions, or a stated difference", fix)
    if pilot is None:
        assert difference is not None
        if item_sd is None:
            raise BadSetting("--difference without --item-sd", "its standard deviation between items", "add --item-sd")
        return stated_difference(metric.name, difference, item_sd=item_sd, answer_sd=answer_sd or 0.0)
    people = people_labels(pilot)
    known = FileOptions(known=people.classes)
    models = {model: read_predictions(path, known) for model, path in models_from_text(predicted).items()}
    return pilot_difference(people, models, metric)


def _sizes(answers: tuple[str, ...]) -> list[int]:
    try:
        return sorted({int(each) for each in answers})
    except ValueError:
        raise BadSetting(f"--answers {','.join(answers)}", "whole numbers: 1,3,5", "correct --answers") from None


def _show_difference(found: ModelDifference) -> None:
    if not found.n_items:
        click.echo("from a stated difference: nothing here was measured\n")
        return
    mean, _ = found.mean_and_sd(max(round(found.n_answers), 1))
    half = 1.96 * found.error
    people = f", people differ by {found.person_sd:.3g}" if found.person_sd else ""
    each = f"{found.n_answers:.3g} answers each"
    click.echo(f"from a pilot of {counted(found.n_items, 'item')} with {each}{people}")
    say(
        f"{found.metric} of {found.one} minus {found.other}: {mean:.4g} (95% CI {mean - half:.4g} to {mean + half:.4g})"
    )
    if abs(mean) < half:
        say("The pilot's difference may be 0, so these numbers are uncertain: see the interval of the power.", "  - ")
    click.echo()


def _show(plan: ModelPlan, most_items: int | None) -> None:
    cheapest = plan.cheapest
    if cheapest is None:
        limit = f"{most_items:,} items" if most_items else "ten million items"
        say(f"Not even {limit} find the difference with probability {plan.wanted:g}.")
    else:
        verdict = "To find" if plan.difference.n_items else "To find such"
        say(
            f"{verdict} a difference of {abs(cheapest.difference):.3g} in {plan.difference.metric} with probability "
            f"{plan.wanted:g}: {counted(cheapest.n_items, 'item')} with {counted(cheapest.n_answers, 'answer')} each, "
            f"{cheapest.answers:,} answers in total."
        )
        click.echo(f"\n{'answers':>7}  {'items':>10}  {'in total':>12}  power, 90% interval given the pilot")
        for cell in plan.needed:
            mark = "  <- fewest answers" if cell is cheapest else ""
            click.echo(f"{cell.n_answers:>7}  {cell.n_items:>10,}  {cell.answers:>12,}  {_interval(cell)}{mark}")
    if plan.at_budget:
        best = plan.best_at_budget
        click.echo(f"\nat equal budget, about {max(cell.answers for cell in plan.at_budget):,} answers:")
        click.echo(f"{'answers':>7}  {'items':>10}  power")
        for cell in plan.at_budget:
            drawn = bar([(cell.power, "█")], BAR)
            mark = "  <- best" if cell is best else ""
            click.echo(f"{cell.n_answers:>7}  {cell.n_items:>10,}  {_interval(cell):<20}  {drawn}{mark}".rstrip())
    far = [cell.n_answers for cell in plan.needed if cell.n_answers > 2 * plan.difference.n_answers]
    if far:
        say(f"More than {2 * plan.difference.n_answers:.3g} answers per item are extrapolated from the pilot.", "  - ")


def _interval(cell: Any) -> str:
    return f"{cell.power:.2f}" if cell.low == cell.high else f"{cell.power:.2f} ({cell.low:.2f} to {cell.high:.2f})"
