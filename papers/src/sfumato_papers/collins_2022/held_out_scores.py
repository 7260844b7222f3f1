"""Scores on held-out labels by label set, block, metric and seed, and statements about which label set is better."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sfumato.evaluation import read_runs
from sfumato.evaluation.metric import Metric
from sfumato.evaluation.metrics import CrossEntropy, RMSCalibration
from sfumato.evaluation.run_predictions import RunPredictions
from sfumato.evaluation.run_scores import measure_runs
from sfumato.importers.importer import CIFAR_10
from sfumato.tables.soft_labels import SoftLabels
from sfumato.training.attacks import Attack, attack_named
from sfumato.training.robustness_runs import AttackExperiment, run_missing
from sfumato.training.trained_runs import TrainedRuns
from sfumato_papers.collins_2022.elicitation import mean_labels, original_classes
from sfumato_papers.collins_2022.label_sets import LABELERS
from sfumato_papers.collins_2022.protocol import N_HELD_OUT, items_of, trained
from sfumato_papers.finding import Estimate, Statement
from sfumato_papers.paper import Rerun, once

CE, CALIBRATION, FGSM = "CE", "Calibration", "FGSM Loss"
METRICS = (CE, CALIBRATION, FGSM)
BLOCKS = ("10H", "10S")
"""What is evaluated on: held-out labels of CIFAR-10H, and of CIFAR-10S (T2, Clamp)."""
BIN_SIZES = {"10H": 100, "10S": 10}
"""Items a bin, as the published code has them."""
FEW_DRAWS = 100
"""Draws of items, whose interval is not used: the one over trainings is."""

Figures = Mapping[tuple[str, str, str], Mapping[int, float]]
"""By label set, block and metric: a figure a training, by its number."""


def held_out(rerun: Rerun, *, attacked: bool = False) -> dict[str, SoftLabels]:
    """The labels that predictions are compared with, by block. What the loss under attack is taken from are hard labels
    on CIFAR-10H, as the published figure was."""
    items, original = items_of(rerun), original_classes(rerun.data)
    votes = rerun.data.cifar_10h
    tested = [str(n) for n in items.tested]
    mean = mean_labels(LABELERS["T2, Clamp"].label(rerun.data.cifar_10s, CIFAR_10))
    few = [str(n) for n in items.held_out]
    people = {
        "10H": SoftLabels.from_numpy(tested, votes.probs[votes.rows_of(tested)], CIFAR_10),
        "10S": SoftLabels.from_numpy(few, mean.probs[mean.rows_of(few)], CIFAR_10),
    }
    assert len(few) == N_HELD_OUT
    if attacked:
        people["10H"] = SoftLabels.one_hot(tested, [CIFAR_10[original[n]] for n in items.tested], CIFAR_10)
    return people


@once
def figures(rerun: Rerun) -> Figures:
    clean: list[RunPredictions] = []
    attacked: list[RunPredictions] = []
    for folder in trained(rerun):
        clean += read_runs(folder)
        attacked += read_runs(_attacked(rerun, folder))
    labels, under_attack = held_out(rerun), held_out(rerun, attacked=True)
    values: dict[tuple[str, str, str], dict[int, float]] = {}
    for block in BLOCKS:
        calibration = RMSCalibration(size=BIN_SIZES[block], form="published")
        _add(values, clean, labels[block], block, {CE: CrossEntropy(), CALIBRATION: calibration})
        _add(values, attacked, under_attack[block], block, {FGSM: CrossEntropy()})
    return values


def _attacked(rerun: Rerun, folder: Path) -> Path:
    """Where the predictions of attacked pictures stand; those that are missing are made."""
    place = folder.parent / f"{folder.name}-attacked"
    ready = TrainedRuns.in_folder(folder).runs
    fgsm: Attack = attack_named("fgsm", {})
    work = AttackExperiment(ready, place, fgsm, rerun.data.cifar_10_test, device=rerun.device)
    run_missing(work, processes=rerun.processes)
    return next(path for path in sorted(place.iterdir()) if path.name.startswith(fgsm.name))


def _add(
    values: dict[tuple[str, str, str], dict[int, float]],
    runs: list[RunPredictions],
    people: SoftLabels,
    block: str,
    metrics: dict[str, Metric],
) -> None:
    """Put what `metrics` say of `runs` among the values, by their columns' names."""
    column_of = {metric.name: column for column, metric in metrics.items()}
    measured = measure_runs(runs, people=people, metrics=list(metrics.values()), common=True, resamples=FEW_DRAWS)
    numbers = {network: 1000 * k for k, network in enumerate(measured.networks)}
    for each in measured.figures:
        cell = values.setdefault((each.target, block, column_of[each.metric.name]), {})
        cell |= {numbers[each.network] + seed: float(v) for seed, v in zip(each.seeds, each.values, strict=True)}


def differences(found: Figures, one: str, other: str, block: str, metric: str) -> Estimate:
    """How much higher `one` is than `other`, paired by training."""
    return Estimate.paired(found[one, block, metric], found[other, block, metric])


def better(
    found: Figures, says: str, one: str, other: str, *, blocks: tuple[str, ...] = BLOCKS, skip: tuple[str, ...] = ()
) -> list[Statement]:
    """Whether `one` is lower than `other` by intervals that leave out 0, in more than half of metrics, a block each."""
    statements = []
    for block in blocks:
        each = {m: differences(found, one, other, block, m) for m in METRICS if m not in skip}
        n_better = sum(d.is_below_0 for d in each.values())
        counted, holds = f"{n_better} of {len(each)} metrics shown better", n_better > len(each) / 2
        statements.append(_statement(block, says, each, counted, holds))
    return statements


def alike(found: Figures, says: str, one: str, other: str) -> list[Statement]:
    """Whether neither of two is better by an interval that leaves out 0 in most metrics."""
    statements = []
    for block in BLOCKS:
        each = {m: differences(found, one, other, block, m) for m in METRICS}
        n_apart = sum(d.leaves_out_0 for d in each.values())
        counted, holds = f"{n_apart} of {len(each)} metrics shown to differ", n_apart <= len(each) / 2
        statements.append(_statement(block, says, each, counted, holds))
    return statements


def _statement(block: str, says: str, each: Mapping[str, Estimate], counted: str, holds: bool) -> Statement:
    ours = f"{counted}: {'; '.join(f'{metric} {d.signed()}' for metric, d in each.items())}"
    return Statement(f"{block}: {says}", f"{says}, evaluated on {block}", holds, ours)
