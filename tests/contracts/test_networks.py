"""What every network must do. One is tested by standing in `NAMED`; each contract rejects a wrong one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from sfumato.tables.errors import BadSetting, UnknownName
from sfumato.training.networks import (
    NAMED,
    NETWORKS,
    DenseNet,
    Network,
    PreactResNet,
    PyramidNet,
    ResNet,
    ResNeXt,
    ShakeShake,
    Vgg,
    WideResNet,
    network_named,
)
from sfumato.training.networks.layers import mean_head
from sfumato.training.stacked_network import StackedNetwork, can_stack

GREY, COLOUR, ODD = (1, 28, 28), (3, 32, 32), (2, 17, 19)

LIGHTER: dict[str, Network] = {
    "vgg-11": Vgg(depth=11, width=4),
    "vgg-15-bn": Vgg(depth=15, width=4),
    "resnet-50": ResNet(depth=50, block="bottleneck", shortcut="projection", width=2),
    "resnet-110": ResNet(depth=14, shortcut="projection", width=4),
    "resnet-34a": ResNet(depth=14, bias=True, width=8),
    "preact-resnet-18": PreactResNet(depth=18, width=4),
    "preact-resnet-34": PreactResNet(depth=34, width=2),
    "preact-resnet-164": PreactResNet(depth=164, width=1),
    "wrn-28-10": WideResNet(depth=10, widen=1, dropout=0.3),
    "resnext-29": ResNeXt(depth=11, paths=2, path_width=3, width=4),
    "densenet-bc-100-12": DenseNet(depth=16, growth=3),
    "pyramidnet-110-270": PyramidNet(depth=14, alpha=10),
    "shake-shake-26": ShakeShake(depth=14, width=5),
}
"""The same forms with fewer channels or layers, where the whole network is too much to compute here."""

SENSITIVE: dict[Network, float] = {LIGHTER["resnet-50"]: 1e-8, LIGHTER["preact-resnet-164"]: 1e-6}
"""How near float64 comes in networks so deep that three steps make 1e-10 (and 1e-8) of inputs moved by 1e-15."""

TOO_DEEP_FOR_FLOAT32 = (*SENSITIVE, LIGHTER["vgg-15-bn"], LIGHTER["preact-resnet-34"])
"""Those in which rounding alone grows beyond 1e-5 in three steps. That nothing leaks is shown in float64."""

COMPUTED = {name: LIGHTER.get(name, network) for name, network in NAMED.items()}


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def built(network: Network, shape: tuple[int, int, int], n_classes: int, *, seed: int = 0) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return network.build(shape, n_classes)


def images(n: int, shape: tuple[int, int, int], *, seed: int = 1) -> Tensor:
    return torch.randn((n, *shape), generator=torch.Generator().manual_seed(seed))


def hand_in(network: nn.Module, seed: int) -> None:
    """Chance for every layer that takes some, all from one generator, as in training."""
    generator = torch.Generator().manual_seed(seed)
    for layer in network.modules():
        if hasattr(layer, "generator"):
            layer.generator = generator


# The contracts: each takes a network, and fails for one that breaks it.


def gives_finite_logits(network: Network) -> None:
    for shape, n_classes in ((GREY, 2), (COLOUR, 10), (ODD, 3)):
        module = built(network, shape, n_classes)
        for mode in (True, False):
            logits = module.train(mode)(images(3, shape))
            assert logits.shape == (3, n_classes)
            assert logits.dtype == torch.float32
            assert torch.isfinite(logits).all()
            if mode:
                # Different images and different classes have different logits.
                assert (logits[0] - logits[1]).abs().min() > 0
                assert (logits[:, 0] - logits[:, 1]).abs().min() > 0
        assert torch.isfinite(module.train()(torch.full((2, *shape), 255.0))).all()


def draws_its_weights_from_the_seed(network: Network) -> None:
    one, again, other = (built(network, ODD, 3, seed=seed).state_dict() for seed in (4, 4, 5))
    assert list(one) == list(again)
    assert all(torch.equal(one[name], again[name]) for name in one)
    drawn = [name for name in one if one[name].dim() > 1]
    assert drawn
    assert not any(torch.equal(one[name], other[name]) for name in drawn)


def learns_with_every_parameter(network: Network) -> None:
    module = built(network, COLOUR, 3)
    F.cross_entropy(module(images(8, COLOUR)), torch.arange(8) % 3).backward()
    for name, parameter in module.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.dim() == 1 or parameter.grad.abs().max() > 0, name


def looks_at_each_image_alone(network: Network) -> None:
    module, x = built(network, COLOUR, 3), images(6, COLOUR)
    module(x)
    module.eval()
    together = module(x)
    alone = torch.cat([module(x[i : i + 1]) for i in range(6)])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


def leaves_the_images_as_they_are(network: Network) -> None:
    for mode in (True, False):
        module, x = built(network, COLOUR, 3).train(mode), images(4, COLOUR)
        kept = x.clone()
        with torch.no_grad():
            module(x)
        assert torch.equal(x, kept)


def learns_the_same_in_a_stack(network: Network) -> None:
    """Three members with weights and labels of their own: three steps side by side are three steps apart."""
    stacks_like_apart(network, ODD, torch.float64, SENSITIVE.get(network, 1e-12), lr=0.02)
    if network not in TOO_DEEP_FOR_FLOAT32:
        stacks_like_apart(network, GREY, torch.float32, 1e-5, lr=0.001)


def stacks_like_apart(
    network: Network, shape: tuple[int, int, int], dtype: torch.dtype, atol: float, *, lr: float
) -> None:
    n_members, n_classes = 3, 4
    # Stacks are in channels_last, where torch's batch norm rounds 20 times as coarsely as elsewhere: so be those apart.
    apart = [built(network, shape, n_classes, seed=seed).to(dtype) for seed in range(n_members)]
    apart = [module.to(memory_format=torch.channels_last) for module in apart]
    assert all(can_stack(module) for module in apart)
    x = [images(8, shape, seed=seed).to(dtype).contiguous(memory_format=torch.channels_last) for seed in range(3)]
    y = torch.rand((3, n_members, 8, n_classes), generator=torch.Generator().manual_seed(9)).to(dtype).softmax(dim=3)
    stack = StackedNetwork(apart, x[0][:2])

    hand_in(stack, 7)
    seen = trained(stack, lambda step: (stack(x[step]), y[step]), lr)
    for g, module in enumerate(apart):
        hand_in(module, 7)
        alone = trained(module, lambda step, m=module, g=g: (m(x[step])[None], y[step, g][None]), lr)
        for step in range(3):
            torch.testing.assert_close(seen[step][g], alone[step][0], rtol=0, atol=atol)
        state, expected = stack.state_of(g), module.state_dict()
        assert list(state) == list(expected)
        for name, tensor in expected.items():
            torch.testing.assert_close(state[name], tensor, rtol=0, atol=atol, msg=lambda text, n=name: f"{n}: {text}")
        with torch.no_grad():
            torch.testing.assert_close(stack.eval()(x[0])[g], module.eval()(x[0]), rtol=0, atol=atol)


def trained(module: nn.Module, step_of: Callable[[int], tuple[Tensor, Tensor]], lr: float) -> list[Tensor]:
    """The logits (members, batch, classes) of three steps of SGD on the sum of the members' mean cross-entropies."""
    optimiser = torch.optim.SGD(module.parameters(), lr=lr, momentum=0.9, weight_decay=1e-4)
    seen = []
    for step in range(3):
        logits, y = step_of(step)
        seen.append(logits.detach())
        optimiser.zero_grad()
        (-(y * logits.log_softmax(dim=2)).sum(dim=2).mean(dim=1).sum()).backward()
        optimiser.step()
    return seen


