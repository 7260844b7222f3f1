"""Attacks: pictures changed as little as eyes can tell, so that a network errs as much as it can.

`x` lies in 0..1 and stays there; `eps` is in the same unit, 4/255 being four grey levels. What the network is led away
from are labels `q`, with or without doubt: the loss is their cross-entropy, `-sum q ln p`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from sfumato.tables.errors import BadSetting
from sfumato.tables.probabilities import check_probs
from sfumato.tables.settings import above_0, at_least, one_of
from sfumato.tables.strategies import strategy_from_name
from sfumato.training.run_folder import normalised
from sfumato.training.trained_runs import PixelModel

ATTACKED_AT_ONCE = 64
"""Pictures attacked at a time: gradients take many times the memory of predictions."""
NORMS = ("linf", "l2")


@runtime_checkable
class Attack(Protocol):
    """How pictures are led astray: where it begins, and how it moves along the gradient of the loss."""

    name: ClassVar[str]
    eps: float

    @property
    def n_steps(self) -> int: ...

    def begun(self, x: Tensor, rng: np.random.Generator) -> Tensor: ...

    def moved(self, at: Tensor, gradient: Tensor, x: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class Fgsm:
    """`clip(x + eps sign(g))`: the fast gradient sign method (Goodfellow et al. 2015). Nothing is drawn.

    One step, quick, and easily misled by networks whose gradient turns nearby: prefer `pgd` to call one robust.
    """

    eps: float = 4 / 255

    name: ClassVar[str] = "fgsm"

    def __post_init__(self) -> None:
        _check_eps(self.eps, most=1.0)

    @property
    def n_steps(self) -> int:
        return 1

    def begun(self, x: Tensor, rng: np.random.Generator) -> Tensor:  # noqa: ARG002
        return x

    def moved(self, at: Tensor, gradient: Tensor, x: Tensor) -> Tensor:  # noqa: ARG002
        return (at + self.eps * gradient.sign()).clamp(0, 1)


@dataclass(frozen=True)
class Pgd:
    """Projected gradient descent (Madry et al. 2018): from anywhere within eps, `steps` of `alpha`, none out of it.

    `norm` "linf": no pixel moves by more than eps, steps go along the gradient's sign. "l2": the change is no longer
    than eps (so choose a larger one, .25 or .5), steps go along the gradient.
    """

    eps: float = 4 / 255
    alpha: float = 2 / 255
    steps: int = 10
    norm: str = "linf"

    name: ClassVar[str] = "pgd"

    def __post_init__(self) -> None:
        one_of("norm", self.norm, NORMS)
        _check_eps(self.eps, most=1.0 if self.norm == "linf" else float("inf"))
        above_0("alpha", self.alpha)
        at_least("steps", self.steps, 1)

    @property
    def n_steps(self) -> int:
        return self.steps

    def begun(self, x: Tensor, rng: np.random.Generator) -> Tensor:
        if self.norm == "linf":
            off = rng.uniform(-self.eps, self.eps, tuple(x.shape))
        else:
            # From the sphere of two more dimensions, the others lie evenly within the ball.
            way = rng.standard_normal((len(x), x[0].numel() + 2))
            off = self.eps * (way / np.linalg.norm(way, axis=1, keepdims=True))[:, :-2].reshape(tuple(x.shape))
        return (x + torch.from_numpy(off.astype(np.float32)).to(x.device)).clamp(0, 1)

    def moved(self, at: Tensor, gradient: Tensor, x: Tensor) -> Tensor:
        if self.norm == "linf":
            off = (at + self.alpha * gradient.sign() - x).clamp(-self.eps, self.eps)
        else:
            off = at + self.alpha * _of_length_1(gradient) - x
            off = off * (self.eps / _lengths(off).clamp(min=1e-30)).clamp(max=1)
        return (x + off).clamp(0, 1)


ATTACKS: tuple[Any, ...] = (Fgsm, Pgd)


def attack_named(name: str, settings: dict[str, Any]) -> Attack:
    """The attack called `name` with `settings`; the one place where a name becomes an object."""
    return strategy_from_name("attack", ATTACKS, name, settings)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Attacked:
    """What a network predicts of pictures as they are led astray, and the pictures in the end, from 0 to 1."""

    clean: Float[np.ndarray, "items classes"]
    steps: Float[np.ndarray, "steps items classes"]
    images: Float[np.ndarray, "items height width channels"]


def attacked(
    model: PixelModel,
    attack: Attack,
    images: UInt8[np.ndarray, "items height width *channels"],
    targets: Float[np.ndarray, "items classes"],
    rng: np.random.Generator,
    *,
    at_once: int = ATTACKED_AT_ONCE,
) -> Attacked:
    """The model under attack, away from `targets`; luck is drawn picture after picture, whatever stands beside it."""
    check_probs(np.asarray(targets, np.float64))
    clean, steps, moved = [], [], []
    for start in range(0, len(images), at_once):
        x = model.pixels(images[start : start + at_once])
        exact = torch.float32 if model.device.type == "mps" else torch.float64
        q = torch.from_numpy(np.array(targets[start : start + at_once], np.float64)).to(model.device, exact)
        with torch.no_grad():
            clean.append(_probs(model.logits(x)))
        at, predicted = attack.begun(x, rng), []
        for step in range(attack.n_steps + 1):
            if step == attack.n_steps:
                with torch.no_grad():
                    predicted.append(_probs(model.logits(at)))
                break
            at = at.detach().requires_grad_()
            with torch.enable_grad():
                logits = model.logits(at)
                # Exact, for where a network is sure float32 has no gradient left; the sum, so that none minds another.
                loss = -(q * logits.to(exact).log_softmax(-1)).sum()
                (gradient,) = torch.autograd.grad(loss, at)
            if step:
                predicted.append(_probs(logits.detach()))
            at = attack.moved(at.detach(), gradient, x)
        steps.append(np.stack(predicted))
        moved.append(at.permute(0, 2, 3, 1).cpu().numpy())
    return Attacked(np.concatenate(clean), np.concatenate(steps, axis=1), np.concatenate(moved))


def _probs(logits: Float[Tensor, "items classes"]) -> Float[np.ndarray, "items classes"]:
    return normalised(logits.softmax(-1).cpu().numpy())


def _lengths(x: Tensor) -> Tensor:
    lengths: Tensor = torch.linalg.vector_norm(x, dim=tuple(range(1, x.dim())), keepdim=True)
    return lengths


def _of_length_1(gradient: Tensor) -> Tensor:
    """Each picture's gradient, as long as 1; one that is nothing stays nothing."""
    # The largest first, for squares of small numbers are nothing.
    largest = gradient.abs().amax(dim=tuple(range(1, gradient.dim())), keepdim=True)
    scaled = gradient / largest.clamp(min=torch.finfo(gradient.dtype).tiny)
    return scaled / _lengths(scaled).clamp(min=1e-30)


def _check_eps(eps: float, *, most: float) -> None:
    if not 0 <= eps <= most or eps == float("inf"):
        raise BadSetting(
            f"found eps = {eps:g}",
            expected="a finite number, 0 or more" if most > 1 else "a number from 0 to 1, the unit of the pixels",
            fix="divide grey levels by 255: --eps 4/255",
            code="bad-setting",
        )
