"""SoftLabels: one distribution per item, from people or from a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float, Int

from sfumato.tables.base_table import Table
from sfumato.tables.columns import WIDE_PREFIX, check_classes, check_probs, classes_of, numbers, probs_array, probs_of
from sfumato.tables.errors import BadTable, doubled_item, show, unknown, wrong_shape
from sfumato.tables.files.table_file import Rows, check_columns, class_names, classes_metadata, read_rows
from sfumato.tables.growable_array import GrowableArray, freeze
from sfumato.tables.text_columns import TextReader

ESTIMAND_KEY = b"sfumato.target"


class Estimand(StrEnum):
    """What an aggregated distribution estimates."""

    PEOPLE = "how people judge"
    """The share of people who would choose each class: stays soft with any number of answers."""
    TRUTH = "how probable each class is to be true"
    """Converges to one class with more answers."""


@dataclass(frozen=True, eq=False, repr=False)
class SoftLabels(Table):
    """One distribution per item: finite, >= 0, rows sum to 1, each item once.

    `n_annotators` is the number of annotators per item: 0 for a prediction, None if unknown. `estimand` is what an
    aggregation estimated, None if unknown.
    """

    items: pa.StringArray
    classes: tuple[str, ...]
    probs: Float[np.ndarray, "items classes"]
    n_annotators: Int[np.ndarray, "items"] | None
    path: Path | None = None
    estimand: Estimand | None = None

    def __post_init__(self) -> None:
        check_classes(self.classes)
        if self.probs.shape != (len(self.items), len(self.classes)):
            expected = f"{len(self.items)} items x {len(self.classes)} classes"
            raise wrong_shape(f"probabilities of shape {self.probs.shape}", expected)
        if self.n_annotators is not None and len(self.n_annotators) != len(self.items):
            found, expected = f"{len(self.n_annotators)} numbers of annotators", f"{len(self.items)}, one per item"
            raise wrong_shape(found, expected, "give one number per item, or None")
        check_probs(self.probs)
        freeze(self, "probs", "n_annotators")

    @classmethod
    def from_numpy(
        cls, items: Sequence[str], probs: Any, classes: Sequence[str], n_annotators: Any = None
    ) -> SoftLabels:
        """Labels from an items x classes array; `classes` are the names of its columns."""
        classes = class_names(classes)
        columns: dict[str, Any] = {"item": pa.array([str(item) for item in items], pa.string())}
        matrix = np.asarray(probs, np.float64)
        if matrix.ndim != 2 or len(matrix) != len(columns["item"]) or matrix.shape[1] != len(classes):
            raise wrong_shape(f"an array of shape {matrix.shape}", f"({len(items)}, {len(classes)})")
        columns["probs"] = probs_array(matrix)
        if n_annotators is not None:
            columns["n_annotators"] = pa.array(np.broadcast_to(np.asarray(n_annotators, np.int64), len(items)))
        return cls.from_arrow(pa.table(columns).replace_schema_metadata(classes_metadata(classes)))

    @classmethod
    def one_hot(
        cls, items: Sequence[str], labels: Sequence[str], classes: Sequence[str], n_annotators: Any = None
    ) -> SoftLabels:
        """Hard labels, one class name per item, as one-hot distributions."""
        index = {name: k for k, name in enumerate(classes)}
        for label in labels:
            if label not in index:
                raise unknown("class", label, list(classes))
        return cls.from_numpy(items, np.eye(len(classes))[[index[label] for label in labels]], classes, n_annotators)

    @classmethod
    def from_arrow(cls, frame: Any, classes: Sequence[str] = ()) -> SoftLabels:
        """Labels from any Arrow-compatible table, with `probs` or one column per class (`p:cat`).

        `classes` names the columns of `probs` if the table cannot (Polars and pandas keep no metadata).
        """
        return cls.from_rows(Rows.of(frame, classes))

    @classmethod
    def read(cls, path: str | Path) -> SoftLabels:
        """Labels from a Parquet or CSV file."""
        return cls.from_rows(read_rows(path))

    @classmethod
    def from_rows(cls, rows: Rows) -> SoftLabels:
        check_columns(rows, ("item",))
        classes = classes_of(rows)
        reader = TextReader(rows, "item")
        items: list[pa.StringArray] = []
        hashes = GrowableArray(np.uint64)
        probs = GrowableArray(np.float64, len(classes))
        counts = GrowableArray(np.float64)
        for chunk in rows.chunks:
            start = len(probs)
            for coded in reader.read(chunk.column("item")):
                items.append(coded.dictionary.take(coded.indices))
                hashes.append(_hashes(items[-1]))
            probs.append(probs_of(rows, chunk, classes, start))
            if "n_annotators" in chunk.column_names:
                counts.append(numbers(rows, "n_annotators", chunk.column("n_annotators"), start, optional=True))
        named = pa.concat_arrays([pa.array([], pa.string()), *items])
        _check_distinct(rows, named, hashes.finish())
        counted = _whole_counts(rows, counts.finish())
        return cls(named, classes, probs.finish(), counted, rows.path, _estimand_of(rows))

    def metadata(self) -> dict[bytes, bytes]:
        own = {} if self.estimand is None else {ESTIMAND_KEY: self.estimand.encode()}
        return super().metadata() | own

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:
        part = self.probs[start:stop]
        columns: dict[str, Any] = {"item": self.items.slice(start, stop - start)}
        if wide:
            columns |= {WIDE_PREFIX + name: pa.array(part[:, k]) for k, name in enumerate(self.classes)}
        else:
            columns["probs"] = probs_array(part)
        counts = None if self.n_annotators is None else self.n_annotators[start:stop]
        columns["n_annotators"] = pa.nulls(stop - start, pa.int32()) if counts is None else pa.array(counts, pa.int32())
        return pa.table(columns)

    def __len__(self) -> int:
        return len(self.items)

    def rows_of(self, items: Sequence[str] | pa.Array) -> Int[np.ndarray, "asked"]:
        """The row of each of `items`, by name; a missing item is an error."""
        wanted = items if isinstance(items, (pa.Array, pa.ChunkedArray)) else pa.array(items, pa.string())
        found = pc.index_in(wanted, value_set=self.items)
        if found.null_count:
            missing = wanted[int(np.argmax(found.is_null().to_numpy(zero_copy_only=False)))].as_py()
            text = f"no label for item {show(missing)} ({found.null_count:,} items have none)"
            fix = "label the missing items, or remove them from both tables"
            raise BadTable(text, "a label for every item", fix, "missing-item", self.path)
        return found.to_numpy().astype(np.int64)  # type: ignore[no-any-return]


def check_same_estimand(one: SoftLabels, other: SoftLabels, doing: str) -> None:
    """Raise if the two tables have different estimands."""
    if one.estimand is not None and other.estimand is not None and one.estimand is not other.estimand:
        found = f"labels of {one.estimand!r} and of {other.estimand!r}"
        fix = "aggregate both with methods of the same estimand: see docs/aggregate.md"
        raise BadTable(found, f"the same estimand for {doing}", fix, "mixed-targets")


def _estimand_of(rows: Rows) -> Estimand | None:
    text = (rows.schema.metadata or {}).get(ESTIMAND_KEY)
    if text is None:
        return None
    known = next((estimand for estimand in Estimand if estimand.encode() == text), None)
    if known is None:
        expected = " or ".join(repr(estimand.value) for estimand in Estimand)
        found = f"{show(text)} under the metadata key sfumato.target"
        fix = "write the file again with sfumato aggregate"
        raise BadTable(found, expected, fix, "bad-target", rows.where())
    return known


def _hashes(items: pa.StringArray) -> np.ndarray:
    """A 64-bit hash of each id."""
    import polars as pl

    return np.asarray(pl.Series(items).hash().to_numpy())


def _check_distinct(rows: Rows, items: pa.StringArray, hashes: np.ndarray) -> None:
    """Raise unless each item occurs once; compares hashes first, which is faster for millions of ids."""
    hashes.sort()
    if not (hashes[1:] == hashes[:-1]).any():
        return
    names = items.to_pylist()
    seen: set[str] = set()
    for row, name in enumerate(names):
        if name in seen:
            fix = "keep one row per item; answers of several annotators belong in a Beliefs table"
            raise doubled_item(name, rows.where(row, "item"), fix=fix)
        seen.add(name)


def _whole_counts(rows: Rows, counts: Float[np.ndarray, "rows"]) -> Int[np.ndarray, "items"] | None:
    if np.isnan(counts).all():
        return None
    bad = ~((counts >= 0) & (counts == np.floor(counts)) & (counts < 2**31))
    if bad.any():
        row = int(np.argmax(bad))
        expected = "a whole number of annotators, for every item or for none"
        fix = "write the number of annotators per item, 0 for a prediction"
        raise BadTable(f"{counts[row]:g}", expected, fix, "bad-count", rows.where(row, "n_annotators"))
    return counts.astype(np.int32)