CONTRACTS = (
    gives_finite_logits,
    draws_its_weights_from_the_seed,
    learns_with_every_parameter,
    looks_at_each_image_alone,
    leaves_the_images_as_they_are,
    learns_the_same_in_a_stack,
)


LONG = ("resnet-20", "wrn-16-2", "preact-resnet-164", "resnet-50", "preact-resnet-34", "vgg-15-bn")
"""Networks whose contracts take long; they are kept by `make faults`."""


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in COMPUTED])
@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)
def test_network_keeps_the_contract(contract: Callable[[Network], None], name: str) -> None:
    contract(COMPUTED[name])


@pytest.mark.parametrize("name", LIGHTER)
def test_whole_network_can_be_computed(name: str) -> None:
    """One image, since the lighter form has been through the contracts."""
    module = built(NAMED[name], COLOUR, 10).eval()
    assert can_stack(module)
    with torch.no_grad():
        logits = module(images(1, COLOUR))
    assert logits.shape == (1, 10)
    assert torch.isfinite(logits).all()


def test_every_family_is_there_by_name() -> None:
    assert {type(network) for network in NAMED.values()} == set(NETWORKS)
    assert set(LIGHTER) <= set(NAMED)
    assert all(type(LIGHTER[name]) is type(NAMED[name]) for name in LIGHTER)
    names = [family.name for family in NETWORKS]
    assert len(set(names)) == len(names)
    for family in NETWORKS:
        assert network_named(family.name) == family()
        assert network_named(family.name, {}) == family()
    for name, network in NAMED.items():
        assert network_named(name) is network


