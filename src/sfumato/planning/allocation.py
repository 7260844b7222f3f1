"""Adaptive allocation of answers: the answers so far, the value of one more per item, when an item is finished, and
which form (plain or richer) is worth more per second. Pure values, without databases or clocks: the state can be
rebuilt from the answers. Used by `adaptive_assignment`, `replay` and simulations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from sfumato.aggregation.dirichlet_mixture import DirichletMixture
from sfumato.planning.answer_value import ENOUGH, AcquisitionIndex, ItemPosteriors, KLIndex, L2Index
from sfumato.planning.item_prior import check_counts, fit_prior
from sfumato.tables.errors import BadSetting, NotNow
from sfumato.tables.setting_checks import above_0, at_least, not_negative

RISKS = {L2Index.name: "l2_risk", KLIndex.name: "kl_risk"}
"""The error that an index reduces, as an attribute of `ItemPosteriors`; other indices have none."""


@dataclass(frozen=True)
class Stopping:
    """An item is finished once one of these limits is reached; limits that are None do not apply.

    `l2_risk` and `kl_risk` are expected errors of the posterior mean (squared distance; nats), `lead` is the number of
    answers by which one class is ahead of the second, `most` the maximum number of answers. Risks are expectations
    under the model: they hold on average over items if the prior does. Before `fewest` answers only `most` finishes an
    item, so that an overconfident prior cannot end an item without answers.
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

    @classmethod
    def by(
        cls, index: AcquisitionIndex, risk: float | None, lead: int | None, most: int | None = None, fewest: int = 0
    ) -> Stopping:
        """With a limit of the error that `index` reduces."""
        by_l2 = RISKS.get(index.name) == "l2_risk"
        return cls(risk if by_l2 else None, None if by_l2 else risk, lead, most, fewest)

    def reached(self, known: ItemPosteriors) -> Bool[np.ndarray, "items"]:
        """Which items are finished."""
        done = np.zeros(len(known.counts), dtype=bool)
        for name in RISKS.values():
            if (limit := getattr(self, name)) is not None:
                done |= getattr(known, name) <= limit
        if self.lead is not None:
            done |= known.lead >= self.lead - 1e-9
        done &= known.n_answers >= self.fewest - 1e-9
        if self.most is not None:
            done |= known.n_answers >= self.most - 1e-9
        return done


@dataclass(frozen=True)
class Form:
    """A question form: the plain votes an answer is worth (measured by `exchange_rates`), and the seconds it takes."""

    votes: float
    seconds: float

    def __post_init__(self) -> None:
        above_0("votes", self.votes)
        above_0("seconds", self.seconds)


def worth_of_votes(index: AcquisitionIndex, known: ItemPosteriors, votes: float) -> Float[np.ndarray, "items"]:
    """How much an answer worth `votes` plain votes reduces the error of `index`.

    `R v / (A + v)`, where `R` is the remaining error and `A = R / r - 1` follows from the reduction `r` by one vote.
    Exact for the squared error under a Dirichlet, where `A` is the sum of its parameters; an approximation elsewhere.
    Several votes at once are worth less than the same number times the first: the more is known, the less remains.
    """
    if index.name not in RISKS:
        raise BadSetting(
            f"the index {index.name}, which does not estimate the remaining error",
            f"{' or '.join(RISKS)}, to compare two forms",
            "choose one of these, or use one form only",
            "no-risk",
        )
    one, risk = index.worth(known), getattr(known, RISKS[index.name])
    with np.errstate(divide="ignore", invalid="ignore"):
        many = risk * votes / (np.maximum(risk / one - 1, 0.0) + votes)
    return np.where((one > 0) & (risk > 0), many, 0.0)


NUMBERS_AT_ONCE = 2**22
FEWEST_NEW = 20
"""With fewer new answers, a new fit would hardly change the prior."""
NO_ITEMS: tuple[int, ...] = ()
NEVER = Stopping()


@dataclass(frozen=True)
class AllocationChoice:
    """The next item, and the probability with which it was chosen: below 1 if several were worth the same."""

    item: int
    probability: float
    is_deeper: bool = False
    """Whether the deeper form is worth more per second."""


