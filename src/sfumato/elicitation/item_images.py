"""Images as participants see them: checked, upright, without metadata, resized as the study says, and encoded again.

Only the pixels of the original file reach the browser, not its metadata or name.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.study.study import Upscale
from sfumato.tables.picture_file import opened_picture, plain_picture

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

    from sfumato.study.stimulus import Item
    from sfumato.study.study import ItemSource

LONGEST_SIDE = 1600
"""Larger images are scaled down: no page shows more pixels."""
JPEG_QUALITY = 92


@dataclass(frozen=True)
class Picture:
    """An encoded image, ready to send."""

    data: bytes
    media_type: str


def rendered(item: Item, source: ItemSource) -> Picture:
    """The image of `item` as participants see it; an error if its file is not an image, damaged, or too large."""
    if item.picture is not None:
        return rendered_file(item.picture, source.upscale, source.size)
    assert item.row is not None, "a text has no image"
    assert source.npz is not None
    from PIL import Image

    image = Image.fromarray(_images(source.npz, source.npz.stat().st_mtime_ns)[item.row])
    return _encoded(_resized(image, source.upscale, source.size), as_jpeg=False)


def rendered_file(path: Path, upscale: Upscale, size: int) -> Picture:
    """The image in `path` as participants see it."""
    with opened_picture(path) as image:
        as_jpeg = image.format == "JPEG"
        return _encoded(_resized(plain_picture(image), upscale, size), as_jpeg=as_jpeg)


def check_picture(path: Path) -> None:
    """Raise unless `path` is an intact image that can be shown."""
    with opened_picture(path) as image:
        image.load()


def blended(first: Picture, second: Picture, share: float) -> Picture:
    """Both images blended, with `share` (0 to 1) of the first; the second is resized to the first's size."""
    from PIL import Image

    with Image.open(io.BytesIO(first.data)) as one, Image.open(io.BytesIO(second.data)) as other:
        over = one.convert("RGB")
        under = other.convert("RGB").resize(over.size, Image.Resampling.LANCZOS)
        return _encoded(Image.blend(under, over, share), as_jpeg=False)


def _resized(image: Image, upscale: Upscale, size: int) -> Image:
    """Scaled up to `size` pixels on the longer side if it has fewer; scaled down only beyond `LONGEST_SIDE`."""
    from PIL import Image

    longer = max(image.size)
    if upscale is Upscale.NONE or size <= longer <= LONGEST_SIDE:
        return image
    filters = {Upscale.LANCZOS: Image.Resampling.LANCZOS, Upscale.NEAREST: Image.Resampling.NEAREST}
    target, how = (size, filters[upscale]) if longer < size else (LONGEST_SIDE, Image.Resampling.LANCZOS)
    width, height = (max(1, round(side * target / longer)) for side in image.size)
    return image.resize((width, height), how)


def _encoded(image: Image, *, as_jpeg: bool) -> Picture:
    buffer = io.BytesIO()
    if as_jpeg:
        image.save(buffer, "JPEG", quality=JPEG_QUALITY, subsampling=0)
    else:
        image.save(buffer, "PNG")
    return Picture(buffer.getvalue(), "image/jpeg" if as_jpeg else "image/png")


@lru_cache(maxsize=1)
def _images(path: Path, modified_ns: int) -> np.ndarray:  # noqa: ARG001
    """The images of an npz, cached as long as the file is unchanged."""
    from sfumato.tables.files.npz import read_arrays

    return read_arrays(path)["images"]
