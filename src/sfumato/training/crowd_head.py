"""What every way to learn from a crowd shares: the beliefs of a batch, and the head that predicts them.

CrowdLabels: what a network learns from when it learns its annotators too.
"""

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
    """The beliefs about the items of a batch, one a row."""

    position: Int[Tensor, "rows"]
    """Which item of the batch a row is about."""
    annotator: Int[Tensor, "rows"]
    """Whose belief it is, by number."""
    probs: Float[Tensor, "rows classes"]


def gather(pool: AnnotatorBeliefs, index: Int[Tensor, "batch"] | Int[np.ndarray, "batch"]) -> CrowdRows:
    """Every belief in `pool` about the items `index`, in their order; on the device of `index`."""
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
    """On top of a network that predicts an item's class: what each annotator would say of it. Abstract."""

    @abstractmethod
    def forward(
        self,
        logits: Float[Tensor, "batch classes"],
        position: Int[Tensor, "rows"],
        annotator: Int[Tensor, "rows"],
    ) -> Float[Tensor, "rows classes"]:
        """The log-probabilities of what annotator `annotator[r]` says of item `position[r]`."""

    @abstractmethod
    def penalty(self) -> Float[Tensor, ""]:
        """What the head itself adds to the loss."""

    @abstractmethod
    def confusion(self) -> Float[Tensor, "annotators classes classes"]:
        """How probable each annotator is to say the last axis where the network is sure of the middle one."""

    def loss(self, logits: Float[Tensor, "batch classes"], rows: CrowdRows) -> Float[Tensor, ""]:
        """The mean over beliefs of their cross-entropy with what is predicted of their annotators, plus the penalty.

        A batch that nobody judged has no cross-entropy, and moves nothing but the penalty.
        """
        predicted: Tensor = self(logits, rows.position, rows.annotator)
        told = -(rows.probs * predicted).sum() / max(len(rows.probs), 1)
        return told + self.penalty()


@runtime_checkable
class CrowdModel(Protocol):
    """How annotators are modelled while a network learns from all of their beliefs at once."""

    name: ClassVar[str]

    def head(self, n_annotators: int, n_classes: int) -> CrowdHead:
        """A fresh head; nothing in it is random."""
        ...


def check_sizes(n_annotators: int, n_classes: int) -> None:
    """Raise unless there is somebody, and something to choose between."""
    if n_annotators < 1:
        raise bad_setting("n_annotators", n_annotators, "1 or more")
    if n_classes < 2:
        raise bad_setting("n_classes", n_classes, "2 or more")


@dataclass(frozen=True, eq=False)
class CrowdLabels:
    """Every belief about every item, to be learnt through a head that knows whose they are.

    As labels without the head they are one annotator's belief at each access, and on average the mean belief.
    """

    crowd: CrowdModel
    pool: AnnotatorBeliefs
    drawn: PooledLabels

    @classmethod
    def of(cls, crowd: CrowdModel, lesson: TrainingSet) -> CrowdLabels:
        pool = lesson.need_beliefs(crowd.name)
        return cls(crowd, pool, PooledLabels.of(pool.rows, pool.starts))

    def head(self) -> CrowdHead:
        """A fresh head for these annotators."""
        return self.crowd.head(self.pool.n_annotators, self.pool.rows.shape[1])

    def loss(
        self, head: CrowdHead, logits: Float[Tensor, "batch classes"], index: Int[Tensor, "batch"]
    ) -> Float[Tensor, ""]:
        """The loss of a batch, under a head."""
        return head.loss(logits, gather(self.pool, index))

    def at(
        self, index: Int[Tensor, "accesses"], chance: Float[Tensor, "accesses"]
    ) -> Float[Tensor, "accesses classes"]:
        return self.drawn.at(index, chance)

    def mean(self) -> Float[np.ndarray, "items classes"]:
        return self.drawn.mean()

    def to(self, device: torch.device) -> CrowdLabels:
        return CrowdLabels(self.crowd, self.pool, self.drawn.to(device))
