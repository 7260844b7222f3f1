"""The error of a planned study, estimated from a pilot and calibrated by simulated pilots.

A pilot shows a few items, and each by a few answers. What follows from it depends on which items they were, and is
biased: a prior fitted to few items is too cautious, and one that fits them best is too sure. How uncertain and how
biased it is, is simulated: pilots of the same size are drawn from the items estimated from the real one, and each is
treated in the same way (a parametric bootstrap). The result is divided by their mean bias, and their spread is its
uncertainty, on the scale of square roots, where the spread of an error depends little on its size. It also covers that
the items may be as the cautious prior expects (`_gap`), or have more uneven shares than a Dirichlet (`_gap_of_shares`).

The estimated items have the components of the prior of `bayes`, with the weights that fit the pilot best: the prior of
`bayes` is cautious, because that is better for the label of a single item, and in a mean over items caution is bias.
Errors are means over draws from the posterior of each item, given its own answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import stdtrit

from sfumato.aggregation.bagged_prior import fit_bagged_prior
from sfumato.aggregation.dirichlet_mixture import DirichletMixture, DistinctRows, VoteRows
from sfumato.aggregation.pass_engine import Progress, quiet
from sfumato.aggregation.posterior_figures import fitted_weights
from sfumato.planning.item_prior import QUICK_BAGS, Population
from sfumato.tables.growable_array import freeze

LARGEST_PILOT = 1_000
"""Simulated pilots have at most this many items. Of larger pilots the spread is smaller by the square root of the
ratio, and the bias by the ratio."""
LARGEST_STUDY = 2_000
"""Priors of larger studies are hardly better."""
FEWEST_SIMULATED, MOST_STUDIES = 1_000, 20
"""Several studies are simulated, until they have this many items in total, but not more than this many studies: with
three items per study 333 would be needed, and take minutes."""
DRAWS, DRAWS_PER_PILOT = 2_000, 600
POOL = 5_000
"""Items from which those of simulated pilots are drawn."""
REFITTED = 6
"""Simulated pilots for which the whole prior is fitted again, for the bias. The others only fit the weights."""
CYCLES = 60
LEAST_WEIGHT = 1e-6
MOST_BIAS = 1.5
"""Roots of errors are corrected by at most this factor."""
LEAST = 1e-12

ItemErrors = Callable[[Population, int, np.random.Generator], Float[np.ndarray, "items"]]
"""The error of each item's label after this many answers, read with the prior of the population."""


@dataclass(frozen=True, eq=False)
class CalibratedErrors:
    """The mean error of a study at some numbers of answers per item, and its relative standard error on the scale of
    square roots; `df` are its degrees of freedom."""

    n_answers: Int[np.ndarray, "points"]
    value: Float[np.ndarray, "points"]
    spread: Float[np.ndarray, "points"]
    df: float

    def __post_init__(self) -> None:
        freeze(self, "n_answers", "value", "spread")

    def curve(self, most: int) -> Float[np.ndarray, "answers"]:
        """The error at 1, 2, ... `most` answers: linear in logarithms between the points, and never rising."""
        logs = np.interp(np.log(np.arange(1, most + 1)), np.log(self.n_answers), np.log(np.maximum(self.value, LEAST)))
        return np.minimum.accumulate(np.exp(logs))

    def possible_curves(self, most: int, n: int) -> Float[np.ndarray, "curves answers"]:
        """`n` equally probable curves, from the lowest to the highest: quantiles of Student's t."""
        z = stdtrit(self.df, (np.arange(n) + 0.5) / n)
        spread = np.interp(np.log(np.arange(1, most + 1)), np.log(self.n_answers), self.spread)
        root = np.sqrt(self.curve(most)) * np.maximum(1 + z[:, None] * spread, 0.0)
        return np.minimum.accumulate(root**2, axis=1)


@dataclass(frozen=True, eq=False)
class PilotItems:
    """The distributions of items like those of a pilot, as two priors with the same components.

    `likely` has the weights that fit the pilot best, `cautious` those of the prior of `bayes`.
    """

    likely: DirichletMixture
    cautious: DirichletMixture

    @classmethod
    def of(cls, counts: Float[np.ndarray, "items classes"]) -> PilotItems:
        """Of a pilot with these counts."""
        cautious = fit_bagged_prior(counts, QUICK_BAGS).pooled
        return cls(_with_fitted_weights(cautious, counts), cautious)

    def refitted(self, counts: Float[np.ndarray, "items classes"]) -> DirichletMixture:
        """The likely items according to another pilot, with the same components, which is fast."""
        return _with_fitted_weights(self.cautious, counts)


