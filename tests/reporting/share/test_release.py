"""A release is matched by names and checked once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.reporting.share import FORMATS, Release, Splits, format_named
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.class_order import is_ordered
from sfumato.tables.errors import BadTable, UnknownName
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels


def test_inputs_stand_beside_their_labels_by_name(grey, odd_pictures):
    assert grey.inputs.items == tuple(grey.labels.items.to_pylist())
    for row, item in enumerate(grey.inputs.items):
        assert np.array_equal(grey.inputs.images[row], odd_pictures.images[odd_pictures.items.index(item)])
    assert grey.notes == ("1 inputs of items without a label left out",)


def test_splits_part_all_rows(grey):
    parts = dict(grey.parts())
    assert list(parts) == ["train", "test", "held_out"]
    assert sorted(np.concatenate(list(parts.values())).tolist()) == list(range(16))
    assert parts["test"].tolist() == [1, 4, 7, 10, 13]


def test_a_set_without_splits_is_one_part(bare):
    assert [(name, rows.tolist()) for name, rows in bare.parts()] == [("train", list(range(16)))]


def test_beliefs_follow_the_order_of_the_labels_classes():
    labels = SoftLabels.from_numpy(["a"], [[0.5, 0.5]], ["x", "y"])
    soft = Beliefs.from_probs(item=["a", "b"], annotator=["1", "1"], probs=[[0.9, 0.1]] * 2, classes=["y", "x"])
    hard = Beliefs.from_votes(item=["a", "a"], annotator=["1", "2"], label=["y", "x"], classes=["y", "x"])
    assert Release.of(labels, beliefs=soft).beliefs.probs.tolist() == [[0.1, 0.9]]
    assert Release.of(labels, beliefs=soft).notes == ("1 beliefs of items without a label left out",)
    assert Release.of(labels, beliefs=hard).beliefs.probs.tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_what_does_not_fit_is_an_error(labels):
    with pytest.raises(BadTable, match="found no input for item '007' \\(15 labeled items have none\\)"):
        Release.of(labels, inputs=Inputs(("7",), np.zeros((1, 2, 2), np.uint8)))
    with pytest.raises(BadTable, match=r"found no split for '007', .*15 items have none.*add the missing items"):
        Release.of(labels, splits=Splits.of({"7": "train"}))
    other = Beliefs.from_votes(item=["7"], annotator=["1"], label=["cat"], classes=["cat", "dog"])
    with pytest.raises(BadTable, match="found beliefs over the classes cat, dog"):
        Release.of(labels, beliefs=other)
    empty = SoftLabels.from_numpy([], np.zeros((0, 2)), ["a", "b"])
    with pytest.raises(BadTable, match="expected at least one labeled item"):
        Release.of(empty)


def test_an_item_is_in_one_split(tmp_path):
    path = tmp_path / "splits.csv"
    path.write_text("item,split\na,train\nb,test\na,test\n")
    with pytest.raises(BadTable, match=r"splits.csv:4:item found item 'a' a second time"):
        Splits.read(path)
    path.write_text("item,part\na,train\n")
    with pytest.raises(BadTable, match="expected a column 'split'"):
        Splits.read(path)


def test_a_name_becomes_a_format():
    assert [format_named(each.name) for each in FORMATS] == [each() for each in FORMATS]
    with pytest.raises(UnknownName, match="did you mean 'huggingface'"):
        format_named("hugging_face")


def test_ordered_classes_stay_ordered_in_every_format(grey, tmp_path):
    pytest.importorskip("torch")
    import sfumato as sf
    from sfumato.reporting.share import HuggingFace, NumpyArchive, PyTorch, WideCsv

    for ordered in (True, False):
        labels = grey.labels.as_ordered() if ordered else grey.labels
        release, place = replace(grey, labels=labels), tmp_path / str(ordered)
        place.mkdir()
        HuggingFace().write(release, place / "hf")
        NumpyArchive().write(release, place / "set.npz")
        PyTorch().write(release, place / "torch")
        WideCsv().write(release, place / "csv")
        assert sf.read(next((place / "hf" / "data").glob("*.parquet"))).is_ordered == ordered
        assert sf.read(place / "set.npz", format="labels").is_ordered == ordered
        assert is_ordered(sf.SoftLabelDataset.read(place / "torch").classes) == ordered
        readme = (place / "csv" / "README.md").read_text()
        assert ("ordered: " in readme) == ordered
