"""Exchange rates estimated from data: how many hard votes an answer of a richer kind is worth, per goal. Rich answers
and votes about the same items are split at random into answers to compare and votes as reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float, Int

from sfumato.labeling.default_labeler import label_by_default
from sfumato.planning.exchange_rates import (
    STEPS,
    ExchangeRate,
    ExchangeRates,
    votes_worth,
)
from sfumato.planning.goals import Goal
from sfumato.planning.label_quality import (
    ClassQuality,
    DistributionQuality,
    GeometryQuality,
    LabelQuality,
    QualitySplit,
    Similarities,
    evenly_spread,
)
from sfumato.planning.pilot_answers import Pilot
from sfumato.planning.recorded_answers import places_in_order
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.bootstrap import Bootstrap
from sfumato.tables.errors import BadTable, listing
from sfumato.tables.growable_array import freeze
from sfumato.tables.setting_checks import at_least
from sfumato.tables.soft_labels import SoftLabels

SPLITS = 12
RESAMPLES = 300
MOST_NUMBERS = 2**24
"""Upper limit of the numbers in all splits: with many items, fewer splits are made."""
LEVEL = 0.95
ENOUGH_HELD_OUT = 10
"""From this many held-out votes per item, total variation is reliable."""


def qualities(
    matched: MatchedAnswers, *, similarities: Similarities | None = None, truth: SoftLabels | None = None
) -> tuple[LabelQuality, ...]:
    """The quality measures of answers; the first one per goal counts."""
    known = None if truth is None else truth.probs[truth.rows_of(matched.items)]
    losses = ("tv", "log-loss") if matched.most_votes >= ENOUGH_HELD_OUT else ("squared", "log-loss")
    return (*(DistributionQuality(loss) for loss in losses), ClassQuality(known), GeometryQuality(similarities))


def exchange_rates(
    rich: Beliefs | Annotations,
    votes: Beliefs | Annotations | SoftLabels | None = None,
    *,
    kind: str,
    similarities: Similarities | None = None,
    truth: SoftLabels | None = None,
    goals: Sequence[Goal] = tuple(Goal),
    splits: int = SPLITS,
    resamples: int = RESAMPLES,
    rng: np.random.Generator,
) -> ExchangeRates:
    """How many votes about the same items serve each goal as well as 1, 2, ... rich answers.

    Half of every item's votes are compared with, the other half is the reference; repeated for up to `splits` random
    splits and averaged. Intervals are a bootstrap over items; smoothing is chosen again in each draw. Held-out votes
    favor votes, because a crowd's choices are predicted best by choices: give `similarities` or a `truth` if available.
    Without `votes`, each answer is compared with its own top class, and other people's top classes are the reference:
    that shows what the form adds, not what other people would say.
    """
    matched = MatchedAnswers.of(rich, votes)
    size = matched.n_items * len(matched.classes) * (matched.most_votes + matched.most_rich + 2)
    n_splits = max(1, min(at_least("splits", splits, 1), MOST_NUMBERS // size))
    halves = [matched.split(rng) for _ in range(n_splits)]
    weights = np.ones((1, matched.n_items))
    drawn = Bootstrap.of(matched.n_items, level=LEVEL, draws=resamples, rng=rng).times_drawn.astype(np.float64)
    steps = STEPS[: np.searchsorted(STEPS, matched.most_votes, side="right")]
    source = "measured against the leading classes of the same answers" if matched.same_people else "measured"
    rates = []
    for quality in qualities(matched, similarities=similarities, truth=truth):
        if quality.goal not in goals:
            continue
        shown = steps[(steps % 2 == 1) | (steps == 0)] if quality.odd_only else steps
        some = halves[: quality.most_splits]
        of_votes = quality.curve((QualitySplit(half.votes[:, shown], half.reference) for half in some), matched.items)
        of_rich = quality.curve((QualitySplit(half.rich, half.reference) for half in some), matched.items)
        value = votes_worth(shown, of_votes.values(weights), of_rich.values(weights))[0]
        spread = votes_worth(shown, of_votes.values(drawn), of_rich.values(drawn))
        low = np.quantile(spread, (1 - LEVEL) / 2, axis=0, method="lower")
        high = np.quantile(spread, (1 + LEVEL) / 2, axis=0, method="higher")
        for m in range(1, matched.most_rich + 1):
            rates.append(
                ExchangeRate(
                    kind, quality.goal, quality.measure, m, float(value[m]), float(low[m]), float(high[m]),
                    int(shown[-1]), matched.n_items, source,
                )
            )  # fmt: skip
    return ExchangeRates(tuple(rates))


MOST_ITEMS = 2_000
MOST_RICH = 10
MOST_VOTES = 60
FEWEST_ITEMS = 10
COMMON = 0.1
"""Items with fewer answers than this quantile are left out, so that all numbers of answers are compared on the same
items."""


@dataclass(frozen=True, eq=False)
class SplitAnswers:
    """Sums of the first 0, 1, ... answers about each item, in random order, and the shares of the held-out votes."""

    rich: Float[np.ndarray, "items rich_steps classes"]
    votes: Float[np.ndarray, "items vote_steps classes"]
    reference: Float[np.ndarray, "items classes"]


@dataclass(frozen=True, eq=False)
class MatchedAnswers:
    """Rich answers (`rich`, distributions) and votes (`voted`, classes) about the same items.

    With `same_people` the votes are the top classes of the rich answers: an annotator's rich answer is compared with
    the vote that this annotator would have given, and the votes of others are the reference.
    """

    items: pa.StringArray
    classes: tuple[str, ...]
    rich_item: Int[np.ndarray, "rich"]
    rich: Float[np.ndarray, "rich classes"]
    vote_item: Int[np.ndarray, "votes"]
    voted: Int[np.ndarray, "votes"]
    most_rich: int
    most_votes: int
    same_people: bool = False

    def __post_init__(self) -> None:
        freeze(self, "rich_item", "rich", "vote_item", "voted")

    @classmethod
    def of(cls, rich: Beliefs | Annotations, votes: Beliefs | Annotations | SoftLabels | None = None) -> MatchedAnswers:
        """Both matched by item and class name. Items with too few answers are left out, and at most 2,000 items, evenly
        spread, are kept. Without `votes`, the top class of each rich answer is its vote."""
        if isinstance(rich, Annotations):
            rich = label_by_default(rich.for_purposes("label"))
        coded = rich.coded()
        probs, rich_item, items = coded.probs(), coded.item.astype(np.int64), rich.item.names
        if votes is None:
            vote_items, vote_item, voted = items, rich_item, probs.argmax(axis=1)
        else:
            vote_items, vote_item, voted = _votes(votes, rich.classes)
        at = pc.index_in(vote_items, value_set=items).fill_null(-1).to_numpy(zero_copy_only=False)
        n_shared = int((at >= 0).sum())
        if n_shared == 0:
            raise BadTable(
                f"{len(items):,} items in one table and {len(vote_items):,} in the other, and none in both",
                "the same items, by the same names",
                "check the item names in both; one example of each: "
                f"{listing([items[0].as_py()])} and {listing([vote_items[0].as_py()])}"
                if len(items) and len(vote_items)
                else "ask both kinds of question about the same items",
                "no-shared-items",
            )
        known = at[vote_item] >= 0
        vote_item, voted = at[vote_item][known], voted[known]
        n_rich, n_votes = (np.bincount(each, minlength=len(items)) for each in (rich_item, vote_item))
        given = (n_votes + 1) // 2
        can = (n_rich >= 1) & (n_votes >= 2)
        if can.sum() < FEWEST_ITEMS:
            raise BadTable(
                f"{int(can.sum())} items with an answer and two votes or more, of {n_shared:,} in both tables",
                f"at least {FEWEST_ITEMS}: half of the votes are compared, the others are the reference",
                "ask about more of the same items, or more people per item",
                "too-few-items",
            )
        available = given if votes is None else n_rich
        most_rich = _most(available[can], MOST_RICH)
        most_votes = _most(given[can], MOST_VOTES)
        kept = evenly_spread(np.flatnonzero(can & (available >= most_rich) & (given >= most_votes)), MOST_ITEMS)
        number = np.full(len(items), -1)
        number[kept] = np.arange(len(kept))
        of_rich, of_votes = number[rich_item] >= 0, number[vote_item] >= 0
        return cls(
            items.take(pa.array(kept)),
            rich.classes,
            number[rich_item[of_rich]],
            probs[of_rich],
            number[vote_item[of_votes]],
            voted[of_votes],
            most_rich,
            most_votes,
            same_people=votes is None,
        )

    @property
    def n_items(self) -> int:
        return len(self.items)

    def split(self, rng: np.random.Generator) -> SplitAnswers:
        """A random half of every item's votes to compare (the larger one, if odd), the others as reference."""
        place = places_in_order(self.vote_item, rng.random(len(self.vote_item)))
        n_votes = np.bincount(self.vote_item, minlength=self.n_items)
        is_given = place < ((n_votes + 1) // 2)[self.vote_item]
        one_hot = np.eye(len(self.classes))[self.voted]
        cell = self.vote_item[~is_given] * len(self.classes) + self.voted[~is_given]
        held_out = np.bincount(cell, minlength=self.n_items * len(self.classes)).reshape(self.n_items, -1)
        rich_place = place
        if not self.same_people:
            rich_place = places_in_order(self.rich_item, rng.random(len(self.rich_item)))
        return SplitAnswers(
            _sums(self.rich_item, rich_place, self.rich, self.n_items, self.most_rich),
            _sums(self.vote_item, place, one_hot, self.n_items, self.most_votes),
            held_out / held_out.sum(axis=1, keepdims=True),
        )


def _votes(
    votes: Beliefs | Annotations | SoftLabels, classes: tuple[str, ...]
) -> tuple[pa.StringArray, Int[np.ndarray, "votes"], Int[np.ndarray, "votes"]]:
    """The items, and of every vote its item and class, numbered as in `classes`."""
    if isinstance(votes, Annotations):
        votes = label_by_default(votes.for_purposes("label"))
    # A form may have more options than the votes, such as "none of these".
    if strange := [name for name in votes.classes if name not in classes]:
        raise BadTable(
            f"votes for {listing(strange)}",
            f"the classes of the other answers: {listing(list(classes))}",
            "use the same class names in both tables",
            "different-classes",
        )
    order = np.array([classes.index(name) for name in votes.classes])
    if isinstance(votes, SoftLabels):
        counts = np.rint(Pilot.of(votes).counts).astype(np.int64)
        assert votes.n_annotators is not None
        items = votes.items.filter(pa.array(votes.n_annotators > 0))
        item, chosen = (np.repeat(axis, counts.ravel()) for axis in np.indices(counts.shape).reshape(2, -1))
        return items, item, order[chosen]
    if votes.hard is None:
        raise BadTable(
            "votes that are distributions",
            "hard votes, one class per answer, or labels with a number of annotators",
            "give answers of kind choice",
            "not-votes",
        )
    return votes.item.names, votes.item.codes.astype(np.int64), order[votes.hard]


def _most(n_answers: Int[np.ndarray, "items"], limit: int) -> int:
    return int(min(max(np.quantile(n_answers, COMMON, method="lower"), 1), limit))


def _sums(
    item: Int[np.ndarray, "rows"],
    place: Int[np.ndarray, "rows"],
    probs: Float[np.ndarray, "rows classes"],
    n_items: int,
    most: int,
) -> Float[np.ndarray, "items steps classes"]:
    sums = np.zeros((n_items, most + 1, probs.shape[1]))
    taken = place < most
    sums[item[taken], place[taken] + 1] = probs[taken]
    return sums.cumsum(axis=1)
