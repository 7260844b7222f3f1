"""Iterations until convergence, and the EM loop of all EM methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import pyarrow.compute as pc
from jaxtyping import Float

from sfumato.aggregation.aggregation import Fitted, PreviousAggregation
from sfumato.aggregation.answer_matrix import AnswerMatrix
from sfumato.aggregation.pass_engine import Parts, Pass, Progress, Sums
from sfumato.tables.errors import warn
from sfumato.tables.setting_checks import at_least, not_negative

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


@runtime_checkable
class IterativeMethod(Protocol):
    """The settings of a method that iterates."""

    @property
    def name(self) -> str: ...

    @property
    def iterations(self) -> int: ...

    @property
    def tolerance(self) -> float: ...


class Iterations:
    """The iterations of a method, until one gains too little; warns if none does."""

    def __init__(self, method: IterativeMethod, progress: Progress) -> None:
        self._method = method
        self._progress = progress
        self.objective: list[float] = []
        self.converged = False

    def __iter__(self) -> Iterator[int]:
        n = self._method.iterations
        for iteration in range(1, n + 1):
            yield iteration
            self._progress(iteration, n, self.objective[-1])
            if self.converged:
                return
        warn_unless_converged(self._method, self.converged)

    def report(self, objective: float, *, moved: float | None = None, n_answers: float = 1.0) -> None:
        """The objective after this iteration. It is the last one if it `moved` the model, or else improved the
        objective, by less than the tolerance per answer."""
        gain = objective - self.objective[-1] if self.objective else np.inf
        self.objective.append(objective)
        tolerance = self._method.tolerance
        self.converged = tolerance > 0 and (gain if moved is None else moved) < tolerance * n_answers


def run_em(
    method: IterativeMethod,
    answers: AnswerMatrix,
    em_model: EmModel[Model],
    previous: PreviousAggregation | None,
    estimate_prior: Callable[[Model, Parts], Model] | None = None,
) -> Fitted:
    """EM over `answers` until an iteration gains less than the tolerance per answer: the posterior of the last E-step,
    and the model estimated from it. `estimate_prior` makes passes of its own first, and returns the model with its
    prior."""
    parts = answers.engine.open(answers)
    try:
        model = em_model.initial_model(parts.run(em_model.first_pass()))
        if estimate_prior is not None:
            model = estimate_prior(model, parts)
        if previous is not None:
            model = em_model.continue_from(model, previous.model)
        iterations = Iterations(method, answers.progress)
        posterior = None
        for iteration in iterations:
            sums = parts.run(em_model.e_step(model), kept=iteration == method.iterations)
            posterior = sums.posterior
            iterations.report(em_model.objective(model, sums), n_answers=answers.n_answers)
            before, model = model, em_model.m_step(sums, model)
        if posterior is None:
            posterior = parts.run(em_model.e_step(before), kept=True, counted=False).posterior
    finally:
        parts.close()
    assert posterior is not None
    return Fitted(posterior, model, tuple(iterations.objective), iterations.converged)


def keep_known(
    first: Float[np.ndarray, "names *numbers"], names: Any, previous: np.ndarray, previous_names: Any
) -> Float[np.ndarray, "names *numbers"]:
    """`first` with the rows of `previous` for the names that a previous aggregation had too."""
    place = pc.index_in(names, value_set=previous_names)
    kept = first.copy()
    kept[place.is_valid().to_numpy(zero_copy_only=False)] = previous[place.drop_null().to_numpy()]
    return kept


def warn_unless_converged(method: IterativeMethod, converged: bool) -> None:
    """Warn if a method reached its last iteration, unless tolerance 0 requested a fixed number."""
    if not converged and method.tolerance > 0:
        remedy = "allow more with --iterations, or set a larger --tolerance"
        warn(f"{method.name} has not converged after {method.iterations} iterations; {remedy}")


def check_iterations(iterations: int, tolerance: float) -> None:
    """Raise unless there is at least one iteration and the tolerance is not negative."""
    at_least("iterations", iterations, 1)
    not_negative("tolerance", tolerance)
