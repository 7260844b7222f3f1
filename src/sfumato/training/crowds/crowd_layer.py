"""Crowd layer: a matrix an annotator on top of the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sfumato.tables.settings import not_negative
from sfumato.training.crowds.head import CrowdHead, check_sizes
from sfumato.training.crowds.labels import CrowdLabels
from sfumato.training.training_set import TrainingSet


@dataclass(frozen=True)
class CrowdLayer:
    """Annotator a says `softmax(W_a p)` of an item the network gives `p` to; W_a begins as the identity (Rodrigues and
    Pereira 2018).

    Soft beliefs are learnt as they are. `decay` adds decay * ||W_a - I||^2, the mean over annotators: raise it where
    people gave few answers; a little (.01) also steadies the start. Because p lies in 0..1, a fresh layer is less sure
    than the network; prefer `annotator-confusion` where matrices should be read as probabilities.
    """

    decay: float = 0.0

    name: ClassVar[str] = "crowd-layer"

    def __post_init__(self) -> None:
        not_negative("decay", self.decay)

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> CrowdLabels:  # noqa: ARG002
        return CrowdLabels.of(self, lesson)

    def head(self, n_annotators: int, n_classes: int) -> CrowdHead:
        check_sizes(n_annotators, n_classes)
        return _Matrices(n_annotators, n_classes, self.decay)


class _Matrices(CrowdHead):
    def __init__(self, n_annotators: int, n_classes: int, decay: float) -> None:
        super().__init__()
        self.decay = decay
        self.weight = nn.Parameter(torch.eye(n_classes).repeat(n_annotators, 1, 1))

    def forward(
        self,
        logits: Float[Tensor, "batch classes"],
        position: Int[Tensor, "rows"],
        annotator: Int[Tensor, "rows"],
    ) -> Float[Tensor, "rows classes"]:
        p = F.softmax(logits, dim=-1)[position]
        return F.log_softmax(torch.bmm(self.weight[annotator], p[:, :, None])[:, :, 0], dim=-1)

    def penalty(self) -> Float[Tensor, ""]:
        away = self.weight - torch.eye(self.weight.shape[-1], device=self.weight.device)
        return self.decay * away.square().sum(dim=(1, 2)).mean()

    def confusion(self) -> Float[Tensor, "annotators classes classes"]:
        return F.softmax(self.weight.detach(), dim=1).transpose(1, 2)
