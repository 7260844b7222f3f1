"""Numbers per item and class in any file: tables, NumPy arrays and JSON, before they become a table of labels."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from sfumato.tables.class_columns import (
    ID_NAMES,
    ColumnChoice,
    column_records,
    id_column,
    read_class_columns,
    read_lists,
)
from sfumato.tables.class_order import OrderedClasses, names_like
from sfumato.tables.columns import check_classes
from sfumato.tables.errors import BadTable, ErrorLocation, listing, missing_column, raise_together, show, wrong_shape
from sfumato.tables.files.file_type import NUMPY
from sfumato.tables.files.json import read_json
from sfumato.tables.files.npz import read_arrays
from sfumato.tables.files.table_file import Rows, read_rows
from sfumato.tables.option_words import option
from sfumato.tables.row_numbers import items_like, numbered_rows

PROBABILITIES = (
    "probs", "probabilities", "prob", "predictions", "predicted", "preds", "softmax", "scores",
    "predicted_probabilities",
)  # fmt: skip
LOGITS = ("logits",)
NUMBERS = (*PROBABILITIES, *LOGITS)
COUNTS = ("counts", "label_count", "votes")
CLASS_ARRAYS = ("classes", "class_names", "labels_names", "names")
ITEM_ARRAYS = ("items", "ids", "item", "id", "uids", "uid")


@dataclass(frozen=True, eq=False)
class LabelMatrix:
    """An items x classes array with its ids and class names, None where the file has none.

    `name` is what the file calls the numbers ("probs", "logits"), empty for plain class columns; `others` are the names
    of further arrays, keys or columns that could have been read instead.
    """

    path: Path
    values: Float[np.ndarray, "items classes"]
    items: tuple[str, ...] | None
    classes: tuple[str, ...] | None
    name: str = ""
    bits: int = 64
    """The precision of the numbers in the file: 16 for float16."""
    unread: tuple[str, ...] = ()
    rows: Rows | None = None
    """The table that the numbers are from, if they are from one."""
    others: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """Which array, key or column the numbers are from."""
        kind = "array" if self.path.name.lower().endswith(NUMPY.suffixes) else "column" if self.rows else "key"
        if not self.name:
            return f"numbers from one {kind} per class"
        rest = f"; not read: {listing(self.others)} (choose with --array)" if self.others else ""
        return f"numbers from the {kind} {show(self.name)}{rest}"

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the rows; row numbers if the file has none."""
        return numbered_rows(len(self.values), self.path) if self.items is None else self.items

    def where(self, row: int | None = None) -> ErrorLocation:
        return self.rows.where(row) if self.rows is not None else ErrorLocation(str(self.path), row=row)


def numbers_in(path: Path, choice: ColumnChoice, wanted: Sequence[str] = PROBABILITIES) -> LabelMatrix:
    """The numbers in `path`, which are called one of `wanted` (the first that occurs) or are plain class columns."""
    name = path.name.lower()
    if name.endswith(NUMPY.suffixes):
        return _in_arrays(path, wanted)
    if ".json" in name or ".ndjson" in name:
        return _in_json(path, choice, wanted)
    return _in_table(read_rows(path, guarded=False), choice, wanted)


def _in_arrays(path: Path, wanted: Sequence[str]) -> LabelMatrix:
    arrays = read_arrays(path)
    matrices = {name: array for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "fiub"}
    name = next((each for each in wanted if each in matrices), None)
    if name is None and len(matrices) == 1 and wanted[0] in PROBABILITIES + LOGITS:
        name = next(iter(matrices))
    if name is None:
        shapes = [f"{key} {array.shape}" for key, array in arrays.items()]
        expected = f"an array of items x classes called {' or '.join(wanted[:2])}"
        save = "save it with np.savez(path, probs=..., items=..., classes=...)"
        fix = f"choose one with {option('array', next(iter(matrices)))}" if matrices else save
        raise BadTable(f"arrays {listing(shapes)}", expected, fix, "missing-column", path)
    values = matrices[name]
    classes, items = _texts(arrays, CLASS_ARRAYS, path), _texts(arrays, ITEM_ARRAYS, path)
    if classes and arrays.get("ordered", np.zeros(1)).all():
        classes = OrderedClasses(classes)
    others = tuple(each for each, array in matrices.items() if each != name and array.shape == values.shape)
    return LabelMatrix(path, values.astype(np.float64), items, classes, name, precision(values), others=others)


