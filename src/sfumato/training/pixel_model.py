"""PixelModel: a network as a function of pixels from 0 to 1.

Standardising is part of it, so that a change of 4/255 is four grey levels whatever scale the network learnt with.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn

from sfumato.training.runs import Predictor, normalised
from sfumato.training.training import EVALUATED_AT_ONCE


@dataclass(frozen=True, eq=False)
class PixelModel:
    """A copy of a predictor's network, in evaluation mode, its weights without gradients; leaves the original alone."""

    network: nn.Module
    mean: Float[Tensor, "channels 1 1"]
    std: Float[Tensor, "channels 1 1"]
    classes: tuple[str, ...]

    @classmethod
    def of(cls, predictor: Predictor, device: torch.device | str = "cpu") -> PixelModel:
        network = copy.deepcopy(predictor.network).to(device).eval().requires_grad_(False)
        mean, std = (
            torch.tensor(values, dtype=torch.float32, device=device)[:, None, None]
            for values in (predictor.scale.mean, predictor.scale.std)
        )
        return cls(network, mean, std, predictor.classes)

    @property
    def device(self) -> torch.device:
        return self.mean.device

    def pixels(self, images: UInt8[np.ndarray, "items height width *channels"]) -> Float[Tensor, "items ch h w"]:
        """Pictures as the network's pixels, from 0 to 1."""
        whole = torch.from_numpy(np.ascontiguousarray(images.reshape(*images.shape[:3], -1))).to(self.device)
        return whole.to(torch.float32).div_(255).permute(0, 3, 1, 2)

    def logits(self, x: Float[Tensor, "items ch h w"]) -> Float[Tensor, "items classes"]:
        logits: Tensor = self.network((x - self.mean) / self.std)
        return logits.float()

    def probs(self, images: UInt8[np.ndarray, "items height width *channels"]) -> Float[np.ndarray, "items classes"]:
        """What it predicts, a few pictures at a time."""
        with torch.no_grad():
            few = [
                self.logits(self.pixels(images[start : start + EVALUATED_AT_ONCE])).softmax(-1).cpu().numpy()
                for start in range(0, len(images), EVALUATED_AT_ONCE)
            ]
        return normalised(np.concatenate(few))
