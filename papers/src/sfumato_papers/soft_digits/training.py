"""The paper's two ways of training: to the best validation loss, for test items; 40 epochs, for how items are learned.

Batches of 64, Adam, six seeds, up to 60 epochs and 40 epochs are the paper's. Its learning rate, patience and seeds did
not survive in its text: 0.001, a tenth of it after 3 epochs without a better validation loss, the end after 7, and
seeds from 0 on are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from sfumato import Inputs, SoftLabels
from sfumato.evaluation import RunPredictions, read_runs
from sfumato.importers.fashion_mnist_h import FASHION_MNIST
from sfumato.importers.importer import CIFAR_10
from sfumato.training import targets as target_types
from sfumato.training.grid import Grid
from sfumato.training.item_join import join_items
from sfumato.training.networks import network_named
from sfumato.training.optimizers import Adam, Plateau
from sfumato.training.recipe import Recipe
from sfumato.training.splits import Fold, NamedSplit
from sfumato.training.training_set import TrainingSet
from sfumato_papers.paper import Rerun, Scale, once
from sfumato_papers.soft_digits.sets import CIFAR_10H, Audited

SEEDS = {Scale.SMALL: 3, Scale.CPU: 6, Scale.FULL: 6}
MOST_EPOCHS = {Scale.SMALL: 16, Scale.CPU: 60, Scale.FULL: 60}
FIXED_EPOCHS = {Scale.SMALL: 12, Scale.CPU: 40, Scale.FULL: 40}
N_WATCHED = {Scale.SMALL: 300, Scale.CPU: 600, Scale.FULL: 2131}
"""Items learned from whose every epoch is kept."""
TEACHER_EPOCHS = {Scale.SMALL: 2, Scale.CPU: 6, Scale.FULL: 6}
NETWORKS = {"SimpleFFN": "simple-ffn", "DeeperFFN": "deeper-ffn", "LeNet": "lenet"}
"""The paper's names, and ours."""
WATCHED_NETWORKS = {Scale.SMALL: ("LeNet",), Scale.CPU: tuple(NETWORKS), Scale.FULL: tuple(NETWORKS)}
"""Those that are trained for a fixed number of epochs."""
ORIGINAL, MAJORITY, EQUAL, WEIGHTED, SYNTHETIC = "original", "majority", "equal", "weighted", "synthetic"
SHUFFLED, ENTROPY_MATCHED = "shuffled", "entropy-matched"
CONTROLS = (SHUFFLED, ENTROPY_MATCHED)
TARGETS = (ORIGINAL, MAJORITY, EQUAL, WEIGHTED)
"""The paper's four, in the order of its rows."""


@once
def performance(rerun: Rerun, audited: Audited) -> list[RunPredictions]:
    """What networks predict for the test items, each from where its validation loss was least."""
    data = _prepared(rerun, audited)
    folds = NamedSplit(audited.learnt, audited.tested).folds(data)
    grid = _grid(rerun, audited, (*TARGETS, *_extra(audited), *CONTROLS), best_recipe(rerun.scale, audited), NETWORKS)
    return read_runs(rerun.train(_folder(audited), data=data, folds=folds, grid=grid))


def dynamics(rerun: Rerun, audited: Audited) -> Path:
    """The folder with runs of a fixed length that kept what they predicted for items they learned from."""
    data = _prepared(rerun, audited)
    row = {item: k for k, item in enumerate(data.items)}
    # None of the items is held out in trainings of a fixed length.
    items = audited.learnt[: len(audited.learnt) - audited.n_validation]
    learnt = np.array([row[item] for item in items], np.int64)
    fold = Fold(0, np.sort(learnt), np.sort(learnt[: rerun.scale.of(N_WATCHED)]))
    targets, networks = (ORIGINAL, MAJORITY, WEIGHTED, *_extra(audited)), watched_networks(rerun.scale)
    grid = _grid(rerun, audited, targets, fixed_recipe(rerun.scale), networks)
    return rerun.train(f"{_folder(audited)}-dynamics", data=data, folds=[fold], grid=grid)


def watched_networks(scale: Scale) -> Mapping[str, str]:
    return {name: NETWORKS[name] for name in scale.of(WATCHED_NETWORKS)}


def best_recipe(scale: Scale, audited: Audited) -> Recipe:
    """Until the validation loss no longer falls."""
    return Recipe(
        epochs=scale.of(MOST_EPOCHS),
        batch_size=64,
        optimiser=Adam(rate=1e-3),
        schedule=Plateau(by=0.1, patience=3),
        validation=audited.n_validation / len(audited.learnt),
        patience=7,
        dynamics="none",
    )


