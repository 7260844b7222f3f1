"""When an item has been asked about enough.

Depth: a quick form or a rich one, by what an answer takes off the expected error a second.

Which item next: answers as they arrive, what one more would be worth, and a choice that says how probable it was.

Values only: nothing here knows of databases, clocks or people. Who keeps the answers can rebuild all of it from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from sfumato.aggregation.dirichlet_mixture import DirichletMixture
from sfumato.planning.acquisition_index import ENOUGH, AcquisitionIndex, ItemPosteriors, KLIndex, L2Index
from sfumato.planning.pilot import check_counts, fit_prior
from sfumato.tables.errors import BadSetting, NotNow
from sfumato.tables.settings import above_0, at_least, not_negative, share


@dataclass(frozen=True)
class Stopping:
    """An item is finished once one of these is reached; left out, none ever is.

    `l2_risk` and `kl_risk` are expected errors of the posterior mean (squared distance; nats), `lead` the answers by
    which one class is ahead of the second, `most` the most answers an item may have. Risks are what the model expects,
    and hold on average over items as far as the prior does; only `most` holds whatever comes. Before `fewest` answers
    nothing but `most` ends an item: a prior that is surer than it should be must not settle what nobody looked at.
    """

    l2_risk: float | None = None
    kl_risk: float | None = None
    lead: int | None = None
    most: int | None = None
    fewest: int = 0

    def __post_init__(self) -> None:
        for name in ("l2_risk", "kl_risk"):
            if getattr(self, name) is not None:
                above_0(name, getattr(self, name))
        for name in ("lead", "most"):
            if getattr(self, name) is not None:
                at_least(name, getattr(self, name), 1)
        at_least("fewest", self.fewest, 0)

    def reached(self, known: ItemPosteriors) -> Bool[np.ndarray, "items"]:
        """The items that are finished."""
        done = np.zeros(len(known.counts), dtype=bool)
        if self.l2_risk is not None:
            done |= known.l2_risk <= self.l2_risk
        if self.kl_risk is not None:
            done |= known.kl_risk <= self.kl_risk
        if self.lead is not None:
            done |= known.lead >= self.lead - 1e-9
        done &= known.n_answers >= self.fewest - 1e-9
        if self.most is not None:
            done |= known.n_answers >= self.most - 1e-9
        return done


RISKS = {L2Index.name: "l2_risk", KLIndex.name: "kl_risk"}
"""The error that an index takes down, as `ItemPosteriors` calls it; other indices have none."""


@dataclass(frozen=True)
class Form:
    """A way to ask: the plain votes an answer is worth (`exchange` measures it), and the seconds it takes."""

    votes: float
    seconds: float

    def __post_init__(self) -> None:
        above_0("votes", self.votes)
        above_0("seconds", self.seconds)


def worth_of_votes(index: AcquisitionIndex, known: ItemPosteriors, votes: float) -> Float[np.ndarray, "items"]:
    """What an answer worth `votes` plain ones takes off the error that `index` takes down.

    `R v / (A + v)`, where `R` is the error left and `A = R / r - 1` follows from what one vote takes off, `r`. Exact
    for the squared error under a Dirichlet, where `A` is the sum of its parameters; near elsewhere. Several votes at
    once are worth less than as many one by one would be by the first one's worth: the more is known, the less is left.
    """
    if index.name not in RISKS:
        raise BadSetting(
            f"found the index {index.name}, which says nothing of the error left",
            expected=f"{' or '.join(RISKS)}, where questions of two depths are weighed",
            fix="choose one of these, or ask one question alone",
            code="no-risk",
        )
    one, risk = index.worth(known), getattr(known, RISKS[index.name])
    with np.errstate(divide="ignore", invalid="ignore"):
        many = risk * votes / (np.maximum(risk / one - 1, 0.0) + votes)
    return np.where((one > 0) & (risk > 0), many, 0.0)


NUMBERS_AT_ONCE = 2**22
FEWEST_NEW = 20
"""Answers below which a prior would hardly move."""
NO_ITEMS: tuple[int, ...] = ()
NEVER = Stopping()


@dataclass(frozen=True)
class AllocationChoice:
    """The next item, and the probability it was chosen with: what a later estimate weighs its answer by (1 / p)."""

    item: int
    probability: float
    is_audit: bool
    """Drawn at random from all open items, whatever the index says."""
    is_deeper: bool = False
    """Whether the deeper form is worth more a second."""


@dataclass(frozen=True, eq=False)
class Allocation:
    """The answers so far, and what one more about each item is worth by `index`.

    `told` takes an answer in and looks at its item alone; `choose` takes the item that is worth most a second, except
    for an `audit` share of choices that are drawn evenly from all open items, so that whatever the model gets wrong
    stays visible. The prior is fitted anew with `refitted` once `is_stale`, now and then or aside; until then worths
    are exact under the one there is.

    Choose few answers an item with `kl` or `l2` and aggregate with `bayes`. Where people differ in skill this does not
    see it: everybody counts alike.
    """

    index: AcquisitionIndex
    counts: Float[np.ndarray, "items classes"]
    seconds: Float[np.ndarray, "items"]
    prior: DirichletMixture
    n_fitted: float
    """Answers that the prior was fitted on."""
    worths: Float[np.ndarray, "items"]
    """What one more answer is worth, a second; `ENOUGH` where the item is finished."""
    stopping: Stopping = NEVER
    audit: float = 0.0
    deeper: Form | None = None
    """A richer form that may be asked in place of the usual one."""
    deeper_worths: Float[np.ndarray, "items"] | None = None

    @classmethod
    def of(
        cls,
        counts: Float[np.ndarray, "items classes"],
        index: AcquisitionIndex,
        *,
        seconds: float | Float[np.ndarray, "items"] = 1.0,
        stopping: Stopping = NEVER,
        audit: float = 0.0,
        prior: DirichletMixture | None = None,
        deeper: Form | None = None,
    ) -> Allocation:
        """The state that these answers lead to, in whatever order they came; without `prior` one is fitted to them."""
        counts = check_counts(counts)
        share("audit", audit)
        fitted = prior or fit_prior(counts)
        costs = _costs(seconds, len(counts))
        bare = cls(index, counts, costs, fitted, float(counts.sum()), np.empty(0), stopping, audit, deeper)
        return bare._weighed(np.arange(len(counts)), np.empty(len(counts)), np.empty(len(counts)))

    def told(self, item: int, answer: int | Float[np.ndarray, "classes"]) -> Allocation:
        """With one more answer: a class number, or a belief whose classes count as fractions of a vote."""
        n_items, n_classes = self.counts.shape
        is_number = np.ndim(answer) == 0
        if not 0 <= item < n_items or (is_number and not 0 <= answer < n_classes):
            raise BadSetting(
                f"found an answer of class {answer} about item {item}" if is_number else f"found item {item}",
                expected=f"items from 0 to {n_items - 1} and classes from 0 to {n_classes - 1}",
                fix="number items and classes as the counts do",
                code="unknown-item",
            )
        row = np.eye(n_classes)[answer] if is_number else np.asarray(answer, np.float64)
        return self.told_all(np.array([item]), row[None])

    def told_all(self, items: Int[np.ndarray, "answers"], answers: Float[np.ndarray, "answers classes"]) -> Allocation:
        """With several answers, each a row of votes."""
        counts = self.counts.copy()
        np.add.at(counts, items, answers)
        touched = np.unique(items)
        check_counts(counts[touched])
        deeper = np.empty(len(counts)) if self.deeper_worths is None else self.deeper_worths.copy()
        return replace(self, counts=counts)._weighed(touched, self.worths.copy(), deeper)

    def _weighed(
        self, items: Int[np.ndarray, "some"], worths: Float[np.ndarray, "items"], deeper: Float[np.ndarray, "items"]
    ) -> Allocation:
        """With the worths of `items` as their answers have it, the others as they are given."""
        counts, seconds = self.counts[items], self.seconds[items]
        worths[items] = _worths(self, counts) / (seconds if self.index.per_second else 1.0)
        if self.deeper is None:
            return replace(self, worths=worths)
        # Where an item takes longer than others it does so in both forms.
        longer = seconds / self.seconds.mean()
        deeper[items] = _worths(self, counts, self.deeper.votes) / (self.deeper.seconds * longer)
        return replace(self, worths=worths, deeper_worths=deeper)

    def is_stale(self, growth: float = 0.1) -> bool:
        """Whether there are by `growth` more answers than the prior was fitted on, and at least `FEWEST_NEW`."""
        return float(self.counts.sum()) >= self.n_fitted + max(
            FEWEST_NEW, not_negative("growth", growth) * self.n_fitted
        )

    def refitted(self) -> Allocation:
        """With a prior fitted to the answers there are now: the same as `of` gives for them."""
        return Allocation.of(
            self.counts,
            self.index,
            seconds=self.seconds,
            stopping=self.stopping,
            audit=self.audit,
            deeper=self.deeper,
        )

    @property
    def finished(self) -> Bool[np.ndarray, "items"]:
        """The items that are never chosen again."""
        return np.asarray(self.worths == ENOUGH)

    def choose(
        self,
        rng: np.random.Generator,
        apart_from: Sequence[int] | np.ndarray = NO_ITEMS,
        pending: Int[np.ndarray, "items"] | None = None,
    ) -> AllocationChoice:
        """The next item, not among `apart_from` (seen already, or full); `NotNow` where none is left.

        `pending` answers are being given now: another then adds less, by `((1 + n) / (1 + n + pending))^2` after `n`
        answers, as the error falls with their number. Else everybody would be sent to the same item at once.
        """
        by_form = self.worths if self.deeper_worths is None else np.maximum(self.worths, self.deeper_worths)
        worths = by_form.copy()
        if pending is not None:
            n = self.counts.sum(axis=1)
            worths *= ((1 + n) / (1 + n + pending)) ** 2
        worths[np.asarray(apart_from, np.int64)] = ENOUGH
        best = float(worths.max())
        if best == ENOUGH:
            raise NotNow(
                "found no item that wants another answer",
                expected="at least one that is neither finished nor set apart",
                fix="stop asking, or set stricter targets",
                code="all-finished",
            )
        is_open = worths > ENOUGH
        n_open = int(is_open.sum())
        tied = np.flatnonzero(worths == best)
        n_answers = self.counts[tied].sum(axis=1)
        tied = tied[n_answers <= n_answers.min() + 1e-9]
        # Both numbers are always drawn, so that what one choice is does not shift the draws of those after it.
        is_audit, place = rng.random() < self.audit, rng.random()
        item = int(np.flatnonzero(is_open)[int(place * n_open)] if is_audit else tied[int(place * len(tied))])
        by_worth = (1 - self.audit) / len(tied) if item in tied else 0.0
        is_deeper = self.deeper_worths is not None and bool(self.deeper_worths[item] > self.worths[item])
        return AllocationChoice(item, by_worth + self.audit / n_open, is_audit, is_deeper)

    def leading(
        self, n: int, rng: np.random.Generator, apart_from: Bool[np.ndarray, "items"] | None = None
    ) -> Int[np.ndarray, "chosen"]:
        """The `n` items that are worth most, or as many as are open: a batch to be answered at once, each item once.

        For batches and replays; no audit, and no probabilities.
        """
        worths = self.worths if apart_from is None else np.where(apart_from, ENOUGH, self.worths)
        n = min(n, int((worths > ENOUGH).sum()))
        if n <= 0:
            return np.empty(0, np.int64)
        edge = np.partition(worths, len(worths) - n)[len(worths) - n]
        above, tied = np.flatnonzero(worths > edge), np.flatnonzero(worths == edge)
        # Fewest answers first, at random among equals.
        key = np.round(self.counts[tied].sum(axis=1)) + rng.random(len(tied))
        n_tied = n - len(above)
        chosen = tied if n_tied == len(tied) else tied[np.argpartition(key, n_tied)[:n_tied]]
        return np.concatenate([above, chosen])


def _worths(
    state: Allocation, counts: Float[np.ndarray, "some classes"], votes: float = 1.0
) -> Float[np.ndarray, "some"]:
    """What an answer worth so many votes is worth, worked out once for all items with the same answers."""
    rows, place = np.unique(counts, axis=0, return_inverse=True) if len(counts) > 1 else (counts, np.zeros(1, int))
    worth = np.empty(len(rows))
    n_classes = counts.shape[1]
    block = max(NUMBERS_AT_ONCE // (n_classes * (n_classes + len(state.prior.weights))), 1)
    for first in range(0, len(rows), block):
        known = ItemPosteriors(rows[first : first + block], state.prior)
        value = state.index.worth(known) if votes == 1 else worth_of_votes(state.index, known, votes)
        worth[first : first + block] = np.where(state.stopping.reached(known), ENOUGH, value)
    return worth[place.ravel()]


def _costs(seconds: float | np.ndarray, n_items: int) -> Float[np.ndarray, "items"]:
    costs = np.asarray(seconds, np.float64)
    wrong = costs.shape not in ((), (n_items,))
    if wrong or not (np.isfinite(costs) & (costs > 0)).all():
        raise BadSetting(
            f"found seconds of shape {costs.shape} for {n_items:,} items"
            if wrong
            else f"found {float(costs[~(np.isfinite(costs) & (costs > 0))].flat[0]):g} seconds an answer",
            expected="one time above 0 for all items, or one an item",
            fix="give the mean seconds that an answer takes",
            code="bad-cost",
        )
    return np.broadcast_to(costs, (n_items,))
