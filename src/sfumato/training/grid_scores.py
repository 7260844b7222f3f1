"""A first look at a grid: how near each target came to people, on the items that were not learnt from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from sfumato.training.experiment import Experiment
from sfumato.training.grid import RunKey
from sfumato.training.training_set import one_hot


@dataclass(frozen=True)
class GridScore:
    """One target of one network: means over seeds, the folds of a seed together."""

    target: str
    network: str
    accuracy: float
    """How often the first choice is people's."""
    cross_entropy: float
    """The mean of `-sum q ln p`, in nats; infinite where something that people saw was held to be impossible."""
    n_seeds: int
    against: str


def scores_of(experiment: Experiment) -> list[GridScore]:
    """One score a target and network, of the seeds all of whose folds are done and did not diverge."""
    lesson, grid = experiment.data.lesson, experiment.grid
    if lesson.people is not None:
        right, against = lesson.people, "people"
    elif lesson.original is not None:
        right, against = one_hot(lesson.original, lesson.n_classes), "the original labels"
    else:
        return []
    row = {item: i for i, item in enumerate(lesson.items)}
    scores = []
    for network in grid.networks:
        for target in grid.targets:
            found = []
            for seed in grid.seeds:
                keys = [RunKey(target, network, seed, fold.number) for fold in experiment.folds]
                finished = [run for run in map(experiment.run, keys) if run and run.said["ended"] != "diverged"]
                tables = [run.predictions for run in finished if run.predictions is not None]
                if len(tables) == len(keys):
                    index = [row[item] for table in tables for item in table.items.to_pylist()]
                    found.append(_scored(np.concatenate([table.probs for table in tables]), right[index]))
            if found:
                accuracy, cross_entropy = np.mean(found, axis=0)
                scores.append(GridScore(target, network, float(accuracy), float(cross_entropy), len(found), against))
    return scores


def _scored(p: Float[np.ndarray, "items classes"], q: Float[np.ndarray, "items classes"]) -> tuple[float, float]:
    with np.errstate(divide="ignore"):
        logs = np.where(q > 0, np.log(p), 0.0)
    return float((p.argmax(1) == q.argmax(1)).mean()), float(-(q * logs).sum(1).mean())
