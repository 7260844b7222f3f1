"""Figures of a whole study from each item's posterior: valid if the number of votes depended on the votes.

An adaptive study stops asking about items that look clear. Averages over votes are then biased: an item whose first two
votes agreed by chance keeps only these. But whether another vote was asked depends only on the votes seen, so the
posterior of an item given its votes is the same as if their number had been fixed in advance, and so is the likelihood.
A figure of the study is the mean over items of its posterior expectation.

The prior has the components of the prior of `bayes`. Their weights are fitted again by maximum likelihood: the prior of
`bayes` is cautious, because that is better for the label of a single item, and in a mean over items caution is bias.
The interval is a bootstrap over items, with new weights in each draw, and the components of another bag of items.

An audit tests the model: some items, drawn at random from all, finished or not, get two more votes that decide nothing.
Their dissent is compared with what the posteriors without these votes expect.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import digamma, stdtr, stdtrit

from sfumato.aggregation.bagged_prior import fit_bagged_prior
from sfumato.aggregation.dirichlet_mixture import DirichletMixture, DistinctRows, VoteRows
from sfumato.tables.bootstrap import Interval
from sfumato.tables.setting_checks import between_0_and_1

N_DRAWS = 50
FEW_ANSWERS = 10
TOO_NARROW = f"too narrow with fewer than {FEW_ANSWERS} answers per item"
"""In simulated studies with 5 to 6 answers per item, 90% intervals contained the value in about 83% (bench/coverage.py
--only adaptive), and dissent was up to 5% too low."""
CYCLES, DRAW_CYCLES = 300, 40
"""Accelerated cycles of EM for the weights: from equal weights, and in each draw from those of all items."""
ROUNDING = 1e-9
AUDITED_VOTES = 2
AUDIT_LEVEL = 0.01
"""An audit fails if a model that holds would differ as much with at most this probability."""


@dataclass(frozen=True)
class StudyFigure:
    """A figure of the study with its interval, for other items like these and the same people."""

    value: float
    interval: Interval


@dataclass(frozen=True)
class PosteriorFigures:
    """Figures of a study, each from the posteriors of its items.

    `dissent` is the probability that two people differ about an item, `entropy` the mean entropy of an item's
    distribution in nats, `alpha` the agreement beyond chance: 1 - dissent / dissent of answers about different items.
    """

    dissent: StudyFigure
    entropy: StudyFigure
    alpha: StudyFigure
    n_items: int


@dataclass(frozen=True)
class AuditResult:
    """The dissent of audit votes, what the model expects, and the interval and p value of their difference."""

    n_items: int
    observed: float
    expected: float
    interval: Interval
    p: float

    @property
    def fails(self) -> bool:
        """Whether the difference is larger than chance explains."""
        return self.p < AUDIT_LEVEL


def posterior_figures(
    counts: Float[np.ndarray, "items classes"], *, level: float = 0.95, rng: np.random.Generator | None = None
) -> PosteriorFigures:
    """Dissent, entropy and alpha of a study whose items have these votes, however their number was decided."""
    between_0_and_1("level", level)
    rng = np.random.default_rng(0) if rng is None else rng
    counts = counts[counts.sum(axis=1) > 0]
    prior, distinct = fit_bagged_prior(counts), DistinctRows.of(counts)
    table = _ComponentTable.of(distinct, prior.pooled)
    bags = [_ComponentTable.of(distinct, bag) for bag in prior.bags]
    n = len(counts)
    drawn = np.empty((N_DRAWS, 3))
    for draw in range(N_DRAWS):
        own = bags[draw % len(bags)]
        times = np.bincount(distinct.place[rng.integers(0, n, n)], minlength=len(distinct.rows)).astype(np.float64)
        drawn[draw] = own.figures(fitted_weights(own.likelihood, times, own.weights, DRAW_CYCLES), times)
    values = table.figures(table.weights, table.times)
    half = float(stdtrit(N_DRAWS - 1, (1 + level) / 2)) * drawn.std(axis=0, ddof=1)
    kind = f"{100 * level:g}% bootstrap over items of posterior means, {N_DRAWS} resamples"
    if has_few_answers(counts):
        kind += f", {TOO_NARROW}"
    bounds = ((0.0, 1.0), (0.0, float(np.log(counts.shape[1]))), (-np.inf, 1.0))
    dissent, entropy, alpha = (
        StudyFigure(float(value), Interval(float(value - h), float(value + h), kind).within(between))
        for value, h, between in zip(values, half, bounds, strict=True)
    )
    return PosteriorFigures(dissent, entropy, alpha, n)


def has_few_answers(counts: Float[np.ndarray, "items classes"]) -> bool:
    """Whether intervals of `posterior_figures` are too narrow for these votes."""
    n = counts.sum(axis=1)
    return bool((n > 0).any() and n[n > 0].mean() < FEW_ANSWERS)


def check_audit(
    counts: Float[np.ndarray, "items classes"], audited: Float[np.ndarray, "items classes"], *, level: float = 0.95
) -> AuditResult | None:
    """Compare the audit votes of items with what the model expects from their other votes.

    Items with fewer than two audit votes, or without other votes, are left out; None if none is left.
    """
    m = audited.sum(axis=1)
    has = (m >= AUDITED_VOTES - ROUNDING) & (counts.sum(axis=1) > 0)
    if has.sum() < 2:
        return None
    answered = counts.sum(axis=1) > 0
    table = _ComponentTable.of(DistinctRows.of(counts[answered]), fit_bagged_prior(counts[answered]).pooled)
    expected = table.item_dissent()[has[answered]]
    m = m[has]
    observed = (m**2 - (audited[has] ** 2).sum(axis=1)) / (m * (m - 1))
    apart = observed - expected
    n, mean, error = len(m), float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(len(m)))
    if not error > ROUNDING:
        return AuditResult(n, float(observed.mean()), float(expected.mean()), Interval(mean, mean, "none"), 1.0)
    half = float(stdtrit(n - 1, (1 + level) / 2)) * error
    interval = Interval(mean - half, mean + half, f"{100 * level:g}% t interval over {n:,} audited items")
    p = 2 * float(stdtr(n - 1, -abs(mean) / error))
    return AuditResult(n, float(observed.mean()), float(expected.mean()), interval, p)


@dataclass(frozen=True, eq=False)
class _ComponentTable:
    """What each component of the prior would say about each distinct row of votes, and how well it predicts it."""

    rows: Float[np.ndarray, "rows classes"]
    times: Float[np.ndarray, "rows"]
    place: np.ndarray
    """The row of each item."""
    alpha: Float[np.ndarray, "components classes"]
    likelihood: Float[np.ndarray, "rows components"]
    """Relative to that of the best component."""
    dissent: Float[np.ndarray, "rows components"]
    entropy: Float[np.ndarray, "rows components"]
    weights: Float[np.ndarray, "components"]
    """The weights that fit all items best."""

    @classmethod
    def of(cls, distinct: DistinctRows, prior: DirichletMixture) -> _ComponentTable:
        rows, alpha = distinct.rows, prior.alpha
        logs = VoteRows(rows).log_evidence(DirichletMixture(np.ones(len(alpha)), alpha))
        likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
        mass = alpha.sum(axis=1) + rows.sum(axis=1, keepdims=True)
        squares, entropy = np.zeros(mass.shape), np.zeros(mass.shape)
        for k in range(rows.shape[1]):
            a = alpha[:, k] + rows[:, k : k + 1]
            squares += a * (a + 1)
            entropy -= a / mass * (digamma(a + 1) - digamma(mass + 1))
        times = distinct.times.astype(np.float64)
        weights = fitted_weights(likelihood, times, np.full(len(alpha), 1 / len(alpha)), CYCLES)
        dissent = 1 - squares / (mass * (mass + 1))
        return cls(rows, times, distinct.place, alpha, likelihood, dissent, entropy, weights)

    def item_dissent(self) -> Float[np.ndarray, "items"]:
        """The posterior probability that two more people differ, per item."""
        return np.asarray((self._shares(self.weights) * self.dissent).sum(axis=1)[self.place])

    def figures(self, weights: Float[np.ndarray, "components"], times: Float[np.ndarray, "rows"]) -> np.ndarray:
        """Mean dissent, mean entropy and alpha, with each row so many times."""
        shares, n = self._shares(weights), times.sum()
        dissent, entropy = (float(times @ (shares * each).sum(axis=1) / n) for each in (self.dissent, self.entropy))
        part = shares / (self.alpha.sum(axis=1) + self.rows.sum(axis=1, keepdims=True))
        mean = times @ (part @ self.alpha + part.sum(axis=1, keepdims=True) * self.rows) / n
        by_chance = 1 - float(mean @ mean)
        return np.array([dissent, entropy, 1 - dissent / by_chance if by_chance > ROUNDING else np.nan])

    def _shares(self, weights: Float[np.ndarray, "components"]) -> Float[np.ndarray, "rows components"]:
        """The posterior weights of the components, per row."""
        shares = self.likelihood * weights
        return np.asarray(shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-300))


def fitted_weights(
    likelihood: Float[np.ndarray, "rows components"],
    times: Float[np.ndarray, "rows"],
    start: Float[np.ndarray, "components"],
    cycles: int,
) -> Float[np.ndarray, "components"]:
    """The maximum-likelihood weights of fixed components: EM with squared extrapolation (Varadhan and Roland 2008).

    Plain EM needs thousands of steps here, and intervals from weights that have not converged are too narrow.
    """

    def step(weights: np.ndarray) -> np.ndarray:
        new = weights * ((times / np.maximum(likelihood @ weights, 1e-300)) @ likelihood)
        return np.asarray(new / new.sum())

    # No weight starts at 0, which EM would keep.
    weights = np.maximum(start, 1e-8)
    for _ in range(cycles):
        once = step(weights)
        twice = step(once)
        moved, turned = once - weights, twice - 2 * once + weights
        bend = float(np.linalg.norm(turned))
        if bend < 1e-12:
            return twice
        length = max(float(np.linalg.norm(moved)) / bend, 1.0)
        ahead = np.maximum(weights + 2 * length * moved + length**2 * turned, 1e-12)
        weights = step(ahead / ahead.sum())
    return np.asarray(weights)
