"""Estimates of entropies: against calculations by hand, and with less bias than the plug-in value."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.special import digamma
from scipy.stats import entropy as scipy_entropy

from sfumato.tables.chosen_probability import ChosenProbability, VoteAgreement, entropy_error
from sfumato.tables.entropy_estimates import chao_shen, jackknifed_entropy


def test_chao_shen_by_hand() -> None:
    """Votes 4, 1: coverage 0.8, so shares 0.64 and 0.16."""
    terms = [-p * np.log(p) / (1 - (1 - p) ** 5) for p in (0.64, 0.16)]
    assert chao_shen(np.array([[4, 1, 0], [5, 0, 0]])) == pytest.approx([sum(terms), 0.0], abs=1e-12)


def subsets(probs: np.ndarray, size: int) -> float:
    """The mean entropy of the mean belief of `size` beliefs."""
    return float(
        np.mean([scipy_entropy(probs[list(each)].mean(axis=0)) for each in combinations(range(len(probs)), size)])
    )


def second_order(probs: np.ndarray) -> float:
    m = len(probs)
    t = [subsets(probs, m - k) for k in range(3)]
    return (m**2 * t[0] - 2 * (m - 1) ** 2 * t[1] + (m - 2) ** 2 * t[2]) / 2


def test_jackknife_against_all_subsets() -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), 11)
    item = np.array([0, 1, 0, 1, 0, 1, 2, 1, 0, 2, 1])
    found = jackknifed_entropy(item, probs, 4)
    for k in (0, 1):
        own = np.flatnonzero(item == k)
        assert found.value[k] == pytest.approx(second_order(probs[own]))
        for row in own:
            assert found.without[row] == pytest.approx(second_order(probs[own[own != row]]))
    pair = probs[item == 2]
    assert found.value[2] == pytest.approx(2 * subsets(pair, 2) - subsets(pair, 1))
    assert np.isnan(found.without[item == 2]).all()
    assert np.isnan(found.value[3])
    assert (found.further[:2] > found.value[:2]).any()


def test_many_beliefs_use_the_first_order() -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 13)
    found = jackknifed_entropy(np.zeros(13, int), probs, 1)
    assert found.value[0] == pytest.approx(13 * subsets(probs, 13) - 12 * subsets(probs, 12))
    assert found.further[0] == found.value[0]


def test_jackknife_of_three_beliefs_recovers_mutual_information() -> None:
    rng, concentration = np.random.default_rng(0), 10.0
    mean = rng.dirichlet(np.full(4, 0.5), 1500)
    gamma = rng.standard_gamma(np.repeat(concentration * mean, 3, axis=0)) + 1e-300
    beliefs = gamma / gamma.sum(axis=1, keepdims=True)
    single = scipy_entropy(beliefs, axis=1).mean()
    own = (mean * (digamma(concentration + 1) - digamma(concentration * mean + 1))).sum(axis=1)
    truth = scipy_entropy(mean, axis=1).mean() - own.mean()
    item = np.repeat(np.arange(1500), 3)
    plug_in = scipy_entropy(beliefs.reshape(-1, 3, 4).mean(axis=1), axis=1).mean() - single
    assert plug_in < 0.75 * truth
    assert jackknifed_entropy(item, beliefs, 1500).value.mean() - single == pytest.approx(truth, rel=0.08)


def shares(name: str, n: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    if name == "sparse":
        return rng.dirichlet(np.full(10, 0.1), n)
    return rng.dirichlet(np.full(3, 1.0), n)


@pytest.mark.parametrize("name", ["sparse", "three classes"])
def test_votes_about_many_items_give_the_mean_entropy(name: str) -> None:
    truth = shares(name, 2000)
    counts = np.random.default_rng(0).multinomial(5, truth)
    fitted = ChosenProbability.fit(VoteAgreement.of(counts))
    known, plug_in = scipy_entropy(truth, axis=1).mean(), scipy_entropy(counts, axis=1).mean()
    assert plug_in < 0.85 * known
    assert fitted.mean_entropy == pytest.approx(known, rel=0.06)
    assert fitted.of_items(counts).mean() == pytest.approx(fitted.mean_entropy, abs=0.002)
    x, mass = fitted.nodes()
    assert (mass / x * -x * np.log(x)).sum() == pytest.approx(fitted.mean_entropy, rel=0.01)
    assert (mass * (1 - x)).sum() == pytest.approx((1 - (truth**2).sum(axis=1)).mean(), rel=0.04)
    assert 0.002 < entropy_error(counts) < 0.06


def test_one_vote_identifies_nothing() -> None:
    assert not VoteAgreement.of(np.eye(3, dtype=int)).is_identifying
    assert VoteAgreement.of(np.array([[1, 0], [1, 1]])).is_identifying
