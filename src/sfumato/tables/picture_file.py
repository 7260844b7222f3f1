"""Reads image files: recognized by content, with limits on size, upright, without transparency and metadata."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.tables.errors import BadFile, MissingExtra, UnsafeFile

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_BYTES = 20_000_000
MAX_PIXELS = 40_000_000
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
# What Pillow raises for damaged images.
DAMAGE = (
    OSError, SyntaxError, ValueError, TypeError, KeyError, IndexError, AttributeError, EOFError, OverflowError,
    MemoryError, RuntimeError, NotImplementedError, struct.error, zlib.error,
)  # fmt: skip


def picture_format(start: bytes) -> str | None:
    """The image format by the first 16 bytes of a file: one of `FORMATS`, or None."""
    if start.startswith(b"RIFF") and start[8:12] == b"WEBP":
        return "WEBP"
    if start.startswith(b"BM") and len(start) > 14 and start[6:10] == bytes(4):
        return "BMP"
    signatures = ((b"\x89PNG\r\n\x1a\n", "PNG"), (b"\xff\xd8\xff", "JPEG"), (b"GIF87a", "GIF"), (b"GIF89a", "GIF"))
    return next((name for signature, name in signatures if start.startswith(signature)), None)


@contextmanager
def opened_picture(path: Path) -> Iterator[Image]:
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


def plain_picture(image: Image) -> Image:
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
