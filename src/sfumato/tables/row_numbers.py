"""Ids that are row numbers, and the files whose rows they number.

Row numbers of two files are equal as text, whatever the files hold. Tables therefore record the files whose row numbers
their ids are (`row_sources`), and pass this on to the tables made of them. `check_same_rows` refuses to match tables
that number the rows of different files; `same_rows` says that these are the same items in the same order.

Ids that a file itself has are never row numbers here, even if they are whole numbers. A table without a record (a CSV,
an array in Python) is matched as before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tables.errors import BadTable, Where, listing, show, warn
from sfumato.tables.files.atomic_write import sha256_of
from sfumato.tables.option_words import is_command

if TYPE_CHECKING:
    from sfumato.tables.files.table_file import Rows

ROW_SOURCES_KEY = b"sfumato.row_numbers_of"
"""The schema metadata key of tables whose ids are row numbers; its value is a JSON array of sources."""
DIGEST_LENGTH = 16
DATA_SUFFIXES = (".arrow", ".parquet")
"""The files of a folder that hold its rows."""

_are_same: ContextVar[bool] = ContextVar("same_rows", default=False)


class NumberedItems(tuple[str, ...]):
    """Ids that are row numbers as text, with the files whose rows they number. Equal to the plain tuple."""

    sources: tuple[str, ...]

    def __new__(cls, ids: Iterable[str], sources: Iterable[str]) -> NumberedItems:
        items = super().__new__(cls, ids)
        items.sources = tuple(sources)
        return items

    def __reduce__(self) -> Any:
        return NumberedItems, (tuple(self), self.sources)


def numbered_rows(n_rows: int, path: Path) -> NumberedItems:
    """The row numbers of a file without ids."""
    return NumberedItems(map(str, range(n_rows)), (source_of(path),))


def source_of(path: Path) -> str:
    """What identifies the rows of a file, or of a folder's data files: its name, for people, and the start of the
    SHA-256 of its content."""
    if path.is_dir():
        files = sorted(each for each in path.rglob("*") if each.suffix in DATA_SUFFIXES)
        digest = sha256("".join(map(sha256_of, files)).encode()).hexdigest()
    else:
        digest = sha256_of(path)
    return f"{path.resolve().name} {digest[:DIGEST_LENGTH]}"


def items_like(ids: Iterable[str], others: Any) -> tuple[str, ...]:
    """`ids` as a tuple, which are row numbers of the same files as those of `others`: a table or a sequence of ids."""
    sources = row_sources_of(others)
    return NumberedItems(ids, sources) if sources else tuple(ids)


def row_sources_of(numbered: Any) -> tuple[str, ...]:
    """The files whose row numbers the ids are, of a table or a sequence of ids; empty if they are not known to be."""
    found = getattr(numbered, "sources", ()) if isinstance(numbered, NumberedItems) else None
    return tuple(getattr(numbered, "row_sources", ()) if found is None else found)


# --- records in files ---


def row_sources_metadata(sources: Sequence[str]) -> dict[bytes, bytes]:
    """The schema metadata that records the files; empty for other ids."""
    return {ROW_SOURCES_KEY: json.dumps(list(sources), ensure_ascii=False).encode()} if sources else {}


def recorded_row_sources(rows: Rows) -> tuple[str, ...]:
    """The files in the schema's metadata; empty without a record."""
    text = (rows.schema.metadata or {}).get(ROW_SOURCES_KEY)
    if text is None:
        return ()
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        expected = "a JSON array of texts"
        key = ROW_SOURCES_KEY.decode()
        raise BadTable(
            f"{show(text)} under the metadata key {key}", expected, "write the file again", "bad-sources", rows.where()
        )
    return tuple(found)


# --- matching ---


@contextmanager
def same_rows(stated: bool = True) -> Iterator[None]:
    """Within this block, tables that number the rows of different files are matched by row number.

    Use it if row 0 of every file is the same item, and so on: `with sf.same_rows(): sf.evaluate(...)`. Tables made in
    the block record all the files, so that later steps match them without it.
    """
    before = _are_same.set(stated or _are_same.get())
    try:
        yield
    finally:
        _are_same.reset(before)