def _texts(arrays: Mapping[str, np.ndarray], names: Sequence[str], path: Path) -> tuple[str, ...] | None:
    found = next((arrays[name] for name in names if name in arrays), None)
    if found is None:
        return None
    if found.ndim != 1 or found.dtype.kind not in "UTiu":
        expected = "one text or whole number each, in one dimension"
        raise wrong_shape(f"names of shape {found.shape} and type {found.dtype}", expected, where=path)
    return tuple(map(str, found.tolist()))


def _in_table(rows: Rows, choice: ColumnChoice, wanted: Sequence[str]) -> LabelMatrix:
    assert rows.path is not None
    lists = [name for name in wanted if name in rows.schema.names and pa.types.is_nested(rows.schema.field(name).type)]
    if lists:
        kind = rows.schema.field(lists[0]).type.value_type
        bits = 16 if kind == pa.float16() else 32 if kind == pa.float32() else 64
        named = choice.classes or rows.classes() or hugging_face_classes(rows)
        key = choice.item or id_column(rows.schema.names)
        found = read_lists(rows, lists[0], replace(choice, classes=named or ()))
        items = tuple(found.items) if key else None
        others = tuple(name for name in lists[1:])
        return LabelMatrix(rows.path, found.numbers, items, found.classes, lists[0], bits, rows=rows, others=others)
    found = read_class_columns(rows, "p:", "probabilities", choice)
    raise_together(found.faults, found.n_faults)
    kinds = {rows.schema.field(name).type for name in found.columns}
    bits = 16 if pa.float16() in kinds else 32 if pa.float32() in kinds else 64
    items = tuple(found.items) if found.key else None
    name = PROBABILITIES[0] if found.columns[0].startswith("p:") else ""
    return LabelMatrix(rows.path, found.numbers, items, found.classes, name, bits, found.unread, rows)


def hugging_face_classes(rows: Rows) -> tuple[str, ...] | None:
    """The class names of a `ClassLabel` feature in the metadata that Hugging Face datasets write."""
    try:
        info = json.loads((rows.schema.metadata or {}).get(b"huggingface", b"{}"))
        features = list(info.get("info", {}).get("features", {}).values())
    except (ValueError, AttributeError):
        return None
    names = [each["names"] for each in features if isinstance(each, dict) and each.get("_type") == "ClassLabel"]
    return tuple(map(str, names[0])) if names else None


def _in_json(path: Path, choice: ColumnChoice, wanted: Sequence[str]) -> LabelMatrix:
    content = read_json(path)
    value: Any = column_records(content.value) or content.value
    value, chosen = _of_one_model(value, wanted, path)
    wanted = tuple(dict.fromkeys((*wanted, *PROBABILITIES, *LOGITS))) if chosen else wanted
    if isinstance(value, dict) and any(isinstance(value.get(name), list) for name in wanted):
        return _from_columns(path, value, wanted)
    if isinstance(value, dict):
        ids: list[Any] | None = list(value)
        records = list(value.values())
    else:
        ids, records = None, value if isinstance(value, list) else [value]
    rows, names, found_ids = [], None, []
    for number, record in enumerate(records):
        row = _record(record, choice, wanted)
        if row is None:
            expected = "a number per class, or a list of them, for each item"
            fix = 'write {"item": "a", "probs": [0.7, 0.3]}, or {"item": "a", "cat": 0.7, "dog": 0.3}'
            raise BadTable(show(record), expected, fix, "bad-field", content.where(number))
        if isinstance(row.numbers, dict):
            names = names or tuple(row.numbers)
            if set(row.numbers) != set(names):
                found = f"the classes {listing(list(row.numbers))}"
                fix = "write every class for each item"
                raise BadTable(
                    found,
                    f"the classes {listing(names)}",
                    fix,
                    "bad-classes",
                    content.where(number),
                )
            rows.append([row.numbers[name] for name in names])
        else:
            rows.append(list(row.numbers))
        found_ids.append(row.item)
    items = ids if ids is not None else found_ids if all(each is not None for each in found_ids) else None
    first = records[0] if records and isinstance(records[0], dict) else {}
    keys = [name for name in wanted if isinstance(first.get(name), (list, dict))]
    values = _matrix(rows, path)
    if choice.classes and names is not None:
        missing = [name for name in choice.classes if name not in names]
        if missing:
            raise missing_column(names, f"the class {listing(missing)}", "name the classes as in the file", path)
        values, names = values[:, [names.index(name) for name in choice.classes]], choice.classes
    texts = None if items is None else tuple(map(str, items))
    return LabelMatrix(path, values, texts, names, keys[0] if keys else "", others=tuple(keys[1:]))


