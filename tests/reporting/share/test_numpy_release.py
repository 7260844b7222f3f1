"""The npz, read back by NumPy and as our own inputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.reporting.share import NumpyArchive, Release
from sfumato.tables.errors import BadFile, BadTable
from sfumato.tables.files import npz as module
from sfumato.tables.model_inputs import Inputs


def test_numpy_reads_the_same_values(grey, tmp_path):
    NumpyArchive().write(grey, tmp_path / "set.npz")
    with np.load(tmp_path / "set.npz", allow_pickle=False) as read:
        assert sorted(read) == ["classes", "images", "items", "n_annotators", "probs", "split", "target"]
        assert read["items"].tolist() == grey.labels.items.to_pylist()
        assert tuple(read["classes"].tolist()) == grey.labels.classes
        assert np.array_equal(read["probs"], grey.labels.probs)
        assert np.array_equal(read["n_annotators"], grey.labels.n_annotators)
        assert np.array_equal(read["images"], grey.inputs.images)
        assert read["split"].tolist() == [("train", "test", "held_out")[i % 3] for i in range(16)]
        assert read["target"].tolist() == ["how people judge"]


def test_it_is_a_file_of_inputs(written_texts, tmp_path):
    NumpyArchive().write(written_texts, tmp_path / "set.npz")
    read = Inputs.read(tmp_path / "set.npz")
    assert (read.items, read.texts) == (written_texts.inputs.items, written_texts.inputs.texts)


def test_many_texts_are_written_some_at_a_time(written_texts, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 3)
    NumpyArchive().write(written_texts, tmp_path / "set.npz")
    assert Inputs.read(tmp_path / "set.npz").texts == written_texts.inputs.texts


def test_the_same_labels_give_the_same_file(bare, tmp_path):
    for name in ("a.npz", "b.npz"):
        NumpyArchive().write(bare, tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_unknown_numbers_of_people_are_minus_one(bare, tmp_path):
    NumpyArchive().write(replace(bare, labels=replace(bare.labels, n_annotators=None)), tmp_path / "set.npz")
    with np.load(tmp_path / "set.npz") as read:
        assert read["n_annotators"].tolist() == [-1] * 16


def test_what_an_array_cannot_hold_is_refused(labels, tmp_path, monkeypatch):
    texts = Inputs(tuple(labels.items.to_pylist()), texts=("ends in\0", *["x"] * 15))
    with pytest.raises(BadTable, match="NUL character among the texts"):
        NumpyArchive().write(Release.of(labels, inputs=texts), tmp_path / "set.npz")
    monkeypatch.setattr(module, "MAX_TEXT_BYTES", 1000)
    with pytest.raises(BadTable, match=r"found 16 items of up to 19 characters.*share them as huggingface"):
        NumpyArchive().write(Release.of(labels), tmp_path / "set.npz")
    with pytest.raises(BadFile, match=r"expected a name ending in .npz"):
        NumpyArchive().write(Release.of(labels), tmp_path / "set.zip")
    assert list(tmp_path.iterdir()) == []
