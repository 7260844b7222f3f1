"""Columns of incoming rows read as numbers or moments, each fault with its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tables.errors import BadTable, listing, nearest, show
from sfumato.tables.files import Rows


def _spelled_out(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column without dictionary codes, text as one type whatever the library it came from calls it."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    is_text = pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return column.cast(pa.string() if is_text else kind)


OUR_COLUMNS = ("item", "annotator", "kind", "payload")


def other_table(names: list[str]) -> str:
    """What to do with a table of ours that belongs to another step."""
    has_probs = "probs" in names or any(name.startswith("p:") for name in names)
    if {"item", "annotator", "kind", "payload"} <= set(names):
        return "these are Annotations: turn them into beliefs with `sfumato label` first"
    if {"item", "annotator"} <= set(names) and has_probs:
        return "these are Beliefs: this step works on the answers themselves (Annotations)"
    if "item" in names and has_probs:
        return "these are SoftLabels, one row an item: this step needs a row an answer (Annotations or Beliefs)"
    if {"item", "annotator", "label"} <= set(names):
        return "these look like votes: bring them in with `sfumato import crowd` first"
    return ""


def check_columns(rows: Rows, required: tuple[str, ...]) -> None:
    """Raise unless every required column is there."""
    names = rows.schema.names
    for name in names:
        if names.count(name) > 1:
            raise BadTable(
                f"column {show(name)} more than once",
                "each column once",
                "rename or remove one of them",
                "doubled-column",
                where=rows.where(),
            )
    for name in required:
        if name not in names:
            raise BadTable(
                f"columns {listing(names)}",
                f"a column {name!r}",
                (
                    (other_table(names) if name in OUR_COLUMNS else "")
                    or f"{nearest(name, names)}rename or add the column".strip()
                ),
                "missing-column",
                where=rows.where(),
            )


def numbers(rows: Rows, name: str, column: pa.ChunkedArray, start: int, *, optional: bool = False) -> np.ndarray:
    """A column of finite or missing numbers as float64 (missing: NaN, only where `optional`), text read strictly."""
    target = pa.float64()
    plain = _spelled_out(column)
    is_text = pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type)
    if is_text and optional:
        plain = pc.if_else(pc.equal(plain, ""), pa.scalar(None, plain.type), plain)
    if is_text:
        bad = pc.invert(pc.fill_null(pc.match_substring_regex(plain, NUMBER), True))
        if pc.any(bad).as_py():
            raise _bad_number(rows, name, plain, bad, start)
    elif not (pa.types.is_floating(plain.type) or pa.types.is_integer(plain.type) or pa.types.is_null(plain.type)):
        raise BadTable(
            f"values of type {plain.type}",
            "numbers",
            "convert the column to numbers",
            "wrong-type",
            where=rows.where(None, name),
        )
    values = plain.cast(target)
    if values.null_count and not optional:
        raise _bad_number(rows, name, plain, values.is_null(), start)
    result = values.to_numpy(zero_copy_only=False) if isinstance(values, pa.Array) else values.to_numpy()
    infinite = np.isinf(result) if optional else ~np.isfinite(result)
    if infinite.any():
        raise _bad_number(rows, name, plain, pa.chunked_array([pa.array(infinite)]), start)
    return result  # type: ignore[no-any-return]


NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
"""A number as we read it: ASCII digits and a point; no words, hex, underscores, percent signs or decimal commas."""


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
    return BadTable(f"{show(value)}", "a finite number", fix, "bad-number", where=rows.where(start + row, name))


ZONE = r"([Zz]|[+-]\d\d:?\d\d)$"


def whole_numbers(rows: Rows, name: str, column: pa.ChunkedArray, start: int) -> pa.ChunkedArray:
    """A column of whole numbers of 64 bits, or nothing; text read strictly, every digit kept."""
    plain = _spelled_out(column)
    if pa.types.is_null(plain.type):
        return plain.cast(pa.int64())
    if pa.types.is_floating(plain.type):
        values = numbers(rows, name, plain, start, optional=True)
        wrong = ~np.isnan(values) & ((values != np.floor(values)) | (np.abs(values) >= 2**53))
        if not wrong.any():
            return pa.chunked_array([pa.array(values, mask=np.isnan(values)).cast(pa.int64())])
        raise _no_whole_number(rows, name, plain[int(np.argmax(wrong))].as_py(), start + int(np.argmax(wrong)))
    if not (pa.types.is_integer(plain.type) or pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type)):
        raise BadTable(
            f"values of type {plain.type}",
            "whole numbers",
            "convert the column to integers",
            "wrong-type",
            where=rows.where(None, name),
        )
    if not pa.types.is_integer(plain.type):
        plain = pc.if_else(pc.equal(plain, ""), pa.scalar(None, plain.type), plain)
    try:
        return plain.cast(pa.int64())
    except pa.ArrowInvalid:
        row = next(i for i, value in enumerate(plain.to_pylist()) if value is not None and not _is_int64(value))
        raise _no_whole_number(rows, name, plain[row].as_py(), start + row) from None


def _is_int64(value: int | str) -> bool:
    try:
        pa.array([value]).cast(pa.int64())
    except (pa.ArrowInvalid, OverflowError):
        return False
    return True


def _no_whole_number(rows: Rows, name: str, value: object, row: int) -> BadTable:
    return BadTable(
        f"{show(value)}",
        "a whole number of at most 64 bits, or nothing",
        "write it with ASCII digits only",
        "bad-number",
        where=rows.where(row, name),
    )


def times(rows: Rows, name: str, column: pa.ChunkedArray, start: int) -> pa.ChunkedArray:
    """A column of moments as UTC milliseconds; text as ISO 8601, taken as UTC where it names no zone."""
    plain = _spelled_out(column)
    if pa.types.is_null(plain.type):
        return plain.cast(MOMENT)
    if pa.types.is_timestamp(plain.type):
        return (plain if plain.type.tz else plain.cast(pa.timestamp("ms"), safe=False)).cast(MOMENT, safe=False)
    if not (pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type)):
        raise BadTable(
            f"values of type {plain.type}",
            "timestamps",
            "convert the column to timestamps in UTC",
            "wrong-type",
            where=rows.where(None, name),
        )
    try:
        return _moments(plain.cast(pa.string()))
    except pa.ArrowInvalid as error:
        row = next(i for i, value in enumerate(plain.to_pylist()) if value is not None and not is_moment(value))
        raise BadTable(
            f"{show(plain[row].as_py())}",
            "a moment like 2026-01-31T12:00:00.000Z",
            "write ISO 8601, in UTC",
            "bad-time",
            where=rows.where(start + row, name),
        ) from error


MOMENT = pa.timestamp("ms", "UTC")


def _moments(text: Any) -> Any:
    """ISO 8601 text as UTC milliseconds; what is finer is cut off."""
    text = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
    zoned = pc.if_else(pc.match_substring_regex(text, ZONE), text, pc.binary_join_element_wise(text, "Z", ""))
    return zoned.cast(pa.timestamp("us", "UTC")).cast(MOMENT, safe=False)


def is_moment(text: str) -> bool:
    """Whether `text` is a moment as we read it."""
    try:
        _moments(pa.array([text], pa.string()))
    except pa.ArrowInvalid:
        return False
    return True
