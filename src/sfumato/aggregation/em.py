"""The EM loop of all EM methods: iterates until the objective gains too little, and reports convergence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float

from sfumato.aggregation.answer_matrix import AnswerMatrix
from sfumato.aggregation.engine import Pass, Sums
from sfumato.tables.errors import warn
from sfumato.tables.settings import at_least, not_negative

Model = TypeVar("Model")


@runtime_checkable
class EmModel(Protocol[Model]):
    """The parts in which EM methods differ."""

    def first_pass(self) -> Pass:
        """The pass that EM starts with, without a model of the annotators."""

    def initial_model(self, sums: Sums) -> Model:
        """The model from the sums of the first pass."""

    def continue_from(self, first: Model, previous: Model) -> Model:
        """`first`, with the estimates of a previous aggregation; the start of an update."""

    def e_step(self, model: Model) -> Pass:
        """The E-step."""

    def m_step(self, sums: Sums, model: Model) -> Model:
        """The M-step, from the sums of the E-step under `model`; may overwrite its counts."""

    def objective(self, model: Model, sums: Sums) -> float:
        """The (penalized) log-likelihood of `model`, or a bound on it; never decreases."""


@dataclass(frozen=True, eq=False)
class EmResult(Generic[Model]):
    """Every item's posterior (the last E-step), the model estimated from it, and the objective per iteration."""

    posterior: Float[np.ndarray, "items classes"]
    model: Model
    objective: tuple[float, ...]
    converged: bool


def run_em(
    answers: AnswerMatrix,
    em_model: EmModel[Model],
    previous: Model | None,
    *,
    name: str,
    iterations: int,
    tolerance: float,
) -> EmResult[Model]:
    """EM over `answers` until an iteration gains less than `tolerance` per answer; with 0 it never stops early."""
    parts = answers.engine.open(answers)
    try:
        model = em_model.initial_model(parts.run(em_model.first_pass()))
        if previous is not None:
            model = em_model.continue_from(model, previous)
        objective: list[float] = []
        converged = False
        posterior = None
        for iteration in range(1, iterations + 1):
            sums = parts.run(em_model.e_step(model), kept=iteration == iterations)
            posterior = sums.posterior
            objective.append(em_model.objective(model, sums))
            before, model = model, em_model.m_step(sums, model)
            answers.progress(iteration, iterations, objective[-1])
            if tolerance > 0 and iteration > 1 and objective[-1] - objective[-2] < tolerance * answers.n_answers:
                converged = True
                break
        if posterior is None:
            posterior = parts.run(em_model.e_step(before), kept=True, counted=False).posterior
    finally:
        parts.close()
    assert posterior is not None
    warn_unless_converged(name, converged, len(objective), tolerance)
    return EmResult(posterior, model, tuple(objective), converged)


def warn_unless_converged(name: str, converged: bool, iterations: int, tolerance: float) -> None:
    """Warn if a method reached its last iteration, unless tolerance 0 requested a fixed number."""
    if not converged and tolerance > 0:
        warn(
            f"{name} has not converged after {iterations} iterations; allow more with --iterations, or set a larger"
            " --tolerance"
        )


def check_iterations(iterations: int, tolerance: float) -> None:
    """Raise unless there is at least one iteration and the tolerance is not negative."""
    at_least("iterations", iterations, 1)
    not_negative("tolerance", tolerance)
