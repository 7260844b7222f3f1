"""A small training with as many ranks as torchrun starts; rank 0 writes weights, losses and dynamics.

torchrun --nproc-per-node 2 ranks_job.py OUT NETWORK
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch

from sfumato.training.networks import network_named
from sfumato.training.optimizers import Sgd
from sfumato.training.ranks import process_group
from sfumato.training.recipe import Recipe
from sfumato.training.run_group import RunGroup
from sfumato.training.targets import target_named
from sfumato.training.training_loop import TrainingLoop
from sfumato.training.training_set import TrainingSet

N_ITEMS, N_CLASSES = 53, 3


def ranks_group(network: str) -> RunGroup:
    """53 items in batches of 13: the last batch has one item, fewer than the number of ranks."""
    rng = np.random.default_rng(0)
    people = rng.dirichlet([0.5] * N_CLASSES, N_ITEMS)
    training_set = TrainingSet(tuple(map(str, range(N_ITEMS))), ("a", "b", "c"), people.argmax(1), people)
    labels = tuple(target_named(name, {}).labels(training_set, rng) for name in ("hard", "soft"))
    pictures = torch.from_numpy(rng.normal(size=(N_ITEMS, 1, 12, 12)).astype(np.float32))
    recipe = Recipe(epochs=2, batch_size=13, optimiser=Sgd(rate=0.1), dynamics="both")
    return RunGroup(
        ("hard", "soft"), network_named(network), labels, training_set, pictures, recipe, 3, test_images=pictures[:7]
    )


def train(network: str) -> dict[str, np.ndarray]:
    """All results of the training, by name."""
    training = TrainingLoop(ranks_group(network))
    while not training.finished:
        training.advance()
    found: dict[str, np.ndarray] = {}
    for run in training.runs:
        assert run.best is not None
        found |= {f"{run.name}/{name}": tensor.numpy() for name, tensor in run.best.items()}
        found[f"{run.name}/predicted"] = run.predictions[-1]
        found[f"{run.name}/losses"] = np.array([row.loss for row in run.rows])
        for (when, epoch), moment in run.dynamics.items():
            found[f"{run.name}/{when}/{epoch}"] = moment.gold
    return found


if __name__ == "__main__":
    torch.set_num_threads(1)
    with process_group() as ranks:
        outcome = train(sys.argv[2])
        if ranks.writes:
            np.savez(Path(sys.argv[1]), **outcome)
