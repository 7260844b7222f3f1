"""Crowd heads: the protocol of models that predict each annotator's belief on top of a network, and their labels."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from sfumato.tables.settings import bad_setting
from sfumato.training.target_labels import PooledLabels
from sfumato.training.training_set import AnnotatorBeliefs, TrainingSet


@dataclass(frozen=True, eq=False)
class CrowdRows:
    """The beliefs about the items of a batch, one per row."""

    position: Int[Tensor, "rows"]
    """The item of each row, by its position in the batch."""
    annotator: Int[Tensor, "rows"]
    """The annotator of each row, by number."""
    probs: Float[Tensor, "rows classes"]


def gather(pool: AnnotatorBeliefs, index: Int[Tensor, "batch"] | Int[np.ndarray, "batch"]) -> CrowdRows:
    """All beliefs about the items `index`, in this order, on the device of `index`."""
    device = index.device if isinstance(index, Tensor) else torch.device("cpu")
    chosen = index.cpu().numpy() if isinstance(index, Tensor) else index
    part = pool.take(chosen)
    position = np.repeat(np.arange(len(chosen)), np.diff(part.starts))
    return CrowdRows(
        torch.from_numpy(position).to(device),
        torch.from_numpy(part.annotators.astype(np.int64)).to(device),
        torch.from_numpy(part.rows.astype(np.float32)).to(device),
    )


class CrowdHead(nn.Module):
    """Predicts the belief of each annotator from a network's logits. Abstract."""

    @abstractmethod
    def forward(
        self,
        logits: Float[Tensor, "batch classes"],
        position: Int[Tensor, "rows"],
        annotator: Int[Tensor, "rows"],
    ) -> Float[Tensor, "rows classes"]:
        """The log-probabilities of the belief of annotator `annotator[r]` about item `position[r]`."""

    @abstractmethod
    def penalty(self) -> Float[Tensor, ""]:
        """The regularization term of the loss."""

    @abstractmethod
    def confusion(self) -> Float[Tensor, "annotators classes classes"]:
        """The probability that an annotator chooses the last axis if the network is sure of the middle axis."""

    def loss(self, logits: Float[Tensor, "batch classes"], rows: CrowdRows) -> Float[Tensor, ""]:
        """The mean cross-entropy between beliefs and their predictions, plus the penalty.

        A batch without beliefs has only the penalty.
        """
        predicted: Tensor = self(logits, rows.position, rows.annotator)
        cross_entropy = -(rows.probs * predicted).sum() / max(len(rows.probs), 1)
        return cross_entropy + self.penalty()


@runtime_checkable
class CrowdModel(Protocol):
    """How annotators are modeled while a network is trained on all their beliefs."""

    name: ClassVar[str]

    def head(self, n_annotators: int, n_classes: int) -> CrowdHead:
        """A new head, initialized without random numbers."""
        ...


def check_sizes(n_annotators: int, n_classes: int) -> None:
    """Raise an error for fewer than one annotator or two classes."""
    if n_annotators < 1:
        raise bad_setting("n_annotators", n_annotators, "1 or more")
    if n_classes < 2:
        raise bad_setting("n_classes", n_classes, "2 or more")


@dataclass(frozen=True, eq=False)
class CrowdLabels:
    """All beliefs, for training through a head per annotator.

    Without the head, the label of an access is one annotator's belief; on average it is the mean belief.
    """

    crowd: CrowdModel
    pool: AnnotatorBeliefs
    sampled: PooledLabels

    @classmethod
    def of(cls, crowd: CrowdModel, training_set: TrainingSet) -> CrowdLabels:
        pool = training_set.need_beliefs(crowd.name)
        return cls(crowd, pool, PooledLabels.of(pool.rows, pool.starts))

    def head(self) -> CrowdHead:
        """A new head for these annotators."""
        return self.crowd.head(self.pool.n_annotators, self.pool.rows.shape[1])

    def loss(
        self, head: CrowdHead, logits: Float[Tensor, "batch classes"], index: Int[Tensor, "batch"]
    ) -> Float[Tensor, ""]:
        """The loss of a batch with a head."""
        return head.loss(logits, gather(self.pool, index))

    def at(
        self, index: Int[Tensor, "accesses"], chance: Float[Tensor, "accesses"]
    ) -> Float[Tensor, "accesses classes"]:
        return self.sampled.at(index, chance)

    def mean(self) -> Float[np.ndarray, "items classes"]:
        return self.sampled.mean()

    def to(self, device: torch.device) -> CrowdLabels:
        return CrowdLabels(self.crowd, self.pool, self.sampled.to(device))
