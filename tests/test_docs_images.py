"""`docs/make_images.py` ends with an error in place of leaving an image as it was without a word."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture
def make_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(DOCS))
    module = pytest.importorskip("make_images")
    (tmp_path / "images").mkdir()
    monkeypatch.setattr(module, "DOCS", tmp_path)
    return module


def picture(value: int, size: int = 8) -> bytes:
    """A gray picture as a PNG; noise that does not compress for `value` 0."""
    shape = (size, size, 3)
    noise = np.random.default_rng(0).integers(0, 256, shape)
    pixels = (np.full(shape, value) if value else noise).astype(np.uint8)
    written = io.BytesIO()
    Image.fromarray(pixels).save(written, "png")
    return written.getvalue()


def test_it_says_whether_an_image_changed(make_images, capsys):
    for value, said in ((50, "changed"), (50, "unchanged"), (90, "changed")):
        make_images.save_image(picture(value), "one")
        assert capsys.readouterr().out.endswith(f"one.png: {said}\n")


def test_an_image_that_is_too_large_leaves_the_file_as_it_was(make_images, tmp_path):
    make_images.save_image(picture(50), "one")
    before = (tmp_path / "images" / "one.png").read_bytes()
    with pytest.raises(SystemExit, match="expected less than 200,000"):
        make_images.save_image(picture(0, 700), "one")
    assert (tmp_path / "images" / "one.png").read_bytes() == before


def test_an_unknown_name_is_an_error():
    done = subprocess.run([sys.executable, DOCS / "make_images.py", "stduio"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "found stduio; expected study, report, studio" in done.stderr
