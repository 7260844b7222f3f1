"""L-BFGS for many convex problems at once: each has its own step and stops when it has converged.

The problems are evaluated together: for linear models, with one matrix product for all targets. The Hessian is
estimated from the last steps, starting from a preconditioner.
Nocedal and Wright, *Numerical Optimization* (2006), section 7.2; approximate Wolfe condition: Hager and Zhang (2005).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from jaxtyping import Bool, Float, Int

MEMORY = 10
"""How many of the last steps are used to estimate the Hessian."""
LEAST_DECREASE = 1e-4
"""Share of the decrease predicted by the slope that a step must reach."""
MOST_CUTS = 30
"""How often a step is shortened before the problem counts as stuck, at the limit of rounding."""

Vectors = Float[np.ndarray, "problems parameters"]
Which = Int[np.ndarray, "problems"]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Loss and gradient of each problem, and what its preconditioner needs to know about the curvature there."""

    loss: Float[np.ndarray, "problems"]
    gradient: Vectors
    curvature: Float[np.ndarray, "problems ..."]

    def part(self, chosen: Bool[np.ndarray, "problems"]) -> Evaluation:
        return Evaluation(self.loss[chosen], self.gradient[chosen], self.curvature[chosen])

    def updated(self, chosen: Bool[np.ndarray, "problems"], other: Evaluation) -> Evaluation:
        """This evaluation, with the rows `chosen` replaced by those of `other`."""
        parts = []
        for mine, new in zip(
            (self.loss, self.gradient, self.curvature), (other.loss, other.gradient, other.curvature), strict=True
        ):
            both = mine.copy()
            both[chosen] = new
            parts.append(both)
        return Evaluation(*parts)


class Objective(Protocol):
    """Convex functions to minimize, one per problem."""

    def evaluate(self, points: Vectors, which: Which) -> Evaluation:
        """The functions of the problems `which` at `points`."""
        ...

    def precondition(self, vectors: Vectors, curvature: Float[np.ndarray, "problems ..."], which: Which) -> Vectors:
        """An approximation of the inverse Hessian, times `vectors`."""
        ...


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where each problem ended. `decrement` estimates the distance to the minimum, in the norm of the Hessian."""

    points: Vectors
    iterations: Int[np.ndarray, "problems"]
    decrement: Float[np.ndarray, "problems"]
    converged: Bool[np.ndarray, "problems"]


@dataclass(frozen=True, eq=False)
class _State:
    """The problems that have not converged, and their last steps."""

    which: Which
    points: Vectors
    at: Evaluation
    steps: tuple[Vectors, ...]
    changes: tuple[Vectors, ...]
    inverse_curvatures: tuple[Float[np.ndarray, "problems"], ...]
    stuck: Bool[np.ndarray, "problems"]

    def part(self, chosen: Bool[np.ndarray, "problems"]) -> _State:
        return _State(
            self.which[chosen],
            self.points[chosen],
            self.at.part(chosen),
            tuple(each[chosen] for each in self.steps),
            tuple(each[chosen] for each in self.changes),
            tuple(each[chosen] for each in self.inverse_curvatures),
            self.stuck[chosen],
        )


def minimize(
    objective: Objective, start: Vectors, tolerance: float, most_iterations: int, rounding: float = 1e-11
) -> Minimum:
    """Minimize every function of `objective` until its decrement, the square root of `g' H^-1 g` with the estimated
    Hessian H, is at most `tolerance`. `rounding` is the relative error of the losses."""
    points = np.array(start, np.float64)
    n = len(points)
    iterations, decrement = np.zeros(n, np.int64), np.full(n, np.inf)
    which = np.arange(n)
    state = _State(which, points.copy(), objective.evaluate(points, which), (), (), (), np.zeros(n, bool))
    for iteration in range(most_iterations + 1):
        direction = _direction(objective, state)
        slope = -np.einsum("tp,tp->t", state.at.gradient, direction)
        decrement[state.which], iterations[state.which] = np.sqrt(np.maximum(-slope, 0)), iteration
        points[state.which] = state.points
        going = (-slope > tolerance**2) & ~state.stuck
        if iteration == most_iterations or not going.any():
            break
        if not going.all():
            state, direction, slope = state.part(going), direction[going], slope[going]
        state = _stepped(objective, state, -direction, slope, rounding)
    return Minimum(points, iterations, decrement, decrement <= tolerance)


def _direction(objective: Objective, state: _State) -> Vectors:
    """The estimated inverse Hessian, times the gradient: the two-loop recursion."""
    vectors = state.at.gradient.copy()
    history = list(zip(state.steps, state.changes, state.inverse_curvatures, strict=True))
    shares = []
    for step, change, inverse in reversed(history):
        share = inverse * np.einsum("tp,tp->t", step, vectors)
        vectors -= share[:, None] * change
        shares.append(share)
    vectors = objective.precondition(vectors, state.at.curvature, state.which)
    for (step, change, inverse), share in zip(history, reversed(shares), strict=True):
        vectors += (share - inverse * np.einsum("tp,tp->t", change, vectors))[:, None] * step
    return vectors


def _stepped(
    objective: Objective, state: _State, direction: Vectors, slope: Float[np.ndarray, "problems"], rounding: float
) -> _State:
    """One step along `direction`, shortened for the problems whose loss it does not lower enough."""
    length = np.ones(len(slope))
    new = objective.evaluate(state.points + direction, state.which)
    for cut in range(MOST_CUTS + 1):
        bad = ~_lowers(state.at, new, direction, slope, length, rounding)
        if cut == MOST_CUTS or not bad.any():
            break
        # The minimum of the parabola through both losses and the first slope.
        bend = new.loss[bad] - state.at.loss[bad] - length[bad] * slope[bad]
        with np.errstate(all="ignore"):
            best = -slope[bad] * length[bad] / (2 * bend)
        length[bad] *= np.where(np.isfinite(best), np.clip(best, 0.1, 0.5), 0.1)
        points = state.points[bad] + length[bad, None] * direction[bad]
        new = new.updated(bad, objective.evaluate(points, state.which[bad]))
    if bad.any():
        new, length[bad] = new.updated(bad, state.at.part(bad)), 0
    step = length[:, None] * direction
    change = new.gradient - state.at.gradient
    product = np.einsum("tp,tp->t", step, change)
    with np.errstate(divide="ignore"):
        inverse = np.where(product > 0, 1 / product, 0.0)
    keep = slice(-MEMORY + 1, None)
    return replace(
        state,
        points=state.points + step,
        at=new,
        steps=(*state.steps[keep], step),
        changes=(*state.changes[keep], change),
        inverse_curvatures=(*state.inverse_curvatures[keep], inverse),
        stuck=bad,
    )


def _lowers(
    old: Evaluation,
    new: Evaluation,
    direction: Vectors,
    slope: Float[np.ndarray, "problems"],
    length: Float[np.ndarray, "problems"],
    rounding: float,
) -> Bool[np.ndarray, "problems"]:
    """Whether the loss falls enough. Where the change is within rounding, the slopes decide."""
    falls = new.loss <= old.loss + LEAST_DECREASE * length * slope
    end_slope = np.einsum("tp,tp->t", new.gradient, direction)
    level = new.loss <= old.loss + rounding * np.maximum(np.abs(old.loss), 1)
    return np.asarray(falls | (level & (end_slope <= -(1 - 2 * LEAST_DECREASE) * slope)))
