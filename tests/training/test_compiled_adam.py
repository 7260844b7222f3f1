"""Our Adam takes the steps of torch's, also with weight decay, other layouts and moments from a checkpoint."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sfumato.training.compiled_adam import CompiledAdam
from sfumato.training.optimizers import Adam


def parameters() -> list[nn.Parameter]:
    torch.manual_seed(0)
    wide = torch.randn(6, 3, 5, 5).contiguous(memory_format=torch.channels_last)
    return [nn.Parameter(torch.randn(7, 33)), nn.Parameter(wide), nn.Parameter(torch.randn(5))]


def set_gradients(of: list[nn.Parameter], step: int) -> None:
    torch.manual_seed(step + 1)
    for number, parameter in enumerate(of):
        # One has no gradient in the first step; contiguous ones are also given to weights that are channels_last.
        parameter.grad = None if step == 0 and number == 2 else torch.randn(parameter.shape)


@pytest.mark.parametrize(("decay", "decoupled"), [(0.0, False), (0.1, False), (0.1, True)])
def test_equals_torch(decay: float, decoupled: bool) -> None:
    ours, theirs = parameters(), [nn.Parameter(each.detach().double()) for each in parameters()]
    kind = torch.optim.AdamW if decoupled else torch.optim.Adam
    peer = kind(theirs, lr=0.01, betas=(0.8, 0.99), weight_decay=decay)
    optimizer = Adam(0.01, 0.8, 0.99, decay, decoupled).build(ours)
    assert isinstance(optimizer, CompiledAdam)
    for step in range(20):
        set_gradients(ours, step)
        for one, other in zip(ours, theirs, strict=True):
            other.grad = None if one.grad is None else one.grad.double()
        optimizer.step()
        peer.step()
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=0, atol=2e-6)


def test_moments_that_are_set_are_used() -> None:
    first, second = parameters(), parameters()
    one, other = (CompiledAdam(each, 0.01, (0.9, 0.999), 0.0, False) for each in (first, second))
    for step in range(4):
        set_gradients(first, step)
        one.step()
    # As from a checkpoint: the weights and moments of the first.
    set_gradients(second, 0)
    other.step()
    for mine, its in zip(first, second, strict=True):
        its.data.copy_(mine.data)
        other.state[its] = {name: value.clone() for name, value in one.state[mine].items()}
    for step in range(4, 6):
        for each, optimizer in ((first, one), (second, other)):
            set_gradients(each, step)
            optimizer.step()
    for mine, its in zip(first, second, strict=True):
        assert torch.equal(mine, its)


def test_other_data_types_are_left_to_torch() -> None:
    built = Adam().build([nn.Parameter(torch.zeros(2, dtype=torch.float64))])
    assert isinstance(built, torch.optim.Adam)
