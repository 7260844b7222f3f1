"""Which items are learnt from, and which predicted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import toy_data

from sfumato.tables.errors import BadFile, BadSetting, BadTable, SfumatoError
from sfumato.tables.model_inputs import Inputs
from sfumato.training.splits import KFold, NamedSplit, NoSplit, RandomSplit
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
