"""`sfumato plan replay`: assignment policies replayed on recorded answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.options import PATH, NameList, check_outputs, output_option, seeded
from sfumato.cli.output import drawing, write_table

if TYPE_CHECKING:
    from sfumato.planning.replay import ModalStop, Replay

POLICY_LINES = """\b
  uniform        fewest answers first; the baseline, always replayed
  l2             largest expected reduction of the squared error
  kl             largest expected reduction of the KL divergence
  entropy        largest expected disagreement, whether settled or not
  not-unanimous  most probably not unanimous
  lead           fewest first, until one class is --lead answers ahead"""

SHOWN = 7


@click.command(
    "replay",
    help=(
        "Replay assignment policies on recorded answers and compare their labels.\n\n"
        "A random half of every item's answers can be given, the other half is the reference, so half of the answers "
        f"is the largest budget.\n\nPolicies:\n\n{POLICY_LINES}"
    ),
)
@click.option(
    "--answers", type=PATH, required=True, help="Beliefs, annotations of kind choice, or labels with n_annotators."
)
@click.option("--policies", type=NameList(), default="uniform,l2,kl", show_default=True, metavar="NAMES")
@click.option("--budget", type=int, help="Mean answers per item.  [default: the largest possible]")
@click.option("--splits", default=3, show_default=True, help="Number of random halves.")
@click.option(
    "--keep-order", is_flag=True, help="Give answers in the order of the file (of sfumato export --exact-times)."
)
@click.option("--lead", default=8, show_default=True, help="The lead at which the policy lead stops.")
@click.option("--seed", default=0, show_default=True, help="Random seed.")
@output_option("Output table: .csv or .parquet.")
def command(
    answers: Path,
    policies: tuple[str, ...],
    budget: int | None,
    splits: int,
    keep_order: bool,
    lead: int,
    seed: int,
    output: Path,
) -> None:
    from sfumato.planning.answer_value import AcquisitionIndex, LeadIndex, UniformIndex, index_named
    from sfumato.planning.recorded_answers import RecordedAnswers
    from sfumato.planning.replay import replay, stop_at_lead

    rng = seeded(seed)
    check_outputs(answers, output=output)
    wanted: list[AcquisitionIndex] = [
        index_named(name, {"lead": lead} if name == LeadIndex.name else None)
        for name in dict.fromkeys((UniformIndex.name, *policies))
    ]
    recorded = RecordedAnswers.read(answers)
    with drawing() as draw:
        result = replay(
            recorded,
            wanted,
            budget=int(recorded.per_item() / 2) if budget is None else budget,
            splits=splits,
            keep_order=keep_order,
            progress=draw,
            rng=rng,
        )
    left = f"; {recorded.n_left_out:,} items with fewer than 2 answers left out" if recorded.n_left_out else ""
    what = f"Replay of {len(wanted)} policies on {result.n_items:,} items, {splits} splits{left}"
    write_table(result, output, what)
    _show(result)
    for index in wanted:
        if isinstance(index, LeadIndex):
            _show_lead(stop_at_lead(recorded, index.lead, rng))


def _show(result: Replay) -> None:
    """Log-loss by budget, then the answers that match the baseline."""
    import numpy as np

    n_budgets = result.curves[0].answers.shape[1]
    shown = np.unique(np.linspace(0, n_budgets - 1, min(SHOWN, n_budgets)).round().astype(int))
    click.echo("log-loss of the held-out half (nats) by answers per item")
    of_uniform = result.curves[0].answers.mean(axis=0)
    click.echo(f"{'policy':13}  {'labels by':12}" + "".join(f"{of_uniform[b]:>9.4g}" for b in shown))
    for curve in result.curves:
        cells = "".join(f"{value:>9.4f}" for value in curve.log_loss.mean(axis=0)[shown])
        click.echo(f"{curve.policy:13}  {curve.estimator:12}{cells}")
    for curve in result.curves[::2]:
        if (reached := curve.answers[:, -1].mean()) < of_uniform[-1] - 0.01:
            click.echo(f"  {curve.policy} stopped after {reached:.1f} answers per item")
    loss = float(result.curves[0].log_loss[:, -1].mean())
    click.echo(f"answers per item that match uniform, add-constant, at {of_uniform[-1]:.4g} ({loss:.4f})")
    click.echo(f"{'policy':13}  {'labels by':12}{'answers':>9}  {'95% over splits':>17}{'fewer':>9}")
    for need in result.needed():
        if need.answers != need.answers:
            click.echo(f"{need.policy:13}  {need.estimator:12}{'-':>9}")
            continue
        between = f"{need.low:.1f} to {need.high:.1f}" if need.low == need.low else "-"
        click.echo(
            f"{need.policy:13}  {need.estimator:12}{need.answers:>9.1f}  {between:>17}{f'x{need.times_fewer:.2f}':>9}"
        )


def _show_lead(stop: ModalStop) -> None:
    click.echo(
        f"most frequent label only, stopping at a lead of {stop.lead}: {stop.answers_per_item:.1f} of "
        f"{stop.recorded_per_item:.1f} answers per item (x{stop.times_fewer:.1f})"
    )
    unfinished = f"{stop.unfinished:.1%} did not reach the lead"
    click.echo(f"  {stop.agrees:.1%} of items get the label of all answers; {unfinished}")
