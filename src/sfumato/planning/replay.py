"""Replay of policies on recorded answers: what each policy would have known after each budget, and how many answers it
saves. Called by `sfumato plan replay`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

from sfumato.planning.allocation import NEVER, Allocation, Stopping
from sfumato.planning.answer_value import AcquisitionIndex, UniformIndex, lead_of
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
from sfumato.tables.base_table import RecordTable
from sfumato.tables.errors import BadSetting
from sfumato.tables.setting_checks import above_0, at_least

LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class ReplayCurve:
    """Distances of a policy's estimates from the truth by budget; one row per split, one column per budget."""

    policy: str
    estimator: str
    answers: Float[np.ndarray, "splits budgets"]
    """Mean answers per item: fewer than the budget if a policy stopped earlier."""
    log_loss: Float[np.ndarray, "splits budgets"]
    kl: Float[np.ndarray, "splits budgets"]
    total_variation: Float[np.ndarray, "splits budgets"]
    squared_error: Float[np.ndarray, "splits budgets"]


@dataclass(frozen=True)
class ReplayRow:
    """One policy, estimator and budget: means over splits, and the interval of the log-loss over splits."""

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
    """Answers per item with which a policy matches a reference, and how many times fewer; NaN if it never does."""

    policy: str
    estimator: str
    answers: float
    low: float
    high: float
    times_fewer: float


@dataclass(frozen=True, eq=False, repr=False)
class Replay(RecordTable):
    """One row per policy, estimator and budget.

    Intervals are for other random halves of the same answers (Student's t over splits), not for other items or people.
    None with a single split.
    """

    record = ReplayRow
    curves: tuple[ReplayCurve, ...]
    n_items: int

    def rows(self) -> list[ReplayRow]:
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

    _records = rows

    def curve(self, policy: str, estimator: str) -> ReplayCurve:
        return next(each for each in self.curves if (each.policy, each.estimator) == (policy, estimator))

    def needed(
        self, policy: str = UniformIndex.name, estimator: str = ADD_CONSTANT, by: str = "log_loss"
    ) -> list[AnswersNeeded]:
        """For every curve, the answers per item that match the loss of a reference at the largest budget.

        `by` names the loss. It is interpolated linearly between budgets, which is slightly pessimistic.
        """
        reference = self.curve(policy, estimator)
        found = []
        for curve in self.curves:
            splits = zip(curve.answers, getattr(curve, by), getattr(reference, by)[:, -1], strict=True)
            each = np.array([_crossing(*split) for split in splits])
            low, high = _interval(each)
            fewer = float((reference.answers[:, -1] / each).mean())
            found.append(AnswersNeeded(curve.policy, curve.estimator, float(each.mean()), low, high, fewer))
        return found


def _interval(values: Float[np.ndarray, "splits"]) -> tuple[float, float]:
    if len(values) < 2 or np.isnan(values).any():
        return np.nan, np.nan
    half = float(stdtrit(len(values) - 1, (1 + LEVEL) / 2) * values.std(ddof=1) / np.sqrt(len(values)))
    return float(values.mean()) - half, float(values.mean()) + half


def _crossing(answers: Float[np.ndarray, "budgets"], losses: Float[np.ndarray, "budgets"], wanted: float) -> float:
    """The answers at which the losses first fall to `wanted`."""
    enough = np.flatnonzero(losses <= wanted)
    if not len(enough):
        return float("nan")
    b = int(enough[0])
    if b == 0:
        return float(answers[0])
    part = (losses[b - 1] - wanted) / (losses[b - 1] - losses[b])
    return float(answers[b - 1] + part * (answers[b] - answers[b - 1]))


BATCH = 0.01
"""Answers given between two updates, as a share of the answers so far (or of the items)."""
GROWTH = 0.2
"""The share of new answers after which the prior is fitted again."""

ProgressCallback = Callable[[float, str], None]


def replay(
    recorded: RecordedAnswers,
    policies: Sequence[AcquisitionIndex],
    *,
    budget: int,
    splits: int = 3,
    keep_order: bool = False,
    stopping: Stopping = NEVER,
    progress: ProgressCallback | None = None,
    rng: np.random.Generator,
) -> Replay:
    """Every policy on the same random halves: half of each item's answers can be given, the other half is the
    reference.

    `budget` is the mean number of answers per item. Labels are estimated with the best added constant, and by `bayes`.
    """
    at_least("budget", budget, 1)
    at_least("splits", splits, 1)
    halves = [recorded.split_half(rng, keep_order=keep_order) for _ in range(splits)]
    check_budget(halves[0], budget)
    seeds = rng.integers(2**62, size=splits)
    budgets = budget_steps(budget)
    curves: list[ReplayCurve] = []
    for p, policy in enumerate(policies):
        runs = []
        for s, split in enumerate(halves):
            if progress:
                progress((p * splits + s) / (len(policies) * splits), f"{policy.name}, split {s + 1} of {splits}")
            runs.append(replay_policy(split, policy, budgets, stopping=stopping, rng=np.random.default_rng(seeds[s])))
        curves += curves_of_runs(policy.name, runs)
    return Replay(tuple(curves), recorded.n_items)


