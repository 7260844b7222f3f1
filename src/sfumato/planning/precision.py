"""How near M answers come to an item's distribution, where that distribution is given: closed forms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from numpy.polynomial.chebyshev import chebval
from scipy.special import gammaln, xlogy

from sfumato.tables.errors import BadSetting
from sfumato.tables.probabilities import check_probs
from sfumato.tables.settings import at_least

NUMBERS_AT_ONCE = 2**20


def expected_tv(
    probs: Float[np.ndarray, "items classes"], n_answers: Sequence[int]
) -> Float[np.ndarray, "items answers"]:
    """The total variation to expect between each distribution and the shares of so many answers drawn from it.

    Exact, from the mean absolute deviation of a binomial (De Moivre 1730; Diaconis and Zabell 1991, *Closed form
    summation for classical distributions*): `sum_j v_j (1 - p_j) Binom(v_j; M, p_j) / M` with
    `v_j = floor(M p_j) + 1`. The normal approximation is a fifth too high at ten answers. It speaks of plain shares;
    where answers are read in the light of a prior, as `bayes` does, fewer are needed: see `expected_kl`.
    """
    many = _checked(probs, n_answers)
    log_factorial = gammaln(np.arange(many.max() + 2) + 1.0)
    result = np.empty((len(probs), len(many)))
    for rows in _blocks(probs):
        part = probs[rows]
        place = np.nonzero((part > 0) & (part < 1))
        p = part[place]
        log_p, log_rest = np.log(p), np.log1p(-p)
        for i, m in enumerate(many):
            v = np.minimum(np.floor(m * p).astype(np.int64) + 1, m)
            log_term = log_factorial[m] - log_factorial[v - 1] - log_factorial[m - v] + v * log_p
            deviation = np.exp(log_term + (m - v + 1) * log_rest) / m
            result[rows, i] = np.bincount(place[0], weights=deviation, minlength=len(part))
    return result


def expected_l2(
    probs: Float[np.ndarray, "items classes"], n_answers: Sequence[int]
) -> Float[np.ndarray, "items answers"]:
    """The squared distance to expect between each distribution and the shares of so many answers: `(1 - |p|^2) / M`.

    Prefer `expected_tv` where a figure should be read as a share of people.
    """
    many = _checked(probs, n_answers)
    return np.asarray((1 - (probs**2).sum(axis=1, keepdims=True)) / many)


def expected_kl(
    probs: Float[np.ndarray, "items classes"], n_answers: Sequence[int], alpha: Float[np.ndarray, "classes"]
) -> Float[np.ndarray, "items answers"]:
    """The KL divergence to expect between each distribution and its posterior mean under a Dirichlet prior, in nats.

    Exact: the mean `(alpha_j + x_j) / (A + M)` needs only the binomial law of each count, so
    `E KL = sum_j p_j (log p_j - E log(alpha_j + x_j)) + log(A + M)`. Shares themselves have no finite KL divergence:
    a class that nobody named would have to be impossible. Under a mixture of Dirichlets the mean hangs on all counts
    together: `DivergenceError` takes that one by simulation.
    """
    many = _checked(probs, n_answers)
    if alpha.shape != probs.shape[1:] or not (alpha > 0).all() or not np.isfinite(alpha).all():
        raise BadSetting(
            f"found alpha = {alpha.tolist()}",
            expected=f"{probs.shape[1]} finite numbers above 0, one a class",
            fix="choose another alpha",
            code="bad-setting",
        )
    minus_entropy = xlogy(probs, probs).sum(axis=1)
    # Shares of votes repeat: each value is worked out once.
    distinct = [np.unique(probs[:, k], return_inverse=True) for k in range(probs.shape[1])]
    result = np.empty((len(probs), len(many)))
    for i, m in enumerate(many):
        surprise = np.log(alpha.sum() + m) + minus_entropy
        of_class = _mean_logs(int(m), alpha)
        for k, (values, place) in enumerate(distinct):
            surprise -= probs[:, k] * chebval(1 - 2 * values, of_class[:, k])[place]
        result[:, i] = surprise
    return result


def _mean_logs(m: int, alpha: Float[np.ndarray, "classes"]) -> Float[np.ndarray, "degrees classes"]:
    """`E log(alpha_k + x)` over a binomial count x, as a function of its p: the Chebyshev series in `1 - 2 p`.

    It is a polynomial of degree M in p, so that its values at M + 1 points say all; the series is then quick to read
    at any number of them.
    """
    count = np.arange(m + 1)
    angle = (count + 0.5) * np.pi / (m + 1)
    p = (1 - np.cos(angle))[:, None] / 2
    log_choose = gammaln(m + 1.0) - gammaln(count + 1.0) - gammaln(m - count + 1.0)
    chance = np.exp(log_choose + count * np.log(p) + (m - count) * np.log1p(-p))
    series = 2 / (m + 1) * np.cos(np.outer(count, angle)) @ (chance @ np.log(alpha + count[:, None]))
    series[0] /= 2
    return np.asarray(series)


def _checked(probs: Float[np.ndarray, "items classes"], n_answers: Sequence[int]) -> Int[np.ndarray, "answers"]:
    check_probs(probs)
    for m in n_answers:
        at_least("n_answers", m, 1)
    return np.asarray(n_answers, np.int64)


def _blocks(probs: Float[np.ndarray, "items classes"]) -> list[slice]:
    """Rows in parts small enough for what is worked out about them to fit the memory."""
    at_once = max(1, NUMBERS_AT_ONCE // probs.shape[1])
    return [slice(first, first + at_once) for first in range(0, len(probs), at_once)]
