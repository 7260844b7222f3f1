"""What a network is here: settings that build a torch module for images of a given shape."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import nn

from sfumato.tables.errors import BadSetting
from sfumato.tables.settings import bad_setting, is_whole

Shape = tuple[int, int, int]
"""Channels, height, width."""


@runtime_checkable
class Network(Protocol):
    """How a network is made. What it makes maps images (batch, channels, height, width) to logits (batch, classes)."""

    @property
    def name(self) -> str: ...

    def build(self, shape: Shape, n_classes: int) -> nn.Module:
        """A new network, its weights drawn from torch's own generator: seed that in a fork beforehand."""


def check_shape(name: str, shape: Shape, n_classes: int, *, smallest: int) -> None:
    """An error unless `name` can take images of this shape, `smallest` pixels or more each way."""
    channels, height, width = shape
    if channels < 1 or min(height, width) < smallest:
        raise BadSetting(
            f"found images of {channels} channels and {height} x {width} pixels for the network {name}",
            expected=f"at least 1 channel and {smallest} x {smallest} pixels",
            fix="choose a network for smaller images (simple-ffn takes any), or enlarge the images",
            code="image-too-small",
        )
    if n_classes < 2:
        raise BadSetting(
            f"found {n_classes} classes for the network {name}",
            expected="2 classes or more",
            fix="name every class there is, also those nobody chose",
            code="bad-setting",
        )


def blocks_each(depth: int, *, layers_a_block: int, others: int) -> int:
    """How many blocks each of three stages has in a network of `depth` layers, `others` of them outside of blocks."""
    step = 3 * layers_a_block
    if not is_whole(depth) or depth < step + others or (depth - others) % step:
        known = ", ".join(str(n * step + others) for n in (1, 2, 3))
        raise bad_setting("depth", depth, f"{others} and a multiple of {step}: {known} ...")
    return (depth - others) // step
