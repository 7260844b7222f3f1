"""Coverage of the 90% intervals of `bayes`, and its expected error, where each item's distribution is known.

Truths inside the family that it fits (a mixture of Dirichlets, a Beta) and outside it (softmax of normal variates,
items between exactly two classes). The intervals of 60 items per study are checked.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

from sfumato.aggregation.bagged_prior import fit_bagged_prior

GOAL = (
    "Intervals for 90% should cover 86 to 93% on average and at least 82% in every cell; the expected error should be"
    " near the error (a ratio of 1). 1,000 items: a quarter of the studies, but at least two."
)
HEAD = (
    "true distributions",
    "items",
    "votes per item",
    "covered, all classes",
    "covered, most probable class",
    "expected error / error",
)
N_CLASSES, N_CHECKED = 5, 60


def _mixture(n: int, rng: np.random.Generator) -> np.ndarray:
    alpha = np.concatenate([0.4 + 8 * np.eye(N_CLASSES), np.full((1, N_CLASSES), 0.5), np.full((1, N_CLASSES), 3.0)])
    weights = np.append(np.full(N_CLASSES, 0.7 / N_CLASSES), [0.2, 0.1])
    gamma = rng.standard_gamma(alpha[rng.choice(len(alpha), n, p=weights)])
    return np.asarray(gamma / gamma.sum(axis=1, keepdims=True))


def _beta(n: int, rng: np.random.Generator) -> np.ndarray:
    share = rng.beta(0.7, 0.4, n)
    return np.stack([share, 1 - share], axis=1)


def _softmax(n: int, rng: np.random.Generator) -> np.ndarray:
    scale = rng.choice([0.5, 2.0, 4.0], n)[:, None]
    values = np.exp(scale * rng.normal(size=(n, N_CLASSES)) + rng.normal(size=N_CLASSES))
    return np.asarray(values / values.sum(axis=1, keepdims=True))


def _two_classes(n: int, rng: np.random.Generator) -> np.ndarray:
    first, share = rng.integers(N_CLASSES, size=n), 0.99 * rng.beta(2, 0.6, n)
    probs = np.full((n, N_CLASSES), 0.01 / N_CLASSES)
    probs[np.arange(n), first] += share
    probs[np.arange(n), (first + rng.integers(1, 3, n)) % N_CLASSES] += 0.99 - share
    return probs


TRUTHS: dict[str, Callable[[int, np.random.Generator], np.ndarray]] = {
    "mixture of Dirichlets": _mixture,
    "Beta, two classes": _beta,
    "softmax of normal variates": _softmax,
    "between exactly two of five": _two_classes,
}
CELLS = [(name, n, votes) for name in TRUTHS for n in (50, 200, 1000) for votes in (3, 10)]


def simulate(n_studies: int, processes: int) -> list[list[str]]:
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        return list(pool.map(_row, *zip(*CELLS, strict=True), [n_studies] * len(CELLS)))


def _row(name: str, n: int, votes: int, n_studies: int) -> list[str]:
    n_repeats = n_studies if n < 1000 else max(n_studies // 4, 2)
    found = np.array([check(TRUTHS[name], n, votes, seed) for seed in range(n_repeats)])
    covered, error = found[:, :2].mean(axis=0), found[:, 3].mean() / found[:, 2].mean()
    twice = 2 * found[:, :2].std(axis=0) / np.sqrt(n_repeats)
    return [
        name,
        f"{n:,}",
        str(votes),
        *(f"{value:.3f} ± {margin:.3f}" for value, margin in zip(covered, twice, strict=True)),
        f"{error:.2f}",
    ]


def check(truth: Callable[[int, np.random.Generator], np.ndarray], n: int, votes: int, seed: int) -> list[float]:
    """Of one study: coverage of all classes and of the most probable one, error and expected error."""
    rng = np.random.default_rng([n, votes, seed])
    probs = truth(n, rng)
    counts = rng.multinomial(votes, probs).astype(np.float64)
    posterior = fit_bagged_prior(counts).pooled.given(counts[:N_CHECKED])
    probs, labels, limits = probs[:N_CHECKED], posterior.mean(), posterior.limits(0.9)
    is_inside = (limits.low <= probs) & (probs <= limits.high)
    first = is_inside[np.arange(len(probs)), labels.argmax(axis=1)]
    error = (probs * np.log(np.maximum(probs, 1e-300) / labels)).sum(axis=1).mean()
    return [float(each) for each in (is_inside.mean(), first.mean(), error, posterior.expected_kl().mean())]
