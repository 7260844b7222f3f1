"""Networks against their papers: how many parameters, and what single layers compute, by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn

from sfumato.tables.errors import BadSetting
from sfumato.training.networks import NAMED, DenseNet, LeNet, PyramidNet, ResNet, ShakeShake, WideResNet, network_named
from sfumato.training.networks.layers import JoinedChannels, PaddedChannels, Residual, Strided, he_normal, projection
from sfumato.training.networks.shake_shake import Shake
from sfumato.training.stacked_layers import Dropout
from sfumato.training.stacked_network import StackedNetwork, can_stack

COLOUR = (3, 32, 32)


def n_parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def counted(name: str, shape: tuple[int, int, int] = COLOUR, n_classes: int = 10) -> int:
    with torch.device("meta"):
        return n_parameters(NAMED[name].build(shape, n_classes))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Published counts at 10 classes and 32 px colour.
        ("vgg-15-bn", 14_728_266),
        ("resnet-34a", 660_170),
        ("wrn-28-10", 36_479_194),
        ("densenet-bc-100-12", 769_162),
        ("shake-shake-26", 11_709_514),
        # 3072 * 128 + 128 + 128 * 10 + 10, and 3072 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10.
        ("simple-ffn", 394_634),
        ("deeper-ffn", 820_874),
        # By layer 456, 2,416, 48,120, 10,164 and 850: each unit has its inputs and a bias.
        ("lenet", 62_006),
        # Convolutions 432 + 4,608 + 18,432, norms 2 * 112, linear 1,024 * 10 + 10.
        ("small", 33_946),
        # Convolutions with bias 9,220,480, norms 2 * 2,752, linear 5,130.
        ("vgg-11", 9_231_114),
        # He et al. 2016, table 6: 0.27 and 1.7 million.
        ("resnet-20", 269_722),
        ("resnet-110", 1_727_962),
        # ImageNet's 25,557,032, but its linear layer 2,049,000 and stem 9,408 become 20,490 and 1,728.
        ("resnet-50", 23_520_842),
        ("preact-resnet-18", 11_171_146),
        ("preact-resnet-34", 21_279_306),
        # He et al. 2016, Identity mappings: 1.7 million.
        ("preact-resnet-164", 1_703_258),
        # Zagoruyko & Komodakis 2016: 0.7 million.
        ("wrn-16-2", 691_674),
        # Xie et al. 2017, table 7: 34.4 million.
        ("resnext-29", 34_426_698),
        # Han et al. 2017, table 4: 28.3 million; by the sum below 28,485,477.
        ("pyramidnet-110-270", 28_485_477),
    ],
)
def test_parameters_are_as_published(name: str, expected: int) -> None:
    assert counted(name) == expected


def basic_resnet(n: int, *, first: int = 16) -> int:
    """Stem, three stages of n blocks of two convolutions with their norms, linear layer; shortcuts have nothing."""
    total, n_in = 9 * 3 * first + 2 * first, first
    for i in range(3):
        out = first * 2**i
        total += 9 * n_in * out + (2 * n - 1) * 9 * out * out + 2 * n * 2 * out
        n_in = out
    return total + n_in * 10 + 10


def test_parameters_by_formula() -> None:
    assert counted("resnet-8") == basic_resnet(1) == 75_290
    assert counted("resnet-20") == basic_resnet(3)
    assert counted("resnet-110") == basic_resnet(18)
    # ResNet-34A has a bias a channel of each convolution: 16 + 14 * (16 + 32 + 64) = 1,584.
    assert counted("resnet-34a") == basic_resnet(7) + 1_584

    # PyramidNet: 54 blocks, 5 channels more each. A block: 9 (in out + out^2) and norms 2 in + 4 out.
    sizes = [16 + 5 * k for k in range(55)]
    blocks = sum(9 * (a * b + b * b) + 2 * a + 4 * b for a, b in pairwise(sizes))
    assert counted("pyramidnet-110-270") == 432 + 32 + blocks + 2 * 286 + 286 * 10 + 10

    # One more class is one more row of the last layer.
    assert counted("densenet-bc-100-12", n_classes=11) - counted("densenet-bc-100-12") == 342 + 1


def test_lenet_is_as_drawn() -> None:
    """28 px are padded to 32: 6 x 28 x 28, 6 x 14 x 14, 16 x 10 x 10, 16 x 5 x 5, 400, 120, 84, K."""
    shapes = {}
    for shape in ((1, 28, 28), (3, 32, 32)):
        seen: list[tuple[int, ...]] = []
        module = LeNet().build(shape, 7)
        for layer in module:
            layer.register_forward_hook(lambda layer, x, y, seen=seen: seen.append(tuple(y.shape[1:])))
        module(torch.zeros(1, *shape))
        shapes[shape] = list(dict.fromkeys(seen))
    expected = [(6, 28, 28), (6, 14, 14), (16, 10, 10), (16, 5, 5), (400,), (120,), (84,), (7,)]
    assert shapes[1, 28, 28] == shapes[3, 32, 32] == expected


def test_relu_after_pooling_is_relu_before() -> None:
    x = torch.randn(2, 3, 6, 6, generator=torch.Generator().manual_seed(0))
    pool = nn.MaxPool2d(2)
    assert torch.equal(pool(x).relu(), pool(x.relu()))


def test_convolutions_are_drawn_by_hes_rule() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layer = he_normal(nn.Conv2d(64, 32, 3))
    # 18,432 draws with variance 2 / (32 * 9): the spread is known to about half a per cent.
    assert layer.weight.std().item() == pytest.approx((2 / 288) ** 0.5, rel=0.02)
    assert layer.weight.mean().item() == pytest.approx(0, abs=0.003)


# --- layers with a wide twin, by hand ---


def two_members() -> tuple[Tensor, Tensor]:
    """Members with channels (1, 2) and (3, 4), one pixel: apart, and side by side."""
    apart = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).view(2, 1, 2, 1, 1)
    return apart, torch.tensor([1.0, 2.0, 3.0, 4.0]).view(1, 4, 1, 1)


@pytest.mark.parametrize("memory", [torch.contiguous_format, torch.channels_last])
def test_padding_keeps_members_together(memory: torch.memory_format) -> None:
    apart, wide = two_members()
    layer = PaddedChannels(1)
    assert [layer(x).flatten().tolist() for x in apart] == [[1, 2, 0], [3, 4, 0]]
    assert layer.stacked(2)(wide.contiguous(memory_format=memory)).flatten().tolist() == [1, 2, 0, 3, 4, 0]


@pytest.mark.parametrize("memory", [torch.contiguous_format, torch.channels_last])
def test_joining_keeps_members_together(memory: torch.memory_format) -> None:
    apart, wide = two_members()
    other = torch.tensor([8.0, 9.0]).view(1, 2, 1, 1)
    layer = JoinedChannels()
    assert [layer(apart[g], other[:, g : g + 1]).flatten().tolist() for g in range(2)] == [[1, 2, 8], [3, 4, 9]]
    joined = layer.stacked(2)(wide.contiguous(memory_format=memory), other.contiguous(memory_format=memory))
    assert joined.flatten().tolist() == [1, 2, 8, 3, 4, 9]


def test_twins_keep_channels_last() -> None:
    x = torch.zeros(2, 4, 3, 5).contiguous(memory_format=torch.channels_last)
    for y in (PaddedChannels(2).stacked(2)(x), JoinedChannels().stacked(2)(x, x)):
        assert y.is_contiguous(memory_format=torch.channels_last)


def test_option_a_shortcut_takes_every_second_pixel() -> None:
    shortcut = ResNet(depth=8)._shortcut(1, 2, 2)
    x = torch.arange(9.0).view(1, 1, 3, 3)
    assert shortcut(x).tolist() == [[[[0, 2], [6, 8]], [[0, 0], [0, 0]]]]
    assert n_parameters(shortcut) == 0


def test_projection_is_a_strided_convolution() -> None:
    """The stride before the convolution is the stride within it."""
    x = torch.randn(2, 5, 7, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    module = projection(5, 3, 2).double()
    (weight,) = module.parameters()
    torch.testing.assert_close(module(x), nn.functional.conv2d(x, weight, stride=2), rtol=0, atol=1e-14)


def test_no_network_strides_within_a_1_x_1_convolution() -> None:
    """With few channels such a layer's gradient is written out of bounds on CPUs."""
    for name, network in NAMED.items():
        with torch.device("meta"):
            layers = [layer for layer in network.build(COLOUR, 2).modules() if isinstance(layer, nn.Conv2d)]
        assert not [layer for layer in layers if layer.kernel_size == (1, 1) and layer.stride != (1, 1)], name


