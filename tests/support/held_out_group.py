"""Run groups with a share of their items held out for validation, as an experiment makes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from sfumato.training.networks.network import Network
from sfumato.training.recipe import Recipe
from sfumato.training.run_group import RunGroup, ValidationItems
from sfumato.training.splits import Fold
from sfumato.training.target_labels import Target
from sfumato.training.training_set import TrainingSet


def held_out_group(
    targets: Sequence[Target],
    network: Network,
    training_set: TrainingSet,
    images: torch.Tensor,
    recipe: Recipe,
    seed: int,
    test_images: torch.Tensor | None = None,
    label_seed: int = 0,
) -> RunGroup:
    """The runs of some targets; the recipe says which share is held out."""
    fold = Fold(0, np.arange(training_set.n_items), np.arange(0)).held_out(training_set, recipe.validation, seed)
    train, validation = training_set.take(fold.train), None
    if fold.validation is not None:
        held = training_set.take(fold.validation)
        means = tuple(target.labels(held, np.random.default_rng(label_seed)).mean() for target in targets)
        validation = ValidationItems(held, images[torch.from_numpy(fold.validation)], means)
    return RunGroup(
        tuple(target.name for target in targets),
        network,
        tuple(target.labels(train, np.random.default_rng(label_seed)) for target in targets),
        train,
        images[torch.from_numpy(fold.train)],
        recipe,
        seed,
        test_images=test_images,
        validation=validation,
    )
