"""Noise and dimensions for simulated worlds, from a pilot's answers, from error rates, or from a data set's features.

Simulated people perceive distances with noise. It is estimated as the noise at which two simulated people contradict
each other as often as two real ones (step 3 of appendix A of Sucholutsky et al. 2023, without a truth). The number of
dimensions is estimated as the one at which simulated labels are spread over as many directions as the pilot's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import svdvals

from sfumato.planning.informativeness.answered_triplets import RankedLists
from sfumato.planning.informativeness.embedding import centered, mean_ranks
from sfumato.planning.informativeness.label_types import LabelSet
from sfumato.planning.informativeness.latent_world import LatentWorld
from sfumato.tables.errors import BadTable
from sfumato.tables.setting_checks import between_0_and_1

NOISES = np.array([0.0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.5, 4.0, 8.0])
DIMENSIONS = (1, 2, 3, 5, 8, 12, 20, 35, 60, 125)
UNKNOWN_DIMENSIONS = (5, 25, 125)
"""The dimensions of the published simulations, used together if nothing is known."""
MOST_ITEMS = 60
"""Items of a pilot whose triplets are compared."""
FEWEST_ITEMS = 5
WORLDS, PAIRINGS, RESAMPLES = 6, 5, 60


@dataclass(frozen=True)
class NoiseEstimate:
    """Noise in standard deviations of the distances (95% CI `low` to `high`, over items), and its source."""

    value: float
    low: float
    high: float
    source: str


@dataclass(frozen=True)
class DimensionEstimate:
    """Numbers of dimensions that agree with the data, `best` first in agreement, and the source."""

    best: int
    low: int
    high: int
    source: str

    @property
    def values(self) -> tuple[int, ...]:
        """The dimensions to simulate: the range and the best."""
        return tuple(sorted({self.low, self.best, self.high}))


@dataclass(frozen=True, eq=False)
class KindAnswers:
    """The answers of a pilot to one kind of question, as labels: one row per answer."""

    kind: LabelSet
    labels: Float[np.ndarray, "answers classes"]
    item: Int[np.ndarray, "answers"]
    annotator: Int[np.ndarray, "answers"]

    @property
    def items_twice(self) -> Int[np.ndarray, "items"]:
        """The items with two answers or more."""
        return np.flatnonzero(np.bincount(self.item) > 1)

    def two_answers(
        self, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "items classes"], Float[np.ndarray, "items classes"]]:
        """Two answers about each of some items, drawn at random."""
        items = self.items_twice
        items = items if len(items) <= MOST_ITEMS else rng.choice(items, MOST_ITEMS, replace=False)
        rows = np.array([rng.choice(np.flatnonzero(self.item == each), 2, replace=False) for each in items])
        return self.labels[rows[:, 0]], self.labels[rows[:, 1]]

    def mean_labels(self) -> Float[np.ndarray, "items classes"]:
        """The mean answer about each of the first items."""
        items = np.unique(self.item)[:MOST_ITEMS]
        return np.stack([self.labels[self.item == each].mean(axis=0) for each in items])

    @property
    def answers_per_item(self) -> float:
        return len(self.item) / max(len(np.unique(self.item)), 1)


@dataclass(frozen=True)
class PilotGeometry:
    """What is known of the user's own task: noise by kind of label, dimensions, and the mean seconds by kind."""

    noise: Mapping[str, NoiseEstimate] = field(default_factory=dict)
    dimensions: DimensionEstimate | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def noise_of(self, title: str) -> NoiseEstimate | None:
        """The noise of a kind: its own, or the mean of those that were measured."""
        if title in self.noise:
            return self.noise[title]
        if not self.noise:
            return None
        values = list(self.noise.values())
        value, low, high = (
            float(np.mean([getattr(each, name) for each in values])) for name in ("value", "low", "high")
        )
        return NoiseEstimate(value, low, high, f"as measured for {' and '.join(self.noise)}, not for {title}")


