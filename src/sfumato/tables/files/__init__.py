"""The only reader and writer of files: Parquet and CSV tables, JSON and NumPy archives.

Rows come in as `Rows` (a schema and chunks, so that a table ten times the memory of a chunk can be
checked as it is read) and go out through `write_rows`, which replaces the old file only when the new
one is whole.
"""

from sfumato.tables.files.atomic_write import check_place
from sfumato.tables.files.file_type import CSV, JSON, NUMPY, PARQUET, FileKind, kind_of
from sfumato.tables.files.json import read_document
from sfumato.tables.files.npz import read_arrays
from sfumato.tables.files.table_file import ROW_GROUP, Rows, class_names, classes_metadata, read_rows, write_rows

__all__ = [
    "CSV",
    "JSON",
    "NUMPY",
    "PARQUET",
    "ROW_GROUP",
    "FileKind",
    "Rows",
    "check_place",
    "class_names",
    "classes_metadata",
    "kind_of",
    "read_arrays",
    "read_document",
    "read_rows",
    "write_rows",
]
