"""Augmentation: pictures moved and mirrored a little, anew at every access, by the same luck for every target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from sfumato.tables.settings import at_least


@dataclass(frozen=True)
class CropAndFlip:
    """A picture's own size cut out of it at random after padding it with zeros, and mirrored half the time.

    Padding is of the standardised picture, so that it is grey as the mean. `pad=4` is what CIFAR-10 models are
    trained with; `flip` is not for digits or letters.
    """

    pad: int = 4
    flip: bool = True

    name: ClassVar[str] = "crop-and-flip"

    def __post_init__(self) -> None:
        at_least("pad", self.pad, 0)

    def augmented(
        self, x: Float[Tensor, "batch channels height width"], draw: torch.Generator
    ) -> Float[Tensor, "batch channels height width"]:
        n, _, height, width = x.shape
        down = torch.randint(0, 2 * self.pad + 1, (n,), generator=draw).to(x.device)
        right = torch.randint(0, 2 * self.pad + 1, (n,), generator=draw).to(x.device)
        mirrored = (torch.rand(n, generator=draw) < 0.5).to(x.device) & self.flip
        rows = down[:, None] + torch.arange(height, device=x.device)
        columns = torch.arange(width, device=x.device).expand(n, width)
        columns = right[:, None] + torch.where(mirrored[:, None], width - 1 - columns, columns)
        padded = F.pad(x, [self.pad] * 4).permute(0, 2, 3, 1)
        picked = padded[torch.arange(n, device=x.device)[:, None, None], rows[:, :, None], columns[:, None, :]]
        return picked.permute(0, 3, 1, 2)
