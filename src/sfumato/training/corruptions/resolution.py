"""Resolution: what encoders and small sensors leave of a picture. By Pillow; nothing is drawn."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.tables.errors import MissingExtra
from sfumato.training.corruptions.corruption import Pictures, at_severity, check_pictures

STACKED = 512
"""Pictures resized as one."""


@dataclass(frozen=True)
class Jpeg:
    """JPEG of quality c, as Pillow writes it: colours at half the resolution. c = 80 65 58 50 40."""

    name: ClassVar[str] = "jpeg"
    needs_colour: ClassVar[bool] = False
    qualities: ClassVar[tuple[int, ...]] = (80, 65, 58, 50, 40)

    def apply(self, images: Pictures, severity: int, rng: np.random.Generator) -> Pictures:  # noqa: ARG002
        quality = at_severity(self.qualities, severity)
        pillow = _pillow()
        check_pictures(images)
        out = np.empty_like(images)
        for i, image in enumerate(images):
            file = io.BytesIO()
            pillow.fromarray(_plain(image)).save(file, "JPEG", quality=quality)
            out[i] = np.asarray(pillow.open(file)).reshape(image.shape)
        return out


@dataclass(frozen=True)
class Pixelate:
    """Made smaller, to a share c of each side, and large again, by the mean of what a pixel covers.

    c = .95 .9 .85 .75 .65.
    """

    name: ClassVar[str] = "pixelate"
    needs_colour: ClassVar[bool] = False
    shares: ClassVar[tuple[float, ...]] = (0.95, 0.9, 0.85, 0.75, 0.65)

    def apply(self, images: Pictures, severity: int, rng: np.random.Generator) -> Pictures:  # noqa: ARG002
        share = at_severity(self.shares, severity)
        check_pictures(images)
        height, width = images.shape[1:3]
        small = max(int(height * share), 1), max(int(width * share), 1)
        out = np.empty_like(images)
        for start in range(0, len(images), STACKED):
            few = images[start : start + STACKED]
            for rows, columns in (small, (height, width)):
                few = _across(_across(few, columns).swapaxes(1, 2), rows).swapaxes(1, 2)
            out[start : start + STACKED] = few
        return out


def _across(images: Pictures, width: int) -> Pictures:
    """The pictures made `width` wide, by means: all as one, below each other, for a row is resized by itself."""
    n_images, height, _, *channels = images.shape
    pillow = _pillow()
    tall = pillow.fromarray(_plain(images.reshape(n_images * height, *images.shape[2:])))
    return np.asarray(tall.resize((width, n_images * height), pillow.Resampling.BOX)).reshape(
        n_images, height, width, *channels
    )


def _plain(image: np.ndarray) -> np.ndarray:
    """An array as Pillow takes it: grey has no third axis."""
    return np.ascontiguousarray(image[..., 0] if image.shape[2:] == (1,) else image)


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtra(
            "found no Pillow",
            expected="the package that writes JPEG and resizes pictures",
            fix='pip install "sfumato[train]", or leave out jpeg and pixelate',
            code="missing-extra",
        ) from error
    return Image