def check_same_rows(*tables: Any) -> tuple[str, ...]:
    """Raise if two of the tables (or sequences of ids) number the rows of different files; returns all their files.

    Says it in one line if the ids of one are row numbers, those of another are numbers too, and nothing is known about
    their rows. None is no table.
    """
    given = [table for table in tables if table is not None]
    known = [table for table in given if row_sources_of(table)]
    union = tuple(dict.fromkeys(source for table in known for source in row_sources_of(table)))
    if _are_same.get():
        return union
    for i, one in enumerate(known):
        for other in known[i + 1 :]:
            if not set(_digests(one)) & set(_digests(other)):
                raise _other_rows(one, other)
    unknown = [table for table in given if not row_sources_of(table)]
    for one in known:
        # Who reads a file without ids is warned there.
        if not _is_source(one) and (other := next((each for each in unknown if _is_numbered(each)), None)) is not None:
            warn(
                f"ids that are row numbers of {_names(one)} are matched with the numbers in {_place(other)}: right "
                "only if both number the same items"
            )
            break
    return union


def _other_rows(one: Any, other: Any) -> BadTable:
    ours, theirs = _names(one), _names(other)
    found = f"items that are row numbers of {ours}, and items that are row numbers of {theirs}"
    if ours == theirs:
        found += ", with other content"
    expected = "ids, or row numbers of the same file: equal row numbers of two files need not be the same item"
    stated = "give --same-rows" if is_command() else "call this within `with sf.same_rows():`"
    fix = f"if row 0 of both files is the same item, and so on, {stated}; else give both tables ids"
    return BadTable(found, expected, fix, "other-row-numbers", getattr(one, "path", None))


def _digests(table: Any) -> list[str]:
    return [source.rpartition(" ")[2] for source in row_sources_of(table)]


def _names(table: Any) -> str:
    return listing([show(source.rpartition(" ")[0]) for source in row_sources_of(table)])


def _place(table: Any) -> str:
    path = getattr(table, "path", None)
    return "another table" if path is None else show(path.name)


def _is_source(table: Any) -> bool:
    """Whether labels or predictions were read from the file whose rows they number. Inputs warn of nothing."""
    path = getattr(table, "path", None)
    if hasattr(table, "n_rows"):
        return False
    return path is None or any(source.rpartition(" ")[0] == path.name for source in row_sources_of(table))


def _is_numbered(table: Any) -> bool:
    """Whether the ids of a table are numbers."""
    item = getattr(table, "item", None)
    ids = getattr(table, "items", None) if item is None else item.names
    first = None if ids is None or not len(ids) else ids[0]
    text = first.as_py() if isinstance(first, pa.Scalar) else first
    return isinstance(text, str) and text.isdecimal()


# --- tables without a record ---


def n_numbered_rows(items: Sequence[str] | pa.Array, first: int = 0) -> int | None:
    """The number n of ids if they are the numbers 0 to n - 1 (from `first`) as text, in any order; None otherwise."""
    ids = items if isinstance(items, pa.Array) else pa.array(items, pa.string())
    if not len(ids) or not (ids[0].as_py() or "").isdecimal():
        return None
    try:
        numbers = ids.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    whole = pc.min_max(numbers).as_py() == {"min": first, "max": first + len(ids) - 1}
    plain = whole and numbers.cast(pa.string()).equals(ids.cast(pa.string()))
    return len(ids) if plain and len(numbers.unique()) == len(ids) else None


def check_numbered_inputs(labeled: Sequence[str], n_rows: int | None, where: Where = None) -> None:
    """Raise if labels are numbered by row and the inputs too (`n_rows`; None: they have ids), but not as many."""
    n_labels = None if n_rows is None else n_numbered_rows(labeled)
    if n_labels is None or n_rows is None or n_labels >= n_rows:
        return
    found = f"labels for the items 0 to {n_labels - 1:,}, and {n_rows:,} inputs without ids, numbered by row"
    expected = "inputs with ids, or as many as labels: row numbers of two files need not be the same items"
    fix = "give the ids of the inputs (items in the npz), or only the inputs that have labels"
    raise BadTable(found, expected, fix, "other-row-numbers", where)


def check_row_numbers(predicted: pa.Array, people: pa.Array) -> None:
    """Warn if both tables are numbered by row, and have different numbers of rows; raise if one counts from 1."""
    n_predicted = n_numbered_rows(predicted)
    if n_predicted is not None and n_predicted == n_numbered_rows(people, first=1):
        found = f"predictions numbered 0 to {n_predicted - 1:,}, and labels numbered 1 to {n_predicted:,}"
        fix = "give both the same ids: name the rows of the predictions with --items"
        raise BadTable(found, "the same ids in both tables: these are probably one apart", fix, "other-row-numbers")
    if n_predicted is None or n_predicted == len(people):
        return
    n_people = n_numbered_rows(people)
    if n_people is not None:
        warn(
            f"the ids of {n_predicted:,} predictions and of {n_people:,} labels are row numbers: they match by number, "
            "which is right only if both files number the same items"
        )