def disagreement(judged: Float[np.ndarray, "points classes"], other: Float[np.ndarray, "points classes"]) -> float:
    """The share of the triplets in one set of labels that the other contradicts; ties in the other count half.

    NaN if nothing was judged. As `flip_rate` of the labels' ranked lists, without listing the triplets.
    """
    wrong = asked = 0.0
    for mine, theirs in ((judged, other), (judged.T, other.T)):
        above = mine[:, :, None] > mine[:, None, :]
        difference = theirs[:, :, None] - theirs[:, None, :]
        known = above & ~np.isnan(difference)
        asked += float(known.sum())
        wrong += float((known & (difference < 0)).sum() + 0.5 * (known & (difference == 0)).sum())
    return wrong / asked if asked else float("nan")


def measured_disagreement(answers: KindAnswers, rng: np.random.Generator) -> Float[np.ndarray, "draws"]:
    """How often two answers about the same items contradict each other: the mean over pairings first, then for items
    drawn with replacement."""
    if len(answers.items_twice) < FEWEST_ITEMS:
        raise BadTable(
            f"{len(answers.items_twice)} items with two answers of kind {answers.kind.title}",
            f"{FEWEST_ITEMS} items or more with answers of two people",
            "collect a second answer about some items, or give --noise",
            "too-few-answers",
        )
    pairs = [answers.two_answers(rng) for _ in range(PAIRINGS)]
    rates = [float(np.nanmean([disagreement(a, b) for a, b in pairs]))]
    for i in range(RESAMPLES):
        a, b = pairs[i % PAIRINGS]
        drawn = rng.integers(len(a), size=len(a))
        rates.append(disagreement(a[drawn], b[drawn]))
    return np.array(rates)


def noise_curve(
    kind: LabelSet, n: int, k: int, d: int, *, against_truth: bool = False, rng: np.random.Generator
) -> Float[np.ndarray, "noises"]:
    """How often a simulated person's labels contradict another person's, or the true distances, by `NOISES`.

    Never falling, as it would be without chance.
    """
    n = min(n, MOST_ITEMS)
    rates = np.zeros((WORLDS, len(NOISES)))
    for i in range(WORLDS):
        world = LatentWorld.sample(n, k, d, rng=rng)
        for j, noise in enumerate(NOISES.tolist()):
            mine = kind.labels(world.soft_labels(noise=noise, rng=rng))
            other = -world.noisy_distances() if against_truth else kind.labels(world.soft_labels(noise=noise, rng=rng))
            rates[i, j] = disagreement(mine, other)
    return np.asarray(np.maximum.accumulate(np.nanmean(rates, axis=0)))


def noise_at(rate: Float[np.ndarray, "rates"] | float, curve: Float[np.ndarray, "noises"]) -> np.ndarray:
    """The noise at which a rate is reached, interpolated; 0 below the curve, the largest noise above it."""
    rising = curve + 1e-9 * np.arange(len(curve))
    return np.asarray(np.interp(rate, rising, NOISES))


def noise_from_pilot(
    answers: KindAnswers, n: int, k: int, dimensions: Sequence[int], rng: np.random.Generator
) -> NoiseEstimate:
    """The noise at which two simulated people contradict each other as often as the pilot's, over the dimensions."""
    rates = measured_disagreement(answers, rng)
    n = len(answers.items_twice)
    found = np.stack([noise_at(rates, noise_curve(answers.kind, n, k, d, rng=rng)) for d in dimensions])
    low, high = np.nanquantile(found[:, 1:], [0.025, 0.975])
    return NoiseEstimate(
        float(found[:, 0].mean()), float(low), float(high),
        f"your pilot: two answers contradict each other in {rates[0]:.0%} of triplets, {n} items",
    )  # fmt: skip


def noise_from_error(
    kind: LabelSet, error: float, n: int, k: int, dimensions: Sequence[int], rng: np.random.Generator
) -> NoiseEstimate:
    """The noise at which a share of `error` of all triplets in a person's labels is false."""
    between_0_and_1(f"error rate of {kind.title}", error)
    curves = [noise_curve(kind, n, k, d, against_truth=True, rng=rng) for d in dimensions]
    found = [float(noise_at(error, curve)) for curve in curves]
    least = float(np.mean([curve[0] for curve in curves]))
    below = f"; even without noise {least:.0%} are false" if error < least else ""
    source = f"given: {error:.0%} of triplets false{below}"
    return NoiseEstimate(float(np.mean(found)), min(found), max(found), source)


