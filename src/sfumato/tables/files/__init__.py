"""Reads and writes Parquet and CSV tables, JSON and NumPy files.

Tables are read as `Rows` (a schema and chunks, so that large tables are checked while they are read) and written by
`write_rows`, which replaces an old file when the new one is complete.
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
