"""Which items get which labels, and what the published protocol is."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.training.networks import ResNet
from sfumato.training.optimizers import StepSchedule
from sfumato.training.target_labels import PooledLabels
from sfumato_papers.collins_2022 import protocol
from sfumato_papers.collins_2022.label_sets import LabelSets, label_sets, votes_pool
from sfumato_papers.collins_2022.protocol import grid, held_out, items_of, scaled_down, targets, training_data
from sfumato_papers.paper import Rerun, Scale


@pytest.fixture(scope="module")
def full(rerun: Rerun) -> Rerun:
    return Rerun(rerun.data, Scale.FULL, rerun.runs)


@pytest.fixture(scope="module")
def sets(full: Rerun) -> LabelSets:
    return label_sets(full.data, items_of(full).compared)


def test_items_of_the_published_split(full: Rerun) -> None:
    items = items_of(full)
    assert [len(each) for each in (items.compared, items.others, items.held_out, items.tested)] == [
        900, 6000, 100, 3000,
    ]  # fmt: skip
    everything = np.concatenate([items.compared, items.others, items.held_out, items.tested])
    assert sorted(everything) == list(range(10_000))
    elicited = set(map(int, full.data.cifar_10s.item.names.to_pylist()))
    assert {*items.compared.tolist(), *items.held_out.tolist()} == elicited
    assert not elicited & set(items.tested.tolist())


def test_smaller_scales_learn_and_predict_some_of_the_same(full: Rerun, rerun: Rerun) -> None:
    all_of, some = items_of(full), items_of(rerun)
    assert some.compared.tolist() == all_of.compared.tolist()
    assert set(some.others) < set(all_of.others)
    assert set(some.tested) < set(all_of.tested)


def test_the_published_protocol(full: Rerun, sets: LabelSets) -> None:
    for network, rate in (("resnet-34a", 0.1), ("vgg-11", 0.1), ("resnet-50", 0.4)):
        made = grid(sets, Scale.FULL, network)
        recipe = made.recipe
        assert (recipe.epochs, recipe.batch_size, recipe.clip, len(made.seeds)) == (65, 32, 1.0, 5)
        assert (recipe.optimiser.rate, recipe.optimiser.momentum, recipe.optimiser.weight_decay) == (rate, 0.9, 1e-4)
        assert recipe.schedule == StepSchedule((50, 55), 0.1)
        assert recipe.augmentation is not None
    assert protocol.NETWORKS[Scale.FULL] == ("resnet-34a", "vgg-11", "resnet-50")
    assert grid(sets, Scale.FULL, "resnet-34a").networks["resnet-34a"] == ResNet(depth=44, bias=True)
    assert scaled_down(Scale.FULL) == ""
    assert f"{protocol.EPOCHS[Scale.CPU]} epochs in one cycle for 65" in scaled_down(Scale.CPU)


def test_every_label_set_can_be_learnt(full: Rerun, sets: LabelSets) -> None:
    """All 26 at full scale; but for the 900 items, and for smoothing of all, every label is hard."""
    items = items_of(full)
    data, fold = training_data(full, items)
    training_set = data.take(fold.train)
    rng = np.random.default_rng(0)
    some = np.isin(np.array(training_set.items, int), items.compared)
    assert some.sum() == 900
    made = {name: target.labels(training_set, rng) for name, target in targets(sets, Scale.FULL).items()}
    assert len(made) == 26
    for name, labels in made.items():
        if name != "smoothing":
            assert (labels.mean()[~some].max(axis=1) == 1).all(), name
    pools = {name: np.diff(each.starts)[some] for name, each in made.items() if isinstance(each, PooledLabels)}
    assert set(pools["10s"]) == {6, 7}
    assert (pools["10s m=3"] == 3).all()
    assert (pools["10h m=32"] == 32).all()
    assert pools["10h"].min() >= 47


def test_pools_have_the_votes_of_cifar_10h(full: Rerun) -> None:
    numbers = np.array([5, 17, 6750])
    pool = votes_pool(full.data.cifar_10h, numbers)
    with np.load(full.data.path("cifar10h", "counts.npz")) as file:
        counts = file["counts"][numbers]
    for i in range(3):
        rows = pool.rows[pool.starts[i] : pool.starts[i + 1]]
        assert rows.sum(axis=0).tolist() == counts[i].tolist()
        assert (rows.max(axis=1) == 1).all()


def test_labels_that_predictions_are_held_against(full: Rerun) -> None:
    labels, attacked = held_out(full), held_out(full, attacked=True)
    assert (len(labels["10H"]), len(labels["10S"])) == (3000, 100)
    assert (labels["10H"].probs.max(axis=1) < 1).any()
    assert (attacked["10H"].probs.max(axis=1) == 1).all()
    assert (attacked["10S"].probs.max(axis=1) < 1).any()
