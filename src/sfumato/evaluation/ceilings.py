"""Ceilings: how near to people's mean judgment anything can come, given how far they agree among themselves."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from sfumato.evaluation.judgments import Ratings, Triplets
from sfumato.evaluation.rank_correlation import spearman

HALVES = 100
"""How often people are split in two at random."""
FEWEST_PAIRS = 3


def split_half(ratings: Ratings, *, rng: np.random.Generator, draws: int = HALVES) -> float:
    """The reliability of the mean rating: the rank correlation of two random halves of the annotators, averaged over
    draws, brought to the length of the whole (2 r / (1 + r); Spearman 1910, Brown 1910). NaN with one annotator."""
    people = np.unique(ratings.annotator)
    if len(people) < 2:
        return np.nan
    values = []
    for _ in range(draws):
        half = np.isin(ratings.annotator, rng.permutation(people)[: len(people) // 2])
        one, other = ratings.means(half), ratings.means(~half)
        both = ~(np.isnan(one) | np.isnan(other))
        values.append(spearman(one[both], other[both]) if both.sum() >= FEWEST_PAIRS else np.nan)
    found = np.array(values)[~np.isnan(values)]
    if not len(found):
        return np.nan
    r = float(found.mean())
    return 2 * r / (1 + r) if r > -1 else np.nan


def reliability_ceiling(reliability: float) -> float:
    """The rank correlation with the mean rating that what people share would have: the root of its reliability."""
    return float(np.sqrt(reliability)) if reliability > 0 else np.nan


def leave_one_out(ratings: Ratings) -> float:
    """How well one annotator is predicted by the others: the rank correlation of a person's ratings with the mean of
    everybody else's, over the pairs both have, averaged over people (Nili et al. 2014, their lower bound)."""
    values = []
    for person in np.unique(ratings.annotator):
        own = ratings.annotator == person
        mine, theirs = ratings.means(own), ratings.means(~own)
        both = ~(np.isnan(mine) | np.isnan(theirs))
        if both.sum() >= FEWEST_PAIRS:
            values.append(spearman(mine[both], theirs[both]))
    found = np.array(values)[~np.isnan(values)]
    return float(found.mean()) if len(found) else np.nan


def triplet_disagreement(triplets: Triplets) -> float:
    """How often an answer differs from what most other people say to the same triplet, a tie counting half; NaN where
    no triplet was answered by two people."""
    sides = np.sort(triplets.members[:, 1:], axis=1)
    said_first = (triplets.members[:, 1] == sides[:, 0]).astype(np.float64)
    _, question = np.unique(np.column_stack([triplets.members[:, 0], sides]), axis=0, return_inverse=True)
    question = question.reshape(-1)
    n: Int[np.ndarray, "questions"] = np.bincount(question)
    others = n[question] - 1
    share = np.bincount(question, weights=said_first)[question] - said_first
    repeated = others > 0
    if not repeated.any():
        return np.nan
    lean = np.sign(share[repeated] / others[repeated] - 0.5)
    mine = 2 * said_first[repeated] - 1
    return float(np.mean((1 - lean * mine) / 2))
