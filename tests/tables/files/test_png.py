"""Our PNG against Pillow's reader: the same pixels, mode and size."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from sfumato.tables.files.png import png_bytes


@pytest.mark.parametrize("shape", [(3, 4, 7), (3, 4, 7, 1), (3, 4, 7, 3), (1, 1, 1), (2, 1, 300, 3), (2, 300, 1)])
def test_pillow_reads_the_same_pixels(shape):
    images = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    before = images.copy()
    for image, data in zip(images, map(png_bytes, images), strict=True):
        with Image.open(io.BytesIO(data)) as read:
            read.verify()
        with Image.open(io.BytesIO(data)) as read:
            assert (read.format, read.mode) == ("PNG", "RGB" if shape[3:] == (3,) else "L")
            assert np.array_equal(np.asarray(read), image[..., 0] if shape[3:] == (1,) else image)
    assert np.array_equal(images, before)
