"""How networks are trained for Peterson et al. (2019): pictures and splits, targets and recipes of every scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Int

from sfumato import Inputs, SoftLabels
from sfumato.training import targets
from sfumato.training.grid import Grid
from sfumato.training.item_join import join_items
from sfumato.training.mixing import Mixup
from sfumato.training.networks import NAMED, Network, Small
from sfumato.training.optimizers import Adam, OneCycle, Sgd
from sfumato.training.recipe import CropAndFlip, Recipe
from sfumato.training.splits import Fold, KFold
from sfumato.training.training_set import TrainingSet
from sfumato_papers.paper import Rerun, Scale, once

FILE = ("cifar10-model-predictions", "probs.npz")
RELEASED = {"ResNet": "resnet_110", "ResNet preact": "preresnet_110", "DenseNet": "densenet_bc_L190_k40"}
"""By the paper's name of the architecture (Kerrigan, Smyth and Steyvers 2021). ResNet-110 is the paper's own form; it
has the other two as a bottleneck ResNet of 164 layers and a DenseNet of depth 100 and growth 12."""
ENSEMBLE = "Ensemble"
NOT_THE_PAPERS = "three networks that others trained for eight of the paper's, each once; two of them of another depth"
"""Why no figure of theirs can be expected to be the paper's own."""


@once
def released(rerun: Rerun) -> dict[str, SoftLabels]:
    people = rerun.data.cifar_10h
    items = people.items.to_pylist()
    with np.load(rerun.data.path(*FILE)) as file:
        exact = {name: file[key].astype(np.float64) for name, key in RELEASED.items()}
    probs = {name: each / each.sum(axis=1, keepdims=True) for name, each in exact.items()}
    probs[ENSEMBLE] = np.mean(list(probs.values()), axis=0)
    return {name: SoftLabels.from_numpy(items, each, people.classes, 0) for name, each in probs.items()}


N_LEARNT = {Scale.SMALL: 2000, Scale.CPU: 7000}
N_HELD_OUT = {Scale.SMALL: 1000, Scale.CPU: 3000}
N_BEFORE = {Scale.SMALL: 3000, Scale.CPU: 10_000, Scale.FULL: 50_000}
"""Pictures to pretrain on."""
N_ELSEWHERE = {Scale.SMALL: 1000, Scale.CPU: 10_000, Scale.FULL: 50_000}
"""Pictures of a test set from elsewhere, at most."""
FOLDS = 10

BATCH, ALL = ("cifar10-train-batch1", "images.npz"), ("cifar10-train", "images.npz")
BEFORE = {Scale.SMALL: BATCH, Scale.CPU: BATCH, Scale.FULL: ALL}
"""Where the pictures of CIFAR-10's training set stand: the first batch, or all of them."""
OPTIONAL = {"CIFAR10.1v6": ("cifar10.1", "v6.npz"), "CIFAR10.1v4": ("cifar10.1", "v4.npz")}
"""Test sets that are used where they are there: npz files with `images` and `labels`."""
NEEDS = {
    "CIFAR10.1v6": "CIFAR-10.1 v6, which is not among the data here",
    "CIFAR10.1v4": "CIFAR-10.1 v4, which is not among the data here",
    "ImageNet-Far": "ImageNet-Far, which was never released",
}


@once
def cifar_10h(rerun: Rerun) -> TrainingSet:
    """The same with all that is known of them: people's labels, CIFAR-10's, and what three large networks predict."""
    teachers = [released(rerun)[name] for name in RELEASED]
    return join_items(rerun.data.cifar_10_test, people=rerun.data.cifar_10h, teachers=teachers)


def folds(rerun: Rerun) -> Sequence[Fold]:
    """The ten folds of the paper, or one split of Collins et al. (2022), which is quicker."""
    if rerun.scale is Scale.FULL:
        return KFold(FOLDS).folds(cifar_10h(rerun))
    learnt, held_out = rerun.data.cifar_split()
    some = spread(len(learnt), N_LEARNT[rerun.scale]), spread(len(held_out), N_HELD_OUT[rerun.scale])
    return [Fold(0, np.sort(learnt[some[0]]), np.sort(held_out[some[1]]))]


@once
def pretraining_set(rerun: Rerun) -> TrainingSet:
    """Pictures of CIFAR-10's training set with their hard labels."""
    classes = rerun.data.cifar_10h.classes
    pictures = rerun.data.pictures(*rerun.scale.of(BEFORE), classes=classes)
    return join_items(_some(pictures, rerun.scale.of(N_BEFORE)), classes=classes)


@once
def elsewhere(rerun: Rerun, *, with_training_set: bool) -> dict[str, Inputs]:
    """Test sets from elsewhere, the nearest first; CIFAR-10's training pictures only for networks that were not trained
    on them."""
    classes, found = rerun.data.cifar_10h.classes, {}
    if with_training_set:
        found["CIFAR10"] = rerun.data.pictures(*rerun.scale.of(BEFORE), classes=classes)
    for name, parts in OPTIONAL.items():
        if rerun.data.folder.joinpath(*parts).exists():
            found[name] = rerun.data.pictures(*parts, classes=classes)
    found["CINIC10"] = rerun.data.cinic_10
    return {name: _some(inputs, rerun.scale.of(N_ELSEWHERE)) for name, inputs in found.items()}


def spread(n_all: int, n: int) -> Int[np.ndarray, "kept"]:
    """`n` of `n_all` places, evenly spread; all of them where there are no more.

    The released sets are sorted by category, and the first of them would be of a few categories alone.
    """
    return np.arange(n_all) if n_all <= n else np.arange(n) * n_all // n


