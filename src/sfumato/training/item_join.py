"""`join_items` matches inputs and label tables by item and class name and returns a TrainingSet.

Does not import torch, so that errors in the data are reported quickly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float, Int

from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import BadSetting, BadTable, ErrorLocation, listing, no_rows, select_command, show, unknown
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.row_numbers import NumberedItems, check_numbered_inputs, check_same_rows
from sfumato.tables.soft_labels import SoftLabels
from sfumato.training.training_set import AnnotatorBeliefs, TrainingSet

Names = tuple[str, ...]
Original = Mapping[str, str]
"""The original class of each item, by name."""


def join_items(
    inputs: Inputs,
    *,
    people: SoftLabels | None = None,
    original: Original | None = None,
    beliefs: Beliefs | None = None,
    teachers: Sequence[SoftLabels] = (),
    classes: Sequence[str] = (),
    any_estimand: bool = False,
) -> TrainingSet:
    """The items that have an input and a label, with every label source given.

    The labels that decide which items are used are people's, else the original ones, else beliefs. A label without an
    input is an error; an input without a label is left out, with a note. Original classes and teachers must cover every
    remaining item and may cover more; an item without a belief is kept, and targets that need beliefs refuse it.
    Columns are matched by class name; their order is that of `classes`, else of the first table. `any_estimand` allows
    soft targets of labels that do not estimate how people judge.
    """
    original_path = None
    if original is None and inputs.labels is not None:
        original, original_path = dict(zip(inputs.items, inputs.labels, strict=True)), inputs.path
    tables = [table.classes for table in (people, beliefs) if table is not None]
    sources = (classes, *tables, inputs.classes, sorted(set((original or {}).values())))
    names = tuple(next((given for given in sources if given), ()))
    labeled = _labeled_items(people, original, beliefs)
    sources = check_same_rows(inputs, people, beliefs, *teachers)
    check_numbered_inputs(labeled, inputs.n_rows, inputs.path)
    rows = inputs.rows_of(labeled)
    if (rows < 0).any():
        missing = [labeled[i] for i in np.flatnonzero(rows < 0)]
        found = f"no input for {_some(missing)}"
        own = next((table.path for table in (people,) if table is not None), None)
        fix = f"give the inputs of all items, or keep the labels that have one: {select_command(own, inputs.path)}"
        raise BadTable(found, "an input for every item that has a label", fix, "missing-input", inputs.path)
    kept = np.sort(rows)
    items = tuple(inputs.items[i] for i in kept)
    items = NumberedItems(items, sources) if sources else items
    notes = []
    if len(items) < len(inputs):
        notes.append(f"left out {len(inputs) - len(items):,} of {len(inputs):,} inputs: they have no label")
    pool = None if beliefs is None else beliefs_pool(beliefs, items, names)
    if pool is not None and (without := int((np.diff(pool.starts) == 0).sum())):
        notes.append(f"{without:,} of {len(items):,} items have no belief")
    predicted = [_rows(each, items, names, "a teacher's predictions") for each in teachers]
    return TrainingSet(
        items,
        names,
        None if original is None else _original(original, items, names, original_path),
        None if people is None else _rows(people, items, names, "labels"),
        pool,
        np.asarray(np.mean(predicted, axis=0)) if teachers else None,
        notes=tuple(notes),
        estimand=None if people is None or any_estimand else people.estimand,
        made_by=None if people is None else people.made_by,
        **_content(inputs.take(kept)),
    )


def _content(inputs: Inputs) -> dict[str, Any]:
    """The images, texts or features."""
    return {inputs.kind: getattr(inputs, inputs.kind)}


def first_choices(labels: SoftLabels) -> dict[str, str]:
    """The most probable class of each item."""
    best = labels.probs.argmax(axis=1)
    return {item: labels.classes[k] for item, k in zip(labels.items.to_pylist(), best.tolist(), strict=True)}


# --- items and classes ---


def _labeled_items(people: SoftLabels | None, original: Original | None, beliefs: Beliefs | None) -> list[str]:
    """The items that have a label, from the first source given."""
    if people is not None:
        items: list[str] = people.items.to_pylist()
    elif original is not None:
        items = list(original)
    elif beliefs is not None:
        items = beliefs.item.names.to_pylist()
    else:
        fix = "give --labels, --original or --beliefs, or an npz with labels"
        raise BadSetting("no labels", "soft labels, original classes or beliefs", fix, "missing-source")
    if not items:
        raise no_rows("at least one label")
    return items


def columns_of_classes(own: Names, classes: Names, what: str, path: Path | None) -> Int[np.ndarray, "classes"]:
    """The column of each of `classes` in a table."""
    if set(own) != set(classes):
        others = [name for name in own if name not in classes]
        missing = [name for name in classes if name not in own]
        parts = [f"the additional class {listing(others)}"] if others else []
        parts += [f"no class {listing(missing)}"] if missing else []
        found, expected = f"{what} with {' and '.join(parts)}", f"the classes {listing(classes)}, in any order"
        raise BadTable(found, expected, "use the same classes in every file", "bad-classes", path)
    place = {name: k for k, name in enumerate(own)}
    return np.array([place[name] for name in classes], np.int64)


def _rows(labels: SoftLabels, items: Names, classes: Names, what: str) -> Float[np.ndarray, "items classes"]:
    """The labels of `items`, with columns in the order of `classes`."""
    columns = columns_of_classes(labels.classes, classes, what, labels.path)
    return np.ascontiguousarray(labels.probs[labels.rows_of(items)][:, columns])


def _original(original: Original, items: Names, classes: Names, path: Path | None) -> Int[np.ndarray, "items"]:
    missing = [item for item in items if item not in original]
    if missing:
        found, expected = f"no original label for {_some(missing)}", "an original label for every item"
        raise BadTable(found, expected, "complete the labels, or omit --original", "missing-item")
    number = {name: k for k, name in enumerate(classes)}
    for item in items:
        if original[item] not in number:
            fix = f"item {show(item)} has it: use the same class names (class_names), or give --original"
            where = ErrorLocation(str(path) if path else None)
            raise unknown("class", original[item], list(classes), where=where, fix=fix)
    return np.array([number[original[item]] for item in items], np.int64)


def beliefs_pool(beliefs: Beliefs, items: Names, classes: Names) -> AnnotatorBeliefs:
    """The beliefs about `items`, sorted by item; within an item in the order of the table."""
    columns = columns_of_classes(beliefs.classes, classes, "beliefs", None)
    coded = beliefs.coded()
    place = pc.index_in(beliefs.item.names, value_set=pa.array(items, pa.string()))
    item = place.fill_null(-1).to_numpy().astype(np.int64)[coded.item]
    order = np.argsort(item, kind="stable")
    order = order[np.searchsorted(item[order], 0) :]
    starts = np.searchsorted(item[order], np.arange(len(items) + 1))
    rows = np.ascontiguousarray(beliefs.take(order).probs[:, columns]) if len(order) else np.empty((0, len(classes)))
    return AnnotatorBeliefs(rows, starts.astype(np.int64), coded.annotator[order].astype(np.int64), coded.n_annotators)


def _some(items: Sequence[str]) -> str:
    """`item 'a' (3 such items)`."""
    more = f" ({len(items):,} such items: {listing([show(item, 40) for item in items], 5)})" if len(items) > 1 else ""
    return f"item {show(items[0])}{more}"
