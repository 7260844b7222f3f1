"""Corruption: one way in which pictures get worse, in five steps.

The constants and formulas are those of CIFAR-10-C (Hendrycks & Dietterich 2019), whose pictures have 32 px. As there,
pixels are cut down to whole numbers, not rounded.
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
"""Pictures changed at a time: few enough for their floats to stay near the processor."""

Pictures = UInt8[np.ndarray, "items height width *channels"]
Pixels = Float[np.ndarray, "items height width channels"]
"""Pictures as numbers from 0 to 1, grey ones with one channel."""


@runtime_checkable
class Corruption(Protocol):
    """How pictures get worse. `severity` is 1 to 5; whatever is drawn comes from `rng`, picture after picture."""

    name: ClassVar[str]
    needs_colour: ClassVar[bool]

    def apply(self, images: Pictures, severity: int, rng: np.random.Generator) -> Pictures: ...


T = TypeVar("T")


def at_severity(constants: tuple[T, ...], severity: int) -> T:
    """The constant of a severity."""
    return constants[check_severity(severity) - 1]


def check_severity(severity: int) -> int:
    """`severity`, or an error unless there is one like it."""
    if not is_whole(severity) or severity not in SEVERITIES:
        raise unknown("severity", str(severity), [str(each) for each in SEVERITIES], fix="choose 1 (least) to 5 (most)")
    return severity


def check_pictures(images: np.ndarray) -> None:
    """An error unless these are pictures, of pixels from 0 to 255."""
    fits = images.ndim == 3 or (images.ndim == 4 and images.shape[3] in (1, 3))
    if images.dtype != np.uint8 or not fits:
        raise BadTable(
            f"found images of type {images.dtype} and shape {images.shape}",
            expected="uint8 from 0 to 255, items x height x width [x 3]",
            fix="scale the pixels to 0..255, the colours last",
            code="bad-images",
        )


def changed(images: Pictures, change: Callable[[Pixels], Pixels]) -> Pictures:
    """The pictures after `change`, a few at a time; what leaves 0..1 is cut off."""
    check_pictures(images)
    out = np.empty_like(images)
    for start in range(0, len(images), AT_ONCE):
        few = images[start : start + AT_ONCE]
        pixels = change(few.reshape(*few.shape[:3], -1) / 255.0)
        out[start : start + AT_ONCE] = whole_pixels(pixels).reshape(few.shape)
    return out


def whole_pixels(pixels: Pixels) -> Pictures:
    """Numbers from 0 to 1 as pixels from 0 to 255, cut down to whole ones."""
    # What is a whole number but for the last digits of a sum must not lose a step.
    return np.asarray(np.clip(pixels, 0, 1) * 255 + 1e-9).astype(np.uint8)
