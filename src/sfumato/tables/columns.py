"""Reads columns as numbers, times or distributions; errors name the row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float

from sfumato.tables.errors import (
    BadProbabilities,
    BadTable,
    ErrorLocation,
    SfumatoError,
    bad_classes,
    bad_number,
    listing,
    missing_column,
    show,
)
from sfumato.tables.files.table_file import ROW_GROUP, Rows, other_table
from sfumato.tables.option_words import is_command


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column without dictionary codes, with one type for text."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    is_text = pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return column.cast(pa.string() if is_text else kind)


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


TRUTH_VALUES = {"true": True, "false": False, "1": True, "0": False}


def truth_values(rows: Rows, name: str, column: pa.ChunkedArray, start: int) -> np.ndarray:
    """True and false of a column: booleans, or in a CSV `true` and `false`."""
    column = _decoded(column)
    if pa.types.is_boolean(column.type) and not column.null_count:
        return np.asarray(column.to_numpy())
    texts = [str(value).lower() for value in column.to_pylist()]
    for row, text in enumerate(texts):
        if text not in TRUTH_VALUES:
            where = rows.where(start + row, name)
            raise BadTable(f"{show(text)} in column {name}", "true or false", "correct the value", "bad-value", where)
    return np.array([TRUTH_VALUES[text] for text in texts], bool)


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


SUM_TOLERANCE = 1e-5
"""The largest allowed difference of a row's sum from 1; rows are never renormalized."""


WIDE_PREFIX = "p:"


def check_classes(classes: tuple[str, ...], where: ErrorLocation | None = None) -> tuple[str, ...]:
    """`classes`, or an error unless they are at least two distinct, non-empty names."""
    fault = (
        f"{len(classes)} class"
        if len(classes) < 2
        else "a class without a name"
        if not all(name.strip() and "\0" not in name for name in classes)
        else f"class {show(next(c for c in classes if classes.count(c) > 1))} more than once"
        if len(set(classes)) < len(classes)
        else None
    )
    if fault:
        fix = "name every class once, in the wanted order"
        raise BadTable(fault, "at least two different classes", fix, "bad-classes", where)
    return classes


def classes_of(rows: Rows) -> tuple[str, ...]:
    """The classes of rows with distributions: from the schema's metadata or the `p:` columns."""
    wide = tuple(name.removeprefix(WIDE_PREFIX) for name in rows.schema.names if name.startswith(WIDE_PREFIX))
    named = rows.classes()
    if "probs" in rows.schema.names and named is None:
        expected = "the classes as a JSON array under the schema metadata key sfumato.classes"
        read = "sfumato import auto FILE --classes cat,dog -o FILE" if is_command() else "sf.read(path, classes=[...])"
        fix = f"name them: {read}, or use one column per class (p:cat)"
        raise BadTable("a column 'probs' but no class names", expected, fix, "missing-classes", rows.where())
    if "probs" not in rows.schema.names and not wide:
        fix = other_table(rows.schema.names) or "name the probability columns p:<class>"
        expected = "a column 'probs', or one column per class (p:cat)"
        raise missing_column(rows.schema.names, expected, fix, rows.where())
    if "probs" not in rows.schema.names and named is not None and set(named) != set(wide):
        fix = "use the same names for columns and classes"
        raise bad_classes(f"columns for the classes {listing(wide)}", named, fix, rows.where())
    return check_classes(named or wide, rows.where())


def probs_of(rows: Rows, chunk: pa.Table, classes: tuple[str, ...], start: int) -> Float[np.ndarray, "rows classes"]:
    """The checked distributions of `chunk`, whose first row has the number `start`."""
    if "probs" in chunk.column_names:
        probs = _from_list(rows, chunk.column("probs"), len(classes), start)
    else:
        columns = [numbers(rows, WIDE_PREFIX + c, chunk.column(WIDE_PREFIX + c), start) for c in classes]
        probs = np.stack(columns, axis=1)
    check_probs(probs, rows, start)
    return probs


def check_probs(probs: Float[np.ndarray, "rows classes"], rows: Rows | None = None, start: int = 0) -> None:
    """Raise unless every row is finite, not negative, and sums to 1 within `SUM_TOLERANCE`."""
    for first in range(0, len(probs), ROW_GROUP):
        part = probs[first : first + ROW_GROUP]
        with np.errstate(all="ignore"):
            sums = part.sum(axis=1)
        off = ~(np.abs(sums - 1) <= SUM_TOLERANCE)
        if off.any() or part.min() < 0:
            row = int(np.argmax(off | (part.min(axis=1) < 0)))
            at = start + first + row
            raise _not_a_distribution(part[row], float(sums[row]), rows.where(at) if rows else ErrorLocation(row=at))


def _not_a_distribution(row: Float[np.ndarray, "classes"], total: float, where: ErrorLocation) -> SfumatoError:
    shown = show([float(f"{p:.6g}") for p in row[:12]])
    summed, correct = f"{shown}, which sum to {total:.6g}", "remove the row, or correct its source"
    if not np.isfinite(row).all():
        found, fix, code = f"{shown} with a value that is not finite", correct, "not-finite"
    elif row.min() < 0:
        found, fix, code = f"{shown} with a negative value", correct, "negative"
    elif total == 0:
        found, fix, code = "a row of zeros", correct, "all-zero"
    elif abs(total - 100) < 0.5:
        found, fix, code = summed, "these look like percentages: divide them by 100", "percentages"
    else:
        found, fix, code = summed, "divide each row by its sum, if that is intended", "bad-sum"
    return BadProbabilities(found, "finite values >= 0 that sum to 1", fix, code, where=where)


def _from_list(rows: Rows, column: pa.ChunkedArray, n_classes: int, start: int) -> Float[np.ndarray, "rows classes"]:
    kind = column.type
    is_list = pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if not is_list or not pa.types.is_floating(kind.value_type):
        found, fix = f"values of type {kind}", "write the column as a list of float64"
        raise BadTable(found, "a list of floats", fix, "wrong-type", rows.where(None, "probs"))
    parts = []
    for chunk in column.chunks:
        lengths = (
            np.full(len(chunk), kind.list_size)
            if pa.types.is_fixed_size_list(kind)
            else np.diff(np.asarray(chunk.offsets))
        )
        wrong = (lengths != n_classes) | chunk.is_null().to_numpy(zero_copy_only=False)
        if wrong.any() or chunk.flatten().null_count:
            bad = int(np.argmax(wrong)) if wrong.any() else int(np.argmax(chunk.flatten().is_null())) // n_classes
            expected = f"{n_classes} values, one per class, none missing"
            fix, where = "write one value per class, in the order of sfumato.classes", rows.where(start + bad, "probs")
            raise BadTable(show(chunk[bad].as_py()), expected, fix, "wrong-length", where)
        parts.append(chunk.flatten().cast(pa.float64()).to_numpy(zero_copy_only=False).reshape(-1, n_classes))
        start += len(chunk)
    return np.concatenate(parts) if len(parts) != 1 else parts[0]


def probs_array(probs: Float[np.ndarray, "rows classes"]) -> pa.FixedSizeListArray:
    """Distributions as a `probs` column."""
    return pa.FixedSizeListArray.from_arrays(
        pa.array(np.ascontiguousarray(probs, np.float64).reshape(-1)), probs.shape[1]
    )
