"""The prior of confusion matrices, against counts with a known answer and crowds in which a fixed prior fails."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import Beliefs
from sfumato.aggregation import DawidSkene, Mace, Majority
from sfumato.aggregation.confusion_prior import AVERAGE_ANSWERS, STRENGTHS, ConfusionPrior

N_CLASSES = 3
POOLED = np.array([[0.8, 0.15, 0.05], [0.1, 0.7, 0.2], [0.05, 0.05, 0.9]])
SHARES = np.array([0.5, 0.3, 0.2])


def drawn_counts(concentration: float, n_annotators: int = 300, n_each: int = 60) -> np.ndarray:
    """Counts (annotator, answer, class) of people whose rows are drawn around `POOLED`."""
    rng = np.random.default_rng(1)
    rows = rng.standard_gamma(np.broadcast_to(concentration * POOLED, (n_annotators, N_CLASSES, N_CLASSES)))
    rows /= rows.sum(axis=2, keepdims=True)
    return rng.multinomial(n_each, rows).transpose(0, 2, 1).astype(float)


def test_a_given_prior_adds_answers_like_those_of_all() -> None:
    counts = np.zeros((2, N_CLASSES, N_CLASSES))
    prior = ConfusionPrior.given(10.0, POOLED)
    prior.add_to(counts)
    np.testing.assert_allclose(counts, np.broadcast_to(10 * POOLED.T, counts.shape), rtol=1e-12)
    log_rows = np.log(np.broadcast_to(POOLED.T, counts.shape))
    assert prior.log_density(log_rows) == pytest.approx(2 * float((10 * POOLED * np.log(POOLED)).sum()))


def test_the_skill_gives_the_observed_number_of_right_answers() -> None:
    counts = drawn_counts(4.0)
    right = ConfusionPrior.given(0.0, POOLED).with_skills(counts, SHARES).right
    asked = counts.sum(axis=1) + AVERAGE_ANSWERS * SHARES
    expected = np.einsum("wcc->w", counts) + AVERAGE_ANSWERS * float(SHARES @ np.diag(POOLED))
    np.testing.assert_allclose((asked * right).sum(axis=1), expected, rtol=1e-6)
    # One factor of the odds for all classes.
    odds = right / (1 - right) / (np.diag(POOLED) / (1 - np.diag(POOLED)))
    np.testing.assert_allclose(odds, odds[:, :1] * np.ones(N_CLASSES), rtol=1e-9)


@pytest.mark.parametrize("concentration", [5.0, 30.0, 100.0])
def test_the_strength_is_the_concentration_of_the_crowd(concentration: float) -> None:
    found = ConfusionPrior(np.ones(N_CLASSES), np.diag(POOLED)[None].repeat(300, 0), _errors(), np.diag(POOLED))
    step = STRENGTHS[1] / STRENGTHS[0]
    assert concentration / step < found.best_strength(drawn_counts(concentration)) < concentration * step


def _errors() -> np.ndarray:
    errors = POOLED * (1 - np.eye(N_CLASSES))
    return errors / errors.sum(axis=1, keepdims=True)


def _votes(seed: int, *, pairs: bool, shares: tuple[float, ...], n: int, right: float) -> tuple[Beliefs, np.ndarray]:
    """Ten answers per item by people with about eight answers each, of different skill."""
    rng = np.random.default_rng(seed)
    k, per_item = len(shares), 10
    truth = rng.choice(k, n, p=shares)
    item, who = np.repeat(np.arange(n), per_item), rng.integers(0, n * per_item // 8, n * per_item)
    skill = 1 / (1 + np.exp(-(np.log(right / (1 - right)) + rng.normal(0, 0.8, who.max() + 1))))
    wrong = truth[item] ^ 1 if pairs else (truth[item] + rng.integers(1, k, len(item))) % k
    said = np.where(rng.random(len(item)) < skill[who], truth[item], wrong)
    names = [f"{i:04}" for i in item], [f"{w:04}" for w in who]
    return Beliefs.from_numpy(*names, said, [str(c) for c in range(k)]), truth


def _accuracy(by: DawidSkene | Mace | Majority, beliefs: Beliefs, truth: np.ndarray) -> float:
    probs = by.aggregate(beliefs).labels.probs
    best = probs >= probs.max(axis=1, keepdims=True) * (1 - 1e-9)
    return float((best[np.arange(len(truth)), truth] / best.sum(axis=1)).mean())


@pytest.mark.filterwarnings("ignore:found .* repeated answers", "ignore:dawid-skene has not converged")
def test_no_class_vanishes_with_few_answers_per_annotator() -> None:
    """Similar pairs of classes: the prior of 20 answers per class and the classic method lose whole classes."""
    gains = []
    for seed in range(4):
        beliefs, truth = _votes(seed, pairs=True, shares=(0.15, 0.2, 0.2, 0.45), n=250, right=0.58)
        usual, classic, fixed = (_accuracy(DawidSkene(prior=prior), beliefs, truth) for prior in (None, 0.0, 20.0))
        majority = _accuracy(Majority(), beliefs, truth)
        gains.append([usual - majority, usual - classic, usual - fixed])
    assert (np.mean(gains, axis=0) > (0.02, 0.05, 0.02)).all(), gains


@pytest.mark.filterwarnings("ignore:found .* repeated answers")
def test_mace_estimates_the_shares_of_classes() -> None:
    """A class of 5%: with equal shares, errors about the common class outweigh it."""
    gains = []
    for seed in range(4):
        beliefs, truth = _votes(seed, pairs=True, shares=(0.95, 0.05), n=300, right=0.68)
        gains.append(_accuracy(Mace(), beliefs, truth) - _accuracy(Majority(), beliefs, truth))
    assert np.mean(gains) > 0.02, gains
