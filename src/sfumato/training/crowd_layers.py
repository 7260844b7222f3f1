"""Crowd layers: heads that predict each annotator's belief, trained together with a network. `CROWDS` lists them.

The head is used in training only and removed for predictions. For a batch: `rows = gather(pool, index)`, then
`head.loss(logits, rows)`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sfumato.tables.setting_checks import at_least, between_0_and_1, not_negative
from sfumato.training.label_tensors import Accesses, Chances, Distributions, PooledTensors
from sfumato.training.target_labels import MeanLabels, PooledLabels
from sfumato.training.training_set import AnnotatorBeliefs, TrainingSet

Logits = Float[Tensor, "batch classes"]
RowNumbers = Int[Tensor, "rows"]
RowProbs = Float[Tensor, "rows classes"]


@dataclass(frozen=True, eq=False)
class CrowdRows:
    """The beliefs about the items of a batch, one per row."""

    position: RowNumbers
    """The item of each row, by its position in the batch."""
    annotator: RowNumbers
    """The annotator of each row, by number."""
    probs: RowProbs


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

    def __init__(self, n_annotators: int, n_classes: int) -> None:
        super().__init__()
        at_least("n_annotators", n_annotators, 1)
        at_least("n_classes", n_classes, 2)

    @abstractmethod
    def forward(self, logits: Logits, position: RowNumbers, annotator: RowNumbers) -> RowProbs:
        """The log-probabilities of the belief of annotator `annotator[r]` about item `position[r]`."""

    @abstractmethod
    def penalty(self) -> Float[Tensor, ""]:
        """The regularization term of the loss."""

    @abstractmethod
    def confusion(self) -> Float[Tensor, "annotators classes classes"]:
        """The probability that an annotator chooses the last axis if the network is sure of the middle axis."""

    def loss(self, logits: Logits, rows: CrowdRows) -> Float[Tensor, ""]:
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


@dataclass(frozen=True, eq=False)
class CrowdLabels:
    """All beliefs, for training through a head per annotator.

    Without the head, the label of an access is one annotator's belief; on average it is the mean belief.
    """

    crowd: CrowdModel
    pool: AnnotatorBeliefs
    sampled: PooledLabels | PooledTensors
    weights: Float[Tensor, "items"] | None = None
    """The weight of each item, 1 on average."""

    @classmethod
    def of(cls, crowd: CrowdModel, training_set: TrainingSet) -> CrowdLabels:
        pool, weights = training_set.need_beliefs(crowd.name), training_set.weights
        scaled = None if weights is None else torch.from_numpy((weights / weights.mean()).astype(np.float32))
        return cls(crowd, pool, PooledLabels.of(pool.rows, pool.starts), scaled)

    def head(self) -> CrowdHead:
        """A new head for these annotators."""
        return self.crowd.head(self.pool.n_annotators, self.pool.rows.shape[1])

    def loss(self, head: CrowdHead, logits: Logits, index: Int[Tensor, "batch"]) -> Float[Tensor, ""]:
        """The loss of a batch with a head."""
        rows = gather(self.pool, index)
        if self.weights is not None:
            weights = self.weights.to(index.device)[index][rows.position]
            rows = replace(rows, probs=rows.probs * weights[:, None])
        return head.loss(logits, rows)

    def at(self, index: Accesses, chance: Chances) -> Distributions:
        return self.sampled.at(index, chance)

    def mean(self) -> MeanLabels:
        return PooledLabels.of(self.pool.rows, self.pool.starts).mean()

    def to(self, device: torch.device) -> CrowdLabels:
        return CrowdLabels(
            self.crowd, self.pool, PooledTensors.of(self.pool.rows, self.pool.starts, device), self.weights
        )


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
    sources: ClassVar[tuple[str, ...]] = ("beliefs",)

    def __post_init__(self) -> None:
        not_negative("trace", self.trace)
        between_0_and_1("diagonal", self.diagonal)

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> CrowdLabels:  # noqa: ARG002
        return CrowdLabels.of(self, training_set)

    def head(self, n_annotators: int, n_classes: int) -> CrowdHead:
        return _Confusions(n_annotators, n_classes, self)


class _Confusions(CrowdHead):
    def __init__(self, n_annotators: int, n_classes: int, settings: AnnotatorConfusion) -> None:
        super().__init__(n_annotators, n_classes)
        self.trace = settings.trace
        odds = settings.diagonal * (n_classes - 1) / (1 - settings.diagonal)
        self.scores = nn.Parameter(math.log(odds) * torch.eye(n_classes).repeat(n_annotators, 1, 1))

    def forward(self, logits: Logits, position: RowNumbers, annotator: RowNumbers) -> RowProbs:
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
    sources: ClassVar[tuple[str, ...]] = ("beliefs",)

    def __post_init__(self) -> None:
        not_negative("shrinkage", self.shrinkage)

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> CrowdLabels:  # noqa: ARG002
        return CrowdLabels.of(self, training_set)

    def head(self, n_annotators: int, n_classes: int) -> CrowdHead:
        return _Heads(n_annotators, n_classes, self.shrinkage)


class _Heads(CrowdHead):
    def __init__(self, n_annotators: int, n_classes: int, shrinkage: float) -> None:
        super().__init__(n_annotators, n_classes)
        self.shrinkage = shrinkage
        self.weight = nn.Parameter(torch.zeros(n_annotators, n_classes, n_classes))
        self.bias = nn.Parameter(torch.zeros(n_annotators, n_classes))

    def forward(self, logits: Logits, position: RowNumbers, annotator: RowNumbers) -> RowProbs:
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
    sources: ClassVar[tuple[str, ...]] = ("beliefs",)

    def __post_init__(self) -> None:
        not_negative("decay", self.decay)

    def labels(self, training_set: TrainingSet, rng: np.random.Generator) -> CrowdLabels:  # noqa: ARG002
        return CrowdLabels.of(self, training_set)

    def head(self, n_annotators: int, n_classes: int) -> CrowdHead:
        return _Matrices(n_annotators, n_classes, self.decay)


class _Matrices(CrowdHead):
    def __init__(self, n_annotators: int, n_classes: int, decay: float) -> None:
        super().__init__(n_annotators, n_classes)
        self.decay = decay
        self.weight = nn.Parameter(torch.eye(n_classes).repeat(n_annotators, 1, 1))

    def forward(self, logits: Logits, position: RowNumbers, annotator: RowNumbers) -> RowProbs:
        p = F.softmax(logits, dim=-1)[position]
        return F.log_softmax(torch.bmm(self.weight[annotator], p[:, :, None])[:, :, 0], dim=-1)

    def penalty(self) -> Float[Tensor, ""]:
        distance = self.weight - torch.eye(self.weight.shape[-1], device=self.weight.device)
        return self.decay * distance.square().sum(dim=(1, 2)).mean()

    def confusion(self) -> Float[Tensor, "annotators classes classes"]:
        return F.softmax(self.weight.detach(), dim=1).transpose(1, 2)


CROWDS: tuple[Any, ...] = (CrowdLayer, AnnotatorHeads, AnnotatorConfusion)
