"""The trainings behind Tables 1 to 6 and Figures 6 and 10: which items get which labels, and scores on held-out labels.

All tables read the same runs, which are made once: every label set of a seed starts from the same weights and meets
the same batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Int

from sfumato import SoftLabels
from sfumato.evaluation import Metric, RunPredictions, measure_runs, read_runs
from sfumato.evaluation.metrics import CrossEntropy, RMSCalibration
from sfumato.importers.importer import CIFAR_10
from sfumato.training import targets as target_types
from sfumato.training.attacks import Attack, attack_named
from sfumato.training.grid import Grid
from sfumato.training.item_join import join_items
from sfumato.training.networks import NAMED
from sfumato.training.optimizers import OneCycle, Sgd, StepSchedule
from sfumato.training.recipe import CropAndFlip, Recipe
from sfumato.training.robustness_runs import AttackExperiment, run_missing
from sfumato.training.splits import Fold
from sfumato.training.trained_runs import TrainedRuns
from sfumato.training.training_set import TrainingSet
from sfumato_papers.collins_2022.elicitation import mean_labels, original_classes
from sfumato_papers.collins_2022.label_sets import LABELERS, LabelSets, Relabelled, label_sets
from sfumato_papers.finding import Estimate, Statement, in_words
from sfumato_papers.paper import Rerun, Scale, once

SEEDS = {Scale.SMALL: 3, Scale.CPU: 5, Scale.FULL: 5}
EPOCHS = {Scale.SMALL: 5, Scale.CPU: 30, Scale.FULL: 65}
N_OTHERS = {Scale.SMALL: 100, Scale.CPU: 300, Scale.FULL: 6000}
"""How many items are learned with their hard label, next to the 900 whose labels are compared."""
N_TESTED = {Scale.SMALL: 500, Scale.CPU: 3000, Scale.FULL: 3000}
"""How many items of the held-out 30% are predicted."""
NETWORKS = {Scale.SMALL: ("small",), Scale.CPU: ("small",), Scale.FULL: ("resnet-34a", "vgg-11", "resnet-50")}
RATES = {"small": 0.1, "resnet-34a": 0.1, "vgg-11": 0.1, "resnet-50": 0.4}
N_HELD_OUT = 100
"""How many of the 1,000 CIFAR-10S items are predicted and not learned."""
SMOOTHING = 0.05

VOTES = {Scale.SMALL: (1, 2, 16), Scale.CPU: (1, 2, 4, 16), Scale.FULL: (1, 2, 4, 8, 16, 32)}
BELIEFS = {Scale.SMALL: (1, 2), Scale.CPU: (1, 2, 4), Scale.FULL: (1, 2, 3, 4, 5)}
"""Of how many annotators a pool is made, next to that of all."""


def scaled_down(scale: Scale) -> str:
    if scale == Scale.FULL:
        return ""
    n_train, tested = N_OTHERS[scale] + 900, N_TESTED[scale]
    tests = "" if tested == 3000 else f"; {tested:,} for 3,000 CIFAR-10H items to predict"
    return (
        f"the small network (16, 32, 64 channels) for ResNet-34A, ResNet-50 and VGG-11; {EPOCHS[scale]} epochs in one "
        f"cycle for 65 in steps, without augmentation; {SEEDS[scale]} seeds for 15 (5 a network); {n_train:,} items to "
        f"learn from for 6,900, so that the 900 whose labels differ weigh {900 / n_train:.0%} for 13%{tests}"
    )


@dataclass(frozen=True, eq=False)
class Items:
    """Which pictures are learned from and which are predicted, by number."""

    compared: Int[np.ndarray, "compared"]
    """The 900 of CIFAR-10S whose labels differ."""
    others: Int[np.ndarray, "others"]
    held_out: Int[np.ndarray, "held"]
    """The 100 of CIFAR-10S that are predicted."""
    tested: Int[np.ndarray, "tested"]


def items_of(rerun: Rerun) -> Items:
    """The paper's 70/30 split. It does not say which 100 were held out: ours are drawn, once."""
    rng = np.random.default_rng(2022)
    train, test = rerun.data.cifar_split()
    elicited = rng.permutation(np.array(sorted(map(int, rerun.data.cifar_10s.item.names.to_pylist()))))
    rest = np.setdiff1d(train, elicited)
    held_out, compared = elicited[:N_HELD_OUT], elicited[N_HELD_OUT:]
    others = rng.permutation(rest)[: rerun.scale.of(N_OTHERS)]
    tested = rng.permutation(test)[: rerun.scale.of(N_TESTED)]
    return Items(np.sort(compared), np.sort(others), np.sort(held_out), np.sort(tested))


