"""Network: the protocol of settings that build a torch module for images of a given shape."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import nn

from sfumato.tables.errors import BadSetting
from sfumato.tables.setting_checks import bad_setting, is_whole

Shape = tuple[int, int, int]
"""Channels, height, width."""


@runtime_checkable
class Network(Protocol):
    """Builds modules that map images (batch, channels, height, width) to logits (batch, classes)."""

    @property
    def name(self) -> str: ...

    def build(self, shape: Shape, n_classes: int) -> nn.Module:
        """A new network with random weights from torch's global generator: seed it in a fork first."""


def check_shape(name: str, shape: Shape, n_classes: int, *, smallest: int) -> None:
    """Raise an error if the network cannot use images of this shape; `smallest` is its smallest height and width."""
    channels, height, width = shape
    if channels < 1 or min(height, width) < smallest:
        found = f"images of {channels} channels and {height} x {width} pixels for the network {name}"
        fix = "choose a network for smaller images (simple-ffn has no limit), or enlarge the images"
        raise BadSetting(found, f"at least 1 channel and {smallest} x {smallest} pixels", fix, "image-too-small")
    if n_classes < 2:
        found = f"{n_classes} classes for the network {name}"
        raise BadSetting(found, "2 classes or more", "list all classes, also those that nobody chose")


def blocks_per_stage(depth: int, *, layers_per_block: int, others: int) -> int:
    """The number of blocks per stage, for three stages and `depth` layers, `others` of them outside of blocks."""
    step = 3 * layers_per_block
    if not is_whole(depth) or depth < step + others or (depth - others) % step:
        known = ", ".join(str(n * step + others) for n in (1, 2, 3))
        raise bad_setting("depth", depth, f"{others} and a multiple of {step}: {known} ...")
    return (depth - others) // step
