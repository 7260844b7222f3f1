"""Times in files for others: without dates, so that they cannot be matched with the visits that a platform recorded.

The first answer of every annotator starts at 2000-01-01T00:00:00Z; later times keep their distance to it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from sfumato.tables.annotations import SCHEMA, Annotations

START_MS = 946_684_800_000
"""2000-01-01T00:00:00Z in milliseconds since 1970."""
TIMES = ("started_at", "submitted_at")
RULE = (
    "without dates: each annotator's first answer starts at 2000-01-01T00:00:00Z, later times keep their distance to "
    "it, in whole seconds"
)


def shifted(at_ms: int, first_ms: int) -> int:
    """The time `at_ms` of an annotator whose first answer started at `first_ms`, in whole seconds."""
    return START_MS + (at_ms - first_ms) // 1000 * 1000


def rounded(seconds: float) -> float:
    """A duration to the tenth of a second."""
    return round(seconds, 1)


def shift_times(annotations: Annotations) -> Annotations:
    """The answers with shifted times, and their seconds to the tenth; times that are missing stay missing."""
    who = annotations.annotator.codes
    columns = [_milliseconds(getattr(annotations, name)) for name in TIMES]
    first = np.full(len(annotations.annotator.names), np.iinfo(np.int64).max)
    for times, is_known in columns:
        np.minimum.at(first, who[is_known], times[is_known])
    moved = {}
    for name, (times, is_known) in zip(TIMES, columns, strict=True):
        values = START_MS + (times - first[who]) // 1000 * 1000
        moved[name] = pa.chunked_array([pa.array(values, mask=~is_known).cast(SCHEMA.field(name).type)])
    seconds: Float[np.ndarray, "rows"] = np.round(annotations.seconds, 1)
    return replace(annotations, **moved, seconds=seconds)


def are_shifted(annotations: Annotations) -> bool:
    """Whether the times have no dates: those of every annotator begin at the fixed one."""
    who = annotations.annotator.codes
    columns = [_milliseconds(getattr(annotations, name)) for name in TIMES]
    timed = np.concatenate([who[is_known] for _, is_known in columns])
    begun = np.concatenate([who[is_known & (times == START_MS)] for times, is_known in columns])
    return len(timed) > 0 and set(timed.tolist()) == set(begun.tolist())


def _milliseconds(column: pa.ChunkedArray) -> tuple[Int[np.ndarray, "rows"], np.ndarray]:
    """A column of times as whole numbers, and which are known."""
    whole = column.cast(pa.int64())
    return whole.fill_null(0).to_numpy(), whole.is_valid().to_numpy()
