"""Distributions on their way into a table: `probs` as a list column, or one column a class (`p:cat`)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from sfumato.tables.columns import numbers, other_table
from sfumato.tables.errors import BadProbabilities, BadTable, ErrorLocation, SfumatoError, listing, show
from sfumato.tables.files import ROW_GROUP, Rows

SUM_TOLERANCE = 1e-5
"""How far a row may be from summing to one; rows are kept as they are, never renormalised."""
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
        raise BadTable(
            f"{fault}",
            "at least two classes, each named once",
            "name every class, in the order you want them",
            "bad-classes",
            where=where,
        )
    return classes


def classes_of(rows: Rows) -> tuple[str, ...]:
    """The classes of rows that hold distributions: from the schema's metadata or from its `p:` columns."""
    wide = tuple(name.removeprefix(WIDE_PREFIX) for name in rows.schema.names if name.startswith(WIDE_PREFIX))
    named = rows.classes()
    if "probs" in rows.schema.names and named is None:
        raise BadTable(
            "a column 'probs' but no class names",
            "the classes as a JSON array under the schema metadata key sfumato.classes",
            "name them with the argument classes, or use one column a class (p:cat)",
            "missing-classes",
            where=rows.where(),
        )
    if "probs" not in rows.schema.names and not wide:
        raise BadTable(
            f"columns {listing(rows.schema.names)}",
            "a column 'probs', or one column a class (p:cat)",
            other_table(rows.schema.names) or "name the probability columns p:<class>",
            "missing-column",
            where=rows.where(),
        )
    if "probs" not in rows.schema.names and named is not None and set(named) != set(wide):
        raise BadTable(
            f"columns for the classes {listing(wide)}",
            f"columns for the classes named: {listing(named)}",
            "name the columns and the classes alike",
            "bad-classes",
            where=rows.where(),
        )
    return check_classes(named or wide, rows.where())


def probs_of(rows: Rows, chunk: pa.Table, classes: tuple[str, ...], start: int) -> Float[np.ndarray, "rows classes"]:
    """The distributions of `chunk`, checked; `start` is the number of its first row."""
    if "probs" in chunk.column_names:
        probs = _from_list(rows, chunk.column("probs"), len(classes), start)
    else:
        columns = [numbers(rows, WIDE_PREFIX + c, chunk.column(WIDE_PREFIX + c), start) for c in classes]
        probs = np.stack(columns, axis=1)
    check_probs(probs, rows, start)
    return probs


def check_probs(probs: Float[np.ndarray, "rows classes"], rows: Rows | None = None, start: int = 0) -> None:
    """Raise unless every row is finite, non-negative and sums to one within `SUM_TOLERANCE`."""
    for first in range(0, len(probs), ROW_GROUP):
        part = probs[first : first + ROW_GROUP]
        with np.errstate(all="ignore"):
            sums = part.sum(axis=1)
        off = ~(np.abs(sums - 1) <= SUM_TOLERANCE)
        if off.any() or part.min() < 0:
            row = int(np.argmax(off | (part.min(axis=1) < 0)))
            at = start + first + row
            raise _refused(part[row], float(sums[row]), rows.where(at) if rows else ErrorLocation(row=at))


def _refused(row: Float[np.ndarray, "classes"], total: float, where: ErrorLocation) -> SfumatoError:
    shown = show([float(f"{p:.6g}") for p in row[:12]])
    if not np.isfinite(row).all():
        found, fix, code = (
            f"{shown} with a value that is not finite",
            "remove the row, or find where it came from",
            "not-finite",
        )
    elif row.min() < 0:
        found, fix, code = (
            f"{shown} with a negative value",
            "remove the row, or find where it came from",
            "negative",
        )
    elif total == 0:
        found, fix, code = "a row of zeros", "remove the row, or give it the mass it should have", "all-zero"
    elif abs(total - 100) < 0.5:
        found, fix, code = (
            f"{shown}, which sum to {total:.6g}",
            "these look like percentages: divide them by 100",
            "percentages",
        )
    else:
        found, fix, code = (
            f"{shown}, which sum to {total:.6g}",
            "divide each row by its sum if that is what you mean",
            "bad-sum",
        )
    return BadProbabilities(found, "finite values >= 0 that sum to 1", fix, code, where=where)


def _from_list(rows: Rows, column: pa.ChunkedArray, n_classes: int, start: int) -> Float[np.ndarray, "rows classes"]:
    kind = column.type
    is_list = pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if not is_list or not pa.types.is_floating(kind.value_type):
        raise BadTable(
            f"values of type {kind}",
            "a list of floats",
            "write the column as a list of float64",
            "wrong-type",
            where=rows.where(None, "probs"),
        )
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
            raise BadTable(
                f"{show(chunk[bad].as_py())}",
                f"{n_classes} values, one a class, none missing",
                "write one value a class, in the order of sfumato.classes",
                "wrong-length",
                where=rows.where(start + bad, "probs"),
            )
        parts.append(chunk.flatten().cast(pa.float64()).to_numpy(zero_copy_only=False).reshape(-1, n_classes))
        start += len(chunk)
    return np.concatenate(parts) if len(parts) != 1 else parts[0]


def probs_array(probs: Float[np.ndarray, "rows classes"]) -> pa.FixedSizeListArray:
    """Distributions as the `probs` column of a file."""
    return pa.FixedSizeListArray.from_arrays(
        pa.array(np.ascontiguousarray(probs, np.float64).reshape(-1)), probs.shape[1]
    )