def targets(sets: LabelSets, scale: Scale) -> dict[str, target_types.Target]:
    def relabelled(target: target_types.Target, of: str) -> Relabelled:
        return Relabelled(target, sets[of])

    found: dict[str, target_types.Target] = {
        "hard": target_types.HardTarget(),
        "random": relabelled(target_types.RandomTarget("soft"), "T2, Clamp"),
        "uniform": relabelled(target_types.UniformTarget(), "T2, Clamp"),
        "10h aggregated": relabelled(target_types.SoftTarget(), "CIFAR-10H"),
        "10s aggregated": relabelled(target_types.SoftTarget(), "T2, Clamp"),
        "10s shuffled": relabelled(target_types.ShuffledTarget(), "T2, Clamp"),
        "10s entropy-matched": relabelled(target_types.EntropyMatchedTarget(), "T2, Clamp"),
        "10h": relabelled(target_types.DeaggregatedTarget(), "CIFAR-10H"),
        "10s": relabelled(target_types.DeaggregatedTarget(), "T2, Clamp"),
        "10s t1 unif": relabelled(target_types.DeaggregatedTarget(), "T1, Unif"),
        "10s t1 clamp": relabelled(target_types.DeaggregatedTarget(), "T1, Clamp"),
        "10s t2 unif": relabelled(target_types.DeaggregatedTarget(), "T2, Unif"),
        "10s select": relabelled(target_types.DeaggregatedTarget(), "Select Top 2 Only"),
        "smoothing": target_types.SmoothingTarget(SMOOTHING),
        "smoothing 900": relabelled(target_types.SmoothingTarget(SMOOTHING), "T2, Clamp"),
    }
    found |= {f"10h m={m}": relabelled(target_types.DeaggregatedTarget(m), "CIFAR-10H") for m in scale.of(VOTES)}
    return found | {
        f"10s m={m}": relabelled(target_types.DeaggregatedTarget(m), "T2, Clamp") for m in scale.of(BELIEFS)
    }


def recipe(scale: Scale, network: str) -> Recipe:
    """As Uma et al. (2020) and Collins et al. (2022) train; in one short cycle at smaller scales."""
    optimiser = Sgd(rate=RATES[network], momentum=0.9, weight_decay=1e-4)
    plain = Recipe(epochs=EPOCHS[scale], optimiser=optimiser, clip=1.0, dynamics="none")
    if scale == Scale.FULL:
        return replace(plain, batch_size=32, schedule=StepSchedule((50, 55), 0.1), augmentation=CropAndFlip())
    return replace(plain, batch_size=64, schedule=OneCycle())


def grid(sets: LabelSets, scale: Scale, network: str, device: str = "cpu") -> Grid:
    return Grid(
        targets=targets(sets, scale),
        networks={network: NAMED[network]},
        seeds=tuple(range(scale.of(SEEDS))),
        recipe=recipe(scale, network),
        device=device,
    )


def training_data(rerun: Rerun, items: Items) -> tuple[TrainingSet, Fold]:
    """The pictures that are learned from or predicted, with their hard labels."""
    numbers = np.sort(np.concatenate([items.compared, items.others, items.held_out, items.tested]))
    data = join_items(rerun.data.cifar_10_test.take(numbers), classes=CIFAR_10)
    n_train = np.isin(numbers, np.concatenate([items.compared, items.others]))
    return data, Fold(0, np.flatnonzero(n_train), np.flatnonzero(~n_train))


@once
def trained(rerun: Rerun) -> list[Path]:
    """The folders with the runs, one a network."""
    items = items_of(rerun)
    data, fold = training_data(rerun, items)
    sets = label_sets(rerun.data, items.compared)
    grids = {network: grid(sets, rerun.scale, network, rerun.device) for network in rerun.scale.of(NETWORKS)}
    return [rerun.train(f"cifar-10s-{name}", data=data, folds=[fold], grid=each) for name, each in grids.items()]


CE, CALIBRATION, FGSM = "CE", "Calibration", "FGSM Loss"
METRICS = (CE, CALIBRATION, FGSM)
BLOCKS = ("10H", "10S")
"""What is evaluated on: held-out labels of CIFAR-10H, and of CIFAR-10S (T2, Clamp)."""
BIN_SIZES = {"10H": 100, "10S": 10}
"""Items a bin, as the published code has them."""
FEW_DRAWS = 100
"""Draws of items, whose interval is not used: the one over trainings is."""

Figures = Mapping[tuple[str, str, str], Mapping[int, float]]
"""By label set, block and metric: a figure a training, by its number."""


