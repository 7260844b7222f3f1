"""SoftLabels: one distribution per item, from people or from a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float, Int, Shaped

from sfumato.tables.base_table import ItemTable
from sfumato.tables.call_arguments import check_kind, explained
from sfumato.tables.columns import WIDE_PREFIX, check_classes, check_probs, classes_of, numbers, probs_array, probs_of
from sfumato.tables.errors import BadTable, doubled_item, select_command, show, unknown, wrong_shape
from sfumato.tables.estimand import (
    ESTIMAND_COLUMN,
    Estimand,
    column_estimand,
    estimand_metadata,
    estimand_named,
    recorded_estimand,
    recorded_made_by,
)
from sfumato.tables.files.table_file import Rows, check_columns, class_names, classes_metadata, read_rows
from sfumato.tables.growable_array import GrowableArray, freeze
from sfumato.tables.row_numbers import recorded_row_sources, row_sources_of
from sfumato.tables.text_columns import TextReader


@dataclass(frozen=True, eq=False, repr=False)
class SoftLabels(ItemTable):
    """One distribution per item: finite, >= 0, rows sum to 1, each item once.

    `n_annotators` is the number of annotators per item: 0 for a prediction, None if unknown. `estimand` is what the
    distributions estimate, None if unknown; labels of 0 annotators are predictions unless it says otherwise. `made_by`
    is how they were made: the name of an aggregator, or a model.
    """

    items: pa.StringArray
    classes: tuple[str, ...]
    probs: Float[np.ndarray, "items classes"]
    n_annotators: Int[np.ndarray, "items"] | None
    path: Path | None = None
    estimand: Estimand | None = None
    made_by: str | None = None
    row_sources: tuple[str, ...] = ()

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
        estimand = estimand_named(self.estimand, self.path)
        if estimand is None and self.n_annotators is not None and len(self.items) and not self.n_annotators.any():
            estimand = Estimand.PREDICTION
        object.__setattr__(self, "estimand", estimand)

    @classmethod
    @explained
    def from_numpy(
        cls,
        items: Sequence[str],
        probs: Any,
        classes: Sequence[str],
        n_annotators: Any = None,
        *,
        estimand: Estimand | str | None = None,
        made_by: str | None = None,
    ) -> SoftLabels:
        """Labels from an items x classes array; `classes` are the names of its columns."""
        check_kind("items", items, (Iterable,), "a list of ids", "give one id per row: range(n), or names")
        classes = class_names(classes)
        columns: dict[str, Any] = {"item": pa.array([str(item) for item in items], pa.string())}
        matrix = np.asarray(probs, np.float64)
        if matrix.ndim != 2 or len(matrix) != len(columns["item"]) or matrix.shape[1] != len(classes):
            raise wrong_shape(f"an array of shape {matrix.shape}", f"({len(items)}, {len(classes)})")
        columns["probs"] = probs_array(matrix)
        if n_annotators is not None:
            columns["n_annotators"] = pa.array(np.broadcast_to(np.asarray(n_annotators, np.int64), len(items)))
        labels = cls.from_arrow(pa.table(columns).replace_schema_metadata(classes_metadata(classes)))
        known = estimand_named(estimand) or labels.estimand
        return replace(labels, estimand=known, made_by=made_by, row_sources=row_sources_of(items))

    @classmethod
    @explained
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
    def from_pandas(cls, frame: Any, classes: Sequence[str] = ()) -> SoftLabels:
        """Labels from a pandas data frame with `item` and one column per class (`p:cat`); see `from_arrow`."""
        return cls.from_arrow(frame, classes)

    @classmethod
    def from_polars(cls, frame: Any, classes: Sequence[str] = ()) -> SoftLabels:
        """Labels from a Polars data frame; see `from_arrow`."""
        return cls.from_arrow(frame, classes)

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
        estimand = recorded_estimand(rows)
        for chunk in rows.chunks:
            start = len(probs)
            for coded in reader.read(chunk.column("item")):
                items.append(coded.dictionary.take(coded.indices))
                hashes.append(_hashes(items[-1]))
            probs.append(probs_of(rows, chunk, classes, start))
            if "n_annotators" in chunk.column_names:
                counts.append(numbers(rows, "n_annotators", chunk.column("n_annotators"), start, optional=True))
            if ESTIMAND_COLUMN in chunk.column_names:
                estimand = column_estimand(rows, chunk.column(ESTIMAND_COLUMN), estimand, start)
        named = pa.concat_arrays([pa.array([], pa.string()), *items])
        _check_distinct(rows, named, hashes.finish())
        counted = _whole_counts(rows, counts.finish())
        made_by, sources = recorded_made_by(rows), recorded_row_sources(rows)
        return cls(named, classes, probs.finish(), counted, rows.path, estimand, made_by, sources)

    def metadata(self) -> dict[bytes, bytes]:
        return super().metadata() | estimand_metadata(self)

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:
        part = self.probs[start:stop]
        columns: dict[str, Any] = {"item": self.items.slice(start, stop - start)}
        if wide:
            columns |= {WIDE_PREFIX + name: pa.array(part[:, k]) for k, name in enumerate(self.classes)}
        else:
            columns["probs"] = probs_array(part)
        counts = None if self.n_annotators is None else self.n_annotators[start:stop]
        columns["n_annotators"] = pa.nulls(stop - start, pa.int32()) if counts is None else pa.array(counts, pa.int32())
        if wide and self.estimand is not None:
            columns[ESTIMAND_COLUMN] = pa.array([self.estimand.value] * (stop - start), pa.string())
        return pa.table(columns)

    def __getitem__(self, item: str | int) -> dict[str, float]:
        """The distribution of one item, by its id: the probability of each class."""
        fix = "give one id, or use probs[rows] and items[rows] for some rows"
        check_kind("item", item, (str, int), "the id of an item", fix)
        return dict(zip(self.classes, self.probs[self.row_of(item)].tolist(), strict=True))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.probs, dtype=dtype, copy=copy)

    def entropy(self) -> Float[np.ndarray, "items"]:
        """The entropy of each label, in nats."""
        from scipy.special import entr

        return np.asarray(entr(self.probs).sum(axis=1))

    def argmax(self) -> Shaped[np.ndarray, "items"]:
        """The most probable class of each item, by name; of equal ones the first."""
        return np.asarray(np.array(self.classes)[self.probs.argmax(axis=1)])

    def rows_of(self, items: Sequence[str] | pa.Array) -> Int[np.ndarray, "asked"]:
        """The row of each of `items`, by name; a missing item is an error."""
        wanted = items if isinstance(items, (pa.Array, pa.ChunkedArray)) else pa.array(items, pa.string())
        found = pc.index_in(wanted, value_set=self.items)
        if found.null_count:
            missing = wanted[int(np.argmax(found.is_null().to_numpy(zero_copy_only=False)))].as_py()
            text = f"no label for item {show(missing)} ({found.null_count:,} items have none)"
            keep = select_command("TABLE", self.path or "labels.parquet")
            fix = f"label the missing items, or remove them from the other table: {keep}"
            raise BadTable(text, "a label for every item", fix, "missing-item", self.path)
        return found.to_numpy().astype(np.int64)  # type: ignore[no-any-return]


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
