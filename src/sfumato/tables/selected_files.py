"""Parts of files. Tables and npz keep all their columns and arrays; a folder of images becomes an npz."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol
from zipfile import ZipFile

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from sfumato.tables.base_table import Table
from sfumato.tables.columns import probs_array
from sfumato.tables.errors import BadTable, listing, no_rows
from sfumato.tables.files.atomic_write import atomic_write
from sfumato.tables.files.file_type import NPZ, NUMPY, TABLE_KINDS, TSV, FileKind, kind_of
from sfumato.tables.files.npz import read_arrays, write_array, write_texts
from sfumato.tables.files.table_file import read_rows, write_table
from sfumato.tables.model_inputs import ROW_SOURCES, Inputs
from sfumato.tables.row_numbers import NumberedItems, numbered_rows, row_sources_metadata, row_sources_of
from sfumato.tables.row_values import RowValues
from sfumato.tables.selection import table_reader, take, values_of

PER_ITEM = ("images", "texts", "features", "probs", "predictions", "logits", "counts", "labels", "n_annotators")
"""The arrays of an npz that say how many items it has if it has no `items`."""
NOT_PER_ITEM = ("classes", "class_names", "ordered", "target", "estimand", "made_by")


class FileContent(Protocol):
    """The content of a file: the values of its rows, and a way to write some of them."""

    @property
    def kinds(self) -> tuple[FileKind, ...]:
        """The file types that it can be written to."""
        ...

    def values(self) -> RowValues: ...

    def write(self, rows: Int[np.ndarray, "kept"], output: Path) -> None: ...


def read_content(path: Path) -> FileContent:
    """The content of a table, of an npz or npy, or of a folder of images."""
    if path.is_dir() or kind_of(path, (*TABLE_KINDS, TSV, NUMPY)) is NUMPY:
        arrays = {} if path.is_dir() or path.suffix.lower() == ".npy" else read_arrays(path)
        is_matrix = not arrays or {"format", "indptr"} <= set(arrays)
        return InputsContent(Inputs.read(path)) if is_matrix else ArraysContent.of(path, arrays)
    rows = read_rows(path)
    schema = pa.schema([pa.field(field.name, _plain(field.type)) for field in rows.schema], rows.schema.metadata)
    table = pa.Table.from_batches([b for chunk in rows.chunks for b in chunk.cast(schema).to_batches()], schema)
    if not len(table):
        raise no_rows(where=path)
    return TableContent(table, rows.classes() or (), path)


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type without dictionary codes."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


@dataclass(frozen=True, eq=False)
class TableContent:
    """All columns of a Parquet or CSV table."""

    table: pa.Table
    classes: tuple[str, ...]
    path: Path
    recognized: RowValues | None = None
    """The values per item of a table of others, as it was recognized."""

    kinds: ClassVar[tuple[FileKind, ...]] = TABLE_KINDS

    def values(self) -> RowValues:
        return RowValues(self.table, self.classes, self.path, self.recognized)

    def write(self, rows: Int[np.ndarray, "kept"], output: Path) -> None:
        """Write the rows with all their columns; a table of ours in another file type has that type's columns."""
        reader = None if kind_of(output) is kind_of(self.path) else table_reader(self.table.column_names)
        if reader is None:
            write_table(self.table.take(pa.array(rows)), output)
        else:
            take(reader(self.path), rows).write(output)


@dataclass(frozen=True, eq=False)
class SfumatoContent:
    """A table of ours, as `sf.read` reads it from a file of another kind."""

    table: Table

    kinds: ClassVar[tuple[FileKind, ...]] = TABLE_KINDS

    def values(self) -> RowValues:
        return values_of(self.table)

    def write(self, rows: Int[np.ndarray, "kept"], output: Path) -> None:
        take(self.table, rows).write(output)


@dataclass(frozen=True, eq=False)
class InputsContent:
    """Inputs that are written as an npz: a folder of images, an npy, or a sparse matrix."""

    inputs: Inputs

    kinds: ClassVar[tuple[FileKind, ...]] = (NPZ,)

    def values(self) -> RowValues:
        return values_of(self.inputs)

    def write(self, rows: Int[np.ndarray, "kept"], output: Path) -> None:
        self.inputs.take(rows).write(output)


