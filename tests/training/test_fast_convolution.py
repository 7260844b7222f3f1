"""Our ways of convolving: the same numbers as torch's, there and back."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional as F  # noqa: N812

from sfumato.training import fast_convolution
from sfumato.training.fast_convolution import conv2d

SETTINGS = [
    {"stride": (1, 1), "padding": (2, 2), "dilation": (1, 1)},
    {"stride": (2, 1), "padding": (0, 3), "dilation": (1, 2)},
    {"stride": (1, 3), "padding": (1, 0), "dilation": (3, 1)},
]


def both_ways(
    function: Any, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, **settings: Any
) -> list[torch.Tensor]:
    """What comes out, and the gradients of all that learns."""
    leaves = [
        each.detach().clone().requires_grad_(each.requires_grad) for each in (x, weight, bias) if each is not None
    ]
    out = function(*leaves, *([None] if bias is None else []), **settings)
    (out * torch.arange(out.numel(), dtype=out.dtype).view_as(out).sin()).sum().backward()
    return [out, *(leaf.grad for leaf in leaves if leaf.grad is not None)]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize(("channels", "groups"), [(1, 1), (3, 1), (6, 4), (8, 4)])
def test_equals_torch(channels: int, groups: int, has_bias: bool, settings: dict[str, Any]) -> None:
    rng = torch.Generator().manual_seed(0)

    def drawn(*shape: int, learns: bool = True) -> torch.Tensor:
        return torch.randn(*shape, generator=rng, dtype=torch.float64).requires_grad_(learns)

    x = drawn(3, channels * groups, 13, 12, learns=groups > 1).contiguous(memory_format=torch.channels_last)
    weight, bias = drawn(5 * groups, channels, 3, 2), drawn(5 * groups) if has_bias else None
    ours = both_ways(conv2d, x.detach().requires_grad_(groups > 1), weight, bias, groups=groups, **settings)
    torchs = both_ways(F.conv2d, x.detach().requires_grad_(groups > 1), weight, bias, groups=groups, **settings)
    assert len(ours) == len(torchs) == 2 + has_bias + (groups > 1)
    for one, other in zip(ours, torchs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-11)


def test_our_ways_are_taken_where_they_are_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    for name in ("_OneChannel", "_GroupedInputGradient"):
        monkeypatch.setattr(getattr(fast_convolution, name), "apply", lambda *_, name=name: taken.append(name))
    settings = SETTINGS[0]
    conv2d(torch.ones(1, 1, 9, 9), torch.ones(2, 1, 3, 3, requires_grad=True), None, **settings)
    between = torch.ones(1, 12, 9, 9, requires_grad=True)
    conv2d(between, torch.ones(4, 6, 3, 3, requires_grad=True), None, groups=2, **settings)
    assert taken == ["_OneChannel", "_GroupedInputGradient"]
    conv2d(torch.ones(1, 16, 9, 9, requires_grad=True), torch.ones(4, 8, 3, 3), None, groups=2, **settings)
    with torch.no_grad():
        conv2d(between, torch.ones(4, 6, 3, 3), None, groups=2, **settings)
    assert taken == ["_OneChannel", "_GroupedInputGradient"]
