"""Panels: votes read three at a time as one person's yes, no and unsure."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import BadTable
from sfumato.tables.soft_labels import SoftLabels

PANEL = 3
"""Votes that represent one person."""
ANNOTATIONS_PER_IMAGE = {3: 26, 4: 341, 5: 849, 6: 2620, 7: 1399, 8: 271, 9: 14, 10: 10}
"""How many pictures of soft-digits have this number of answers (Table 6)."""
KIND = "plausible/1"


def panel_answers(votes: SoftLabels, items: tuple[str, ...], rng: np.random.Generator) -> Annotations:
    """Answers as soft-digits asked for them, made of the votes on `items`, none of which is used twice.

    Three votes are one person. The class that two or three of them name is a yes; a class named once is unsure, and so
    are all three where they differ; the rest is no. With unsure counting half, a panel's label is then the share of its
    votes (2 to 1 is 1 to 1/2), and so `weighted` is the share of all votes drawn; `equal` forgets which of a panel's
    classes was named twice. Each item has as many panels as a random picture of soft-digits has answers.
    """
    counts = _counts(votes, items)
    sizes = np.repeat(list(ANNOTATIONS_PER_IMAGE), list(ANNOTATIONS_PER_IMAGE.values()))
    n_panels = np.minimum(rng.choice(sizes, len(items)), counts.sum(axis=1) // PANEL)
    rows: dict[str, list[str]] = {"item": [], "annotator": [], "payload": []}
    for item, own, n in zip(items, counts, n_panels.tolist(), strict=True):
        drawn = rng.permutation(np.repeat(np.arange(len(own)), own))[: n * PANEL].reshape(n, PANEL)
        rows["item"] += [item] * n
        rows["annotator"] += [str(k) for k in range(n)]
        rows["payload"] += [_payload(panel, votes.classes) for panel in drawn]
    rows["kind"] = [KIND] * len(rows["item"])
    return Annotations.from_arrow(pa.table(rows), votes.classes)


def _payload(panel: Int[np.ndarray, "votes"], classes: tuple[str, ...]) -> str:
    times = np.bincount(panel, minlength=len(classes))
    return json.dumps(
        {name: "yes" if n > 1 else "unsure" if n else "no" for name, n in zip(classes, times, strict=True)}
    )


def _counts(votes: SoftLabels, items: tuple[str, ...]) -> Int[np.ndarray, "items classes"]:
    if votes.n_annotators is None:
        raise BadTable(
            "found labels without the number of votes behind them",
            expected="votes that can be counted",
            fix="give the published counts",
            code="no-counts",
        )
    rows = votes.rows_of(items)
    return np.asarray(np.rint(votes.probs[rows] * votes.n_annotators[rows, None]), np.int64)
