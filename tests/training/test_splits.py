"""Which items are learnt from, and which predicted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import toy_data

from sfumato.tables.errors import BadFile, BadSetting, BadTable, SfumatoError
from sfumato.tables.model_inputs import Inputs
from sfumato.training.splits import ItemCountSplit, KFold, NamedSplit, NoSplit, PerClassSplit, RandomSplit, split_named
from sfumato.training.training_set import TrainingSet

# Seventeen items of the first class, eight of the second.
TRAINING_SET = TrainingSet(tuple(f"i{i}" for i in range(25)), ("cat", "dog"), original=np.array([0] * 17 + [1] * 8))


def test_every_item_is_tested_once_and_never_learnt_from_then() -> None:
    folds = KFold(k=4, seed=1).folds(TRAINING_SET)
    assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(25))
    for number, fold in enumerate(folds):
        assert fold.number == number
        assert sorted([*fold.train.tolist(), *fold.test.tolist()]) == list(range(25))
        # A quarter of 25, of 17 and of 8.
        assert len(fold.test) in (6, 7)
        assert (TRAINING_SET.original[fold.test] == 0).sum() in (4, 5)
        assert (TRAINING_SET.original[fold.test] == 1).sum() == 2


def test_folds_are_the_seeds() -> None:
    one, same, other = (
        KFold(k=4).folds(TRAINING_SET),
        KFold(k=4).folds(TRAINING_SET),
        KFold(k=4, seed=3).folds(TRAINING_SET),
    )
    assert all(np.array_equal(a.test, b.test) for a, b in zip(one, same, strict=True))
    assert not all(np.array_equal(a.test, b.test) for a, b in zip(one, other, strict=True))


def test_people_decide_where_there_is_no_original_class() -> None:
    people = np.eye(2)[TRAINING_SET.original] * 0.8 + 0.1
    training_set = TrainingSet(TRAINING_SET.items, TRAINING_SET.classes, people=people)
    for fold, expected in zip(KFold(k=4).folds(training_set), KFold(k=4).folds(TRAINING_SET), strict=True):
        assert np.array_equal(fold.test, expected.test)


def test_a_share_is_of_every_class() -> None:
    (fold,) = RandomSplit(test=0.24, seed=2).folds(TRAINING_SET)
    assert len(fold.test) == 6  # .24 x 25
    assert (TRAINING_SET.original[fold.test] == 1).sum() in (1, 2)  # .24 x 8 = 1.9
    assert sorted([*fold.train.tolist(), *fold.test.tolist()]) == list(range(25))
    drawn = {i for seed in range(40) for i in RandomSplit(test=0.24, seed=seed).folds(TRAINING_SET)[0].test.tolist()}
    assert drawn == set(range(25))


def test_no_split() -> None:
    (fold,) = NoSplit().folds(TRAINING_SET)
    assert fold.train.tolist() == fold.test.tolist() == list(range(25))


def test_given_by_name() -> None:
    (fold,) = NamedSplit(train=("i3", "i1", "unlabelled"), test=("i0", "i24")).folds(TRAINING_SET)
    assert fold.train.tolist() == [1, 3]
    assert fold.test.tolist() == [0, 24]
    with pytest.raises(BadTable, match="no label for 'unlabelled'"):
        NamedSplit(train=("i3",), test=("unlabelled",)).folds(TRAINING_SET)
    with pytest.raises(BadSetting, match="found 'i3' in both parts"):
        NamedSplit(train=("i3", "i4"), test=("i3",))


def test_given_in_files(tmp_path: Path) -> None:
    inputs = Inputs(("a", "b", "c", "d"), np.zeros((4, 2, 2), np.uint8))
    np.save(tmp_path / "train.npy", np.array([3, 0], np.int32))
    (tmp_path / "test.txt").write_text("b\n\n c \n")
    (tmp_path / "test.csv").write_text("item\nb\nc\n")
    for test in ("test.txt", "test.csv"):
        split = NamedSplit.read(tmp_path / "train.npy", tmp_path / test, inputs)
        assert split == NamedSplit(train=("d", "a"), test=("b", "c"))


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (np.array([0, 4]), "missing-input"),
        (np.array([-1]), "missing-input"),
        (np.array([0.5]), "wrong-type"),
        (np.array([[1]]), "wrong-type"),
        ("b\nnobody\n", "missing-input"),
    ],
)
def test_files_that_are_no_split(tmp_path: Path, content: object, code: str) -> None:
    path = tmp_path / ("s.txt" if isinstance(content, str) else "s.npy")
    path.write_text(content) if isinstance(content, str) else np.save(path, content)
    (tmp_path / "test.txt").write_text("a\n")
    inputs = Inputs(("a", "b", "c", "d"), np.zeros((4, 2, 2), np.uint8))
    with pytest.raises(SfumatoError) as caught:
        NamedSplit.read(path, tmp_path / "test.txt", inputs)
    assert caught.value.code == code
    assert isinstance(caught.value, (BadFile, BadTable))


def test_too_few_items() -> None:
    few = toy_data.data().take(np.array([0, 1]))
    with pytest.raises(BadSetting, match="found 2 items"):
        KFold(k=3).folds(few)
    with pytest.raises(BadSetting, match="found 2 items"):
        RandomSplit(test=0.1).folds(few)
    with pytest.raises(BadSetting, match="k = 1"):
        KFold(k=1)
    with pytest.raises(BadSetting, match="test = 1"):
        RandomSplit(test=1)


def with_people(n_items: int, seed: int = 0) -> TrainingSet:
    people = np.random.default_rng(seed).dirichlet([0.5, 0.5, 0.5], n_items)
    return TrainingSet(tuple(f"i{i}" for i in range(n_items)), ("ash", "beech", "cedar"), people=people)


@pytest.mark.parametrize("split", [KFold(k=5, stratify="agreement"), RandomSplit(test=0.2, stratify="agreement")])
def test_parts_have_the_same_agreement(split: KFold | RandomSplit) -> None:
    training_set = with_people(500)
    assert training_set.people is not None
    agreement, label = training_set.people.max(axis=1), training_set.people.argmax(axis=1)
    folds = split.folds(training_set)
    # By chance alone a fold of 100 would be off by 0.013 on average.
    assert max(abs(agreement[fold.test].mean() - agreement.mean()) for fold in folds) < 0.006
    for fold in folds:
        assert np.abs(np.bincount(label[fold.test], minlength=3) - np.bincount(label) / 5).max() <= 2
        assert sorted([*fold.train.tolist(), *fold.test.tolist()]) == list(range(500))
    assert not np.array_equal(replace(split, seed=1).folds(training_set)[0].test, folds[0].test)


def test_stratification_that_cannot_be() -> None:
    with pytest.raises(BadSetting, match="one of class, agreement"):
        KFold(stratify="entropy")
    with pytest.raises(BadSetting, match="stratify=agreement"):
        KFold(k=2, stratify="agreement").folds(TRAINING_SET)


def test_so_many_items() -> None:
    (fold,) = ItemCountSplit(train=10, validation=5).folds(TRAINING_SET)
    assert fold.validation is not None
    assert (len(fold.train), len(fold.validation), len(fold.test)) == (10, 5, 10)
    assert sorted([*fold.train.tolist(), *fold.validation.tolist(), *fold.test.tolist()]) == list(range(25))
    assert (TRAINING_SET.original[fold.train] == 1).sum() in (3, 4)
    (fold,) = ItemCountSplit(train=10, test=3, seed=4).folds(TRAINING_SET)
    assert (len(fold.train), len(fold.test), fold.validation) == (10, 3, None)
    with pytest.raises(BadSetting, match="found 25 items"):
        ItemCountSplit(train=20, validation=5).folds(TRAINING_SET)


def test_so_many_per_class() -> None:
    (fold,) = PerClassSplit(train=4, validation=2).folds(TRAINING_SET)
    assert fold.validation is not None
    assert np.bincount(TRAINING_SET.original[fold.train]).tolist() == [4, 4]
    assert np.bincount(TRAINING_SET.original[fold.validation]).tolist() == [2, 2]
    assert np.bincount(TRAINING_SET.original[fold.test]).tolist() == [11, 2]
    with pytest.raises(BadSetting, match="found 8 items of class 'dog'"):
        PerClassSplit(train=9).folds(TRAINING_SET)


def test_groups_stay_whole(tmp_path: Path) -> None:
    training_set = with_people(300)
    assert training_set.people is not None
    label = training_set.people.argmax(axis=1)
    group = np.random.default_rng(1).integers(0, 80, 300)
    path = tmp_path / "groups.csv"
    path.write_text("item,group\n" + "".join(f"i{i},{g}\n" for i, g in enumerate(group)))
    for split in (KFold(k=4, groups=str(path)), RandomSplit(test=0.25, groups=path)):
        folds = split.folds(training_set)
        for fold in folds:
            assert not set(group[fold.test]) & set(group[fold.train])
            assert sorted([*fold.train.tolist(), *fold.test.tolist()]) == list(range(300))
            assert 70 <= len(fold.test) <= 80
            assert np.abs(np.bincount(label[fold.test], minlength=3) - np.bincount(label) / 4).max() <= 4
            held = fold.held_out(training_set, 0.2, 0)
            assert held.validation is not None
            assert not set(group[held.validation]) & set(group[held.train])
            assert sorted([*held.train.tolist(), *held.validation.tolist()]) == fold.train.tolist()
        assert len({i for fold in folds for i in fold.test.tolist()}) == sum(len(fold.test) for fold in folds)


def test_groups_of_the_duplicates_command(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text(
        "item_a,item_b,distance,kind,split_a,split_b\ni0,i1,0,exact,x,x\ni1,i2,0,near,x,x\ni5,i6,0,near,x,x\n"
    )
    (tmp_path / "groups.csv").write_text("item,split,group,leave_out\ni0,x,0,false\ni1,x,0,true\ni2,x,0,true\n")
    for name in ("pairs.csv", "groups.csv"):
        for seed in range(5):
            for fold in KFold(k=5, seed=seed, groups=str(tmp_path / name)).folds(TRAINING_SET):
                assert len({0, 1, 2} & set(fold.test.tolist())) in (0, 3)


def test_groups_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "few.csv").write_text("item,group\ni0,a\n")
    with pytest.raises(BadTable, match=r"no group for item 'i1' \(24 such items\)"):
        KFold(k=2, groups=str(tmp_path / "few.csv")).folds(TRAINING_SET)
    (tmp_path / "two.csv").write_text("item,group\ni0,a\ni0,b\n")
    with pytest.raises(BadTable, match="in the groups 'a' and 'b'"):
        KFold(k=2, groups=str(tmp_path / "two.csv")).folds(TRAINING_SET)
    with pytest.raises(BadSetting, match="found 1 groups for 2 parts"):
        KFold(k=2, groups=dict.fromkeys(TRAINING_SET.items, "a")).folds(TRAINING_SET)


def test_validation_items_given(tmp_path: Path) -> None:
    (fold,) = NamedSplit(train=("i3", "i1"), test=("i0",), validation=("i7", "unlabelled")).folds(TRAINING_SET)
    assert fold.validation is not None
    assert (fold.train.tolist(), fold.validation.tolist(), fold.test.tolist()) == ([1, 3], [7], [0])
    with pytest.raises(BadSetting, match="found 'i3' in both parts of the split, train and validation"):
        NamedSplit(train=("i3", "i4"), test=("i5",), validation=("i3",))
    with pytest.raises(BadSetting, match="no validation item"):
        NamedSplit(train=("i3",), test=("i5",), validation=()).folds(TRAINING_SET)
    inputs = Inputs(("a", "b", "c", "d"), np.zeros((4, 2, 2), np.uint8))
    for name, text in (("train", "a"), ("validation", "b"), ("test", "c")):
        (tmp_path / f"{name}.txt").write_text(f"{text}\n")
    text = "given:train=train.txt:validation=validation.txt:test=test.txt"
    assert split_named(text, lambda: inputs, tmp_path) == NamedSplit(("a",), ("c",), ("b",))
    with pytest.raises(BadSetting, match="a file with the items of test"):
        split_named("given:train=train.txt", lambda: inputs, tmp_path)


def test_a_share_held_out_is_of_every_class() -> None:
    (fold,) = NoSplit().folds(TRAINING_SET)
    held = fold.held_out(TRAINING_SET, 0.24, seed=1)
    assert held.validation is not None
    assert len(held.validation) == 6
    assert (TRAINING_SET.original[held.validation] == 1).sum() in (1, 2)
    assert fold.held_out(TRAINING_SET, 0, seed=1) is fold
    with pytest.raises(BadSetting, match="held out"):
        fold.held_out(TRAINING_SET, 0.99, seed=1)
