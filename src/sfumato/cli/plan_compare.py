"""`sfumato plan compare`: which kind of label is worth its price."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.cli.options import PATH, NameList, check_outputs, given, refuse_empty, same_rows_option, seeded
from sfumato.cli.output import counting, write_table
from sfumato.cli.plan_options import pairs, read_answers
from sfumato.planning.goals import goal_named, utility_named
from sfumato.tables.errors import BadSetting
from sfumato.tables.setting_checks import above_0

if TYPE_CHECKING:
    from sfumato.planning.pilot_evidence import PilotEvidence
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
@same_rows_option
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
    from sfumato.cli.plan_compare_output import show_comparison, show_evidence, show_map
    from sfumato.importers.label_file import read_labels
    from sfumato.planning.costs import CostModel
    from sfumato.planning.exchange_rates import ExchangeRates
    from sfumato.planning.label_quality import Similarities
    from sfumato.planning.label_type_comparison import check_size, compare, value_map
    from sfumato.planning.learning_curve import exchange_from_runs
    from sfumato.planning.pilot_evidence import PilotEvidence, evidence_of
    from sfumato.tables.row_numbers import check_same_rows

    rng = seeded(seed)
    check_outputs(*pilots[:1], output=output, rates=rates_output, map=map_output)
    wanted, valued = goal_named(goal), utility_named(utility)
    timed = {kind: above_0(f"seconds of {kind}", each) for kind, each in pairs("seconds", seconds or ()).items()}
    costs = CostModel(**given({"wage": wage, "fee": fee, "overhead": overhead}))
    for kind in (*(kinds or ()), *timed):
        costs.time(kind)
    evidence = PilotEvidence()
    if pilots:
        answers = [_annotations(path) for path in pilots]
        voted = read_answers(votes) if votes else None
        rated = _annotations(similarities) if similarities else None
        known = read_labels(truth) if truth else None
        check_same_rows(*answers, voted, rated, known)
        evidence = evidence_of(
            answers,
            votes=voted,
            similarities=None if rated is None else Similarities.of(rated),
            truth=known,
            timed=tuple(timed),
            rng=rng,
        )
    elif votes or similarities or truth:
        raise BadSetting("no --pilot", "answers of the kind to compare", "add --pilot")
    trained = exchange_from_runs(runs) if runs else {}
    costs = costs.with_times(evidence.times)
    for kind, each in timed.items():
        costs = costs.with_kind(kind, each)
    compared = kinds or tuple(dict.fromkeys((*USUAL_KINDS, *evidence.kinds, *trained)))
    size = (
        evidence.n_items or USUAL_ITEMS if n_items is None else n_items,
        evidence.n_classes or USUAL_CLASSES if n_classes is None else n_classes,
    )
    check_size(*size)
    measured = _joined(evidence, trained)
    if rates_output and not measured:
        raise BadSetting("--rates without measurements", "a pilot with --votes, or --runs", "add them")
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
    write_table(comparison, output, f"{len(comparison)} rows, one per kind and goal")
    show_evidence(evidence, bool(trained))
    show_comparison(comparison, wanted, size, costs, measured)
    rates = ExchangeRates(tuple(rate for each in measured.values() for rate in each.rates))
    write_table(rates, rates_output, f"{len(rates):,} exchange rates")
    if map_output:
        with counting("sizes simulated") as progress:
            charted = value_map(compared, costs, yours=size, noise=noise, rng=rng, progress=progress)
        show_map(charted, size)
        write_table(charted, map_output, f"the map, {len(charted):,} rows")


def _annotations(path: Path) -> Annotations:
    from sfumato.tables.annotations import Annotations

    table = Annotations.read(path)
    refuse_empty(table, path)
    return table


def _joined(evidence: PilotEvidence, trained: dict[str, Any]) -> dict[str, Any]:
    """The rates of pilots and of runs, by kind."""
    from sfumato.planning.exchange_rates import ExchangeRates

    kinds = dict.fromkeys((*evidence.rates, *trained))
    sources = (evidence.rates, trained)
    return {
        kind: ExchangeRates(tuple(r for some in sources if kind in some for r in some[kind].rates)) for kind in kinds
    }