def _with_fitted_weights(prior: DirichletMixture, counts: Float[np.ndarray, "items classes"]) -> DirichletMixture:
    """The prior with the weights that fit these counts best. One item more than there are is of the prior itself: what
    never happened is not impossible."""
    distinct = DistinctRows.of(counts[counts.sum(axis=1) > 0])
    logs = VoteRows(distinct.rows).log_evidence(DirichletMixture(np.ones(len(prior.weights)), prior.alpha))
    likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
    before = prior.weights / prior.weights.sum()
    weights = fitted_weights(likelihood, distinct.times.astype(np.float64), before, CYCLES)
    n = len(counts)
    return DirichletMixture((n * weights + before) / (n + 1), prior.alpha).without_small(LEAST_WEIGHT)


def calibrated_errors(
    counts: Float[np.ndarray, "items classes"],
    errors: ItemErrors,
    n_answers: Sequence[int],
    *,
    n_pilot: int | None = None,
    n_items: int,
    fits_prior: bool,
    n_pilots: int,
    rng: np.random.Generator,
    progress: Progress = quiet,
) -> CalibratedErrors:
    """The mean error of a study of `n_items` items like those of a pilot with these counts.

    If the counts are only part of the pilot, `n_pilot` is the number of its items. `fits_prior` says that labels use a
    prior, which the study has to fit to its own answers. The interval covers which items and answers the pilot had, and
    which items the study has.
    """
    n = n_pilot or len(counts)
    pilot_items = PilotItems.of(counts)
    estimated = pilot_items.likely
    items = Population.of_counts(counts, estimated, DRAWS, rng)
    known = np.stack([errors(items, m, rng) for m in n_answers], axis=1)
    study = known.mean(axis=0)
    if fits_prior:
        study = study * fit_penalty(estimated, errors, n_answers, n_items, rng)
    gap = _gap(pilot_items, errors, float(study[-1]), n_answers[-1], n_items if fits_prior else None, rng)
    if fits_prior:
        gap = np.maximum(gap, _gap_of_shares(items, counts, n, errors, n_answers, rng))
        # With more answers the pilot says less: towards halfway between the likely items and the others.
        many = np.asarray(n_answers)
        study = study * np.exp(gap / 2 * many / (many + counts.sum() / len(counts)))
    drawn_items = Population.of_prior(estimated, DRAWS, rng)
    truth = np.array([errors(drawn_items, m, rng).mean() for m in n_answers])
    root = np.sqrt(np.maximum(truth, LEAST))
    size = min(n, LARGEST_PILOT)
    totals = np.rint(counts.sum(axis=1)).astype(np.int64)
    found = np.empty((n_pilots, len(n_answers)))
    moved = np.empty((min(REFITTED, n_pilots), len(n_answers)))
    for b in range(n_pilots):
        drawn = _drawn_pilot(estimated, totals[rng.integers(0, len(totals), size)], rng)
        # The same seed for both, so that their difference is less random.
        seed = int(rng.integers(2**32))
        found[b] = _root_errors(drawn, pilot_items.refitted(drawn), errors, n_answers, seed) / root
        if b < len(moved):
            refit = PilotItems.of(drawn).likely
            moved[b] = _root_errors(drawn, refit, errors, n_answers, seed) / root - found[b]
        progress(b + 1, n_pilots, float(found[b, -1]))
    mean = found.mean(axis=0) + moved.mean(axis=0)
    bias = 1 + (np.clip(mean, 1 / MOST_BIAS, MOST_BIAS) - 1) * size / n
    of_mean = found.var(axis=0, ddof=1) / n_pilots + moved.var(axis=0, ddof=1) / len(moved)
    between_pilots = (found.var(axis=0, ddof=1) + of_mean) * size / n
    between_studies = known.std(axis=0) / np.maximum(known.mean(axis=0), LEAST) / 2 / np.sqrt(n_items)
    # A uniform distribution between the likely and the other items; a root varies half as much as its square.
    between_populations = gap / np.sqrt(12) / 2
    spread = np.sqrt(between_pilots + between_studies**2 + between_populations**2)
    return CalibratedErrors(np.asarray(n_answers), np.maximum(study, LEAST) / bias**2, spread, n_pilots - 1.0)


def _root_errors(
    drawn: Float[np.ndarray, "items classes"],
    estimated: DirichletMixture,
    errors: ItemErrors,
    n_answers: Sequence[int],
    seed: int,
) -> Float[np.ndarray, "points"]:
    """The roots of the mean errors that a simulated pilot expects."""
    rng = np.random.default_rng(seed)
    items = Population.of_counts(drawn, estimated, DRAWS_PER_PILOT, rng)
    return np.sqrt(np.maximum([errors(items, m, rng).mean() for m in n_answers], LEAST))


