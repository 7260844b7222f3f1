"""CompiledAdam: Adam for float32 weights on a CPU, with the interface of a torch optimizer.

The same steps as `torch.optim.Adam(fused=True)` up to rounding, in two thirds of the time: one division per weight
instead of two, and no bookkeeping per step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor, nn

EPSILON = 1e-8


@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def _update(weights, gradients, means, squares, settings):  # type: ignore[no-untyped-def]
    """One step. `settings`: the share of the gradient in the means, beta_2 and 1 - beta_2, decay added to the gradient,
    factor of the weights, rate, and factor of the root of the squares."""
    share, beta_2, square_share, decay, kept, rate, scale = settings
    for i in range(len(weights)):
        w = weights[i]
        g = gradients[i] + decay * w
        m = means[i] + share * (g - means[i])
        v = beta_2 * squares[i] + square_share * g * g
        means[i], squares[i] = m, v
        weights[i] = kept * w - rate * m / (np.sqrt(v) * scale + np.float32(EPSILON))


@dataclass(frozen=True, eq=False)
class _Arrays:
    """The weights of a parameter and their moments as flat arrays, made again when a checkpoint is loaded."""

    means_of: Tensor
    weights: Any
    means: Any
    squares: Any

    @classmethod
    def of(cls, parameter: nn.Parameter, state: dict[str, Tensor]) -> _Arrays:
        return cls(state["exp_avg"], *map(_in_memory_order, (parameter, state["exp_avg"], state["exp_avg_sq"])))


class CompiledAdam:
    """Adam; `decoupled` applies weight decay to the weights."""

    def __init__(
        self, parameters: Iterable[nn.Parameter], rate: float, betas: tuple[float, float], decay: float, decoupled: bool
    ) -> None:
        self.param_groups: list[dict[str, Any]] = [{"params": list(parameters), "lr": rate}]
        self.state: dict[nn.Parameter, dict[str, Tensor]] = {each: {} for each in self.param_groups[0]["params"]}
        self.betas, self.decay, self.decoupled = betas, decay, decoupled
        self._arrays: dict[nn.Parameter, _Arrays] = {}

    def zero_grad(self, set_to_none: bool = True) -> None:
        assert set_to_none
        for parameter in self.param_groups[0]["params"]:
            parameter.grad = None

    def step(self) -> None:
        """Update every weight that has a gradient."""
        rate = self.param_groups[0]["lr"]
        for parameter in self.param_groups[0]["params"]:
            gradient = parameter.grad
            if gradient is None:
                continue
            state = self.state[parameter]
            if not state:
                state["step"] = torch.zeros(())
                state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
            if gradient.stride() != parameter.stride():
                gradient = torch.empty_like(parameter).copy_(gradient)
            n_steps = float(state["step"].add_(1))
            arrays = self._arrays.get(parameter)
            if arrays is None or arrays.means_of is not state["exp_avg"]:
                arrays = self._arrays[parameter] = _Arrays.of(parameter, state)
            settings = _settings(n_steps, rate, *self.betas, self.decay, self.decoupled)
            _update(arrays.weights, _in_memory_order(gradient), arrays.means, arrays.squares, settings)


def _in_memory_order(tensor: Tensor) -> Any:
    """The numbers of a dense tensor as a flat array, in the order of memory."""
    return torch.as_strided(tensor.detach(), (tensor.numel(),), (1,)).numpy()


@lru_cache(4)
def _settings(
    n_steps: float, rate: float, beta_1: float, beta_2: float, decay: float, decoupled: bool
) -> tuple[np.float32, ...]:
    """The settings of `_update`, the same for all parameters of a step."""
    settings = (
        1 - beta_1,
        beta_2,
        1 - beta_2,
        0.0 if decoupled else decay,
        1 - rate * decay if decoupled else 1.0,
        rate / (1 - beta_1**n_steps),
        1 / math.sqrt(1 - beta_2**n_steps),
    )
    return tuple(map(np.float32, settings))
