"""Reads and writes Parquet and CSV tables as chunks of rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.tables.class_order import names_like, order_metadata, with_recorded_order
from sfumato.tables.errors import (
    FREE_EXPANSION_BYTES,
    MAX_EXPANSION,
    BadTable,
    ErrorLocation,
    SfumatoError,
    bad_classes,
    damaged_file,
    decompression_bomb,
    listing,
    missing_column,
    nearest,
    raise_together,
    show,
    warn,
)
from sfumato.tables.files import csv as csv_files
from sfumato.tables.files.atomic_write import atomic_write
from sfumato.tables.files.file_type import CSV, PARQUET, TABLE_KINDS, TSV, check_content, kind_of
from sfumato.tables.files.parquet_footer import check_parquet

CLASSES_KEY = b"sfumato.classes"
PANDAS_INDEX = "__index_level_0__"
"""What pandas calls row names without a name in Parquet."""
ROW_GROUP = 2**18
CHUNK_VALUES = 2**22
MAX_EXPANSION_OF_LISTS = 20_000
"""The largest expansion of list values: one-hot rows over a thousand classes are small on disk."""


@dataclass(frozen=True)
class Rows:
    """A schema and its rows in chunks, with their file (None: from memory). Can be read once."""

    schema: pa.Schema
    chunks: Iterator[pa.Table]
    path: Path | None = None
    has_header: bool = True
    delimiter: str = ","

    @classmethod
    def of(cls, frame: Any, classes: Sequence[str] = ()) -> Rows:
        """Rows of any Arrow-compatible table: pyarrow, Polars, pandas (from 2.2), DuckDB, a sfumato table."""
        if not hasattr(frame, "__arrow_c_stream__"):
            expected = "an Arrow-compatible table (pyarrow, Polars, pandas ...)"
            fix = "pass a data frame, or use from_numpy for arrays"
            raise BadTable(f"a {type(frame).__name__}", expected, fix, "not-a-table")
        reader = pa.RecordBatchReader.from_stream(frame)
        rows = cls(reader.schema, (pa.Table.from_batches([batch]) for batch in reader))
        return rows.with_classes(classes) if classes else rows

    @property
    def name(self) -> str:
        """The name of the file, for messages."""
        return "the table" if self.path is None else self.path.name

    @property
    def is_text(self) -> bool:
        """Whether every value is text (a CSV)."""
        return self.path is not None and kind_of(self.path) in (CSV, TSV)

    def where(self, row: int | None = None, column: str | None = None) -> ErrorLocation:
        """The location of `row` (from 0): its line in a CSV, else its number."""
        if row is not None and self.path is not None and self.is_text:
            line = csv_files.line_of_row(self.path, row, self.delimiter, has_header=self.has_header)
            return ErrorLocation(str(self.path), line=line, column=column)
        return ErrorLocation(str(self.path) if self.path else None, row=row, column=column)

    def check_expansion(self, n_bytes: int) -> None:
        """Raise if `n_bytes` of decoded text are too many for the size of the file."""
        if self.path is not None:
            check_not_bomb(self.path, n_bytes)

    def with_classes(self, classes: Sequence[str]) -> Rows:
        """The same rows with their classes; rows that have other classes are an error."""
        own = self.classes()
        if own is not None and own != tuple(classes):
            fix = "remove the argument, or choose columns by name"
            raise bad_classes(f"the classes {listing(own)} in the table itself", classes, fix, self.where())
        return replace(self, schema=self.schema.with_metadata(classes_metadata(classes)))

    def classes(self) -> tuple[str, ...] | None:
        """The classes in the schema's metadata, or None."""
        text = (self.schema.metadata or {}).get(CLASSES_KEY)
        if text is None:
            return None
        try:
            classes = msgspec.json.decode(text, type=list[str])
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            classes = None
        if classes is None:
            found, expected = f"{show(text)} under the metadata key sfumato.classes", "a JSON array of class names"
            raise BadTable(found, expected, "write the file again", "bad-classes", self.where())
        return with_recorded_order(tuple(classes), self.schema.metadata, self.where())


