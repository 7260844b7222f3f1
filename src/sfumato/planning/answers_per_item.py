"""How many answers an item needs: the curve over M, how far the pilot leaves it open, and the M that is enough."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float

from sfumato.aggregation.dirichlet_mixture import DirichletMixture
from sfumato.aggregation.engine import Progress, quiet
from sfumato.planning.answer_simulation import asked
from sfumato.planning.pilot import Pilot, Population
from sfumato.planning.precision import ErrorMeasure, TotalVariationError
from sfumato.tables.errors import BadSetting, SfumatoWarning
from sfumato.tables.growable_array import freeze
from sfumato.tables.settings import above_0, at_least, between_0_and_1
from sfumato.tables.table import Table

DRAWS = 10_000
DRAWS_REFITTED = 500
MOST_REFITTED = 500
"""Pilots of at most so many items are fitted anew in every resample; in larger ones the prior is as good as certain."""
STEPS_REFITTED = 30
FEW_ITEMS = 50
FEW_ANSWERS = 3
LEVEL = 0.95

Values = Callable[[Population, np.random.Generator], Float[np.ndarray, "draws answers"]]


@dataclass(frozen=True)
class ErrorThreshold:
    """What is enough: a mean error of at most `target`, or with a `share` that share of items within it; to be reached
    with `probability`, as far as the pilot tells."""

    target: float
    share: float | None = None
    probability: float = 0.95

    def __post_init__(self) -> None:
        above_0("target", self.target)
        between_0_and_1("probability", self.probability)
        if self.share is not None:
            between_0_and_1("share", self.share)

    def reached(self, value: Float[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        return np.asarray(value <= self.target if self.share is None else value >= self.share)


@dataclass(frozen=True, eq=False, repr=False)
class AnnotatorPlan(Table):
    """One row a number of answers: `value` is the mean error, or with a share in the goal the share of items within the
    target; `low` and `high` hold it at 95% for other items like the pilot's; `chance` is how probable the goal is to be
    reached (NaN without a goal, or without a pilot)."""

    measure: ErrorMeasure
    enough: ErrorThreshold | None
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
        """The fewest answers that reach the goal if the pilot is taken at its word; None if even the most do not."""
        return None if self.enough is None else _first_for_good(self.enough.reached(self.value))

    @property
    def needed(self) -> int | None:
        """The fewest answers that reach the goal with its probability; None if even the most do not."""
        if self.enough is None or not len(self.resampled):
            return self.as_it_stands
        return _first_for_good(self.chance >= self.enough.probability)

    @property
    def between(self) -> tuple[int, int | None]:
        """What the answer would be with other items in the pilot, 9 times of 10; None for more than the most."""
        assert self.enough is not None
        found = [_first_for_good(row) or len(self) + 1 for row in self.enough.reached(self.resampled)]
        low, high = np.quantile(found, [0.05, 0.95], method="nearest") if found else (self.as_it_stands or 0,) * 2
        return int(low), int(high) if high <= len(self) else None

    def check_reached(self) -> None:
        """Raise where even the most answers do not reach the goal, and say what would."""
        if self.enough is None or self.needed is not None:
            return
        sure = np.quantile(self.resampled[:, -1], self._cautious) if len(self.resampled) else self.value[-1]
        if self.enough.share is None:
            found, possible = f"a mean {self.measure.title} of {sure:.4f}", f"a target of {_up(sure):g}"
            expected = f"{self.enough.target:g} or less"
            # Errors of shares fall with the root of M, squares and divergences with M.
            power = 2 if isinstance(self.measure, TotalVariationError) else 1
            more = int(np.ceil(len(self) * (sure / self.enough.target) ** power * 1.05))
            possible += f", or about {more:,} answers an item"
        else:
            found = f"{100 * sure:.1f}% of items within {self.enough.target:g}"
            expected = f"{100 * self.enough.share:g}% or more"
            possible = f"a share of {np.floor(100 * sure) / 100:g}, a larger target, or more answers"
        raise BadSetting(
            f"found {found} at most = {len(self)} answers an item",
            expected=expected + (f" with probability {self.enough.probability:g}" if len(self.resampled) else ""),
            fix=f"plan for {possible}",
            code="out-of-reach",
        )

    @property
    def _cautious(self) -> float:
        assert self.enough is not None
        return self.enough.probability if self.enough.share is None else 1 - self.enough.probability


def how_many(
    source: Pilot | DirichletMixture,
    *,
    measure: ErrorMeasure | None = None,
    enough: ErrorThreshold | None = None,
    most: int = 100,
    resamples: int = 100,
    rng: np.random.Generator,
    progress: Progress = quiet,
) -> AnnotatorPlan:
    """How near 1, 2, ... `most` answers an item come, for items like those of a pilot or from an assumed prior.

    Intervals come from resamples of the pilot's items. In the Bayesian bootstrap (Rubin 1981) every item counts by a
    random weight, and one more, unlike any seen, counts like each of them: what never happened in a pilot is not
    thereby impossible. Small pilots are also fitted anew each time. A prior that is assumed has no interval. People are
    taken for alike, as anybody from the same crowd; where they are not, see who answers (docs/aggregate.md) first.
    """
    measure = measure or TotalVariationError()
    at_least("most", most, 1)
    at_least("resamples", resamples, 20)
    values = _values(measure, enough, most)
    if isinstance(source, DirichletMixture):
        nothing = np.full(most, np.nan)
        if enough is not None and enough.share is not None:
            curve = values(Population.of_prior(source, DRAWS, rng), rng).mean(axis=0)
        else:
            curve = measure.of_prior(source, most, rng)
        return AnnotatorPlan(measure, enough, curve, nothing, nothing, nothing, np.empty((0, most)), 0)
    source = source.thinned(DRAWS)
    prior = source.prior
    items = Population.of_pilot(source, prior, DRAWS, rng)
    of_item = items.by_item(values(items, rng))
    unseen = _unseen(values, prior, rng)
    if source.n_items > MOST_REFITTED:
        weight = rng.standard_exponential((resamples, len(of_item) + 1))
        resampled = (weight @ np.concatenate([of_item, unseen])) / weight.sum(axis=1, keepdims=True)
    else:
        resampled = np.empty((resamples, most))
        for b in range(resamples):
            resampled[b] = _refitted(source, prior, values, unseen[0], rng)
            progress(b + 1, resamples, float(resampled[b, -1]))
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    chance = enough.reached(resampled).mean(axis=0) if enough else np.full(most, np.nan)
    plan = AnnotatorPlan(measure, enough, of_item.mean(axis=0), low, high, chance, resampled, source.n_items)
    _warn_if_small(source, plan)
    return plan


def _values(measure: ErrorMeasure, enough: ErrorThreshold | None, most: int) -> Values:
    """What is averaged over items: the error to expect, or whether an item ends within the target."""
    if enough is None or enough.share is None:
        return lambda items, rng: measure.of_items(items, most, rng)

    def within(items: Population, rng: np.random.Generator) -> Float[np.ndarray, "draws answers"]:
        result = np.empty((len(items.probs), most))
        for known in asked(items.probs, most, rng, items.prior if measure.uses_prior else None):
            result[:, known.n_answers - 1] = measure.of_answers(known) <= enough.target + 1e-12
        return result

    return within


def _unseen(values: Values, prior: DirichletMixture, rng: np.random.Generator) -> Float[np.ndarray, "1 answers"]:
    """What an item would add that may have any distribution, while the reader still holds the pilot's prior."""
    n_classes = prior.alpha.shape[1]
    anything = Population.of_prior(DirichletMixture(np.ones(1), np.ones((1, n_classes))), DRAWS_REFITTED, rng)
    return np.asarray(values(Population(prior, anything.probs, anything.item), rng).mean(axis=0, keepdims=True))


