"""Annotator heads: a last layer an annotator, near the one they share."""

from __future__ import annotations

import math
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
class AnnotatorHeads:
    """Annotator a says `softmax(z + V_a z + b_a)` of an item with logits z of mean 0; V_a and b_a begin as zeros.

    A linear layer an annotator on the logits, in the way of the doctors' own heads of Guan et al. (2018). `shrinkage`
    adds shrinkage * (||V_a||^2 + ||b_a||^2), the mean over annotators, which draws them to the network they share; with
    0 and few answers each they take over what the network should learn. Made for people who lean to some classes:
    where many swap classes it may take the swap for the truth; prefer `annotator-confusion` or `crowd-layer`.
    """

    shrinkage: float = 0.01

    name: ClassVar[str] = "annotator-heads"

    def __post_init__(self) -> None:
        not_negative("shrinkage", self.shrinkage)

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> CrowdLabels:  # noqa: ARG002
        return CrowdLabels.of(self, lesson)

    def head(self, n_annotators: int, n_classes: int) -> CrowdHead:
        check_sizes(n_annotators, n_classes)
        return _Heads(n_annotators, n_classes, self.shrinkage)


class _Heads(CrowdHead):
    def __init__(self, n_annotators: int, n_classes: int, shrinkage: float) -> None:
        super().__init__()
        self.shrinkage = shrinkage
        self.weight = nn.Parameter(torch.zeros(n_annotators, n_classes, n_classes))
        self.bias = nn.Parameter(torch.zeros(n_annotators, n_classes))

    def forward(
        self,
        logits: Float[Tensor, "batch classes"],
        position: Int[Tensor, "rows"],
        annotator: Int[Tensor, "rows"],
    ) -> Float[Tensor, "rows classes"]:
        # Logits mean the same with a constant added; what heads make of them must too.
        z = (logits - logits.mean(dim=-1, keepdim=True))[position]
        own = torch.bmm(self.weight[annotator], z[:, :, None])[:, :, 0] + self.bias[annotator]
        return F.log_softmax(z + own, dim=-1)

    def penalty(self) -> Float[Tensor, ""]:
        away = self.weight.square().sum(dim=(1, 2)) + self.bias.square().sum(dim=1)
        return self.shrinkage * away.mean()

    def confusion(self) -> Float[Tensor, "annotators classes classes"]:
        """Of a network whose odds for a class are 99 to 1."""
        n_classes = self.bias.shape[1]
        sure = math.log(99 * (n_classes - 1)) * (torch.eye(n_classes, device=self.bias.device) - 1 / n_classes)
        own = torch.einsum("ajk,ik->aij", self.weight.detach(), sure) + self.bias.detach()[:, None]
        return F.softmax(sure + own, dim=-1)
