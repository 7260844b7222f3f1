"""Inputs and tables -> Lesson: everything known of the items, brought together by item name and class name.

Needs no torch: what is wrong with the data is said before anything heavy is loaded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float, Int, UInt8

from sfumato.tables.beliefs import Beliefs
from sfumato.tables.columns import check_columns
from sfumato.tables.errors import BadSetting, BadTable, ErrorLocation, listing, show, unknown
from sfumato.tables.files import Rows, read_rows
from sfumato.tables.inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.text_columns import TextReader
from sfumato.training.training_set import AnnotatorBeliefs, TrainingSet

Original = Mapping[str, str]
"""The class each item came with, by name."""


@dataclass(frozen=True, eq=False)
class JoinedItems:
    """Items with what is to be seen and what is known of them, row by row."""

    lesson: TrainingSet
    images: UInt8[np.ndarray, "items height width *channels"]
    notes: tuple[str, ...] = ()
    """What was left out, for people to read."""

    def take(self, index: Int[np.ndarray, "kept"]) -> JoinedItems:
        return JoinedItems(self.lesson.take(index), self.images[index], self.notes)

    def hashes(self) -> dict[str, str]:
        """A SHA-256 of each source, so that a run can say what it was made of."""
        lesson = self.lesson
        sources: dict[str, tuple[Any, ...]] = {
            "items": (lesson.items,),
            "classes": (lesson.classes,),
            "images": (self.images,),
        }
        if lesson.original is not None:
            sources["original"] = (lesson.original,)
        if lesson.people is not None:
            sources["people"] = (lesson.people,)
        if lesson.beliefs is not None:
            sources["beliefs"] = (lesson.beliefs.rows, lesson.beliefs.starts)
        if lesson.predicted is not None:
            sources["predicted"] = (lesson.predicted,)
        return {name: digest_of(*parts) for name, parts in sources.items()}


def digest_of(*parts: np.ndarray | Sequence[str]) -> str:
    """A SHA-256 of arrays and texts: of values and shapes, not of how they lie in memory."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).data)
        else:
            digest.update("\0".join([str(len(part)), *part]).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def join_items(
    inputs: Inputs,
    *,
    people: SoftLabels | None = None,
    original: Original | None = None,
    beliefs: Beliefs | None = None,
    teachers: Sequence[SoftLabels] = (),
    classes: Sequence[str] = (),
) -> JoinedItems:
    """The items that have inputs and a label, and all that is known of them.

    Labels are people's where there are any, else the original ones, else beliefs. An item that has a label and no input
    is an error; one that has an input and no label is left out, with a note. What stands beside the labels (original
    classes, a teacher) must be there for every item that is left, and may be about others too; an item without a belief
    is kept, and refused by the targets that need one. Columns are matched by class name; `classes` says their order, or
    else the first table does.
    """
    if inputs.images is None:
        raise BadTable(
            "found texts",
            expected="images: the networks here see nothing else",
            fix="give an npz with images, or learn from texts with Adapted, from Python",
            code="no-images",
            where=_where(inputs.path),
        )
    original_path = None
    if original is None and inputs.labels is not None:
        original, original_path = dict(zip(inputs.items, inputs.labels, strict=True)), inputs.path
    named = _classes(inputs, people, beliefs, original, classes)
    labelled = _labelled(people, original, beliefs)
    rows = inputs.rows_of(labelled)
    if (rows < 0).any():
        missing = [labelled[i] for i in np.flatnonzero(rows < 0)]
        raise BadTable(
            f"found no input for {_some(missing)}",
            expected="an input for every item that has a label",
            fix="give the inputs of all items, or leave these out of the labels",
            code="missing-input",
            where=_where(inputs.path),
        )
    kept = np.sort(rows)
    items = tuple(inputs.items[i] for i in kept)
    notes = []
    if len(items) < len(inputs):
        notes.append(f"left out {len(inputs) - len(items):,} of {len(inputs):,} inputs: they have no label")
    pool = None if beliefs is None else _pool(beliefs, items, named)
    if pool is not None and (without := int((np.diff(pool.starts) == 0).sum())):
        notes.append(f"{without:,} of {len(items):,} items have no belief")
    lesson = TrainingSet(
        items,
        named,
        None if original is None else _original(original, items, named, original_path),
        None if people is None else _rows(people, items, named, "labels"),
        pool,
        _predicted(teachers, items, named) if teachers else None,
    )
    return JoinedItems(lesson, inputs.images[kept], tuple(notes))


def read_original(path: str | Path) -> dict[str, str]:
    """The class each item came with: from a table with `item` and `label`, or from SoftLabels that are one-hot."""
    rows = read_rows(path)
    if "label" not in rows.schema.names:
        return _one_hot(SoftLabels.from_rows(rows))
    check_columns(rows, ("item", "label"))
    items, labels = TextReader(rows, "item"), TextReader(rows, "label")
    found: dict[str, str] = {}
    for chunk in rows.chunks:
        start = items.n_rows
        names = _texts(items.read(chunk.column("item")))
        for i, (item, label) in enumerate(zip(names, _texts(labels.read(chunk.column("label"))), strict=True)):
            if item in found:
                raise _doubled(rows, start + i, item)
            found[item] = label
    return found


def _texts(pieces: Iterable[pa.DictionaryArray]) -> list[str]:
    return [text for piece in pieces for text in piece.to_pylist()]


def _doubled(rows: Rows, row: int, item: str) -> BadTable:
    return BadTable(
        f"found item {show(item)} a second time",
        expected="each item once",
        fix="keep one row an item",
        code="doubled-item",
        where=rows.where(row, "item"),
    )


def _one_hot(labels: SoftLabels) -> dict[str, str]:
    soft = labels.probs.max(axis=1) < 1
    if soft.any():
        row = int(np.argmax(soft))
        raise BadTable(
            f"found doubt about item {show(labels.items[row].as_py())}",
            expected="one class an item, with all the mass",
            fix="give labels with doubt as --labels, and a table with item and label as --original",
            code="not-one-hot",
            where=ErrorLocation(str(labels.path) if labels.path else None, row=row),
        )
    best = labels.probs.argmax(axis=1)
    return {item: labels.classes[k] for item, k in zip(labels.items.to_pylist(), best.tolist(), strict=True)}


# --- who and what ---


def _labelled(people: SoftLabels | None, original: Original | None, beliefs: Beliefs | None) -> list[str]:
    """The items that have a label, by the first source there is."""
    if people is not None:
        items: list[str] = people.items.to_pylist()
    elif original is not None:
        items = list(original)
    elif beliefs is not None:
        items = beliefs.item.names.to_pylist()
    else:
        raise BadSetting(
            "found nothing to learn",
            expected="labels of some kind",
            fix="give --labels, --original or --beliefs, or an npz with labels",
            code="missing-source",
        )
    if not items:
        raise BadTable(
            "found no rows", expected="at least one label", fix="check how the file was made", code="no-rows"
        )
    return items


def _classes(
    inputs: Inputs,
    people: SoftLabels | None,
    beliefs: Beliefs | None,
    original: Original | None,
    asked: Sequence[str],
) -> tuple[str, ...]:
    """The classes, in the order of the first source that has one."""
    tables = [table.classes for table in (people, beliefs) if table is not None]
    if asked:
        return tuple(asked)
    if tables:
        return tables[0]
    if inputs.classes is not None:
        return inputs.classes
    return tuple(sorted(set((original or {}).values())))


def _columns(
    own: tuple[str, ...], classes: tuple[str, ...], what: str, path: Path | None
) -> Int[np.ndarray, "classes"]:
    """Where each of `classes` stands among a table's own."""
    if set(own) != set(classes):
        others = [name for name in own if name not in classes]
        missing = [name for name in classes if name not in own]
        parts = [f"the class {listing(others)} too many"] if others else []
        parts += [f"no class {listing(missing)}"] if missing else []
        raise BadTable(
            f"found {what} with {' and '.join(parts)}",
            expected=f"the classes {listing(classes)}, in any order",
            fix="name the same classes in every file",
            code="bad-classes",
            where=_where(path),
        )
    place = {name: k for k, name in enumerate(own)}
    return np.array([place[name] for name in classes], np.int64)


def _rows(
    labels: SoftLabels, items: tuple[str, ...], classes: tuple[str, ...], what: str
) -> Float[np.ndarray, "items classes"]:
    """What `labels` say of `items`, column by column in the order of `classes`."""
    columns = _columns(labels.classes, classes, what, labels.path)
    return np.ascontiguousarray(labels.probs[labels.rows_of(items)][:, columns])


def _predicted(
    teachers: Sequence[SoftLabels], items: tuple[str, ...], classes: tuple[str, ...]
) -> Float[np.ndarray, "items classes"]:
    """The mean of what teachers predict."""
    return np.asarray(np.mean([_rows(each, items, classes, "a teacher's predictions") for each in teachers], axis=0))


def _original(
    original: Original, items: tuple[str, ...], classes: tuple[str, ...], path: Path | None
) -> Int[np.ndarray, "items"]:
    missing = [item for item in items if item not in original]
    if missing:
        raise BadTable(
            f"found no original label for {_some(missing)}",
            expected="one for every item",
            fix="complete the labels, or leave --original out",
            code="missing-item",
        )
    number = {name: k for k, name in enumerate(classes)}
    for item in items:
        if original[item] not in number:
            raise unknown(
                "class",
                original[item],
                list(classes),
                where=_where(path),
                fix=f"item {show(item)} came with it: name the classes alike (class_names), or give --original",
            )
    return np.array([number[original[item]] for item in items], np.int64)


def _pool(beliefs: Beliefs, items: tuple[str, ...], classes: tuple[str, ...]) -> AnnotatorBeliefs:
    """The beliefs about `items`, sorted by item; of an item, in the order they were given."""
    columns = _columns(beliefs.classes, classes, "beliefs", None)
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


def _where(path: Path | None) -> ErrorLocation:
    return ErrorLocation(str(path) if path else None)
