"""Networks for small images. `NETWORKS` lists the families, `NAMED` the networks with their own names, `TEXT_NETWORKS`
those for texts.

All of them can be stacked. Any other object with `build` can be used from Python without a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sfumato.tables.errors import BadSetting, unknown
from sfumato.tables.strategies import strategy_from_name
from sfumato.training.networks.densenet import DenseNet
from sfumato.training.networks.encoder import Encoder
from sfumato.training.networks.feed_forward import DeeperFfn, LeNet, Mlp, SimpleFfn, Small, Vgg
from sfumato.training.networks.network import Network, Shape
from sfumato.training.networks.resnet import PreactResNet, PyramidNet, ResNet, ResNeXt, WideResNet
from sfumato.training.networks.shake_shake import ShakeShake

NETWORKS: tuple[Any, ...] = (
    SimpleFfn,
    DeeperFfn,
    Mlp,
    LeNet,
    Small,
    Vgg,
    ResNet,
    PreactResNet,
    WideResNet,
    ResNeXt,
    DenseNet,
    PyramidNet,
    ShakeShake,
)
TEXT_NETWORKS: tuple[Any, ...] = (Encoder,)
"""Networks for texts."""

NAMED: Mapping[str, Network] = MappingProxyType(
    {
        "simple-ffn": SimpleFfn(),
        "deeper-ffn": DeeperFfn(),
        "mlp": Mlp(),
        "lenet": LeNet(),
        "small": Small(),
        "vgg-11": Vgg(depth=11),
        "vgg-15-bn": Vgg(depth=15),
        "resnet-8": ResNet(depth=8),
        "resnet-20": ResNet(depth=20),
        "resnet-34a": ResNet(depth=44, bias=True),
        "resnet-50": ResNet(depth=50, block="bottleneck", shortcut="projection"),
        "resnet-110": ResNet(depth=110),
        "preact-resnet-18": PreactResNet(depth=18),
        "preact-resnet-34": PreactResNet(depth=34),
        "preact-resnet-164": PreactResNet(depth=164),
        "wrn-16-2": WideResNet(depth=16, widen=2),
        "wrn-28-10": WideResNet(depth=28, widen=10),
        "resnext-29": ResNeXt(depth=29, paths=8, path_width=64),
        "densenet-bc-100-12": DenseNet(depth=100, growth=12),
        "pyramidnet-110-270": PyramidNet(depth=110, alpha=270),
        "shake-shake-26": ShakeShake(depth=26, width=64),
    }
)
"""Networks by their names in the literature."""

__all__ = [
    "NAMED",
    "NETWORKS",
    "TEXT_NETWORKS",
    "DeeperFfn",
    "DenseNet",
    "Encoder",
    "LeNet",
    "Mlp",
    "Network",
    "PreactResNet",
    "PyramidNet",
    "ResNeXt",
    "ResNet",
    "ShakeShake",
    "Shape",
    "SimpleFfn",
    "Small",
    "Vgg",
    "WideResNet",
    "network_named",
]


def network_named(name: str, settings: Mapping[str, Any] | None = None) -> Network:
    """The network called `name`: one of `NAMED`, or a family of `NETWORKS` with `settings`."""
    if name in NAMED and not settings:
        return NAMED[name]
    members = (*NETWORKS, *TEXT_NETWORKS)
    families = [family.name for family in members]
    family = name.partition(":")[0]
    if family in families:
        return strategy_from_name("network", members, name, settings or {})  # type: ignore[no-any-return]
    if family in NAMED:
        expected = "no settings: the name determines them"
        raise BadSetting(f"settings for {family}", expected, f"omit them, or use the family {NAMED[family].name}")
    raise unknown("network", family, list(dict.fromkeys([*NAMED, *families])))
