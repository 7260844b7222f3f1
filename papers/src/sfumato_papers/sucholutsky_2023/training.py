"""The trainings behind Sections 7.2 to 7.4: every label set, from the same weights and batches for all of a seed.

The paper trains five networks by ten-fold cross-validation over several rates and seeds, and keeps the best seed of
each; it gives neither rates nor epochs. At full scale those are Peterson et al.'s (2019), whose networks it takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from sfumato import SoftLabels
from sfumato.evaluation import RunPredictions, read_runs
from sfumato.importers.importer import CIFAR_10
from sfumato.training.grid import Grid
from sfumato.training.item_join import join_items
from sfumato.training.networks import NAMED
from sfumato.training.optimizers import OneCycle, Sgd, StepSchedule
from sfumato.training.recipe import CropAndFlip, Recipe
from sfumato.training.splits import Fold, KFold, RandomSplit
from sfumato_papers.paper import Rerun, Scale, once
from sfumato_papers.published_data import drawn_by_class
from sfumato_papers.sucholutsky_2023.label_sets import LabelSet, LabelTable, label_sets

SEEDS = {Scale.SMALL: 3, Scale.CPU: 4, Scale.FULL: 3}
EPOCHS = {Scale.SMALL: 3, Scale.CPU: 6, Scale.FULL: 150}
N_PICTURES = {Scale.SMALL: 2000, Scale.CPU: 10_000, Scale.FULL: 10_000}
"""How many test pictures of CIFAR-10 are learned from or predicted."""
HELD_OUT = 0.3
NETWORKS = {
    Scale.SMALL: ("small",),
    Scale.CPU: ("small",),
    Scale.FULL: ("vgg-15-bn", "resnet-110", "wrn-28-10", "densenet-bc-100-12", "shake-shake-26"),
}
N_FOLDS = 10

FEW_SEEDS = {Scale.SMALL: 3, Scale.CPU: 5, Scale.FULL: 10}
FEW_EPOCHS = {
    80: {Scale.SMALL: 4, Scale.CPU: 20, Scale.FULL: 150},
    8: {Scale.SMALL: 15, Scale.CPU: 40, Scale.FULL: 150},
}
N_TESTED = {Scale.SMALL: 500, Scale.CPU: 2000, Scale.FULL: 9000}
"""How many further pictures are predicted by networks that learned from few."""


def scaled_down(scale: Scale) -> str:
    if scale == Scale.FULL:
        return ""
    n = scale.of(N_PICTURES)
    fewer = "" if n == 10_000 else f" of {n:,} pictures for 10,000"
    return (
        f"the small network (16, 32, 64 channels) for VGG, ResNet, WRN, DenseNet and Shake-Shake; {scale.of(EPOCHS)} "
        f"epochs in one cycle, without augmentation; one split, {1 - HELD_OUT:.0%} learned from{fewer}, for ten-fold "
        f"cross-validation; the mean of {scale.of(SEEDS)} seeds for the best one"
    )


def few_scaled_down(scale: Scale) -> str:
    if scale == Scale.FULL:
        return ""
    return (
        f"the small network (16, 32, 64 channels) for the paper's five; {scale.of(FEW_EPOCHS[80])} and "
        f"{scale.of(FEW_EPOCHS[8])} epochs in one cycle, without augmentation; {scale.of(FEW_SEEDS)} seeds, each with "
        f"its own draw of pictures; {scale.of(N_TESTED):,} other pictures to predict"
    )


@once
def trained(rerun: Rerun) -> list[Path]:
    """The folders with networks that learned each label set, one a network."""
    shown, per_class = rerun.data.cifar_10_test, rerun.scale.of(N_PICTURES) // len(CIFAR_10)
    assert shown.labels is not None
    some = drawn_by_class(shown.labels, per_class, np.random.default_rng(2023))
    data = join_items(shown.take(some), classes=CIFAR_10)
    folds = (KFold(N_FOLDS) if rerun.scale == Scale.FULL else RandomSplit(HELD_OUT)).folds(data)
    grids = {name: grid(label_sets(rerun), rerun.scale, name, rerun.device) for name in rerun.scale.of(NETWORKS)}
    return [rerun.train(f"label-sets-{name}", data=data, folds=folds, grid=each) for name, each in grids.items()]


@once
def predictions(rerun: Rerun) -> list[RunPredictions]:
    return [run for folder in trained(rerun) for run in read_runs(folder)]


def trained_on_few(rerun: Rerun, per_class: int, names: Sequence[str]) -> list[RunPredictions]:
    """Networks that learned from so many pictures per class, drawn again for every seed."""
    every = {name: label_sets(rerun)[name] for name in names}
    shown = rerun.data.cifar_10_test
    assert shown.labels is not None
    for seed in range(rerun.scale.of(FEW_SEEDS)):
        rng = np.random.default_rng([2023, per_class, seed])
        learnt = drawn_by_class(shown.labels, per_class, rng)
        others = np.setdiff1d(np.arange(len(shown)), learnt)
        tested = rng.permutation(others)[: rerun.scale.of(N_TESTED)]
        numbers = np.sort(np.concatenate([learnt, tested]))
        data, is_learnt = join_items(shown.take(numbers), classes=CIFAR_10), np.isin(numbers, learnt)
        fold = Fold(0, np.flatnonzero(is_learnt), np.flatnonzero(~is_learnt))
        for name in rerun.scale.of(NETWORKS):
            grid = few_grid(every, rerun.scale, name, per_class, seed, rerun.device)
            rerun.train(f"few-{per_class}/{name}-{seed}", data=data, folds=[fold], grid=grid)
    return read_runs(rerun.folder / f"few-{per_class}")


def grid(sets: Mapping[str, SoftLabels], scale: Scale, network: str, device: str = "cpu") -> Grid:
    return _grid(sets, tuple(range(scale.of(SEEDS))), recipe(scale, scale.of(EPOCHS)), network, device)


def few_grid(
    sets: Mapping[str, SoftLabels], scale: Scale, network: str, per_class: int, seed: int, device: str = "cpu"
) -> Grid:
    return _grid(sets, (seed,), recipe(scale, scale.of(FEW_EPOCHS[per_class]), batch_size=32), network, device)


def _grid(sets: Mapping[str, SoftLabels], seeds: tuple[int, ...], how: Recipe, network: str, device: str) -> Grid:
    targets = {name: LabelSet(LabelTable(labels)) for name, labels in sets.items()}
    return Grid(targets=targets, networks={network: NAMED[network]}, seeds=seeds, recipe=how, device=device)


def recipe(scale: Scale, epochs: int, *, batch_size: int = 64) -> Recipe:
    """In one cycle at smaller scales; at full scale in steps, with crops and flips."""
    optimiser = Sgd(rate=0.1, momentum=0.9, weight_decay=1e-4)
    plain = Recipe(epochs=epochs, batch_size=batch_size, optimiser=optimiser, dynamics="none")
    if scale == Scale.FULL:
        steps = StepSchedule((epochs // 2, epochs * 3 // 4), 0.1)
        return replace(plain, batch_size=128, schedule=steps, augmentation=CropAndFlip())
    return replace(plain, schedule=OneCycle(), clip=1.0)
