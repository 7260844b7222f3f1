"""Light: all pixels of a picture move together. Nothing is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.tables.errors import BadTable
from sfumato.training.corruptions.corruption import Pictures, Pixels, at_severity, changed


@dataclass(frozen=True)
class Contrast:
    """`m + c (x - m)`, m the mean of the picture's channel. c = .75 .5 .4 .3 .15."""

    name: ClassVar[str] = "contrast"
    needs_colour: ClassVar[bool] = False
    factors: ClassVar[tuple[float, ...]] = (0.75, 0.5, 0.4, 0.3, 0.15)

    def apply(self, images: Pictures, severity: int, rng: np.random.Generator) -> Pictures:  # noqa: ARG002
        factor = at_severity(self.factors, severity)

        def flattened(x: Pixels) -> Pixels:
            mean = x.mean(axis=(1, 2), keepdims=True)
            return np.asarray((x - mean) * factor + mean)

        return changed(images, flattened)


@dataclass(frozen=True)
class Brightness:
    """The value of HSV raised by c, hue and saturation kept: `x (v + c) / v`, v the largest of a pixel's colours.

    A black pixel becomes grey, of c. c = .05 .1 .15 .2 .3.
    """

    name: ClassVar[str] = "brightness"
    needs_colour: ClassVar[bool] = False
    added: ClassVar[tuple[float, ...]] = (0.05, 0.1, 0.15, 0.2, 0.3)

    def apply(self, images: Pictures, severity: int, rng: np.random.Generator) -> Pictures:  # noqa: ARG002
        added = at_severity(self.added, severity)

        def brighter(x: Pixels) -> Pixels:
            value = x.max(axis=3, keepdims=True)
            raised = np.minimum(value + added, 1)
            return np.asarray(np.where(value > 0, x * (raised / np.where(value > 0, value, 1)), raised))

        return changed(images, brighter)


@dataclass(frozen=True)
class Saturate:
    """The saturation s of HSV becomes `a s + b`, hue and value kept: `v - (v - x) s' / s`.

    (a, b) = (.3, 0) (.1, 0) (1.5, 0) (2, .1) (2.5, .2): paler first, then more colourful. A pixel without colour has
    the hue of red, and takes it where b is not 0, as in the published set. Grey pictures have no colours to change.
    """

    name: ClassVar[str] = "saturate"
    needs_colour: ClassVar[bool] = True
    changes: ClassVar[tuple[tuple[float, float], ...]] = ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2))

    def apply(self, images: Pictures, severity: int, rng: np.random.Generator) -> Pictures:  # noqa: ARG002
        factor, added = at_severity(self.changes, severity)
        if images.ndim != 4 or images.shape[3] != 3:
            raise BadTable(
                f"found grey images, of shape {images.shape}",
                expected="colours, for saturate",
                fix="leave saturate out for grey images",
                code="no-colour",
            )

        def saturated(x: Pixels) -> Pixels:
            value = x.max(axis=3, keepdims=True)
            away = value - x
            most = away.max(axis=3, keepdims=True)
            is_grey = most == 0
            away = np.where(is_grey, value * np.array([0.0, 1.0, 1.0]), away)
            most = np.where(is_grey, value, most)
            before = np.where(is_grey, 0.0, most / np.where(value > 0, value, 1))
            after = np.clip(before * factor + added, 0, 1)
            # The farthest colour lies `value * after` away now; the others keep their proportion to it.
            return np.asarray(value - away * (value * after / np.where(most > 0, most, 1)))

        return changed(images, saturated)
