"""The one EM loop: climb until a step gains too little, and say whether that happened."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float

from sfumato.aggregation.answer_matrix import AnswerMatrix
from sfumato.aggregation.engine import Pass, Sums
from sfumato.tables.errors import SfumatoWarning
from sfumato.tables.settings import at_least, not_negative

Model = TypeVar("Model")


@runtime_checkable
class EmModel(Protocol[Model]):
    """What differs from one EM method to the next."""

    def begin(self) -> Pass:
        """The pass that EM begins with, before anything is known of the annotators."""

    def first(self, sums: Sums) -> Model:
        """What `begin` teaches."""

    def resumed(self, first: Model, earlier: Model) -> Model:
        """`first`, with what an earlier aggregation knew; where an update begins."""

    def over(self, model: Model) -> Pass:
        """The E-step."""

    def learn(self, sums: Sums, model: Model) -> Model:
        """The M-step, from what the E-step under `model` added up; may use up its counts."""

    def objective(self, model: Model, sums: Sums) -> float:
        """What climbs: the (penalised) log-likelihood of `model`, or a bound on it."""


@dataclass(frozen=True, eq=False)
class EmResult(Generic[Model]):
    """Where EM came to: every item's posterior (the last E-step), the model learnt from it, and the way there."""

    posterior: Float[np.ndarray, "items classes"]
    model: Model
    objective: tuple[float, ...]
    converged: bool


def run_em(
    answers: AnswerMatrix, steps: EmModel[Model], earlier: Model | None, *, name: str, iterations: int, tolerance: float
) -> EmResult[Model]:
    """EM over `answers` until an iteration gains less than `tolerance` an answer; with 0 it never stops early."""
    parts = answers.engine.open(answers)
    try:
        model = steps.first(parts.run(steps.begin()))
        if earlier is not None:
            model = steps.resumed(model, earlier)
        reached: list[float] = []
        converged = False
        posterior = None
        for iteration in range(1, iterations + 1):
            sums = parts.run(steps.over(model), kept=iteration == iterations)
            posterior = sums.posterior
            reached.append(steps.objective(model, sums))
            before, model = model, steps.learn(sums, model)
            answers.progress(iteration, iterations, reached[-1])
            if tolerance > 0 and iteration > 1 and reached[-1] - reached[-2] < tolerance * answers.n_answers:
                converged = True
                break
        if posterior is None:
            posterior = parts.run(steps.over(before), kept=True, counted=False).posterior
    finally:
        parts.close()
    assert posterior is not None
    warn_unless_converged(name, converged, len(reached), tolerance)
    return EmResult(posterior, model, tuple(reached), converged)


def warn_unless_converged(name: str, converged: bool, iterations: int, tolerance: float) -> None:
    """Say so where a method ran out of iterations; with tolerance 0 their number was what was asked for."""
    if not converged and tolerance > 0:
        warnings.warn(
            f"{name} has not converged after {iterations} iterations; allow more with --iterations, or be content with"
            " a larger --tolerance",
            SfumatoWarning,
            stacklevel=5,
        )


def check_climb(iterations: int, tolerance: float) -> None:
    """Raise unless there is at least one iteration and the tolerance is not negative."""
    at_least("iterations", iterations, 1)
    not_negative("tolerance", tolerance)
