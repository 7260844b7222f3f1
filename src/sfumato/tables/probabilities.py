"""Reads and checks distributions: `probs` as a list column, or one column per class (`p:cat`)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from sfumato.tables.columns import numbers, other_table
from sfumato.tables.errors import (
    BadProbabilities,
    BadTable,
    ErrorLocation,
    SfumatoError,
    bad_classes,
    listing,
    missing_column,
    show,
)
from sfumato.tables.files import ROW_GROUP, Rows

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
        fix = "name them with the argument classes, or use one column per class (p:cat)"
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