def _gap_of_shares(
    items: Population,
    counts: Float[np.ndarray, "items classes"],
    n_pilot: int,
    errors: ItemErrors,
    n_answers: Sequence[int],
    rng: np.random.Generator,
) -> Float[np.ndarray, "points"]:
    """The logarithm of the error if shares are uneven divided by that with the estimated items; 0 if it is smaller.

    A Dirichlet spreads the share of rare classes smoothly. In reality a few of them may have all of it. Such items are
    simulated by the shares of a number of votes, drawn from each distribution. Two answers about an item then agree
    more often, by one in this number. It is the smallest that a pilot does not show: this many more agreements are
    within a standard error, and the answers about an item name on average at most one of these votes twice.
    """
    totals = counts.sum(axis=1, keepdims=True)
    several = counts[totals[:, 0] >= 2]
    m = several.sum(axis=1)
    dissent = 1 - (several * (several - 1)).sum(axis=1) / (m * (m - 1)) if len(m) else np.zeros(1)
    if not dissent.std() > 0:
        return np.zeros(len(n_answers))
    precision = dissent.mean() / dissent.std() * np.sqrt(len(several) * n_pilot / len(counts))
    n_votes = int(np.ceil(max(precision, float(totals.mean()) ** 2 / 2, 2.0)))
    uneven = rng.multinomial(n_votes, items.probs / items.probs.sum(axis=1, keepdims=True)) / n_votes
    other = Population(items.prior, uneven, items.item)
    ratio = [errors(other, k, rng).mean() / max(errors(items, k, rng).mean(), LEAST) for k in n_answers]
    return np.clip(np.log(np.maximum(ratio, LEAST)), 0.0, np.log(MOST_BIAS**2))


def _gap(
    items: PilotItems, errors: ItemErrors, likely: float, n_answers: int, n_items: int | None, rng: np.random.Generator
) -> float:
    """The logarithm of the error with the cautious items divided by that with the likely ones; 0 if it is smaller.

    A pilot does not decide between them: whether classes that nobody chose are rare or absent. For labels with a prior
    that is fitted in a study of `n_items` items; None if they have no prior.
    """
    if n_items is None:
        cautious = float(errors(Population.of_prior(items.cautious, DRAWS, rng), n_answers, rng).mean())
    else:
        cautious = float(_errors_in_studies(items.cautious, errors, [n_answers], n_items, rng)[0, 0])
    return float(np.clip(np.log(max(cautious, LEAST) / max(likely, LEAST)), 0.0, np.log(MOST_BIAS**2)))


def fit_penalty(
    estimated: DirichletMixture, errors: ItemErrors, n_answers: Sequence[int], n_items: int, rng: np.random.Generator
) -> Float[np.ndarray, "points"]:
    """The error in a study that fits the prior of its labels to its own answers, divided by that with the true prior.

    It is simulated at every second number of answers, and interpolated.
    """
    looked_at = sorted({*n_answers[::2], n_answers[-1]})
    fitted, known = _errors_in_studies(estimated, errors, looked_at, n_items, rng)
    ratio = np.maximum(fitted, LEAST) / np.maximum(known, LEAST)
    # A fitted prior is better than the true one only by chance.
    return np.asarray(np.interp(np.log(n_answers), np.log(looked_at), np.maximum(ratio, 1.0)))


def _errors_in_studies(
    estimated: DirichletMixture, errors: ItemErrors, n_answers: Sequence[int], n_items: int, rng: np.random.Generator
) -> Float[np.ndarray, "2 points"]:
    """The mean error of labels with a prior fitted in a study of `n_items` items, and with the true prior."""
    n_each = min(n_items, LARGEST_STUDY)
    repeats = min(max(FEWEST_SIMULATED // n_each, 1), MOST_STUDIES)
    found = np.zeros((2, len(n_answers)))
    for _ in range(repeats):
        items = Population.of_prior(estimated, n_each, rng)
        for i, m in enumerate(n_answers):
            counts = rng.multinomial(m, items.probs / items.probs.sum(axis=1, keepdims=True)).astype(np.float64)
            prior = fit_bagged_prior(counts).pooled
            seed = int(rng.integers(2**32))
            for k, own in enumerate((prior, estimated)):
                # The same answers for both, so that their ratio is less random.
                again = np.random.default_rng(seed)
                found[k, i] += errors(Population(own, items.probs, items.item), m, again).mean()
    return found / repeats


def _drawn_pilot(
    estimated: DirichletMixture, totals: Int[np.ndarray, "items"], rng: np.random.Generator
) -> Float[np.ndarray, "items classes"]:
    """A pilot of other items, drawn independently, with these numbers of answers."""
    many = Population.of_prior(estimated, POOL, rng).probs
    probs = many[rng.integers(0, POOL, len(totals))]
    return rng.multinomial(np.maximum(totals, 1), probs / probs.sum(axis=1, keepdims=True)).astype(np.float64)
