"""Candidate priors over items' distributions: symmetric, structured by leading class, and a free mixture.

From few to many parameters. `bagged_prior` weights them by how well they predict items they were not fitted to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from sfumato.aggregation.dirichlet_mixture import DirichletMixture, DistinctRows, VoteRows, log_sum

SYMMETRIC = np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6])
"""The parameters, equal for all classes, of the symmetric Dirichlets."""
FEW_CLASSES = 10
"""With more classes there are also smaller parameters, whose sums are those of this number of classes."""
OFF_LEADING = np.array([0.003, 0.01, 0.03, 0.07, 0.13, 0.22, 0.33, 0.45, 0.6])
"""Expected shares of votes for other classes than the leading one, in the structured prior."""
CONCENTRATION = np.array([1.5, 5.0, 20.0, 100.0])
MOST_STRUCTURED, MOST_PARAMETERS = 1_500, 1_500_000
"""Components of the structured prior, and their parameters. With many classes it has fewer shapes per class, then fewer
leading classes; the symmetric components represent the others."""
VOTES_OF_OVERALL_SHARES = 1.0
"""Votes per class that pull each leading class's confusions to the overall shares."""
GHOST_ITEMS = 50.0
"""Items drawn from the structured prior that the free mixture is fitted to in addition."""
GHOST_ROWS = 400
LEAST_ALPHA = 0.03
STRUCTURED_PASSES, WEIGHT_STEPS = 4, 25
EM_STEPS, EM_TOLERANCE = 100, 1e-5


def fit_weights(
    log_evidence: Float[np.ndarray, "rows components"],
    times: Float[np.ndarray, "rows"],
    pseudo_items: Float[np.ndarray, "components"],
    steps: int = 200,
) -> Float[np.ndarray, "components"]:
    """The most probable weights of fixed components; `pseudo_items` are items assumed of each beforehand."""
    likelihood = np.exp(log_evidence - log_evidence.max(axis=1, keepdims=True))
    weights = pseudo_items / pseudo_items.sum()
    for _ in range(steps):
        new = weights * ((times / np.maximum(likelihood @ weights, 1e-300)) @ likelihood) + pseudo_items
        new /= new.sum()
        moved, weights = np.abs(new - weights).max(), new
        if moved < 1e-5:
            break
    return np.asarray(weights)


def symmetric_prior(votes: VoteRows, times: Float[np.ndarray, "rows"]) -> DirichletMixture:
    """Symmetric Dirichlets: smoothing by a constant, with the constant unknown."""
    alpha = _symmetric(votes.counts.shape[1])
    even = DirichletMixture(np.ones(len(alpha)), alpha)
    return DirichletMixture(fit_weights(votes.log_evidence(even), times, np.full(len(alpha), 0.2)), alpha)


def structured_prior(votes: VoteRows, times: Float[np.ndarray, "rows"]) -> DirichletMixture:
    """Dirichlets with a leading class, a share of votes elsewhere and a concentration, and the symmetric ones.

    A component's weight is the product of that of its leading class and that of its shape, so there are few parameters.
    Votes elsewhere are spread by the confusions of the leading class, pulled to the overall shares.
    """
    counts, n_classes = votes.counts, votes.counts.shape[1]
    overall = times @ counts + 0.5
    overall /= overall.sum()
    shapes = _Shapes.of(votes.counts)
    off, mass, leading = shapes.off, shapes.mass, shapes.leading
    n_shapes, n_leading = len(off), len(leading)
    symmetric = _symmetric(n_classes)
    elsewhere = np.tile(0.5 * overall + 0.5 / n_classes, (n_leading, 1))
    elsewhere[np.arange(n_leading), leading] = 0
    elsewhere /= elsewhere.sum(axis=1, keepdims=True)
    of_class, of_shape = overall[leading] / overall[leading].sum(), np.full(n_shapes, 1 / (n_shapes + len(symmetric)))
    of_symmetric = np.full(len(symmetric), of_shape[0])
    first = counts.argmax(axis=1)
    confused = np.stack([(times * (first == k)) @ counts for k in leading])
    pseudo_shape = 0.5 / (n_shapes + len(symmetric))
    for _ in range(STRUCTURED_PASSES):
        confused[np.arange(n_leading), leading] = 0
        spread = confused + VOTES_OF_OVERALL_SHARES * n_classes * elsewhere
        spread /= spread.sum(axis=1, keepdims=True)
        alpha = (mass * off)[None, :, None] * spread[:, None, :]
        alpha[np.arange(n_leading), :, leading] += mass * (1 - off)
        alpha = np.maximum(np.concatenate([alpha.reshape(-1, n_classes), symmetric]), 1e-3 / n_classes)
        logs = votes.log_evidence(DirichletMixture(np.ones(len(alpha)), alpha))
        likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
        for _ in range(WEIGHT_STEPS):
            weights = np.concatenate([np.outer(of_class, of_shape).ravel(), of_symmetric])
            items = weights * ((times / np.maximum(likelihood @ weights, 1e-300)) @ likelihood)
            led = items[: n_leading * n_shapes].reshape(n_leading, n_shapes)
            of_class = led.sum(axis=1) + 0.5
            of_class /= of_class.sum()
            both = np.concatenate([led.sum(axis=0), items[n_leading * n_shapes :]]) + pseudo_shape
            both /= both.sum()
            of_shape, of_symmetric = both[:n_shapes], both[n_shapes:]
        weights = np.concatenate([np.outer(of_class, of_shape).ravel(), of_symmetric])
        each = times / np.maximum(likelihood @ weights, 1e-300)
        led_rows = (likelihood[:, : n_leading * n_shapes] * weights[: n_leading * n_shapes]).reshape(
            -1, n_leading, n_shapes
        )
        confused = (led_rows.sum(axis=2) * each[:, None]).T @ counts
    return DirichletMixture(weights / weights.sum(), alpha)


