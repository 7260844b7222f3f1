"""Replay: what policies would have known, as curves, as a table, and as answers that they save."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Float
from scipy.stats import t as student

from sfumato.planning.estimators import ADD_CONSTANT
from sfumato.planning.indices import UniformIndex
from sfumato.tables.table import Table, columns_of

LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class ReplayCurve:
    """How far a policy's estimates are from the truth as answers come in; one row a split, one column a budget."""

    policy: str
    estimator: str
    answers: Float[np.ndarray, "splits budgets"]
    """Answers an item, on average: fewer than the budget where a policy wanted no more."""
    log_loss: Float[np.ndarray, "splits budgets"]
    kl: Float[np.ndarray, "splits budgets"]
    total_variation: Float[np.ndarray, "splits budgets"]
    squared_error: Float[np.ndarray, "splits budgets"]


@dataclass(frozen=True)
class ReplayRow:
    """One policy, estimator and budget: means over splits, and for the log-loss where other splits would put it."""

    policy: str
    estimator: str
    answers_per_item: float
    log_loss: float
    low: float
    high: float
    kl: float
    total_variation: float
    squared_error: float
    n_items: int
    n_splits: int


@dataclass(frozen=True)
class AnswersNeeded:
    """Answers an item with which a policy matches a reference, and how many times fewer; NaN where it never does."""

    policy: str
    estimator: str
    answers: float
    low: float
    high: float
    times_fewer: float


@dataclass(frozen=True, eq=False, repr=False)
class Replay(Table):
    """One row a policy, estimator and budget.

    Intervals are about other random halves of the same answers (Student's t over splits): not about other items or
    people. None with a single split.
    """

    curves: tuple[ReplayCurve, ...]
    n_items: int

    classes = ()

    def rows(self) -> list[ReplayRow]:
        """The figures one by one."""
        found = []
        for curve in self.curves:
            for b in range(curve.answers.shape[1]):
                at = curve.log_loss[:, b]
                low, high = _interval(at)
                answers, kl, distance, squared = (
                    float(each[:, b].mean())
                    for each in (curve.answers, curve.kl, curve.total_variation, curve.squared_error)
                )
                found.append(
                    ReplayRow(
                        curve.policy, curve.estimator, answers, float(at.mean()), low, high, kl, distance, squared,
                        self.n_items, len(at),
                    )
                )  # fmt: skip
        return found

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        return columns_of(self.rows()[start:stop], ReplayRow)

    def __len__(self) -> int:
        return sum(curve.answers.shape[1] for curve in self.curves)

    def curve(self, policy: str, estimator: str) -> ReplayCurve:
        """The curve of a policy and an estimator."""
        return next(each for each in self.curves if (each.policy, each.estimator) == (policy, estimator))

    def needed(
        self, policy: str = UniformIndex.name, estimator: str = ADD_CONSTANT, by: str = "log_loss"
    ) -> list[AnswersNeeded]:
        """For every curve, the answers an item that match the loss of a reference at the largest budget.

        `by` names the loss. Between two budgets it is taken to fall in a straight line, which is a little pessimistic.
        """
        reference = self.curve(policy, estimator)
        found = []
        for curve in self.curves:
            each = np.array(
                [
                    _crossing(*rows)
                    for rows in zip(curve.answers, getattr(curve, by), getattr(reference, by)[:, -1], strict=True)
                ]
            )
            low, high = _interval(each)
            fewer = float((reference.answers[:, -1] / each).mean())
            found.append(AnswersNeeded(curve.policy, curve.estimator, float(each.mean()), low, high, fewer))
        return found


def _interval(values: Float[np.ndarray, "splits"]) -> tuple[float, float]:
    if len(values) < 2 or np.isnan(values).any():
        return np.nan, np.nan
    half = float(student.ppf((1 + LEVEL) / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return float(values.mean()) - half, float(values.mean()) + half


def _crossing(answers: Float[np.ndarray, "budgets"], losses: Float[np.ndarray, "budgets"], wanted: float) -> float:
    """The answers at which the losses first come down to `wanted`."""
    enough = np.flatnonzero(losses <= wanted)
    if not len(enough):
        return float("nan")
    b = int(enough[0])
    if b == 0:
        return float(answers[0])
    part = (losses[b - 1] - wanted) / (losses[b - 1] - losses[b])
    return float(answers[b - 1] + part * (answers[b] - answers[b - 1]))
