"""The protocols of targets and of their labels: one distribution per access to an item.

Random numbers are passed in, one per access, so that all targets of a comparison use the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from sfumato.tables.columns import check_probs
from sfumato.training.training_set import TrainingSet

Accesses = Int[Tensor, "accesses"]
"""The item of each access, by number."""
Chances = Float[Tensor, "accesses"]
Distributions = Float[Tensor, "accesses classes"]
MeanLabels = Float[np.ndarray, "items classes"]


@runtime_checkable
class TargetLabels(Protocol):
    """A distribution for every access to an item."""

    def at(self, index: Accesses, chance: Chances) -> Distributions:
        """The labels of the items `index`; `chance` has one uniform number in 0..1 per access."""
        ...

    def mean(self) -> MeanLabels:
        """The mean label of each item."""
        ...

    def to(self, device: torch.device) -> TargetLabels:
        """A copy on a device."""
        ...


@runtime_checkable
class Target(Protocol):
    """What a model is trained on: computes labels from the label sources of a training set."""

    @property
    def name(self) -> str: ...

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> TargetLabels:
        """Labels for every item; `rng` is for random choices made once, before training."""
        ...


@dataclass(frozen=True, eq=False)
class FixedLabels:
    """The same distribution at every access."""

    probs: Float[Tensor, "items classes"]

    @classmethod
    def of(cls, probs: Float[np.ndarray, "items classes"]) -> FixedLabels:
        check_probs(np.asarray(probs, np.float64))
        return cls(_copied(probs))

    def at(self, index: Accesses, chance: Chances) -> Distributions:  # noqa: ARG002
        return self.probs.index_select(0, index)

    def mean(self) -> MeanLabels:
        return self.probs.cpu().numpy().copy()

    def to(self, device: torch.device) -> FixedLabels:
        return FixedLabels(self.probs.to(device))


@dataclass(frozen=True, eq=False)
class SampledLabels:
    """At every access one class, sampled from the item's distribution."""

    probs: Float[Tensor, "items classes"]
    cumulative: Float[Tensor, "items classes"]

    @classmethod
    def of(cls, probs: Float[np.ndarray, "items classes"]) -> SampledLabels:
        probs = np.asarray(probs, np.float64)
        check_probs(probs)
        cumulative = np.cumsum(probs, axis=1)
        # Infinite from the last class with mass on, so that rounding never selects a class without votes.
        cumulative[cumulative >= cumulative[:, -1:]] = np.inf
        return cls(_copied(probs), torch.from_numpy(cumulative))

    def at(self, index: Accesses, chance: Chances) -> Distributions:
        chosen = (self.cumulative.index_select(0, index) <= chance.to(self.cumulative.dtype)[:, None]).sum(1)
        return torch.nn.functional.one_hot(chosen, self.probs.shape[1]).to(torch.float32)

    def mean(self) -> MeanLabels:
        return self.probs.cpu().numpy().copy()

    def to(self, device: torch.device) -> SampledLabels:
        return SampledLabels(self.probs.to(device), self.cumulative.to(device))


@dataclass(frozen=True, eq=False)
class PooledLabels:
    """At every access one row of the item, sampled uniformly; the rows of item i start at `starts[i]`."""

    rows: Float[Tensor, "rows classes"]
    starts: Int[Tensor, "bounds"]

    @classmethod
    def of(cls, rows: Float[np.ndarray, "rows classes"], starts: Int[np.ndarray, "bounds"]) -> PooledLabels:
        check_probs(np.asarray(rows, np.float64))
        assert starts[0] == 0, "the first item starts at the first row"
        assert starts[-1] == len(rows), "the last item ends with the last row"
        assert (np.diff(starts) > 0).all(), "every item needs at least one row"
        return cls(_copied(rows), torch.from_numpy(starts.astype(np.int64)))

    def at(self, index: Accesses, chance: Chances) -> Distributions:
        start, stop = self.starts[index], self.starts[index + 1]
        drawn = (chance.to(torch.float64) * (stop - start)).to(torch.int64)
        return self.rows.index_select(0, torch.minimum(start + drawn, stop - 1))

    def mean(self) -> MeanLabels:
        rows, starts = self.rows.cpu().numpy().astype(np.float64), self.starts.cpu().numpy()
        means = np.add.reduceat(rows, starts[:-1]) / np.diff(starts)[:, None]
        return means.astype(np.float32)

    def to(self, device: torch.device) -> PooledLabels:
        return PooledLabels(self.rows.to(device), self.starts.to(device))


def _copied(probs: Float[np.ndarray, "rows classes"]) -> Float[Tensor, "rows classes"]:
    """Distributions as a tensor that shares no memory with the training set."""
    return torch.from_numpy(np.array(probs, np.float32, order="C"))
