"""Duplicates: planted ones found, brute force agreed with, published ones counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

from sfumato.evaluation import image_distance
from sfumato.evaluation.duplicates import find_duplicates, normalized
from sfumato.evaluation.image_distance import near_pairs
from sfumato.tables.errors import BadSetting, BadTable
from sfumato.tables.model_inputs import Inputs


def pictures(n: int, colours: int = 3, size: int = 16, seed: int = 0) -> np.ndarray:
    """Smooth blobs, so that neighbouring pixels hang together as in photographs."""
    rng = np.random.default_rng(seed)
    rough = rng.random((n, 4, 4, colours))
    grid = np.linspace(0, 3, size)
    low = np.minimum(grid.astype(int), 2)
    part = (grid - low)[:, None]
    rows = rough[:, low] * (1 - part[None, :, :, None]) + rough[:, low + 1] * part[None, :, :, None]
    columns = part[None, None]
    smooth = rows[:, :, low] * (1 - columns) + rows[:, :, low + 1] * columns
    return (smooth * 200 + 20).astype(np.uint8)


def inputs(images: np.ndarray, prefix: str = "") -> Inputs:
    return Inputs(tuple(f"{prefix}{i}" for i in range(len(images))), images)


def apart(one: np.ndarray, other: np.ndarray, shift: int) -> float:
    """The distance by loops over every move, down and to the sides, of either picture."""
    h, w = one.shape[:2]
    best = np.inf
    for dy in range(shift + 1):
        for dx in range(-shift if dy else 0, shift + 1):
            a = one[shift : h - shift, shift : w - shift].astype(float).ravel()
            b = other[shift + dy : h - shift + dy, shift + dx : w - shift + dx].astype(float).ravel()
            c = other[shift : h - shift, shift : w - shift].astype(float).ravel()
            d = one[shift + dy : h - shift + dy, shift + dx : w - shift + dx].astype(float).ravel()
            best = min(best, 1 - np.corrcoef(a, b)[0, 1], 1 - np.corrcoef(c, d)[0, 1])
    return best


@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("colours", [1, 3])
def test_no_pair_is_missed(shift: int, colours: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_distance, "ROWS_AT_ONCE", 7)
    monkeypatch.setattr(image_distance, "COLUMNS_AT_ONCE", 11)
    images = pictures(40, colours)
    images[20:] = images[:20] // 2 + images[20:] // 2
    found = near_pairs(images, distance=0.5, shift=shift)
    truth = {(i, j): d for i in range(40) for j in range(i + 1, 40) if (d := apart(images[i], images[j], shift)) <= 0.5}
    assert 10 < len(truth) < 700
    ours = dict(zip(zip(found.first.tolist(), found.second.tolist(), strict=True), found.distance, strict=True))
    assert ours.keys() == truth.keys()
    assert max(abs(ours[pair] - truth[pair]) for pair in truth) < 1e-6


def changed(images: np.ndarray) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="edge")
    wide = images.astype(int)
    return {
        "noise": np.clip(wide + rng.integers(-6, 7, images.shape), 0, 255).astype(np.uint8),
        "brighter": np.clip(wide + 30, 0, 255).astype(np.uint8),
        "paler": (images * 0.7).astype(np.uint8),
        "moved down": padded[:, :-2, 1:-1],
        "moved aslant": padded[:, 2:, :-2],
    }


@pytest.mark.parametrize("how", ["noise", "brighter", "paler", "moved down", "moved aslant"])
def test_near_copies_are_found_and_nothing_else(how: str) -> None:
    images = pictures(400, size=24)
    copies = changed(images[::8])[how]
    found = find_duplicates({"train": inputs(images), "test": inputs(copies)}, distance=0.02)
    assert list(zip(found.first, found.second, strict=True)) == [(8 * k, 400 + k) for k in range(50)]
    assert set(found.kind) == {"near"}
    assert found.leaking("test", "train") == 50
    assert found.leaking("train", "train") == 0


def test_groups_and_what_to_leave_out(tmp_path: Path) -> None:
    images = pictures(10)
    train = np.concatenate([images[:6], images[:1]])  # 0 and 6 are the same
    test = np.concatenate([images[0:1], changed(images[2:3])["brighter"], images[7:8]])
    found = find_duplicates({"train": inputs(train), "test": inputs(test)})
    pairs = found.to_polars()
    assert pairs.columns == ["item_a", "item_b", "distance", "kind", "split_a", "split_b"]
    assert pairs.rows()[0] == ("0", "6", 0.0, "exact", "train", "train")
    assert pairs.rows()[1] == ("0", "0", 0.0, "exact", "train", "test")
    assert pairs.rows()[2][:2] == ("2", "1")
    assert found.groups().tolist() == [0, -1, 1, -1, -1, -1, 0, 0, 1, -1]
    assert np.flatnonzero(found.to_leave_out()).tolist() == [6, 7, 8]
    assert [found.leaking(a, b) for a in found.splits for b in found.splits] == [2, 3, 2, 0]
    found.write_groups(tmp_path / "groups.csv")
    assert pl.read_csv(tmp_path / "groups.csv")["leave_out"].to_list() == [False, True, True, False, True]
    found.write(tmp_path / "pairs.parquet")
    assert pl.read_parquet(tmp_path / "pairs.parquet").equals(pairs)


def test_pictures_of_one_shade_are_compared_exactly() -> None:
    images = np.zeros((5, 8, 8), np.uint8)
    images[3:] = 9
    found = find_duplicates({"all": inputs(images)})
    assert (found.kind.count("exact"), found.kind.count("near"), found.n_flat) == (3, 0, 2)


def test_labels_that_contradict_each_other() -> None:
    images = np.concatenate([pictures(3)] * 2)
    given = Inputs(tuple("abcdef"), images, labels=("x", "y", "x", "x", "x", "x"))
    assert find_duplicates({"all": given}).n_of_other_labels() == 1


def test_texts() -> None:
    texts = ("Hello, world!", "hello  world", "Hello, world!", "other", "ＨELLO world", "?!", "!!")
    found = find_duplicates({"all": Inputs(tuple("abcdefg"), texts=texts)})
    assert [(found.items[a], found.items[b]) for a, b in zip(found.first, found.second, strict=True)] == [
        ("a", "b"), ("a", "c"), ("a", "e"),
    ]  # fmt: skip
    assert found.kind == ("normalised", "exact", "normalised")
    assert normalized(" Straße — No.1\n") == "strasse no 1"


def test_sets_that_cannot_be_compared() -> None:
    small, large = inputs(pictures(3)), inputs(pictures(3, size=20))
    with pytest.raises(BadTable, match="images of 20 x 20 pixels in 3 colors in test") as caught:
        find_duplicates({"train": small, "test": large})
    assert caught.value.code == "wrong-shape"
    with pytest.raises(BadTable, match="found texts in test"):
        find_duplicates({"train": small, "test": Inputs(("a",), texts=("b",))})
    with pytest.raises(BadSetting, match="distance"):
        find_duplicates({"train": small}, distance=2.0)
    with pytest.raises(BadTable, match="no inputs"):
        find_duplicates({})


def test_too_many_to_be_duplicates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_distance, "MOST_PAIRS", 10)
    with pytest.raises(BadTable, match="smaller distance"):
        near_pairs(pictures(40), distance=0.9, shift=0)


def test_cinic_10_holds_these_of_cifar_10(published: Path) -> None:
    """The 93 tiles that are images of the first training batch, all and only these."""
    cifar = Inputs.read(published / "cifar10-train-batch1" / "images.npz")
    cinic = Inputs.read(published / "cinic10-sample" / "images.npz")
    with np.load(published / "cinic10-sample" / "images.npz") as said:
        index, known = said["cifar10_index"], said["in_cifar10"]
    truth = {(int(index[i]), i) for i in np.flatnonzero(known & (index < 10_000))}
    found = find_duplicates({"cifar": cifar, "cinic": cinic}, near=False)
    assert {(int(a), int(b) - 10_000) for a, b in zip(found.first, found.second, strict=True)} == truth
    assert len(truth) == 93


def test_cifar_10_test_images_near_training_ones(published: Path) -> None:
    train = Inputs.read(published / "cifar10-train-batch1" / "images.npz").take(np.arange(3000))
    test = Inputs.read(published / "cifar10-test" / "images.npz").take(np.arange(3000))
    found = find_duplicates({"train": train, "test": test}, shift=0)
    assert 1 <= len(found) <= 20
    assert (found.distance <= 0.05).all()


def test_equal_features_are_duplicates_dense_and_sparse() -> None:
    values = np.array([[0, 1.0, 0], [2, 0, 0], [-0.0, 1, 0], [0, 0, 0], [2, 0, 0]])
    names = tuple("abcde")
    stored = csr_array(([1.0, 2, 0, 1, 2], ([0, 1, 2, 2, 4], [1, 0, 0, 1, 0])), shape=(5, 3))  # with a stored zero
    for features in (values, stored):
        found = find_duplicates(
            {"train": Inputs(names[:2], features=features[:2]), "test": Inputs(names[2:], features=features[2:])}
        )
        assert list(zip(found.first.tolist(), found.second.tolist(), strict=True)) == [(0, 2), (1, 4)]
        assert set(found.kind) == {"exact"}
    with pytest.raises(BadTable, match="sparse features of 3 dimensions in b"):
        find_duplicates({"a": Inputs(names, features=values), "b": Inputs(names, features=stored)})