def test_names_that_are_none_are_refused() -> None:
    with pytest.raises(UnknownName, match=r"did you mean 'resnet-20'.*") as caught:
        network_named("resnet-21")
    assert caught.value.code == "unknown-network"
    assert "simple-ffn" in caught.value.expected
    with pytest.raises(BadSetting, match="the name determines them"):
        network_named("resnet-20", {"depth": 8})


@pytest.mark.parametrize("family", NETWORKS, ids=lambda family: family.name)
def test_settings_that_mean_nothing_are_refused(family: Any) -> None:
    with pytest.raises(BadSetting, match="found the setting magic"):
        network_named(family.name, {"magic": 1})
    for field in fields(family):
        for value in (-1, "perhaps", 2.5, float("nan")):
            if isinstance(value, str) and field.type == "float":
                continue
            with pytest.raises(BadSetting) as caught:
                network_named(family.name, {field.name: value})
            assert caught.value.code == "bad-setting"


@pytest.mark.parametrize("network", COMPUTED.values(), ids=COMPUTED)
def test_inputs_that_cannot_be_are_refused(network: Network) -> None:
    smallest = {"simple-ffn": 1, "deeper-ffn": 1, "mlp": 1, "lenet": 12, "vgg": 16}.get(network.name, 8)
    for shape in ((0, 28, 28), (1, smallest - 1, 28), (1, 28, smallest - 1)):
        with pytest.raises(BadSetting, match=f"{shape[1]} x {shape[2]} pixels.*{smallest} x {smallest}") as caught:
            network.build(shape, 10)
        assert caught.value.code == "image-too-small"
    with pytest.raises(BadSetting, match="found 1 classes"):
        network.build((1, 28, 28), 1)
    shape = (1, smallest, smallest)
    assert torch.isfinite(built(network, shape, 2)(images(2, shape))).all()


# A wrong network for each contract: a small sound one, with one thing not as it should be.


@dataclass(frozen=True)
class _Wrong:
    name: ClassVar[str] = "wrong"

    def build(self, shape: tuple[int, int, int], n_classes: int) -> nn.Module:
        return nn.Sequential(nn.Conv2d(shape[0], 4, 3), nn.ReLU(), mean_head(4, n_classes))


class ForgetsTheLastClass(_Wrong):
    def build(self, shape: tuple[int, int, int], n_classes: int) -> nn.Module:
        return super().build(shape, n_classes - 1)


class SeesNoImage(_Wrong):
    def build(self, shape: tuple[int, int, int], n_classes: int) -> nn.Module:
        return nn.Sequential(nn.Threshold(1e9, 0.0), super().build(shape, n_classes))


