"""Evidence: what pilots say about kinds of label: how long answers take, what they are worth, how often they err."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sfumato.labeling.default_labeler import USUAL_LABELERS, kinds_in, label_by_default
from sfumato.planning.answer_times import KindTime, measured_times, seconds_of
from sfumato.planning.costs import DEFAULT_TIMES
from sfumato.planning.exchange_estimates import exchange_rates
from sfumato.planning.exchange_rates import ExchangeRates
from sfumato.planning.informativeness.triplet_errors import TripletError, triplet_errors
from sfumato.planning.label_quality import Similarities
from sfumato.planning.matched_answers import MatchedAnswers
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadTable, ErrorLocation, listing
from sfumato.tables.soft_labels import SoftLabels

Votes = Beliefs | Annotations | SoftLabels
HARD = "choice"


@dataclass(frozen=True)
class PilotEvidence:
    """What was measured, by kind; `notes` say of what, in sentences. Empty where there was no pilot."""

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
    """What pilots say. Hard votes are those given, or the pilots' own answers of kind `choice`; similarity judgments
    those given, or the pilots' own.

    `timed` are kinds whose times the caller knows; every other kind of a pilot must have some. Rich kinds are compared
    with votes about the same items; where there are no votes, with the classes that their own answers lead with.
    """
    found: dict[str, list[Annotations]] = {}
    for pilot in pilots:
        if not len(pilot):
            raise _empty(pilot)
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
    labelling = [kind for kind, _ in USUAL_LABELERS]
    rates, errors, n_classes = {}, dict[str, TripletError](), 0
    for kind, table in by_kind.items():
        if kind not in labelling:
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
            notes.append(f"{kind}: no votes to compare with; each answer is compared with the class it leads with")
    return PilotEvidence(
        times, rates, errors, tuple(by_kind), max((len(table.item.names) for table in by_kind.values()), default=0),
        n_classes, tuple(notes),
    )  # fmt: skip


def _joined(tables: Sequence[Annotations]) -> Annotations:
    """The answers of several files about one kind as one table; they must have been asked about the same classes."""
    if len(tables) == 1:
        return tables[0]
    for table in tables[1:]:
        if table.classes != tables[0].classes:
            raise BadTable(
                f"found the classes {listing(list(table.classes)) or 'none'}",
                expected=f"those of the first pilot of this kind: {listing(list(tables[0].classes)) or 'none'}",
                fix="compare studies with different classes one by one",
                code="different-classes",
                where=ErrorLocation(str(table.path) if table.path else None),
            )
    whole = pa.concat_tables([table.to_arrow().replace_schema_metadata(None) for table in tables])
    return Annotations.from_arrow(whole, tables[0].classes)


def _time(kind: str, table: Annotations) -> KindTime:
    if np.isfinite(seconds_of(table)).any():
        return measured_times(table)[kind]
    usual = DEFAULT_TIMES[kind].mean_seconds() if kind in DEFAULT_TIMES else 10
    raise BadTable(
        f"found {len(table):,} answers of kind {kind} without a time",
        expected="times, to know what an answer costs",
        fix=f"give its mean time: --seconds {kind}={usual:.1f} is what is usual, or record times",
        code="no-times",
        where=ErrorLocation(str(table.path) if table.path else None, column="seconds"),
    )


def _empty(pilot: Annotations) -> BadTable:
    return BadTable(
        "found no rows",
        expected="a pilot with at least one answer",
        fix="ask some people about some items first, or leave the pilot out: published figures are used then",
        code="no-rows",
        where=ErrorLocation(str(pilot.path) if pilot.path else None),
    )
