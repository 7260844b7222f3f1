"""Similarity judgments (ratings of pairs, and triplets), and their noise ceilings: the best score that is possible
given the agreement between annotators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from sfumato.evaluation.rank_correlation import spearman
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import BadTable, InvalidAnswer, show
from sfumato.tables.payloads import PAYLOAD_KINDS, PayloadKind

SIMILARITY = next(kind for kind in PAYLOAD_KINDS if kind.name == "similarity")
TRIPLET = next(kind for kind in PAYLOAD_KINDS if kind.name == "triplet")


@dataclass(frozen=True, eq=False)
class Ratings:
    """All ratings: pair, annotator and rating. A pair is two item numbers, the smaller first."""

    items: tuple[str, ...]
    pairs: Int[np.ndarray, "pairs 2"]
    pair: Int[np.ndarray, "answers"]
    annotator: Int[np.ndarray, "answers"]
    rating: Float[np.ndarray, "answers"]

    @property
    def n_annotators(self) -> int:
        return len(np.unique(self.annotator))

    def means(self, kept: Bool[np.ndarray, "answers"] | None = None) -> Float[np.ndarray, "pairs"]:
        """The mean rating of every pair over the answers `kept`; NaN without ratings."""
        pair = self.pair if kept is None else self.pair[kept]
        rating = self.rating if kept is None else self.rating[kept]
        n = np.bincount(pair, minlength=len(self.pairs))
        sums = np.bincount(pair, weights=rating, minlength=len(self.pairs))
        return np.asarray(np.divide(sums, n, out=np.full(len(n), np.nan), where=n > 0))


@dataclass(frozen=True, eq=False)
class Triplets:
    """All answers to "is x closer to a or to b?" as item numbers: x, closer, farther.

    `annotator` is -1 for triplets implied by ratings.
    """

    items: tuple[str, ...]
    members: Int[np.ndarray, "answers 3"]
    annotator: Int[np.ndarray, "answers"]


def has_kind(annotations: Annotations, kind: PayloadKind) -> bool:
    """Whether any answer is of `kind`."""
    return kind.label in annotations.kind.names.to_pylist()


def ratings_of(annotations: Annotations) -> Ratings:
    """The similarity ratings among `annotations`; (a, b) and (b, a) are the same pair."""
    said = annotations.of_kind(SIMILARITY.label)
    numbered = _Numbered(said)
    ends, rating = [], []
    for answers, inverse, _ in said.decoded(SIMILARITY):
        others = np.array([numbered(answer.other) for answer in answers], np.int64)
        ends.append(others[inverse])
        rating.append(np.array([float(answer.rating) for answer in answers])[inverse])
    members = np.stack([said.item.codes.astype(np.int64), np.concatenate(ends)], axis=1)
    _check_different(said, members)
    pairs, pair = np.unique(np.sort(members, axis=1), axis=0, return_inverse=True)
    codes = said.annotator.codes.astype(np.int64)
    return Ratings(numbered.names(), pairs, pair.reshape(-1), codes, np.concatenate(rating))


def triplets_of(annotations: Annotations) -> Triplets:
    """The triplet answers among `annotations`."""
    said = annotations.of_kind(TRIPLET.label)
    numbered = _Numbered(said)
    parts = []
    for answers, inverse, _ in said.decoded(TRIPLET):
        chosen = [(each.a, each.b) if each.closer == "a" else (each.b, each.a) for each in answers]
        parts.append(np.array([[numbered(a), numbered(b)] for a, b in chosen], np.int64)[inverse])
    members = np.concatenate([said.item.codes.astype(np.int64)[:, None], np.concatenate(parts)], axis=1)
    _check_different(said, members)
    return Triplets(numbered.names(), members, said.annotator.codes.astype(np.int64))


def implied_triplets(ratings: Ratings, *, margin: float = 0.0) -> Triplets:
    """The triplets implied by mean ratings: x, rated with both a and b, is closer to the one with the higher rating.

    Ratings that differ by at most `margin` imply nothing.
    """
    means = ratings.means()
    parts = [np.empty((0, 3), np.int64)]
    ends = np.concatenate([ratings.pairs, ratings.pairs[:, ::-1]])
    value = np.tile(means, 2)
    order = np.argsort(ends[:, 0], kind="stable")
    starts = np.flatnonzero(np.diff(ends[order, 0], prepend=-1))
    for rows in np.split(order, starts[1:]):
        closer, farther = np.nonzero(value[rows][:, None] > value[rows][None, :] + margin)
        x = np.full(len(closer), ends[rows[0], 0])
        parts.append(np.stack([x, ends[rows[closer], 1], ends[rows[farther], 1]], axis=1))
    members = np.concatenate(parts)
    return Triplets(ratings.items, members, np.full(len(members), -1))


class _Numbered:
    """Numbers of items: first the items of the answers, then those only mentioned in them."""

    def __init__(self, annotations: Annotations) -> None:
        self._number = {name: i for i, name in enumerate(annotations.item.names.to_pylist())}

    def __call__(self, name: str) -> int:
        return self._number.setdefault(name, len(self._number))

    def names(self) -> tuple[str, ...]:
        return tuple(self._number)


def _check_different(annotations: Annotations, members: Int[np.ndarray, "answers shown"]) -> None:
    ordered = np.sort(members, axis=1)
    wrong = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    if wrong.any():
        where = annotations.where(int(np.argmax(wrong)))
        found = f"item {show(where.item)} compared with itself, or one item twice"
        raise InvalidAnswer(found, "different items in an answer", "leave such answers out", "bad-companion", where)


def refuse_few(n: int, fewest: int, what: str, fix: str) -> None:
    """Raise if there are too few judgments."""
    if n < fewest:
        raise BadTable(f"{n} {what}", f"at least {fewest}", fix, "too-few-judgments")


HALVES = 100
"""The number of random splits of the annotators."""
FEWEST_PAIRS = 3


def split_half(ratings: Ratings, *, rng: np.random.Generator, draws: int = HALVES) -> float:
    """The reliability of the mean rating: the rank correlation of two random halves of the annotators, averaged over
    draws, with the Spearman-Brown correction 2 r / (1 + r) (1910). NaN with one annotator."""
    people = np.unique(ratings.annotator)
    if len(people) < 2:
        return np.nan
    values = []
    for _ in range(draws):
        half = np.isin(ratings.annotator, rng.permutation(people)[: len(people) // 2])
        values.append(_common_rho(ratings, half))
    found = np.array(values)[~np.isnan(values)]
    if not len(found):
        return np.nan
    r = float(found.mean())
    return 2 * r / (1 + r) if r > -1 else np.nan


def _common_rho(ratings: Ratings, chosen: Bool[np.ndarray, "answers"]) -> float:
    """The rank correlation of the `chosen` ratings with the others over common pairs; NaN with too few."""
    one, other = ratings.means(chosen), ratings.means(~chosen)
    both = ~(np.isnan(one) | np.isnan(other))
    return spearman(one[both], other[both]) if both.sum() >= FEWEST_PAIRS else np.nan


def reliability_ceiling(reliability: float) -> float:
    """The highest expected rank correlation with the mean rating: the root of its reliability."""
    return float(np.sqrt(reliability)) if reliability > 0 else np.nan


def leave_one_out(ratings: Ratings) -> float:
    """The rank correlation of one annotator's ratings with the mean of the others over common pairs, averaged over
    annotators (Nili et al. 2014, their lower bound)."""
    values = [_common_rho(ratings, ratings.annotator == person) for person in np.unique(ratings.annotator)]
    found = np.array(values)[~np.isnan(values)]
    return float(found.mean()) if len(found) else np.nan


def triplet_disagreement(triplets: Triplets) -> float:
    """The share of answers that differ from the majority of the other annotators of the triplet, ties by half; NaN if
    no triplet has two annotators."""
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
