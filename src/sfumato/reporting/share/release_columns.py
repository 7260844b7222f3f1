"""The columns of what is shared: what each means, and how it is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from sfumato.reporting.share.release import Release, most_probable, texts_of
from sfumato.tables.doubt import entropy
from sfumato.tables.probabilities import WIDE_PREFIX
from sfumato.tables.soft_labels import Estimand

MEANINGS: Mapping[str, str] = {
    "item": "the id of the item, as text: `007` and `7` are two items",
    "image": "the picture",
    "text": "the text",
    "split": "the part of the set that the item belongs to",
    "label": "the most probable class; among equals the one that stands first. The doubt is in the probabilities",
    "probs": "the probability of each class, in the order of the classes; a row sums to 1",
    "p:CLASS": "the probability of CLASS, one column a class; a row sums to 1",
    "n_annotators": "how many people stand behind the row: 0 for a prediction, empty where nobody said",
    "entropy": "-sum p ln p of the probabilities, in nats: 0 where all is sure, ln(number of classes) where nothing is",
}
BELIEF_MEANINGS: Mapping[str, str] = {
    "item": MEANINGS["item"],
    "annotator": "who answered, by the id that stands with the answers",
    "label": MEANINGS["label"],
    "probs": "the probability that this person gives each class",
    "p:CLASS": "the probability that this person gives to CLASS",
}
ANSWER_MEANINGS: Mapping[str, str] = {
    "item": MEANINGS["item"],
    "annotator": BELIEF_MEANINGS["annotator"],
    "kind": "how it was asked, with the version of the form",
    "payload": "the answer exactly as given, as JSON",
    "trial": "position in that person's sequence",
    "purpose": "why it was shown: `label`, `check` or `repeat`",
    "started_at": "when it was shown (UTC)",
    "submitted_at": "when it was answered (UTC)",
    "seconds": "time on the answer",
}
UNSAID = "Whether the labels say how people judge or how probable each class is to be true, their file does not record."


def labelled_columns(release: Release, rows: Int[np.ndarray, "rows"], *, wide: bool) -> dict[str, Any]:
    """The columns of some rows of the labels, pictures apart; `wide` has one column a class instead of `probs`."""
    labels = release.labels
    probs = labels.probs[rows]
    columns: dict[str, Any] = {"item": labels.items.take(pa.array(rows))}
    if release.inputs is not None and release.inputs.texts is not None:
        columns["text"] = texts_of(release.inputs, rows)
    if wide and release.split is not None:
        columns["split"] = release.split.names.take(pa.array(release.split.codes[rows]))
    number = most_probable(labels, rows)
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
    return columns


def summary(release: Release) -> list[str]:
    """The release in a few sentences: how many items, what the labels say, who stands behind them."""
    labels = release.labels
    said = [
        f"{len(labels):,} items, {len(labels.classes):,} classes.",
        UNSAID if labels.estimand is None else f"The labels say {labels.estimand.value}.",
    ]
    if labels.estimand is Estimand.PEOPLE:
        said.append("They keep people's doubt: asking more people does not make them surer.")
    if labels.n_annotators is not None:
        counts = labels.n_annotators
        between = f"{int(counts.min()):,} to {int(counts.max()):,}"
        said.append(f"People behind an item: {between}, {float(counts.mean()):.1f} on average.")
        if (counts == 0).any():
            said.append(f"{int((counts == 0).sum()):,} rows have nobody behind them: they are predictions.")
    nats = entropy(labels.probs)
    said.append(f"Mean entropy {nats.mean():.3f} nats, of at most {np.log(len(labels.classes)):.3f}.")
    return said


def class_rows(release: Release) -> list[tuple[str, int, float]]:
    """Every class with the number of items whose most probable class it is, and its share of all probability."""
    labels = release.labels
    counts = np.bincount(most_probable(labels, np.arange(len(labels))), minlength=len(labels.classes))
    shares = labels.probs.mean(axis=0)
    return [(name, int(counts[k]), float(shares[k])) for k, name in enumerate(labels.classes)]
