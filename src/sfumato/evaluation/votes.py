"""What a divergence to people cannot get under, because people are so many votes and no more.

If predictions were exactly the crowd's distribution and the label a few votes of it, there would still be a distance.
Its expectation is a sum over classes, and in each class the number of votes is binomial; so it is had exactly, from a
table of the numbers of votes that occur. The crowd's distribution is taken to be the label itself: a class that nobody
chose counts as impossible, which makes this floor a little too low.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.compared import MatchedLabels

MOST_PAIRS = 20_000
"""Pairs of (votes in all, votes for a class) that are looked at; of more, so many evenly chosen."""
STANDARD_DEVIATIONS = 12


def floor_of_votes(
    compared: MatchedLabels, terms: Callable[[Float[np.ndarray, "n"], float], Float[np.ndarray, "n"]]
) -> float:
    """The expected divergence of the crowd's distribution to as many votes of it, a mean over items.

    `terms(q, p)` is what a class of probability p adds when the share of votes for it is q. NaN unless the number of
    people is known for every item and their labels are that many whole votes.
    """
    votes = compared.votes
    if votes is None:
        return np.nan
    chosen = slice(None, None, 1 + len(votes.times) // MOST_PAIRS)
    times = votes.times[chosen] * (votes.times.sum() / max(votes.times[chosen].sum(), 1))
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, votes.n.max(initial=1) + 1)))])
    expected = [
        _expected(n, n_votes, log_factorial, terms)
        for n, n_votes in zip(votes.n[chosen].tolist(), votes.n_votes[chosen].tolist(), strict=True)
    ]
    return float(np.dot(times, expected) / len(compared))


def _expected(
    n: int,
    votes: int,
    log_factorial: Float[np.ndarray, "numbers"],
    terms: Callable[[Float[np.ndarray, "n"], float], Float[np.ndarray, "n"]],
) -> float:
    """What a class adds on average that `votes` of `n` people chose: votes for it are binomial."""
    p = votes / n
    reach = STANDARD_DEVIATIONS * (1 + np.sqrt(n * p * (1 - p)))
    drawn = np.arange(max(0, int(votes - reach)), min(n, int(votes + reach)) + 1)
    logs = log_factorial[n] - log_factorial[drawn] - log_factorial[n - drawn]
    logs = logs + drawn * np.log(p) + (n - drawn) * np.log1p(-p)
    return float(np.exp(logs) @ terms(drawn / n, p))