CHANNELS_LAST = """
import torch
from sfumato.training.networks import PreactResNet
torch.set_num_threads(1)
torch.manual_seed(0)
module = PreactResNet(depth=18, width=4).build((1, 28, 28), 4).to(memory_format=torch.channels_last)
x = torch.randn(8, 1, 28, 28).to(memory_format=torch.channels_last)
for _ in range(6):
    module(x).square().mean().backward()
"""


def test_few_channels_in_channels_last_do_not_crash() -> None:
    """In a process of its own, because the fault would take this one with it."""
    done = subprocess.run(
        [sys.executable, "-c", CHANNELS_LAST], capture_output=True, text=True, env=os.environ, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


def test_residual_adds_what_came_in() -> None:
    block = Residual(nn.ReLU(), Strided(1))
    assert block(torch.tensor([-1.0, 2.0]).view(1, 1, 1, 2)).flatten().tolist() == [-1, 4]


def test_pyramid_widens_evenly() -> None:
    """Six blocks from 16 by 10: 16 + 10 k / 6 is 17.67, 19.33, 21, 22.67, 24.33, 26."""
    module = PyramidNet(depth=14, alpha=10).build(COLOUR, 2)
    blocks = [layer for layer in module.modules() if isinstance(layer, Residual)]
    assert [block.body[1].out_channels for block in blocks] == [18, 19, 21, 23, 24, 26]


def test_densenet_grows_and_halves() -> None:
    """Growth 3, two blocks a stage: 6 + 6 = 12, halved 6; 6 + 6 = 12, halved 6; 6 + 6 = 12."""
    module = DenseNet(depth=16, growth=3).build(COLOUR, 2)
    assert [module.transition_1[2].in_channels, module.transition_1[2].out_channels] == [12, 6]
    assert [module.transition_2[2].in_channels, module.head[2].in_features] == [12, 12]


# --- chance ---


def test_shake_mixes_forward_by_one_share_and_backward_by_another() -> None:
    layer = Shake()
    layer.generator = torch.Generator().manual_seed(3)
    drawn = torch.Generator().manual_seed(3)
    a = torch.rand((2, 1, 1, 1), generator=drawn)
    b = torch.rand((2, 1, 1, 1), generator=drawn)
    x = torch.tensor([1.0, 2.0]).view(2, 1, 1, 1).requires_grad_()
    y = torch.tensor([5.0, 7.0]).view(2, 1, 1, 1).requires_grad_()
    out = layer(x, y)
    torch.testing.assert_close(out, a * x + (1 - a) * y)
    out.sum().backward()
    torch.testing.assert_close(x.grad, b)
    torch.testing.assert_close(y.grad, 1 - b)
    # One share an image, and none after training.
    assert a[0] != a[1]
    assert layer.eval()(x, y).flatten().tolist() == [3.0, 4.5]


def test_shake_repeats_itself_by_its_generator() -> None:
    module = ShakeShake(depth=8, width=4).build((1, 8, 8), 2)
    x = torch.randn(3, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    seen = []
    for seed in (1, 1, 2):
        generator = torch.Generator().manual_seed(seed)
        for layer in module.modules():
            if isinstance(layer, Shake):
                layer.generator = generator
        seen.append(module(x))
    assert torch.equal(seen[0], seen[1])
    assert not torch.equal(seen[0], seen[2])


def test_wide_resnet_drops_only_where_asked() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        nets = [WideResNet(depth=10, widen=1, dropout=0.3).build((1, 8, 8), 2) for _ in range(2)]
    stack = StackedNetwork(nets, torch.zeros(2, 1, 8, 8))
    assert [layer.n_runs for layer in stack.modules() if isinstance(layer, Dropout)] == [stack.n_runs] * 3
    plain = WideResNet(depth=10, widen=1).build((1, 8, 8), 2)
    assert n_parameters(plain) == n_parameters(nets[0])
    with pytest.raises(BadSetting, match="below 1"):
        WideResNet(dropout=1.0)


# --- what stacks need of `stacking` ---


def test_a_stack_is_as_exact_as_its_members_and_in_their_mode() -> None:
    nets = [ResNet(depth=8, width=2).build((1, 8, 8), 2).double().eval() for _ in range(2)]
    stack = StackedNetwork(nets, torch.zeros(2, 1, 8, 8, dtype=torch.float64))
    assert {tensor.dtype for tensor in stack.state_dict().values()} == {torch.float64, torch.int64}
    assert not any(layer.training for layer in stack.wide.modules())


class _Scaled(nn.Module):
    """A parameter of its own beside a layer that has a twin."""

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.layer = nn.Parameter(torch.ones(1)), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x.flatten(1)) * self.scale


def test_parameters_without_a_twin_are_refused() -> None:
    nets = [_Scaled(), _Scaled()]
    assert not can_stack(nets[0])
    with pytest.raises(BadSetting) as caught:
        StackedNetwork(nets, torch.zeros(2, 1, 2, 2))
    assert caught.value.code == "not-stackable"


def test_settings_reach_the_network() -> None:
    assert network_named("resnet", {"depth": 44, "bias": True}) == NAMED["resnet-34a"]
    assert network_named("vgg", {"depth": 15}) == NAMED["vgg-15-bn"]
    with pytest.raises(BadSetting, match=r"depth = 21; expected 2 and a multiple of 6: 8, 14, 20"):
        network_named("resnet", {"depth": 21})
    with pytest.raises(BadSetting, match="found depth = 101"):
        ResNet(depth=101, block="bottleneck")
