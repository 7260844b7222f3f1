"""What an importer returns, and what all of them need."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from sfumato.annotations import Annotations
from sfumato.columns import Coded, TextColumn, check_columns
from sfumato.doubt import Doubt
from sfumato.errors import BadFile, BadTable, Where, show, unknown
from sfumato.files import Rows
from sfumato.files.kinds import check_readable
from sfumato.soft_labels import SoftLabels
from sfumato.table import Table

CIFAR_10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


@dataclass(frozen=True)
class Imported:
    """The table that came in, what else the source held, and what a reader should know of how it was read.

    `original` are the data set's own labels as one-hot rows; `doubt` are doubt measures published beside labels.
    """

    table: Table
    notes: tuple[str, ...]
    original: SoftLabels | None = None
    doubt: Doubt | None = None


@runtime_checkable
class Importer(Protocol):
    """A format: what it is called, what it is in a line, and how it is read."""

    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str: ...

    def read(self, source: str | Path) -> Imported: ...


def find_file(source: str | Path, names: Sequence[str]) -> Path:
    """`source` itself if it is a file, else the first of `names` that the folder holds."""
    source = Path(source)
    if not source.is_dir():
        check_readable(source)
        return source
    for name in names:
        if (source / name).is_file():
            return source / name
    inside = sorted(path.name for path in source.iterdir())[:10]
    raise BadFile(
        f"found a folder with {', '.join(map(repr, inside)) or 'nothing in it'}",
        expected=f"a file named {' or '.join(names)}",
        fix="name the file itself",
        code="no-such-file",
        where=Where(str(source)),
    )


def text_columns(rows: Rows, names: Sequence[str]) -> dict[str, Coded]:
    """Columns of a small foreign table, each as coded text; empty fields are allowed and read as ''."""
    check_columns(rows, tuple(names))
    table = pa.concat_tables([rows.schema.empty_table(), *rows.chunks], promote_options="permissive")
    result = {}
    for name in names:
        encoded = table.column(name).cast(pa.string()).combine_chunks().fill_null("").dictionary_encode()
        encoded = encoded if isinstance(encoded, pa.DictionaryArray) else encoded.combine_chunks()
        result[name] = Coded(encoded.indices.to_numpy().astype(np.int32), encoded.dictionary)
    return result


def id_columns(rows: Rows, names: Sequence[str]) -> dict[str, Coded]:
    """Columns of a foreign table of any size, each as coded text; an empty field is an error with its line."""
    check_columns(rows, tuple(names))
    columns = {name: TextColumn(rows, name) for name in names}
    for chunk in rows.chunks:
        for name, column in columns.items():
            column.append(chunk.column(name))
    return {name: column.finish() for name, column in columns.items()}


def choice_payloads(label: Coded) -> pa.DictionaryArray:
    """`choice` payloads for a coded column of class names, each text written once."""
    texts = [json.dumps({"class": name}, ensure_ascii=False) for name in label.names.to_pylist()]
    return pa.DictionaryArray.from_arrays(pa.array(label.codes), pa.array(texts, pa.string()))


def coded_array(column: Coded) -> pa.DictionaryArray:
    """A coded column as Arrow."""
    return pa.DictionaryArray.from_arrays(pa.array(column.codes), column.names)


def annotations_of(columns: dict[str, Any], kind: str, classes: Sequence[str]) -> Annotations:
    """Annotations of one kind from ready columns."""
    n_rows = len(columns["item"])
    constant = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n_rows, np.int32)), pa.array([kind]))
    return Annotations.from_arrow(pa.table({**columns, "kind": constant}), classes)


def came_in(table: Annotations) -> str:
    """A line on how much came in, from whom, about what."""
    people = f"{len(table.annotator.names):,} annotators"
    return f"{len(table):,} answers by {people} about {len(table.item.names):,} items, {len(table.classes)} classes"


def purposes(is_repeat: np.ndarray) -> pa.DictionaryArray:
    """The purpose column: `repeat` where told, `label` elsewhere."""
    return pa.DictionaryArray.from_arrays(pa.array(is_repeat.astype(np.int32)), pa.array(["label", "repeat"]))


def second_answers(item: Coded, annotator: Coded) -> np.ndarray:
    """Which rows are a person's second or later answer to the same item."""
    pair = item.codes.astype(np.int64) * max(len(annotator.names), 1) + annotator.codes
    later = np.ones(len(pair), dtype=bool)
    later[np.unique(pair, return_index=True)[1]] = False
    return later


