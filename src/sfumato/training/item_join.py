"""`join_items` matches inputs and label tables by item and class name and returns a TrainingSet.

Does not import torch, so that errors in the data are reported quickly.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float, Int

from sfumato.tables.beliefs import Beliefs
from sfumato.tables.column_reader import read_columns
from sfumato.tables.errors import (
    BadSetting,
    BadTable,
    ErrorLocation,
    doubled_item,
    listing,
    no_rows,
    select_command,
    show,
    unknown,
)
from sfumato.tables.files.table_file import read_rows
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.option_words import option
from sfumato.tables.row_numbers import NumberedItems, check_numbered_inputs, check_same_rows
from sfumato.tables.soft_labels import SoftLabels
from sfumato.training.training_set import ORIGINAL, PEOPLE, AnnotatorBeliefs, NamedLabels, TrainingSet

Names = tuple[str, ...]
Original = Mapping[str, str]
"""The original class of each item, by name."""


def join_items(
    inputs: Inputs,
    *,
    people: SoftLabels | None = None,
    label_sets: Mapping[str, SoftLabels] | None = None,
    original: Original | None = None,
    beliefs: Beliefs | None = None,
    teachers: Sequence[SoftLabels] = (),
    classes: Sequence[str] = (),
    any_estimand: bool = False,
    rests: Collection[str] = (),
    weights: Mapping[str, float] | None = None,
) -> TrainingSet:
    """The items that have an input and a label, with every label source given.

    The labels that decide which items are used are `people` and the other `label_sets`, else the original ones, else
    beliefs. A label without an input is an error; an input without a label is left out, with a note. Original classes,
    teachers and `weights` must cover every remaining item and may cover more; an item without a belief is kept, and
    targets that need beliefs refuse it. Columns are matched by class name; their order is that of `classes`, else of
    the first table. `any_estimand` allows soft targets of labels that do not estimate how people judge.

    All label sets must have the same items, unless some targets take the labels of other items from one of `rests`: the
    names of label sets, or `original`. Then the items of all label sets are used, and those of the original labels if
    they are among `rests`.
    """
    sets = {**({} if people is None else {PEOPLE: people}), **(label_sets or {})}
    original_path = None
    if original is None and inputs.labels is not None:
        original, original_path = dict(zip(inputs.items, inputs.labels, strict=True)), inputs.path
    tables = [table.classes for table in (*sets.values(), beliefs) if table is not None]
    sources = (classes, *tables, inputs.classes, sorted(set((original or {}).values())))
    names = tuple(next((given for given in sources if given), ()))
    labeled = _labeled_items(sets, original, beliefs)
    sources = check_same_rows(inputs, *sets.values(), beliefs, *teachers)
    check_numbered_inputs(labeled, inputs.n_rows, inputs.path)
    rows = inputs.rows_of(labeled)
    if (rows < 0).any():
        missing = [labeled[i] for i in np.flatnonzero(rows < 0)]
        found = f"no input for {_some(missing)}"
        own = next((table.path for table in sets.values() if missing[0] in set(table.items.to_pylist())), None)
        fix = f"give the inputs of all items, or keep the labels that have one: {select_command(own, inputs.path)}"
        raise BadTable(found, "an input for every item that has a label", fix, "missing-input", inputs.path)
    if not rests:
        _check_same_items(sets)
    if sets and original is not None and ORIGINAL in rests:
        added = inputs.rows_of(list(original))
        rows = np.union1d(rows, added[added >= 0])
    kept = np.sort(rows)
    items = tuple(inputs.items[i] for i in kept)
    items = NumberedItems(items, sources) if sources else items
    notes = []
    if len(items) < len(inputs):
        other = original is not None and sets and not set(original).isdisjoint(set(inputs.items) - set(items))
        instead = f"; {option('rest', ORIGINAL)} would train on their original labels" if other else ""
        notes.append(f"left out {len(inputs) - len(items):,} of {len(inputs):,} inputs: they have no label{instead}")
    pool = None if beliefs is None else beliefs_pool(beliefs, items, names)
    if pool is not None and (without := int((np.diff(pool.starts) == 0).sum())):
        notes.append(f"{without:,} of {len(items):,} items have no belief")
    made = {name: _label_set(each, items, names, f"the label set {name}", any_estimand) for name, each in sets.items()}
    notes += [
        f"{name}: labels for {int(each.known.sum()):,} of {len(items):,} items; the rest by {listing(sorted(rests))}"
        for name, each in made.items()
        if not each.is_complete
    ]
    whole = made.pop(PEOPLE) if PEOPLE in made and made[PEOPLE].is_complete else None
    predicted = [_rows(each, items, names, "a teacher's predictions") for each in teachers]
    return TrainingSet(
        items,
        names,
        None if original is None else _original(original, items, names, original_path),
        None if whole is None else whole.probs,
        pool,
        np.asarray(np.mean(predicted, axis=0)) if teachers else None,
        notes=tuple(notes),
        estimand=None if whole is None else whole.estimand,
        made_by=None if whole is None else whole.made_by,
        weights=None if weights is None else _weights(weights, items),
        label_sets=made,
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


def _labeled_items(sets: Mapping[str, SoftLabels], original: Original | None, beliefs: Beliefs | None) -> list[str]:
    """The items that have a label: in any label set, else in the first source given."""
    if sets:
        items = list(dict.fromkeys(item for table in sets.values() for item in table.items.to_pylist()))
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


def _check_same_items(sets: Mapping[str, SoftLabels]) -> None:
    """An error if a label set has items that another has not."""
    all_items = {name: set(table.items.to_pylist()) for name, table in sets.items()}
    for name, own in all_items.items():
        for other, others in all_items.items():
            missing = [item for item in sets[other].items.to_pylist() if item not in own]
            if missing:
                found = f"no label of the set {name} for {_some(missing)}"
                keep = select_command(sets[other].path, sets[name].path)
                instead = f"take another label for them ({option('rest', other)}, or {option('rest', ORIGINAL)})"
                expected = f"the items of the set {other}: {len(others):,}"
                raise BadTable(
                    found, expected, f"{instead}, or leave these items out: {keep}", "other-items", sets[name].path
                )


def _label_set(labels: SoftLabels, items: Names, classes: Names, what: str, any_estimand: bool) -> NamedLabels:
    """The labels of `items` that there are, with columns in the order of `classes`."""
    columns = columns_of_classes(labels.classes, classes, what, labels.path)
    place = pc.index_in(pa.array(items, pa.string()), value_set=labels.items)
    known = place.is_valid().to_numpy(zero_copy_only=False)
    probs = np.zeros((len(items), len(classes)), labels.probs.dtype)
    probs[known] = labels.probs[place.drop_null().to_numpy().astype(np.int64)][:, columns]
    return NamedLabels(probs, known, None if any_estimand else labels.estimand, labels.made_by)


def read_weights(path: Path) -> dict[str, float]:
    """The weight of each item, from a table with `item` and `weight`."""
    rows = read_rows(path)
    columns = read_columns(rows, ("item",), ("weight",))
    found: dict[str, float] = {}
    for row, (item, weight) in enumerate(zip(columns.listed("item"), columns.numbers["weight"].tolist(), strict=True)):
        if item in found:
            raise doubled_item(item, rows.where(row, "item"))
        found[item] = weight
    return found


def _weights(weights: Mapping[str, float], items: Names) -> Float[np.ndarray, "items"]:
    missing = [item for item in items if item not in weights]
    if missing:
        found, fix = f"no weight for {_some(missing)}", "complete the weights; 1 is the usual one"
        raise BadTable(found, "a weight for every item", fix, "missing-item")
    return np.array([weights[item] for item in items], np.float64)


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
