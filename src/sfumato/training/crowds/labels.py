"""CrowdLabels: what a network learns from when it learns its annotators too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from sfumato.training.crowds.head import CrowdHead, CrowdModel, gather
from sfumato.training.target_labels import PooledLabels
from sfumato.training.training_set import AnnotatorBeliefs, TrainingSet


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
