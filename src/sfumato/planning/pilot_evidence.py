"""What pilots say about kinds of label: how long answers take, how many votes they are worth, and how often their
triplets "a is nearer to b than to c" are false. Called by `sfumato plan labels`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from jaxtyping import Bool

from sfumato.labeling.default_labeler import DEFAULT_LABELERS, kinds_in, label_by_default
from sfumato.planning.answer_times import measured_times, seconds_of
from sfumato.planning.costs import DEFAULT_TIMES, KindTime
from sfumato.planning.exchange_estimates import MatchedAnswers, exchange_rates
from sfumato.planning.exchange_rates import ExchangeRates
from sfumato.planning.informativeness.answered_triplets import (
    RankedLists,
    channel_capacity,
    flip_rate,
    information_ratio,
)
from sfumato.planning.label_quality import Similarities, evenly_spread
from sfumato.tables.annotations import Annotations
from sfumato.tables.base_table import RecordTable
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadTable, ErrorLocation, listing, no_rows
from sfumato.tables.soft_labels import SoftLabels

MOST_LABELED, MOST_RATED = 100, 40
"""The largest number of items whose triplets are listed."""


@dataclass(frozen=True)
class TripletError:
    """The triplets in one answer per item: `n_triplets`, of which the share `flip_rate` is false; `kept` is the
    information that remains of each (`channel_capacity`), and `information_ratio` the share of all questions answered,
    correct or not."""

    kind: str
    against: str
    n_items: int
    n_triplets: int
    information_ratio: float
    flip_rate: float
    kept: float


@dataclass(frozen=True, eq=False, repr=False)
class TripletErrors(RecordTable):
    """One row per kind."""

    record = TripletError
    errors: tuple[TripletError, ...]


def triplet_errors(
    matched: MatchedAnswers,
    *,
    kind: str,
    similarities: Similarities | None = None,
    rng: np.random.Generator,
) -> TripletErrors:
    """How often one answer per item is wrong, of a rich kind and of votes: compared with similarity judgments, or with
    the label of held-out votes.

    Compared with a label, classes are objects too, and ties in the label count half: with few votes both kinds look
    worse than they are. Compared with judgments, only items are used, by the probability that two answers agree.
    """
    half = matched.split(rng)
    answers = {kind: half.rich[:, 1], "choice": half.votes[:, 1]}
    if similarities is None:
        places = evenly_spread(np.arange(matched.n_items), MOST_LABELED)
        true = RankedLists.of_labels(half.reference[places])
        judged = {name: RankedLists.of_labels(labels[places]) for name, labels in answers.items()}
        against = "the label of held-out votes"
    else:
        rated = similarities.of_items(matched.items)
        places = evenly_spread(_all_rated(~np.isnan(rated)), MOST_RATED)
        true = RankedLists.of_similarities(rated[np.ix_(places, places)])
        judged = {
            name: RankedLists.of_similarities(labels[places] @ labels[places].T) for name, labels in answers.items()
        }
        against = "similarity judgments"
    errors = []
    for name, orders in judged.items():
        wrong = flip_rate(judged=orders, true=true)
        ratio = information_ratio(orders.n_triplets, orders.n_objects)
        kept = channel_capacity(wrong) if orders.n_triplets else 0.0
        errors.append(TripletError(name, against, len(places), orders.n_triplets, ratio, wrong, kept))
    return TripletErrors(tuple(errors))


def _all_rated(known: Bool[np.ndarray, "items items"]) -> np.ndarray:
    """Items of which every pair was rated: those with most missing pairs are removed one by one."""
    gaps = ~known & ~np.eye(len(known), dtype=bool)
    left = np.arange(len(known))
    while len(left) > 3 and gaps[np.ix_(left, left)].any():
        left = np.delete(left, int(gaps[np.ix_(left, left)].sum(axis=1).argmax()))
    return left


Votes = Beliefs | Annotations | SoftLabels
HARD = "choice"


@dataclass(frozen=True)
class PilotEvidence:
    """What was measured, by kind; `notes` describe the data. Empty without a pilot."""

    times: Mapping[str, KindTime] = field(default_factory=dict)
    rates: Mapping[str, ExchangeRates] = field(default_factory=dict)
    errors: Mapping[str, TripletError] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()
    n_items: int = 0
    n_classes: int = 0
    notes: tuple[str, ...] = ()


def evidence_of(
    pilots: Sequence[Annotations],
    *,
    votes: Votes | None = None,
    similarities: Similarities | None = None,
    truth: SoftLabels | None = None,
    timed: Sequence[str] = (),
    rng: np.random.Generator,
) -> PilotEvidence:
    """What pilots say. Hard votes are those given, or the pilots' own answers of kind `choice`; likewise similarity
    judgments.

    `timed` are kinds whose times are given; every other kind of a pilot must have times. Rich kinds are compared with
    votes about the same items; without votes, with the top classes of their own answers.
    """
    found: dict[str, list[Annotations]] = {}
    for pilot in pilots:
        if not len(pilot):
            fix = "collect some answers first, or omit the pilot to use published values"
            raise no_rows("a pilot with at least one answer", fix, pilot.path)
        for kind in kinds_in(pilot):
            found.setdefault(kind, []).append(pilot.of_kind(kind).for_purposes("label"))
    by_kind = {kind: _joined(tables) for kind, tables in found.items()}
    times = {kind: _time(kind, table) for kind, table in by_kind.items() if kind not in timed}
    if similarities is None and "similarity" in by_kind:
        similarities = Similarities.of(by_kind["similarity"])
    if votes is None and HARD in by_kind:
        votes = by_kind[HARD]
    notes = [f"{kind}: {len(table):,} answers about {len(table.item.names):,} items" for kind, table in by_kind.items()]
    if isinstance(votes, SoftLabels) and votes.n_annotators is not None:
        notes.append(f"votes: {int(votes.n_annotators.sum()):,} about {len(votes):,} items")
    labeled_kinds = [kind for kind, _ in DEFAULT_LABELERS]
    rates, errors, n_classes = {}, dict[str, TripletError](), 0
    for kind, table in by_kind.items():
        if kind not in labeled_kinds:
            continue
        beliefs = label_by_default(table)
        n_classes = max(n_classes, len(beliefs.classes))
        if kind == HARD:
            continue
        rates[kind] = exchange_rates(beliefs, votes, kind=kind, similarities=similarities, truth=truth, rng=rng)
        matched = MatchedAnswers.of(beliefs, votes)
        counted = triplet_errors(matched, kind=kind, similarities=similarities, rng=rng)
        errors |= {error.kind: error for error in counted.errors}
        if votes is None:
            notes.append(f"{kind}: no votes to compare with; each answer is compared with its own top class")
    return PilotEvidence(
        times, rates, errors, tuple(by_kind), max((len(table.item.names) for table in by_kind.values()), default=0),
        n_classes, tuple(notes),
    )  # fmt: skip


def _joined(tables: Sequence[Annotations]) -> Annotations:
    """The answers of several files of one kind as one table; their classes must be equal."""
    if len(tables) == 1:
        return tables[0]
    for table in tables[1:]:
        if table.classes != tables[0].classes:
            raise BadTable(
                f"the classes {listing(list(table.classes)) or 'none'}",
                f"those of the first pilot of this kind: {listing(list(tables[0].classes)) or 'none'}",
                "compare studies with different classes one by one",
                "different-classes",
                table.path,
            )
    whole = pa.concat_tables([table.to_arrow().replace_schema_metadata(None) for table in tables])
    return Annotations.from_arrow(whole, tables[0].classes)


def _time(kind: str, table: Annotations) -> KindTime:
    if np.isfinite(seconds_of(table)).any():
        return measured_times(table)[kind]
    usual = DEFAULT_TIMES[kind].mean_seconds() if kind in DEFAULT_TIMES else 10
    raise BadTable(
        f"{len(table):,} answers of kind {kind} without a time",
        "times, to compute the cost of an answer",
        f"give its mean time (usual: --seconds {kind}={usual:.1f}), or record times",
        "no-times",
        ErrorLocation(str(table.path) if table.path else None, column="seconds"),
    )
