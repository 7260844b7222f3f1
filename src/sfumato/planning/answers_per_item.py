"""Answers needed per item: the error by number of answers, its uncertainty given the pilot, the number that reaches a
threshold, and at a fixed budget the trade-off between many items and many answers per item. Called by `sfumato plan
annotators` and by `goal_error.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int

from sfumato.aggregation.dirichlet_mixture import DirichletMixture
from sfumato.aggregation.pass_engine import Progress, quiet
from sfumato.planning.answer_simulation import answered, simulate_answers
from sfumato.planning.costs import CostModel
from sfumato.planning.item_prior import Population
from sfumato.planning.pilot_calibration import ItemErrors, calibrated_errors
from sfumato.planning.precision import ErrorMeasure, TotalVariationError
from sfumato.tables.base_table import Table
from sfumato.tables.errors import BadSetting, BadTable, warn
from sfumato.tables.growable_array import freeze
from sfumato.tables.setting_checks import above_0, at_least, between_0_and_1

if TYPE_CHECKING:
    from sfumato.planning.pilot_answers import Pilot

DRAWS = 10_000
PILOTS = 24
"""Simulated pilots, for the interval."""
CURVES = 100
LOOKED_AT = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
"""Numbers of answers at which the error is simulated; between them it is interpolated."""
MOST_FITTED = 5_000
FEW_ITEMS = 50
FEW_ANSWERS = 3
LEVEL = 0.95


@dataclass(frozen=True)
class ErrorThreshold:
    """The required precision: a mean error of at most `error`, or with a `share`, that share of items within it; to be
    reached with `probability`, given the pilot."""

    error: float
    share: float | None = None
    probability: float = 0.95

    def __post_init__(self) -> None:
        above_0("threshold", self.error)
        between_0_and_1("probability", self.probability)
        if self.share is not None:
            between_0_and_1("share", self.share)

    @property
    def allowed(self) -> float:
        """The largest error allowed: the threshold itself, or the share of items that may exceed it."""
        return self.error if self.share is None else 1 - self.share

    def reached(self, value: Float[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        return np.asarray(value <= self.error if self.share is None else value >= self.share)


@dataclass(frozen=True, eq=False, repr=False)
class AnnotatorPlan(Table):
    """One row per number of answers. `value` is the mean error, or with a share in the threshold the share of items
    within it; `low` and `high` are its 95% interval in the planned study; `chance` is the probability to reach the
    threshold (NaN without a threshold or a pilot). `resampled` are equally probable curves, given the pilot."""

    measure: ErrorMeasure
    threshold: ErrorThreshold | None
    value: Float[np.ndarray, "answers"]
    low: Float[np.ndarray, "answers"]
    high: Float[np.ndarray, "answers"]
    chance: Float[np.ndarray, "answers"]
    resampled: Float[np.ndarray, "resamples answers"]
    n_items: int

    classes = ()

    def __post_init__(self) -> None:
        freeze(self, "value", "low", "high", "chance", "resampled")

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        columns = {"n_answers": pa.array(np.arange(start + 1, stop + 1))}
        for name in ("value", "low", "high", "chance"):
            columns[name] = pa.array(getattr(self, name)[start:stop], pa.float64(), from_pandas=True)
        return pa.table(columns)

    def __len__(self) -> int:
        return len(self.value)

    @property
    def as_it_stands(self) -> int | None:
        """The fewest answers that reach the threshold according to the point estimate; None if not even the most do."""
        return None if self.threshold is None else _first_for_good(self.threshold.reached(self.value))

    @property
    def needed(self) -> int | None:
        """The fewest answers that reach the threshold with its probability; None if not even the most do."""
        if self.threshold is None or not len(self.resampled):
            return self.as_it_stands
        return _first_for_good(self.chance >= self.threshold.probability)

    @property
    def between(self) -> tuple[int, int | None]:
        """The 90% range of the result for other items in the pilot; None means more than the most."""
        assert self.threshold is not None
        found = [_first_for_good(row) or len(self) + 1 for row in self.threshold.reached(self.resampled)]
        low, high = np.quantile(found, [0.05, 0.95], method="nearest") if found else (self.as_it_stands or 0,) * 2
        return int(low), int(high) if high <= len(self) else None

    def check_reached(self) -> None:
        """Raise if not even the most answers reach the threshold, with what would."""
        if self.threshold is None or self.needed is not None:
            return
        level = self.threshold.probability if self.threshold.share is None else 1 - self.threshold.probability
        sure = np.quantile(self.resampled[:, -1], level) if len(self.resampled) else self.value[-1]
        if self.threshold.share is None:
            found, possible = f"a mean {self.measure.title} of {sure:.4f}", f"a threshold of {rounded_up(sure):g}"
            expected = f"{self.threshold.error:g} or less"
            # Errors of shares fall with the square root of M, squares and divergences with M.
            power = 2 if isinstance(self.measure, TotalVariationError) else 1
            more = int(np.ceil(len(self) * (sure / self.threshold.error) ** power * 1.05))
            possible += f", or about {more:,} answers per item"
        else:
            found = f"{100 * sure:.1f}% of items within {self.threshold.error:g}"
            expected = f"{100 * self.threshold.share:g}% or more"
            possible = f"a share of {np.floor(100 * sure) / 100:g}, a larger threshold, or more answers"
        raise BadSetting(
            f"{found} at most = {len(self)} answers per item",
            expected + (f" with probability {self.threshold.probability:g}" if len(self.resampled) else ""),
            f"plan for {possible}",
            "out-of-reach",
        )


def plan_answers_per_item(
    source: Pilot | DirichletMixture,
    *,
    measure: ErrorMeasure | None = None,
    threshold: ErrorThreshold | None = None,
    most: int = 100,
    n_items: int | None = None,
    n_pilots: int = PILOTS,
    rng: np.random.Generator,
    progress: Progress = quiet,
) -> AnnotatorPlan:
    """The error after 1, 2, ... `most` answers per item, for items like those of a pilot or from an assumed prior.

    `n_items` are to be labeled; by default as many as the pilot has. Labels of `bayes` use a prior that is fitted to
    the answers about these items. The interval is for the mean error of such a study, from `n_pilots` simulated pilots:
    see `pilot_calibration.py`. An assumed prior has no interval. All annotators are treated as equal draws from the
    same crowd; if they differ in skill, see docs/aggregate.md first.
    """
    measure = measure or TotalVariationError()
    at_least("most", most, 1)
    at_least("resamples", n_pilots, 20)
    if n_items is not None:
        at_least("items", n_items, 1)
    errors, of_share = _item_errors(measure, threshold), threshold is not None and threshold.share is not None
    if isinstance(source, DirichletMixture):
        nothing = np.full(most, np.nan)
        if of_share:
            items = Population.of_prior(source, DRAWS, rng)
            curve = np.array([1 - errors(items, m, rng).mean() for m in range(1, most + 1)])
        else:
            curve = measure.of_prior(source, most, rng)
        return AnnotatorPlan(measure, threshold, curve, nothing, nothing, nothing, np.empty((0, most)), 0)
    _check_second_answers(source)
    found = calibrated_errors(
        source.subsample(MOST_FITTED).counts,
        errors,
        sorted({*(m for m in LOOKED_AT if m < most), most}),
        n_pilot=source.n_items,
        n_items=source.n_items if n_items is None else n_items,
        fits_prior=measure.uses_prior,
        n_pilots=n_pilots,
        rng=rng,
        progress=progress,
    )
    value, possible = found.curve(most), found.possible_curves(most, CURVES)
    if of_share:
        value, possible = 1 - value, np.maximum(1 - possible, 0.0)[::-1]
    low, high = np.quantile(possible, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    chance = threshold.reached(possible).mean(axis=0) if threshold else np.full(most, np.nan)
    plan = AnnotatorPlan(measure, threshold, value, low, high, chance, possible, source.n_items)
    _warn_if_small(source, plan)
    return plan


def _item_errors(measure: ErrorMeasure, threshold: ErrorThreshold | None) -> ItemErrors:
    """What is averaged over items: the expected error, or whether an item ends beyond the threshold."""
    if threshold is None or threshold.share is None:
        return lambda items, m, rng: measure.of_items(items, (m,), rng)[:, 0]

    def beyond(items: Population, m: int, rng: np.random.Generator) -> np.ndarray:
        known = answered(items.probs, m, rng, items.prior if measure.uses_prior else None)
        return (measure.of_answers(known) > threshold.error + 1e-12).astype(np.float64)

    return beyond


def _check_second_answers(pilot: Pilot) -> None:
    if pilot.counts.sum(axis=1).max() <= 1 + 1e-9:
        raise BadTable(
            "a pilot with one answer per item, which does not show how much people disagree",
            "two or more answers about the same items",
            f"ask a second person about {FEW_ITEMS} items or more, or assume a prior (--prior)",
            "one-answer",
        )


def _first_for_good(reached: Bool[np.ndarray, "answers"]) -> int | None:
    """The first number of answers from which on the threshold is always reached."""
    n_last = int(np.argmin(reached[::-1])) if not reached.all() else len(reached)
    return len(reached) - n_last + 1 if n_last else None


def rounded_up(value: float) -> float:
    """Rounded up to two digits."""
    size = 10 ** (np.floor(np.log10(value)) - 1) if value > 0 else 1.0
    return float(np.ceil(value / size) * size)


def _warn_if_small(pilot: Pilot, plan: AnnotatorPlan) -> None:
    """Warn if the pilot is too small to estimate its prior well."""
    faults = []
    if pilot.n_items < FEW_ITEMS:
        faults.append(f"only {pilot.n_items} item{'s' * (pilot.n_items != 1)}")
    if pilot.answers_per_item < FEW_ANSWERS:
        faults.append(f"only {pilot.answers_per_item:.1f} answers each")
    if not faults:
        return
    moves = f"at {len(plan)} answers the value is between {plan.low[-1]:.3g} and {plan.high[-1]:.3g}"
    if plan.threshold is not None:
        low, high = plan.between
        moves = f"with other items the result would be {low} to {high or f'more than {len(plan)}'}"
    warn(
        f"the pilot is small: {', '.join(faults)}; {moves}; "
        f"better: {FEW_ITEMS} items or more with {FEW_ANSWERS} answers or more each"
    )


USUAL = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100)


@dataclass(frozen=True, eq=False, repr=False)
class TradeOff(Table):
    """One row per number of answers per item, all at the same budget; smaller errors are better.

    `class_shares` is the root mean squared distance of the mean label from that of all such items, `disagreement` the
    standard error of the probability that two people differ (mean over items; NaN with one answer per item), and `item`
    the mean error of a single item's label.
    """

    n_answers: Int[np.ndarray, "rows"]
    n_items: Int[np.ndarray, "rows"]
    class_shares: Float[np.ndarray, "rows"]
    disagreement: Float[np.ndarray, "rows"]
    item: Float[np.ndarray, "rows"]
    cost: Float[np.ndarray, "rows"]

    classes = ()

    def __post_init__(self) -> None:
        freeze(self, *(field.name for field in fields(self)))

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        columns = {field.name: getattr(self, field.name)[start:stop] for field in fields(self)}
        return pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()})

    def __len__(self) -> int:
        return len(self.n_answers)

    def best(self, goal: str) -> int:
        """The best number of answers per item for `class_shares`, `disagreement` or `item`; 0 if none is possible."""
        errors = np.nan_to_num(getattr(self, goal), nan=np.inf)
        return int(self.n_answers[np.argmin(errors)]) if np.isfinite(errors).any() else 0


def trade_off(
    source: Pilot | DirichletMixture,
    budget: float,
    *,
    costs: CostModel | None = None,
    kind: str = "choice",
    measure: ErrorMeasure | None = None,
    n_answers: Sequence[int] = USUAL,
    rng: np.random.Generator,
) -> TradeOff:
    """What a budget pays at each number of answers per item: `budget` in answers, or with `costs` in money.

    For the mean label of n items with M answers each, `E |error|^2 = (between + within / M) / n`, with the variance
    between items `between = E |p|^2 - |E p|^2` and within items `within = 1 - E |p|^2`: at a fixed n M, one answer per
    item is always best. The probability that two people differ needs two. The label of a single item only improves with
    its own answers: there the budget decides how many items are possible.
    """
    above_0("budget", budget)
    price_each = 1.0 if costs is None else costs.money(kind)
    if costs is not None:
        n_affordable = costs.affordable(kind, budget)
    elif (n_affordable := int(min(budget + 1e-9, 2**53))) < 1:
        raise BadSetting(
            f"a budget of {budget:g} answers",
            "enough for at least one answer",
            "plan for 1 or more",
            "budget-too-small",
        )
    many = np.array([at_least("n_answers", m, 1) for m in n_answers if m <= n_affordable] or [1])
    items = Population.of(source if isinstance(source, DirichletMixture) else source.subsample(DRAWS), DRAWS, rng)
    n_items = n_affordable // many
    squares = float((items.probs**2).sum(axis=1).mean())
    between = squares - float((items.probs.mean(axis=0) ** 2).sum())
    most = int(many.max())
    spread = np.full(most + 1, np.nan)
    for known in simulate_answers(items.probs, most, rng):
        if (m := known.n_answers) > 1:
            spread[m] = ((m**2 - (known.counts**2).sum(axis=1)) / (m * (m - 1))).std()
    return TradeOff(
        many,
        n_items,
        np.sqrt((between + (1 - squares) / many) / n_items),
        spread[many] / np.sqrt(n_items),
        (measure or TotalVariationError()).of_items(items, many.tolist(), rng).mean(axis=0),
        many * n_items * price_each,
    )
