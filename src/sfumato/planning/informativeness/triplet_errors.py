"""Triplet errors: how often what labels say about "nearer" is false, and what that leaves of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float

from sfumato.planning.informativeness.rank_orders import RankedLists
from sfumato.planning.informativeness.triplets import ChannelCapacity, NoiseModel, flip_rate, information_ratio
from sfumato.planning.label_quality import Similarities
from sfumato.planning.matched_answers import MatchedAnswers
from sfumato.tables.table import Table, columns_of

MOST_LABELLED = 100
MOST_RATED = 40
"""Items that are looked at: all their triplets are written out."""


@dataclass(frozen=True)
class TripletError:
    """What one answer an item says: `n_triplets` in all, of which the share `flip_rate` is false; `kept` is what the
    noise model leaves of each, and `information_ratio` the share of all questions that is answered, right or wrong."""

    kind: str
    against: str
    n_items: int
    n_triplets: int
    information_ratio: float
    flip_rate: float
    kept: float


@dataclass(frozen=True, eq=False, repr=False)
class TripletErrors(Table):
    """One row a kind."""

    errors: tuple[TripletError, ...]

    classes = ()

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        return columns_of(self.errors[start:stop], TripletError)

    def __len__(self) -> int:
        return len(self.errors)


def triplet_errors(
    matched: MatchedAnswers,
    *,
    kind: str,
    similarities: Similarities | None = None,
    noise: NoiseModel | None = None,
    rng: np.random.Generator,
) -> TripletErrors:
    """How often one answer an item errs, of a rich kind and of votes: against similarity judgments, or where there are
    none against the label of the votes held out.

    Against a label, classes are objects too; what it leaves tied counts half, and a label of few votes leaves much
    tied: both kinds then look worse than they are. Against judgments only items are compared, by how probable it is
    that two answers agree. Some items, evenly spread, are looked at.
    """
    half = matched.halved(rng)
    answers = {kind: half.rich[:, 1], "choice": half.votes[:, 1]}
    if similarities is None:
        places = _spread(np.arange(matched.n_items), MOST_LABELLED)
        true = RankedLists.of_labels(half.reference[places])
        judged = {name: RankedLists.of_labels(labels[places]) for name, labels in answers.items()}
        against = "the label of held-out votes"
    else:
        rated = similarities.of_items(matched.items)
        places = _spread(_all_rated(~np.isnan(rated)), MOST_RATED)
        true = RankedLists.of_similarities(rated[np.ix_(places, places)])
        judged = {
            name: RankedLists.of_similarities(labels[places] @ labels[places].T) for name, labels in answers.items()
        }
        against = "similarity judgments"
    model = noise or ChannelCapacity()
    errors = []
    for name, orders in judged.items():
        wrong = flip_rate(judged=orders, true=true)
        ratio = information_ratio(orders.n_triplets, orders.n_objects)
        # Labels that are tied throughout say nothing, falsely or not.
        kept = model.kept(wrong) if orders.n_triplets else 0.0
        errors.append(TripletError(name, against, len(places), orders.n_triplets, ratio, wrong, kept))
    return TripletErrors(tuple(errors))


def _spread(places: np.ndarray, most: int) -> np.ndarray:
    return np.asarray(places[np.unique(np.linspace(0, len(places) - 1, min(len(places), most)).astype(np.int64))])


def _all_rated(known: Bool[np.ndarray, "items items"]) -> np.ndarray:
    """Items of which every pair was rated: those with most gaps go, one by one, until none is left."""
    gaps = ~known & ~np.eye(len(known), dtype=bool)
    left = np.arange(len(known))
    while len(left) > 3 and gaps[np.ix_(left, left)].any():
        left = np.delete(left, int(gaps[np.ix_(left, left)].sum(axis=1).argmax()))
    return left


def kept_of(labels: Float[np.ndarray, "points classes"], error: TripletError) -> float:
    """What a study's own labels say, in triplets without noise, if they err as often as the pilot's."""
    return RankedLists.of_labels(labels).n_triplets * error.kept
