"""Items of labels as exhibits: how they look, their distributions, and how many people said what."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from sfumato.labeling.agreement.item_answers import leading
from sfumato.reporting.blocks import Columns, as_columns
from sfumato.reporting.gallery import Bar, ItemCard, looks_of
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.soft_labels import SoftLabels

MOST_BARS = 4
LEAST_SHARE = 0.005
NEAR_WHOLE = 0.02
"""How far from whole numbers shares times people may be, to be taken for counts."""


def exhibits(
    evidence: ReportInputs,
    labels: SoftLabels,
    rows: Sequence[int],
    *,
    notes: Sequence[str] = (),
    marked: Sequence[str | None] = (),
) -> tuple[ItemCard, ...]:
    """The items in these rows of `labels`. `marked` names a class an item to be set apart, such as the original one."""
    items = [labels.items[row].as_py() for row in rows]
    counts = counts_of(evidence.judged, labels, rows)
    looks = looks_of(items, evidence.inputs, evidence.study)
    made = []
    for i, row in enumerate(rows):
        own = marked[i] if i < len(marked) else None
        bars = _bars(labels.probs[row], labels.classes, None if counts is None else counts[i], own)
        made.append(ItemCard(items[i], looks[i], bars, notes[i] if i < len(notes) else ""))
    return tuple(made)


def numbers_of(labels: SoftLabels, rows: Sequence[int]) -> Columns:
    """The distributions behind exhibits, one row an item, one column a class."""
    index = list(rows)
    columns = {"item": [labels.items[row].as_py() for row in index]}
    return as_columns({**columns, **{f"p:{name}": labels.probs[index, k] for k, name in enumerate(labels.classes)}})


def counts_of(
    beliefs: Beliefs | None, labels: SoftLabels, rows: Sequence[int]
) -> Int[np.ndarray, "asked classes"] | None:
    """How many people put each class first: from their answers, else from shares that are those of so many people.

    Of classes that tie within an answer the first counts. None where nothing says.
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
    """How many people put each class first, an item a row, in the order of the beliefs' own items.

    Of a person who answered about an item several times, the first answer counts.
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
    kept = [k for i, k in enumerate(order) if (i < MOST_BARS and probs[k] >= LEAST_SHARE) or classes[k] == marked]
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