def _symmetric(n_classes: int) -> Float[np.ndarray, "components classes"]:
    values = np.append(SYMMETRIC, SYMMETRIC * FEW_CLASSES / n_classes) if n_classes > FEW_CLASSES else SYMMETRIC
    return np.repeat(values[:, None], n_classes, axis=1)


@dataclass(frozen=True, eq=False)
class _Shapes:
    """The share elsewhere and concentration of each shape, and the leading classes; the same for every bag."""

    off: Float[np.ndarray, "shapes"]
    mass: Float[np.ndarray, "shapes"]
    leading: Int[np.ndarray, "leading"]

    @classmethod
    def of(cls, counts: Float[np.ndarray, "rows classes"]) -> _Shapes:
        off, mass, n_classes = OFF_LEADING, CONCENTRATION, counts.shape[1]
        most = min(MOST_STRUCTURED, MOST_PARAMETERS // n_classes)
        if n_classes * len(off) * len(mass) > most:
            off, mass = OFF_LEADING[1::2], CONCENTRATION[1:3]
        most_frequent = np.argsort(-counts.sum(axis=0), kind="stable")
        grid = np.meshgrid(off, mass)
        n_leading = max(most // (len(off) * len(mass)), 1)
        return cls(grid[0].ravel(), grid[1].ravel(), np.sort(most_frequent[:n_leading]))


def free_mixture(
    votes: VoteRows,
    times: Float[np.ndarray, "rows"],
    structured: DirichletMixture,
    n_components: int,
    rng: np.random.Generator,
) -> DirichletMixture:
    """A mixture with all parameters free, fitted by EM to the items and to some drawn from the structured prior.

    `n` items with `m` votes each cannot distinguish a component whose parameters sum to much more than `m sqrt(n / 2)`
    from one where all items are equal: the sum is limited.
    """
    n_items = times.sum()
    up_to_total = np.cumsum(np.bincount(votes.total_of, times)) / n_items
    evenly = np.searchsorted(up_to_total, (np.arange(GHOST_ROWS) + 0.5) / GHOST_ROWS)
    ghosts = _draw(structured, votes.totals[np.minimum(evenly, len(votes.totals) - 1)], rng)
    distinct = DistinctRows.of(np.concatenate([votes.counts[times > 0], ghosts]))
    each = np.concatenate([times[times > 0], np.full(len(ghosts), GHOST_ITEMS / len(ghosts))])
    both = np.bincount(distinct.place, each)
    fitted = _em(VoteRows(distinct.rows), both, _start(distinct.rows, both, n_components))
    n_votes = float(times @ votes.counts.sum(axis=1)) / n_items
    most = 1 + n_votes * np.sqrt(fitted.weights * n_items / 2)
    return DirichletMixture(fitted.weights, fitted.alpha * np.minimum(1, most / fitted.alpha.sum(axis=1))[:, None])


def _em(votes: VoteRows, times: Float[np.ndarray, "rows"], start: DirichletMixture) -> DirichletMixture:
    prior, before = start, -np.inf
    enough = EM_TOLERANCE * float(times @ votes.counts.sum(axis=1))
    least = LEAST_ALPHA * min(1, FEW_CLASSES / votes.counts.shape[1])
    for _ in range(EM_STEPS):
        prior, objective = votes.em_step(prior, times, least)
        if objective - before < enough:
            break
        before = objective
    return prior


def _draw(
    prior: DirichletMixture, totals: Float[np.ndarray, "rows"], rng: np.random.Generator
) -> Float[np.ndarray, "rows classes"]:
    """One item with each of these totals of votes, drawn from a prior."""
    component = rng.choice(len(prior.weights), len(totals), p=prior.weights / prior.weights.sum())
    gamma = np.maximum(rng.standard_gamma(prior.alpha[component]), 1e-300)
    shares = gamma / gamma.sum(axis=1, keepdims=True)
    return rng.multinomial(np.maximum(np.round(totals), 1).astype(np.int64), shares).astype(np.float64)


def _start(
    counts: Float[np.ndarray, "rows classes"], times: Float[np.ndarray, "rows"], n_components: int
) -> DirichletMixture:
    """One component for all items, and one per group of items: by their most frequent class and its share."""
    overall = times @ counts + 0.5
    overall /= overall.sum()
    smoothed = (counts + overall) / (counts.sum(axis=1, keepdims=True) + 1)
    leading = smoothed.argmax(axis=1)
    of_leading = np.bincount(leading, times, minlength=len(overall))
    classes = np.argsort(-of_leading, kind="stable")[: n_components - 1]
    classes = classes[of_leading[classes] > 0]
    n_groups = max((n_components - 1) // max(len(classes), 1), 1)
    alpha, sizes = [overall * 2], [1.0]
    for k in classes:
        members = np.flatnonzero(leading == k)
        members = members[np.argsort(smoothed[members, k], kind="stable")]
        before = np.cumsum(times[members]) / times[members].sum()
        group = np.minimum((before * n_groups - 1e-9).astype(np.int64), n_groups - 1)
        for g in np.unique(group):
            of_group = members[group == g]
            sizes.append(float(times[of_group].sum()))
            alpha.append(times[of_group] @ smoothed[of_group] / sizes[-1] * 10)
    return DirichletMixture(np.array(sizes) / sum(sizes), np.array(alpha))


def log_predictive(prior: DirichletMixture, votes: VoteRows) -> Float[np.ndarray, "rows"]:
    """The log-probability of each row of votes under a prior."""
    return log_sum(votes.log_evidence(prior))
