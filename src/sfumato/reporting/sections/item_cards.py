"""Item cards for galleries: the image or text of an item, its distribution, and its vote counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from sfumato.labeling.agreement.item_answers import leading
from sfumato.reporting.blocks import Columns, as_columns
from sfumato.reporting.gallery import Bar, ItemCard, thumbnails
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.soft_labels import SoftLabels

MAX_BARS = 4
LEAST_SHARE = 0.005
NEAR_WHOLE = 0.02
"""The largest distance from whole numbers at which shares times annotators are shown as counts."""


def item_cards(
    evidence: ReportInputs,
    labels: SoftLabels,
    rows: Sequence[int],
    *,
    notes: Sequence[str] = (),
    marked: Sequence[str | None] = (),
) -> tuple[ItemCard, ...]:
    """The items in these rows of `labels`. `marked` is one class per item to highlight, such as the original one."""
    items = [labels.items[row].as_py() for row in rows]
    counts = vote_counts(evidence.judged, labels, rows)
    images = thumbnails(items, evidence.inputs, evidence.study)
    made = []
    for i, row in enumerate(rows):
        own = marked[i] if i < len(marked) else None
        bars = _bars(labels.probs[row], labels.classes, None if counts is None else counts[i], own)
        made.append(ItemCard(items[i], images[i], bars, notes[i] if i < len(notes) else ""))
    return tuple(made)


def card_columns(labels: SoftLabels, rows: Sequence[int]) -> Columns:
    """The distributions of item cards, one row per item, one column per class."""
    index = list(rows)
    columns = {"item": [labels.items[row].as_py() for row in index]}
    return as_columns({**columns, **{f"p:{name}": labels.probs[index, k] for k, name in enumerate(labels.classes)}})


def vote_counts(
    beliefs: Beliefs | None, labels: SoftLabels, rows: Sequence[int]
) -> Int[np.ndarray, "asked classes"] | None:
    """Annotators per most probable class: from their beliefs, else from shares that are whole counts.

    Of classes that tie within an answer the first counts. None if unknown.
    """
    if beliefs is not None and beliefs.classes == labels.classes:
        place = {name: i for i, name in enumerate(beliefs.item.names.to_pylist())}
        codes = [place.get(labels.items[row].as_py(), -1) for row in rows]
        counts = first_choices(beliefs)
        return np.stack([counts[code] if code >= 0 else np.zeros(counts.shape[1], np.int64) for code in codes])
    if labels.n_annotators is None:
        return None
    index = np.asarray(list(rows), np.int64)
    votes = labels.probs[index] * labels.n_annotators[index][:, None]
    if not len(index) or np.abs(votes - votes.round()).max() > NEAR_WHOLE or not labels.n_annotators[index].all():
        return None
    return np.asarray(votes.round(), np.int64)


def first_choices(beliefs: Beliefs) -> Int[np.ndarray, "items classes"]:
    """Annotators per most probable class, one row per item, in the order of the items in `beliefs`.

    If an annotator answered about an item several times, the first answer counts.
    """
    view = beliefs.coded()
    chosen = view.hard if view.hard is not None else leading(view.probs()).argmax(axis=1)
    _, first = np.unique(view.item.astype(np.int64) * view.n_annotators + view.annotator, return_index=True)
    cell = view.item[first].astype(np.int64) * view.n_classes + chosen[first]
    counts = np.bincount(cell, minlength=view.n_items * view.n_classes)
    return np.asarray(counts.reshape(view.n_items, view.n_classes), np.int64)


def _bars(
    probs: Float[np.ndarray, "classes"],
    classes: Sequence[str],
    counts: Int[np.ndarray, "classes"] | None,
    marked: str | None,
) -> tuple[Bar, ...]:
    order = [int(k) for k in np.argsort(-probs, kind="stable")]
    kept = [k for i, k in enumerate(order) if (i < MAX_BARS and probs[k] >= LEAST_SHARE) or classes[k] == marked]
    n = 0 if counts is None else int(counts.sum())
    return tuple(
        Bar(
            classes[k],
            float(probs[k]),
            f"{int(counts[k])} of {n}" if counts is not None and n else f"{probs[k]:.0%}",
            classes[k] == marked,
        )
        for k in kept
    )
