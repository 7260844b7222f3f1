"""Votes in data frames, and tables used like arrays and dictionaries."""

from __future__ import annotations

from typing import Any

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato import Beliefs, Counts, SfumatoError, SoftLabels

VOTES = {"item": ["a", "a", "b"], "annotator": ["1", "2", "1"], "label": ["x", "y", "x"]}
EXPECTED = Beliefs.from_votes(**VOTES)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "made",
    [
        lambda: Beliefs.from_pandas(pd.DataFrame(VOTES)),
        lambda: Beliefs.from_polars(pl.DataFrame(VOTES)),
        lambda: Beliefs.from_hf(datasets.Dataset.from_dict(VOTES)),
        lambda: Beliefs.from_pandas(pd.DataFrame(VOTES).rename(columns={"item": "task", "annotator": "worker"})),
        lambda: Beliefs.from_pandas(pd.DataFrame(VOTES).rename(columns={"label": "vote"}), label="vote"),
        lambda: Beliefs.from_pandas(pd.DataFrame(VOTES).astype("category")),
        lambda: Beliefs.from_polars(EXPECTED.to_polars(), classes=EXPECTED.classes),
        lambda: Beliefs.from_pandas(EXPECTED.to_pandas()),
    ],
)
def test_every_frame_gives_the_same_beliefs(made: Any) -> None:
    assert made() == EXPECTED


def test_class_names_of_hugging_face_are_kept_also_those_without_votes() -> None:
    features = {"item": datasets.Value("string"), "annotator": datasets.Value("int64")}
    animals = datasets.ClassLabel(names=["cat", "dog", "owl"])
    columns = {"item": ["a", "a", "b"], "annotator": [1, 2, 1], "label": [2, 0, 0]}
    dataset = datasets.Dataset.from_dict(columns, features=datasets.Features(**features, label=animals))
    beliefs = Beliefs.from_hf(dataset)
    assert beliefs.classes == ("cat", "dog", "owl")
    assert beliefs.probs.argmax(axis=1).tolist() == [2, 0, 0]
    assert Beliefs.from_hf(dataset.select([0, 2])).probs.argmax(axis=1).tolist() == [2, 0]


def test_whole_numbers_that_pandas_made_floats_are_class_numbers() -> None:
    assert Beliefs.from_pandas(pd.DataFrame(VOTES | {"label": [1.0, 0.0, 1.0]})).classes == ("0", "1")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: Beliefs.from_pandas(VOTES), "a dict"),
        (lambda: Beliefs.from_pandas(pd.DataFrame(VOTES), item="photo"), "the column 'photo'"),
        (lambda: Beliefs.from_pandas(pd.DataFrame({"a": [1], "b": [2]})), "a column for the item"),
        (lambda: Beliefs.from_hf(datasets.DatasetDict(train=datasets.Dataset.from_dict(VOTES))), "dataset['train']"),
    ],
)
def test_other_frames_are_refused_with_a_fix(wrong: Any, said: str) -> None:
    with pytest.raises(SfumatoError) as refused:
        wrong()
    assert said in str(refused.value)


def test_columns_to_name_are_suggested_by_their_names() -> None:
    frame = pd.DataFrame({"photo": ["a"], "worker_id": ["1"], "answer": ["cat"]})
    with pytest.raises(SfumatoError, match="item='photo', annotator='worker_id', label='answer'"):
        Beliefs.from_pandas(frame)
    assert Beliefs.from_pandas(frame, item="photo", annotator="worker_id", label="answer", classes=["cat", "dog"])


def test_counts_and_labels_from_frames() -> None:
    counts = Counts.from_numpy(["a", "b"], [[2, 1], [0, 3]], ["x", "y"])
    wide = {"item": ["a", "b"], "n:x": [2, 0], "n:y": [1, 3]}
    assert Counts.from_pandas(pd.DataFrame(wide)) == counts == Counts.from_polars(pl.DataFrame(wide))
    assert sf.aggregate(pd.DataFrame(wide)) == sf.aggregate(counts)
    labels = SoftLabels.from_pandas(pd.DataFrame({"item": ["a"], "p:x": [0.5], "p:y": [0.5]}))
    assert labels["a"] == {"x": 0.5, "y": 0.5}


def test_labels_can_be_used_like_a_dictionary_and_an_array() -> None:
    labels = SoftLabels.from_numpy(["a", "17"], [[0.2, 0.8], [0.5, 0.5]], ["x", "y"])
    assert labels["a"] == {"x": 0.2, "y": 0.8}
    assert labels[17] == {"x": 0.5, "y": 0.5}
    assert list(labels) == ["a", "17"]
    assert "a" in labels
    assert 17 in labels
    assert "b" not in labels
    np.testing.assert_array_equal(np.asarray(labels), [[0.2, 0.8], [0.5, 0.5]])
    np.testing.assert_allclose(labels.entropy(), [-0.2 * np.log(0.2) - 0.8 * np.log(0.8), np.log(2)])
    assert labels.argmax().tolist() == ["y", "x"]
    assert labels.head(1).rows() == [("a", 0.2, 0.8, None)]
    with pytest.raises(SfumatoError, match="no item 'b' among 2 items"):
        labels["b"]
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(labels)[0, 0] = 1.0


def test_counts_can_be_used_like_a_dictionary_and_an_array() -> None:
    counts = Counts.from_numpy(["a", "b"], [[2, 1], [0, 3]], ["x", "y"])
    assert counts["b"] == {"x": 0, "y": 3}
    assert np.asarray(counts).tolist() == [[2, 1], [0, 3]]
    assert Beliefs.from_counts(["a", "b"], [[2, 1], [0, 3]], ["x", "y"]) == counts.votes()


def test_tables_are_equal_if_rows_classes_and_type_are() -> None:
    def made(value: float = 0.2, name: str = "a", classes: tuple[str, ...] = ("x", "y")) -> SoftLabels:
        return SoftLabels.from_numpy([name], [[value, 1 - value]], classes)

    assert made() == made()
    assert hash(made()) == hash(made())
    assert made() != made(value=0.3)
    assert made() != made(name="b")
    assert made() != made(classes=("x", "z"))
    assert made() != Counts.from_numpy(["a"], [[1, 4]], ["x", "y"])
    assert made() != "a"
