"""`sfumato map`: data maps of easy, ambiguous and hard training items."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.cli.evaluate_options import strata_from_text
from sfumato.cli.options import PATH, check_outputs, given, output_option
from sfumato.cli.output import bar, counted, number, printable, write_table
from sfumato.tables.errors import BadSetting

if TYPE_CHECKING:
    from sfumato.evaluation.data_map import DataMap, Regions
    from sfumato.evaluation.data_map_strata import MapStrata
    from sfumato.evaluation.epoch_predictions import EpochShifts
    from sfumato.tables.scores import Scores

SHADES = " .:-=+*#%@"
WIDE, HIGH = 50, 10
MOST_EPOCHS = 8
FIX = "see sfumato map --help"


@click.command("map")
@click.argument("runs", type=PATH, nargs=-1, required=True)
@output_option("Output file for the map, or with --strata its means by stratum: .csv or .parquet.")
@click.option("--people", type=PATH, help="SoftLabels: how people judge, for the entropy of their labels.")
@click.option("--doubt", type=PATH, help="People's uncertainty: a table of sfumato doubt or sfumato label --doubt.")
@click.option("--target", metavar="NAME", help="The target to map, if there are several.")
@click.option("--network", metavar="NAME", help="The network to map, if there are several.")
@click.option(
    "--strata", metavar="NAMES", help="The means of all targets by stratum of --people: agree,entropy:quantiles=4,FILE."
)
@click.option("--last", type=int, help="Only this many last epochs of every run.  [default: all]")
@click.option("--when", type=click.Choice(["end", "online"]), help="When items were predicted.  [default: end]")
@click.option("--soft", is_flag=True, help="Use agreement with people's label (sum q p) instead of the gold class.")
@click.option("--easy", type=float, help="Easy: at least this confidence.  [default: 0.75]")
@click.option("--hard", type=float, help="Hard: at most this confidence.  [default: 0.25]")
@click.option("--ambiguous", type=float, help="Ambiguous: at least this variability.  [default: 0.2]")
@click.option("--share", type=float, help="Regions by shares of all items instead; 0.33 in Swayamdipta 2020.")
@click.option("--level", default=0.95, show_default=True, help="Confidence level of the intervals.")
@click.option("--scores", "scores_path", type=PATH, help="Also write the correlations with people's uncertainty.")
@click.option("--shifts", "shifts_path", type=PATH, help="Also write the change of predictions between epochs.")
def command(
    runs: tuple[Path, ...], output: Path, people: Path | None, doubt: Path | None, target: str | None,
    network: str | None, strata: str | None, last: int | None, when: str | None, soft: bool, easy: float | None,
    hard: float | None, ambiguous: float | None, share: float | None, level: float, scores_path: Path | None,
    shifts_path: Path | None,
) -> None:  # fmt: skip
    """Map the training items of RUNS by confidence, variability and correctness over epochs.

    RUNS are folders of sfumato train --dynamics, or tables with item, epoch, gold and correct. All runs of a target are
    pooled. --people or --doubt adds the rank correlation with people's uncertainty. With --strata, the output has the
    mean confidence and variability of every label set, target, network and stratum.
    """
    from sfumato.evaluation.data_map import data_map
    from sfumato.evaluation.data_map_strata import data_map_strata
    from sfumato.evaluation.doubt_correlation import HumanDoubt, doubt_correlations
    from sfumato.evaluation.epoch_predictions import (
        AGREEMENT,
        BY_EPOCH,
        GOLD,
        TrainingDynamics,
        epoch_shifts,
        find_runs,
        runs_of_model,
    )
    from sfumato.importers.label_file import read_labels

    check_outputs(runs[0], output=output, scores=scores_path, shifts=shifts_path)
    regions = _regions(easy, hard, ambiguous, share)
    if strata is not None:
        if people is None or doubt or scores_path or shifts_path:
            found = "--strata without --people" if people is None else "--strata with --doubt, --scores or --shifts"
            raise BadSetting(found, "--strata with --people alone", FIX)
        chosen = [run for run in find_runs(runs) if target in (None, run.target) and network in (None, run.network)]
        if not chosen:
            raise BadSetting(f"--target {target}, --network {network}", "those of the runs", "choose others")
        table = data_map_strata(
            chosen, read_labels(people), strata_from_text(strata), last=last, when=when,
            by=AGREEMENT if soft else GOLD, regions=_regions(easy, hard, ambiguous, share),
        )  # fmt: skip
        write_table(table, output, f"{counted(len(table), 'row')}, by target and stratum")
        _show_strata(table)
        return
    doubts = [HumanDoubt.of_labels(read_labels(people))] if people else []
    doubts += [HumanDoubt.read(doubt)] if doubt else []
    if scores_path and not doubts:
        raise BadSetting("--scores without people's uncertainty", "--people or --doubt in addition", FIX)
    chosen = runs_of_model(find_runs(runs), target, network)
    dynamics = [TrainingDynamics.read(run.path, when=when, by=AGREEMENT if soft else GOLD) for run in chosen]
    drawn = data_map(dynamics, last=last, regions=regions)
    scores = doubt_correlations(drawn, doubts, level=level) if doubts else None
    kept = [run.path for run in chosen if (run.path / BY_EPOCH).is_file()]
    shifts = epoch_shifts(kept or [chosen[0].path]) if kept or shifts_path else None
    write_table(drawn, output, f"DataMap, {len(drawn):,} items of {counted(len(chosen), 'run')}")
    if scores is not None:
        write_table(scores, scores_path, f"Scores, {len(scores)} correlations")
    if shifts is not None:
        write_table(shifts, shifts_path, f"EpochShifts, {len(shifts)} epochs")
    epochs = [len(each.epochs) if last is None else min(last, len(each.epochs)) for each in dynamics]
    _show(drawn, f"{printable(dynamics[0].when)}, {max(epochs)} epochs per run")
    if scores is not None:
        _show_scores(scores)
    if shifts is not None:
        _show_shifts(shifts)


def _regions(easy: float | None, hard: float | None, ambiguous: float | None, share: float | None) -> Regions:
    from sfumato.evaluation.data_map import Shares, Thresholds

    fixed = given({"easy": easy, "hard": hard, "variability": ambiguous})
    if share is None:
        return Thresholds(**fixed)
    if fixed:
        raise BadSetting("--share together with a threshold", "shares of all items, or thresholds", FIX)
    return Shares(share)


def _show(drawn: DataMap, how: str) -> None:
    """Print the map (darker: more items) and the regions."""
    import numpy as np

    from sfumato.evaluation.data_map import REGIONS

    span = max(float(drawn.variability.max()), 0.1)
    column = np.minimum((drawn.variability / span * WIDE).astype(np.int64), WIDE - 1)
    row = np.minimum((drawn.confidence * HIGH).astype(np.int64), HIGH - 1)
    counts = np.bincount(row * WIDE + column, minlength=HIGH * WIDE).reshape(HIGH, WIDE)
    depth = np.ceil(np.log1p(counts) / np.log1p(counts.max()) * (len(SHADES) - 1)).astype(np.int64)
    click.echo(f"confidence ({how})")
    for level in reversed(range(HIGH)):
        edge = f"{(level + 1) / HIGH:3.1f}" if level % 3 == 0 else ""
        click.echo(f"{edge:>4} |{''.join(SHADES[d] for d in depth[level]).rstrip()}")
    click.echo(f"{'0.0':>4} +{'-' * WIDE}\n      0{f'variability {span:.2f}':>{WIDE - 1}}")
    click.echo(
        f"{'region':<10} {'items':>8} {'share':>6}  {'':24}  {'confidence':>10} {'variability':>11} {'correct':>8}"
    )
    for k, region in enumerate(REGIONS):
        here = drawn.region == k
        share = float(here.mean())
        figures = f"{'-':>10} {'-':>11} {'-':>8}"
        if here.any():
            right = drawn.correctness[here].sum() / drawn.n_moments[here].sum()
            figures = f"{drawn.confidence[here].mean():10.3f} {drawn.variability[here].mean():11.3f} {right:8.1%}"
        click.echo(f"{region:<10} {int(here.sum()):>8,} {share:>6.1%}  {bar([(share, '█')])}  {figures}")
    whole = float((drawn.variability**2).sum())
    if drawn.between_runs.any() and whole > 0:
        part = float((drawn.between_runs**2).sum()) / whole
        click.echo(f"{part:.0%} of the variance is between runs, the rest between epochs of a run")


def _show_strata(table: MapStrata) -> None:
    """Print one line per target, network and stratum."""
    wide = [max(len(getattr(row, name)) for row in table.rows) for name in ("target", "network", "stratum")]
    wide = [max(*both) for both in zip(wide, (6, 7, 7), strict=True)]
    head = f"{'target':{wide[0]}}  {'network':{wide[1]}}  {'stratum':{wide[2]}}"
    click.echo(f"{head}  {'items':>7}  {'confidence':>10}  {'variability':>11}  {'correct':>8}")
    for row in table.rows:
        named = f"{printable(row.target):{wide[0]}}  {printable(row.network):{wide[1]}}"
        figures = f"{row.n_items:>7,}  {row.confidence:10.3f}  {row.variability:11.3f}  {row.correctness:8.1%}"
        click.echo(f"{named}  {printable(row.stratum):{wide[2]}}  {figures}")


def _show_scores(scores: Scores) -> None:
    width = max(len(name) for name in scores.metric)
    click.echo(f"{'rank correlation with people':{width}}  {'rho':>6}  {'interval':^16}  {'items':>8}")
    for score in scores.rows():
        between = f"{number(score.low):>6} to {number(score.high):>6}"
        click.echo(f"{score.metric:{width}}  {number(score.value):>6}  {between:16}  {score.n_items:>8,}")
    for kind in dict.fromkeys(scores.covers):
        click.echo(f"interval: {kind}")


def _show_shifts(shifts: EpochShifts) -> None:
    """Print a few epochs, including the first and the last."""
    import numpy as np

    rows = np.unique(np.linspace(0, len(shifts) - 1, min(len(shifts), MOST_EPOCHS)).round().astype(np.int64))
    shown = "  ".join(f"{shifts.epoch[row]}: {shifts.jsd[row]:.4f}" for row in rows)
    click.echo(f"mean JSD from the previous epoch (nats)\n  {shown}")