def refuse_second_answer(rows: Rows, item: Coded, annotator: Coded, later: np.ndarray) -> None:
    """Raise for the first row that `later` marks."""
    if later.any():
        row = int(np.argmax(later))
        who, what = (
            annotator.names[int(annotator.codes[row])].as_py(),
            item.names[int(item.codes[row])].as_py(),
        )
        raise BadTable(
            f"found annotator {show(who)} answering item {show(what)} again ({int(later.sum()):,} such rows)",
            expected="one answer of a person to an item",
            fix="keep them, marked as repeats, with --repeats; or remove the rows that are not meant",
            code="duplicate-answer",
            where=rows.where(row),
        )


def ordered_classes(label: Coded, given: Sequence[str], rows: Rows, column: str) -> tuple[str, ...]:
    """The classes given, every label among them; or the labels themselves, numbers by value, then text."""
    found = label.names.to_pylist()
    if not given:
        return tuple(
            sorted(
                found,
                key=lambda name: (0, int(name), "") if name.isascii() and name.isdigit() else (1, 0, name),
            )
        )
    for code, name in enumerate(found):
        if name not in given:
            row = int(np.argmax(label.codes == code))
            raise unknown(
                "class",
                name,
                list(given),
                where=rows.where(row, column),
                fix="mend the row, or add the class to --classes",
            )
    return tuple(given)


def class_numbers(
    rows: Rows, column: Coded, name: str, classes: Sequence[str], none: str | None = None
) -> Int[np.ndarray, "rows"]:
    """A column of class numbers as integers; `none` is the text for no class and becomes -1."""
    numbers = []
    for code, text in enumerate(column.names.to_pylist()):
        number = -1 if text == none else int(text) if text.isascii() and text.isdigit() else len(classes)
        if number >= len(classes):
            row = int(np.argmax(column.codes == code))
            raise BadTable(
                f"found {show(text)}",
                expected=f"a class number from 0 to {len(classes) - 1}",
                fix="is this the published file?",
                code="bad-number",
                where=rows.where(row, name),
            )
        numbers.append(number)
    return np.asarray(np.array(numbers, dtype=np.int64)[column.codes])


def labels_from_counts(items: Sequence[str], counts: np.ndarray, classes: Sequence[str], where: Where) -> SoftLabels:
    """Soft labels from votes per class; every item must have at least one vote."""
    counts = np.asarray(counts)
    if counts.ndim != 2 or counts.shape[1] != len(classes) or len(counts) != len(items):
        raise BadTable(
            f"found counts of shape {counts.shape}",
            expected=f"{len(items)} items x {len(classes)} classes",
            fix="give one row an item and one column a class",
            code="wrong-shape",
            where=where,
        )
    bad = ~np.isfinite(counts) | (counts < 0) | (counts != np.floor(counts))
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise BadTable(
            f"found {counts[row, column]} votes",
            expected="whole numbers >= 0",
            fix="counts are numbers of people, not shares",
            code="bad-count",
            where=Where(where.file, row=int(row), column=str(classes[column])),
        )
    total = counts.sum(axis=1, dtype=np.int64)
    if (total == 0).any():
        row = int(np.argmax(total == 0))
        raise BadTable(
            f"found no vote for item {show(items[row])}",
            expected="at least one vote an item",
            fix="remove the row",
            code="all-zero",
            where=Where(where.file, row=row),
        )
    return SoftLabels.from_numpy(items, counts / total[:, None], classes, total)


def counts_notes(labels: SoftLabels) -> tuple[str, ...]:
    """What came in, for votes per class."""
    n = labels.n_annotators
    assert n is not None
    return (
        f"{len(labels):,} items, {int(n.sum()):,} votes, {n.min()} to {n.max()} an item (mean {n.mean():.1f}), "
        f"{len(labels.classes)} classes",
        "votes per class name no annotators, so these are SoftLabels, not Annotations",
    )
