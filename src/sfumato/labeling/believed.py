"""Answers as distributions over a study's classes, for a server that looks at what people say while they say it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from jaxtyping import Float

from sfumato.elicitation.kind import Kind, label_of
from sfumato.labeling.labelled import label_by_default
from sfumato.tables.annotations import Annotations


def beliefs_of_payloads(
    kind: Kind, payloads: Sequence[Any], classes: tuple[str, ...]
) -> Float[np.ndarray, "answers classes"]:
    """What each answer, as plain JSON values, says of the classes, by the kind's usual labeler.

    An answer that says nothing of them has no mass; "none of these" is a belief, but in none of the study's classes.
    """
    if kind.name == "choice":
        number = {name: k for k, name in enumerate(classes)}
        return np.eye(len(classes))[[number[each["class"]] for each in payloads]]
    numbers = [str(i) for i in range(len(payloads))]
    table = pa.table(
        {
            "item": numbers,
            "annotator": numbers,
            "kind": [label_of(kind)] * len(payloads),
            "payload": [msgspec.json.encode(each).decode() for each in payloads],
        }
    )
    beliefs = label_by_default(Annotations.from_arrow(table, classes), classes)
    rows = np.zeros((len(payloads), len(classes)))
    kept = np.array([int(each) for each in beliefs.item.names.to_pylist()], np.int64)[beliefs.item.codes]
    rows[kept] = beliefs.probs[:, : len(classes)]
    return rows
