"""A stacked sequence in one step: the same logits and gradients as torch's, layer by layer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from sfumato.training.fused_sequence import FusedSequence, fused_sequence
from sfumato.training.networks import network_named
from sfumato.training.stacked_network import StackedNetwork


def small_kernels() -> nn.Module:
    """Odd sizes, padding in one direction, kernels that are not square, channels that fill no block."""
    return nn.Sequential(
        nn.Conv2d(2, 7, (2, 3), padding=(1, 0)), nn.MaxPool2d(2), nn.ReLU(),
        nn.Sequential(nn.Conv2d(7, 13, 3, padding=1), nn.MaxPool2d(2, 2), nn.ReLU(inplace=True)),
        nn.Flatten(), nn.Linear(13 * 4 * 4, 9), nn.ReLU(), nn.Linear(9, 3),
    )  # fmt: skip


BUILDERS: dict[str, tuple[tuple[int, int, int], Callable[[], nn.Module]]] = {
    "simple-ffn": ((3, 9, 8), lambda: network_named("simple-ffn").build((3, 9, 8), 4)),
    "deeper-ffn": ((1, 9, 8), lambda: network_named("deeper-ffn").build((1, 9, 8), 4)),
    "lenet": ((1, 28, 28), lambda: network_named("lenet").build((1, 28, 28), 10)),
    "lenet in color": ((3, 32, 33), lambda: network_named("lenet").build((3, 32, 33), 10)),
    "small kernels": ((2, 17, 19), small_kernels),
}


def stacked(name: str, n_runs: int) -> tuple[StackedNetwork, FusedSequence]:
    torch.manual_seed(0)
    shape, build = BUILDERS[name]
    stack = StackedNetwork([build() for _ in range(n_runs)], torch.randn(2, *shape))
    sequence = fused_sequence(stack.wide, n_runs)
    assert sequence is not None
    return stack, sequence


def gradients(logits: Tensor, stack: StackedNetwork) -> list[Tensor]:
    stack.zero_grad()
    weights = torch.arange(logits.numel(), dtype=logits.dtype).view(logits.shape).sin()
    (logits * weights).sum().backward()
    return [parameter.grad.double() for parameter in stack.parameters() if parameter.grad is not None]


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize(("n_runs", "n_items"), [(3, 80), (1, 19), (2, 1)])
def test_equals_torch_layer_by_layer(name: str, n_runs: int, n_items: int) -> None:
    stack, sequence = stacked(name, n_runs)
    x = torch.randn(n_items, *BUILDERS[name][0])
    found = sequence(x)
    ours = gradients(found, stack)
    with torch.no_grad():
        assert torch.equal(stack(x), found)
    # Torch's own, in float64: without rounding, and never in one step.
    stack.double()
    expected = stack(x.double())
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-5)
    theirs = gradients(expected, stack)
    assert len(ours) == len(theirs) == len(list(stack.parameters()))
    for one, other in zip(ours, theirs, strict=True):
        assert float((one - other).abs().max()) < 1e-4 * max(1.0, float(other.abs().max()))


def test_one_step_is_taken_for_float32_without_a_gradient_of_the_input() -> None:
    stack, sequence = stacked("lenet", 2)
    x = torch.randn(3, 1, 28, 28)
    assert type(stack(x).grad_fn).__name__ == "_FusedBackward"
    assert sequence.fits(x)
    assert not sequence.fits(x.double())
    assert not sequence.fits(x.requires_grad_())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert not sequence.fits(x.detach())


@pytest.mark.parametrize(
    "layers",
    [
        (nn.Conv2d(1, 2, 3), nn.MaxPool2d(2, ceil_mode=True), nn.ReLU(), nn.Flatten(), nn.Linear(18, 3)),
        (nn.Conv2d(1, 2, 3, stride=2), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(2, 3)),
        (nn.Conv2d(1, 2, 3), nn.MaxPool2d(3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3)),
        (nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3)),
        (nn.Conv2d(1, 2, 4), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3)),
        (nn.Flatten(), nn.Linear(49, 3), nn.Tanh(), nn.Linear(3, 3)),
        (nn.Flatten(), nn.Linear(49, 3, bias=False)),
        (nn.Flatten(), nn.Linear(49, 3), nn.ReLU()),
    ],
)
def test_other_layers_are_left_to_torch(layers: tuple[nn.Module, ...]) -> None:
    stack = StackedNetwork([nn.Sequential(*layers)] * 2, torch.randn(2, 1, 7, 7))
    assert fused_sequence(stack.wide, 2) is None
    assert stack(torch.randn(2, 1, 7, 7)).shape == (2, 2, 3)


def test_a_weight_that_is_not_a_number_shows_in_its_run_only() -> None:
    stack, _ = stacked("lenet", 2)
    with torch.no_grad():
        next(iter(stack.parameters()))[0, 0, 0, 0] = torch.nan
        first, second = stack(torch.randn(20, 1, 28, 28)).numpy()
    assert np.isnan(first).all()
    assert np.isfinite(second).all()
