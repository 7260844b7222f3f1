"""Representations: agreement between a network's features (items x dims, in an npz) and human similarity judgments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import stdtrit

from sfumato.evaluation.rank_correlation import rank_correlation, rho_interval, shared_variance, spearman
from sfumato.evaluation.similarity_judgments import (
    SIMILARITY,
    TRIPLET,
    Ratings,
    Triplets,
    has_kind,
    implied_triplets,
    leave_one_out,
    ratings_of,
    refuse_few,
    reliability_ceiling,
    split_half,
    triplet_disagreement,
    triplets_of,
)
from sfumato.tables.annotations import Annotations
from sfumato.tables.bootstrap import Interval
from sfumato.tables.errors import BadTable, listing, show, warn, wrong_shape
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.scores import ALL, Score, Scores
from sfumato.tables.setting_checks import between_0_and_1


@dataclass(frozen=True, eq=False)
class Features:
    """One finite vector per item."""

    items: tuple[str, ...]
    values: Float[np.ndarray, "items dims"]
    path: Path | None = None

    def __post_init__(self) -> None:
        if len(self.items) != len(self.values) or not len(self.values) or not self.values.shape[1]:
            found = f"{len(self.items):,} ids for features of shape {self.values.shape}"
            raise wrong_shape(found, "one id per row, at least one row and dimension", "save both again", self.path)
        if len(set(self.items)) < len(self.items):
            doubled = next(item for item in self.items if self.items.count(item) > 1)
            found, fix = f"the id {show(doubled)} twice", "keep one row per item"
            raise BadTable(found, "each item once", fix, "doubled-item", self.path)
        bad = ~np.isfinite(self.values).all(axis=1)
        if bad.any():
            first, fix = show(self.items[int(np.argmax(bad))]), "remove these items; the network may have diverged"
            found = f"features of {first} that are not finite ({int(bad.sum()):,} items)"
            raise BadTable(found, "finite numbers", fix, "bad-number", self.path)

    @classmethod
    def of(cls, inputs: Inputs) -> Features:
        """The features of `inputs`, dense; images and texts are an error."""
        values = inputs.features
        if values is None:
            fix = "save features as an npz, or compute them with a run: --run RUN --inputs IMAGES"
            raise BadTable(inputs.described(), "features: numbers, items x dims", fix, "bad-features", inputs.path)
        dense = values if isinstance(values, np.ndarray) else values.toarray()
        return cls(inputs.items, dense.astype(np.float64), inputs.path)

    @classmethod
    def read(cls, path: str | Path) -> Features:
        """Features from an npz with `features` and optionally `items`, or a matrix of `scipy.sparse.save_npz`."""
        return cls.of(Inputs.read(path))

    def rows_of(self, items: Sequence[str]) -> Int[np.ndarray, "asked"]:
        """The row of each of `items`; -1 if missing."""
        row = {name: i for i, name in enumerate(self.items)}
        return np.array([row.get(name, -1) for name in items], np.int64)


FEWEST_PAIRS, FEWEST_TRIPLETS, FEWEST_ANNOTATORS = 4, 2, 3
MOST_GROUPS = 200
"""With more annotators, the jackknife leaves out groups instead of single annotators."""


class FeatureSimilarity(StrEnum):
    """Similarity of two items by their features: larger is more similar."""

    COSINE = "cosine"
    EUCLIDEAN = "euclidean"
    """The negative distance."""
    DOT = "dot"


class SamplingUnit(StrEnum):
    """What an interval generalizes to."""

    ITEMS = "items"
    """Other items, judged by the same annotators; pairs and triplets that share an item are correlated."""
    ANNOTATORS = "annotators"
    """Other annotators of the same items (by jackknife)."""


def alike(
    features: Float[np.ndarray, "items dims"], pairs: Int[np.ndarray, "pairs 2"], by: FeatureSimilarity
) -> Float[np.ndarray, "pairs"]:
    """The similarity of each pair of rows of `features`."""
    values = features
    if by is FeatureSimilarity.COSINE:
        lengths = np.linalg.norm(features, axis=1, keepdims=True)
        if not lengths[pairs].all():
            found = f"{int((lengths == 0).sum()):,} items whose features are all zero"
            expected = "vectors that are not zero"
            raise BadTable(found, expected, "compare by distance (euclidean), or remove these items", "zero-features")
        values = features / np.where(lengths > 0, lengths, 1.0)
    one, other = values[pairs[:, 0]], values[pairs[:, 1]]
    if by is FeatureSimilarity.EUCLIDEAN:
        return np.asarray(-np.linalg.norm(one - other, axis=1))
    return np.asarray(np.einsum("pd,pd->p", one, other))


def represent(
    features: Features,
    annotations: Annotations,
    *,
    by: FeatureSimilarity = FeatureSimilarity.COSINE,
    over: SamplingUnit = SamplingUnit.ITEMS,
    level: float = 0.95,
    rng: np.random.Generator | None = None,
) -> Scores:
    """How well `features` agree with the judgments in `annotations`, of the kinds similarity and triplet.

    `similarity_spearman`: rho of the similarity of pairs with their mean rating; its `floor` is the noise ceiling, the
    root of the split-half reliability. `leave_one_out_spearman`: how well an annotator is predicted by the others.
    `implied_triplet_error`: share of triplets, implied by ratings, that features contradict. `triplet_error`: share of
    answers that features contradict; its `floor` is how often annotators differ from the majority of the others.
    """
    between_0_and_1("level", level)
    rng = np.random.default_rng(0) if rng is None else rng
    scores: list[Score] = []
    if has_kind(annotations, SIMILARITY):
        ratings = _known_ratings(ratings_of(annotations), features)
        scores += _of_ratings(ratings, features, by=by, over=over, level=level, rng=rng)
    if has_kind(annotations, TRIPLET):
        triplets = _known_triplets(triplets_of(annotations), features)
        refuse_few(len(triplets.members), FEWEST_TRIPLETS, "triplets", "collect more answers")
        floor = triplet_disagreement(triplets)
        wrong = triplet_errors(triplets, features, by)
        scores.append(_triplet_score("triplet_error", triplets, wrong, over, level, floor))
    if not scores:
        found = f"answers of the kinds {listing(annotations.kind.names.to_pylist())}"
        fix = "collect similarity judgments (docs/elicit.md)"
        raise BadTable(found, "similarity ratings or triplets", fix, "no-judgments", annotations.path)
    return Scores.of(scores)


def _of_ratings(
    ratings: Ratings,
    features: Features,
    *,
    by: FeatureSimilarity,
    over: SamplingUnit,
    level: float,
    rng: np.random.Generator,
) -> list[Score]:
    refuse_few(len(ratings.pairs), FEWEST_PAIRS, "rated pairs", "collect ratings of more pairs")
    rows = features.rows_of(ratings.items)
    model = alike(features.values, rows[ratings.pairs], by)
    means = ratings.means()
    ceiling = reliability_ceiling(split_half(ratings, rng=rng))
    found = rank_correlation(model, means, level=level, members=ratings.pairs)
    between, n_people = found.interval, ratings.n_annotators
    if np.isnan(found.rho):
        warn("similarity_spearman is undefined: ratings or features are the same for every pair")
    elif over is SamplingUnit.ANNOTATORS and n_people < FEWEST_ANNOTATORS:
        between = Interval(np.nan, np.nan, f"none: only {n_people} annotators")
    elif over is SamplingUnit.ANNOTATORS:
        variance = _jackknife(ratings.annotator, lambda kept: _rho(model, ratings.means(kept)), rng)
        n_units = min(n_people, MOST_GROUPS)
        between = rho_interval(found.rho, variance, level=level, n_units=n_units, how="jackknife over annotators")
    n_items, alone = len(np.unique(ratings.pairs)), leave_one_out(ratings)
    scores = [
        Score("similarity_spearman", ALL, found.rho, between.low, between.high, n_items, ceiling, between.kind),
        Score("leave_one_out_spearman", ALL, alone, np.nan, np.nan, n_items, np.nan, "none: a ceiling"),
    ]
    implied = implied_triplets(ratings)
    if len(implied.members) >= FEWEST_TRIPLETS:
        wrong = triplet_errors(implied, features, by)
        scores.append(_triplet_score("implied_triplet_error", implied, wrong, SamplingUnit.ITEMS, level, np.nan))
    return scores


def _triplet_score(
    metric: str, triplets: Triplets, wrong: Float[np.ndarray, "answers"], over: SamplingUnit, level: float, floor: float
) -> Score:
    """The share of wrong answers, `wrong` by answer, with its interval."""
    value = float(wrong.mean())
    pull = (wrong - value) / len(wrong)
    if over is SamplingUnit.ITEMS:
        n_units = len(np.unique(triplets.members))
        grown = (n_units / max(n_units - 3, 1)) ** 2
        variance = max(shared_variance(pull, triplets.members), float(pull @ pull)) * grown
    else:
        people, own = np.unique(triplets.annotator, return_inverse=True)
        n_units = len(people)
        sums = np.bincount(own, weights=pull)
        variance = float(sums @ sums) * n_units / max(n_units - 1, 1)
    if variance <= 0 or n_units < FEWEST_ANNOTATORS:
        between = Interval(np.nan, np.nan, f"none: no variation between {over}, or too few")
    else:
        half = float(stdtrit(n_units - 1, (1 + level) / 2)) * float(np.sqrt(variance))
        between = Interval(max(value - half, 0.0), min(value + half, 1.0), f"{100 * level:g}% linearised over {over}")
    n_items = len(np.unique(triplets.members))
    return Score(metric, ALL, value, between.low, between.high, n_items, floor, between.kind)


def triplet_errors(triplets: Triplets, features: Features, by: FeatureSimilarity) -> Float[np.ndarray, "answers"]:
    """1 if the features contradict the answer, 0.5 if both similarities are equal, else 0."""
    place = features.rows_of(triplets.items)[triplets.members]
    closer = alike(features.values, place[:, [0, 1]], by)
    farther = alike(features.values, place[:, [0, 2]], by)
    return np.asarray((1 - np.sign(closer - farther)) / 2)


def _rho(model: Float[np.ndarray, "pairs"], means: Float[np.ndarray, "pairs"]) -> float:
    rated = ~np.isnan(means)
    return spearman(model[rated], means[rated])


def _jackknife(
    annotator: Int[np.ndarray, "answers"],
    figure: Callable[[Bool[np.ndarray, "answers"]], float],
    rng: np.random.Generator,
) -> float:
    """The jackknife variance of a value over annotators."""
    people, own = np.unique(annotator, return_inverse=True)
    n_groups = min(len(people), MOST_GROUPS)
    group = np.arange(len(people)) if n_groups == len(people) else rng.permutation(len(people)) % n_groups
    values = np.array([figure(group[own] != each) for each in range(n_groups)])
    return float(np.nansum((values - np.nanmean(values)) ** 2) * (n_groups - 1) / n_groups)


def _known_ratings(ratings: Ratings, features: Features) -> Ratings:
    """The ratings of pairs in which both items have features."""
    known = _known(ratings.items, features)[ratings.pairs].all(axis=1)
    _refuse_or_say(int((~known).sum()), len(known), "rated pairs", ratings.items, features)
    kept = known[ratings.pair]
    place = np.cumsum(known) - 1
    pair = place[ratings.pair[kept]]
    return Ratings(ratings.items, ratings.pairs[known], pair, ratings.annotator[kept], ratings.rating[kept])


def _known_triplets(triplets: Triplets, features: Features) -> Triplets:
    known = _known(triplets.items, features)[triplets.members].all(axis=1)
    _refuse_or_say(int((~known).sum()), len(known), "triplets", triplets.items, features)
    return Triplets(triplets.items, triplets.members[known], triplets.annotator[known])


def _known(items: tuple[str, ...], features: Features) -> Bool[np.ndarray, "items"]:
    there = set(features.items)
    return np.array([item in there for item in items], np.bool_)


def _refuse_or_say(n_lost: int, n: int, what: str, items: tuple[str, ...], features: Features) -> None:
    if n_lost == n:
        found = f"{what} of items {listing(items, 3)}, of which none have features ({listing(features.items, 3)})"
        expected = "features of the judged items"
        raise BadTable(found, expected, "use the same ids in both", "no-common-items", features.path)
    if n_lost:
        warn(f"{n_lost:,} of {n:,} {what} are skipped: an item has no features")
