"""Training dynamics: predictions for each training item by epoch, the input of data maps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from sfumato.training.ranks import Ranks

STORED_AT_ONCE = 2**20
"""Logits kept before they are stored."""


@dataclass(frozen=True, eq=False)
class EpochDynamics:
    """One epoch of one run, per training item: the probability of the gold class, the probability that samples from the
    prediction and from people's label agree (`sum q p`), and whether the first choice is the gold class."""

    gold: Float[np.ndarray, "items"]
    agreement: Float[np.ndarray, "items"]
    correct: Bool[np.ndarray, "items"]


@dataclass(frozen=True, eq=False)
class DynamicsBuffer:
    """The dynamics of one epoch of a run group."""

    items: Int[Tensor, "train"]
    """The items that are recorded, in order."""
    right: Int[Tensor, "all_items"]
    """The gold class of each item."""
    reference: Float[Tensor, "all_items classes"]
    """People's labels."""
    gold: Float[Tensor, "runs items"]
    agreement: Float[Tensor, "runs items"]
    correct: Bool[Tensor, "runs items"]
    waiting: list[tuple[Tensor, Tensor]]
    """Logits and items of batches that are not stored yet: many are stored at once, which is faster."""

    @classmethod
    def empty(
        cls, runs: int, items: Int[Tensor, "train"], right: Int[Tensor, "all"], reference: Float[Tensor, "all classes"]
    ) -> DynamicsBuffer:
        n_items = int(items.max()) + 1
        blank = torch.full((runs, n_items), torch.nan)
        correct = torch.zeros((runs, n_items), dtype=torch.bool)
        return cls(items, right, reference, blank, blank.clone(), correct, [])

    def record(self, logits: Float[Tensor, "runs batch classes"], index: Int[Tensor, "batch"]) -> None:
        """Record the predictions for the items `index`; call `store` after the last batch."""
        self.waiting.append((logits.float(), index))
        if len(self.waiting) * logits.numel() >= STORED_AT_ONCE:
            self.store()

    def store(self) -> None:
        """Store the predictions of the batches that are waiting."""
        if not self.waiting:
            return
        probs = torch.cat([logits for logits, _ in self.waiting], dim=1).softmax(-1)
        index = torch.cat([index for _, index in self.waiting])
        self.waiting.clear()
        right = self.right[index]
        place = index.cpu()
        self.gold[:, place] = probs[:, torch.arange(len(index), device=right.device), right].cpu()
        self.agreement[:, place] = torch.einsum("gbk,bk->gb", probs, self.reference[index]).cpu()
        self.correct[:, place] = (probs.argmax(-1) == right).cpu()

    def gather(self, ranks: Ranks) -> None:
        """Collect the values of the other ranks."""
        if ranks.world > 1:
            # An item is recorded by one rank, or by all with the same values.
            for values in (self.gold, self.agreement):
                ranks.largest(values.nan_to_num_(0.0))
            self.correct.copy_(ranks.largest(self.correct.to(torch.uint8)).to(torch.bool))

    @property
    def has_any(self) -> bool:
        """Whether anything was recorded; nothing is recorded for mixed batches."""
        return not bool(self.gold[:, self.items].isnan().all())

    def of_run(self, run: int) -> EpochDynamics:
        """The dynamics of one run."""
        return EpochDynamics(
            self.gold[run, self.items].numpy().copy(),
            self.agreement[run, self.items].numpy().copy(),
            self.correct[run, self.items].numpy().copy(),
        )
