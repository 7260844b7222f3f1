"""Ranks: several processes, started by torchrun, that train the same networks on parts of each batch.

For one large model on several devices. All ranks draw the same item order and step by the mean gradient; rank 0 writes.
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
    """The rank of this process and the number of processes."""

    rank: int = 0
    world: int = 1

    @classmethod
    def here(cls) -> Ranks:
        """The ranks of this process; one rank without torchrun."""
        return cls(dist.get_rank(), dist.get_world_size()) if dist.is_available() and dist.is_initialized() else cls()

    @property
    def writes(self) -> bool:
        """Whether this process writes files."""
        return self.rank == 0

    def wait(self) -> None:
        """Wait until every rank has reached this point."""
        if self.world > 1:
            dist.barrier()

    def part(self, n_batch: int) -> slice:
        """This process's part of a batch; the whole batch if it is smaller than the number of ranks."""
        return slice(self.rank, None, self.world) if n_batch >= self.world else slice(None)

    def data_parallel(self, networks: nn.Module) -> nn.Module:
        """The networks with gradients averaged over all ranks."""
        return networks if self.world == 1 else DistributedDataParallel(networks)

    def weight(self, n_part: int, n_batch: int) -> float:
        """The factor of a part's mean loss that makes the mean over ranks equal to the mean of the batch."""
        return n_part * self.world / n_batch if n_batch >= self.world else 1.0

    def sum(self, tensor: Tensor) -> Tensor:
        """The sum over all ranks."""
        if self.world > 1:
            dist.all_reduce(tensor)
        return tensor

    def largest(self, tensor: Tensor) -> Tensor:
        """The maximum over all ranks."""
        if self.world > 1:
            dist.all_reduce(tensor, dist.ReduceOp.MAX)
        return tensor

    def average(self, module: nn.Module) -> None:
        """Average the gradients of a module that is not `data_parallel` over all ranks."""
        if self.world > 1:
            for parameter in module.parameters():
                if parameter.grad is not None:
                    dist.all_reduce(parameter.grad)
                    parameter.grad /= self.world


@contextmanager
def process_group() -> Iterator[Ranks]:
    """Join the ranks that torchrun started for the duration of the block."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or dist.is_initialized():
        yield Ranks.here()
        return
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield Ranks.here()
    finally:
        dist.destroy_process_group()