def class_names(classes: Sequence[str]) -> tuple[str, ...]:
    """The names as a tuple, ordered if they are; a single text is an error, because Python would split it into
    letters."""
    if isinstance(classes, str):
        fix = f"write {[name.strip() for name in classes.split(',')]}"
        raise BadTable(f"the text {show(classes)} for classes", "a list of names", fix, "bad-classes")
    return names_like(classes, classes)


def classes_metadata(classes: Sequence[str]) -> dict[bytes, bytes]:
    """The schema metadata for a table's classes, in order, and whether they are a scale."""
    classes = class_names(classes)
    if not classes:
        return {}
    return {CLASSES_KEY: json.dumps(list(classes), ensure_ascii=False).encode()} | order_metadata(classes)


def read_rows(
    path: str | Path, *, guarded: bool = True, header: Sequence[str] = (), delimiter: str | None = None
) -> Rows:
    """Rows of a Parquet, CSV or TSV file, whose content must match its name.

    `guarded` removes the apostrophe that `write_rows` adds before formulas in a CSV; files of others have none.
    A first column without a name, as pandas and R write their row names, is left out if it numbers the rows.
    `header` names the columns of a CSV whose first line is data. `delimiter` separates its columns (default: a comma,
    or a tab in a file named `.tsv`; if the first line has none, but one other separator, that one, with a warning).
    """
    path = Path(path)
    kind = kind_of(path, (*TABLE_KINDS, TSV))
    check_content(path, kind)
    if kind is PARQUET:
        shape = check_parquet(path)
        file = _opened(path)
        rows = Rows(file.schema_arrow, _parquet_chunks(path, file, shape.rows_at_once), path)
        indices = [i for i, name in enumerate(rows.schema.names) if name == PANDAS_INDEX]
        return _with_named_index(rows, indices[0]) if indices else rows
    if delimiter is None:
        usual = "\t" if kind is TSV else ","
        delimiter = csv_files.found_delimiter(path, usual) if not header else usual
        if delimiter != usual:
            warn(f"{path.name}: columns are separated by {csv_files.DELIMITERS[delimiter]}")
    stored = list(header) or csv_files.read_header(path, delimiter)
    names = [csv_files.unguard_formula(name) for name in stored] if guarded else stored
    chunks = csv_files.read_chunks(path, stored, delimiter, has_header=not header)
    schema = pa.schema([(name, pa.string()) for name in names])
    rows = Rows(schema, _renamed(chunks, names, guarded), path, not header, delimiter)
    return rows if names[0].strip() else _with_named_index(rows, 0)


def _with_named_index(rows: Rows, index: int) -> Rows:
    """The rows without a column `index` of row names that has no name, if these number the rows; else with a name for
    it: `item` for texts, `index` for other numbers."""
    first = next(rows.chunks, None)
    values = [] if first is None else list(map(str, first.column(index).to_pylist()))
    rest = [name for i, name in enumerate(rows.schema.names) if i != index]
    place = "the first column" if index == 0 else "the index of pandas"
    if any(values == list(map(str, range(start, start + len(values)))) for start in (0, 1)):
        name = None
        warn(f"{rows.name}: left out {place}, which has no name and numbers the rows")
    else:
        name = "index" if "item" in rest or all(value.isdecimal() for value in values) else "item"
        if name in rest:
            fix = "name it in the first line, or remove it"
            raise BadTable("a column without a name", "a name for every column", fix, "unnamed-column", rows.where())
        warn(f"{rows.name}: {place} has no name: read as {name!r}")

    def named(table: Any) -> Any:
        if name is None:
            return table.remove(index) if isinstance(table, pa.Schema) else table.remove_column(index)
        if isinstance(table, pa.Schema):
            return table.set(index, table.field(index).with_name(name))
        return table.rename_columns([name if i == index else old for i, old in enumerate(table.column_names)])

    chunks = rows.chunks if first is None else chain([first], rows.chunks)
    return replace(rows, schema=named(rows.schema), chunks=(named(chunk) for chunk in chunks))


