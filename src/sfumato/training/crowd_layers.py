"""Annotator confusion: what each annotator says, given what is true, learnt with the network.

Annotator heads: a last layer an annotator, near the one they share.

Crowd layer: a matrix an annotator on top of the network.

Learning from a crowd directly: the network and what its annotators are like, both at once, from Beliefs.

A head stands on the network while it learns, and is taken off when it predicts. `CROWDS` lists the kinds of head.
For a batch: `rows = gather(pool, index)`, then `head.loss(logits, rows)`.
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
    """The way to learn from a crowd called `name` with `settings`; the one place where a name becomes an object."""
    return strategy_from_name("crowd", CROWDS, name, settings)  # type: ignore[no-any-return]
