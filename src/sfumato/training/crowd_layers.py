"""Crowd layers: three heads that are trained with a network, directly on annotators' beliefs. `CROWDS` lists them.

The head is used in training only and removed for predictions. For a batch: `rows = gather(pool, index)`, then
`head.loss(logits, rows)`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sfumato.tables.settings import between_0_and_1, not_negative
from sfumato.tables.strategies import strategy_from_name
from sfumato.training.crowd_head import CrowdHead, CrowdLabels, CrowdModel, CrowdRows, check_sizes, gather
from sfumato.training.training_set import TrainingSet


@dataclass(frozen=True)
class AnnotatorConfusion:
    """A confusion matrix per annotator: class j has probability `sum_i p_i A_a[i, j]` (Tanno et al. 2019).

    `trace` adds trace * mean tr A_a to the loss: among all matrices that explain the answers it prefers those with the
    most confusion, so that the network does not learn the annotators' errors. A_a starts with `diagonal` on its
    diagonal. With a value far below 1, the network may learn the classes in another order.
    """

    trace: float = 0.01
    diagonal: float = 0.9

    name: ClassVar[str] = "annotator-confusion"

    def __post_init__(self) -> None:
        not_negative("trace", self.trace)
        between_0_and_1("diagonal", self.diagonal)

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> CrowdLabels:  # noqa: ARG002
        return CrowdLabels.of(self, training_set)

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


@dataclass(frozen=True)
class AnnotatorHeads:
    """A linear layer per annotator: `softmax(z + V_a z + b_a)` for logits z of mean 0; V_a and b_a start at zero.

    Similar to the heads per doctor of Guan et al. (2018). `shrinkage` adds shrinkage * (||V_a||^2 + ||b_a||^2), the
    mean over annotators, to the loss, which pulls the layers towards the shared network; with 0 and few answers per
    annotator, the layers fit what the network should learn. Suited to annotators who prefer some classes. If many
    annotators swap classes, prefer `annotator-confusion` or `crowd-layer`.
    """

    shrinkage: float = 0.01

    name: ClassVar[str] = "annotator-heads"

    def __post_init__(self) -> None:
        not_negative("shrinkage", self.shrinkage)

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> CrowdLabels:  # noqa: ARG002
        return CrowdLabels.of(self, training_set)

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
        # Adding a constant to all logits must not change the predictions.
        z = (logits - logits.mean(dim=-1, keepdim=True))[position]
        own = torch.bmm(self.weight[annotator], z[:, :, None])[:, :, 0] + self.bias[annotator]
        return F.log_softmax(z + own, dim=-1)

    def penalty(self) -> Float[Tensor, ""]:
        distance = self.weight.square().sum(dim=(1, 2)) + self.bias.square().sum(dim=1)
        return self.shrinkage * distance.mean()

    def confusion(self) -> Float[Tensor, "annotators classes classes"]:
        """For a network with odds of 99 to 1 for a class."""
        n_classes = self.bias.shape[1]
        sure = math.log(99 * (n_classes - 1)) * (torch.eye(n_classes, device=self.bias.device) - 1 / n_classes)
        own = torch.einsum("ajk,ik->aij", self.weight.detach(), sure) + self.bias.detach()[:, None]
        return F.softmax(sure + own, dim=-1)


@dataclass(frozen=True)
class CrowdLayer:
    """A matrix per annotator: `softmax(W_a p)` for predictions `p` of the network; W_a starts as the identity
    (Rodrigues and Pereira 2018).

    `decay` adds decay * ||W_a - I||^2, the mean over annotators, to the loss: increase it if annotators gave few
    answers; a small value (0.01) also stabilizes the start. Because p is in 0..1, a new layer is less confident than
    the network; use `annotator-confusion` to read the matrices as probabilities.
    """

    decay: float = 0.0

    name: ClassVar[str] = "crowd-layer"

    def __post_init__(self) -> None:
        not_negative("decay", self.decay)

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> CrowdLabels:  # noqa: ARG002
        return CrowdLabels.of(self, training_set)

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
        distance = self.weight - torch.eye(self.weight.shape[-1], device=self.weight.device)
        return self.decay * distance.square().sum(dim=(1, 2)).mean()

    def confusion(self) -> Float[Tensor, "annotators classes classes"]:
        return F.softmax(self.weight.detach(), dim=1).transpose(1, 2)


CROWDS: tuple[Any, ...] = (CrowdLayer, AnnotatorHeads, AnnotatorConfusion)

__all__ = [
    "CROWDS",
    "AnnotatorConfusion",
    "AnnotatorHeads",
    "CrowdHead",
    "CrowdLabels",
    "CrowdLayer",
    "CrowdModel",
    "CrowdRows",
    "crowd_named",
    "gather",
]


def crowd_named(name: str, settings: Mapping[str, Any]) -> CrowdModel:
    """The crowd layer called `name` with `settings`."""
    return strategy_from_name("crowd", CROWDS, name, settings)  # type: ignore[no-any-return]