def write_rows(schema: pa.Schema, chunks: Iterator[pa.Table], path: str | Path, *, private: bool = False) -> None:
    """Write `chunks` to `path` in the format of its name; replaces an old file when the new one is complete. Only its
    owner can read a `private` file."""
    path = Path(path)
    kind = kind_of(path, TABLE_KINDS, to_write=True)
    with atomic_write(path, private=private) as part:
        if kind is CSV:
            csv_files.write_chunks(schema, chunks, part, compressed=path.name.lower().endswith(".gz"))
            return
        with pq.ParquetWriter(part, schema, compression="zstd", write_page_checksum=True) as writer:
            for chunk in chunks:
                writer.write_table(chunk.cast(schema), row_group_size=ROW_GROUP)


def write_table(table: pa.Table, path: str | Path) -> None:
    """Write a whole table, as `write_rows` does."""
    write_rows(table.schema, iter([table]), path)


def _renamed(chunks: Iterator[pa.Table], names: list[str], guarded: bool) -> Iterator[pa.Table]:
    for chunk in chunks:
        columns = [csv_files.unguard_column(column) for column in chunk.columns] if guarded else chunk.columns
        yield pa.Table.from_arrays(columns, names=names)


def _opened(path: Path) -> pq.ParquetFile:
    """The file, with text columns read dictionary-coded: repeated texts are stored once."""
    try:
        file = pq.ParquetFile(path, page_checksum_verification=True)
        n_rows, n_values = file.metadata.num_rows, sum(_n_values(field.type) for field in file.schema_arrow)
        check_not_bomb(path, 4 * n_rows * len(file.schema_arrow))
        check_not_bomb(path, 8 * n_rows * n_values, MAX_EXPANSION_OF_LISTS)
        text = [field.name for field in file.schema_arrow if _is_text(field.type)]
        # pre_buffer would keep every column chunk ever read in memory.
        return pq.ParquetFile(path, page_checksum_verification=True, read_dictionary=text, pre_buffer=False)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise damaged_file("Parquet file", error, path) from error


def _parquet_chunks(path: Path, file: pq.ParquetFile, at_once: int) -> Iterator[pa.Table]:
    """The rows in chunks with a limited number of values, and at most `at_once` rows."""
    promised = file.metadata.num_rows
    n_values = max(sum(_n_values(field.type) for field in file.schema_arrow), 1)
    at_once = max(1, min(ROW_GROUP, at_once, CHUNK_VALUES // n_values))
    n_rows = 0
    try:
        for batch in file.iter_batches(batch_size=at_once):
            batch.validate(full=True)  # text that is not UTF-8, wrong offsets
            n_rows += len(batch)
            yield pa.Table.from_batches([batch])
    except (pa.ArrowException, OSError, ValueError, OverflowError, UnicodeDecodeError) as error:
        raise damaged_file("Parquet file", error, path) from error
    if n_rows != promised:
        raise damaged_file("Parquet file", ValueError(f"{n_rows:,} rows where {promised:,} were expected"), path)


def _n_values(kind: pa.DataType) -> int:
    """The number of values per row of this type; an estimate if it varies."""
    if pa.types.is_fixed_size_list(kind):
        return max(int(kind.list_size), 1)
    return 1024 if pa.types.is_list(kind) or pa.types.is_large_list(kind) else 1


def check_not_bomb(path: Path, n_bytes: int, times: int = MAX_EXPANSION) -> None:
    """Raise if `n_bytes` are too many for the size of the file."""
    size = path.stat().st_size
    if n_bytes > FREE_EXPANSION_BYTES and n_bytes > times * size:
        found = f"about {n_bytes:,} bytes of data in a file of {size:,}"
        fix = "open it with pyarrow and pass the table to from_arrow"
        raise decompression_bomb(path, found, f"{times:,} times the size of the file", fix)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


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
    faults: list[SfumatoError] = []
    if doubled := [show(name) for name in dict.fromkeys(names) if names.count(name) > 1]:
        found, fix = f"column {listing(doubled)} more than once", "rename or remove one of them"
        faults.append(BadTable(found, "each column once", fix, "doubled-column", rows.where()))
    if missing := [name for name in dict.fromkeys(required) if name not in names]:
        fix = next(filter(None, (other_table(names) for name in missing if name in OUR_COLUMNS)), "")
        fix = fix or f"{''.join(nearest(name, names) for name in missing)}rename or add the column"
        expected = " and ".join(f"a column {name!r}" for name in missing)
        faults.append(missing_column(names, expected, fix, rows.where()))
    raise_together(faults)
