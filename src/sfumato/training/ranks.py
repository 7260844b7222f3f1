"""Ranks: several processes that train the same networks together, each on its share of every batch.

For one large model on several devices, started by torchrun. Every rank draws the same order, takes its share of each
batch, and all step by the mean gradient. Rank 0 alone writes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel


@dataclass(frozen=True)
class Ranks:
    """Which of how many processes this is."""

    rank: int = 0
    world: int = 1

    @classmethod
    def here(cls) -> Ranks:
        """This process's place; alone if nobody started it with others."""
        return cls(dist.get_rank(), dist.get_world_size()) if dist.is_available() and dist.is_initialized() else cls()

    @property
    def writes(self) -> bool:
        """Whether this process is the one that writes."""
        return self.rank == 0

    def wait(self) -> None:
        """Go on when every rank has come here."""
        if self.world > 1:
            dist.barrier()

    def part(self, n_batch: int) -> slice:
        """This process's part of a batch; of one too small to be shared, all of it."""
        return slice(self.rank, None, self.world) if n_batch >= self.world else slice(None)

    def joined(self, networks: nn.Module) -> nn.Module:
        """The networks, their gradients averaged over all ranks."""
        return networks if self.world == 1 else DistributedDataParallel(networks)

    def weight(self, n_part: int, n_batch: int) -> float:
        """What the mean loss of a part is multiplied with, so that the mean over ranks is that of the batch."""
        return n_part * self.world / n_batch if n_batch >= self.world else 1.0

    def summed(self, tensor: Tensor) -> Tensor:
        """The sum over all ranks."""
        if self.world > 1:
            dist.all_reduce(tensor)
        return tensor

    def largest(self, tensor: Tensor) -> Tensor:
        """The largest over all ranks."""
        if self.world > 1:
            dist.all_reduce(tensor, dist.ReduceOp.MAX)
        return tensor

    def average(self, module: nn.Module) -> None:
        """Make the gradients of a module that is not `joined` their mean over all ranks."""
        if self.world > 1:
            for parameter in module.parameters():
                if parameter.grad is not None:
                    dist.all_reduce(parameter.grad)
                    parameter.grad /= self.world


@contextmanager
def together() -> Iterator[Ranks]:
    """The ranks torchrun started, while they work together; a process by itself is alone."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or dist.is_initialized():
        yield Ranks.here()
        return
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield Ranks.here()
    finally:
        dist.destroy_process_group()