@dataclass(frozen=True, eq=False)
class Allocation:
    """The answers so far, and the value of one more answer about each item by `index`.

    `with_answer` adds an answer and recomputes only its item. `choose` takes the item with the highest value per
    second. The prior is fitted again with `refit` once `is_stale`; until then values are exact under the current
    prior.

    Use `kl` or `l2` when answers per item are few, and aggregate with `bayes`. All annotators count equally:
    differences in skill are not modeled.
    """

    index: AcquisitionIndex
    counts: Float[np.ndarray, "items classes"]
    seconds: Float[np.ndarray, "items"]
    prior: DirichletMixture
    n_fitted: float
    """Answers that the prior was fitted to."""
    worths: Float[np.ndarray, "items"]
    """The value of one more answer per second; `ENOUGH` if the item is finished."""
    stopping: Stopping = NEVER
    deeper: Form | None = None
    """A richer form that may be used instead of the usual one."""
    deeper_worths: Float[np.ndarray, "items"] | None = None

    @classmethod
    def of(
        cls,
        counts: Float[np.ndarray, "items classes"],
        index: AcquisitionIndex,
        *,
        seconds: float | Float[np.ndarray, "items"] = 1.0,
        stopping: Stopping = NEVER,
        prior: DirichletMixture | None = None,
        deeper: Form | None = None,
    ) -> Allocation:
        """The state for these answers, in any order; without `prior` one is fitted to them."""
        counts = check_counts(counts)
        fitted = prior or fit_prior(counts)
        costs = _costs(seconds, len(counts))
        bare = cls(index, counts, costs, fitted, float(counts.sum()), np.empty(0), stopping, deeper)
        return bare._with_values(np.arange(len(counts)), np.empty(len(counts)), np.empty(len(counts)))

    def with_answer(self, item: int, answer: int | Float[np.ndarray, "classes"]) -> Allocation:
        """With one more answer: a class number, or a belief whose classes count as fractions of a vote."""
        n_items, n_classes = self.counts.shape
        is_number = np.ndim(answer) == 0
        if not 0 <= item < n_items or (is_number and not 0 <= answer < n_classes):
            raise BadSetting(
                f"an answer of class {answer} for item {item}" if is_number else f"item {item}",
                f"items from 0 to {n_items - 1} and classes from 0 to {n_classes - 1}",
                "number items and classes as in the counts",
                "unknown-item",
            )
        row = np.eye(n_classes)[answer] if is_number else np.asarray(answer, np.float64)
        return self.with_answers(np.array([item]), row[None])

    def with_answers(
        self, items: Int[np.ndarray, "answers"], answers: Float[np.ndarray, "answers classes"]
    ) -> Allocation:
        """With several answers, each a row of votes."""
        counts = self.counts.copy()
        np.add.at(counts, items, answers)
        touched = np.unique(items)
        check_counts(counts[touched])
        deeper = np.empty(len(counts)) if self.deeper_worths is None else self.deeper_worths.copy()
        return replace(self, counts=counts)._with_values(touched, self.worths.copy(), deeper)

    def _with_values(
        self, items: Int[np.ndarray, "some"], worths: Float[np.ndarray, "items"], deeper: Float[np.ndarray, "items"]
    ) -> Allocation:
        """With recomputed values of `items`; the other values stay."""
        counts, seconds = self.counts[items], self.seconds[items]
        worths[items] = _worths(self, counts) / (seconds if self.index.per_second else 1.0)
        if self.deeper is None:
            return replace(self, worths=worths)
        # An item that takes longer than others does so in both forms.
        longer = seconds / self.seconds.mean()
        deeper[items] = _worths(self, counts, self.deeper.votes) / (self.deeper.seconds * longer)
        return replace(self, worths=worths, deeper_worths=deeper)

    def is_stale(self, growth: float = 0.1) -> bool:
        """Whether the answers grew by the share `growth`, and by at least `FEWEST_NEW`, since the prior was fitted."""
        return float(self.counts.sum()) >= self.n_fitted + max(
            FEWEST_NEW, not_negative("growth", growth) * self.n_fitted
        )

    def refit(self) -> Allocation:
        """With a prior fitted to the current answers: the same state as `of` returns for them."""
        return Allocation.of(self.counts, self.index, seconds=self.seconds, stopping=self.stopping, deeper=self.deeper)

    @property
    def finished(self) -> Bool[np.ndarray, "items"]:
        """Items that are never chosen again."""
        return np.asarray(self.worths == ENOUGH)

    def choose(
        self,
        rng: np.random.Generator,
        exclude: Sequence[int] | np.ndarray = NO_ITEMS,
        pending: Int[np.ndarray, "items"] | None = None,
    ) -> AllocationChoice:
        """The next item, not among `exclude` (seen already, or full); raises `NotNow` if none is left.

        `pending` answers are being given now. They reduce the value of another one by `((1 + n) / (1 + n + pending))^2`
        after `n` answers; otherwise everybody would get the same item at once.
        """
        by_form = self.worths if self.deeper_worths is None else np.maximum(self.worths, self.deeper_worths)
        worths = by_form.copy()
        if pending is not None:
            n = self.counts.sum(axis=1)
            worths *= ((1 + n) / (1 + n + pending)) ** 2
        worths[np.asarray(exclude, np.int64)] = ENOUGH
        best = float(worths.max())
        if best == ENOUGH:
            raise NotNow(
                "no item that needs another answer",
                "at least one item that is neither finished nor excluded",
                "stop collecting, or set a stricter threshold",
                "all-finished",
            )
        tied = np.flatnonzero(worths == best)
        n_answers = self.counts[tied].sum(axis=1)
        tied = tied[n_answers <= n_answers.min() + 1e-9]
        item = int(tied[int(rng.random() * len(tied))])
        is_deeper = self.deeper_worths is not None and bool(self.deeper_worths[item] > self.worths[item])
        return AllocationChoice(item, 1 / len(tied), is_deeper)

    def top_items(
        self, n: int, rng: np.random.Generator, exclude: Bool[np.ndarray, "items"] | None = None
    ) -> Int[np.ndarray, "chosen"]:
        """The `n` items with the highest values (fewer if fewer are open), each once: a batch that is answered at once.

        For batches and replays.
        """
        worths = self.worths if exclude is None else np.where(exclude, ENOUGH, self.worths)
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
    """The value of an answer worth `votes` votes, computed once per distinct row of counts."""
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
    bad = ~(np.isfinite(costs) & (costs > 0))
    if costs.shape not in ((), (n_items,)):
        found = f"seconds of shape {costs.shape} for {n_items:,} items"
    elif bad.any():
        found = f"{float(costs[bad].flat[0]):g} seconds per answer"
    else:
        return np.broadcast_to(costs, (n_items,))
    expected = "one time above 0 for all items, or one per item"
    raise BadSetting(found, expected, "give the mean seconds per answer", "bad-cost")
