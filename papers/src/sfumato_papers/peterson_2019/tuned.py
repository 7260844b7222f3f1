"""The networks of Section 6 of Peterson et al. (2019), before and after fine-tuning, scored on every holdout set."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.evaluation import read_runs
from sfumato.evaluation.metrics import AccuracyOriginal, CrossEntropy
from sfumato.evaluation.run_predictions import RunPredictions
from sfumato.training.dealing import run_jobs
from sfumato.training.robustness_runs import ShiftExperiment
from sfumato.training.trained_runs import TrainedRuns, in_a_path
from sfumato_papers.peterson_2019.pictures import elsewhere, judged, original
from sfumato_papers.peterson_2019.protocol import NETWORKS, fine_tuned, seeds
from sfumato_papers.peterson_2019.scored import Scored, pretrained, scored, under
from sfumato_papers.rerun import Rerun

PEOPLE, HARD = "c10H", "c10"
"""Held-out pictures, against people's labels and against those they came with."""
ENSEMBLE = "ensemble"
"""The target of the mean of pretrained networks."""


def tuned(rerun: Rerun) -> Scored:
    """The fine-tuned and pretrained networks, on held-out pictures and elsewhere."""

    def measured() -> Scored:
        folder = fine_tuned(rerun)
        output = folder.parent / "tuned-elsewhere"
        sets = elsewhere(rerun, with_training_set=False)
        ready = TrainedRuns.in_folder(folder).runs
        run_jobs(ShiftExperiment(ready, output, extra=sets, device=rerun.device), processes=rerun.processes)
        held_out, away = read_runs(folder), read_runs(output)
        names, hard = tuple(rerun.scale.of(NETWORKS)), original(judged(rerun))
        before = pretrained(folder, names, seeds(rerun.scale), held_out[0].predictions)
        together = [*before, *held_out, *_ensembles(before, names)]
        found = {
            PEOPLE: scored(together, rerun.data.cifar_10h, (CrossEntropy(),)),
            HARD: scored(together, hard, (CrossEntropy(), AccuracyOriginal()), original=hard),
        }
        for name, inputs in sets.items():
            runs = under(away, name)
            first = pretrained(output / in_a_path(name), names, seeds(rerun.scale), runs[0].predictions)
            found[name] = scored([*first, *runs], original(inputs), (CrossEntropy(),))
        return Scored(found)

    return rerun.once("tuned", measured)


def _ensembles(runs: list[RunPredictions], networks: tuple[str, ...]) -> list[RunPredictions]:
    """The mean of what all pretrained networks of a form predict, as one run."""
    found = []
    for network in networks:
        tables = [run.predictions for run in runs if run.network == network]
        mean = np.mean([table.probs for table in tables], axis=0)
        found.append(RunPredictions(ENSEMBLE, network, 0, replace(tables[0], probs=mean)))
    return found
