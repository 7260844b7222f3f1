"""Scored: figures of trainings by seed, found by what they were scored on, and how two targets differ.

The networks of Section 6 of Peterson et al. (2019), before and after fine-tuning, scored on every holdout set.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sfumato import Inputs, SoftLabels
from sfumato.evaluation import Metric, RunMeasurements, RunPredictions, measure_runs, read_runs
from sfumato.evaluation.metrics import AccuracyOriginal, CrossEntropy
from sfumato.tables.scores import ALL
from sfumato.training.attacks import Attack
from sfumato.training.grid import PRETRAINED, RunKey, path_name
from sfumato.training.robustness_runs import AttackExperiment, run_missing
from sfumato.training.run_folder import PREDICTIONS
from sfumato.training.trained_runs import CLEAN, TrainedRuns
from sfumato_papers.finding import Estimate, Finding
from sfumato_papers.paper import Rerun, once
from sfumato_papers.peterson_2019.protocol import NETWORKS, elsewhere, fine_tuned, seeds
from sfumato_papers.published_data import original_labels

ACROSS = "across networks"
"""Stands for all networks, as the paper averages them in its figures."""
RESAMPLES = 100
"""Draws of items; no interval here is about items."""


@dataclass(frozen=True, eq=False)
class Scored:
    """Figures by the set they were taken on. `times` turns shares into percents, where asked for."""

    sets: Mapping[str, RunMeasurements]

    def of(self, on: str, network: str, target: str, metric: str, *, times: float = 1.0) -> dict[int, float]:
        """The figure of every seed; of `ACROSS`, the mean over all networks of the seed."""
        if network == ACROSS:
            each = [self.of(on, name, target, metric, times=times) for name in self.sets[on].networks]
            return {seed: sum(values[seed] for values in each) / len(each) for seed in each[0]}
        found = self.sets[on].of(target, network, metric, ALL)
        assert found is not None, f"{target} has no {metric} on {on}"
        return {seed: times * float(value) for seed, value in zip(found.seeds, found.values, strict=True)}

    def less(self, on: str, network: str, target: str, baseline: str, metric: str, *, times: float = 1.0) -> Estimate:
        """How `target` differs from `baseline`, paired by seed."""
        return Estimate.paired(*(self.of(on, network, each, metric, times=times) for each in (target, baseline)))

    def growth(
        self, on: str, before: str, network: str, target: str, baseline: str, metric: str, *, times: float = 1.0
    ) -> Estimate:
        """How much further `target` is from `baseline` on the set `on` than on the set `before`, seed by seed."""
        gains = []
        for name in (on, before):
            own, base = (self.of(name, network, each, metric, times=times) for each in (target, baseline))
            gains.append({seed: own[seed] - base[seed] for seed in own})
        return Estimate.paired(*gains)

    def mean(self, on: str, network: str, target: str, metric: str, *, times: float = 1.0) -> float:
        values = self.of(on, network, target, metric, times=times)
        return sum(values.values()) / len(values)


def scored(
    runs: Sequence[RunPredictions], labels: SoftLabels, metrics: Sequence[Metric], *, original: SoftLabels | None = None
) -> RunMeasurements:
    """The metrics of `runs` against `labels`, which are people's or the original ones."""
    return measure_runs(runs, people=labels, original=original, metrics=metrics, resamples=RESAMPLES)


def under(runs: Sequence[RunPredictions], condition: str) -> list[RunPredictions]:
    """The runs of one condition, which stands with the set they are scored on and no longer with them."""
    return [replace(run, condition="") for run in runs if run.condition == condition]


def pretrained(folder: Path, networks: Sequence[str], seeds: Sequence[int], like: SoftLabels) -> list[RunPredictions]:
    """What networks predict that have learned no target yet, of the items of `like`."""
    found = []
    for network in networks:
        for seed in seeds:
            table = SoftLabels.read(folder / RunKey(PRETRAINED, network, seed, None).name / PREDICTIONS)
            rows = table.rows_of(like.items)
            same = replace(table, items=like.items, probs=table.probs[rows], n_annotators=None)
            found.append(RunPredictions(PRETRAINED, network, seed, same))
    return found


def set_beside(row: str, column: str, found: Estimate, *, places: int = 3) -> Finding:
    """A difference that the paper has nothing to say of: a figure without a verdict."""
    return Finding(row, column, None, found, how="difference, paired by seed", places=places)


PEOPLE, HARD = "c10H", "c10"
"""Held-out pictures, against people's labels and against those they came with."""
ELSEWHERE = "tuned-elsewhere"
ENSEMBLE = "ensemble"
"""The target of the mean of pretrained networks."""


def under_attack(
    rerun: Rerun, folder: Path, name: str, attack: Attack, inputs: Inputs, targets: Collection[str]
) -> tuple[Scored, str]:
    """The runs of `folder` against original labels, before the attack and after each of its steps, and what the last
    step is called; predictions are kept in `name` next to it."""
    runs = tuple(run for run in TrainedRuns.in_folder(folder).runs if run.metadata["target"] in targets)
    attacking = AttackExperiment(runs, folder.parent / name, attack, inputs, device=rerun.device)
    run_missing(attacking, processes=rerun.processes)
    predicted, hard = read_runs(folder.parent / name), original_labels(inputs)
    metrics = (AccuracyOriginal(), CrossEntropy())
    conditions = [CLEAN, *(attacking.name_of(step) for step in range(1, attack.n_steps + 1))]
    sets = {each: scored(under(predicted, each), hard, metrics, original=hard) for each in conditions}
    return Scored(sets), conditions[-1]


@once
def tuned(rerun: Rerun) -> Scored:
    """The fine-tuned and pretrained networks, on held-out pictures and elsewhere."""
    folder = fine_tuned(rerun)
    sets = elsewhere(rerun, with_training_set=False)
    held_out, away = read_runs(folder), rerun.shifted(folder, ELSEWHERE, extra=sets)
    names, hard = tuple(rerun.scale.of(NETWORKS)), original_labels(rerun.data.cifar_10_test)
    before = pretrained(folder, names, seeds(rerun.scale), held_out[0].predictions)
    together = [*before, *held_out, *_ensembles(before, names)]
    found = {
        PEOPLE: scored(together, rerun.data.cifar_10h, (CrossEntropy(),)),
        HARD: scored(together, hard, (CrossEntropy(), AccuracyOriginal()), original=hard),
    }
    for name, inputs in sets.items():
        runs = under(away, name)
        first = pretrained(folder.parent / ELSEWHERE / path_name(name), names, seeds(rerun.scale), runs[0].predictions)
        found[name] = scored([*first, *runs], original_labels(inputs), (CrossEntropy(),))
    return Scored(found)


def _ensembles(runs: list[RunPredictions], networks: tuple[str, ...]) -> list[RunPredictions]:
    """The mean of what all pretrained networks of a form predict, as one run."""
    found = []
    for network in networks:
        tables = [run.predictions for run in runs if run.network == network]
        mean = np.mean([table.probs for table in tables], axis=0)
        found.append(RunPredictions(ENSEMBLE, network, 0, replace(tables[0], probs=mean)))
    return found
