"""Rows on their way into a table, and out of one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.errors import BadFile, BadTable, UnsafeFile, Where, show
from sfumato.files import csv as csv_files
from sfumato.files.kinds import ARROW, CSV, PARQUET, TABLE_KINDS, check_content, kind_of
from sfumato.files.replacing import replacing

CLASSES_KEY = b"sfumato.classes"
ROW_GROUP = 2**18
MAX_ROWS_PER_BYTE = 1000


@dataclass(frozen=True)
class Rows:
    """A schema and its rows in chunks, with the file they come from (None: from memory). Read once."""

    schema: pa.Schema
    chunks: Iterator[pa.Table]
    path: Path | None = None

    @classmethod
    def of(cls, frame: Any, classes: Sequence[str] = ()) -> Rows:
        """Rows of anything that speaks Arrow: pyarrow, Polars, pandas (2.2 on), DuckDB, a table of ours."""
        if not hasattr(frame, "__arrow_c_stream__"):
            raise BadTable(
                f"found a {type(frame).__name__}",
                expected="a table that speaks Arrow (pyarrow, Polars, pandas ...)",
                fix="pass a data frame, or use from_numpy for arrays",
                code="not-a-table",
            )
        reader = pa.RecordBatchReader.from_stream(frame)
        schema = reader.schema.with_metadata(classes_metadata(classes)) if classes else reader.schema
        return cls(schema, (pa.Table.from_batches([batch]) for batch in reader))

    @property
    def is_text(self) -> bool:
        """Whether every value is text still to be read (a CSV)."""
        return self.path is not None and kind_of(self.path) is CSV

    def where(self, row: int | None = None, column: str | None = None) -> Where:
        """The place of `row` (from 0) in the file: its line in a CSV, its number elsewhere."""
        if row is not None and self.path is not None and self.is_text:
            return Where(str(self.path), line=csv_files.line_of_row(self.path, row), column=column)
        return Where(str(self.path) if self.path else None, row=row, column=column)

    def classes(self) -> tuple[str, ...] | None:
        """The classes the schema names; None where it names none."""
        text = (self.schema.metadata or {}).get(CLASSES_KEY)
        if text is None:
            return None
        try:
            classes = json.loads(text)
        except ValueError:
            classes = None
        if not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
            raise BadTable(
                f"found {show(text)} under the metadata key sfumato.classes",
                expected="a JSON array of class names",
                fix="write the file again",
                code="bad-classes",
                where=self.where(),
            )
        return tuple(classes)


def classes_metadata(classes: Sequence[str]) -> dict[bytes, bytes]:
    """The schema metadata under which a table's classes stand, in order."""
    return {CLASSES_KEY: json.dumps(list(classes), ensure_ascii=False).encode()} if classes else {}


def read_rows(path: str | Path, *, guarded: bool = True) -> Rows:
    """Rows of a Parquet, CSV or Arrow file, checked to be what its name says.

    `guarded` takes off the apostrophe that `write_rows` puts before formulas in a CSV; foreign files have none.
    """
    path = Path(path)
    kind = kind_of(path, TABLE_KINDS)
    check_content(path, kind)
    if kind is CSV:
        header = csv_files.read_header(path)
        names = [csv_files.unguard_formula(name) for name in header] if guarded else header
        chunks = csv_files.read_chunks(path, header)
        return Rows(pa.schema([(name, pa.string()) for name in names]), _renamed(chunks, names, guarded), path)
    if kind is ARROW:
        reader = _opened(path, lambda: pa.ipc.open_file(pa.memory_map(str(path))))
        batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
        return Rows(reader.schema, _checked(path, (pa.Table.from_batches([b]) for b in batches)), path)
    file = _opened(path, lambda: _open_parquet(path))
    return Rows(file.schema_arrow, _checked(path, _parquet_chunks(file)), path)


def write_rows(schema: pa.Schema, chunks: Iterator[pa.Table], path: str | Path, classes: Sequence[str] = ()) -> None:
    """Write `chunks` to `path` as its name says, replacing the old file only when the new one is whole."""
    path = Path(path)
    kind = kind_of(path, TABLE_KINDS)
    schema = schema.with_metadata(classes_metadata(classes))
    with replacing(path) as part:
        if kind is PARQUET:
            with pq.ParquetWriter(part, schema, compression="zstd", write_page_checksum=True) as writer:
                for chunk in chunks:
                    writer.write_table(chunk.cast(schema), row_group_size=ROW_GROUP)
            return
        table = pa.concat_tables([schema.empty_table(), *(chunk.cast(schema) for chunk in chunks)])
        if kind is CSV:
            csv_files.write_table(table, part, compressed=path.name.lower().endswith(".gz"))
        else:
            with pa.OSFile(str(part), "wb") as file, pa.ipc.new_file(file, schema) as writer:
                writer.write_table(table, max_chunksize=ROW_GROUP)


def _renamed(chunks: Iterator[pa.Table], names: list[str], guarded: bool) -> Iterator[pa.Table]:
    for chunk in chunks:
        columns = [csv_files.unguard_column(column) for column in chunk.columns] if guarded else chunk.columns
        yield pa.Table.from_arrays(columns, names=names)


def _open_parquet(path: Path) -> pq.ParquetFile:
    """The file, text to be read dictionary-coded: ids come out as integers, and a repeated text is held once."""
    file = pq.ParquetFile(path, page_checksum_verification=True)
    n_rows, n_bytes = file.metadata.num_rows, path.stat().st_size
    if n_rows > MAX_ROWS_PER_BYTE * n_bytes and n_rows > 2**20:
        raise UnsafeFile(
            f"found {n_rows:,} rows in a file of {n_bytes:,} bytes",
            expected=f"at most {MAX_ROWS_PER_BYTE} rows a byte",
            fix="if the file is really yours, write it again without run-length tricks",
            code="bomb",
            where=Where(str(path)),
        )
    text = [
        field.name
        for field in file.schema_arrow
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
    ]
    # pre_buffer would keep every column chunk ever read in memory.
    return pq.ParquetFile(path, page_checksum_verification=True, read_dictionary=text, pre_buffer=False)


def _parquet_chunks(file: pq.ParquetFile) -> Iterator[pa.Table]:
    for batch in file.iter_batches(batch_size=ROW_GROUP):
        yield pa.Table.from_batches([batch])


def _opened(path: Path, opening: Any) -> Any:
    try:
        return opening()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _damaged(path, error) from error


def _checked(path: Path, chunks: Iterator[pa.Table]) -> Iterator[pa.Table]:
    try:
        yield from chunks
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> BadFile:
    return BadFile(
        f"found a damaged file ({str(error)[:120]})",
        expected="a whole Parquet or Arrow file",
        fix="copy or write the file again",
        code="damaged",
        where=Where(str(path)),
    )
