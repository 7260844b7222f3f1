"""`sfumato plan compare`: which kind of label is worth its price."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import PATH, NameList, check_not_negative, check_outputs, refuse_empty
from sfumato.cli.output import drawing, say_written
from sfumato.cli.plan_options import bad, read_answers
from sfumato.planning.goals import goal_named, utility_named
from sfumato.tables.settings import above_0

if TYPE_CHECKING:
    from sfumato.planning.costs import CostModel
    from sfumato.planning.label_quality import Similarities
    from sfumato.planning.pilot_evidence import PilotEvidence, Votes
    from sfumato.tables.annotations import Annotations

USUAL_KINDS = ("choice", "top_two", "plausible", "tokens", "sliders")
USUAL_ITEMS, USUAL_CLASSES = 1000, 10


@click.command("compare")
@click.option("--pilot", "pilots", type=PATH, multiple=True, help="Annotations of one kind or more; may be repeated.")
@click.option(
    "--votes", type=PATH, help="Hard votes on the same items: SoftLabels with counts, Beliefs or Annotations."
)
@click.option("--similarities", type=PATH, help="Similarity judgments of the items: Annotations.")
@click.option("--truth", type=PATH, help="The true class of each item: SoftLabels.  [default: the most frequent]")
@click.option(
    "--runs", type=PATH, help="Models trained on few labels, for calibration: kind, n_answers, value[, seed]."
)
@click.option("--goal", default="distribution", show_default=True, metavar="GOAL", help="What the labels are for.")
@click.option("--items", "n_items", type=int, help="Number of items to label.  [default: the pilot's, 1,000]")
@click.option("--classes", "n_classes", type=int, help="Number of classes.  [default: the pilot's, 10]")
@click.option("--kinds", type=NameList(), help="The kinds to compare: choice,top_two,...")
@click.option("--budget", type=float, help="Money for all answers.  [default: one answer of the dearest kind per item]")
@click.option("--wage", type=float, help="Pay per hour.  [default: 12]")
@click.option("--fee", type=float, help="Platform fee as a share of the pay.  [default: a third]")
@click.option("--overhead", type=float, help="Paid time divided by answering time.  [default: 1.29]")
@click.option("--seconds", type=NameList(), metavar="KIND=S,...", help="Mean seconds per answer, by kind.")
@click.option("--utility", default="linear", show_default=True, metavar="NAME", help="linear, sigmoid or logit.")
@click.option("--beta", type=float, default=0.02, show_default=True, help="Weight of the cost against the utility.")
@click.option("--noise", type=float, default=1.0, show_default=True, help="Noise in simulations, in spreads.")
@click.option("--rates", "rates_output", type=PATH, help="Write the votes per answer, for sfumato plan --rates.")
@click.option("--map", "map_output", type=PATH, help="Simulate other numbers of items and classes, and write the map.")
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option("-o", "--output", type=PATH, help="Write the comparison: .csv or .parquet.")
def command(
    pilots: tuple[Path, ...],
    votes: Path | None,
    similarities: Path | None,
    truth: Path | None,
    runs: Path | None,
    goal: str,
    n_items: int | None,
    n_classes: int | None,
    kinds: tuple[str, ...] | None,
    budget: float | None,
    wage: float | None,
    fee: float | None,
    overhead: float | None,
    seconds: tuple[str, ...] | None,
    utility: str,
    beta: float,
    noise: float,
    rates_output: Path | None,
    map_output: Path | None,
    seed: int,
    output: Path | None,
) -> None:
    """Compare kinds of label by value and price, per goal, at equal items and at equal budget.

    \b
    distribution  how people judge each item
    class         the true class of each item, or the most frequent
    geometry      which items are similar
    calibration   how well a model trained on the labels is calibrated

    Without a pilot it uses published values, formulas and simulations, and says so.
    """
    import numpy as np

    from sfumato.cli.plan_compare_output import show_comparison, show_evidence, show_map
    from sfumato.planning.exchange_rates import ExchangeRates
    from sfumato.planning.label_comparison import check_size, compare, value_map
    from sfumato.planning.learning_curve import exchange_from_runs
    from sfumato.planning.pilot_evidence import PilotEvidence, evidence_of
    from sfumato.tables.soft_labels import SoftLabels

    check_not_negative("seed", seed)
    check_outputs(pilots[0] if pilots else Path(), output=output, rates=rates_output, map=map_output)
    wanted, valued = goal_named(goal), utility_named(utility)
    given = _seconds(seconds)
    costs = _costs(wage, fee, overhead)
    for kind in (*(kinds or ()), *given):
        costs.time(kind)
    rng = np.random.default_rng(seed)
    evidence = PilotEvidence()
    if pilots:
        evidence = evidence_of(
            [_annotations(path) for path in pilots],
            votes=_votes(votes),
            similarities=_similarities(similarities),
            truth=None if truth is None else SoftLabels.read(truth),
            timed=tuple(given),
            rng=rng,
        )
    elif votes or similarities or truth:
        raise bad("found no --pilot", "answers of the kind to compare", "add --pilot")
    trained = exchange_from_runs(runs) if runs else {}
    costs = costs.with_times(evidence.times)
    for kind, each in given.items():
        costs = costs.with_kind(kind, each)
    compared = kinds or tuple(dict.fromkeys((*USUAL_KINDS, *evidence.kinds, *trained)))
    size = (n_items or evidence.n_items or USUAL_ITEMS, n_classes or evidence.n_classes or USUAL_CLASSES)
    if n_items is not None or n_classes is not None:
        size = (size[0] if n_items is None else n_items, size[1] if n_classes is None else n_classes)
    check_size(*size)
    measured = _joined(evidence, trained)
    if rates_output and not measured:
        raise bad("found --rates without measurements", "a pilot with --votes, or --runs", "add them")
    comparison = compare(
        compared,
        n_items=size[0],
        n_classes=size[1],
        costs=costs,
        measured=measured,
        errors=evidence.errors,
        budget=budget,
        utility=valued,
        beta=beta,
        noise=noise,
        rng=rng,
    )
    if output:
        comparison.write(output)
        say_written(output, f"{len(comparison)} rows, one per kind and goal")
    show_evidence(evidence, bool(trained))
    show_comparison(comparison, wanted, size, costs, _joined(evidence, trained))
    if rates_output:
        rates = ExchangeRates(tuple(rate for each in measured.values() for rate in each.rates))
        rates.write(rates_output)
        say_written(rates_output, f"{len(rates):,} exchange rates")
    if map_output:
        with drawing() as draw:
            charted = value_map(
                compared, costs, yours=size, noise=noise, rng=rng,
                progress=lambda done, all_: draw(done / all_, f"{done} of {all_} sizes simulated"),
            )  # fmt: skip
        charted.write(map_output)
        show_map(charted, size)
        say_written(map_output, f"the map, {len(charted):,} rows")


def _costs(wage: float | None, fee: float | None, overhead: float | None) -> CostModel:
    from sfumato.planning.costs import FEE, OVERHEAD, WAGE, CostModel

    return CostModel(
        overhead=OVERHEAD if overhead is None else overhead,
        wage=WAGE if wage is None else wage,
        fee=FEE if fee is None else fee,
    )


def _seconds(texts: tuple[str, ...] | None) -> dict[str, float]:
    given = {}
    for text in texts or ():
        kind, _, value = text.partition("=")
        try:
            given[kind] = above_0(f"seconds of {kind}", float(value))
        except ValueError as error:
            raise bad(
                f"found --seconds {text!r}", "a kind and its seconds: top_two=44", "write --seconds KIND=S"
            ) from error
    return given


def _annotations(path: Path) -> Annotations:
    from sfumato.tables.annotations import Annotations

    table = Annotations.read(path)
    refuse_empty(table, path)
    return table


def _votes(path: Path | None) -> Votes | None:
    votes: Votes | None = None if path is None else read_answers(path)
    return votes


def _similarities(path: Path | None) -> Similarities | None:
    from sfumato.planning.label_quality import Similarities

    return None if path is None else Similarities.of(_annotations(path))


def _joined(evidence: PilotEvidence, trained: dict[str, Any]) -> dict[str, Any]:
    """The rates of pilots and of runs, by kind."""
    from sfumato.planning.exchange_rates import ExchangeRates

    kinds = dict.fromkeys((*evidence.rates, *trained))
    sources = (evidence.rates, trained)
    return {
        kind: ExchangeRates(tuple(r for some in sources if kind in some for r in some[kind].rates)) for kind in kinds
    }
