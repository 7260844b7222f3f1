"""How networks are trained for Peterson et al. (2019): the sizes of every scale, from scratch and after pretraining."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sfumato.training import targets
from sfumato.training.grid import Grid
from sfumato.training.mixing import Mixup
from sfumato.training.networks import NAMED, Network, Small
from sfumato.training.optimizers import Adam, OneCycle, Sgd
from sfumato.training.recipe import CropAndFlip, Recipe
from sfumato_papers.paper import Rerun, Scale
from sfumato_papers.peterson_2019.pictures import cifar_10h, folds, pretraining_set

CONTROL, HUMAN, MIXUP = "control", "human", "mixup"

FROM_SCRATCH: dict[str, targets.Target] = {
    CONTROL: targets.HardTarget(),
    HUMAN: targets.SoftTarget(),
    "shuffled": targets.ShuffledTarget(),
    "entropy-matched": targets.EntropyMatchedTarget(),
}
"""What networks learn in Section 5, and two controls that the paper lacks."""

FINE_TUNED: dict[str, targets.Target] = {
    CONTROL: targets.HardTarget(),
    "category": targets.ClassLevelTarget(),
    HUMAN: targets.SoftTarget(),
    "sampled": targets.SampledTarget(),
    "distilled": targets.DistilledTarget(),
    "shuffled": targets.ShuffledTarget(),
    "entropy-matched": targets.EntropyMatchedTarget(),
}
"""What they learn in Section 6 after pretraining, with the same two controls; mixup stands apart, being a recipe."""

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

_QUICK = Sgd(rate=0.1, momentum=0.9, weight_decay=1e-4)
_GENTLE = Sgd(rate=0.05, momentum=0.9, weight_decay=1e-4)
_PUBLISHED = Recipe(epochs=150, batch_size=128, optimiser=Adam(rate=0.1), augmentation=CropAndFlip(), dynamics="none")
"""As the text has it: 150 epochs of Adam, of whose rates 0.1 was found to be the best in all cases."""

TRAINING = {
    Scale.SMALL: Recipe(epochs=10, batch_size=32, optimiser=_QUICK, schedule=OneCycle(), dynamics="none"),
    Scale.CPU: Recipe(epochs=12, optimiser=_QUICK, schedule=OneCycle(), dynamics="none"),
    Scale.FULL: _PUBLISHED,
}
PRETRAINING = {
    Scale.SMALL: Recipe(epochs=8, batch_size=32, optimiser=_QUICK, schedule=OneCycle(), dynamics="none"),
    Scale.CPU: Recipe(epochs=12, optimiser=_QUICK, schedule=OneCycle(), dynamics="none"),
    Scale.FULL: _PUBLISHED,
}
TUNING = {
    Scale.SMALL: Recipe(epochs=5, batch_size=32, optimiser=_GENTLE, schedule=OneCycle(), dynamics="none"),
    Scale.CPU: Recipe(epochs=6, optimiser=_GENTLE, schedule=OneCycle(), dynamics="none"),
    Scale.FULL: _PUBLISHED,
}
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