def participation(labels: Float[np.ndarray, "items classes"]) -> float:
    """Over how many directions the ranks in labels are spread: `(sum s^2)^2 / sum s^4` of their singular values."""
    orders = RankedLists.of_labels(labels)
    block = np.full(labels.shape, np.nan)
    block[orders.first, orders.second - len(labels)] = mean_ranks(orders)
    squared = svdvals(centered(block)) ** 2
    total = squared.sum()
    return float(total**2 / (squared**2).sum()) if total > 0 else 1.0


def dimensions_from_pilot(answers: KindAnswers, k: int, rng: np.random.Generator) -> DimensionEstimate:
    """The numbers of dimensions at which simulated labels have the participation ratio of the pilot's mean labels.

    Simulated with as many items, answers per item and contradictions as in the pilot. Labels of `k` classes cannot show
    more than about `k` dimensions: then the range is open above.
    """
    mean = answers.mean_labels()
    found = participation(mean)
    rates = measured_disagreement(answers, rng)
    ratios = np.zeros((len(DIMENSIONS), WORLDS))
    for i, d in enumerate(DIMENSIONS):
        noise = float(noise_at(rates[0], noise_curve(answers.kind, len(mean), k, d, rng=rng)))
        for j in range(WORLDS):
            world = LatentWorld.sample(len(mean), k, d, rng=rng)
            times = max(answers.answers_per_item, 1.0)
            ratios[i, j] = participation(answers.kind.mean_labels(world, noise=noise, times=times, rng=rng))
    center, spread = ratios.mean(axis=1), ratios.std(axis=1, ddof=1)
    away = np.abs(center - found) / np.maximum(spread, 1e-6)
    near = np.flatnonzero(away <= max(2.0, float(away.min())))
    best, low, high = DIMENSIONS[int(away.argmin())], DIMENSIONS[int(near.min())], DIMENSIONS[int(near.max())]
    source = f"your pilot: its labels have a participation ratio of {found:.2g}, {len(mean)} items"
    return DimensionEstimate(best, low, high, source)


def dimensions_from_features(
    features: Float[np.ndarray, "items features"], rng: np.random.Generator
) -> DimensionEstimate:
    """The participation ratio of the features' covariance, corrected for the number of items, with a bootstrap.

    `(sum l)^2 / sum l^2` of the eigenvalues is the number of dimensions if all are equally wide, as in the simulation.
    """
    if len(features) < 10:
        raise BadTable(
            f"features of {len(features)} items", "ten items or more", "give --dimensions instead", "too-few-items"
        )
    drawn = [np.arange(len(features)), *(np.unique(rng.integers(len(features), size=len(features))) for _ in range(20))]
    found = np.array([_covariance_participation(features[rows]) for rows in drawn])
    low, high = np.quantile(found[1:], [0.025, 0.975])
    best = max(round(float(found[0])), 1)
    source = f"the features: participation ratio of their covariance, {len(features):,} items"
    return DimensionEstimate(best, min(max(round(float(low)), 1), best), max(round(float(high)), best), source)


def _covariance_participation(features: Float[np.ndarray, "items features"]) -> float:
    """With the unbiased estimates of `tr(S)^2` and `tr(S^2)` for normal data (Bai and Saranadasa 1996)."""
    values = np.asarray(features, np.float64)
    values = values - values.mean(axis=0)
    n = len(values) - 1
    gram = values @ values.T / n if len(values) <= values.shape[1] else values.T @ values / n
    trace, square = float(np.trace(gram)), float((gram**2).sum())
    if not trace:
        return 1.0
    pure = n**2 / ((n + 2) * (n - 1)) * (square - trace**2 / n)
    squared = (n + 1) * n / ((n - 1) * (n + 2)) * (trace**2 - 2 * square / (n + 1))
    return squared / pure if pure > 0 else float(n)