class SeedsItself(_Wrong):
    def build(self, shape: tuple[int, int, int], n_classes: int) -> nn.Module:
        torch.manual_seed(0)
        return super().build(shape, n_classes)


class DrawsElsewhere(_Wrong):
    elsewhere: ClassVar[torch.Generator] = torch.Generator().manual_seed(0)

    def build(self, shape: tuple[int, int, int], n_classes: int) -> nn.Module:
        module = super().build(shape, n_classes)
        nn.init.normal_(module[0].weight, generator=self.elsewhere)
        return module


class _Idle(nn.Sequential):
    def forward(self, x: Tensor) -> Tensor:
        return self[1](x)


class HasAnIdleLayer(_Wrong):
    def build(self, shape: tuple[int, int, int], n_classes: int) -> nn.Module:
        return _Idle(nn.Linear(2, 2), super().build(shape, n_classes))


class ComparesImages(_Wrong):
    def build(self, shape: tuple[int, int, int], n_classes: int) -> nn.Module:
        return nn.Sequential(nn.BatchNorm2d(shape[0], track_running_stats=False), super().build(shape, n_classes))


class WorksInPlace(_Wrong):
    def build(self, shape: tuple[int, int, int], n_classes: int) -> nn.Module:
        return nn.Sequential(nn.ReLU(inplace=True), super().build(shape, n_classes))


class _Joins(nn.Module):
    """Joins channels with no twin that keeps those of a member together."""

    def __init__(self, n_in: int, n_classes: int) -> None:
        super().__init__()
        self.one, self.other = nn.Conv2d(n_in, 4, 3), nn.Conv2d(n_in, 4, 3)
        self.head = mean_head(8, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.cat((self.one(x), self.other(x)), dim=1).relu())


class LeaksBetweenMembers(_Wrong):
    def build(self, shape: tuple[int, int, int], n_classes: int) -> nn.Module:
        return _Joins(shape[0], n_classes)


class NormsAcrossMembers(_Wrong):
    def build(self, shape: tuple[int, int, int], n_classes: int) -> nn.Module:
        return nn.Sequential(
            nn.Conv2d(shape[0], 4, 3), nn.GroupNorm(1, 4, affine=False), nn.ReLU(), mean_head(4, n_classes)
        )


class DropsByItsOwnChance(_Wrong):
    def build(self, shape: tuple[int, int, int], n_classes: int) -> nn.Module:
        return nn.Sequential(nn.Conv2d(shape[0], 4, 3), nn.Dropout(0.5), mean_head(4, n_classes))


@pytest.mark.parametrize(
    ("contract", "wrong"),
    [
        (gives_finite_logits, ForgetsTheLastClass()),
        (gives_finite_logits, SeesNoImage()),
        (draws_its_weights_from_the_seed, SeedsItself()),
        (draws_its_weights_from_the_seed, DrawsElsewhere()),
        (learns_with_every_parameter, HasAnIdleLayer()),
        (looks_at_each_image_alone, ComparesImages()),
        (leaves_the_images_as_they_are, WorksInPlace()),
        (learns_the_same_in_a_stack, LeaksBetweenMembers()),
        (learns_the_same_in_a_stack, NormsAcrossMembers()),
        (learns_the_same_in_a_stack, DropsByItsOwnChance()),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_contract_rejects_a_wrong_network(contract: Callable[[Network], None], wrong: Network) -> None:
    with pytest.raises(AssertionError):
        contract(wrong)


def test_every_contract_holds_for_the_sound_part_of_the_wrong_ones() -> None:
    """What they share is no reason for a rejection."""
    for contract in CONTRACTS:
        contract(_Wrong())


def test_a_leak_is_far_above_the_widest_tolerance() -> None:
    for wrong in (LeaksBetweenMembers(), NormsAcrossMembers()):
        with pytest.raises(AssertionError):
            stacks_like_apart(wrong, ODD, torch.float64, 1e3 * max(SENSITIVE.values()), lr=0.02)
