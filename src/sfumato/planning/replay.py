"""Replay: what policies would have known, as curves, as a table, and as answers that they save.

Policies replayed on recorded answers: what would have been known, had each of them chosen what to ask.

How many answers the most frequent label alone needs, where asking stops once one class is well ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Float
from scipy.stats import t as student

from sfumato.planning.acquisition_index import AcquisitionIndex, UniformIndex
from sfumato.planning.allocation import NEVER, Allocation, Stopping
from sfumato.planning.recorded_answers import (
    ADD_CONSTANT,
    BAYES,
    Loss,
    RecordedAnswers,
    RecordedSplit,
    add_constant,
    bayes,
    loss_of,
)
from sfumato.tables.errors import BadSetting
from sfumato.tables.settings import above_0, at_least
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


BATCH = 0.01
"""Answers that are given between two looks at what is worth asking, as a share of those there are (or of the items)."""
METRICS = ("log_loss", "kl", "total_variation", "squared_error")
GROWTH = 0.2
"""How much answers grow before the prior is fitted anew."""

Told = Callable[[float, str], None]


def replay(
    recorded: RecordedAnswers,
    policies: Sequence[AcquisitionIndex],
    *,
    budget: int,
    splits: int = 3,
    keep_order: bool = False,
    stopping: Stopping = NEVER,
    progress: Told | None = None,
    rng: np.random.Generator,
) -> Replay:
    """Every policy on the same random halves: half of each item's answers is there to be asked for, the other judges.

    `budget` is in answers an item, on average. Labels are estimated by the best constant added, and by `bayes` from
    the very counts collected.
    """
    at_least("budget", budget, 1)
    at_least("splits", splits, 1)
    halves = [recorded.halves(rng, keep_order=keep_order) for _ in range(splits)]
    check_budget(halves[0], budget)
    seeds = rng.integers(2**62, size=splits)
    budgets = budgets_to(budget)
    curves: list[ReplayCurve] = []
    for p, policy in enumerate(policies):
        runs = []
        for s, split in enumerate(halves):
            if progress:
                progress((p * splits + s) / (len(policies) * splits), f"{policy.name}, split {s + 1} of {splits}")
            runs.append(replayed(split, policy, budgets, stopping=stopping, rng=np.random.default_rng(seeds[s])))
        curves += joined(policy.name, runs)
    return Replay(tuple(curves), recorded.n_items)


@dataclass(frozen=True)
class ReplayRun:
    """One policy on one split: answers an item and losses by estimator at every budget."""

    answers: tuple[float, ...]
    losses: dict[str, list[Loss]]


def replayed(
    split: RecordedSplit,
    policy: AcquisitionIndex,
    budgets: Sequence[float],
    *,
    stopping: Stopping = NEVER,
    batch: float = BATCH,
    rng: np.random.Generator,
) -> ReplayRun:
    """One policy on one split, its prior fitted anew now and then, as a study would."""
    n_items, n_classes = split.truth.shape
    above_0("batch", batch)
    room = split.n_given
    n_asked = np.zeros(n_items, np.int64)
    state = Allocation.of(np.zeros((n_items, n_classes)), policy, stopping=stopping)
    answers: list[float] = []
    losses: dict[str, list[Loss]] = {ADD_CONSTANT: [], BAYES: []}
    for budget in budgets:
        missing = round(budget * n_items) - int(n_asked.sum())
        while missing > 0:
            if policy.uses_prior and state.is_stale(GROWTH):
                state = state.refitted()
            n_batch = max(int(batch * max(n_items, n_asked.sum())), 1)
            chosen = state.leading(min(n_batch, missing), rng, n_asked >= room)
            if not len(chosen):
                break
            state = state.told_all(chosen, split.recorded.votes(split.pool[chosen, n_asked[chosen]]))
            n_asked[chosen] += 1
            missing -= len(chosen)
        answers.append(float(n_asked.mean()))
        losses[ADD_CONSTANT].append(loss_of(add_constant(state.counts, split.truth), split.truth))
        losses[BAYES].append(loss_of(bayes(state.counts), split.truth))
    return ReplayRun(tuple(answers), losses)


def joined(policy: str, runs: Sequence[ReplayRun]) -> list[ReplayCurve]:
    """The runs of one policy as a curve an estimator."""
    answers = np.array([run.answers for run in runs])
    return [
        ReplayCurve(policy, name, answers, *(_stacked(runs, name, metric) for metric in METRICS))
        for name in (ADD_CONSTANT, BAYES)
    ]


def budgets_to(most: int) -> tuple[int, ...]:
    """Budgets to look at: every one while few, then ever further apart; the last is `most`."""
    steps = [*range(1, 13), *(round(12 * 1.25**i) for i in range(1, 40))]
    return (*(step for step in steps if step < most), most)


def check_budget(split: RecordedSplit, budget: int) -> None:
    """An error unless the recorded answers suffice for `budget` an item."""
    possible = float(split.n_given.mean())
    if budget > possible:
        raise BadSetting(
            f"found a budget of {budget} answers an item",
            expected=f"at most {int(possible)}: half of the answers judge, the others are {possible:.1f} an item",
            fix=f"choose a budget of {int(possible)} or fewer, or record more answers",
            code="budget-too-large",
        )


def _stacked(runs: Sequence[ReplayRun], estimator: str, metric: str) -> Float[np.ndarray, "splits budgets"]:
    return np.array([[getattr(loss, metric) for loss in run.losses[estimator]] for run in runs])


@dataclass(frozen=True)
class ModalStop:
    """What stopping at a lead comes to on recorded answers."""

    lead: int
    answers_per_item: float
    recorded_per_item: float
    agrees: float
    """Share of items whose leading class at the stop is (or ties with) the most frequent of all recorded answers."""
    unfinished: float
    """Share of items whose recorded answers ran out before the lead was reached."""

    @property
    def times_fewer(self) -> float:
        """How many times fewer answers than were recorded."""
        return self.recorded_per_item / self.answers_per_item


def stop_at_lead(recorded: RecordedAnswers, lead: int, rng: np.random.Generator) -> ModalStop:
    """Every item's answers in random order until one class is `lead` ahead of the second, or there are no more.

    Says only who leads: the shares themselves are left as rough as so few answers make them (`replay` judges those).
    """
    at_least("lead", lead, 1)
    pool = recorded.against(np.zeros((recorded.n_items, recorded.n_classes)), rng).pool
    counts = np.zeros((recorded.n_items, recorded.n_classes))
    everything = np.zeros_like(counts)
    np.add.at(everything, recorded.item, recorded.votes(np.arange(len(recorded.item))))
    is_open = np.ones(recorded.n_items, dtype=bool)
    n_answers = np.zeros(recorded.n_items, np.int64)
    for column in pool.T:
        asked = np.flatnonzero(is_open & (column >= 0))
        counts[asked] += recorded.votes(column[asked])
        n_answers[asked] += 1
        most = np.sort(counts[asked], axis=1)
        is_open[asked] = most[:, -1] - most[:, -2] < lead - 1e-9
    chosen = everything[np.arange(recorded.n_items), counts.argmax(axis=1)]
    return ModalStop(
        lead,
        float(n_answers.mean()),
        float((pool >= 0).sum(axis=1).mean()),
        float((chosen >= everything.max(axis=1) - 1e-9).mean()),
        float(is_open.mean()),
    )
