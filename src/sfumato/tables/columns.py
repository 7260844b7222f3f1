"""Reads columns as numbers or times; errors name the row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tables.errors import BadTable, bad_number, missing_column, nearest, show
from sfumato.tables.files import Rows


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column without dictionary codes, with one type for text."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    is_text = pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return column.cast(pa.string() if is_text else kind)


OUR_COLUMNS = ("item", "annotator", "kind", "payload")


def other_table(names: list[str]) -> str:
    """A fix for a sfumato table that belongs to another step."""
    has_probs = "probs" in names or any(name.startswith("p:") for name in names)
    if {"item", "annotator", "kind", "payload"} <= set(names):
        return "these are Annotations: convert them to Beliefs with `sfumato label` first"
    if {"item", "annotator"} <= set(names) and has_probs:
        return "these are Beliefs: this step needs the answers (Annotations)"
    if "item" in names and has_probs:
        return "these are SoftLabels, one row per item: this step needs one row per answer (Annotations or Beliefs)"
    if {"item", "annotator", "label"} <= set(names):
        return "these look like votes: import them with `sfumato import crowd` first"
    return ""


def check_columns(rows: Rows, required: tuple[str, ...]) -> None:
    """Raise unless every required column exists, and each column once."""
    names = rows.schema.names
    for name in names:
        if names.count(name) > 1:
            found = f"column {show(name)} more than once"
            raise BadTable(found, "each column once", "rename or remove one of them", "doubled-column", rows.where())
    for name in required:
        if name not in names:
            fix = other_table(names) if name in OUR_COLUMNS else ""
            fix = fix or f"{nearest(name, names)}rename or add the column"
            raise missing_column(names, f"a column {name!r}", fix, rows.where())


def numbers(rows: Rows, name: str, column: pa.ChunkedArray, start: int, *, optional: bool = False) -> np.ndarray:
    """A column of finite numbers as float64; missing ones are NaN if `optional`. Text is read strictly."""
    target = pa.float64()
    plain = _decoded(column)
    is_text = pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type)
    if is_text and optional:
        plain = pc.if_else(pc.equal(plain, ""), pa.scalar(None, plain.type), plain)
    if is_text:
        bad = pc.invert(pc.fill_null(pc.match_substring_regex(plain, NUMBER), True))
        if pc.any(bad).as_py():
            raise _bad_number(rows, name, plain, bad, start)
    elif not (pa.types.is_floating(plain.type) or pa.types.is_integer(plain.type) or pa.types.is_null(plain.type)):
        raise _wrong_type(rows, name, plain.type, "numbers")
    values = plain.cast(target)
    if values.null_count and not optional:
        raise _bad_number(rows, name, plain, values.is_null(), start)
    result = values.to_numpy(zero_copy_only=False) if isinstance(values, pa.Array) else values.to_numpy()
    infinite = np.isinf(result) if optional else ~np.isfinite(result)
    if infinite.any():
        raise _bad_number(rows, name, plain, pa.chunked_array([pa.array(infinite)]), start)
    return result  # type: ignore[no-any-return]


NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
"""A number in text: ASCII digits and a point; no words, hex, underscores, percent signs or decimal commas."""


def _bad_number(rows: Rows, name: str, column: Any, bad: Any, start: int) -> BadTable:
    row = int(np.argmax(bad.to_numpy(zero_copy_only=False) if isinstance(bad, pa.Array) else bad.to_numpy()))
    value = column[row].as_py()
    fix = "write numbers with ASCII digits and a point"
    if isinstance(value, str) and value.strip().endswith("%"):
        fix = "write shares from 0 to 1, without a percent sign"
    elif isinstance(value, str) and "," in value:
        fix = "write a decimal point, not a comma"
    elif value in (None, ""):
        fix = "fill in the value or remove the row"
    return bad_number(value, "a finite number", fix, rows.where(start + row, name))


ZONE = r"([Zz]|[+-]\d\d:?\d\d)$"


def whole_numbers(rows: Rows, name: str, column: pa.ChunkedArray, start: int) -> pa.ChunkedArray:
    """A column of 64-bit integers, some missing; text is read strictly and exactly."""
    plain = _decoded(column)
    if pa.types.is_null(plain.type):
        return plain.cast(pa.int64())
    if pa.types.is_floating(plain.type):
        values = numbers(rows, name, plain, start, optional=True)
        wrong = ~np.isnan(values) & ((values != np.floor(values)) | (np.abs(values) >= 2**53))
        if not wrong.any():
            return pa.chunked_array([pa.array(values, mask=np.isnan(values)).cast(pa.int64())])
        raise _not_whole(rows, name, plain[int(np.argmax(wrong))].as_py(), start + int(np.argmax(wrong)))
    if not (pa.types.is_integer(plain.type) or pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type)):
        raise _wrong_type(rows, name, plain.type, "whole numbers")
    if not pa.types.is_integer(plain.type):
        plain = pc.if_else(pc.equal(plain, ""), pa.scalar(None, plain.type), plain)
    try:
        return plain.cast(pa.int64())
    except pa.ArrowInvalid:
        row = next(i for i, value in enumerate(plain.to_pylist()) if value is not None and not _is_int64(value))
        raise _not_whole(rows, name, plain[row].as_py(), start + row) from None


def _wrong_type(rows: Rows, name: str, kind: pa.DataType, expected: str) -> BadTable:
    fix = f"convert the column to {expected}"
    return BadTable(f"values of type {kind}", expected, fix, "wrong-type", rows.where(None, name))


def _is_int64(value: int | str) -> bool:
    try:
        pa.array([value]).cast(pa.int64())
    except (pa.ArrowInvalid, OverflowError):
        return False
    return True


def _not_whole(rows: Rows, name: str, value: object, row: int) -> BadTable:
    expected = "a whole number of at most 64 bits, or an empty field"
    return bad_number(value, expected, "write it with ASCII digits only", rows.where(row, name))


def times(rows: Rows, name: str, column: pa.ChunkedArray, start: int) -> pa.ChunkedArray:
    """A column of times as UTC milliseconds; text is ISO 8601, in UTC if it names no zone."""
    plain = _decoded(column)
    if pa.types.is_null(plain.type):
        return plain.cast(UTC_MILLISECONDS)
    if pa.types.is_timestamp(plain.type):
        return (plain if plain.type.tz else plain.cast(pa.timestamp("ms"), safe=False)).cast(
            UTC_MILLISECONDS, safe=False
        )
    if not (pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type)):
        raise _wrong_type(rows, name, plain.type, "timestamps in UTC")
    try:
        return _parse_times(plain.cast(pa.string()))
    except pa.ArrowInvalid as error:
        row = next(i for i, value in enumerate(plain.to_pylist()) if value is not None and not is_time(value))
        found, expected = show(plain[row].as_py()), "a time like 2026-01-31T12:00:00.000Z"
        raise BadTable(found, expected, "write ISO 8601, in UTC", "bad-time", rows.where(start + row, name)) from error


UTC_MILLISECONDS = pa.timestamp("ms", "UTC")


def _parse_times(text: Any) -> Any:
    """ISO 8601 text as UTC milliseconds, truncated."""
    text = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
    zoned = pc.if_else(pc.match_substring_regex(text, ZONE), text, pc.binary_join_element_wise(text, "Z", ""))
    return zoned.cast(pa.timestamp("us", "UTC")).cast(UTC_MILLISECONDS, safe=False)


def is_time(text: str) -> bool:
    """Whether `text` is a valid time."""
    try:
        _parse_times(pa.array([text], pa.string()))
    except pa.ArrowInvalid:
        return False
    return True