def _refitted(
    pilot: Pilot,
    prior: DirichletMixture,
    values: Values,
    unseen: Float[np.ndarray, "answers"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "answers"]:
    """The curve that a pilot of other items would have given."""
    drawn = Pilot(pilot.counts[rng.integers(0, pilot.n_items, pilot.n_items)])
    items = Population.of_pilot(drawn, drawn.fitted_from(prior, STEPS_REFITTED), DRAWS_REFITTED, rng)
    share_unseen = rng.beta(1, pilot.n_items)
    return np.asarray((1 - share_unseen) * values(items, rng).mean(axis=0) + share_unseen * unseen)


def _first_for_good(reached: Bool[np.ndarray, "answers"]) -> int | None:
    """The first number of answers from which on all are reached."""
    n_last = int(np.argmin(reached[::-1])) if not reached.all() else len(reached)
    return len(reached) - n_last + 1 if n_last else None


def _up(value: float) -> float:
    """A little more, with two digits."""
    size = 10 ** (np.floor(np.log10(value)) - 1) if value > 0 else 1.0
    return float(np.ceil(value / size) * size)


def _warn_if_small(pilot: Pilot, plan: AnnotatorPlan) -> None:
    """A warning where the pilot is too small for its prior to be taken at its word."""
    faults = []
    if pilot.n_items < FEW_ITEMS:
        faults.append(f"only {pilot.n_items} item{'s' * (pilot.n_items != 1)}")
    if pilot.counts.sum(axis=1).max() <= 1 + 1e-9:
        faults.append("one answer each, which says nothing of how far people differ: taken to agree 80% of the time")
    elif pilot.answers_an_item < FEW_ANSWERS:
        faults.append(f"only {pilot.answers_an_item:.1f} answers each")
    if not faults:
        return
    moves = f"at {len(plan)} answers the value lies between {plan.low[-1]:.3g} and {plan.high[-1]:.3g}"
    if plan.enough is not None:
        low, high = plan.between
        moves = (
            f"with other items the answer would be {low} to {'more than ' + str(len(plan)) if high is None else high}"
        )
    warnings.warn(
        f"a small pilot is surer than it should be: {', '.join(faults)}; {moves}; "
        f"better {FEW_ITEMS} items or more with {FEW_ANSWERS} answers or more",
        SfumatoWarning,
        stacklevel=3,
    )
