"""The error that a goal is about, and how it falls with the votes per item. Called by `decision.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from sfumato.aggregation.dirichlet_mixture import DirichletMixture
from sfumato.aggregation.pass_engine import Progress, quiet
from sfumato.planning.answer_simulation import answered
from sfumato.planning.answer_value import AcquisitionIndex, KLIndex
from sfumato.planning.answers_per_item import ErrorThreshold, plan_answers_per_item
from sfumato.planning.goals import Goal
from sfumato.planning.item_prior import Population
from sfumato.planning.pilot_calibration import fit_penalty
from sfumato.planning.precision import DivergenceError, ErrorMeasure, SquaredError, WrongClass, divergence
from sfumato.tables.errors import BadSetting
from sfumato.tables.growable_array import freeze

if TYPE_CHECKING:
    from sfumato.planning.pilot_answers import Pilot

LEVEL = 0.95
LEAST = 1e-9
"""Smaller errors are set to this before logarithms are taken."""
LOOKED_AT = (1, 3, 8, 21, 55)

MEASURES_OF: dict[Goal, ErrorMeasure] = {
    Goal.DISTRIBUTION: DivergenceError(),
    Goal.CALIBRATION: DivergenceError(),
    Goal.CLASS: WrongClass(),
    Goal.GEOMETRY: SquaredError(),
}


@dataclass(frozen=True, eq=False)
class VoteCurve:
    """The error by plain votes per item, and one row per resample of the pilot (none for a prior).

    Between the points and beyond the last one it is linear in logarithms: errors fall like powers of the votes.
    """

    votes: Float[np.ndarray, "points"]
    value: Float[np.ndarray, "points"]
    resampled: Float[np.ndarray, "resamples points"]

    def __post_init__(self) -> None:
        freeze(self, "votes", "value", "resampled")

    def at(self, votes: float) -> ExpectedError:
        """The expected error at this many votes per item, not necessarily whole."""
        rows = np.concatenate([self.value[None], self.resampled])
        found = np.exp(_line(np.log(votes), np.log(self.votes), np.log(np.maximum(rows, LEAST))))
        return ExpectedError(float(found[0]), np.asarray(found[1:]))


@dataclass(frozen=True, eq=False)
class ExpectedError:
    """An expected error, and its values for resampled pilots."""

    value: float
    resampled: Float[np.ndarray, "resamples"]

    @property
    def low(self) -> float | None:
        return self._bound((1 - LEVEL) / 2)

    @property
    def high(self) -> float | None:
        return self._bound((1 + LEVEL) / 2)

    def chance(self, allowed: float) -> float:
        """The probability that the error is at most `allowed`; without a pilot 0 or 1."""
        found = self.resampled if len(self.resampled) else np.array([self.value])
        return float((found <= allowed * (1 + 1e-9)).mean())

    def times(self, ratio: float, spread: float = 0.0) -> ExpectedError:
        """The error multiplied by a ratio with standard error `spread`."""
        n = len(self.resampled)
        # Normal quantiles of the ratio, assigned to the resamples in a fixed order that is independent of theirs.
        normal = ndtri((np.arange(n) + 0.5) / max(n, 1))[np.random.default_rng(n).permutation(n)]
        moved = ratio + spread * normal
        return ExpectedError(self.value * ratio, self.resampled * np.maximum(moved, 0.0))

    def _bound(self, level: float) -> float | None:
        if not len(self.resampled):
            return None
        bound = float(np.quantile(self.resampled, level))
        # Resamples of a small pilot are biased: the interval always includes the value itself.
        return min(bound, self.value) if level < 0.5 else max(bound, self.value)


@dataclass(frozen=True)
class Criterion:
    """The error of a goal: the mean of `measure` over items, or the share of items whose error exceeds `beyond`."""

    goal: Goal
    beyond: float | None = None

    def __post_init__(self) -> None:
        if self.beyond is not None and self.goal is Goal.CLASS:
            raise BadSetting(
                "a share of items for the goal class",
                "only a threshold: the share of items whose class may be wrong",
                "omit the share, or choose another goal",
            )

    @property
    def measure(self) -> ErrorMeasure:
        return MEASURES_OF[self.goal]

    @property
    def name(self) -> str:
        return self.measure.name if self.beyond is None else f"share_beyond_{self.beyond:g}_{self.measure.name}"

    @property
    def title(self) -> str:
        if self.beyond is None:
            return self.measure.title if self.goal is Goal.CLASS else f"mean {self.measure.title}"
        return f"share of items with a {self.measure.title} of more than {self.beyond:g}"

    @property
    def index(self) -> AcquisitionIndex | None:
        """The index for adaptive assignment; None if none was shown to help."""
        return KLIndex() if self.measure.uses_prior else None

    def curve(
        self,
        source: Pilot | DirichletMixture,
        *,
        n_items: int,
        most: int,
        rng: np.random.Generator,
        progress: Progress = quiet,
    ) -> VoteCurve:
        """How the error falls with the votes per item, in a study of `n_items` items like those of the source."""
        threshold = None if self.beyond is None else ErrorThreshold(self.beyond, share=0.5)
        found = plan_answers_per_item(
            source,
            measure=self.measure,
            threshold=threshold,
            most=most,
            n_items=n_items,
            rng=rng,
            progress=progress,
        )
        value, resampled = found.value, found.resampled
        if self.beyond is not None:
            value, resampled = 1 - value, 1 - resampled
        if isinstance(source, DirichletMixture) and self.measure.uses_prior:
            looked_at = [m for m in LOOKED_AT if m <= most]
            penalty = fit_penalty(source, self._simulated, looked_at, n_items, rng)
            value = value * np.interp(np.log(np.arange(1, most + 1)), np.log(looked_at), penalty)
        # More votes do no harm: random increases are left out.
        value, resampled = np.minimum.accumulate(value), np.minimum.accumulate(resampled, axis=1)
        return VoteCurve(np.arange(1.0, most + 1), value, resampled)

    def _simulated(self, items: Population, m: int, rng: np.random.Generator) -> Float[np.ndarray, "items"]:
        known = answered(items.probs, m, rng, items.prior)
        assert known.mean is not None
        return self.of_labels(items.probs, known.mean)

    def of_labels(
        self, probs: Float[np.ndarray, "items classes"], labels: Float[np.ndarray, "items classes"]
    ) -> Float[np.ndarray, "items"]:
        """The error of each label that is a posterior mean, given the item's distribution."""
        error = divergence(probs, labels)
        return error if self.beyond is None else (error > self.beyond).astype(np.float64)


def _line(x: float, xs: Float[np.ndarray, "points"], ys: Float[np.ndarray, "rows points"]) -> Float[np.ndarray, "rows"]:
    """Each row at `x`: interpolated between its points, extrapolated beyond the last ones."""
    if len(xs) == 1:
        return np.asarray(ys[:, 0])
    if x >= xs[-1]:
        first, last = min(int(np.searchsorted(xs, xs[-1] - np.log(2))), len(xs) - 2), len(xs) - 1
    else:
        first = int(np.clip(np.searchsorted(xs, x) - 1, 0, len(xs) - 2))
        last = first + 1
    slope = (ys[:, last] - ys[:, first]) / (xs[last] - xs[first])
    if x < xs[-1]:
        return np.asarray(ys[:, first] + slope * (x - xs[first]))
    # More votes do no harm, even if the last points rise by chance.
    return np.asarray(ys[:, last] + np.minimum(slope, 0.0) * (x - xs[last]))