def _some(inputs: Inputs, n: int) -> Inputs:
    return inputs.take(spread(len(inputs), n))


CONTROL, HUMAN, MIXUP = "control", "human", "mixup"

FINE_TUNED: dict[str, targets.Target] = {
    CONTROL: targets.HardTarget(),
    "category": targets.ClassLevelTarget(),
    HUMAN: targets.SoftTarget(),
    "sampled": targets.SampledTarget(),
    "distilled": targets.DistilledTarget(),
    "shuffled": targets.ShuffledTarget(),
    "entropy-matched": targets.EntropyMatchedTarget(),
}
"""What networks learn in Section 6 after pretraining, and two controls that the paper lacks; mixup stands apart, being
a recipe."""
FROM_SCRATCH = {name: FINE_TUNED[name] for name in (CONTROL, HUMAN, "shuffled", "entropy-matched")}
"""What they learn in Section 5, with the same two controls."""

BESIDE = {
    "small": "VGG",
    "vgg-15-bn": "VGG",
    "densenet-bc-100-12": "DenseNet",
    "pyramidnet-110-270": "PyramidNet",
    "resnet-110": "ResNet",
    "resnext-29": "ResNext",
    "wrn-28-10": "Wide ResNet",
    "preact-resnet-164": "ResNet preact",
    "shake-shake-26": "Shake-Shake",
}
"""The paper's architecture that a network of ours stands next to. The small one is of VGG's kind: plain convolutions,
batch norm and max-pooling."""

PUBLISHED_NETWORKS = {name: NAMED[name] for name in BESIDE if name != "small"}
NETWORKS: dict[Scale, dict[str, Network]] = {
    Scale.SMALL: {"small": Small(width=8)},
    Scale.CPU: {"small": Small(width=16)},
    Scale.FULL: PUBLISHED_NETWORKS,
}
SEEDS = {Scale.SMALL: 3, Scale.CPU: 5, Scale.FULL: 3}

_PUBLISHED = Recipe(epochs=150, batch_size=128, optimiser=Adam(rate=0.1), augmentation=CropAndFlip(), dynamics="none")
"""As the text has it: 150 epochs of Adam, of whose rates 0.1 was found to be the best in all cases."""


def _recipes(rate: float, small: int, cpu: int) -> dict[Scale, Recipe]:
    """One cycle of so many epochs at the smaller scales."""
    cycle = Recipe(
        epochs=cpu, optimiser=Sgd(rate=rate, momentum=0.9, weight_decay=1e-4), schedule=OneCycle(), dynamics="none"
    )
    return {Scale.SMALL: replace(cycle, epochs=small, batch_size=32), Scale.CPU: cycle, Scale.FULL: _PUBLISHED}


TRAINING, PRETRAINING, TUNING = _recipes(0.1, 10, 12), _recipes(0.1, 8, 12), _recipes(0.05, 5, 6)
ALPHA = 0.5
"""Of mixup. The paper searched 0.1 to 1.0 for each architecture; here nothing is searched."""

SMALLER = {
    Scale.SMALL: "three convolutions of 8, 16 and 32 channels for eight architectures; 2,000 pictures to learn from "
    "and 1,000 held out for ten folds of 9,000 and 1,000; {small} epochs for 150; 3 seeds",
    Scale.CPU: "three convolutions of 16, 32 and 64 channels for eight architectures; one split of 7,000 and 3,000 "
    "pictures for ten folds of 9,000 and 1,000; {cpu} epochs for 150; 5 seeds",
    Scale.FULL: "",
}


def seeds(scale: Scale) -> tuple[int, ...]:
    return tuple(range(scale.of(SEEDS)))


def scratch_grid(scale: Scale, device: str = "cpu") -> Grid:
    return Grid(FROM_SCRATCH, scale.of(NETWORKS), seeds(scale), scale.of(TRAINING), device=device)


def tuning_grid(scale: Scale, device: str = "cpu") -> Grid:
    return Grid(FINE_TUNED, scale.of(NETWORKS), seeds(scale), scale.of(TUNING), scale.of(PRETRAINING), device)


def mixup_grid(scale: Scale, device: str = "cpu") -> Grid:
    """The control's labels, mixed; it begins with the same pretrained networks."""
    mixing = replace(scale.of(TUNING), mixing=Mixup(alpha=ALPHA))
    return Grid({MIXUP: targets.HardTarget()}, scale.of(NETWORKS), seeds(scale), mixing, scale.of(PRETRAINING), device)


def from_scratch(rerun: Rerun) -> Path:
    data = cifar_10h(rerun)
    return rerun.train("scratch", data=data, folds=folds(rerun), grid=scratch_grid(rerun.scale, rerun.device))


def fine_tuned(rerun: Rerun) -> Path:
    """The runs of Sections 6 and 7: pretrained on hard labels of other pictures, then fine-tuned."""
    data, before = cifar_10h(rerun), pretraining_set(rerun)
    for grid in (tuning_grid(rerun.scale, rerun.device), mixup_grid(rerun.scale, rerun.device)):
        folder = rerun.train("tuned", data=data, folds=folds(rerun), grid=grid, before=before)
    return folder


def smaller(scale: Scale, recipes: dict[Scale, Recipe]) -> str:
    """In what a training is smaller than the paper's; empty where it is not."""
    return scale.of(SMALLER).format(small=recipes[Scale.SMALL].epochs, cpu=recipes[Scale.CPU].epochs)
