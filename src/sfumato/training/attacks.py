"""Adversarial attacks: small changes of an image that increase a network's loss.

Pixels `x` are in 0..1; `eps` has the same unit, so that 4/255 is four gray levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from sfumato.tables.columns import check_probs
from sfumato.tables.errors import BadSetting
from sfumato.tables.model_inputs import Images
from sfumato.tables.setting_checks import above_0, at_least, one_of
from sfumato.tables.strategies import strategy_from_name
from sfumato.training.run_folder import normalized
from sfumato.training.trained_runs import PixelModel

ATTACKED_AT_ONCE = 64
"""Images attacked at a time: gradients need much more memory than predictions."""
NORMS = ("linf", "l2")


@runtime_checkable
class Attack(Protocol):
    """An attack: its start, and its steps along the gradient of the loss."""

    name: ClassVar[str]
    eps: float

    @property
    def n_steps(self) -> int: ...

    def start(self, x: Tensor, rng: np.random.Generator) -> Tensor: ...

    def step(self, at: Tensor, gradient: Tensor, x: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class Fgsm:
    """`clip(x + eps sign(g))`: the fast gradient sign method (Goodfellow et al. 2015). Not random.

    One fast step. It can miss weaknesses if the gradient changes nearby: use `pgd` to claim robustness.
    """

    eps: float = 4 / 255

    name: ClassVar[str] = "fgsm"

    def __post_init__(self) -> None:
        _check_eps(self.eps, most=1.0)

    @property
    def n_steps(self) -> int:
        return 1

    def start(self, x: Tensor, rng: np.random.Generator) -> Tensor:  # noqa: ARG002
        return x

    def step(self, at: Tensor, gradient: Tensor, x: Tensor) -> Tensor:  # noqa: ARG002
        return (at + self.eps * gradient.sign()).clamp(0, 1)


@dataclass(frozen=True)
class Pgd:
    """Projected gradient descent (Madry et al. 2018): from a random point within eps, `steps` steps of size `alpha`.

    `norm` "linf": no pixel changes by more than eps, and steps follow the sign of the gradient. "l2": the norm of the
    change is at most eps (choose a larger one, 0.25 or 0.5), and steps follow the gradient.
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

    def start(self, x: Tensor, rng: np.random.Generator) -> Tensor:
        if self.norm == "linf":
            off = rng.uniform(-self.eps, self.eps, tuple(x.shape))
        else:
            # All but two coordinates of a uniform point on a sphere are uniform in a ball.
            point = rng.standard_normal((len(x), x[0].numel() + 2))
            off = self.eps * (point / np.linalg.norm(point, axis=1, keepdims=True))[:, :-2].reshape(tuple(x.shape))
        return (x + torch.from_numpy(off.astype(np.float32)).to(x.device)).clamp(0, 1)

    def step(self, at: Tensor, gradient: Tensor, x: Tensor) -> Tensor:
        if self.norm == "linf":
            off = (at + self.alpha * gradient.sign() - x).clamp(-self.eps, self.eps)
        else:
            off = at + self.alpha * _unit_norm(gradient) - x
            off = off * (self.eps / _norms(off).clamp(min=1e-30)).clamp(max=1)
        return (x + off).clamp(0, 1)


ATTACKS: tuple[Any, ...] = (Fgsm, Pgd)


def attack_named(name: str, settings: dict[str, Any]) -> Attack:
    """The attack called `name` with `settings`."""
    return strategy_from_name("attack", ATTACKS, name, settings)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Attacked:
    """Predictions before the attack and after each step, and the attacked images, with pixels from 0 to 1."""

    clean: Float[np.ndarray, "items classes"]
    steps: Float[np.ndarray, "steps items classes"]
    images: Float[np.ndarray, "items height width channels"]


def attacked(
    model: PixelModel,
    attack: Attack,
    images: Images,
    targets: Float[np.ndarray, "items classes"],
    rng: np.random.Generator,
    *,
    at_once: int = ATTACKED_AT_ONCE,
) -> Attacked:
    """Attack a model so that its loss on `targets` grows; random numbers are drawn per image, in order."""
    check_probs(np.asarray(targets, np.float64))
    clean, steps, changed = [], [], []
    for start in range(0, len(images), at_once):
        x = model.pixels(images[start : start + at_once])
        exact = torch.float32 if model.device.type == "mps" else torch.float64
        q = torch.from_numpy(np.array(targets[start : start + at_once], np.float64)).to(model.device, exact)
        with torch.no_grad():
            clean.append(_probs(model.logits(x)))
        at, predicted = attack.start(x, rng), []
        for step in range(attack.n_steps + 1):
            if step == attack.n_steps:
                with torch.no_grad():
                    predicted.append(_probs(model.logits(at)))
                break
            at = at.detach().requires_grad_()
            with torch.enable_grad():
                logits = model.logits(at)
                # float64, because float32 has no gradient left for confident predictions; a sum keeps images separate.
                loss = -(q * logits.to(exact).log_softmax(-1)).sum()
                (gradient,) = torch.autograd.grad(loss, at)
            if step:
                predicted.append(_probs(logits.detach()))
            at = attack.step(at.detach(), gradient, x)
        steps.append(np.stack(predicted))
        changed.append(at.permute(0, 2, 3, 1).cpu().numpy())
    return Attacked(np.concatenate(clean), np.concatenate(steps, axis=1), np.concatenate(changed))


def _probs(logits: Float[Tensor, "items classes"]) -> Float[np.ndarray, "items classes"]:
    return normalized(logits.softmax(-1).cpu().numpy())


def _norms(x: Tensor) -> Tensor:
    norms: Tensor = torch.linalg.vector_norm(x, dim=tuple(range(1, x.dim())), keepdim=True)
    return norms


def _unit_norm(gradient: Tensor) -> Tensor:
    """Each image's gradient with norm 1; a zero gradient stays zero."""
    # Divided by the largest value first, because squares of small numbers underflow.
    largest = gradient.abs().amax(dim=tuple(range(1, gradient.dim())), keepdim=True)
    scaled = gradient / largest.clamp(min=torch.finfo(gradient.dtype).tiny)
    return scaled / _norms(scaled).clamp(min=1e-30)


def _check_eps(eps: float, *, most: float) -> None:
    if not 0 <= eps <= most or eps == float("inf"):
        expected = "a finite number, 0 or more" if most > 1 else "a number from 0 to 1, the unit of the pixels"
        raise BadSetting(f"eps = {eps:g}", expected, "divide gray levels by 255: --eps 4/255")
