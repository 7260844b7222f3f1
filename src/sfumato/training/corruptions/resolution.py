"""JPEG compression and pixelation, with Pillow. Not random."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.tables.errors import missing_extra
from sfumato.training.corruptions.corruption import Images, at_severity, check_images

STACKED = 512
"""Images resized at a time."""


@dataclass(frozen=True)
class Jpeg:
    """JPEG of quality c, as Pillow writes it: color at half the resolution. c = 80, 65, 58, 50, 40."""

    name: ClassVar[str] = "jpeg"
    needs_color: ClassVar[bool] = False
    qualities: ClassVar[tuple[int, ...]] = (80, 65, 58, 50, 40)

    def apply(self, images: Images, severity: int, rng: np.random.Generator) -> Images:  # noqa: ARG002
        quality = at_severity(self.qualities, severity)
        pillow = _pillow()
        check_images(images)
        out = np.empty_like(images)
        for i, image in enumerate(images):
            file = io.BytesIO()
            pillow.fromarray(_for_pillow(image)).save(file, "JPEG", quality=quality)
            out[i] = np.asarray(pillow.open(file)).reshape(image.shape)
        return out


@dataclass(frozen=True)
class Pixelate:
    """Resized to a share c of each side and back, by averaging over the area of a pixel.

    c = 0.95, 0.9, 0.85, 0.75, 0.65.
    """

    name: ClassVar[str] = "pixelate"
    needs_color: ClassVar[bool] = False
    shares: ClassVar[tuple[float, ...]] = (0.95, 0.9, 0.85, 0.75, 0.65)

    def apply(self, images: Images, severity: int, rng: np.random.Generator) -> Images:  # noqa: ARG002
        share = at_severity(self.shares, severity)
        check_images(images)
        height, width = images.shape[1:3]
        small = max(int(height * share), 1), max(int(width * share), 1)
        out = np.empty_like(images)
        for start in range(0, len(images), STACKED):
            few = images[start : start + STACKED]
            for rows, columns in (small, (height, width)):
                few = _resized(_resized(few, columns).swapaxes(1, 2), rows).swapaxes(1, 2)
            out[start : start + STACKED] = few
        return out


def _resized(images: Images, width: int) -> Images:
    """The images resized to `width`; stacked vertically into one image, because rows are resized independently."""
    n_images, height, _, *channels = images.shape
    pillow = _pillow()
    tall = pillow.fromarray(_for_pillow(images.reshape(n_images * height, *images.shape[2:])))
    return np.asarray(tall.resize((width, n_images * height), pillow.Resampling.BOX)).reshape(
        n_images, height, width, *channels
    )


def _for_pillow(image: np.ndarray) -> np.ndarray:
    """An array for Pillow: gray images have no third axis."""
    return np.ascontiguousarray(image[..., 0] if image.shape[2:] == (1,) else image)


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise missing_extra(
            "Pillow", "to write JPEG and resize images", "train", ", or omit jpeg and pixelate"
        ) from error
    return Image
