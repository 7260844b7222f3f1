"""The PyTorch folder and the dataset, against plain NumPy and torch's own loader."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from torch.utils.data import DataLoader

import sfumato
from sfumato import SoftLabelDataset
from sfumato.reporting.share import PyTorch
from sfumato.tables.errors import BadFile, BadTable, MissingExtra
from sfumato.tables.model_inputs import Inputs


def test_the_files_hold_the_same_values(grey, tmp_path):
    PyTorch().write(grey, tmp_path / "out")
    tensors = load_file(tmp_path / "out" / "data.safetensors")
    words = json.loads((tmp_path / "out" / "data.json").read_text())
    assert words["items"] == grey.labels.items.to_pylist()
    assert tuple(words["classes"]) == grey.labels.classes
    assert words["target"] == "how people judge"
    assert np.array_equal(tensors["probs"], grey.labels.probs)
    assert np.array_equal(tensors["n_annotators"], grey.labels.n_annotators)
    assert np.array_equal(tensors["images"], grey.inputs.images)
    assert [words["splits"][k] for k in tensors["split"]] == [("train", "test", "held_out")[i % 3] for i in range(16)]


@pytest.mark.parametrize("which", ["grey", "colour"])
def test_the_dataset_pairs_a_picture_with_its_distribution(which, tmp_path, request):
    release = request.getfixturevalue(which)
    PyTorch().write(release, tmp_path / "out")
    dataset = SoftLabelDataset.read(tmp_path / "out")
    assert len(dataset) == 16
    for row, (picture, probs) in enumerate(dataset):
        expected = release.inputs.images[row].astype(np.float32) / 255
        expected = expected.transpose(2, 0, 1) if expected.ndim == 3 else expected[None]
        assert picture.dtype == probs.dtype == torch.float32
        assert np.array_equal(picture.numpy(), expected)
        assert np.array_equal(probs.numpy(), release.labels.probs[row].astype(np.float32))


def test_items_are_matched_by_name(labels, odd_pictures):
    dataset = SoftLabelDataset(odd_pictures, labels)
    picture, _ = dataset[0]
    assert np.array_equal(picture.numpy()[0] * 255, odd_pictures.images[15])
    assert torch.equal(dataset[-1][0], dataset[15][0])
    with pytest.raises(IndexError):
        dataset[16]


def test_a_loader_takes_it_and_the_loss_takes_its_labels(labels, odd_pictures):
    loader = DataLoader(SoftLabelDataset(odd_pictures, labels), batch_size=5)
    pictures, probs = next(iter(loader))
    assert pictures.shape == (5, 1, 5, 3)
    logits = torch.zeros(5, 4)
    loss = torch.nn.functional.cross_entropy(logits, probs)
    assert float(loss) == pytest.approx(np.log(4), abs=1e-6)


def test_one_split_and_texts(grey, written_texts, tmp_path):
    PyTorch().write(grey, tmp_path / "grey")
    test = SoftLabelDataset.read(tmp_path / "grey", split="test")
    assert test.items == tuple(grey.labels.items.to_pylist()[row] for row in (1, 4, 7, 10, 13))
    assert np.array_equal(test.probs.numpy(), grey.labels.probs[[1, 4, 7, 10, 13]].astype(np.float32))
    assert np.array_equal(test[1][0].numpy()[0] * 255, grey.inputs.images[4])
    with pytest.raises(BadTable, match="found no split 'dev'; expected one of train, test, held_out"):
        SoftLabelDataset.read(tmp_path / "grey", split="dev")
    PyTorch().write(written_texts, tmp_path / "texts")
    assert SoftLabelDataset.read(tmp_path / "texts")[3][0] == written_texts.inputs.texts[3]


def test_bad_folders_and_missing_inputs(bare, labels, tmp_path):
    PyTorch().write(bare, tmp_path / "bare")
    with pytest.raises(BadFile, match="found labels without images or texts"):
        SoftLabelDataset.read(tmp_path / "bare")
    (tmp_path / "bare" / "data.safetensors").write_bytes(b"nonsense")
    with pytest.raises(BadFile, match="cannot be read"):
        SoftLabelDataset.read(tmp_path / "bare")
    with pytest.raises(BadTable, match="found no input for item '007'"):
        SoftLabelDataset(Inputs(("x",), texts=("y",)), labels)


def test_without_the_extra_it_says_what_to_install(tmp_path, monkeypatch, bare):
    with monkeypatch.context() as without_torch:
        without_torch.setattr("importlib.util.find_spec", lambda name: None)
        with pytest.raises(MissingExtra, match=r"found no torch.*sfumato\[train\]"):
            sfumato.SoftLabelDataset  # noqa: B018
    monkeypatch.setattr("sfumato.reporting.share.pytorch_release.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="found no safetensors"):
        PyTorch().write(bare, tmp_path / "out")
    with pytest.raises(AttributeError):
        sfumato.nothing  # noqa: B018
