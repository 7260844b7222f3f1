"""A pilot read for `sfumato plan labels`: its answers as kinds of label, with noise, dimensions and mean seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.labeling.default_labeler import kinds_in, label_by_default
from sfumato.planning.answer_times import measured_times
from sfumato.planning.costs import CostModel
from sfumato.planning.informativeness.label_types import HardLabels, LabelSet, SoftLabelType, SparseLabels
from sfumato.planning.informativeness.question_signals import Graded
from sfumato.planning.pilot_answers import Pilot
from sfumato.planning.pilot_geometry import (
    FEWEST_ITEMS,
    UNKNOWN_DIMENSIONS,
    DimensionEstimate,
    KindAnswers,
    NoiseEstimate,
    PilotGeometry,
    dimensions_from_pilot,
    noise_from_pilot,
)
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.errors import BadTable, SfumatoError, listing
from sfumato.tables.soft_labels import SoftLabels

PilotTable = Annotations | Beliefs | Counts | SoftLabels
LABEL_OF = {
    "choice": "hard",
    "top_two": "sparse:2",
    "tokens": "sparse:3",
    "sliders": "soft",
    "plausible": "soft",
    "similarity": "similarity",
    "triplet": "triplet",
}
"""The kind of label that each kind of question asks for; others do not label items."""
MOST_VOTES = 20
"""Votes per item that are used of a table of counts."""


@dataclass(frozen=True)
class PilotSummary:
    """A pilot: its numbers of items and classes, and what it shows about the task."""

    n_items: int
    n_classes: int
    geometry: PilotGeometry


def read_pilot(
    tables: Sequence[PilotTable],
    *,
    dimensions: Sequence[int] | None = None,
    costs: CostModel | None = None,
    rng: np.random.Generator,
) -> PilotSummary:
    """What pilots show: noise for every kind of label asked about twice, dimensions, and mean seconds per answer.

    `dimensions` are used as given. Seconds are means over sessions of the batch size of `costs`.
    """
    parts: dict[str, list[KindAnswers]] = {}
    seconds: dict[str, float] = {}
    notes: list[str] = []
    n_items, classes = 0, tuple[str, ...]()
    for table in tables:
        for name, answers, names in _parts(table):
            if classes and tuple(names) != classes:
                raise BadTable(
                    f"the classes {listing(list(names))}", f"those of the first pilot: {listing(list(classes))}",
                    "plan for one set of classes at a time", "different-classes", getattr(table, "path", None),
                )  # fmt: skip
            classes = tuple(names)
            n_items = max(n_items, len(np.unique(answers.item)))
            parts.setdefault(name, []).append(answers)
        seconds |= _seconds(table, costs or CostModel())
    n_classes = len(classes)
    usable = {name: max(each, key=lambda a: len(a.items_twice)) for name, each in parts.items()}
    twice = {name: each for name, each in usable.items() if len(each.items_twice) >= FEWEST_ITEMS}
    notes += [f"{name}: too few items with two answers to estimate noise" for name in usable if name not in twice]
    estimate = _dimensions(twice, n_classes, rng) if dimensions is None else None
    used = tuple(dimensions) if dimensions is not None else estimate.values if estimate else UNKNOWN_DIMENSIONS
    noise: dict[str, NoiseEstimate] = {
        name: noise_from_pilot(each, n_items, n_classes, used, rng) for name, each in twice.items()
    }
    return PilotSummary(n_items, n_classes, PilotGeometry(noise, estimate, seconds, tuple(notes)))


def _dimensions(answers: dict[str, KindAnswers], n_classes: int, rng: np.random.Generator) -> DimensionEstimate | None:
    """From the kind that names most classes."""
    if not answers:
        return None
    richest = max(answers.values(), key=lambda each: (each.kind.kept_classes(n_classes), each.answers_per_item))
    return dimensions_from_pilot(richest, n_classes, rng)


def _parts(table: PilotTable) -> list[tuple[str, KindAnswers, Sequence[str]]]:
    """The answers about classes, by kind of label, with their classes."""
    if isinstance(table, Counts | SoftLabels):
        return [("hard", _of_counts(Pilot.of(table).counts), table.classes)]
    if isinstance(table, Beliefs):
        return [_of_beliefs(table, "soft" if (np.asarray(table.probs).max(axis=1) < 1).any() else "hard", None)]
    found = []
    for kind in kinds_in(table):
        if kind in LABEL_OF and LABEL_OF[kind] not in ("similarity", "triplet"):
            signal = Graded() if kind == "plausible" else None
            for purposes in (("label",), ("label", "repeat")):
                asked = table.of_kind(kind).for_purposes(*purposes)
                part = _of_beliefs(_within(label_by_default(asked), table.classes), LABEL_OF[kind], signal)
                # Second answers of the same person are used if items have no answers of two people.
                if len(part[1].items_twice) >= FEWEST_ITEMS:
                    break
            found.append(part)
    return found


def _within(beliefs: Beliefs, classes: Sequence[str]) -> Beliefs:
    """The beliefs about the study's classes, without the share of "none of these"."""
    n = len(classes) or len(beliefs.classes)
    if n == len(beliefs.classes):
        return beliefs
    kept = beliefs.take(np.asarray(beliefs.probs)[:, :n].sum(axis=1) > 0)
    within = np.asarray(kept.probs)[:, :n]
    items, annotators = kept.item.text().to_pylist(), kept.annotator.text().to_pylist()
    return Beliefs.from_numpy(items, annotators, within / within.sum(axis=1, keepdims=True), beliefs.classes[:n])


def _of_beliefs(beliefs: Beliefs, name: str, kind: LabelSet | None) -> tuple[str, KindAnswers, Sequence[str]]:
    k = len(beliefs.classes)
    kinds: dict[str, LabelSet] = {"hard": HardLabels(), "soft": SoftLabelType()}
    signal = kind or kinds.get(name) or SparseLabels(min(int(name.partition(":")[2]), k))
    coded = beliefs.coded()
    answers = KindAnswers(
        signal,
        signal.labels(np.asarray(coded.probs(), np.float64)),
        np.asarray(coded.item),
        np.asarray(coded.annotator),
    )
    return name, answers, beliefs.classes


def _of_counts(counts: np.ndarray) -> KindAnswers:
    """Votes of unknown people, at most 20 per item."""
    whole = np.rint(counts).astype(np.int64)
    item, named = np.nonzero(whole)
    rows = np.repeat(np.arange(len(item)), np.minimum(whole[item, named], MOST_VOTES))
    item, named = item[rows], named[rows]
    return KindAnswers(HardLabels(), np.eye(counts.shape[1])[named], item, np.arange(len(item)))


def _seconds(table: PilotTable, costs: CostModel) -> dict[str, float]:
    """The mean seconds per answer in a session, by kind of label; none if the table has no times."""
    if not isinstance(table, Annotations):
        return {}
    try:
        times = measured_times(table.for_purposes("label"))
    except SfumatoError as error:
        if error.code != "no-times":
            raise
        return {}
    return {LABEL_OF[kind]: time.mean_seconds(costs.batch_size) for kind, time in times.items() if kind in LABEL_OF}
