"""Votes per class: how many people said what, without saying who."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from sfumato.tables.errors import BadTable, ErrorLocation, listing, show
from sfumato.tables.files import read_arrays
from sfumato.tables.probabilities import check_classes
from sfumato.tables.soft_labels import SoftLabels

Place = Callable[[int | None, str | None], ErrorLocation]
"""Where a row and a column of the source are."""


def in_arrays(path: Path) -> Place:
    """Places in a file of arrays."""
    return lambda row, column: ErrorLocation(str(path), row=row, column=column)


def labels_from_counts(items: Sequence[str], counts: np.ndarray, classes: Sequence[str], place: Place) -> SoftLabels:
    """Soft labels from votes per class; every item must be there once and have at least one vote."""
    counts = np.asarray(counts)
    check_classes(tuple(classes), place(None, None))
    if counts.dtype.kind not in "iufb":
        raise _bad_counts(
            f"found values of type {counts.dtype}", "numbers of votes", "wrong-type", place(None, "counts")
        )
    if counts.ndim != 2 or counts.shape[1] != len(classes) or len(counts) != len(items):
        shape = f"{len(items)} items x {len(classes)} classes"
        raise _bad_counts(f"found counts of shape {counts.shape}", shape, "wrong-shape", place(None, None))
    if not len(counts):
        raise _bad_counts("found no rows", "at least one item", "no-rows", place(None, None))
    bad = ~np.isfinite(counts) | (counts < 0) | (counts != np.floor(counts)) | (counts >= 2**31)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        found = f"found {counts[row, column]:g} votes"
        raise _bad_counts(found, "whole numbers >= 0", "bad-count", place(int(row), str(classes[column])))
    total = counts.sum(axis=1, dtype=np.int64)
    if (total == 0).any():
        row = int(np.argmax(total == 0))
        raise _bad_counts(
            f"found no vote for item {show(items[row])}", "at least one vote", "all-zero", place(row, None)
        )
    _check_items_once(items, place)
    return SoftLabels.from_numpy(items, counts / total[:, None], classes, total)


def _check_items_once(items: Sequence[str], place: Place) -> None:
    seen: set[str] = set()
    for row, name in enumerate(items):
        if name in seen:
            found = f"found item {show(name)} a second time"
            raise _bad_counts(found, "each item once", "doubled-item", place(row, "item"))
        seen.add(name)


def _bad_counts(found: str, expected: str, code: str, where: ErrorLocation) -> BadTable:
    fix = "give one row an item, one column a class, and in each cell a number of people"
    return BadTable(found, expected=expected, fix=fix, code=code, where=where)


def counts_in(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file of votes, the votes themselves under `counts`."""
    arrays = read_arrays(path)
    counts = arrays.get("counts", arrays.get(path.stem))
    if counts is None:
        raise BadTable(
            f"found arrays {listing(list(arrays))}",
            expected="an array `counts` of items x classes",
            fix="save it as counts=...",
            code="missing-column",
            where=ErrorLocation(str(path)),
        )
    return {**arrays, "counts": counts}


def original_from_numbers(path: Path, items: Sequence[str], numbers: np.ndarray, classes: Sequence[str]) -> SoftLabels:
    """The data set's own labels, given as class numbers, one an item."""
    fits = numbers.dtype.kind in "iu" and numbers.shape == (len(items),)
    wrong = (numbers < 0) | (numbers >= len(classes)) if fits else np.ones(1, dtype=bool)
    if wrong.any():
        found = show(numbers.reshape(-1)[int(np.argmax(wrong))].item()) if numbers.size else "nothing"
        raise BadTable(
            f"found the label {found}",
            expected=f"{len(items)} class numbers from 0 to {len(classes) - 1}",
            fix="is this the published file?",
            code="bad-number",
            where=ErrorLocation(str(path), row=int(np.argmax(wrong)), column="labels"),
        )
    return SoftLabels.from_numpy(items, np.eye(len(classes))[numbers], classes)


def counts_notes(labels: SoftLabels) -> tuple[str, ...]:
    """What came in, for votes per class."""
    n = labels.n_annotators
    assert n is not None
    return (
        f"{len(labels):,} items, {int(n.sum()):,} votes, {n.min()} to {n.max()} an item (mean {n.mean():.1f}), "
        f"{len(labels.classes)} classes: {listing(labels.classes)}",
        "votes per class name no annotators, so these are SoftLabels, not Annotations",
    )
