"""Texts from tables (CSV, TSV, Parquet) and from JSON or JSON Lines records, with their ids and labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.tables.column_reader import read_columns
from sfumato.tables.errors import BadTable, ErrorLocation, doubled_item, missing_column, show, unknown
from sfumato.tables.files.file_type import CSV, JSON, JSON_LINES, PARQUET, TSV, kind_of
from sfumato.tables.files.json import JsonContent, read_json
from sfumato.tables.files.table_file import read_rows

TEXT_TABLE_KINDS = (CSV, TSV, PARQUET, JSON_LINES, JSON)
ID_COLUMNS = ("item", "id", "uid", "item_id", "text_id")
"""The columns of item ids that are recognized, in this order."""

Names = tuple[str, ...]
Columns = dict[str, list[str]]


@dataclass(frozen=True)
class TextTable:
    """One text per item; `items` is None if the table has no ids, `labels` if it has no label for every item."""

    texts: Names
    items: Names | None = None
    labels: Names | None = None


@dataclass(frozen=True)
class _Source:
    """The columns of a file that can be read, and where a row is."""

    names: list[str]
    read: Callable[[Names], Columns]
    where: Callable[[int, str], ErrorLocation]
    has_labels: bool


def read_text_table(path: Path, text: Names, item: str | None) -> TextTable:
    """The texts of the columns `text` (default: `text`), with the ids (`item`, else `id` ...) and labels (`label`).

    Several columns are joined by line breaks. An id may repeat with the same text, as in a table of votes. In JSON,
    `example.premise` is the field `premise` of `example`.
    """
    source = _json_source(path) if kind_of(path, TEXT_TABLE_KINDS) in (JSON, JSON_LINES) else _table_source(path)
    text = text or tuple(name for name in ("text",) if name in source.names)
    if not text:
        fix = "name the column of the texts: --text COLUMN, or text = 'COLUMN' in a study"
        raise missing_column(source.names, "a column 'text'", fix, path)
    for name in (*text, *([] if item is None else [item])):
        if name not in source.names:
            raise unknown("column", name, source.names, where=path, fix="use the columns of the table")
    key = item or next((name for name in ID_COLUMNS if name in source.names and name not in text), None)
    label = "label" if source.has_labels and "label" not in (*text, key) else None
    columns = source.read(tuple(dict.fromkeys([*text, *(name for name in (key, label) if name is not None)])))
    texts = ["\n".join(parts) for parts in zip(*(columns[name] for name in text), strict=True)]
    labels = () if label is None else tuple(columns[label])
    known = labels if labels and all(labels) else None
    if key is None:
        return TextTable(tuple(texts), labels=known)
    ids = columns[key]
    first: dict[str, str] = {}
    for row, (name, content) in enumerate(zip(ids, texts, strict=True)):
        if first.setdefault(name, content) != content:
            fix = "give every text its own id, or name another column with --items"
            raise doubled_item(name, source.where(row, key), "one text per item", fix)
    return TextTable(tuple(first.values()), tuple(first), known if len(first) == len(ids) else None)


def _table_source(path: Path) -> _Source:
    rows = read_rows(path)
    names = rows.schema.names

    def read(wanted: Names) -> Columns:
        columns = read_columns(rows, wanted, optional=[name for name in wanted if name == "label"])
        return {name: columns.listed(name) for name in wanted}

    has_labels = "label" in names and _is_id(rows.schema.field("label").type)
    return _Source(names, read, rows.where, has_labels)


def _is_id(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _json_source(path: Path) -> _Source:
    content = read_json(path)
    records = content.records()
    if not records:
        raise BadTable("no records", "at least one", "check how the file was made", "no-rows", path)
    names = list(dict.fromkeys(name for record in records for name in _field_names(record)))

    def read(wanted: Names) -> Columns:
        return {name: [_field(content, row, record, name) for row, record in enumerate(records)] for name in wanted}

    def where(row: int, name: str) -> ErrorLocation:
        return content.where(row, *name.split("."))

    has_labels = all(isinstance(record.get("label"), (str, int)) for record in records)
    return _Source(names, read, where, has_labels)


def _field_names(record: Mapping[str, Any]) -> Iterator[str]:
    """The fields of a record, and those of objects in it."""
    for name, value in record.items():
        yield name
        if isinstance(value, dict):
            yield from (f"{name}.{each}" for each in value)


def _field(content: JsonContent, row: int, record: Mapping[str, Any], name: str) -> str:
    """The text or whole number under a name, also inside an object."""
    value: Any = record.get(name)
    if value is None and "." in name:
        outer, _, inner = name.partition(".")
        within = record.get(outer)
        value = within.get(inner) if isinstance(within, dict) else None
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        found = "nothing" if value is None else show(value)
        keys: Sequence[str] = name.split(".") if name not in record else [name]
        raise BadTable(
            found, "a text", "fill in the field, or remove the record", "missing-value", content.where(row, *keys)
        )
    return str(value)
