"""The importer protocol and its result, with helpers that several importers use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from sfumato.tables.annotations import Annotations
from sfumato.tables.base_table import Table
from sfumato.tables.doubt import Doubt
from sfumato.tables.errors import BadFile, SfumatoError
from sfumato.tables.files.file_type import check_readable
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.soft_labels import SoftLabels

PUBLISHED = "is this the published file?"
CIFAR_10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


@dataclass(frozen=True)
class ImportResult:
    """The imported table, notes on how it was read, and further tables.

    `original` are the data set's original labels as one-hot rows; `doubt` are published uncertainty measures.
    `format_name` is the format that the source was read as.
    """

    table: Table | Inputs
    notes: tuple[str, ...]
    original: SoftLabels | None = None
    doubt: Doubt | None = None
    format_name: str = ""


@runtime_checkable
class Importer(Protocol):
    """A format with its name and reader."""

    @property
    def name(self) -> str: ...

    def read(self, source: str | Path) -> ImportResult: ...


def find_file(source: str | Path, names: Sequence[str]) -> Path:
    """`source` if it is a file, else the first of `names` that exists in the folder."""
    source = Path(source)
    if not source.is_dir():
        check_readable(source)
        return source
    for name in names:
        if (source / name).is_file():
            return source / name
    inside = sorted(path.name for path in source.iterdir())[:10]
    found = f"a folder with {', '.join(map(repr, inside)) or 'no files'}"
    raise BadFile(found, f"a file named {' or '.join(names)}", "give the path of the file", "no-such-file", source)


@contextmanager
def located_in(path: Path, column: str | None = None) -> Iterator[None]:
    """Adds `path` to errors that have no file."""
    try:
        yield
    except SfumatoError as error:
        if error.where.file is None:
            error.where = replace(error.where, file=str(path), column=error.where.column or column)
        raise


def summary(table: Annotations) -> str:
    """The numbers of answers, annotators, items and classes, as text."""
    annotators = f"{len(table.annotator.names):,} annotators"
    return f"{len(table):,} answers by {annotators} about {len(table.item.names):,} items, {len(table.classes)} classes"
