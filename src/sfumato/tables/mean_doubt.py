"""Mean uncertainty over items, with intervals over people and items.

The dissent leads: it is unbiased from two people on. Entropies need ten votes per item, or three soft beliefs, and are
estimates with a model: the plug-in means of the columns `total` and `between` are biased low.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module

import numpy as np
from jaxtyping import Bool, Float, Int

from sfumato.tables.beliefs import Beliefs
from sfumato.tables.bootstrap import Interval
from sfumato.tables.counts import Counts
from sfumato.tables.dissent import PersonBeliefs, dissent_of_counts, vote_counts
from sfumato.tables.doubt import entropy
from sfumato.tables.entropy_estimates import chao_shen, jackknifed_entropy
from sfumato.tables.printed_text import PrintedResult
from sfumato.tables.two_way import LOGIT, AnswerDesign, LeaveOneOut, ratio, share_over_items, two_way

VOTES_FOR_ENTROPY = 10
"""Entropies are estimated if the items have at least so many votes (median)."""
BELIEFS_FOR_ENTROPY = 3
"""The same for soft beliefs."""
CHAO_SHEN = "Chao-Shen estimate"
JACKKNIFE = "jackknife estimate"
OVER_BOTH = "over people and items"
OVER_ITEMS = "over items; the crowd is taken as fixed"


@dataclass(frozen=True)
class MeanFigure:
    """A mean over items with its interval; `interval.kind` says what it covers, or why there is none."""

    value: float
    interval: Interval


@dataclass(frozen=True)
class MeanEntropy:
    """Mean entropies in nats: of the mean belief, and its parts. Votes have only a total."""

    total: MeanFigure
    within: MeanFigure | None
    between: MeanFigure | None
    method: str


@dataclass(frozen=True, repr=False)
class MeanDoubt(PrintedResult):
    """Mean uncertainty over the items with answers of at least two people.

    `dissent` is None if there are none: it is then not identifiable. `within` and `between` are its parts, for soft
    beliefs; `within` is known from one belief per item. `entropy` is None if there are too few answers per item.
    """

    n_items: int
    n_measured: int
    median_answers: float
    """People per measured item; 0 without any."""
    dissent: MeanFigure | None
    within: MeanFigure | None
    between: MeanFigure | None
    entropy: MeanEntropy | None
    over: str
    """What the intervals are over."""
    level: float

    @property
    def is_crowd_fixed(self) -> bool:
        """Whether intervals are over items alone."""
        return self.over.startswith(OVER_ITEMS)

    def lines(self) -> list[str]:
        # Imported by name when used: tables do not depend on reporting.
        return import_module("sfumato.reporting.phrases").doubt_lines(self)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        dissent = "not identifiable" if self.dissent is None else f"{self.dissent.value:.3g}"
        return f"<MeanDoubt: {self.n_items:,} items, dissent {dissent}>"


def mean_doubt(votes: Beliefs | Counts, *, level: float = 0.95) -> MeanDoubt:
    """The mean dissent and entropy of votes or beliefs.

    Intervals are over people and items (two-way jackknife) if annotators are known. They are over items alone for
    Counts, and if no item has two people without one of the annotators.
    """
    return _of_counts(votes, level) if isinstance(votes, Counts) else _of_beliefs(votes, level)


def _of_counts(votes: Counts, level: float) -> MeanDoubt:
    counts, n = votes.counts, votes.n_votes
    several = n > 1
    if not several.any():
        return _nothing(len(n), level)
    counts, n = counts[several], n[several]
    figures = _Figures(_items_alone, level, is_crowd_fixed=True)
    enough = np.median(n) >= VOTES_FOR_ENTROPY
    total = figures.mean(chao_shen(counts), bounds=_nats(votes.classes)) if enough else None
    return MeanDoubt(
        len(several), len(n), float(np.median(n)), figures.share(dissent_of_counts(counts)), None, None,
        None if total is None else MeanEntropy(total, None, None, CHAO_SHEN), OVER_ITEMS, level,
    )  # fmt: skip


def _of_beliefs(votes: Beliefs, level: float) -> MeanDoubt:
    view = votes.coded()
    people = PersonBeliefs.of(view.item, view.annotator, view.hard, view.soft, view.n_items, view.n_classes)
    several = people.several
    if not several.any():
        return _of_single_beliefs(people, level)
    design = AnswerDesign.of(people.item[several[people.item]], people.person[several[people.item]])
    # If nobody answered about two items, each item has a crowd of its own, and other items have other people.
    is_own_crowd = int(np.bincount(design.person).max()) == 1
    figures = _Figures(_Crossed(design, several, people.item), level, is_crowd_fixed=is_own_crowd)
    dissent = figures.share(people.dissent, people.dissent_without())
    if dissent.interval.kind.startswith("none: undefined"):
        figures = _Figures(figures.left_out, level, is_crowd_fixed=True)
        dissent = figures.share(people.dissent, people.dissent_without())
    within = between = None
    if people.own is not None:
        # The part within people of an item is known without a second person; the mean is over the same items.
        without = np.where(people.n_people[people.item] > 2, people.within_without(), np.nan)
        within = figures.share(people.within, without)
        between = figures.share(people.dissent - people.within, people.dissent_without() - without)
    n = people.n_people[several]
    return MeanDoubt(
        len(several), len(n), float(np.median(n)), dissent, within, between,
        _entropy(people, figures, _nats(votes.classes)),
        OVER_ITEMS if figures.is_crowd_fixed and not is_own_crowd else OVER_BOTH, level,
    )  # fmt: skip


def _of_single_beliefs(people: PersonBeliefs, level: float) -> MeanDoubt:
    """One person per item: only the part within people is identifiable, and not from votes."""
    if people.own is None:
        return _nothing(people.n_items, level)
    left_out = AnswerDesign.of(people.item, people.person).mean(people.own)
    found = two_way(left_out, level=level, bounds=(0.0, 1.0), scale=LOGIT)
    within = MeanFigure(found.value, found.interval)
    return MeanDoubt(people.n_items, 0, 1.0, None, within, None, None, OVER_BOTH, level)


def _entropy(people: PersonBeliefs, figures: _Figures, bounds: tuple[float, float]) -> MeanEntropy | None:
    enough = VOTES_FOR_ENTROPY if people.own is None else BELIEFS_FOR_ENTROPY
    if np.median(people.n_people[people.several]) < enough:
        return None
    if people.hard is not None:
        counts = vote_counts(people.item, people.hard, people.n_items, people.n_classes).astype(np.float64)
        return MeanEntropy(
            figures.mean(chao_shen(counts), _chao_shen_without(people, counts), bounds), None, None, CHAO_SHEN
        )
    assert people.soft is not None
    found, single = jackknifed_entropy(people.item, people.soft, people.n_items), entropy(people.soft)
    n = people.n_people
    sums = np.bincount(people.item, weights=single, minlength=people.n_items)
    rest = n[people.item] - 1
    own = np.divide(sums, n, out=np.full(len(n), np.nan), where=n > 0)
    own_without = np.divide(sums[people.item] - single, rest, out=np.full(len(rest), np.nan), where=rest > 1)
    total = figures.extended(found.value, found.without, found.further, found.further_without, bounds)
    if people.own is None:
        return MeanEntropy(total, None, None, JACKKNIFE)
    between = figures.extended(
        found.value - own, found.without - own_without, found.further - own, found.further_without - own_without, bounds
    )
    return MeanEntropy(total, figures.mean(own, own_without, bounds), between, JACKKNIFE)


def _chao_shen_without(people: PersonBeliefs, counts: Float[np.ndarray, "items classes"]) -> Float[np.ndarray, "rows"]:
    """The estimate for each vote's item without that vote: computed once per item and class."""
    assert people.hard is not None
    found = np.full(counts.shape, np.nan)
    for k in range(counts.shape[1]):
        some = (counts[:, k] > 0) & (people.n_people > 2)
        rest = counts[some].copy()
        rest[:, k] -= 1
        found[some, k] = chao_shen(rest)
    return np.asarray(found[people.item, people.hard])


