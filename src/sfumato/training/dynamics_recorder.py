"""Dynamics: how each training item was predicted, epoch by epoch. What data maps are drawn from."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from sfumato.training.ranks import Ranks


@dataclass(frozen=True, eq=False)
class EpochDynamics:
    """One epoch of one network: for every training item the probability of its gold class, the probability that a
    draw from it and one from people's label agree (`sum q p`), and whether the first choice was the gold class."""

    gold: Float[np.ndarray, "items"]
    agreement: Float[np.ndarray, "items"]
    correct: Bool[np.ndarray, "items"]


@dataclass(eq=False)
class Dynamics:
    """The moments of one network: `online`, as each item was met in training, and at the `end` of each epoch."""

    moments: dict[tuple[str, int], EpochDynamics] = field(default_factory=dict)

    def add(self, when: str, epoch: int, moment: EpochDynamics) -> None:
        self.moments[when, epoch] = moment


@dataclass(frozen=True, eq=False)
class DynamicsBuffer:
    """Room for one epoch of several networks."""

    items: Int[Tensor, "learnt"]
    """Which items are noted, in order."""
    gold: Float[Tensor, "members items"]
    agreement: Float[Tensor, "members items"]
    correct: Bool[Tensor, "members items"]

    @classmethod
    def empty(cls, members: int, items: Int[Tensor, "learnt"]) -> DynamicsBuffer:
        n_items = int(items.max()) + 1
        blank = torch.full((members, n_items), torch.nan)
        return cls(items, blank, blank.clone(), torch.zeros((members, n_items), dtype=torch.bool))

    def note(
        self,
        logits: Float[Tensor, "members batch classes"],
        index: Int[Tensor, "batch"],
        gold: Int[Tensor, "all_items"],
        reference: Float[Tensor, "all_items classes"],
    ) -> None:
        """How the items `index` are predicted."""
        probs = logits.float().softmax(-1)
        right = gold[index]
        place = index.cpu()
        self.gold[:, place] = probs[:, torch.arange(len(index), device=right.device), right].cpu()
        self.agreement[:, place] = torch.einsum("gbk,bk->gb", probs, reference[index]).cpu()
        self.correct[:, place] = (probs.argmax(-1) == right).cpu()

    def gather(self, ranks: Ranks) -> None:
        """Take in what other ranks noted of their items."""
        if ranks.world > 1:
            # An item is noted by one rank, or by all alike.
            for noted in (self.gold, self.agreement):
                ranks.largest(noted.nan_to_num_(0.0))
            self.correct.copy_(ranks.largest(self.correct.to(torch.uint8)).to(torch.bool))

    @property
    def has_any(self) -> bool:
        """Whether anything was noted: a mixed batch shows no item as it is."""
        return not bool(self.gold[:, self.items].isnan().all())

    def of(self, member: int) -> EpochDynamics:
        """What was noted of one network."""
        return EpochDynamics(
            self.gold[member, self.items].numpy().copy(),
            self.agreement[member, self.items].numpy().copy(),
            self.correct[member, self.items].numpy().copy(),
        )