@dataclass(frozen=True)
class ReplayRun:
    """One policy on one split: answers per item and losses by estimator at every budget."""

    answers: tuple[float, ...]
    losses: dict[str, list[Loss]]


def replay_policy(
    split: RecordedSplit,
    policy: AcquisitionIndex,
    budgets: Sequence[float],
    *,
    stopping: Stopping = NEVER,
    batch: float = BATCH,
    rng: np.random.Generator,
) -> ReplayRun:
    """One policy on one split; the prior is fitted again as answers come in, as in a study."""
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
                state = state.refit()
            n_batch = max(int(batch * max(n_items, n_asked.sum())), 1)
            chosen = state.top_items(min(n_batch, missing), rng, n_asked >= room)
            if not len(chosen):
                break
            state = state.with_answers(chosen, split.recorded.votes(split.pool[chosen, n_asked[chosen]]))
            n_asked[chosen] += 1
            missing -= len(chosen)
        answers.append(float(n_asked.mean()))
        losses[ADD_CONSTANT].append(loss_of(add_constant(state.counts, split.truth), split.truth))
        losses[BAYES].append(loss_of(bayes(state.counts), split.truth))
    return ReplayRun(tuple(answers), losses)


def curves_of_runs(policy: str, runs: Sequence[ReplayRun]) -> list[ReplayCurve]:
    """The runs of one policy as one curve per estimator."""
    answers = np.array([run.answers for run in runs])
    curves = []
    for name in (ADD_CONSTANT, BAYES):
        losses = np.array([[astuple(loss) for loss in run.losses[name]] for run in runs])
        curves.append(ReplayCurve(policy, name, answers, *losses.transpose(2, 0, 1)))
    return curves


def budget_steps(most: int) -> tuple[int, ...]:
    """All small budgets, then ever larger steps; the last is `most`."""
    steps = [*range(1, 13), *(round(12 * 1.25**i) for i in range(1, 40))]
    return (*(step for step in steps if step < most), most)


def check_budget(split: RecordedSplit, budget: int) -> None:
    """Raise unless the recorded answers suffice for `budget` per item."""
    possible = float(split.n_given.mean())
    if budget > possible:
        raise BadSetting(
            f"a budget of {budget} answers per item",
            f"at most {int(possible)}: half of the recorded answers, {possible:.1f} per item",
            f"choose a budget of {int(possible)} or fewer, or record more answers",
            "budget-too-large",
        )


@dataclass(frozen=True)
class ModalStop:
    """The result of stopping at a lead on recorded answers."""

    lead: int
    answers_per_item: float
    recorded_per_item: float
    agrees: float
    """Share of items whose top class at the stop is (or ties with) the most frequent of all recorded answers."""
    unfinished: float
    """Share of items whose recorded answers ended before the lead was reached."""

    @property
    def times_fewer(self) -> float:
        """How many times fewer answers than recorded."""
        return self.recorded_per_item / self.answers_per_item


def stop_at_lead(recorded: RecordedAnswers, lead: int, rng: np.random.Generator) -> ModalStop:
    """Every item's answers in random order until one class is `lead` ahead of the second, or there are no more.

    For the most frequent class only; `replay` measures the distributions.
    """
    at_least("lead", lead, 1)
    pool = recorded.with_truth(np.zeros((recorded.n_items, recorded.n_classes)), rng).pool
    counts = np.zeros((recorded.n_items, recorded.n_classes))
    everything = np.zeros_like(counts)
    np.add.at(everything, recorded.item, recorded.votes(np.arange(len(recorded.item))))
    is_open = np.ones(recorded.n_items, dtype=bool)
    n_answers = np.zeros(recorded.n_items, np.int64)
    for column in pool.T:
        asked = np.flatnonzero(is_open & (column >= 0))
        counts[asked] += recorded.votes(column[asked])
        n_answers[asked] += 1
        is_open[asked] = lead_of(counts[asked]) < lead - 1e-9
    chosen = everything[np.arange(recorded.n_items), counts.argmax(axis=1)]
    return ModalStop(
        lead,
        float(n_answers.mean()),
        float((pool >= 0).sum(axis=1).mean()),
        float((chosen >= everything.max(axis=1) - 1e-9).mean()),
        float(is_open.mean()),
    )
