"""Scores of trainings by seed, and tables of them next to the figures of the thesis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato import SoftLabels
from sfumato.evaluation import Metric, RunPredictions, measure_runs, read_runs
from sfumato.evaluation.metrics import CrossEntropy, RMSCalibration
from sfumato.training import robustness_runs
from sfumato.training.attacks import attack_named
from sfumato.training.corruptions import CORRUPTIONS
from sfumato.training.trained_runs import CLEAN, TrainedRuns
from sfumato_papers.collins_mixup import training
from sfumato_papers.finding import Estimate, Finding, Reference
from sfumato_papers.paper import Rerun, Scale, once
from sfumato_papers.published_data import original_labels
from sfumato_papers.published_table import PublishedTable

CE, CALIBRATION, FGSM, CORRUPTION = "CE", "Calibration", "FGSM Loss", "Corruption CE"
SEVERITY = 3
N_CORRUPTIONS = {Scale.SMALL: 3, Scale.CPU: 6, Scale.FULL: len(CORRUPTIONS)}
RESAMPLES = 100
"""Draws of items, of which nothing is read here: what varies is the training."""

CHAPTERS = (
    (training.AUGMENTING, training.REGULAR),
    (training.MIXUP, training.MIX_MAX_ENT, training.ENT_WC, training.TAU, training.TAU_ENT_WC),
)
"""Grids that are attacked and corrupted together, so that processes are started once."""

BySeed = dict[int, float]
Values = dict[tuple[str, str, str], BySeed]
"""By target, network and measure."""

HOW = {
    CE: "against CIFAR-10H",
    CALIBRATION: "bins of 100 items, the most confident bin left out, as the published code does",
    FGSM: "4/255 away from CIFAR-10's label, and the cross-entropy with that label",
    CORRUPTION: "against CIFAR-10H, mean over the corruptions",
}


@once
def values_of(rerun: Rerun, name: str) -> Values:
    """What came out of the runs of a grid."""
    (grids,) = [each for each in CHAPTERS if name in each]
    work = Together(tuple(each for grid in grids for each in _work(rerun, grid)))
    robustness_runs.run_missing(work, processes=rerun.processes)
    people, original, folder = rerun.data.cifar_10h, original_labels(training.tested(rerun)), _trained(rerun, name)
    asked: dict[str, Metric] = {CE: CrossEntropy(), CALIBRATION: RMSCalibration(form="published")}
    found = _measured(read_runs(folder), people, asked)
    attacked = [run for run in read_runs(folder.parent / f"{name}-attacked") if run.condition != CLEAN]
    found |= _measured(attacked, original, {FGSM: CrossEntropy()})
    if name != training.AUGMENTING:
        found |= _measured(read_runs(folder.parent / f"{name}-corrupted"), people, {CORRUPTION: CrossEntropy()})
    return found


def _trained(rerun: Rerun, name: str) -> Path:
    return training.augmented(rerun) if name == training.AUGMENTING else training.mixed(rerun, name)


def _work(rerun: Rerun, name: str) -> list[robustness_runs.RobustnessExperiment[Any]]:
    """What the runs of a grid are to predict of changed pictures, of which only what is missing is done. Chapter 4
    corrupts nothing."""
    folder, pictures = _trained(rerun, name), training.tested(rerun)
    runs, place, fgsm = TrainedRuns.in_folder(folder).runs, folder.parent, attack_named("fgsm", {})
    works: list[robustness_runs.RobustnessExperiment[Any]] = [
        robustness_runs.AttackExperiment(runs, place / f"{name}-attacked", fgsm, pictures, device=rerun.device)
    ]
    if name != training.AUGMENTING:
        n = rerun.scale.of(N_CORRUPTIONS)
        kinds = [each() for each in CORRUPTIONS[:: len(CORRUPTIONS) // n][:n]]
        asked = robustness_runs.corruptions_for(pictures, kinds, (SEVERITY,))[1:]
        works.append(
            robustness_runs.ShiftExperiment(runs, place / f"{name}-corrupted", pictures, asked, device=rerun.device)
        )
    return works


def _measured(runs: Sequence[RunPredictions], people: SoftLabels, metrics: dict[str, Metric]) -> Values:
    """The metrics by seed; the mean over conditions, where there are several."""
    found: dict[tuple[str, str, str], dict[int, list[float]]] = {}
    for name, metric in metrics.items():
        for each in measure_runs(runs, people=people, metrics=[metric], resamples=RESAMPLES).figures:
            by_seed = found.setdefault((each.target, each.network, name), {})
            for seed, value in zip(each.seeds, each.values.tolist(), strict=True):
                by_seed.setdefault(seed, []).append(value)
    return {key: {seed: float(np.mean(of)) for seed, of in by.items()} for key, by in found.items()}


@dataclass(frozen=True, eq=False)
class Together:
    """Several pieces of work as one, so that processes are started once."""

    works: tuple[robustness_runs.RobustnessExperiment[Any], ...]

    def missing(self) -> list[tuple[int, Any]]:
        return [(number, job) for number, work in enumerate(self.works) for job in work.missing()]

    def run(self, job: tuple[int, Any]) -> None:
        self.works[job[0]].run(job[1])


@dataclass(frozen=True)
class Row:
    """A row of a table of trainings: by column what came out of every seed, and the row it is measured from."""

    name: str
    values: Mapping[str, BySeed]
    reference: str = ""


def table_findings(table: PublishedTable, rows: Sequence[Row]) -> list[Finding]:
    """Every cell; rows that the thesis does not have stand without a published figure."""
    values = {row.name: row.values for row in rows}
    found = []
    for row in rows:
        for column, own in row.values.items():
            key, base = (row.name, column), (row.reference, column)
            reference = None
            if row.reference:
                reference = Reference(row.reference, table.cells.get(base), values[row.reference][column])
            how = HOW[column] + (f"; published ±{table.spreads[key]}" if key in table.spreads else "")
            found.append(Finding.over_seeds(*key, table.cells.get(key), own, reference=reference, how=how))
    return found


def changes(row: Row, other: Row, *columns: str) -> dict[str, Estimate]:
    """How much a row is above another, seed by seed: in `columns`, or in all."""
    return {each: Estimate.paired(row.values[each], other.values[each]) for each in columns or row.values}


def mean_of(row: Row, column: str) -> float:
    return Estimate.over_seeds(row.values[column].values()).value
