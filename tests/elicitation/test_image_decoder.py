"""Pictures decoded elsewhere: the same pictures and the same errors, and no picture takes the server along."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from sfumato.elicitation import item_images
from sfumato.elicitation.image_decoder import Decoder
from sfumato.study.study import Upscale
from sfumato.tables.errors import BadFile, UnsafeFile


@pytest.fixture
def decoder() -> Iterator[Decoder]:
    made = Decoder()
    yield made
    made.close()


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "a.png"
    Image.new("RGB", (9, 5), (200, 30, 30)).save(path)
    return path


def test_the_same_pictures_and_the_same_errors(decoder: Decoder, picture: Path, tmp_path: Path) -> None:
    assert decoder.rendered_file(picture, Upscale.NEAREST, 32) == item_images.rendered_file(
        picture, Upscale.NEAREST, 32
    )
    first = decoder.pid
    (tmp_path / "b.png").write_bytes(picture.read_bytes()[:-20])
    (tmp_path / "c.png").write_text("<svg/>")
    for name in ("b.png", "c.png", "none.png"):
        with pytest.raises(BadFile) as here:
            item_images.rendered_file(tmp_path / name, Upscale.NONE, 32)
        with pytest.raises(BadFile) as there:
            decoder.rendered_file(tmp_path / name, Upscale.NONE, 32)
        assert str(there.value) == str(here.value)
    # One process for all of them.
    assert decoder.pid == first


def test_a_process_that_is_killed_is_begun_again(decoder: Decoder, picture: Path) -> None:
    decoder.rendered_file(picture, Upscale.NONE, 32)
    assert decoder.pid is not None
    os.kill(decoder.pid, signal.SIGKILL)
    assert decoder.rendered_file(picture, Upscale.NONE, 32).media_type == "image/png"


def test_a_picture_that_takes_too_long_is_given_up(decoder: Decoder, tmp_path: Path, picture: Path) -> None:
    # A pipe without a writer: opening it blocks.
    endless = tmp_path / "endless.png"
    os.mkfifo(endless)
    impatient = Decoder(seconds=1.0)
    with pytest.raises(UnsafeFile) as refused:
        impatient.rendered_file(endless, Upscale.NONE, 32)
    assert refused.value.code == "picture-not-decoded"
    assert impatient.pid is None


def test_memory_is_limited_and_nothing_can_be_written(decoder: Decoder, picture: Path) -> None:
    decoder.rendered_file(picture, Upscale.NONE, 32)
    limits = Path(f"/proc/{decoder.pid}/limits").read_text()
    of = {line[:26].strip(): line[26:].split()[0] for line in limits.splitlines()[1:]}
    assert int(of["Max address space"]) == 1536 * 2**20
    assert of["Max file size"] == "0"
    assert of["Max core file size"] == "0"


@pytest.mark.slow
def test_the_largest_picture_allowed_fits(decoder: Decoder, tmp_path: Path) -> None:
    path = tmp_path / "large.png"
    Image.new("RGBA", (8000, 5000), (1, 2, 3, 4)).save(path, compress_level=1)
    patient = Decoder(60)
    try:
        assert patient.rendered_file(path, Upscale.NEAREST, 32).media_type == "image/png"
    finally:
        patient.close()