def held_out(rerun: Rerun, *, attacked: bool = False) -> dict[str, SoftLabels]:
    """The labels that predictions are compared with, by block. What the loss under attack is taken from are hard labels
    on CIFAR-10H, as the published figure was."""
    items, original = items_of(rerun), original_classes(rerun.data)
    votes = rerun.data.cifar_10h
    tested = [str(n) for n in items.tested]
    mean = mean_labels(LABELERS["T2, Clamp"].label(rerun.data.cifar_10s, CIFAR_10))
    few = [str(n) for n in items.held_out]
    people = {
        "10H": SoftLabels.from_numpy(tested, votes.probs[votes.rows_of(tested)], CIFAR_10),
        "10S": SoftLabels.from_numpy(few, mean.probs[mean.rows_of(few)], CIFAR_10),
    }
    assert len(few) == N_HELD_OUT
    if attacked:
        people["10H"] = SoftLabels.one_hot(tested, [CIFAR_10[original[n]] for n in items.tested], CIFAR_10)
    return people


@once
def figures(rerun: Rerun) -> Figures:
    clean: list[RunPredictions] = []
    attacked: list[RunPredictions] = []
    for folder in trained(rerun):
        clean += read_runs(folder)
        attacked += read_runs(_attacked(rerun, folder))
    labels, under_attack = held_out(rerun), held_out(rerun, attacked=True)
    values: dict[tuple[str, str, str], dict[int, float]] = {}
    for block in BLOCKS:
        calibration = RMSCalibration(size=BIN_SIZES[block], form="published")
        _add(values, clean, labels[block], block, {CE: CrossEntropy(), CALIBRATION: calibration})
        _add(values, attacked, under_attack[block], block, {FGSM: CrossEntropy()})
    return values


def _attacked(rerun: Rerun, folder: Path) -> Path:
    """Where the predictions of attacked pictures stand; those that are missing are made."""
    place = folder.parent / f"{folder.name}-attacked"
    ready = TrainedRuns.in_folder(folder).runs
    fgsm: Attack = attack_named("fgsm", {})
    work = AttackExperiment(ready, place, fgsm, rerun.data.cifar_10_test, device=rerun.device)
    run_missing(work, processes=rerun.processes)
    return next(path for path in sorted(place.iterdir()) if path.name.startswith(fgsm.name))


def _add(
    values: dict[tuple[str, str, str], dict[int, float]],
    runs: list[RunPredictions],
    people: SoftLabels,
    block: str,
    metrics: dict[str, Metric],
) -> None:
    """Put what `metrics` say of `runs` among the values, by their columns' names."""
    column_of = {metric.name: column for column, metric in metrics.items()}
    measured = measure_runs(runs, people=people, metrics=list(metrics.values()), common=True, resamples=FEW_DRAWS)
    numbers = {network: 1000 * k for k, network in enumerate(measured.networks)}
    for each in measured.figures:
        cell = values.setdefault((each.target, block, column_of[each.metric.name]), {})
        cell |= {numbers[each.network] + seed: float(v) for seed, v in zip(each.seeds, each.values, strict=True)}


def differences(found: Figures, one: str, other: str, block: str, metric: str) -> Estimate:
    """How much higher `one` is than `other`, paired by training."""
    return Estimate.paired(found[one, block, metric], found[other, block, metric])


def better(
    found: Figures, says: str, one: str, other: str, *, blocks: tuple[str, ...] = BLOCKS, skip: tuple[str, ...] = ()
) -> list[Statement]:
    """Whether `one` is lower than `other` by intervals that leave out 0, in more than half of metrics, a block each."""
    statements = []
    for block in blocks:
        each = {m: differences(found, one, other, block, m) for m in METRICS if m not in skip}
        n_better = sum(d.is_below_0 for d in each.values())
        ours = f"{n_better} of {len(each)} metrics shown better: {in_words(each, between='; ')}"
        statements.append(_on_block(block, says, n_better > len(each) / 2, ours))
    return statements


def alike(found: Figures, says: str, one: str, other: str) -> list[Statement]:
    """Whether neither of two is better by an interval that leaves out 0 in most metrics."""
    statements = []
    for block in BLOCKS:
        each = {m: differences(found, one, other, block, m) for m in METRICS}
        n_apart = sum(d.leaves_out_0 for d in each.values())
        ours = f"{n_apart} of {len(each)} metrics shown to differ: {in_words(each, between='; ')}"
        statements.append(_on_block(block, says, n_apart <= len(each) / 2, ours))
    return statements


def _on_block(block: str, says: str, holds: bool, ours: str) -> Statement:
    return Statement(f"{block}: {says}", f"{says}, evaluated on {block}", holds, ours)
