"""The default labeler of each kind of question. Used where nobody chooses one: planning, payment, the dashboard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import msgspec
import numpy as np
from jaxtyping import Float

from sfumato.elicitation.kind import Kind, label_of
from sfumato.labeling.kind_labelers import (
    MixtureLabeler,
    OneHot,
    PlausibleWeighted,
    SlidersLabeler,
    TokensLabeler,
    TypicalityLabeler,
)
from sfumato.labeling.labeler import AnswerFault, Labeler, Probs
from sfumato.labeling.top_two_labelers import TopTwoClamp, bad_percents, has_bad_percents
from sfumato.tables.annotations import Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadSetting, BadTable, ErrorLocation, InvalidAnswer, listing
from sfumato.tables.payloads import payload_kind


class DefaultLabeler(Labeler, Protocol):
    """A labeler that also reads single answers, without a table."""

    def probs(self, answers: list[Any], index: dict[str, int]) -> Probs: ...


DEFAULT_LABELERS: tuple[tuple[str, DefaultLabeler], ...] = (
    ("choice", OneHot()),
    ("top_two", TopTwoClamp()),
    ("plausible", PlausibleWeighted()),
    ("sliders", SlidersLabeler(zero_is_uniform=True)),
    ("tokens", TokensLabeler()),
    ("typicality", TypicalityLabeler()),
    ("mixture", MixtureLabeler()),
)
"""The default labeler of each kind whose answers are about classes."""


def kinds_in(annotations: Annotations) -> tuple[str, ...]:
    """The names of the kinds of question in a table, without versions."""
    return tuple(dict.fromkeys(label.split("/")[0] for label in annotations.kind.names.to_pylist()))


def label_by_default(annotations: Annotations, classes: Sequence[str] = ()) -> Beliefs:
    """The answers, all of one kind, as beliefs by the kind's default labeler; answers without valid percents are
    skipped. To use another labeler, label the answers yourself and pass the beliefs."""
    kinds = kinds_in(annotations)
    labelers = dict(DEFAULT_LABELERS)
    if len(kinds) != 1 or kinds[0] not in labelers:
        found = f"answers of kind {listing(list(kinds)) or 'none'}"
        expected = f"answers of one kind that is about classes: {listing(list(labelers))}"
        where = ErrorLocation(str(annotations.path) if annotations.path else None, column="kind")
        raise BadTable(found, expected, "choose the answers of one of these kinds", "wrong-kind", where)
    if kinds[0] == "top_two":
        bad = has_bad_percents(annotations)
        annotations = annotations.take(~bad) if bad.any() else annotations
    return labelers[kinds[0]].label(annotations, classes)


def as_votes(annotations: Annotations) -> Beliefs:
    """Answers of any kinds as votes about the same classes: a choice, or the class named first, is one vote; a richer
    answer is split over the classes. The share of "none of these" is dropped."""
    parts = [_votes(annotations.of_kind(label)) for label in annotations.kind.names.to_pylist()]
    if len(parts) == 1:
        return parts[0]
    items = [name for part in parts for name in part.item.text().to_pylist()]
    annotators = [name for part in parts for name in part.annotator.text().to_pylist()]
    probs = np.concatenate([part.probs for part in parts])
    votes = Beliefs.from_numpy(items, annotators, probs, parts[0].classes)
    return replace(votes, row_sources=annotations.row_sources)


def _votes(annotations: Annotations) -> Beliefs:
    """Answers of one kind as votes."""
    if set(kinds_in(annotations)) <= set(OneHot.kinds):
        return OneHot().label(annotations, ())
    beliefs = label_by_default(annotations)
    n_classes = len(annotations.classes) or len(beliefs.classes)
    if n_classes == len(beliefs.classes):
        return beliefs
    within = beliefs.probs[:, :n_classes]
    mass = within.sum(axis=1)
    kept = beliefs.take(mass > 0)
    shares = within[mass > 0] / mass[mass > 0, None]
    votes = Beliefs.from_numpy(
        kept.item.text().to_pylist(), kept.annotator.text().to_pylist(), shares, beliefs.classes[:n_classes]
    )
    return replace(votes, row_sources=annotations.row_sources)


def beliefs_of_payloads(
    kind: Kind, payloads: Sequence[Any], classes: tuple[str, ...]
) -> Float[np.ndarray, "answers classes"]:
    """The belief of each answer (plain JSON values) over the classes, by the kind's default labeler.

    An answer without valid percents is a row of zeros; the share of "none of these" is in none of the classes.
    """
    labelers = dict(DEFAULT_LABELERS)
    if kind.name not in labelers:
        expected = f"answers that are about classes: {listing(list(labelers))}"
        raise BadSetting(f"answers of kind {kind.name}", expected, "use one of these kinds", "wrong-kind")
    labeler = labelers[kind.name]
    read = payload_kind(label_of(kind)).payload
    answers = [msgspec.convert(each, read) for each in payloads]
    kept = [i for i, each in enumerate(answers) if kind.name != "top_two" or not bad_percents(each)]
    rows = np.zeros((len(payloads), len(classes)))
    if not kept:
        return rows
    try:
        probs = labeler.probs([answers[i] for i in kept], {name: k for k, name in enumerate(classes)})
    except AnswerFault as fault:
        raise InvalidAnswer(fault.found, fault.expected, fault.fix, fault.code) from fault
    rows[kept] = probs[:, : len(classes)]
    return rows
