"""Noise: every pixel, and every colour of it, is off by luck.

Blur: every pixel takes from its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.ndimage import gaussian_filter1d

from sfumato.training.corruptions.corruption import Pictures, at_severity, changed, check_pictures


@dataclass(frozen=True)
class GaussianNoise:
    """`x + N(0, c)`: a sensor in poor light. c = .04 .06 .08 .09 .10."""

    name: ClassVar[str] = "gaussian-noise"
    needs_colour: ClassVar[bool] = False
    scales: ClassVar[tuple[float, ...]] = (0.04, 0.06, 0.08, 0.09, 0.10)

    def apply(self, images: Pictures, severity: int, rng: np.random.Generator) -> Pictures:
        scale = at_severity(self.scales, severity)
        return changed(images, lambda x: x + scale * rng.standard_normal(x.shape))


@dataclass(frozen=True)
class ShotNoise:
    """`Poisson(c x) / c`: light that comes in single photons, c of them in white. c = 500 250 100 75 50."""

    name: ClassVar[str] = "shot-noise"
    needs_colour: ClassVar[bool] = False
    photons: ClassVar[tuple[int, ...]] = (500, 250, 100, 75, 50)

    def apply(self, images: Pictures, severity: int, rng: np.random.Generator) -> Pictures:
        photons = at_severity(self.photons, severity)
        return changed(images, lambda x: rng.poisson(x * photons) / photons)


@dataclass(frozen=True)
class ImpulseNoise:
    """Salt and pepper: a share c of the pixels becomes 0 or 255, either alike. c = .01 .02 .03 .05 .07."""

    name: ClassVar[str] = "impulse-noise"
    needs_colour: ClassVar[bool] = False
    shares: ClassVar[tuple[float, ...]] = (0.01, 0.02, 0.03, 0.05, 0.07)

    def apply(self, images: Pictures, severity: int, rng: np.random.Generator) -> Pictures:
        share = at_severity(self.shares, severity)
        check_pictures(images)
        chance = rng.random(images.shape, dtype=np.float32)
        out = images.copy()
        out[chance < share] = 255
        out[chance < share / 2] = 0
        return out


@dataclass(frozen=True)
class SpeckleNoise:
    """`x + x N(0, c)`: noise that grows with the light. c = .06 .1 .12 .16 .2."""

    name: ClassVar[str] = "speckle-noise"
    needs_colour: ClassVar[bool] = False
    scales: ClassVar[tuple[float, ...]] = (0.06, 0.1, 0.12, 0.16, 0.2)

    def apply(self, images: Pictures, severity: int, rng: np.random.Generator) -> Pictures:
        scale = at_severity(self.scales, severity)
        return changed(images, lambda x: x + x * scale * rng.standard_normal(x.shape))


@dataclass(frozen=True)
class GaussianBlur:
    """A Gaussian of standard deviation c, in pixels, out to four of it; beyond the edge stands the edge.

    c = .4 .6 .7 .8 1. Nothing is drawn.
    """

    name: ClassVar[str] = "gaussian-blur"
    needs_colour: ClassVar[bool] = False
    widths: ClassVar[tuple[float, ...]] = (0.4, 0.6, 0.7, 0.8, 1.0)

    def apply(self, images: Pictures, severity: int, rng: np.random.Generator) -> Pictures:  # noqa: ARG002
        width = at_severity(self.widths, severity)

        def blurred(x: np.ndarray) -> np.ndarray:
            down = gaussian_filter1d(x, width, axis=1, mode="nearest", truncate=4.0)
            return np.asarray(gaussian_filter1d(down, width, axis=2, mode="nearest", truncate=4.0))

        return changed(images, blurred)
