"""Annotator confusion: what each annotator says, given what is true, learnt with the network."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sfumato.tables.settings import between_0_and_1, not_negative
from sfumato.training.crowds.head import CrowdHead, check_sizes
from sfumato.training.crowds.labels import CrowdLabels
from sfumato.training.training_set import TrainingSet


@dataclass(frozen=True)
class AnnotatorConfusion:
    """Annotator a says class j with `sum_i p_i A_a[i, j]`, rows of A_a distributions (Tanno et al. 2019).

    `trace` adds trace * the mean of tr A_a: of all matrices that explain the answers it prefers those with the most
    confusion, which keeps the network from taking over people's errors. A_a begins with `diagonal` on its diagonal;
    begin close to 1, or with trace 0 for the first epochs, or the network may learn the classes in another order.
    """

    trace: float = 0.01
    diagonal: float = 0.9

    name: ClassVar[str] = "annotator-confusion"

    def __post_init__(self) -> None:
        not_negative("trace", self.trace)
        between_0_and_1("diagonal", self.diagonal)

    def labels(self, lesson: TrainingSet, rng: np.random.Generator) -> CrowdLabels:  # noqa: ARG002
        return CrowdLabels.of(self, lesson)

    def head(self, n_annotators: int, n_classes: int) -> CrowdHead:
        check_sizes(n_annotators, n_classes)
        return _Confusions(n_annotators, n_classes, self)


class _Confusions(CrowdHead):
    def __init__(self, n_annotators: int, n_classes: int, settings: AnnotatorConfusion) -> None:
        super().__init__()
        self.trace = settings.trace
        odds = settings.diagonal * (n_classes - 1) / (1 - settings.diagonal)
        self.scores = nn.Parameter(math.log(odds) * torch.eye(n_classes).repeat(n_annotators, 1, 1))

    def forward(
        self,
        logits: Float[Tensor, "batch classes"],
        position: Int[Tensor, "rows"],
        annotator: Int[Tensor, "rows"],
    ) -> Float[Tensor, "rows classes"]:
        log_p = F.log_softmax(logits, dim=-1)[position]
        log_a = F.log_softmax(self.scores, dim=-1)[annotator]
        return torch.logsumexp(log_p[:, :, None] + log_a, dim=1)

    def penalty(self) -> Float[Tensor, ""]:
        diagonal = F.softmax(self.scores, dim=-1).diagonal(dim1=1, dim2=2)
        return self.trace * diagonal.sum(dim=1).mean()

    def confusion(self) -> Float[Tensor, "annotators classes classes"]:
        return F.softmax(self.scores.detach(), dim=-1)
