"""Labels on a device: a distribution for every access to an item, as the loop that trains networks uses them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

Accesses = Int[Tensor, "accesses"]
"""The item of each access, by number."""
Chances = Float[Tensor, "accesses"]
Distributions = Float[Tensor, "accesses classes"]


@runtime_checkable
class LabelTensors(Protocol):
    """A distribution for every access to an item."""

    def at(self, index: Accesses, chance: Chances) -> Distributions:
        """The labels of the items `index`; `chance` has one uniform number in 0..1 per access."""
        ...


@dataclass(frozen=True, eq=False)
class FixedTensors:
    """The same distribution at every access."""

    probs: Float[Tensor, "items classes"]

    @classmethod
    def of(cls, probs: Float[np.ndarray, "items classes"], device: torch.device) -> FixedTensors:
        return cls(_tensor(probs, device))

    def at(self, index: Accesses, chance: Chances) -> Distributions:  # noqa: ARG002
        return self.probs.index_select(0, index)


@dataclass(frozen=True, eq=False)
class SampledTensors:
    """At every access one class, sampled with cumulative probabilities."""

    cumulative: Float[Tensor, "items classes"]

    @classmethod
    def of(cls, cumulative: Float[np.ndarray, "items classes"], device: torch.device) -> SampledTensors:
        return cls(torch.from_numpy(cumulative).to(device))

    def at(self, index: Accesses, chance: Chances) -> Distributions:
        chosen = (self.cumulative.index_select(0, index) <= chance.to(self.cumulative.dtype)[:, None]).sum(1)
        return torch.nn.functional.one_hot(chosen, self.cumulative.shape[1]).to(torch.float32)


@dataclass(frozen=True, eq=False)
class PooledTensors:
    """At every access one row of the item, sampled uniformly; the rows of item i start at `starts[i]`."""

    rows: Float[Tensor, "rows classes"]
    starts: Int[Tensor, "bounds"]

    @classmethod
    def of(
        cls, rows: Float[np.ndarray, "rows classes"], starts: Int[np.ndarray, "bounds"], device: torch.device
    ) -> PooledTensors:
        return cls(_tensor(rows, device), torch.from_numpy(starts).to(device))

    def at(self, index: Accesses, chance: Chances) -> Distributions:
        start, stop = self.starts[index], self.starts[index + 1]
        drawn = (chance.to(torch.float64) * (stop - start)).to(torch.int64)
        return self.rows.index_select(0, torch.minimum(start + drawn, stop - 1))


def _tensor(probs: Float[np.ndarray, "rows classes"], device: torch.device) -> Float[Tensor, "rows classes"]:
    return torch.from_numpy(probs.astype(np.float32)).to(device)
