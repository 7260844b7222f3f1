"""Values of a table's rows by name: its columns, and numbers computed per item (class, entropy, n_annotators ...)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.tables.columns import NUMBER, WIDE_PREFIX, numbers
from sfumato.tables.counts import COUNT_PREFIX
from sfumato.tables.doubt import entropy
from sfumato.tables.errors import BadTable, missing_column, unknown
from sfumato.tables.files.table_file import Rows
from sfumato.tables.row_numbers import recorded_row_sources
from sfumato.tables.text_columns import CodedText

COMPUTED = ("class", "entropy", "confidence", "n_annotators", "n_answers")
"""Per item: the most probable class, the entropy (nats) and the largest probability of its distribution, and the
numbers of annotators and of rows."""
ITEM_COLUMNS = ("item", "task", "id", "uid", "item_id")
ANNOTATOR_COLUMNS = ("annotator", "worker")
"""The columns of ids in tables of others that are recognized, in this order."""
TEXT_NAMES = (*ITEM_COLUMNS, *ANNOTATOR_COLUMNS, "class", "label", "kind", "purpose")
"""Always compared as text: the item `007` is not the item `7`."""


class ChosenClass(msgspec.Struct):
    """The class in the payload of a choice."""

    class_: str = msgspec.field(name="class")


@dataclass(frozen=True, eq=False)
class RowValues:
    """The values of the rows of `columns`; computed values come from `labels`, another table, if given."""

    columns: pa.Table
    classes: tuple[str, ...] = ()
    path: Path | None = None
    labels: RowValues | None = None

    @cached_property
    def item(self) -> CodedText:
        """The items of the rows; a table without items is an error."""
        key = self._first_of(ITEM_COLUMNS)
        if key is None:
            fix = "rename the column of the ids, or import the table first (sfumato import); --where works without ids"
            raise missing_column(self.columns.column_names, "a column 'item'", fix, self.path)
        coded = _plain(self.columns.column(key)).dictionary_encode().combine_chunks()
        coded = coded.chunk(0) if isinstance(coded, pa.ChunkedArray) else coded
        if coded.null_count:
            row = int(np.argmax(coded.is_null().to_numpy(zero_copy_only=False)))
            fix = "fill in or remove the row"
            raise BadTable(
                "nothing (null)", "an item in every row", fix, "missing-value", self._rows.where(row, "item")
            )
        return CodedText(coded.indices.to_numpy(zero_copy_only=False).astype(np.int32), coded.dictionary)

    @property
    def row_sources(self) -> tuple[str, ...]:
        """The files whose row numbers the items are; empty if they are not known to be."""
        return recorded_row_sources(self._rows)

    @property
    def has_items(self) -> bool:
        """Whether the rows are about items."""
        return self._first_of(ITEM_COLUMNS) is not None

    def _first_of(self, names: tuple[str, ...]) -> str | None:
        return next((name for name in names if name in self.columns.column_names), None)

    @property
    def has_distributions(self) -> bool:
        """Whether the columns say how the classes of items are distributed, or that they are no such table."""
        return not self.has_items or self._votes is not None or self._distributions() is not None

    @property
    def names(self) -> list[str]:
        """The names that values are known for."""
        own = [name for name in self.columns.column_names if not pa.types.is_nested(self.columns.field(name).type)]
        computed = [name for name in COMPUTED if name not in own and self._per_item(name) is not None]
        return [*own, *computed]

    def of_rows(self, name: str) -> np.ndarray:
        """The value of every row: numbers (NaN where missing), or texts."""
        if name in self.columns.column_names and not pa.types.is_nested(self.columns.field(name).type):
            return self._column(name)
        known = self._per_item(name)
        if known is None:
            fix = "use one of these names"
            if name in COMPUTED and self.labels is None:
                fix = (
                    f"give a table with the {name} of items (--labels), or import this one first (sfumato import auto)"
                )
            raise unknown("column", name, self.names, where=self.path, fix=fix)
        return np.asarray(known[self.item.codes])

    def of_items(self, name: str) -> np.ndarray:
        """The value of every item as text: that of its first row."""
        first = np.unique(self.item.codes, return_index=True)[1]
        return np.array([str(value) for value in self.of_rows(name)[first].tolist()], dtype=object)

    def as_numbers(self, name: str) -> np.ndarray:
        """The values as numbers; other text is an error with its row."""
        values = self.of_rows(name)
        if values.dtype.kind == "f":
            return values
        column = (
            self.columns.column(name) if name in self.columns.column_names else pa.chunked_array([pa.array(values)])
        )
        return numbers(self._rows, name, column, 0, optional=True)

    def is_numeric(self, name: str) -> bool:
        """Whether all values are numbers, or texts that are written as numbers."""
        values = self.of_rows(name)
        if values.dtype.kind == "f" or name in TEXT_NAMES:
            return values.dtype.kind == "f"
        texts = pa.array([text for text in values.tolist() if text], pa.string())
        return bool(len(texts)) and bool(pc.all(pc.match_substring_regex(texts, NUMBER)).as_py())

    def is_time(self, name: str) -> bool:
        """Whether the column holds times."""
        return name in self.columns.column_names and pa.types.is_timestamp(self.columns.field(name).type)

    @cached_property
    def _rows(self) -> Rows:
        return Rows(self.columns.schema, iter(()), self.path)

    def _column(self, name: str) -> np.ndarray:
        column = self.columns.column(name)
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)
        if is_number and name not in TEXT_NAMES:
            return np.asarray(column.cast(pa.float64()).to_numpy(), np.float64)
        if pa.types.is_timestamp(kind):
            column = pc.strftime(column, format="%Y-%m-%dT%H:%M:%S")
        texts = _plain(column).fill_null("")
        return np.array(texts.to_pylist(), dtype=object)

    def _per_item(self, name: str) -> np.ndarray | None:
        """A computed value of every item, in the order of `item.names`; from `labels` if they are given."""
        if not self.has_items:
            return None
        if self.labels is None or name not in (*COMPUTED, *self.labels.columns.column_names):
            return self._computed(name)
        theirs = self.labels.of_rows(name)
        at = pc.index_in(self.item.names, value_set=self.labels.item.names)
        first = np.unique(self.labels.item.codes, return_index=True)[1]
        values = theirs[first][at.fill_null(0).to_numpy(zero_copy_only=False)]
        missing = at.is_null().to_numpy(zero_copy_only=False)
        return np.where(missing, np.nan if theirs.dtype.kind == "f" else "", values)

    def _computed(self, name: str) -> np.ndarray | None:
        n_items, codes = len(self.item.names), self.item.codes
        if name == "n_answers":
            return np.bincount(codes, minlength=n_items).astype(np.float64)
        if name == "n_annotators":
            return self._n_annotators()
        own = self._distributions()
        if own is None or (name != "class" and self._votes is not None and n_items == len(codes)):
            # One label per item says nothing about its distribution.
            return None
        if name == "class":
            return np.asarray(np.array(self._class_names, dtype=object)[own.argmax(axis=1)])
        if name == "entropy":
            return entropy(own)
        if name == "confidence":
            return np.asarray(own.max(axis=1))
        prefix, votes = name[: len(WIDE_PREFIX)], self._matrix("counts", COUNT_PREFIX)
        named = {WIDE_PREFIX: own, COUNT_PREFIX: None if votes is None else _sums(codes, n_items, votes)}.get(prefix)
        if named is None or name.removeprefix(prefix) not in self._class_names:
            return None
        return np.asarray(named[:, self._class_names.index(name.removeprefix(prefix))])

    def _n_annotators(self) -> np.ndarray | None:
        n_items, codes = len(self.item.names), self.item.codes
        key = self._first_of(ANNOTATOR_COLUMNS)
        if key is not None:
            people = np.unique(self._column(key), return_inverse=True)[1].astype(np.int64)
            pairs = np.unique(codes.astype(np.int64) * (people.max(initial=0) + 1) + people)
            return np.bincount(pairs // (people.max(initial=0) + 1), minlength=n_items).astype(np.float64)
        votes = self._matrix("counts", COUNT_PREFIX)
        return None if votes is None else _sums(codes, n_items, votes).sum(axis=1)

    @cached_property
    def _votes(self) -> np.ndarray | None:
        """The class in every row of a table of labels, of votes or of answers of the type `choice`."""
        names = self.columns.column_names
        if "probs" in names or "counts" in names:
            return None
        if "label" in names:
            return self._column("label")
        if "payload" not in names or "kind" not in names:
            return None
        if not all(kind.startswith("choice/") for kind in set(self._column("kind").tolist())):
            return None
        payload = self._column("payload").tolist()
        try:
            chosen = {text: msgspec.json.decode(text, type=ChosenClass).class_ for text in set(payload)}
        except msgspec.MsgspecError as error:
            fix = "check the table: sfumato import annotations"
            raise BadTable(
                f"a payload that is no choice ({error})", '{"class": "cat"}', fix, "bad-payload", self.path
            ) from error
        return np.array([chosen[text] for text in payload], dtype=object)

    @cached_property
    def _class_names(self) -> tuple[str, ...]:
        for prefix in (WIDE_PREFIX, COUNT_PREFIX):
            wide = tuple(n.removeprefix(prefix) for n in self.columns.column_names if n.startswith(prefix))
            if wide:
                return wide
        return self.classes if self._votes is None else tuple(sorted(set(self._votes.tolist())))

    def _distributions(self) -> np.ndarray | None:
        """The distribution of every item: the mean of its rows, or the shares of its votes."""
        values = self._matrix("probs", WIDE_PREFIX)
        values = self._matrix("counts", COUNT_PREFIX) if values is None else values
        if values is None and self._votes is not None:
            values = (self._votes[:, None] == np.array(self._class_names, dtype=object)).astype(np.float64)
        if values is None:
            return None
        sums = _sums(self.item.codes, len(self.item.names), values)
        total = sums.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(sums, total, out=np.zeros_like(sums), where=total > 0))

    def _matrix(self, listed: str, prefix: str) -> np.ndarray | None:
        """The numbers of a list column, or of the columns with a prefix; rows x classes."""
        names = self.columns.column_names
        if listed in names and pa.types.is_nested(self.columns.field(listed).type):
            flat = pc.list_flatten(self.columns.column(listed)).cast(pa.float64()).to_numpy()
            if len(flat) != len(self.columns) * len(self.classes):
                found = f"{listed} of other lengths, or without class names"
                fix = "write the table again with the command that made it"
                if not self.classes:
                    fix = f"name the classes: sfumato import auto {self.path or 'FILE'} --classes cat,dog -o FILE"
                raise BadTable(found, f"one number per class, {len(self.classes)}", fix, "wrong-length", self.path)
            return np.asarray(flat, np.float64).reshape(len(self.columns), -1)
        wide = [name for name in names if name.startswith(prefix)]
        return np.stack([self.as_numbers(name) for name in wide], axis=1) if wide else None


def _sums(codes: np.ndarray, n_items: int, values: np.ndarray) -> np.ndarray:
    """The sum of the rows of every item."""
    return np.stack([np.bincount(codes, weights=column, minlength=n_items) for column in values.T], axis=1)


def _plain(column: Any) -> Any:
    """The column as text, not dictionary-coded."""
    return column.cast(pa.string())
