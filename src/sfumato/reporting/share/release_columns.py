"""The columns of exported tables: their meanings and their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from sfumato.aggregation.adaptive_study import study_doubt
from sfumato.reporting.item_votes import ItemVotes, measured_labels, only_some
from sfumato.reporting.phrases import NOT_IDENTIFIABLE, dissent_sentence
from sfumato.reporting.share.release import Release
from sfumato.tables.class_order import scale_text
from sfumato.tables.columns import WIDE_PREFIX
from sfumato.tables.doubt import entropy
from sfumato.tables.estimand import ESTIMAND_COLUMN, Estimand
from sfumato.tables.shifted_times import RULE, TIMES, are_shifted
from sfumato.tables.soft_labels import SoftLabels

MEANINGS: Mapping[str, str] = {
    "item": "the id of the item, as text: `007` and `7` are two items",
    "image": "the image",
    "text": "the text",
    "split": "the split of the item",
    "label": "the most probable class; for ties, the first. The uncertainty is in the probabilities",
    "probs": "the probability of each class, in the order of the classes; a row sums to 1",
    "p:CLASS": "the probability of CLASS, one column per class; a row sums to 1",
    "n_annotators": "the number of annotators of the row: 0 for a prediction, empty if unknown",
    "entropy": "-sum p ln p of the probabilities, in nats: 0 if one class has all probability (as for a single vote), "
    "at most ln(number of classes)",
    ESTIMAND_COLUMN: "what the probabilities estimate: `judgment` (how people judge), `truth` or `prediction`",
}
COUNT_MEANINGS: Mapping[str, str] = {
    "item": MEANINGS["item"],
    "counts": "the number of votes for each class, in the order of the classes",
    "n:CLASS": "the number of votes for CLASS, one column per class",
}
BELIEF_MEANINGS: Mapping[str, str] = {
    "item": MEANINGS["item"],
    "annotator": "the id of the annotator, as in the answers",
    "label": MEANINGS["label"],
    "probs": "the probability that this annotator gives each class",
    "p:CLASS": "the probability that this annotator gives to CLASS",
}
ANSWER_MEANINGS: Mapping[str, str] = {
    "item": MEANINGS["item"],
    "annotator": BELIEF_MEANINGS["annotator"],
    "kind": "the question type with its version",
    "payload": "the answer as given, as JSON",
    "trial": "position in the annotator's sequence",
    "purpose": "why it was shown: `label`, `check` or `repeat`",
    "started_at": "when it was shown (UTC)",
    "submitted_at": "when it was answered (UTC)",
    "seconds": "time per answer",
}
UNKNOWN_ESTIMAND = "The file does not record whether the labels estimate how people judge or what is true."


def answer_meanings(release: Release) -> Mapping[str, str]:
    """The meaning of the columns of the answers."""
    if release.annotations is None or not are_shifted(release.annotations):
        return ANSWER_MEANINGS
    return {**ANSWER_MEANINGS, **{name: f"{ANSWER_MEANINGS[name]}, {RULE}" for name in TIMES}}


def label_columns(release: Release, rows: Int[np.ndarray, "rows"], *, wide: bool) -> dict[str, Any]:
    """The columns of some rows of the labels, without images; `wide` has one column per class instead of `probs`."""
    labels = release.labels
    probs = labels.probs[rows]
    columns: dict[str, Any] = {"item": labels.items.take(pa.array(rows))}
    if release.inputs is not None and release.inputs.texts is not None:
        columns["text"] = pa.array([release.inputs.texts[row] for row in rows.tolist()], pa.string())
    if wide and release.split is not None:
        columns["split"] = release.split.names.take(pa.array(release.split.codes[rows]))
    number = probs.argmax(axis=1)
    if wide:
        columns["label"] = pa.array(labels.classes, pa.string()).take(pa.array(number))
        columns |= {WIDE_PREFIX + name: pa.array(probs[:, k]) for k, name in enumerate(labels.classes)}
    else:
        columns["label"] = pa.array(number, pa.int64())
        columns["probs"] = pa.FixedSizeListArray.from_arrays(pa.array(probs.ravel()), len(labels.classes))
    counts = labels.n_annotators
    columns["n_annotators"] = (
        pa.nulls(len(rows), pa.int32()) if counts is None else pa.array(counts[rows].astype(np.int32))
    )
    columns["entropy"] = pa.array(entropy(probs))
    if wide and labels.estimand is not None:
        columns[ESTIMAND_COLUMN] = pa.array([labels.estimand.value] * len(rows), pa.string())
    return columns


def summary(release: Release) -> list[str]:
    """The release in a few sentences: items, estimand, annotators and entropy."""
    labels = release.labels
    scale = f", ordered: {scale_text(labels.classes)}" if labels.is_ordered else ""
    sentences = [
        f"{len(labels):,} items, {len(labels.classes):,} classes{scale}.",
        UNKNOWN_ESTIMAND if labels.estimand is None else f"The labels estimate {labels.estimand.meaning}.",
    ]
    if labels.estimand is Estimand.JUDGMENT:
        sentences.append("They keep people's uncertainty: more annotators make them more precise, not more certain.")
    if labels.n_annotators is not None:
        counts = labels.n_annotators
        span = f"{int(counts.min()):,} to {int(counts.max()):,}"
        sentences.append(f"Annotators per item: {span}, {float(counts.mean()):.1f} on average.")
        if (counts == 0).any():
            sentences.append(f"{int((counts == 0).sum()):,} rows have no annotators: they are predictions.")
    measured = measured_labels(labels)
    people = release.counts if release.beliefs is None else release.beliefs
    if measured.any():
        nats, some = entropy(labels.probs[measured]).mean(), only_some(measured)
        only = some and f", over {some}"
        sentences.append(f"Mean entropy {nats:.3f} nats, of at most {np.log(len(labels.classes)):.3f}{only}.")
    else:
        sentences.append(NOT_IDENTIFIABLE)
    if people is not None and len(people):
        sentences += [dissent_sentence(found)] if (found := study_doubt(people)).dissent is not None else []
        sentences.append(ItemVotes.of(people).disagreement())
    return sentences


def class_rows(labels: SoftLabels) -> list[tuple[str, int, float]]:
    """Every class with the number of items for which it is most probable, and its share of all probability."""
    counts = np.bincount(labels.probs.argmax(axis=1), minlength=len(labels.classes))
    shares = labels.probs.mean(axis=0)
    return [(name, int(counts[k]), float(shares[k])) for k, name in enumerate(labels.classes)]
