"""Contrast, brightness and saturation. Not random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.tables.errors import BadTable
from sfumato.training.corruptions.corruption import Images, Pixels, at_severity, changed


@dataclass(frozen=True)
class Contrast:
    """`m + c (x - m)`, m the mean of the image's channel. c = 0.75, 0.5, 0.4, 0.3, 0.15."""

    name: ClassVar[str] = "contrast"
    needs_color: ClassVar[bool] = False
    factors: ClassVar[tuple[float, ...]] = (0.75, 0.5, 0.4, 0.3, 0.15)

    def apply(self, images: Images, severity: int, rng: np.random.Generator) -> Images:  # noqa: ARG002
        factor = at_severity(self.factors, severity)

        def flattened(x: Pixels) -> Pixels:
            mean = x.mean(axis=(1, 2), keepdims=True)
            return np.asarray((x - mean) * factor + mean)

        return changed(images, flattened)


@dataclass(frozen=True)
class Brightness:
    """HSV value increased by c, with the same hue and saturation: `x (v + c) / v`, v the largest channel of a pixel.

    A black pixel gets the gray level c. c = 0.05, 0.1, 0.15, 0.2, 0.3.
    """

    name: ClassVar[str] = "brightness"
    needs_color: ClassVar[bool] = False
    added: ClassVar[tuple[float, ...]] = (0.05, 0.1, 0.15, 0.2, 0.3)

    def apply(self, images: Images, severity: int, rng: np.random.Generator) -> Images:  # noqa: ARG002
        added = at_severity(self.added, severity)

        def brighter(x: Pixels) -> Pixels:
            value = x.max(axis=3, keepdims=True)
            raised = np.minimum(value + added, 1)
            return np.asarray(np.where(value > 0, x * (raised / np.where(value > 0, value, 1)), raised))

        return changed(images, brighter)


@dataclass(frozen=True)
class Saturate:
    """HSV saturation s becomes `a s + b`, with the same hue and value: `v - (v - x) s' / s`.

    (a, b) = (0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2): first less, then more saturated. A gray pixel has the
    hue of red, which becomes visible if b is not 0, as in the published data. Not for gray images.
    """

    name: ClassVar[str] = "saturate"
    needs_color: ClassVar[bool] = True
    changes: ClassVar[tuple[tuple[float, float], ...]] = ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2))

    def apply(self, images: Images, severity: int, rng: np.random.Generator) -> Images:  # noqa: ARG002
        factor, added = at_severity(self.changes, severity)
        if images.ndim != 4 or images.shape[3] != 3:
            found = f"gray images of shape {images.shape}"
            raise BadTable(found, "color images, for saturate", "omit saturate for gray images", "no-colour")

        def saturated(x: Pixels) -> Pixels:
            value = x.max(axis=3, keepdims=True)
            away = value - x
            most = away.max(axis=3, keepdims=True)
            is_gray = most == 0
            away = np.where(is_gray, value * np.array([0.0, 1.0, 1.0]), away)
            most = np.where(is_gray, value, most)
            before = np.where(is_gray, 0.0, most / np.where(value > 0, value, 1))
            after = np.clip(before * factor + added, 0, 1)
            # The largest difference becomes `value * after`; the others keep their proportion to it.
            return np.asarray(value - away * (value * after / np.where(most > 0, most, 1)))

        return changed(images, saturated)
