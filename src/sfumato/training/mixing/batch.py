"""What every mixing shares: the protocol, what it makes of a batch, and the draw that pairs items.

No mixing.
"""

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
    """A batch as the networks see it, and what their loss needs."""

    x: Float[Tensor, "seen channels height width"]
    y: Float[Tensor, "members batch classes"]
    share: float = 1.0
    """How much of itself an item kept."""


@runtime_checkable
class Mixing(Protocol):
    """How a batch becomes what the networks see, and a loss a member."""

    name: ClassVar[str]

    def mixed(
        self,
        x: Float[Tensor, "batch channels height width"],
        y: Float[Tensor, "members batch classes"],
        draw: torch.Generator,
    ) -> MixedBatch:
        """The batch, mixed by chance of `draw` (a CPU generator) alone; `x` and `y` stay as they are."""
        ...

    def losses(self, logits: Float[Tensor, "members seen classes"], mixed: MixedBatch) -> Float[Tensor, "members"]:
        """The mean over the batch, for every member by itself."""
        ...


@dataclass(frozen=True, eq=False)
class Pairing:
    """Who is mixed with whom, and how much of itself an item keeps."""

    share: float
    partner: Int[Tensor, "batch"]

    @classmethod
    def drawn(cls, n_items: int, alpha: float, draw: torch.Generator, device: torch.device) -> Pairing:
        """One share for the batch, from Beta(alpha, alpha), and a random partner for every item."""
        # torch draws no Beta from a generator that is handed in; NumPy does, from a seed drawn here.
        seed = int(torch.randint(SEEDS, (), generator=draw))
        share = float(np.random.default_rng(seed).beta(alpha, alpha))
        return cls(share, torch.randperm(n_items, generator=draw).to(device))

    def of_items(self, x: Float[Tensor, "batch ..."]) -> Float[Tensor, "batch ..."]:
        return self.share * x + (1 - self.share) * x[self.partner]

    def of_labels(self, y: Float[Tensor, "members batch classes"]) -> Float[Tensor, "members batch classes"]:
        return self.share * y + (1 - self.share) * y[:, self.partner]


def cross_entropies(
    logits: Float[Tensor, "members batch classes"], y: Float[Tensor, "members batch classes"]
) -> Float[Tensor, "members batch"]:
    """`-sum y log softmax z`, for every member and item."""
    return -(y * F.log_softmax(logits, dim=-1)).sum(dim=-1)


def entropies(logits: Float[Tensor, "members batch classes"]) -> Float[Tensor, "members batch"]:
    """The entropy in nats of what is predicted; 0 without a NaN where one class has it all."""
    log_p = F.log_softmax(logits, dim=-1)
    return -(log_p.exp() * log_p).sum(dim=-1)


def with_endpoints(y: Float[Tensor, "members batch classes"], endpoints: str) -> Float[Tensor, "members batch classes"]:
    """The labels as they are (`soft`), or all of each on its most probable class (`hard`; ties go to the first)."""
    if endpoints == "soft":
        return y
    return F.one_hot(y.argmax(dim=-1), y.shape[-1]).to(y.dtype)


def check_endpoints(endpoints: str) -> None:
    """Raise unless `endpoints` is one of `ENDPOINTS`."""
    if endpoints not in ENDPOINTS:
        raise bad_setting("endpoints", endpoints, " or ".join(ENDPOINTS))


@dataclass(frozen=True)
class Plain:
    """Items as they are, and the mean cross-entropy `-sum y log softmax z`. Draws nothing."""

    name: ClassVar[str] = "plain"

    def mixed(
        self,
        x: Float[Tensor, "batch channels height width"],
        y: Float[Tensor, "members batch classes"],
        draw: torch.Generator,  # noqa: ARG002
    ) -> MixedBatch:
        return MixedBatch(x, y)

    def losses(self, logits: Float[Tensor, "members seen classes"], mixed: MixedBatch) -> Float[Tensor, "members"]:
        return cross_entropies(logits, mixed.y).mean(dim=-1)
