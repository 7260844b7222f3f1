"""The mixing protocol, the mixed batch, random pairs of items, and no mixing (`Plain`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from sfumato.tables.settings import bad_setting

ENDPOINTS = ("soft", "hard")
SEEDS = 2**63 - 1


@dataclass(frozen=True, eq=False)
class MixedBatch:
    """A batch as the networks see it, with what the loss needs."""

    x: Float[Tensor, "seen channels height width"]
    y: Float[Tensor, "runs batch classes"]
    share: float = 1.0
    """The share that an item keeps of itself."""


@runtime_checkable
class Mixing(Protocol):
    """How a batch is mixed, and the loss of each run."""

    name: ClassVar[str]

    def mixed(
        self,
        x: Float[Tensor, "batch channels height width"],
        y: Float[Tensor, "runs batch classes"],
        draw: torch.Generator,
    ) -> MixedBatch:
        """The mixed batch; all random numbers come from `draw` (a CPU generator). Does not change `x` and `y`."""
        ...

    def losses(self, logits: Float[Tensor, "runs seen classes"], mixed: MixedBatch) -> Float[Tensor, "runs"]:
        """The mean over the batch, per run."""
        ...


@dataclass(frozen=True, eq=False)
class Pairing:
    """The partner of each item, and the share that an item keeps of itself."""

    share: float
    partner: Int[Tensor, "batch"]

    @classmethod
    def drawn(cls, n_items: int, alpha: float, draw: torch.Generator, device: torch.device) -> Pairing:
        """One share for the batch, sampled from Beta(alpha, alpha), and a random partner for every item."""
        # torch cannot sample a Beta from a given generator; NumPy can, with a seed from it.
        seed = int(torch.randint(SEEDS, (), generator=draw))
        share = float(np.random.default_rng(seed).beta(alpha, alpha))
        return cls(share, torch.randperm(n_items, generator=draw).to(device))

    def of_items(self, x: Float[Tensor, "batch ..."]) -> Float[Tensor, "batch ..."]:
        return self.share * x + (1 - self.share) * x[self.partner]

    def of_labels(self, y: Float[Tensor, "runs batch classes"]) -> Float[Tensor, "runs batch classes"]:
        return self.share * y + (1 - self.share) * y[:, self.partner]


def cross_entropies(
    logits: Float[Tensor, "runs batch classes"], y: Float[Tensor, "runs batch classes"]
) -> Float[Tensor, "runs batch"]:
    """`-sum y log softmax z` per run and item."""
    return -(y * F.log_softmax(logits, dim=-1)).sum(dim=-1)


def entropies(logits: Float[Tensor, "runs batch classes"]) -> Float[Tensor, "runs batch"]:
    """The entropy of the predictions in nats; 0, not NaN, if one class has probability 1."""
    log_p = F.log_softmax(logits, dim=-1)
    return -(log_p.exp() * log_p).sum(dim=-1)


def with_endpoints(y: Float[Tensor, "runs batch classes"], endpoints: str) -> Float[Tensor, "runs batch classes"]:
    """The labels unchanged (`soft`), or one-hot of their most probable class (`hard`; ties go to the first)."""
    if endpoints == "soft":
        return y
    return F.one_hot(y.argmax(dim=-1), y.shape[-1]).to(y.dtype)


def check_endpoints(endpoints: str) -> None:
    """Raise an error if `endpoints` is not one of `ENDPOINTS`."""
    if endpoints not in ENDPOINTS:
        raise bad_setting("endpoints", endpoints, " or ".join(ENDPOINTS))


@dataclass(frozen=True)
class Plain:
    """No mixing; the mean cross-entropy `-sum y log softmax z`. Not random."""

    name: ClassVar[str] = "plain"

    def mixed(
        self,
        x: Float[Tensor, "batch channels height width"],
        y: Float[Tensor, "runs batch classes"],
        draw: torch.Generator,  # noqa: ARG002
    ) -> MixedBatch:
        return MixedBatch(x, y)

    def losses(self, logits: Float[Tensor, "runs seen classes"], mixed: MixedBatch) -> Float[Tensor, "runs"]:
        return cross_entropies(logits, mixed.y).mean(dim=-1)
