"""The protocols of targets and of their labels: one distribution per access to an item.

Random numbers are passed in, one per access, so that all targets of a comparison use the same numbers. Labels are
NumPy arrays; networks get them as tensors with `to`, and only then torch is imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from sfumato.tables.columns import check_probs
from sfumato.training.training_set import TrainingSet

if TYPE_CHECKING:
    import torch

    from sfumato.training.label_tensors import Accesses, Chances, Distributions, LabelTensors

MeanLabels = Float[np.ndarray, "items classes"]


@runtime_checkable
class TargetLabels(Protocol):
    """The labels of a target, before they are on a device."""

    def mean(self) -> MeanLabels:
        """The mean label of each item."""
        ...

    def to(self, device: torch.device) -> LabelTensors:
        """A copy on a device, with a distribution for every access to an item."""
        ...


@runtime_checkable
class Target(Protocol):
    """What a model is trained on: computes labels from the label sources of a training set."""

    @property
    def name(self) -> str: ...

    # A target may have `sources`, the label sources it uses: people, original, beliefs, predicted. Without it: people.

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> TargetLabels:
        """Labels for every item; `rng` is for random choices made once, before training."""
        ...


def labels_once(labels: TargetLabels, chance: Float[np.ndarray, "items"]) -> MeanLabels:
    """One label per item, for models that are fitted once instead of epoch by epoch.

    Labels that differ between accesses are drawn with `chance`, one uniform number per item; others are as they are.
    """
    return labels.once(chance) if isinstance(labels, (SampledLabels, PooledLabels)) else labels.mean()


class _OnCpu:
    """Labels that can be accessed without a copy on a device."""

    def at(self: Any, index: Accesses, chance: Chances) -> Distributions:
        """The labels of the items `index`; `chance` has one uniform number in 0..1 per access."""
        import torch

        return self.to(torch.device("cpu")).at(index, chance)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class FixedLabels(_OnCpu):
    """The same distribution at every access."""

    probs: Float[np.ndarray, "items classes"]

    @classmethod
    def of(cls, probs: Float[np.ndarray, "items classes"]) -> FixedLabels:
        return cls(_checked(probs))

    def mean(self) -> MeanLabels:
        return self.probs.copy()

    def to(self, device: torch.device) -> LabelTensors:
        from sfumato.training.label_tensors import FixedTensors

        return FixedTensors.of(self.probs, device)


@dataclass(frozen=True, eq=False)
class SampledLabels(_OnCpu):
    """At every access one class, sampled from the item's distribution."""

    probs: Float[np.ndarray, "items classes"]

    @classmethod
    def of(cls, probs: Float[np.ndarray, "items classes"]) -> SampledLabels:
        return cls(_checked(probs))

    @property
    def cumulative(self) -> Float[np.ndarray, "items classes"]:
        """A class is chosen if the random number is below its value and not below that of the class before."""
        cumulative = np.cumsum(self.probs, axis=1)
        # Infinite from the last class with mass on, so that rounding never selects a class without votes.
        cumulative[cumulative >= cumulative[:, -1:]] = np.inf
        return cumulative

    def mean(self) -> MeanLabels:
        return self.probs.copy()

    def once(self, chance: Float[np.ndarray, "items"]) -> MeanLabels:
        """One class per item, drawn with `chance`."""
        chosen = (self.cumulative <= chance[:, None]).sum(axis=1)
        return np.asarray(np.eye(self.probs.shape[1])[chosen])

    def to(self, device: torch.device) -> LabelTensors:
        from sfumato.training.label_tensors import SampledTensors

        return SampledTensors.of(self.cumulative, device)


@dataclass(frozen=True, eq=False)
class PooledLabels(_OnCpu):
    """At every access one row of the item, sampled uniformly; the rows of item i start at `starts[i]`."""

    rows: Float[np.ndarray, "rows classes"]
    starts: Int[np.ndarray, "bounds"]

    @classmethod
    def of(cls, rows: Float[np.ndarray, "rows classes"], starts: Int[np.ndarray, "bounds"]) -> PooledLabels:
        assert starts[0] == 0, "the first item starts at the first row"
        assert starts[-1] == len(rows), "the last item ends with the last row"
        assert (np.diff(starts) > 0).all(), "every item needs at least one row"
        return cls(_checked(rows), starts.astype(np.int64))

    def mean(self) -> MeanLabels:
        return np.asarray(np.add.reduceat(self.rows, self.starts[:-1]) / np.diff(self.starts)[:, None])

    def once(self, chance: Float[np.ndarray, "items"]) -> MeanLabels:
        """One row per item, drawn with `chance`."""
        n_rows = np.diff(self.starts)
        return np.asarray(self.rows[self.starts[:-1] + np.minimum((chance * n_rows).astype(np.int64), n_rows - 1)])

    def to(self, device: torch.device) -> LabelTensors:
        from sfumato.training.label_tensors import PooledTensors

        return PooledTensors.of(self.rows, self.starts, device)


def _checked(probs: Float[np.ndarray, "rows classes"]) -> Float[np.ndarray, "rows classes"]:
    """Distributions that share no memory with the training set."""
    copied = np.array(probs, np.float64, order="C")
    check_probs(copied)
    return copied
