"""Reads columns of other tools' tables and converts them to Annotations; errors name the line."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from sfumato.importers.importer import PUBLISHED
from sfumato.tables.annotations import Annotations
from sfumato.tables.class_columns import with_whole_numbers
from sfumato.tables.column_reader import read_columns
from sfumato.tables.columns import NUMBER, check_classes
from sfumato.tables.errors import BadTable, ErrorLocation, SfumatoError, bad_number, raise_together, show, unknown, warn
from sfumato.tables.files.table_file import Rows, class_names
from sfumato.tables.option_words import is_command
from sfumato.tables.text_columns import CodedText


def coded_columns(rows: Rows, names: Sequence[str], optional: Sequence[str] = ()) -> dict[str, CodedText]:
    """Columns as coded text; an empty field is an error unless the column is `optional`."""
    return read_columns(rows, names, optional=optional).texts


def choice_payloads(label: CodedText) -> pa.DictionaryArray:
    """`choice` payloads for a coded column of class names."""
    texts = [json.dumps({"class": name}, ensure_ascii=False) for name in label.names.to_pylist()]
    return pa.DictionaryArray.from_arrays(pa.array(label.codes), pa.array(texts, pa.string()))


def coded_array(column: CodedText) -> pa.DictionaryArray:
    """A coded column as Arrow."""
    return pa.DictionaryArray.from_arrays(pa.array(column.codes), column.names)


def annotations_of(columns: dict[str, Any], kind: str, classes: Sequence[str], where: ErrorLocation) -> Annotations:
    """Annotations of one question type from columns; `where` is the file, for errors about its classes."""
    check_classes(tuple(classes), where)
    n_rows = len(columns["item"])
    constant = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n_rows, np.int32)), pa.array([kind]))
    return Annotations.from_arrow(pa.table({**columns, "kind": constant}), classes)


def purposes(is_repeat: np.ndarray) -> pa.DictionaryArray:
    """The purpose column: `repeat` or `label`."""
    return pa.DictionaryArray.from_arrays(pa.array(is_repeat.astype(np.int32)), pa.array(["label", "repeat"]))


def second_answers(first: CodedText, second: CodedText) -> np.ndarray:
    """Which rows have the same texts in both columns (item and annotator) as an earlier row."""
    pair = first.codes.astype(np.int64) * max(len(second.names), 1) + second.codes
    later = np.ones(len(pair), dtype=bool)
    later[np.unique(pair, return_index=True)[1]] = False
    return later


def duplicate_fix() -> str:
    """What to do about second answers of an annotator to an item."""
    read = "sfumato import ... --repeats" if is_command() else "sf.read(path, repeats=True)"
    return f"keep them as repeats with {read}, or remove the wrong rows"


def check_no_second_answer(rows: Rows, item: CodedText, annotator: CodedText, later: np.ndarray) -> None:
    """Raise if `later` marks any row."""
    if later.any():
        row = int(np.argmax(later))
        name = show(annotator.names[int(annotator.codes[row])].as_py())
        item_name = show(item.names[int(item.codes[row])].as_py())
        found = f"annotator {name} answering item {item_name} again ({int(later.sum()):,} such rows)"
        raise BadTable(found, "one answer per annotator and item", duplicate_fix(), "duplicate-answer", rows.where(row))


def label_texts(column: CodedText, given: Sequence[str], rows: Rows) -> CodedText:
    """A column of classes, whole numbers without a fraction."""
    names = with_whole_numbers(column.names.to_pylist(), given, rows.name)
    return CodedText(column.codes, pa.array(names, pa.string()))


def ordered_classes(label: CodedText, given: Sequence[str], rows: Rows, column: str) -> tuple[str, ...]:
    """The given classes, which must include every label; or the labels, numbers by value, then text."""
    found = label.names.to_pylist()
    given = class_names(given)
    if not given:
        folded = Counter(name.strip().casefold() for name in found)
        if alike := [name for name in found if folded[name.strip().casefold()] > 1]:
            names = ", ".join(repr(name) for name in sorted(alike)[:6])
            warn(f"classes that differ only in case or spaces are treated as different: {names}")
        return tuple(sorted(found, key=by_value))
    faults: list[SfumatoError] = []
    for code, name in enumerate(found):
        if name not in given:
            row = int(np.argmax(label.codes == code))
            fix = "correct the row, or the names in --classes"
            faults.append(unknown("class", name, list(given), where=rows.where(row, column), fix=fix))
    raise_together(faults)
    return given


def by_value(name: str) -> tuple[int, Decimal, str]:
    """Sort key: numbers (of any length, with a sign or a point) by their value, then everything else as text."""
    if re.fullmatch(r"[+-]?[0-9]+(\.[0-9]+)?", name, re.ASCII):
        return (0, Decimal(name), name)
    return (1, Decimal(0), name)


def class_numbers(
    rows: Rows, column: CodedText, name: str, classes: Sequence[str], none: str | None = None
) -> Int[np.ndarray, "rows"]:
    """A column of class numbers as integers; the text `none` means no class and becomes -1."""
    numbers = _parsed(rows, column, name, lambda text: -1 if text == none else class_number(text, classes))
    return numbers.astype(np.int64)


def class_number(text: str, classes: Sequence[str]) -> int:
    """The class number in `text`; a ValueError names the range."""
    if not (text.isascii() and text.isdigit() and len(text) < 9 and int(text) < len(classes)):
        raise ValueError(f"a class number from 0 to {len(classes) - 1}")
    return int(text)


def number_column(rows: Rows, column: CodedText, name: str) -> Float[np.ndarray, "rows"]:
    """A column of finite numbers."""
    return _parsed(rows, column, name, finite_number)


def finite_number(text: str) -> float:
    """The number in `text`; a ValueError if it is not finite."""
    value = float(text) if re.fullmatch(NUMBER, text) else math.inf
    if not math.isfinite(value):
        raise ValueError("a finite number")
    return value


def _parsed(rows: Rows, column: CodedText, name: str, parse: Callable[[str], float]) -> np.ndarray:
    """A column with `parse` applied to each distinct text; its ValueErrors become errors with a line."""
    values = []
    for code, text in enumerate(column.names.to_pylist()):
        try:
            values.append(parse(text))
        except ValueError as error:
            raise not_published(rows, int(np.argmax(column.codes == code)), name, text, str(error)) from error
    return np.asarray(np.array(values, dtype=np.float64)[column.codes])


def not_published(rows: Rows, row: int, column: str, text: str, expected: str) -> BadTable:
    """The error for a field that cannot be in the published file."""
    return bad_number(text, expected, PUBLISHED, rows.where(row, column))
