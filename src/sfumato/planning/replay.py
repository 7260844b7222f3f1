"""Policies replayed on recorded answers: what would have been known, had each of them chosen what to ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from sfumato.planning.allocation import NEVER, Allocation
from sfumato.planning.estimators import ADD_CONSTANT, BAYES, Loss, add_constant, bayes, loss_of
from sfumato.planning.indices import AcquisitionIndex
from sfumato.planning.recorded import RecordedAnswers, RecordedSplit
from sfumato.planning.replay_curves import Replay, ReplayCurve
from sfumato.planning.stopping import Stopping
from sfumato.tables.errors import BadSetting
from sfumato.tables.settings import above_0, at_least

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
