"""Additional inputs of an aggregation: gold labels, weights of annotators, repeated answers, and where it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int

from sfumato.aggregation.pass_engine import Engine, LocalEngine, Progress, quiet
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.column_reader import read_columns
from sfumato.tables.errors import BadSetting, BadTable, listing, show, warn
from sfumato.tables.files.table_file import read_rows
from sfumato.tables.soft_labels import SoftLabels


@dataclass(frozen=True, eq=False)
class AggregationInputs:
    """Additional inputs of an aggregation, and where it runs.

    `gold` holds the known classes of some items (the most probable class counts). `weights` are the weights of
    annotators; the default is 1, and 0 excludes. Repeated answers of an annotator to an item count separately, unless
    `average_repeats` lets them count as one.
    """

    gold: SoftLabels | None = None
    weights: Mapping[str, float] | None = None
    average_repeats: bool = False
    engine: Engine = field(default_factory=LocalEngine)
    progress: Progress = quiet


def without_weightless(beliefs: Beliefs, weights: Mapping[str, float]) -> Beliefs:
    """The beliefs of annotators with a weight above 0; checks the weights."""
    for name, weight in weights.items():
        if not (np.isfinite(weight) and weight >= 0):
            fix = "give every annotator a finite weight that is not negative"
            raise BadSetting(f"the weight {weight} for annotator {show(name)}", "0 or more", fix, "bad-weight")
    names = beliefs.annotator.names.to_pylist()
    known = set(names)
    without = [name for name in weights if name not in known]
    if without:
        warn(f"found weights for annotators without answers: {listing(without)}")
    counts = np.array([weights.get(name, 1.0) > 0 for name in names])
    if counts.all():
        return beliefs
    kept = beliefs.take(counts[beliefs.annotator.codes])
    if not len(kept):
        expected, fix = "at least one annotator whose answers count", "give at least one annotator a weight above 0"
        raise BadSetting("weight 0 for every annotator", expected, fix, "bad-weight")
    lost = len(beliefs.item.names) - len(kept.item.names)
    also = f", and {lost:,} items that nobody else answered" if lost else ""
    warn(f"excluded {int((~counts).sum()):,} annotators of weight 0{also}")
    return kept


def read_weights(path: str | Path) -> dict[str, float]:
    """The weight of every annotator, from a table with the columns `annotator` and `weight`."""
    rows = read_rows(path)
    columns = read_columns(rows, ("annotator",), ("weight",))
    weights: dict[str, float] = {}
    for row, (name, weight) in enumerate(zip(columns.listed("annotator"), columns.numbers["weight"], strict=True)):
        if name in weights:
            found, where = f"annotator {show(name)} a second time", rows.where(row, "annotator")
            raise BadTable(found, "one weight per annotator", "keep one row per annotator", "doubled-annotator", where)
        weights[name] = float(weight)
    return weights


def gold_classes(gold: SoftLabels, items: pa.StringArray, classes: tuple[str, ...]) -> Int[np.ndarray, "items"]:
    """The known class of each of `items` as its index in `classes`, -1 if unknown."""
    strange = [name for name in gold.classes if name not in classes]
    if strange:
        expected = f"classes that can be chosen: {listing(classes)}"
        fix = "use the class names of the beliefs in the gold labels"
        raise BadTable(f"gold labels of {listing(strange)}", expected, fix, "bad-classes")
    class_of = np.array([classes.index(name) for name in gold.classes], np.int32)
    row = pc.index_in(items, value_set=gold.items)
    found = np.full(len(items), -1, np.int32)
    found[row.is_valid().to_numpy(zero_copy_only=False)] = class_of[gold.probs.argmax(axis=1)][
        row.drop_null().to_numpy()
    ]
    return found
