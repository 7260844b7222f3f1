"""Encodes uint8 arrays as PNG (third edition, W3C 2025) without further packages."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from jaxtyping import UInt8

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GRAY, COLOR = 0, 2
LEFT = 1
"""The filter: each pixel as the difference from its left neighbor, which compresses photographs better."""


def png_bytes(picture: UInt8[np.ndarray, "height width *channels"]) -> bytes:
    """One picture, gray or in three colors, as the bytes of a PNG file."""
    pixels = picture if picture.ndim == 3 else picture[..., None]
    height, width, n_colors = pixels.shape
    size = struct.pack(">IIBBBBB", width, height, 8, COLOR if n_colors == 3 else GRAY, 0, 0, 0)
    lines = pixels.copy()
    lines[:, 1:] -= pixels[:, :-1]  # differences wrap around at 256, as the filter has them
    filtered = np.empty((height, 1 + width * n_colors), np.uint8)
    filtered[:, 0] = LEFT
    filtered[:, 1:] = lines.reshape(height, -1)
    packed = zlib.compress(filtered.tobytes())
    return SIGNATURE + _chunk(b"IHDR", size) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
