"""What every mixing must do. One is tested by standing in `MIXINGS`; each contract rejects a wrong one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

from sfumato.tables.errors import BadSetting, UnknownName
from sfumato.training.mixing import MIXINGS, ClassPair, MixedBatch, Mixing, Mixup, mixing_named
from sfumato.training.mixing.mixup import Pairing

BATCH, CLASSES = 6, 4


def images(seed: int = 1) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).random((BATCH, 3, 2, 2), dtype=np.float32))


def labels(members: int, seed: int = 2) -> Tensor:
    """Soft labels; the first members are the same whatever number there are."""
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.dirichlet(np.ones(CLASSES), (members, BATCH)).astype(np.float32))


def logits_for(mixed: MixedBatch, seed: int = 3, scale: float = 2.0) -> Tensor:
    rng = np.random.default_rng(seed)
    return torch.from_numpy(scale * rng.standard_normal((len(mixed.y), len(mixed.x), CLASSES))).to(torch.float32)


def seeded(seed: int = 7) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


# The contracts.


def leaves_its_arguments_alone(mixing: Mixing) -> None:
    x, y = images(), labels(3)
    before = x.clone(), y.clone()
    mixed = mixing.mixed(x, y, seeded())
    logits = logits_for(mixed)
    kept = logits.clone(), mixed.x.clone(), mixed.y.clone()
    mixing.losses(logits, mixed)
    assert torch.equal(x, before[0])
    assert torch.equal(y, before[1])
    assert torch.equal(logits, kept[0])
    assert torch.equal(mixed.x, kept[1])
    assert torch.equal(mixed.y, kept[2])


def draws_the_same_for_any_members(mixing: Mixing) -> None:
    x = images()
    draw = seeded()
    three = mixing.mixed(x, labels(3), draw)
    for members in (1, 2, 3, 8):
        again, other = seeded(), labels(members)
        mixed = mixing.mixed(x, other, again)
        assert torch.equal(mixed.x, three.x)
        assert mixed.share == three.share
        assert torch.equal(again.get_state(), draw.get_state())
        shared = min(members, 3)
        assert torch.equal(mixed.y[:shared], three.y[:shared])


def draws_from_the_generator_alone(mixing: Mixing) -> None:
    x, y = images(), labels(2)
    results = []
    for world in (1, 2):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(world)
            before = torch.get_rng_state()
            results.append(mixing.mixed(x, y, seeded()))
            assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(results[0].x, results[1].x)
    assert torch.equal(results[0].y, results[1].y)


def keeps_labels_distributions(mixing: Mixing) -> None:
    hard = torch.eye(CLASSES)[torch.tensor([[0, 1, 2, 3, 1, 0], [3, 3, 2, 1, 0, 0]])]
    for y in (labels(2), hard):
        for seed in range(20):
            mixed = mixing.mixed(images(), y, seeded(seed))
            assert mixed.y.shape == y.shape
            assert (mixed.y >= 0).all()
            np.testing.assert_allclose(mixed.y.sum(dim=-1).numpy(), 1, rtol=0, atol=1e-6)


def keeps_images_between_images(mixing: Mixing) -> None:
    x = images()
    low, high = x.amin(dim=0), x.amax(dim=0)
    for seed in range(20):
        seen = mixing.mixed(x, labels(1), seeded(seed)).x
        assert seen.shape[1:] == x.shape[1:]
        assert (seen >= low - 1e-6).all()
        assert (seen <= high + 1e-6).all()


def keeps_what_both_ends_say(mixing: Mixing) -> None:
    """Where all labels are one, so is every mixture of them; and for networks without doubt, the loss is the CE."""
    y = torch.eye(CLASSES)[torch.tensor([2, 0])][:, None].repeat(1, BATCH, 1)
    for seed in range(10):
        mixed = mixing.mixed(images(), y, seeded(seed))
        np.testing.assert_allclose(mixed.y.numpy(), y.numpy(), rtol=0, atol=1e-6)
        said = np.random.default_rng(seed).integers(CLASSES, size=(2, len(mixed.x)))
        logits = torch.from_numpy(30 * np.eye(CLASSES, dtype=np.float32)[said])
        # Sure of the true class: 0; of another: ln(e^30 + 3) = 30, to 1e-11.
        wrong = said[:, :BATCH] != np.array([[2], [0]])
        np.testing.assert_allclose(mixing.losses(logits, mixed).numpy(), 30 * wrong.mean(axis=1), rtol=0, atol=1e-4)


def keeps_members_apart(mixing: Mixing) -> None:
    mixed = mixing.mixed(images(), labels(3), seeded())
    logits = logits_for(mixed).requires_grad_()
    losses = mixing.losses(logits, mixed)
    assert losses.shape == (3,)
    for g in range(3):
        (gradient,) = torch.autograd.grad(losses[g], logits, retain_graph=True)
        others = [h for h in range(3) if h != g]
        assert (gradient[others] == 0).all()
        assert (gradient[g] != 0).any()
        alone = mixing.losses(logits[g : g + 1], replace(mixed, y=mixed.y[g : g + 1]))
        np.testing.assert_allclose(alone.detach().numpy(), [losses[g].item()], rtol=1e-6)


def stays_finite(mixing: Mixing) -> None:
    y = torch.eye(CLASSES)[torch.tensor([[0, 1, 2, 3, 1, 0]])]
    mixed = mixing.mixed(images(), y, seeded())
    rng = np.random.default_rng(4)
    for size in (1e4, 0.0):
        signs = rng.choice([-1.0, 1.0], (1, len(mixed.x), CLASSES)).astype(np.float32)
        signs[0, :, 0] = 1
        signs[0, ::2, 1:] = -1  # all mass on one class: an entropy of 0
        logits = torch.from_numpy(size * signs).requires_grad_()
        losses = mixing.losses(logits, mixed)
        losses.sum().backward()
        assert torch.isfinite(losses).all()
        assert torch.isfinite(logits.grad).all()


CONTRACTS = (
    leaves_its_arguments_alone,
    draws_the_same_for_any_members,
    draws_from_the_generator_alone,
    keeps_labels_distributions,
    keeps_images_between_images,
    keeps_what_both_ends_say,
    keeps_members_apart,
    stays_finite,
)
MADE = [
    *[mixing() for mixing in MIXINGS],
    Mixup(endpoints="hard"),
    Mixup(alpha=1e-3),
    ClassPair(anchored=True, endpoints="hard"),
]


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)
@pytest.mark.parametrize("mixing", MADE, ids=repr)
def test_contract(mixing: Mixing, contract: Callable[[Mixing], None]) -> None:
    contract(mixing)


def test_names_are_distinct_and_found() -> None:
    names = [mixing.name for mixing in MIXINGS]
    assert names == ["plain", "mixup", "mix-max-ent", "entropy-weighted", "class-pair"]
    for mixing in MIXINGS:
        assert mixing_named(mixing.name, {}) == mixing()
        assert isinstance(mixing(), Mixing)
    with pytest.raises(UnknownName, match="did you mean 'mixup'"):
        mixing_named("mixpu", {})


@pytest.mark.parametrize("mixing", MIXINGS, ids=lambda mixing: mixing.name)
def test_settings_that_mean_nothing_are_refused(mixing: Any) -> None:
    with pytest.raises(BadSetting, match="found the setting magic"):
        mixing_named(mixing.name, {"magic": 1})
    bad = {"str": ("perhaps",), "float": (-1.0, float("nan"), float("inf"))}
    for field in fields(mixing):
        for value in bad.get(str(field.type), ()):
            with pytest.raises(BadSetting) as caught:
                mixing_named(mixing.name, {field.name: value})
            assert caught.value.code == "bad-setting"


# A wrong mixing for each contract: mixup, with one thing not as it should be.


@dataclass(frozen=True)
class _Wrong:
    name: ClassVar[str] = "wrong"

    def mixed(self, x: Tensor, y: Tensor, draw: torch.Generator) -> MixedBatch:
        return Mixup().mixed(x, y, draw)

    def losses(self, logits: Tensor, mixed: MixedBatch) -> Tensor:
        return Mixup().losses(logits, mixed)


class MixesInPlace(_Wrong):
    def mixed(self, x: Tensor, y: Tensor, draw: torch.Generator) -> MixedBatch:
        mixed = Mixup().mixed(x, y, draw)
        return replace(mixed, x=x.copy_(mixed.x))


class CentresLogitsInPlace(_Wrong):
    def losses(self, logits: Tensor, mixed: MixedBatch) -> Tensor:
        return Mixup().losses(logits.sub_(logits.mean(dim=-1, keepdim=True)), mixed)


class DrawsForEveryMember(_Wrong):
    def mixed(self, x: Tensor, y: Tensor, draw: torch.Generator) -> MixedBatch:
        own = [Mixup().mixed(x, member[None], draw) for member in y]
        return MixedBatch(own[-1].x, torch.cat([each.y for each in own]), own[-1].share)


class DrawsFromTheWorld(_Wrong):
    def mixed(self, x: Tensor, y: Tensor, draw: torch.Generator) -> MixedBatch:
        return Mixup().mixed(x, y, torch.Generator().manual_seed(int(torch.randint(99, ()))))


class LosesMass(_Wrong):
    def mixed(self, x: Tensor, y: Tensor, draw: torch.Generator) -> MixedBatch:
        mixed = Mixup().mixed(x, y, draw)
        return replace(mixed, y=mixed.share * y + (0.999 - mixed.share) * y)


class GoesBeyondItsEnds(_Wrong):
    def mixed(self, x: Tensor, y: Tensor, draw: torch.Generator) -> MixedBatch:
        mixed = Mixup().mixed(x, y, draw)
        return replace(mixed, x=2 * mixed.x - x)


class ShiftsClasses(_Wrong):
    def mixed(self, x: Tensor, y: Tensor, draw: torch.Generator) -> MixedBatch:
        pairing = Pairing.drawn(len(x), 1.0, draw, x.device)
        y = pairing.share * y + (1 - pairing.share) * y[:, pairing.partner].roll(1, dims=-1)
        return MixedBatch(pairing.of_items(x), y, pairing.share)


class SumsOverTheBatch(_Wrong):
    def losses(self, logits: Tensor, mixed: MixedBatch) -> Tensor:
        return Mixup().losses(logits, mixed) * logits.shape[1]


class SharesTheBlame(_Wrong):
    def losses(self, logits: Tensor, mixed: MixedBatch) -> Tensor:
        return Mixup().losses(logits, mixed).mean().repeat(len(logits))


class TakesTheLogOfNothing(_Wrong):
    def losses(self, logits: Tensor, mixed: MixedBatch) -> Tensor:
        return -(mixed.y * logits.softmax(dim=-1).log()).sum(dim=-1).mean(dim=-1)


class DividesByNoEntropy(_Wrong):
    def losses(self, logits: Tensor, mixed: MixedBatch) -> Tensor:
        log_p = logits.log_softmax(dim=-1)
        weight = (np.log(2) / -(log_p.exp() * log_p).sum(dim=-1)).clamp(0.7, 1)
        return (weight * -(mixed.y * log_p).sum(dim=-1)).mean(dim=-1)


@pytest.mark.parametrize(
    ("contract", "wrong"),
    [
        (leaves_its_arguments_alone, MixesInPlace()),
        (leaves_its_arguments_alone, CentresLogitsInPlace()),
        (draws_the_same_for_any_members, DrawsForEveryMember()),
        (draws_from_the_generator_alone, DrawsFromTheWorld()),
        (keeps_labels_distributions, LosesMass()),
        (keeps_images_between_images, GoesBeyondItsEnds()),
        (keeps_what_both_ends_say, ShiftsClasses()),
        (keeps_what_both_ends_say, SumsOverTheBatch()),
        (keeps_members_apart, SharesTheBlame()),
        (stays_finite, TakesTheLogOfNothing()),
        (stays_finite, DividesByNoEntropy()),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_contract_rejects_a_wrong_mixing(contract: Callable[[Any], None], wrong: Any) -> None:
    with pytest.raises(AssertionError):
        contract(wrong)


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)
def test_the_sound_part_of_the_wrong_ones_passes(contract: Callable[[Any], None]) -> None:
    contract(_Wrong())
