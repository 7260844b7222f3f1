"""Residual networks that are wide rather than deep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from sfumato.tables.settings import at_least, bad_setting
from sfumato.training.networks.layers import conv, he_normal, mean_head, named, preactivated, relu
from sfumato.training.networks.network import Shape, blocks_each, check_shape
from sfumato.training.stacked_network import Dropout


@dataclass(frozen=True)
class WideResNet:
    """WRN-depth-widen (Zagoruyko & Komodakis 2016): pre-activation basic blocks, three stages of 16, 32 and 64
    channels times `widen`, depth 6n + 4.

    `dropout` is the share dropped between the two convolutions of a block, after ReLU; the paper's .3 where it uses
    any. WRN-16-2 learns well from few images and is the size to begin with; WRN-28-10 wants a GPU. Convolutions by
    He's rule.
    """

    depth: int = 16
    widen: int = 2
    dropout: float = 0.0

    name: ClassVar[str] = "wide-resnet"

    def __post_init__(self) -> None:
        blocks_each(self.depth, layers_a_block=2, others=4)
        at_least("widen", self.widen, 1)
        if not 0 <= self.dropout < 1:
            raise bad_setting("dropout", self.dropout, "a share from 0 to below 1")

    def build(self, shape: Shape, n_classes: int) -> nn.Module:
        check_shape(self.name, shape, n_classes, smallest=8)
        n_in = 16
        stages: dict[str, nn.Module] = {}
        for i in range(3):
            n_out = 16 * self.widen * 2**i
            blocks = []
            for k in range(blocks_each(self.depth, layers_a_block=2, others=4)):
                stride = 2 if i > 0 and k == 0 else 1
                blocks.append(preactivated(n_in, n_out, stride, self._body(n_in, n_out, stride)))
                n_in = n_out
            stages[f"stage_{i + 1}"] = nn.Sequential(*blocks)
        last = nn.Sequential(nn.BatchNorm2d(n_in), relu())
        return he_normal(named(stem=conv(shape[0], 16), **stages, last=last, head=mean_head(n_in, n_classes)))

    def _body(self, n_in: int, n_out: int, stride: int) -> nn.Sequential:
        dropped = [Dropout(self.dropout)] if self.dropout else []
        return nn.Sequential(
            conv(n_in, n_out, stride=stride), nn.BatchNorm2d(n_out), relu(), *dropped, conv(n_out, n_out)
        )
