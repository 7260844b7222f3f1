"""Corruption: the protocol of image corruptions in five severities, and helpers for pixels.

Constants and formulas are those of CIFAR-10-C (Hendrycks & Dietterich 2019), whose images have 32 x 32 pixels.
Pixel values are truncated, not rounded, as there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float, UInt8

from sfumato.tables.errors import BadTable, unknown
from sfumato.tables.settings import is_whole

SEVERITIES = (1, 2, 3, 4, 5)
AT_ONCE = 128
"""Images processed at a time: few enough to fit into the processor's cache."""

Images = UInt8[np.ndarray, "items height width *channels"]
Pixels = Float[np.ndarray, "items height width channels"]
"""Images as numbers from 0 to 1; gray images have one channel."""


@runtime_checkable
class Corruption(Protocol):
    """A corruption. `severity` is 1 to 5; random numbers come from `rng`, image by image."""

    name: ClassVar[str]
    needs_color: ClassVar[bool]

    def apply(self, images: Images, severity: int, rng: np.random.Generator) -> Images: ...


T = TypeVar("T")


def at_severity(constants: tuple[T, ...], severity: int) -> T:
    """The constant of a severity."""
    return constants[check_severity(severity) - 1]


def check_severity(severity: int) -> int:
    """`severity`, or an error if it is not 1 to 5."""
    if not is_whole(severity) or severity not in SEVERITIES:
        raise unknown("severity", str(severity), [str(each) for each in SEVERITIES], fix="choose 1 (least) to 5 (most)")
    return severity


def check_images(images: np.ndarray) -> None:
    """Raise an error if these are not images with pixels from 0 to 255."""
    fits = images.ndim == 3 or (images.ndim == 4 and images.shape[3] in (1, 3))
    if images.dtype != np.uint8 or not fits:
        found = f"images of type {images.dtype} and shape {images.shape}"
        expected = "uint8 from 0 to 255, items x height x width [x 3]"
        raise BadTable(found, expected, "scale the pixels to 0..255, with channels last", "bad-images")


def changed(images: Images, change: Callable[[Pixels], Pixels]) -> Images:
    """The images after `change`, a few at a time; values are clipped to 0..1."""
    check_images(images)
    out = np.empty_like(images)
    for start in range(0, len(images), AT_ONCE):
        few = images[start : start + AT_ONCE]
        pixels = change(few.reshape(*few.shape[:3], -1) / 255.0)
        out[start : start + AT_ONCE] = whole_pixels(pixels).reshape(few.shape)
    return out


def whole_pixels(pixels: Pixels) -> Images:
    """Numbers from 0 to 1 as pixels from 0 to 255, truncated."""
    # A rounding error just below a whole number must not lose a gray level.
    return np.asarray(np.clip(pixels, 0, 1) * 255 + 1e-9).astype(np.uint8)
