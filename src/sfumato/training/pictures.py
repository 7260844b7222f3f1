"""Pictures: images as networks take them, standardised once and kept in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor


@dataclass(frozen=True)
class PixelScale:
    """Mean and standard deviation of each channel, of pixels from 0 to 1."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    @classmethod
    def of(cls, images: UInt8[np.ndarray, "items height width *channels"]) -> PixelScale:
        """That of the images themselves."""
        pixels = images.reshape(*images.shape[:3], -1)
        counts = [np.bincount(pixels[..., c].ravel(), minlength=256) for c in range(pixels.shape[-1])]
        values = np.arange(256) / 255
        means = [float(n @ values / n.sum()) for n in counts]
        stds = [float(np.sqrt(n @ (values - m) ** 2 / n.sum())) for n, m in zip(counts, means, strict=True)]
        # A channel that is the same everywhere says nothing, and must not become infinite.
        return cls(tuple(means), tuple(std or 1.0 for std in stds))

    def applied(
        self, images: UInt8[np.ndarray, "items height width *channels"], device: torch.device | str = "cpu"
    ) -> Float[Tensor, "items channels height width"]:
        """The images standardised: float32, channels_last."""
        pixels = torch.from_numpy(np.ascontiguousarray(images.reshape(*images.shape[:3], -1))).to(device)
        mean, std = (torch.tensor(values, dtype=torch.float32, device=device) for values in (self.mean, self.std))
        return pixels.to(torch.float32).div_(255).sub_(mean).div_(std).permute(0, 3, 1, 2)
