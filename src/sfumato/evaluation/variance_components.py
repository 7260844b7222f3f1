"""The uncertainty of a score or a difference over seeds, items and people: one interval, one p value, one verdict.

A value depends on the items it was computed on, on the people who labeled them, and on the seeds of the trainings. Each
has a variance of its own, estimated from how much the value depends on every single item, person and seed:

    V = V_items + (V_seeds - V_seeds x items)+ + (V_people - V_people x items)+

and at least each of the three. What varies with a seed and an item together (or with a person and an item: a single
answer) is already in V_items, so it is subtracted. The interval is Student's t with the degrees of freedom of
Satterthwaite (1946), with all of V_seeds and V_people. p is from the same t statistic, so that the interval excludes 0
exactly if p is below 1 - level.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.special import stdtr, stdtrit

from sfumato.tables.bootstrap import Interval
from sfumato.tables.two_way import jackknife_variance, satterthwaite, welch

FEWEST_ITEMS = 20
"""With fewer items a variance over items is too uncertain for a verdict."""
FEWEST_PAIRS = 5
"""With fewer seeds runs are not paired by seed."""
POWER = 0.8
"""The probability with which the smallest detectable difference is found."""
NOTHING = 1e-13
"""A standard error of less than this share of the value is a rounding error."""


@dataclass(frozen=True, eq=False)
class Contributions:
    """How much a value depends on each item, person and answer, to first order, for one or several seeds.

    `items` are deviations that are 0 on average, so that `values + items` are the values of single items. `people` and
    `answers` are the changes of the value if one person, or one answer, is left out; None if people are not known, and
    `answers` also if it is not known for the metric. Items and answers may be in random groups.
    """

    values: Float[np.ndarray, "seeds"]
    items: Float[np.ndarray, "seeds items"]
    people: Float[np.ndarray, "seeds people"] | None = None
    answers: Float[np.ndarray, "seeds answers"] | None = None
    people_df: float = np.nan
    """Degrees of freedom of a variance over people; by default their number minus 1."""

    def take(self, seeds: list[int]) -> Contributions:
        """Those of some seeds."""
        people, answers = (None if each is None else each[seeds] for each in (self.people, self.answers))
        return Contributions(self.values[seeds], self.items[seeds], people, answers, self.people_df)

    def minus(self, other: Contributions) -> Contributions:
        """Those of the difference from `other`, which has the same seeds, items and people."""
        people, answers = (
            None if one is None or two is None else one - two
            for one, two in ((self.people, other.people), (self.answers, other.answers))
        )
        return Contributions(self.values - other.values, self.items - other.items, people, answers, self.people_df)

    def mean(self) -> Contributions:
        """The mean over seeds, as one."""
        people, answers = (
            None if each is None else each.mean(axis=0, keepdims=True) for each in (self.people, self.answers)
        )
        items = self.items.mean(axis=0, keepdims=True)
        return Contributions(self.values.mean(keepdims=True), items, people, answers, self.people_df)


@dataclass(frozen=True)
class VarianceComponents:
    """A value and its variance over items, seeds and people; NaN where there is only one seed, or people are not known.

    `seeds_items` and `people_items` are the parts of `seeds` and `people` that are in `items` too.
    """

    value: float
    items: float
    n_items: int
    seeds: float = np.nan
    seeds_items: float = 0.0
    seeds_df: float = np.nan
    people: float = np.nan
    people_items: float = 0.0
    people_df: float = np.nan

    @classmethod
    def of(cls, found: Contributions) -> VarianceComponents:
        """Of one value: the mean over seeds."""
        n_seeds, n = found.items.shape
        of_item = found.items.mean(axis=0)
        parts = cls(float(found.values.mean()), _variance_of_mean(of_item), n)
        if n_seeds > 1:
            parts = replace(
                parts,
                seeds=_variance_of_mean(found.values),
                seeds_items=_interaction(found.items),
                seeds_df=float(n_seeds - 1),
            )
        return parts._with_people(found)

    @classmethod
    def of_difference(cls, one: Contributions, other: Contributions, *, is_paired: bool) -> VarianceComponents:
        """Of a difference between two targets on the same items and people.

        Paired by seed if the seeds are the same and there are at least `FEWEST_PAIRS`. Otherwise the variances over
        seeds of both sides add up, which may differ (Welch 1947). Of few pairs this is the better estimate: it has up
        to twice the degrees of freedom, and it is too large rather than too small, because runs with the same seed are
        more alike.
        """
        if is_paired and len(one.values) >= FEWEST_PAIRS:
            return cls.of(one.minus(other))
        apart = cls.of(one.mean().minus(other.mean()))
        sides = [side for side in (cls.of(one), cls.of(other)) if side.seeds == side.seeds]
        if not sides:
            return apart
        seeds = sum(side.seeds for side in sides)
        df = welch(seeds, *((side.seeds, side.seeds_df) for side in sides))
        return replace(apart, seeds=seeds, seeds_items=sum(side.seeds_items for side in sides), seeds_df=df)

    def _with_people(self, found: Contributions) -> VarianceComponents:
        if found.people is None or found.people.shape[1] < 2:
            return self
        changes = found.people.mean(axis=0)
        n = len(changes)
        answers = 0.0
        if found.answers is not None:
            alone = found.answers.mean(axis=0)
            answers = float(max((alone**2).sum() - alone.sum() ** 2 / len(alone), 0.0)) if len(alone) else 0.0
        df = found.people_df if found.people_df == found.people_df else n - 1.0
        return replace(self, people=jackknife_variance(changes), people_items=answers, people_df=max(df, 1.0))

    @cached_property
    def variance(self) -> float:
        added = [
            max(whole - part, 0.0)
            for whole, part in ((self.seeds, self.seeds_items), (self.people, self.people_items))
            if whole == whole
        ]
        alone = [each for each in (self.items, self.seeds, self.people) if each == each]
        return float(max(*alone, self.items + sum(added))) if len(alone) > 1 else self.items

    @cached_property
    def df(self) -> float:
        """Degrees of freedom (Satterthwaite 1946)."""
        parts = ((self.items, self.n_items - 1.0), (self.seeds, self.seeds_df), (self.people, self.people_df))
        return satterthwaite(self.variance, *(each for each in parts if not np.isnan(each).any()))

    @property
    def error(self) -> float:
        """The standard error; NaN if nothing varies."""
        found = float(np.sqrt(self.variance))
        return found if found > NOTHING * max(1.0, abs(self.value)) else np.nan

    @property
    def p(self) -> float:
        """The two-sided p value of a value of 0."""
        return float(2 * stdtr(self.df, -abs(self.value) / self.error)) if self.error == self.error else np.nan

    def half_width(self, level: float) -> float:
        """Half the width of the interval."""
        return float(stdtrit(self.df, (1 + level) / 2) * self.error)

    def interval(self, level: float) -> Interval:
        """The t interval; `kind` says what it covers."""
        if np.isnan(self.error):
            return Interval(np.nan, np.nan, "none: nothing varies between items")
        half = self.half_width(level)
        return Interval(self.value - half, self.value + half, self.covers(level))

    def detectable(self, level: float) -> float:
        """The smallest difference that a test at this level finds with a probability of 0.8."""
        return float((stdtrit(self.df, (1 + level) / 2) + stdtrit(self.df, POWER)) * self.error)

    def covers(self, level: float) -> str:
        """What the interval covers, in words."""
        return f"{over(self)}: {100 * level:.4g}% t interval"

    def with_more(self, *, items: float = 1.0, people: float = 1.0, seeds: float = 1.0) -> VarianceComponents:
        """What is to be expected with so many times the items, people per item, or seeds."""
        shared = min(self.people_items, self.items) if self.people == self.people else 0.0
        together = min(self.seeds_items, self.items - shared) if self.seeds == self.seeds else 0.0
        own = self.items - shared - together
        return replace(
            self,
            items=(own + shared / people + together / seeds) / items,
            n_items=round(self.n_items * items),
            seeds=_divided(self.seeds, self.seeds_items, seeds, items),
            seeds_items=self.seeds_items / seeds / items,
            seeds_df=(self.seeds_df + 1) * seeds - 1,
            people=_divided(self.people, self.people_items, people, items),
            people_items=self.people_items / people / items,
            people_df=(self.people_df + 1) * people - 1,
        )


def _divided(whole: float, part: float, own: float, items: float) -> float:
    """A variance over seeds or people with `own` times as many, of which `part` also depends on items."""
    return (max(whole - part, 0.0) + min(whole, part) / items) / own if whole == whole else np.nan


def over(parts: VarianceComponents) -> str:
    """What varies, in words: `other seeds, items and people`."""
    names = ["other items"]
    if parts.seeds == parts.seeds:
        names.insert(0, "another training")
    if parts.people == parts.people:
        names.append("other people")
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _variance_of_mean(values: Float[np.ndarray, "n"]) -> float:
    n = len(values)
    return float(values.var(ddof=1) / n) if n > 1 else np.nan


def _interaction(items: Float[np.ndarray, "seeds items"]) -> float:
    """The variance of the mean that is due to seeds and items together."""
    n_seeds, n = items.shape
    if n < 2:
        return 0.0
    rest = items - items.mean(axis=0) - items.mean(axis=1, keepdims=True) + items.mean()
    return float((rest**2).sum() / ((n_seeds - 1) * (n - 1)) / (n_seeds * n))
