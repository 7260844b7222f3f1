"""Which pictures are learned from, held out and met elsewhere; and the published protocol can be made."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from sfumato.tables.errors import BadFile
from sfumato_papers.paper import Rerun, Scale
from sfumato_papers.peterson_2019 import protocol
from sfumato_papers.peterson_2019.fashion import fashion_grid
from sfumato_papers.published_data import PublishedData


def test_every_category_is_learnt_and_held_out(rerun: Rerun) -> None:
    """The released split is sorted by category: its first pictures are of three categories."""
    (fold,) = protocol.folds(rerun)
    label = protocol.cifar_10h(rerun).original
    assert label is not None
    assert np.bincount(label[fold.train]).tolist() == [200] * 10
    assert np.bincount(label[fold.test]).tolist() == [100] * 10
    assert not set(fold.train) & set(fold.test)


def test_every_category_is_met_elsewhere(rerun: Rerun) -> None:
    for name, inputs in protocol.elsewhere(rerun, with_training_set=True).items():
        counts = Counter(inputs.labels)
        assert len(counts) == 10, name
        assert min(counts.values()) > len(inputs) / 20, name
    assert "CIFAR10" not in protocol.elsewhere(rerun, with_training_set=False)


def test_cinic_has_no_picture_of_cifar(published: Path, rerun: Rerun) -> None:
    cpu = Rerun(rerun.data, Scale.CPU, rerun.runs)
    cinic = protocol.elsewhere(cpu, with_training_set=False)["CINIC10"]
    assert len(cinic) == 1532
    with np.load(published / "cifar10-train-batch1" / "images.npz") as file:
        known = {image.tobytes() for image in file["images"]}
    assert cinic.images is not None
    assert not known & {image.tobytes() for image in cinic.images}


def test_a_test_set_is_used_where_it_is_there(published: Path, tmp_path: Path) -> None:
    for folder in published.iterdir():
        (tmp_path / folder.name).symlink_to(folder)
    (tmp_path / "cifar10.1").mkdir()
    np.savez(tmp_path / "cifar10.1" / "v6.npz", images=np.zeros((20, 32, 32, 3), np.uint8), labels=np.arange(20) % 10)
    found = protocol.elsewhere(Rerun(PublishedData(tmp_path), Scale.SMALL, tmp_path), with_training_set=False)
    assert list(found) == ["CIFAR10.1v6", "CINIC10"]
    assert len(found["CIFAR10.1v6"]) == 20


@pytest.mark.parametrize(("n_all", "n"), [(7000, 2000), (1532, 1000), (10, 10), (5, 9), (7, 1)])
def test_places_are_spread_evenly(n_all: int, n: int) -> None:
    kept = protocol.spread(n_all, n)
    assert len(kept) == len(set(kept.tolist())) == min(n, n_all)
    gaps = np.diff(kept)
    assert not len(gaps) or gaps.max() - gaps.min() <= 1
    assert kept[0] == 0
    assert kept[-1] < n_all


def test_the_published_protocol_can_be_made(rerun: Rerun) -> None:
    full = Rerun(rerun.data, Scale.FULL, rerun.runs)
    folds = protocol.folds(full)
    assert [len(fold.train) for fold in folds] == [9000] * 10
    assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(10_000))
    for grid in (protocol.scratch_grid(Scale.FULL), protocol.tuning_grid(Scale.FULL), protocol.mixup_grid(Scale.FULL)):
        assert {protocol.BESIDE[name] for name in grid.networks} == set(protocol.BESIDE.values())
        assert grid.recipe.epochs == 150
    assert fashion_grid(Scale.FULL).recipe.epochs > fashion_grid(Scale.CPU).recipe.epochs
    assert protocol.smaller(Scale.FULL, protocol.TRAINING) == ""
    assert "10 epochs for 150" in protocol.smaller(Scale.SMALL, protocol.TRAINING)


def test_all_of_the_training_set_is_asked_for_by_name(rerun: Rerun) -> None:
    with pytest.raises(BadFile, match=r"found no cifar10-train/images\.npz"):
        protocol.pretraining_set(Rerun(rerun.data, Scale.FULL, rerun.runs))