def _of_one_model(value: Any, wanted: Sequence[str], path: Path) -> tuple[Any, bool]:
    """The predictions of one model in an object of predictions by model; anything else as it is."""
    entries = list(value.values()) if isinstance(value, dict) else []
    if not entries or not all(isinstance(each, dict) and each for each in entries):
        return value, False
    inner = [each for entry in entries for each in entry.values()]
    if not all(isinstance(each, (list, dict)) for each in inner) or any({*entry} & {*NUMBERS} for entry in entries):
        return value, False
    name = next((each for each in wanted if each in value), next(iter(value)) if len(value) == 1 else None)
    if name is None:
        fix = f"choose one with {option('array', next(iter(value)))}"
        raise BadTable(f"predictions of {listing(list(value))}", "those of one model", fix, "several-models", path)
    return value[name], True


@dataclass(frozen=True)
class _Record:
    """The id of an item (None without one) and its numbers, by class or in a list."""

    item: Any
    numbers: dict[str, float] | list[float]


def _record(record: Any, choice: ColumnChoice, wanted: Sequence[str]) -> _Record | None:
    """One item of a JSON list: a list of numbers, `{class: number}`, scores as of a text-classification pipeline, or an
    object with an id and one of these."""
    if isinstance(record, list):
        if record and all(isinstance(each, dict) and {"label", "score"} <= set(each) for each in record):
            return _Record(None, {str(each["label"]): each["score"] for each in record})
        return _Record(None, record) if record and all(_is_number(each) for each in record) else None
    if not isinstance(record, dict):
        return None
    key = choice.item or id_column(list(record))
    name = next((each for each in wanted if isinstance(record.get(each), (list, dict))), None)
    if name is not None:
        inner = _record(record[name], replace(choice, item=""), wanted)
        return None if inner is None else _Record(record.get(key) if key else None, inner.numbers)
    numbers = {
        str(each): value
        for each, value in record.items()
        if each != key and each not in choice.leave_out and _is_number(value) and each not in ID_NAMES
    }
    if choice.classes:
        numbers = {each: value for each, value in numbers.items() if each in choice.classes}
    return _Record(record.get(key) if key else None, numbers) if len(numbers) > 1 else None


def _from_columns(path: Path, value: Mapping[str, Any], wanted: Sequence[str]) -> LabelMatrix:
    name = next(each for each in wanted if isinstance(value.get(each), list))
    classes = next((value[each] for each in CLASS_ARRAYS if isinstance(value.get(each), list)), None)
    items = next((value[each] for each in ITEM_ARRAYS if isinstance(value.get(each), list)), None)
    texts = [None if each is None else tuple(map(str, each)) for each in (items, classes)]
    others = tuple(each for each in wanted if each != name and isinstance(value.get(each), list))
    return LabelMatrix(path, _matrix(value[name], path), texts[0], texts[1], name, others=others)


def _matrix(rows: Any, path: Path) -> np.ndarray:
    try:
        values = np.asarray(rows, np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 2:
        raise wrong_shape("rows that are not lists of numbers of the same length", "one number per class", where=path)
    return values


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def precision(values: np.ndarray) -> int:
    """The bits of the numbers: 16 for float16, and for float32 that hold bfloat16."""
    if values.dtype == np.float32 and values.size and not (np.ascontiguousarray(values).view(np.uint32) & 0xFFFF).any():
        return 16
    return 8 * values.dtype.itemsize if values.dtype.kind == "f" else 64


def named(numbers: LabelMatrix, classes: Sequence[str], items: Sequence[str]) -> LabelMatrix:
    """The same with the classes and ids given by the user; both must fit the array and what the file says itself."""
    n_items, n_classes = numbers.values.shape
    own = numbers.classes
    if own is None and not classes:
        expected = f"the names of its {n_classes} columns, in order"
        fix = "name them with --classes cat,dog,..."
        raise BadTable("numbers without class names", expected, fix, "missing-classes", numbers.where())
    if own is None and len(classes) != n_classes:
        raise wrong_shape(f"{n_classes} columns", f"{len(classes)} classes, as given", where=numbers.where())
    if items and len(items) != n_items:
        fix = "give one id per row, in the order of the rows"
        raise wrong_shape(f"{len(items):,} ids for {n_items:,} rows", f"{n_items:,} ids", fix, numbers.where())
    if items and numbers.items is not None and tuple(items) != numbers.items:
        fix = "leave out --items"
        raise BadTable("ids in the file itself, and others in --items", "one of them", fix, "two-ids", numbers.where())
    final = names_like(own or classes, own or classes)
    check_classes(final, numbers.where())
    return replace(numbers, classes=final, items=items_like(items, items) or numbers.items)
