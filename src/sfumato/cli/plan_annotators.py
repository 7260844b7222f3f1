"""`sfumato plan annotators`: how many answers each item needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.options import PATH, check_one_given, check_outputs, seeded
from sfumato.cli.output import bar, counted, number, progress_bar, write_table
from sfumato.cli.plan_options import parse_prior, read_answers, threshold_of
from sfumato.tables.errors import BadSetting

if TYPE_CHECKING:
    from sfumato.aggregation.dirichlet_mixture import DirichletMixture
    from sfumato.planning.answers_per_item import AnnotatorPlan, TradeOff
    from sfumato.planning.costs import CostModel
    from sfumato.planning.pilot_answers import Pilot

SHOWN = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
BAR = 20


@click.command("annotators")
@click.option("--pilot", type=PATH, help="Answers so far: Annotations, Beliefs, Counts or SoftLabels.")
@click.option("--prior", metavar="PRIOR", help="Without a pilot: uniform, or dirichlet:0.5,... (one number per class).")
@click.option("--classes", "n_classes", type=int, default=0, help="Number of classes, for a prior with one number.")
@click.option("--measure", default="tv", show_default=True, metavar="NAME", help="tv, l2 (squared), or kl (bayes).")
@click.option("--threshold", "--target", "threshold", type=float, help="Error that is small enough.")
@click.option("--share", type=float, help="Share of items to end within the threshold, instead of their mean.")
@click.option("--probability", type=float, default=0.95, show_default=True, help="Probability to reach the threshold.")
@click.option("--most", type=int, default=100, show_default=True, help="Maximum answers per item.")
@click.option("--budget", type=float, help="Compare items with answers per item: in answers, or in money with a price.")
@click.option("--seconds-per-answer", "seconds", type=float, help="Mean seconds per answer, for the price.")
@click.option("--wage", type=float, help="Pay per hour, for the price.")
@click.option("--items", "n_items", type=int, help="Number of items to label.  [default: the pilot's]")
@click.option("--resamples", type=int, default=24, show_default=True, help="Simulated pilots, for the intervals.")
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option("-o", "--output", type=PATH, help="Write the curve: .csv or .parquet.")
def command(
    pilot: Path | None,
    prior: str | None,
    n_classes: int,
    measure: str,
    threshold: float | None,
    share: float | None,
    probability: float,
    most: int,
    budget: float | None,
    seconds: float | None,
    wage: float | None,
    n_items: int | None,
    resamples: int,
    seed: int,
    output: Path | None,
) -> None:
    """Compute how many answers each item needs, from a pilot or an assumed prior.

    \b
    tv  total variation between the shares of the answers and the item's distribution
    l2  the same as a squared distance
    kl  KL divergence of `bayes` labels, which use the answers of all items

    With --budget also compare many items with many answers per item for the same money.
    """
    from sfumato.planning.answers_per_item import plan_answers_per_item, trade_off
    from sfumato.planning.pilot_answers import Pilot
    from sfumato.planning.precision import measure_from_name

    rng = seeded(seed)
    check_outputs(pilot, output=output)
    by = measure_from_name(measure)
    wanted = threshold_of(threshold, share, probability)
    costs = _costs(seconds, wage)
    source = _source(pilot, prior, n_classes)
    bought = None
    if budget is not None:
        bought = trade_off(source, budget, costs=costs, measure=by, rng=seeded(seed))
    with progress_bar() as progress:
        plan = plan_answers_per_item(
            source, measure=by, threshold=wanted, most=most, n_items=n_items, n_pilots=resamples, rng=rng,
            progress=progress,
        )  # fmt: skip
    write_table(plan, output, f"the curve at 1 to {len(plan):,} answers per item")
    if isinstance(source, Pilot):
        each = f"{source.answers_per_item:.3g} answers each"
        click.echo(f"from a pilot of {counted(source.n_items, 'item')} with {each}")
    else:
        click.echo(f"from an assumed prior over {source.alpha.shape[1]} classes: nothing here was measured")
    _show_curve(plan, costs)
    plan.check_reached()
    _show_answer(plan)
    if bought is not None:
        _show_trade_off(bought, plan, budget or 0, costs)


def _costs(seconds: float | None, wage: float | None) -> CostModel | None:
    from sfumato.planning.costs import CostModel

    if seconds is None and wage is None:
        return None
    if seconds is None or wage is None:
        missing = "--wage" if wage is None else "--seconds-per-answer"
        raise BadSetting(f"no {missing}", "both --seconds-per-answer and --wage, or neither", f"add {missing}")
    return CostModel.plain(seconds, wage)


def _source(pilot: Path | None, prior: str | None, n_classes: int) -> Pilot | DirichletMixture:
    """What the plan is based on; the columns of a file determine which table it is."""
    from sfumato.planning.pilot_answers import Pilot, dirichlet

    check_one_given("give a pilot if you have one", pilot=pilot, prior=prior)
    if pilot is not None:
        return Pilot.of(read_answers(pilot))
    assert prior is not None
    alpha = parse_prior(prior)
    if len(alpha) == 1 and not n_classes:
        raise BadSetting(f"--prior {prior} without a number of classes", "the number of classes", "add --classes")
    return dirichlet(alpha, n_classes)


def _show_curve(plan: AnnotatorPlan, costs: CostModel | None) -> None:
    of_share = plan.threshold is not None and plan.threshold.share is not None
    title = f"items within {plan.threshold.error:g}" if of_share and plan.threshold else f"mean {plan.measure.title}"
    has_interval = len(plan.resampled) > 0
    head = f"{'answers':>7}  {title:>21}" + (f"  {'95% interval':^16}" if has_interval else "")
    head += f"  {'chance':>6}" if plan.threshold and has_interval else ""
    click.echo(f"{head}  {'per item':>8}" if costs else head)
    marked = {m for m in (plan.needed, plan.as_it_stands) if m is not None}
    scale = 1.0 if of_share else float(plan.value.max()) or 1.0
    for m in sorted({m for m in SHOWN if m <= len(plan)} | marked | {len(plan)}):
        i = m - 1
        between = f"  {_figure(plan.low[i], of_share):>6} to {_figure(plan.high[i], of_share):<6}"
        line = f"{m:>7}  {_figure(plan.value[i], of_share):>21}" + (between if has_interval else "")
        line += f"  {plan.chance[i]:>6.0%}" if plan.threshold and has_interval else ""
        line += f"  {costs.money('choice', i + 1):>8.3f}" if costs else ""
        drawn = bar([(plan.value[i] / scale, "█")], BAR)
        click.echo(f"{line}  {drawn} {'<- enough' if m == plan.needed else ''}".rstrip())


def _show_answer(plan: AnnotatorPlan) -> None:
    """The result in a sentence, other numbers of answers, and what would change it."""
    threshold, needed = plan.threshold, plan.needed
    if threshold is None or needed is None:
        click.echo("give --threshold to see how many answers reach it")
        return
    what = (
        f"a mean {plan.measure.title} of at most {threshold.error:g}"
        if threshold.share is None
        else f"{100 * threshold.share:g}% of items within a {plan.measure.title} of {threshold.error:g}"
    )
    sure = f" with probability {threshold.probability:g}" if len(plan.resampled) else ""
    click.echo(f"\n{counted(needed, 'answer')} per item: {what}{sure}.")
    of_share = threshold.share is not None
    for m in (needed - 1, max(needed // 2, 1), needed * 2):
        if 0 < m <= len(plan) and m != needed:
            reach = f", reached with probability {plan.chance[m - 1]:.2f}" if len(plan.resampled) else ""
            click.echo(f"  - {m} would give {_figure(plan.value[m - 1], of_share).strip()}{reach}")
    click.echo("what would change it:")
    if len(plan.resampled):
        low, high = plan.between
        upper = f"more than {len(plan)}" if high is None else str(high)
        moves = f"{low} to {upper}" if high != low else f"also {low}"
        click.echo(f"  - other items in the pilot: {moves} answers in 90% of cases")
    else:
        click.echo("  - a pilot: under another prior the number may be several times larger or smaller")
    if plan.measure.uses_prior:
        click.echo("  - another aggregator: only `bayes` uses the answers of all items")
    else:
        click.echo("  - the aggregator: these are plain shares; for `bayes` use --measure kl")


def _show_trade_off(table: TradeOff, plan: AnnotatorPlan, budget: float, costs: CostModel | None) -> None:
    unit = "answers" if costs is None else f"at {costs.money('choice'):.4g} per answer"
    click.echo(f"\nerrors with a budget of {budget:,g} {unit} (* smallest)")
    of_item = f"item ({plan.measure.name})"
    click.echo(f"{'answers':>7}  {'items':>10}  {'class shares':>13}  {'disagreement':>13}  {of_item:>13}")
    for i, m in enumerate(table.n_answers.tolist()):
        cells = [
            number(getattr(table, goal)[i], 4) + ("*" if m == table.best(goal) else " ")
            for goal in ("class_shares", "disagreement", "item")
        ]
        click.echo(f"{m:>7}  {table.n_items[i]:>10,}  " + "  ".join(f"{cell:>13}" for cell in cells))
    click.echo("class shares: mean label of all items; disagreement: probability that two people differ")


def _figure(value: float, is_share: bool) -> str:
    return f"{100 * value:.1f}%" if is_share else f"{value:.4f}"
