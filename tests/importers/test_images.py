"""`sfumato import images`: a folder of pictures as one npz."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import sfumato as sf
from sfumato.cli import group
from sfumato.tables.errors import SfumatoError
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels


def imported(*arguments: object) -> str:
    done = CliRunner().invoke(group, ["import", "images", *map(str, arguments)])
    if done.exception is not None:
        raise done.exception
    return done.output


def test_a_folder_becomes_an_npz_with_ids_and_classes(tmp_path: Path) -> None:
    folder = tmp_path / "faces"
    for row, name in enumerate(("sad/1.png", "happy/2.png", "happy/3.jpg")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("L", (6, 5), 40 * row).save(folder / name)
    said = imported(folder, "-o", tmp_path / "x.npz", "--original", tmp_path / "original.csv")
    assert "3 images of 5 x 6 pixels, gray" in said
    assert "the folders happy, sad" in said
    inputs = Inputs.read(tmp_path / "x.npz")
    assert inputs.items == ("happy/2", "happy/3", "sad/1")
    assert inputs.labels == ("happy", "happy", "sad")
    assert inputs.images is not None
    assert inputs.images[:, 0, 0].tolist() == [40, 80, 0]
    original = SoftLabels.read(tmp_path / "original.csv")
    assert np.array_equal(original.probs, [[1, 0], [1, 0], [0, 1]])
    imported(folder, "-o", tmp_path / "small.npz", "--size", "2x3")
    small = Inputs.read(tmp_path / "small.npz")
    assert small.images is not None
    assert small.images.shape == (3, 2, 3)


@pytest.mark.parametrize(
    ("source", "output", "code"), [("faces", "x.csv", "file-kind"), ("none", "x.npz", "no-such-folder")]
)
def test_other_names_are_refused(tmp_path: Path, source: str, output: str, code: str) -> None:
    (tmp_path / "faces").mkdir()
    with pytest.raises(SfumatoError) as caught:
        imported(tmp_path / source, "-o", tmp_path / output)
    assert caught.value.code == code


def test_sf_read_takes_a_folder_of_pictures_and_names_the_reader_of_inputs(tmp_path: Path) -> None:
    (tmp_path / "faces").mkdir()
    Image.new("L", (6, 5)).save(tmp_path / "faces" / "1.png")
    read = sf.read(tmp_path / "faces")
    assert isinstance(read, Inputs)
    assert read.items == ("1",)
    np.savez(tmp_path / "x.npz", features=np.eye(2))
    (tmp_path / "x.csv").write_text("item,text\na,one\n")
    for name in ("x.npz", "x.csv"):
        with pytest.raises(SfumatoError, match=r"sf\.Inputs\.read"):
            sf.read(tmp_path / name)
