"""Noise and blur."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.ndimage import gaussian_filter1d

from sfumato.training.corruptions.corruption import Images, at_severity, changed, check_images


@dataclass(frozen=True)
class GaussianNoise:
    """`x + N(0, c)`: sensor noise in poor light. c = 0.04, 0.06, 0.08, 0.09, 0.10."""

    name: ClassVar[str] = "gaussian-noise"
    needs_color: ClassVar[bool] = False
    scales: ClassVar[tuple[float, ...]] = (0.04, 0.06, 0.08, 0.09, 0.10)

    def apply(self, images: Images, severity: int, rng: np.random.Generator) -> Images:
        scale = at_severity(self.scales, severity)
        return changed(images, lambda x: x + scale * rng.standard_normal(x.shape))


@dataclass(frozen=True)
class ShotNoise:
    """`Poisson(c x) / c`: photon noise, with c photons for white. c = 500, 250, 100, 75, 50."""

    name: ClassVar[str] = "shot-noise"
    needs_color: ClassVar[bool] = False
    photons: ClassVar[tuple[int, ...]] = (500, 250, 100, 75, 50)

    def apply(self, images: Images, severity: int, rng: np.random.Generator) -> Images:
        photons = at_severity(self.photons, severity)
        return changed(images, lambda x: rng.poisson(x * photons) / photons)


@dataclass(frozen=True)
class ImpulseNoise:
    """Salt and pepper: a share c of the pixels becomes 0 or 255, equally often. c = 0.01, 0.02, 0.03, 0.05, 0.07."""

    name: ClassVar[str] = "impulse-noise"
    needs_color: ClassVar[bool] = False
    shares: ClassVar[tuple[float, ...]] = (0.01, 0.02, 0.03, 0.05, 0.07)

    def apply(self, images: Images, severity: int, rng: np.random.Generator) -> Images:
        share = at_severity(self.shares, severity)
        check_images(images)
        chance = rng.random(images.shape, dtype=np.float32)
        out = images.copy()
        out[chance < share] = 255
        out[chance < share / 2] = 0
        return out


@dataclass(frozen=True)
class SpeckleNoise:
    """`x + x N(0, c)`: noise proportional to brightness. c = 0.06, 0.1, 0.12, 0.16, 0.2."""

    name: ClassVar[str] = "speckle-noise"
    needs_color: ClassVar[bool] = False
    scales: ClassVar[tuple[float, ...]] = (0.06, 0.1, 0.12, 0.16, 0.2)

    def apply(self, images: Images, severity: int, rng: np.random.Generator) -> Images:
        scale = at_severity(self.scales, severity)
        return changed(images, lambda x: x + x * scale * rng.standard_normal(x.shape))


@dataclass(frozen=True)
class GaussianBlur:
    """A Gaussian filter with a standard deviation of c pixels, truncated at 4 c; edge pixels are repeated outside.

    c = 0.4, 0.6, 0.7, 0.8, 1. Not random.
    """

    name: ClassVar[str] = "gaussian-blur"
    needs_color: ClassVar[bool] = False
    widths: ClassVar[tuple[float, ...]] = (0.4, 0.6, 0.7, 0.8, 1.0)

    def apply(self, images: Images, severity: int, rng: np.random.Generator) -> Images:  # noqa: ARG002
        width = at_severity(self.widths, severity)

        def blurred(x: np.ndarray) -> np.ndarray:
            down = gaussian_filter1d(x, width, axis=1, mode="nearest", truncate=4.0)
            return np.asarray(gaussian_filter1d(down, width, axis=2, mode="nearest", truncate=4.0))

        return changed(images, blurred)
