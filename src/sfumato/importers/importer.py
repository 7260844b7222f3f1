"""What an importer returns, and where its source is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from sfumato.tables.annotations import Annotations
from sfumato.tables.doubt import Doubt
from sfumato.tables.errors import BadFile, SfumatoError
from sfumato.tables.files.file_type import check_readable
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.table import Table

CIFAR_10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


@dataclass(frozen=True)
class ImportResult:
    """The table that came in, what else the source held, and what a reader should know of how it was read.

    `original` are the data set's own labels as one-hot rows; `doubt` are doubt measures published beside labels.
    """

    table: Table
    notes: tuple[str, ...]
    original: SoftLabels | None = None
    doubt: Doubt | None = None


@runtime_checkable
class Importer(Protocol):
    """A format: what it is called and how it is read."""

    @property
    def name(self) -> str: ...

    def read(self, source: str | Path) -> ImportResult: ...


def find_file(source: str | Path, names: Sequence[str]) -> Path:
    """`source` itself if it is a file, else the first of `names` that the folder holds."""
    source = Path(source)
    if not source.is_dir():
        check_readable(source)
        return source
    for name in names:
        if (source / name).is_file():
            return source / name
    inside = sorted(path.name for path in source.iterdir())[:10]
    raise BadFile(
        f"a folder with {', '.join(map(repr, inside)) or 'nothing in it'}",
        f"a file named {' or '.join(names)}",
        "name the file itself",
        "no-such-file",
        where=source,
    )


@contextmanager
def naming(path: Path, column: str | None = None) -> Iterator[None]:
    """Errors raised inside that name no file are about `path`."""
    try:
        yield
    except SfumatoError as error:
        if error.where.file is None:
            error.where = replace(error.where, file=str(path), column=error.where.column or column)
        raise


def came_in(table: Annotations) -> str:
    """A line on how much came in, from whom, about what."""
    people = f"{len(table.annotator.names):,} annotators"
    return f"{len(table):,} answers by {people} about {len(table.item.names):,} items, {len(table.classes)} classes"