@dataclass(frozen=True, eq=False)
class ArraysContent:
    """All arrays of an npz; those with one entry per item are selected, the others are kept whole."""

    arrays: dict[str, np.ndarray]
    items: tuple[str, ...]
    path: Path

    kinds: ClassVar[tuple[FileKind, ...]] = (NPZ,)

    @classmethod
    def of(cls, path: Path, arrays: dict[str, np.ndarray]) -> ArraysContent:
        """The arrays with their item ids: `items`, else row numbers."""
        first = next((arrays[name] for name in ("items", *PER_ITEM) if name in arrays and arrays[name].ndim), None)
        if first is None or not len(first):
            found = f"the arrays {listing(list(arrays)) or 'none'}"
            expected = f"items, or one of {listing(PER_ITEM)}"
            raise BadTable(found, expected, "save the ids of the rows as items", "no-items", path)
        given = arrays.get("items")
        if given is None:
            return cls(arrays, numbered_rows(len(first), path), path)
        ids = map(str, given.tolist())
        sources = arrays.get(ROW_SOURCES)
        return cls(arrays, tuple(ids) if sources is None else NumberedItems(ids, map(str, sources.tolist())), path)

    def _is_per_item(self, name: str) -> bool:
        values = self.arrays[name]
        return name not in NOT_PER_ITEM and values.ndim > 0 and len(values) == len(self.items)

    def values(self) -> RowValues:
        columns: dict[str, Any] = {"item": pa.array(self.items, pa.string())}
        for name, values in self.arrays.items():
            if name != "items" and self._is_per_item(name) and values.ndim == 1 and values.dtype.kind in "Uiuf":
                columns[name] = pa.array(values.tolist())
        names = next((self.arrays[name] for name in ("classes", "class_names") if name in self.arrays), None)
        classes = () if names is None else tuple(map(str, names.tolist()))
        if classes and "label" not in columns and "labels" in columns:
            numbered = self.arrays["labels"].dtype.kind in "iu"
            labels = [
                classes[k] if numbered and 0 <= k < len(classes) else str(k) for k in self.arrays["labels"].tolist()
            ]
            columns["label"] = pa.array(labels, pa.string())
        elif "labels" in columns:
            columns["label"] = pa.array([str(each) for each in self.arrays["labels"].tolist()], pa.string())
        probs = self.arrays.get("probs")
        if probs is not None and probs.shape == (len(self.items), len(classes)) and probs.dtype.kind == "f":
            columns["probs"] = probs_array(probs)
        table = pa.table(columns).replace_schema_metadata(row_sources_metadata(row_sources_of(self.items)))
        return RowValues(table, classes, self.path)

    def write(self, rows: Int[np.ndarray, "kept"], output: Path) -> None:
        """Write the npz; row numbers that served as ids are written as `items`, so that they stay the same."""
        with atomic_write(output) as part, ZipFile(part, "w") as archive:
            write_texts(archive, "items", [self.items[row] for row in rows.tolist()])
            if (sources := row_sources_of(self.items)) and ROW_SOURCES not in self.arrays:
                write_texts(archive, ROW_SOURCES, sources)
            for name, values in self.arrays.items():
                kept = values[rows] if self._is_per_item(name) else values
                if name != "items" and kept.dtype.kind == "U" and kept.ndim == 1:
                    write_texts(archive, name, kept.tolist())
                elif name != "items":
                    write_array(archive, name, kept)


def part_path(output: Path, part: str) -> Path:
    """`labels-train.parquet` for the part `train` of `labels.parquet`."""
    if not part:
        return output
    ends = sorted((end for kind in (*TABLE_KINDS, NPZ) for end in kind.suffixes), key=len, reverse=True)
    end = next((end for end in ends if output.name.lower().endswith(end)), "")
    return output.with_name(
        f"{output.name[: len(output.name) - len(end)]}-{part}{output.name[len(output.name) - len(end) :]}"
    )
