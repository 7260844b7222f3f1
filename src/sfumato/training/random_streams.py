"""RandomStreams: the random numbers of one epoch, determined by the seed and the epoch alone.

All targets of a seed use the same numbers, and a resumed training continues with the numbers it would have used.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from sfumato.training.seeds import seed_of


@dataclass(frozen=True)
class RandomStreams:
    """The random numbers of one epoch. Each purpose has its own generator, independent of the others."""

    seed: int
    epoch: int

    def order(self, n: int) -> Int[Tensor, "items"]:
        """A random order of the items."""
        return torch.randperm(n, generator=self.generator("order"))

    def chance(self, n: int) -> Float[Tensor, "items"]:
        """A uniform number per item, which selects the vote or annotator of this access."""
        return torch.rand(n, generator=self.generator("chance"), dtype=torch.float64)

    def generator(self, purpose: str) -> torch.Generator:
        return generator_of(self.seed, self.epoch, purpose)


def generator_of(*parts: int | str) -> torch.Generator:
    """A generator seeded by these strings and numbers."""
    return torch.Generator().manual_seed(seed_of(*parts))
