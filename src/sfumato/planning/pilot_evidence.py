"""What pilots say about kinds of label: how long answers take, how many votes they are worth, and how often their
triplets "a is nearer to b than to c" are false. Called by `sfumato plan compare`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float

from sfumato.labeling.default_labeler import DEFAULT_LABELERS, kinds_in, label_by_default
from sfumato.planning.costs import DEFAULT_TIMES, LEARNED_AFTER, KindTime
from sfumato.planning.exchange_estimates import MatchedAnswers, exchange_rates
from sfumato.planning.exchange_rates import ExchangeRates
from sfumato.planning.informativeness.answered_triplets import (
    RankedLists,
    channel_capacity,
    flip_rate,
    information_ratio,
)
from sfumato.planning.label_quality import Similarities, evenly_spread
from sfumato.planning.recorded_answers import places_in_order
from sfumato.tables.annotations import Annotations
from sfumato.tables.base_table import RecordTable
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.doubt import entropy
from sfumato.tables.errors import BadTable, ErrorLocation, SfumatoError, listing, no_rows
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


OPEN_PAGE = 50.0
"""Pages open for more than this multiple of the median are not counted."""
LEAST_ANSWERS = 200
LEAST_ITEMS = 50


def measured_times(annotations: Annotations) -> dict[str, KindTime]:
    """The times of every kind in a pilot that has times, by kind name.

    Means, not medians, because the time that people took is paid. Answers that took more than 50 times the kind's
    median are left out: the page was left open. With 200 answers and an order of trials, a learning curve is fitted;
    with 50 items and answers that name classes, the time per nat of uncertainty, from the items' mean times and the
    entropy of their pooled labels.
    """
    result = {}
    for label in annotations.kind.names.to_pylist():
        table = annotations.of_kind(label)
        table = replace(table, seconds=seconds_of(table))
        seconds = table.seconds
        timed = np.isfinite(seconds)
        if not timed.any():
            continue
        kept = timed & (seconds <= OPEN_PAGE * np.median(seconds[timed]))
        table = table.take(kept)
        left_out = f", without {timed.sum() - kept.sum():,} pages left open" if (timed & ~kept).any() else ""
        source = f"measured: {len(table):,} answers{left_out}"
        practised, first_ratio, learned_after = _learning(table)
        result[label.split("/")[0]] = KindTime(practised, source, first_ratio, learned_after, _per_nat(table))
    if not result:
        raise BadTable(
            f"{len(annotations):,} answers without a time",
            "a column `seconds`, or the times at which answers were started and submitted",
            "record times, or give the mean time per answer",
            "no-times",
            ErrorLocation(str(annotations.path) if annotations.path else None, column="seconds"),
        )
    return result


def seconds_of(annotations: Annotations) -> Float[np.ndarray, "rows"]:
    """The seconds of every answer: as recorded, else from start to submission; NaN if unknown."""
    begun, ended = (
        each.to_numpy(zero_copy_only=False).astype("datetime64[ms]")
        for each in (annotations.started_at, annotations.submitted_at)
    )
    lasted = (ended - begun) / np.timedelta64(1, "s")
    known = np.where(lasted >= 0, lasted, np.nan)
    return np.asarray(np.where(np.isnan(annotations.seconds), known, annotations.seconds))


def _learning(table: Annotations) -> tuple[float, float, float]:
    """Seconds after learning, the ratio of the first answer, and the learning rate; constant if the data cannot say."""
    from scipy.optimize import OptimizeWarning, curve_fit

    seconds = table.seconds
    mean = float(seconds.mean())
    if len(table) < LEAST_ANSWERS or table.trial.null_count:
        return mean, 1.0, LEARNED_AFTER
    place = places_in_order(table.annotator.codes, table.trial.to_numpy()).astype(np.float64)
    if place.max() < 5:
        return mean, 1.0, LEARNED_AFTER

    def curve(t: np.ndarray, practised: float, ratio: float, after: float) -> np.ndarray:
        return np.asarray(practised * (1 + (ratio - 1) * np.exp(-t / after)))

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", OptimizeWarning)
            bounds = ([0.0, 0.2, 0.5], [np.inf, 10.0, float(place.max())])
            found, _ = curve_fit(curve, place, seconds, p0=(mean, 1.5, LEARNED_AFTER), bounds=bounds)
    except (RuntimeError, ValueError, OptimizeWarning):
        return mean, 1.0, LEARNED_AFTER
    shape = KindTime(1.0, "", float(found[1]), float(found[2]))
    # Keep the observed mean exactly, regardless of the fit.
    learning = 1 + (shape.first_ratio - 1) * np.exp(-place / shape.learned_after)
    return mean / float(learning.mean()), shape.first_ratio, shape.learned_after


def _per_nat(table: Annotations) -> float:
    """The relative change of an item's mean time per nat of entropy; 0 if answers are not distributions."""
    try:
        beliefs = label_by_default(table)
    except SfumatoError:
        return 0.0
    coded = beliefs.coded()
    n_each = np.bincount(coded.item, minlength=coded.n_items)
    if (n_each > 0).sum() < LEAST_ITEMS or len(beliefs) != len(table):
        return 0.0

    def mean_of(values: np.ndarray) -> np.ndarray:
        return np.bincount(coded.item, values, minlength=coded.n_items)[n_each > 0] / n_each[n_each > 0]

    nats = entropy(np.stack([mean_of(p) for p in coded.probs().T], axis=1))
    mean = mean_of(table.seconds)
    return float(np.polyfit(nats, mean, 1)[0] / mean.mean()) if np.ptp(nats) > 0 else 0.0
