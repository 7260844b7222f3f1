"""What recognition looks at: the type of a file or folder, its columns, its first records."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.tables.errors import (
    FREE_EXPANSION_BYTES,
    MAX_EXPANSION,
    BadFile,
    BadSetting,
    BadTable,
    SfumatoError,
    damaged_file,
    decompression_bomb,
    show,
    wrong_ending,
)
from sfumato.tables.files.arrow_stream import read_stream
from sfumato.tables.files.csv import DELIMITERS, first_record, found_delimiter
from sfumato.tables.files.file_type import (
    CSV,
    JSON,
    JSON_LINES,
    NUMPY,
    PARQUET,
    TSV,
    check_content,
    check_readable,
    kind_of,
)
from sfumato.tables.files.json import read_json
from sfumato.tables.files.table_file import read_rows

N_ROWS = 200
"""Rows and records that are looked at."""
KNOWN_KINDS = (CSV, TSV, JSON, JSON_LINES, PARQUET, NUMPY)
OTHER_ENDINGS = (".zip", ".pt", ".pth", ".arrow")


@dataclass(frozen=True)
class Evidence:
    """Why a file may be of a format; `certain` unless other formats look the same. A `general` format gives way to a
    certain one of a tool or data set. `certain_if_votes`: certain for a step that takes votes and nothing else."""

    why: str
    certain: bool = True
    general: bool = False
    certain_if_votes: bool = False


@dataclass(frozen=True)
class Preview:
    """The beginning of a file, or the list of files in a folder or zip.

    A table has `columns`, `rows`, the `metadata` of its schema and the `delimiter`; JSON has a `value` (the document,
    or the list of values of JSON Lines); a folder has `files`, relative to it.
    """

    path: Path
    columns: tuple[str, ...] = ()
    rows: tuple[dict[str, Any], ...] = ()
    metadata: Mapping[bytes, bytes] = field(default_factory=dict)
    delimiter: str | None = None
    value: Any = None
    files: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()

    @classmethod
    def of(cls, source: str | Path, delimiter: str | None = None) -> Preview:
        """A look at `source`; an error if it cannot be read at all."""
        path = Path(source)
        if path.is_dir():
            found = (each.relative_to(path).as_posix() for each in sorted(path.rglob("*")) if each.is_file())
            return cls(path, files=tuple(found))
        check_readable(path)
        name = path.name.lower()
        if name.endswith((".zip", ".pt", ".pth")):
            return cls(path, files=tuple(zip_members(path)))
        if name.endswith(".arrow"):
            return cls(path, files=(path.name,))
        try:
            kind = kind_of(path)
        except BadFile:
            endings = [suffix for kind in KNOWN_KINDS for suffix in kind.suffixes]
            fix = "convert the file; a table with separators may be renamed to .csv or .tsv"
            raise wrong_ending(path, [*endings, *OTHER_ENDINGS], fix) from None
        if kind in (JSON, JSON_LINES):
            return cls(path, value=read_json(path, at_most=N_ROWS).value)
        if kind is NUMPY:
            return _of_arrays(path)
        check_content(path, kind)
        return _of_table(path, delimiter)

    def without(self, columns: Sequence[str]) -> Preview:
        """The same table without the columns that the user leaves out."""
        if not set(columns) & set(self.columns):
            return self
        rows = tuple({name: value for name, value in row.items() if name not in columns} for row in self.rows)
        return replace(self, columns=tuple(name for name in self.columns if name not in columns), rows=rows)

    def records(self) -> list[dict[str, Any]]:
        """The first records: JSON objects, or rows of a table; none if the values are something else."""
        values = self.value if isinstance(self.value, list) else [self.value]
        values = [*self.rows] if self.value is None else values[:N_ROWS]
        return values if all(isinstance(each, dict) for each in values) else []

    def entries(self) -> list[Any]:
        """The first values of one JSON object."""
        return list(self.value.values())[:N_ROWS] if isinstance(self.value, dict) else []

    def all_have(self, *keys: str) -> bool:
        """Whether there are records, all with these keys."""
        records = self.records()
        return bool(records) and all(record.keys() >= set(keys) for record in records)

    def has_columns(self, *names: str) -> bool:
        """Whether this is a table with these columns."""
        return bool(self.columns) and set(names) <= set(self.columns)


def marked(names: Sequence[str]) -> list[str]:
    """The columns that mark a table of sfumato: probabilities, counts, answers."""
    return [name for name in names if name in ("probs", "counts", "payload") or name.startswith(("p:", "n:"))]


def delimiter_named(text: str | None) -> str | None:
    """The delimiter that a user means: a character, or the word `tab`."""
    character = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}.get(text or "", text)
    if character is not None and character not in DELIMITERS:
        fix = "give ';' or tab"
        raise BadSetting(f"the delimiter {show(text)}", f"one of {' '.join(DELIMITERS.values())}", fix)
    return character


def _of_table(path: Path, delimiter: str | None) -> Preview:
    usual = "\t" if kind_of(path) is TSV else ","
    if kind_of(path) is not PARQUET and delimiter is None and (found := found_delimiter(path, usual)) != usual:
        delimiter = found
    try:
        rows = read_rows(path, guarded=False, delimiter=delimiter)
    except BadTable as error:
        if error.code not in ("doubled-column", "bad-rows"):
            raise
        return Preview(path, tuple(first_record(path, delimiter or usual)), delimiter=delimiter)  # a first line of data
    chunk = next(iter(rows.chunks), None)
    head = () if chunk is None else tuple(chunk.slice(0, N_ROWS).to_pylist())
    return Preview(path, tuple(rows.schema.names), head, rows.schema.metadata or {}, delimiter)


def _of_arrays(path: Path) -> Preview:
    """The names of the arrays of an npz, or the shape of the array of an npy; values are not read."""
    try:
        with path.open("rb") as file:
            start = file.read(2)
            file.seek(0)
            if start == b"PK":
                with zipfile.ZipFile(file) as archive:
                    return Preview(path, files=tuple(name.removesuffix(".npy") for name in archive.namelist()))
            version = np.lib.format.read_magic(file)
            header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = header(file)
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise damaged_file("NumPy file", error, path) from error
    return Preview(path, files=(f"dtype {dtype.kind}",), shape=shape)


def zip_members(path: Path) -> list[str]:
    """The names in a zip file; an error if it is damaged or would expand too much."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise damaged_file("zip file", error, path) from error
    total = sum(member.file_size for member in members)
    if total > FREE_EXPANSION_BYTES and total > MAX_EXPANSION * path.stat().st_size:
        found = f"{total:,} bytes in a file of {path.stat().st_size:,}"
        raise decompression_bomb(path, found, f"{MAX_EXPANSION} times the compressed size", "extract it first")
    return [member.filename for member in members if not member.is_dir()]