def fixed_recipe(scale: Scale) -> Recipe:
    """So many epochs for all, so that epochs of different seeds can be laid side by side."""
    epochs, adam = scale.of(FIXED_EPOCHS), Adam(rate=1e-3)
    return Recipe(epochs=epochs, batch_size=64, optimiser=adam, dynamics="none", predictions_each_epoch=True)


def targets_of(audited: Audited) -> Mapping[str, target_types.Target]:
    return {
        ORIGINAL: target_types.DistilledTarget() if audited.is_synthetic else target_types.HardTarget(),
        MAJORITY: target_types.MajorityTarget(),
        EQUAL: target_types.DeaggregatedTarget(),
        WEIGHTED: target_types.SoftTarget(),
        SYNTHETIC: target_types.DistilledTarget(),
        SHUFFLED: target_types.ShuffledTarget(by="majority"),
        ENTROPY_MATCHED: target_types.EntropyMatchedTarget(),
    }


def _grid(
    rerun: Rerun, audited: Audited, targets: tuple[str, ...], recipe: Recipe, networks: Mapping[str, str]
) -> Grid:
    every = targets_of(audited)
    return Grid(
        targets={name: every[name] for name in targets},
        networks={name: network_named(name) for name in networks.values()},
        seeds=tuple(range(rerun.scale.of(SEEDS))),
        recipe=recipe,
        device=rerun.device,
    )


def _extra(audited: Audited) -> tuple[str, ...]:
    """Model-made labels, where they are not the original ones already."""
    return () if audited.is_synthetic or audited.name == "MNIST" else (SYNTHETIC,)


def _folder(audited: Audited) -> str:
    return audited.name.lower()


@once
def _prepared(rerun: Rerun, audited: Audited) -> TrainingSet:
    teachers = [model_made(rerun, audited)] if audited.synthetic is not None or _extra(audited) else []
    people, beliefs = audited.weighted, audited.equal_beliefs()
    return join_items(audited.inputs, people=people, beliefs=beliefs, teachers=teachers, classes=people.classes)


def model_made(rerun: Rerun, audited: Audited) -> SoftLabels:
    """The synthetic labels of a set, or their stand-in: what a network that saw other pictures says of these."""
    if audited.synthetic is not None:
        return audited.synthetic
    return _of_resnet(rerun, audited) if audited.name == CIFAR_10H else _of_lenet(rerun, audited)


def _of_resnet(rerun: Rerun, audited: Audited) -> SoftLabels:
    """A ResNet-110's predictions of the CIFAR-10 test pictures (Kerrigan et al. 2021)."""
    with np.load(rerun.data.path("cifar10-model-predictions", "probs.npz")) as file:
        probs = file["resnet_110"].astype(np.float64)
    rows = [int(item) for item in audited.inputs.items]
    return over_classes(audited, probs[rows] / probs[rows].sum(axis=1, keepdims=True), CIFAR_10)


def _of_lenet(rerun: Rerun, audited: Audited) -> SoftLabels:
    """What LeNet says that learned the first 10,000 training pictures of Fashion-MNIST by their one-hot labels."""
    others = rerun.data.pictures("fashion-mnist", "train-first10000.npz", classes=FASHION_MNIST)
    others = replace(others, items=tuple(f"train/{item}" for item in others.items))
    data, fold = learned_and_tested(others, audited.inputs)
    grid = Grid(
        targets={"hard": target_types.HardTarget()},
        networks={"lenet": network_named("lenet")},
        recipe=Recipe(epochs=rerun.scale.of(TEACHER_EPOCHS), dynamics="none"),
        device=rerun.device,
    )
    (run,) = read_runs(rerun.train("fashion-mnist-teacher", data=data, folds=[fold], grid=grid))
    predicted = run.predictions
    return over_classes(audited, predicted.probs[predicted.rows_of(list(audited.inputs.items))], predicted.classes)


def learned_and_tested(learned: Inputs, tested: Inputs) -> tuple[TrainingSet, Fold]:
    """Pictures to learn from, and after them those to predict, with the class each came with."""
    assert learned.images is not None and tested.images is not None  # noqa: PT018
    assert learned.labels is not None and tested.labels is not None and learned.classes is not None  # noqa: PT018
    items, images = (*learned.items, *tested.items), np.concatenate([learned.images, tested.images])
    both = Inputs(items, images, labels=(*learned.labels, *tested.labels), classes=learned.classes)
    fold = Fold(0, np.arange(len(learned)), np.arange(len(learned), len(both)))
    return join_items(both, classes=learned.classes), fold


def over_classes(audited: Audited, probs: np.ndarray, classes: tuple[str, ...]) -> SoftLabels:
    rows = np.zeros((len(probs), len(audited.weighted.classes)))
    rows[:, [audited.weighted.classes.index(name) for name in classes]] = probs
    return SoftLabels.from_numpy(audited.inputs.items, rows, audited.weighted.classes)
