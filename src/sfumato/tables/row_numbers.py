"""Ids that are row numbers: they match those of every other file, so that different items can be matched unnoticed.

What can be known: row numbers from 0 to n - 1 without gaps are all rows of a file with n rows. Files with different
numbers of rows are different sets. What cannot be known: sets of the same size, and row numbers of some rows only.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tables.errors import BadTable, Where, warn


def n_numbered_rows(items: Sequence[str] | pa.Array, first: int = 0) -> int | None:
    """The number n of ids if they are the numbers 0 to n - 1 (from `first`) as text, in any order; None otherwise."""
    ids = items if isinstance(items, pa.Array) else pa.array(items, pa.string())
    if not len(ids) or not (ids[0].as_py() or "").isdecimal():
        return None
    try:
        numbers = ids.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    whole = pc.min_max(numbers).as_py() == {"min": first, "max": first + len(ids) - 1}
    plain = whole and numbers.cast(pa.string()).equals(ids.cast(pa.string()))
    return len(ids) if plain and len(numbers.unique()) == len(ids) else None


def check_numbered_inputs(labeled: Sequence[str], n_rows: int | None, where: Where = None) -> None:
    """Raise if labels are numbered by row and the inputs too (`n_rows`; None: they have ids), but not as many."""
    n_labels = None if n_rows is None else n_numbered_rows(labeled)
    if n_labels is None or n_rows is None or n_labels >= n_rows:
        return
    found = f"labels for the items 0 to {n_labels - 1:,}, and {n_rows:,} inputs without ids, numbered by row"
    expected = "inputs with ids, or as many as labels: row numbers of two files need not be the same items"
    fix = "give the ids of the inputs (items in the npz), or only the inputs that have labels"
    raise BadTable(found, expected, fix, "other-row-numbers", where)


def check_row_numbers(predicted: pa.Array, people: pa.Array) -> None:
    """Warn if both tables are numbered by row, and have different numbers of rows; raise if one counts from 1."""
    n_predicted = n_numbered_rows(predicted)
    if n_predicted is not None and n_predicted == n_numbered_rows(people, first=1):
        found = f"predictions numbered 0 to {n_predicted - 1:,}, and labels numbered 1 to {n_predicted:,}"
        fix = "give both the same ids: name the rows of the predictions with --items"
        raise BadTable(found, "the same ids in both tables: these are probably one apart", fix, "other-row-numbers")
    if n_predicted is None or n_predicted == len(people):
        return
    n_people = n_numbered_rows(people)
    if n_people is not None:
        warn(
            f"the ids of {n_predicted:,} predictions and of {n_people:,} labels are row numbers: they match by number, "
            "which is right only if both files number the same items"
        )