@contextmanager
def opened_folder(source: Path) -> Iterator[Path]:
    """A folder as it is; the files of a zip in a temporary folder, with errors located in the zip."""
    if source.is_dir() or not source.name.lower().endswith(".zip"):
        yield source
        return
    check_readable(source)
    names = zip_members(source)
    with TemporaryDirectory() as place:
        folder = Path(place)
        with zipfile.ZipFile(source) as archive:
            for name in names:
                parts = [part for part in PurePosixPath(name).parts if part not in ("..", "/", ".")]
                target = folder.joinpath(*parts)
                try:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(_member(source, archive, name))
                except (OSError, ValueError) as error:  # a file with the name of a folder, or an impossible name
                    raise damaged_file("zip file", f"the name {show(name)}", source) from error
        try:
            yield folder
        except SfumatoError as error:
            for each in (error, *getattr(error, "mistakes", ())):
                each.where = replace(each.where, file=(each.where.file or "").replace(place, str(source)))
            raise


def _member(source: Path, archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        return archive.read(name)
    except (zipfile.BadZipFile, OSError, ValueError, RuntimeError, NotImplementedError) as error:
        raise damaged_file("zip file", error, source) from error


def arrow_tables(paths: Sequence[Path]) -> pa.Table:
    """The rows of Arrow stream files (as the datasets library writes them), in order."""
    tables = []
    for path in paths:
        check_readable(path)
        try:
            table = read_stream(path.read_bytes())
            tables.append(table)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise damaged_file("Arrow file", error, path) from error
    return pa.concat_tables(tables)