@dataclass(frozen=True, eq=False)
class _Crossed:
    """Leave-one-out values of a mean over the items with several people."""

    design: AnswerDesign
    several: Bool[np.ndarray, "items"]
    item: Int[np.ndarray, "rows"]

    def __call__(
        self, values: Float[np.ndarray, "items"], without: Float[np.ndarray, "rows"] | None = None
    ) -> LeaveOneOut:
        assert without is not None
        rest = without[self.several[self.item]]
        return self.design.function_of_sums(_sums(values[self.several]), _sums(rest), ratio)


def _items_alone(values: Float[np.ndarray, "items"], without: None = None) -> LeaveOneOut:  # noqa: ARG001
    """Leave-one-out values of a mean over items whose people are not known."""
    sums, nobody = _sums(values), np.zeros(0)
    return LeaveOneOut(
        float(values.mean()), ratio(sums.sum(axis=0) - sums), nobody, nobody, nobody, np.ones(len(values)), nobody
    )


def _sums(values: Float[np.ndarray, "rows"]) -> Float[np.ndarray, "rows 2"]:
    """The values, 0 if unknown, and whether they are known."""
    known = ~np.isnan(values)
    return np.stack([np.where(known, values, 0.0), known], axis=1)


@dataclass(frozen=True)
class _Figures:
    """Means with intervals from leave-one-out values."""

    left_out: Callable[..., LeaveOneOut]
    level: float
    is_crowd_fixed: bool

    def share(self, values: Float[np.ndarray, "items"], without: Float[np.ndarray, "rows"] | None = None) -> MeanFigure:
        """The mean of probabilities, with an interval on the logit scale."""
        found = share_over_items(self.left_out(values, without), level=self.level)
        return MeanFigure(found.value, found.these_people if self.is_crowd_fixed else found.interval)

    def mean(
        self,
        values: Float[np.ndarray, "items"],
        without: Float[np.ndarray, "rows"] | None = None,
        bounds: tuple[float, float] = (-np.inf, np.inf),
    ) -> MeanFigure:
        found = two_way(_scaled(self.left_out(values, without)), level=self.level, bounds=bounds, equal_items=True)
        return MeanFigure(found.value, found.these_people if self.is_crowd_fixed else found.interval)

    def extended(
        self,
        values: Float[np.ndarray, "items"],
        without: Float[np.ndarray, "rows"],
        further: Float[np.ndarray, "items"],
        further_without: Float[np.ndarray, "rows"],
        bounds: tuple[float, float],
    ) -> MeanFigure:
        """The mean of `values`, with an interval that ends at the upper end for `further`, if that is higher."""
        found, upper = self.mean(values, without, bounds), self.mean(further, further_without, bounds)
        high = np.fmax(found.interval.high, upper.interval.high)
        return MeanFigure(found.value, Interval(found.interval.low, float(high), found.interval.kind))


def _scaled(found: LeaveOneOut) -> LeaveOneOut:
    """Without one of few beliefs an estimate of an entropy changes by more than the belief contributes. These changes
    are made smaller, so that answers vary no more than items do, which contain them."""
    n = found.times.sum()
    if n < 2 or not np.isfinite(found.without_answer).all() or not np.isfinite(found.without_item).all():
        return found
    center = float(np.average(found.without_answer, weights=found.times))
    of_answers = (n - 1) * float(np.average((found.without_answer - center) ** 2, weights=found.times))
    of_items = (len(found.without_item) - 1) * float(found.without_item.var())
    if of_answers <= of_items:
        return found
    people, answers = (
        found.value + (each - found.value) * np.sqrt(of_items / of_answers)
        for each in (found.without_person, found.without_answer)
    )
    return replace(found, without_person=people, without_answer=answers)


def _nothing(n_items: int, level: float) -> MeanDoubt:
    """Of votes that do not identify the uncertainty."""
    return MeanDoubt(n_items, 0, 0.0, None, None, None, None, OVER_ITEMS, level)


def _nats(classes: tuple[str, ...]) -> tuple[float, float]:
    return 0.0, float(np.log(max(len(classes), 2)))
