"""The prior behind an allocation: what items usually look like, by the answers so far."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Num

from sfumato.aggregation.dirichlet_mixture import DirichletMixture, first_guess, fit_mixture
from sfumato.tables.errors import BadTable

COMPONENTS = 60
ITEMS_A_COMPONENT = 20
"""With fewer items, fewer components (but one a class): a prior with more of them fits chance."""
MOST_FITTED = 10_000
"""The prior is fitted on this many items at most, spread evenly over those with answers."""
ITERATIONS, TOLERANCE = 100, 1e-5
FINENESS = 20
"""Fractions of votes are rounded to this part of one for the fit, so that few different rows are left."""


def fit_prior(counts: Num[np.ndarray, "items classes"]) -> DirichletMixture:
    """A mixture of Dirichlets fitted to the counts: a function of them alone, so that it can be found again.

    Looser than `aggregate.Bayes` and many times quicker, for a prior that is fitted anew as answers arrive. Before
    anything was answered it is one Dirichlet under which two people agree most of the time. One more item, which may
    have any distribution, counts like each of those answered: with a handful of items the fit alone would be far surer
    than it can be, and would stop asking after two answers.
    """
    answered = counts[counts.sum(axis=1) > 0]
    if not len(answered):
        answered = counts[:1]
    kept = np.linspace(0, len(answered) - 1, min(MOST_FITTED, len(answered))).astype(np.int64)
    rows = np.round(answered[kept] * FINENESS) / FINENESS
    components = min(COMPONENTS, max(len(rows) // ITEMS_A_COMPONENT, rows.shape[1] + 1))
    fitted = fit_mixture(rows, first_guess(rows, components), iterations=ITERATIONS, tolerance=TOLERANCE).prior
    return _cautious(fitted, len(answered), float(answered.sum()))


def _cautious(fitted: DirichletMixture, n_items: int, n_answers: float) -> DirichletMixture:
    """The prior as sure as so many items and answers allow, with one more item that may be anything.

    `n` items with `m` answers each cannot tell a component whose parameters sum to much more than `m sqrt(n / 2)` from
    one where all items are alike, and the likeliest fit often is the latter: there the sum is bounded.
    """
    share = fitted.weights / fitted.weights.sum()
    mass = fitted.alpha.sum(axis=1)
    most = 1 + n_answers / max(n_items, 1) * np.sqrt(share * n_items / 2)
    unlike_any = 1 / (1 + n_items)
    return DirichletMixture(
        np.append(share * (1 - unlike_any), unlike_any),
        np.concatenate([fitted.alpha * np.minimum(1, most / mass)[:, None], np.ones((1, fitted.alpha.shape[1]))]),
    )


def check_counts(counts: np.ndarray) -> Float[np.ndarray, "items classes"]:
    """The counts as numbers of votes, or an error unless they can be such."""
    found = np.asarray(counts, np.float64)
    if found.ndim != 2 or not len(found):
        raise BadTable(
            f"found counts of shape {found.shape}",
            expected="items x classes, with at least one item",
            fix="give one row an item and one column a class",
            code="wrong-shape",
        )
    if found.shape[1] < 2:
        raise BadTable(
            f"found {found.shape[1]} class",
            expected="at least two: with one, nobody can differ",
            fix="name every class that could be chosen, also those that nobody chose",
            code="one-class",
        )
    if not (np.isfinite(found) & (found >= 0)).all():
        raise BadTable(
            "found counts below 0 or not finite",
            expected="how often each class was chosen, 0 or more",
            fix="count the answers again",
            code="bad-count",
        )
    return found
