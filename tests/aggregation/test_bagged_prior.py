"""The prior of `bayes`: does it predict better than a constant, know how sure it is, and depend on the votes alone?"""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.aggregation.bagged_prior import fit_bagged_prior
from sfumato.aggregation.dirichlet_mixture import DistinctRows, agreement_of

N_CLASSES = 5


def items(n: int, rng: np.random.Generator) -> np.ndarray:
    """Most items have a leading class; some are torn between neighbors, a few are anything."""
    sort, first = rng.choice(3, n, p=[0.7, 0.2, 0.1]), rng.integers(N_CLASSES, size=n)
    alpha = np.where((sort == 2)[:, None], 1.0, 0.1)
    alpha = np.repeat(alpha, N_CLASSES, axis=1)
    alpha[np.arange(n), first] += np.where(sort == 0, 12, 3)
    alpha[np.arange(n), (first + 1) % N_CLASSES] += np.where(sort == 1, 3, 0)
    gamma = np.maximum(rng.standard_gamma(alpha), 1e-12)
    return np.asarray(gamma / gamma.sum(axis=1, keepdims=True))


def best_constant(probs: np.ndarray, counts: np.ndarray) -> float:
    """The least log-loss that any constant added to every count has on the true distributions."""
    added = np.geomspace(0.003, 3, 30)[:, None, None]
    labels = (counts + added) / (counts.sum(axis=1, keepdims=True) + added * N_CLASSES)
    return float(-(probs * np.log(labels)).sum(axis=2).mean(axis=1).min())


@pytest.mark.parametrize(("n_items", "n_votes"), [(60, 3), (250, 3)])
def test_labels_are_better_than_the_best_constant_and_errors_are_as_expected(n_items: int, n_votes: int) -> None:
    """Seen, means of six studies: 0.03 to 0.1 better; the expected error is 0.9 to 1.2 of the error."""
    gains, errors, expected, covered = [], [], [], []
    for seed in range(6):
        rng = np.random.default_rng([seed, n_items])
        probs = items(n_items, rng)
        counts = rng.multinomial(n_votes, probs).astype(np.float64)
        distinct = DistinctRows.of(counts)
        posterior = fit_bagged_prior(counts).pooled.given(distinct.rows)
        labels, limits = posterior.mean()[distinct.place], posterior.limits(0.9)
        gains.append(best_constant(probs, counts) + (probs * np.log(labels)).sum(axis=1).mean())
        errors.append((probs * np.log(probs / labels)).sum(axis=1).mean())
        expected.append(posterior.expected_kl()[distinct.place].mean())
        covered.append(((limits.low[distinct.place] <= probs) & (probs <= limits.high[distinct.place])).mean())
    assert np.mean(gains) > 0.005
    assert 0.75 < np.sum(expected) / np.sum(errors) < 1.35
    assert 0.85 < np.mean(covered) < 0.96


def test_the_prior_depends_on_the_votes_alone() -> None:
    rng = np.random.default_rng(1)
    counts = rng.multinomial(4, items(80, rng)).astype(np.float64)
    prior = fit_bagged_prior(counts, 2).pooled
    classes = np.array([3, 1, 4, 0, 2])
    shuffled = fit_bagged_prior(counts[rng.permutation(80)][:, classes], 2).pooled
    np.testing.assert_allclose(shuffled.given(counts[:, classes]).mean(), prior.given(counts).mean()[:, classes], 1e-9)


def test_each_bag_has_a_prior_and_they_differ() -> None:
    rng = np.random.default_rng(2)
    counts = rng.multinomial(4, items(60, rng)).astype(np.float64)
    fitted = fit_bagged_prior(counts, 4, np.random.default_rng(5))
    agreement = [agreement_of(each) for each in fitted.bags]
    assert len(agreement) == 4
    assert all(each.weights.sum() == pytest.approx(1) for each in (*fitted.bags, fitted.pooled))
    # Observed pairs agree this often; its standard error over items is about 0.03.
    pairs = ((counts * (counts - 1)).sum(axis=1) / 12).mean()
    assert agreement_of(fitted.pooled) == pytest.approx(pairs, abs=0.06)
    assert 0.005 < np.std(agreement) < 0.1


def test_one_vote_each_leaves_agreement_to_an_assumption_and_second_votes_do_not() -> None:
    rng = np.random.default_rng(3)
    probs = items(400, rng)
    counts = rng.multinomial(1, probs).astype(np.float64)
    alone = fit_bagged_prior(counts, 2)
    assert alone.is_assumed
    assert agreement_of(alone.pooled) == pytest.approx(0.77)
    counts[:80] += rng.multinomial(1, probs[:80])
    fitted = fit_bagged_prior(counts, 2)
    assert not fitted.is_assumed
    assert agreement_of(fitted.pooled) == pytest.approx((probs**2).sum(axis=1).mean(), abs=0.1)


def test_distinct_rows_restore_the_counts() -> None:
    counts = np.random.default_rng(0).multinomial(2, [0.5, 0.3, 0.2], 50).astype(np.float64)
    distinct = DistinctRows.of(counts)
    assert len(distinct.rows) == len({tuple(row) for row in counts.tolist()})
    assert np.array_equal(distinct.rows[distinct.place], counts)
    assert distinct.times.sum() == 50
