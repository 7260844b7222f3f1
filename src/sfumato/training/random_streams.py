"""Draws: every piece of luck in an epoch, from the seed and the epoch's number alone.

So that all targets of a seed meet the same luck, and a training that was cut off goes on as if it had not been.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class RandomStreams:
    """The luck of one epoch. Each purpose has a generator of its own, so that none depends on what another took."""

    seed: int
    epoch: int

    def order(self, n: int) -> Int[Tensor, "items"]:
        """The items in the order they are seen."""
        return torch.randperm(n, generator=self.generator("order"))

    def chance(self, n: int) -> Float[Tensor, "items"]:
        """A number from 0 to 1 an item: which vote, which annotator it is this time."""
        return torch.rand(n, generator=self.generator("chance"), dtype=torch.float64)

    def generator(self, purpose: str) -> torch.Generator:
        return generator_of(self.seed, self.epoch, purpose)


def generator_of(*parts: int | str) -> torch.Generator:
    """A generator that these words and numbers decide."""
    digest = hashlib.sha256("\0".join(map(str, parts)).encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)
