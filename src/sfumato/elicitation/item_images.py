"""Images as participants see them: checked, upright, without metadata, resized as the study says, and encoded again.

Only the pixels of the original file reach the browser, not its metadata or name.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.study.study import Upscale
from sfumato.tables.errors import BadFile, MissingExtra, UnsafeFile

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

    from sfumato.study.stimulus import Item
    from sfumato.study.study import ItemSource

MAX_BYTES = 20_000_000
MAX_PIXELS = 40_000_000
LONGEST_SIDE = 1600
"""Larger images are scaled down: no page shows more pixels."""
JPEG_QUALITY = 92
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
# What Pillow raises for damaged images.
DAMAGE = (
    OSError, SyntaxError, ValueError, TypeError, KeyError, IndexError, AttributeError, EOFError, OverflowError,
    MemoryError, RuntimeError, NotImplementedError, struct.error, zlib.error,
)  # fmt: skip


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
    with _opened(path) as image:
        as_jpeg = image.format == "JPEG"
        return _encoded(_resized(_plain(image), upscale, size), as_jpeg=as_jpeg)


def check_picture(path: Path) -> None:
    """Raise unless `path` is an intact image that can be shown."""
    with _opened(path) as image:
        image.load()


def blended(first: Picture, second: Picture, share: float) -> Picture:
    """Both images blended, with `share` (0 to 1) of the first; the second is resized to the first's size."""
    from PIL import Image

    with Image.open(io.BytesIO(first.data)) as one, Image.open(io.BytesIO(second.data)) as other:
        over = one.convert("RGB")
        under = other.convert("RGB").resize(over.size, Image.Resampling.LANCZOS)
        return _encoded(Image.blend(under, over, share), as_jpeg=False)


def picture_format(start: bytes) -> str | None:
    """The image format by the first 16 bytes of a file: one of `FORMATS`, or None."""
    if start.startswith(b"RIFF") and start[8:12] == b"WEBP":
        return "WEBP"
    if start.startswith(b"BM") and len(start) > 14 and start[6:10] == bytes(4):
        return "BMP"
    signatures = ((b"\x89PNG\r\n\x1a\n", "PNG"), (b"\xff\xd8\xff", "JPEG"), (b"GIF87a", "GIF"), (b"GIF89a", "GIF"))
    return next((name for signature, name in signatures if start.startswith(signature)), None)


@contextmanager
def _opened(path: Path) -> Iterator[Image]:
    """The image in `path`, its header checked; errors while it is used count as damage of the file."""
    try:
        from PIL import Image as Pillow
    except ImportError as error:
        raise MissingExtra("no Pillow", "the package that reads images", 'pip install "sfumato[serve]"') from error
    data = _bytes_of(path)
    try:
        image: Image = Pillow.open(io.BytesIO(data), formats=FORMATS)
        if image.width * image.height > MAX_PIXELS:
            raise _too_large(path, f"{image.width:,} x {image.height:,} pixels")
        if image.format == "PNG":
            # Only verify() checks every checksum; reading the pixels ignores damaged parts.
            image.verify()
            image = Pillow.open(io.BytesIO(data), formats=FORMATS)
        with image:
            yield image
    except (Pillow.DecompressionBombError, Pillow.DecompressionBombWarning) as error:
        raise _too_large(path, "far too many pixels") from error
    except DAMAGE as error:
        reason = str(error).replace("\n", " ")
        # Pillow names its buffer, which is of no use to the user.
        reason = "it cannot be decoded" if "BytesIO" in reason else reason[:120]
        found, expected = f"a damaged image ({reason})", "an intact PNG, JPEG, WebP, GIF or BMP"
        raise BadFile(found, expected, "copy or save the image again", "damaged-picture", path) from error


def _bytes_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        found = f"an image that cannot be opened ({getattr(error, 'strerror', None) or error})"
        expected = "a readable file"
        raise BadFile(found, expected, "check that the file exists, and its permissions", "unreadable", path) from error
    if len(data) > MAX_BYTES:
        raise _too_large(path, f"more than {MAX_BYTES:,} bytes")
    if picture_format(data[:16]) is None:
        found = "an empty file" if not data else "found a file that is not a supported image"
        fix = "save it as PNG or JPEG (renaming does not change the format)"
        raise BadFile(found, "PNG, JPEG, WebP, GIF or BMP content", fix, "no-picture", path)
    return data


def _too_large(path: Path, found: str) -> UnsafeFile:
    expected = f"at most {MAX_PIXELS // 10**6} million pixels and {MAX_BYTES // 10**6} MB"
    return UnsafeFile(f"{found} in an image", expected, "make it smaller", "picture-too-large", path)


def _plain(image: Image) -> Image:
    """The first frame, upright, as 8-bit gray or RGB; transparent pixels become white."""
    from PIL import Image, ImageOps

    image.load()
    upright = ImageOps.exif_transpose(image)
    if upright.mode.startswith("I"):
        # 16-bit gray: a plain conversion would clip all but the darkest values.
        upright = upright.convert("I").point(lambda value: value * (1 / 257)).convert("L")
    elif upright.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in upright.info:
        above = upright.convert("RGBA")
        upright = Image.alpha_composite(Image.new("RGBA", above.size, "white"), above).convert("RGB")
    elif upright.mode not in ("L", "RGB"):
        upright = upright.convert("L" if upright.mode == "1" else "RGB")
    # Only the pixels: a copy would keep the metadata.
    bare = Image.new(upright.mode, upright.size)
    bare.paste(upright)
    return bare


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
