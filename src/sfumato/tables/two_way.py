"""Confidence intervals over people and items: the two-way jackknife.

The people who answered are a sample, as the items are. An interval over items alone is too narrow if people differ. The
two-way jackknife computes a figure again without each item, without each person and without each answer, and gets three
variances `V_items`, `V_people` and `V_answers` (Miller 1974; Cameron, Gelbach and Miller 2011 for two clusterings):

    V  = max(V_items, V_people, V_items + V_people - V_answers)
    df = V² / (V_items² / df_items + V_people² / df_people)        (Satterthwaite 1946)
    interval = value ± t(df) sqrt(V)

`df_people` is the effective number of people (Kish 1965) minus 1: smaller if a few gave most of the answers. People are
never drawn with replacement: a person who is drawn twice would agree with himself.

    design = AnswerDesign.of(item, person)                  # one code per answer
    left_out = design.mean(loss_a - loss_b)                 # a mean over answers; weights are possible
    left_out = design.mean_over_items(loss)                 # each item has the same weight
    left_out = design.function_of_sums(item_sums, without, value, which=...)   # any function of sums over items
    result = two_way(left_out, level=0.95, bounds=(0, np.inf))
    result.interval                                         # low, high, and the method or the reason for none
    result.these_people                                     # over items alone: the same people, other items
    result.parts                                            # what items, people and single answers contribute
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.special import expit, logit, stdtrit

from sfumato.tables.bootstrap import Interval
from sfumato.tables.leave_one_out import AnswerDesign, LeaveOneOut, Sums, Values, ratio
from sfumato.tables.setting_checks import between_0_and_1

__all__ = [
    "FISHER_Z",
    "NO_PARTS",
    "AnswerDesign",
    "FigureScale",
    "LeaveOneOut",
    "Sums",
    "TwoWay",
    "Values",
    "VarianceParts",
    "ratio",
    "share_over_items",
    "two_way",
]

NO_VARIATION = 1e-11
"""A standard error below this, relative to the value, is rounding."""
AT_BOUND = 1e-12
"""A share this close to 0 or 1 is there; the difference is rounding."""


@dataclass(frozen=True)
class FigureScale:
    """A monotone transformation on which a figure is closer to normal."""

    name: str
    there: Callable[[Values], Values]
    back: Callable[[Values], Values]


def _logit(values: Float[np.ndarray, "rows"]) -> Float[np.ndarray, "rows"]:
    with np.errstate(divide="ignore"):
        return np.asarray(logit(values))


def _arctanh(values: Float[np.ndarray, "rows"]) -> Float[np.ndarray, "rows"]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.arctanh(values))


LOGIT = FigureScale("logit", _logit, lambda logits: np.asarray(expit(logits)))
FISHER_Z = FigureScale("Fisher's z", _arctanh, lambda z: np.asarray(np.tanh(z)))
"""For coefficients from -1 to 1, such as those of agreement."""


@dataclass(frozen=True)
class VarianceParts:
    """What makes an interval wide, and how wide it would be with more items or people.

    `items`, `people` and `answers` are shares of the variance that sum to 1; `answers` is what is left if items and
    people are known, such as chance. The others are expected half-widths of the interval.
    """

    items: float
    people: float
    answers: float
    another_crowd: float
    """With other items and another crowd, both of the same size: half of the interval as it is."""
    these_people: float
    """With other items and the same people."""
    twice_the_items: float
    """If the same number of people answer about twice as many items."""
    twice_the_people: float
    """If twice as many people answer, each about as many items as now; NaN if no item has two answers."""


NO_PARTS = VarianceParts(*(np.nan,) * 7)


@dataclass(frozen=True)
class TwoWay:
    """A value with its interval over people and items, and where the width of the interval comes from."""

    value: float
    interval: Interval
    these_people: Interval
    """Over items alone: the people are taken as fixed."""
    standard_error: float
    """On the scale of the interval."""
    df: float
    parts: VarianceParts

    def or_over_items(self, reason: str = "") -> Interval:
        """The interval; if there is none, that over items alone, and `kind` says that people are taken as fixed and
        why (`reason`, if given)."""
        if not np.isnan(self.interval.low) or np.isnan(self.these_people.low):
            return self.interval
        fixed = self.these_people
        why = reason or self.interval.kind.removeprefix("none: ")
        return Interval(fixed.low, fixed.high, f"{fixed.kind}; people are taken as fixed: {why}")


def two_way(
    left_out: LeaveOneOut,
    *,
    level: float = 0.95,
    bounds: tuple[float, float] = (-np.inf, np.inf),
    scale: FigureScale | None = None,
    unbiased: bool = False,
    equal_items: bool = False,
) -> TwoWay:
    """The interval of a figure over people and items, cut at the `bounds` of possible values.

    On `scale` if every value is finite there. With `unbiased`, its center is the value without the bias that gets
    smaller with more items, as the jackknife over items estimates it (Quenouille 1956). With `equal_items` every item
    has the same weight, however many answers it has. There is no interval with one item or one person, if the figure
    is undefined without one of them, or if nothing varies; `kind` then says so.
    """
    between_0_and_1("level", level)
    shared = _share_of_pairs(left_out)
    if equal_items:
        left_out = replace(left_out, item_sizes=np.ones(len(left_out.item_sizes)))
    found = _Variances.of(left_out, scale, shared, unbiased)
    fixed = _interval(found, found.items, found.df_items, level, bounds, _why_not(left_out, items_alone=True), "items")
    reason = _why_not(left_out, items_alone=False)
    interval = _interval(found, found.both, found.df, level, bounds, reason, "people and items")
    parts = NO_PARTS if np.isnan(interval.low) else _parts(left_out, found, level, bounds, interval, fixed)
    error = np.nan if np.isnan(interval.low) else float(np.sqrt(found.both))
    return TwoWay(left_out.value, interval, fixed, error, found.df, parts)


def share_over_items(left_out: LeaveOneOut, *, level: float) -> TwoWay:
    """A mean of probabilities over items, with an interval on the logit scale. The interval of 1 minus the mean is its
    mirror image. Every item has the same weight.

    If all items are at a bound, Wilson's interval for as many answers of yes or no. If nobody answered about two items,
    each item has a crowd of its own: the interval over items is one over people too.
    """
    found = two_way(left_out, level=level, bounds=(0.0, 1.0), scale=LOGIT, equal_items=True)
    known = len(left_out.without_item)
    if np.isnan(found.these_people.low) and known > 1 and min(found.value, 1 - found.value) <= AT_BOUND:
        reach = float(stdtrit(known - 1, (1 + level) / 2)) ** 2
        far = reach / (known + reach)
        ends = (0.0, far) if found.value < 0.5 else (1 - far, 1.0)
        wilson = Interval(*ends, f"{100 * level:g}% Wilson over items")
        return replace(found, interval=wilson, these_people=wilson, parts=NO_PARTS)
    is_own_crowd = len(left_out.person_sizes) > 1 and float(left_out.person_sizes.max()) <= 1
    return replace(found, interval=found.these_people) if is_own_crowd else found


@dataclass(frozen=True)
class _Variances:
    """The value, the center of its interval and the jackknife variances, on a scale."""

    value: float
    center: float
    items: float
    people: float
    answers: float
    df_items: float
    df_people: float
    scale: FigureScale | None
    share_of_pairs: float

    @classmethod
    def of(cls, left_out: LeaveOneOut, scale: FigureScale | None, shared: float, unbiased: bool) -> _Variances:
        raw = [np.array([left_out.value]), left_out.without_item, left_out.without_person, left_out.without_answer]
        if scale is not None:
            scaled = [scale.there(each) for each in raw]
            lost = [np.isfinite(each) & ~np.isfinite(there) for each, there in zip(raw, scaled, strict=True)]
            raw, scale = (raw, None) if any(each.any() for each in lost) else (scaled, scale)
        value, items, people, answers = raw
        variances = (jackknife_variance(items), jackknife_variance(people), jackknife_variance(answers, left_out.times))
        center, n = float(value[0]), len(items)
        if unbiased and n > 1 and np.isfinite(items).all():
            center = float(n * center - (n - 1) * items.mean())
        df = effective_df(left_out.item_sizes), effective_df(left_out.person_sizes)
        return cls(float(value[0]), center, *variances, *df, scale, shared)

    @property
    def both(self) -> float:
        return max(self.items, self._people_once, self.items + self.people - self.answers)

    @property
    def df(self) -> float:
        return satterthwaite(self.both, (self.items, self.df_items), (self._people_once, self.df_people))

    @property
    def _people_once(self) -> float:
        """`people`; where an item is lost with one of its two answers, and `people` counts the items twice, once."""
        return self.people - self.share_of_pairs * min(max(self.answers - self.items, 0.0), self.items)

    def ends(self, half: float) -> Float[np.ndarray, "2"]:
        """The ends of the interval; it contains the value, also if its center is another."""
        low, high = min(self.center - half, self.value), max(self.center + half, self.value)
        ends = np.array([low, high])
        return ends if self.scale is None else np.sort(self.scale.back(ends))


def _share_of_pairs(left_out: LeaveOneOut) -> float:
    """The share of the answers about items with two answers: without one of them, the item may be lost."""
    sizes = left_out.item_sizes
    total = float(sizes.sum())
    return float(sizes[sizes < 2.5].sum() / total) if total > 0 else 0.0


def t_quantile(level: float, df: float) -> float:
    """The standard errors on each side of a t interval: 1.98 at a level of 0.95 with 100 degrees of freedom."""
    return float(stdtrit(df, (1 + level) / 2))


def satterthwaite(variance: float, *parts: tuple[float, float]) -> float:
    """The degrees of freedom of a variance from its parts and their degrees of freedom; at least 1."""
    below = sum(part**2 / df for part, df in parts if df > 0)
    return max(variance**2 / below, 1.0) if below > 0 else 1.0


def welch(variance: float, *parts: tuple[float, float]) -> float:
    """The degrees of freedom of a sum of variances with few degrees of freedom each: those of `satterthwaite` are too
    few on average, because squares of estimated variances are too large (Welch 1947). At least those of one part, at
    most those of all."""
    below = sum(part**2 / (df + 2) for part, df in parts)
    most = sum(df for _, df in parts)
    return float(np.clip(variance**2 / below - 2, min(df for _, df in parts), most)) if below > 0 else most


def _interval(
    found: _Variances, variance: float, df: float, level: float, bounds: tuple[float, float], reason: str, over: str
) -> Interval:
    if not reason and not np.sqrt(variance) > NO_VARIATION * max(1.0, abs(found.value)):
        reason = "the value is the same without any one of them"
    if reason:
        return Interval(np.nan, np.nan, f"none: {reason}")
    low, high = found.ends(t_quantile(level, df) * np.sqrt(variance))
    on = "" if found.scale is None else f" of {found.scale.name}"
    kind = f"{100 * level:g}% jackknife{on} over {over}"
    return Interval(float(low), float(high), kind).within(bounds)


def _why_not(left_out: LeaveOneOut, *, items_alone: bool) -> str:
    """Why there is no variance over items, or over people and items; empty if there is one."""
    if not np.isfinite(left_out.value):
        return "undefined" if np.isnan(left_out.value) else "the value is infinite"
    items, people = (left_out.without_item, "item", "items"), (left_out.without_person, "person", "people")
    for values, one, all_of in (
        (items,) if items_alone else (items, people, (left_out.without_answer, "answer", "answers"))
    ):
        if len(values) < 2 and one != "answer":
            return f"only one {one}"
        if n := int((~np.isfinite(values)).sum()):
            return f"undefined without one {one} ({n:,} of {len(values):,} {all_of})"
    return ""


def _parts(
    left_out: LeaveOneOut, found: _Variances, level: float, bounds: tuple[float, float], now: Interval, fixed: Interval
) -> VarianceParts:
    """Solves `V_items = a + b r_p + c`, `V_people = a r_i + b + c`, `V_answers = a r_i + b r_p + c` for the parts of
    items (a), people (b) and answers (c); r is the share of squared weights within items and within people."""
    n = left_out.times.sum()
    within_item, within_person = (
        min(1.0, sizes.sum() ** 2 / n / (sizes**2).sum()) for sizes in (left_out.item_sizes, left_out.person_sizes)
    )
    a = max(found.items - found.answers, 0.0) / (1 - within_item) if within_item < 1 else 0.0
    b = max(found.people - found.answers, 0.0) / (1 - within_person) if within_person < 1 else 0.0
    c = max(found.answers - a * within_item - b * within_person, 0.0)
    whole = a + b + c
    a, b, c = (part / whole * found.both for part in (a, b, c))

    def width(items: float, people: float) -> float:
        """The width with so many times the items and the people, on the scale of the interval."""
        a_, b_, c_ = a / items, b / people, c / items / people
        of_items, of_people = (a_ + c_, (found.df_items + 1) * items - 1), (b_ + c_, (found.df_people + 1) * people - 1)
        df = satterthwaite(a_ + b_ + c_, of_items, of_people)
        return t_quantile(level, df) * float(np.sqrt(a_ + b_ + c_))

    def half(items: float, people: float) -> float:
        """Half of the interval if it changes as the width does, cut at the bounds."""
        now = t_quantile(level, found.df) * np.sqrt(found.both)
        low, high = found.ends(now * width(items, people) / width(1, 1))
        within = Interval(low, high, "").within(bounds)
        return (within.high - within.low) / 2

    return VarianceParts(
        a / found.both, b / found.both, c / found.both,
        another_crowd=(now.high - now.low) / 2,
        these_people=(fixed.high - fixed.low) / 2,
        twice_the_items=half(2, 1),
        twice_the_people=half(1, 2) if within_item < 1 else np.nan,
    )  # fmt: skip


def jackknife_variance(values: Values, times: Values | None = None) -> float:
    """The jackknife variance; NaN if a value is undefined."""
    times = np.ones(len(values)) if times is None else times
    n = times.sum()
    if n < 2 or not np.isfinite(values).all():
        return np.nan
    return float((n - 1) / n * (times * (values - (times * values).sum() / n) ** 2).sum())


def effective_df(sizes: Float[np.ndarray, "units"]) -> float:
    """The degrees of freedom of a variance over units: their effective number, `(sum s)² / sum s²` (Kish 1965), minus
    1."""
    return float(sizes.sum() ** 2 / (sizes**2).sum() - 1) if len(sizes) > 1 else 0.0
