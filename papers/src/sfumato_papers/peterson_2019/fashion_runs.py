"""LeNet on Fashion-MNIST-H with the targets of Peterson et al. (2019): what is trained, and what is measured of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from sfumato.evaluation import read_runs
from sfumato.evaluation.metrics import (
    Accuracy,
    AccuracyOriginal,
    ConfidenceWhenRight,
    ConfidenceWhenWrong,
    CrossEntropy,
    SecondBestAccuracy,
)
from sfumato.tables.inputs import Inputs
from sfumato.training.attacks import attack_named
from sfumato.training.corruptions import GaussianNoise
from sfumato.training.grid import Grid
from sfumato.training.item_join import join_items
from sfumato.training.mixing import Mixup
from sfumato.training.networks import LeNet
from sfumato.training.recipe import Recipe
from sfumato.training.robustness_runs import AttackExperiment, ShiftExperiment, corruptions_for, run_missing
from sfumato.training.splits import Fold
from sfumato.training.targets import (
    ClassLevelTarget,
    EntropyMatchedTarget,
    HardTarget,
    SampledTarget,
    ShuffledTarget,
    SoftTarget,
    Target,
)
from sfumato.training.trained_runs import CLEAN, TrainedRuns
from sfumato_papers.paper import Rerun, Scale
from sfumato_papers.peterson_2019.pictures import original
from sfumato_papers.peterson_2019.protocol import ALPHA, CONTROL, HUMAN, MIXUP
from sfumato_papers.peterson_2019.run_scores import Scored, scored, under

NETWORK = "lenet"
N_LEARNT = {Scale.SMALL: 2000, Scale.CPU: 7000, Scale.FULL: 7000}
N_HELD_OUT = {Scale.SMALL: 1000, Scale.CPU: 3000, Scale.FULL: 3000}
EPOCHS = {Scale.SMALL: 10, Scale.CPU: 15, Scale.FULL: 60}
SEEDS = {Scale.SMALL: 3, Scale.CPU: 5, Scale.FULL: 10}
SEVERITIES = {Scale.SMALL: (3,), Scale.CPU: (1, 3, 5), Scale.FULL: (1, 2, 3, 4, 5)}
TARGETS: dict[str, Target] = {
    CONTROL: HardTarget(),
    "category": ClassLevelTarget(),
    HUMAN: SoftTarget(),
    "sampled": SampledTarget(),
    "shuffled": ShuffledTarget(),
    "entropy-matched": EntropyMatchedTarget(),
}


def fashion_grid(scale: Scale, device: str = "cpu") -> Grid:
    """What is trained, mixup apart."""
    recipe = Recipe(epochs=scale.of(EPOCHS), dynamics="none")
    return Grid(TARGETS, {NETWORK: LeNet()}, tuple(range(scale.of(SEEDS))), recipe, device=device)


def _pictures(rerun: Rerun) -> Inputs:
    people = rerun.data.fashion_mnist_h
    return rerun.once("fashion", lambda: rerun.data.pictures("fashion-mnist", "test.npz", classes=people.classes))


def _trained(rerun: Rerun) -> Path:
    inputs, scale = _pictures(rerun), rerun.scale
    data = join_items(inputs, people=rerun.data.fashion_mnist_h)
    fold = Fold(0, np.arange(scale.of(N_LEARNT)), np.arange(7000, 7000 + scale.of(N_HELD_OUT)))
    grid = fashion_grid(scale, rerun.device)
    mixed = replace(grid, targets={MIXUP: HardTarget()}, recipe=replace(grid.recipe, mixing=Mixup(alpha=ALPHA)))
    for each in (grid, mixed):
        folder = rerun.train("fashion", data=data, folds=[fold], grid=each)
    return folder


def on_held_out(rerun: Rerun) -> Scored:
    """Held-out pictures against people and against original labels, and with noise against people."""

    def measured() -> Scored:
        folder, inputs, people = _trained(rerun), _pictures(rerun), rerun.data.fashion_mnist_h
        output = folder.parent / "fashion-noise"
        noise = corruptions_for(inputs, [GaussianNoise()], rerun.scale.of(SEVERITIES))[1:]
        ready = TrainedRuns.in_folder(folder).runs
        run_missing(ShiftExperiment(ready, output, inputs, noise, device=rerun.device), processes=rerun.processes)
        runs, noisy, hard = read_runs(folder), read_runs(output), original(inputs)
        metrics = (
            CrossEntropy(),  Accuracy(), SecondBestAccuracy(), ConfidenceWhenRight(),
            ConfidenceWhenWrong(),
        )  # fmt: skip
        return Scored(
            {
                "people": scored(runs, people, metrics),
                "original": scored(runs, hard, (CrossEntropy(), AccuracyOriginal()), original=hard),
            }
            | {each.name: scored(under(noisy, each.name), people, (CrossEntropy(), Accuracy())) for each in noise}
        )

    return rerun.once("fashion scored", measured)


def under_attack(rerun: Rerun) -> tuple[Scored, str]:
    """Original labels before and after FGSM, and what the attack is called."""

    def measured() -> tuple[Scored, str]:
        folder, inputs = _trained(rerun), _pictures(rerun)
        output, hard = folder.parent / "fashion-fgsm", original(inputs)
        attacking = AttackExperiment(
            TrainedRuns.in_folder(folder).runs,
            output,
            attack_named("fgsm", {"eps": 4 / 255}),
            inputs,
            device=rerun.device,
        )
        run_missing(attacking, processes=rerun.processes)
        runs, name = read_runs(output), attacking.name_of(1)
        metrics = (AccuracyOriginal(), CrossEntropy())
        return Scored({each: scored(under(runs, each), hard, metrics, original=hard) for each in (CLEAN, name)}), name

    return rerun.once("fashion attacked", measured)
