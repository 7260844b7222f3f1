"""Blur: every pixel takes from its neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.ndimage import gaussian_filter1d

from sfumato.training.corruptions.corruption import Pictures, at_severity, changed


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
