"""Selects parts of tables: items by name, by conditions, per class, or as random splits."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Float, Int

from sfumato.tables.annotations import Annotations
from sfumato.tables.base_table import RecordTable, Table
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.columns import WIDE_PREFIX
from sfumato.tables.counts import COUNT_PREFIX, Counts
from sfumato.tables.errors import BadSetting, BadTable, listing, no_rows, show
from sfumato.tables.files.file_type import NUMPY, TABLE_KINDS, TSV
from sfumato.tables.files.npz import read_arrays
from sfumato.tables.files.table_file import read_rows
from sfumato.tables.frame_votes import is_frame
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.picture_folder import has_pictures
from sfumato.tables.row_conditions import RowCondition
from sfumato.tables.row_numbers import check_same_rows, row_sources_metadata, row_sources_of
from sfumato.tables.row_values import RowValues
from sfumato.tables.setting_checks import at_least, bad_setting
from sfumato.tables.soft_labels import SoftLabels

WHOLE = ""
"""The name of the only part if there is no split."""


@dataclass(frozen=True)
class SelectedRows:
    """The rows of every part, in their order, and notes on what was left out."""

    rows: Mapping[str, Int[np.ndarray, "kept"]]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Selection:
    """Which rows of a table are kept. All rows of an item stay together.

    First rows that fulfill every condition (`where`), of the given `items`, and not of those to `leave_out`; of these,
    `per_class` random items of each class; and these as a random `split`, by share (`{"train": 0.8, "test": 0.2}`) or
    by number of items, balanced over the values of `stratify`. The order is random by `seed` and the item's name, so
    that tables with the same items are divided in the same way.
    """

    items: Sequence[str] | None = None
    leave_out: Sequence[str] | None = None
    where: tuple[str, ...] = ()
    per_class: int | None = None
    split: Mapping[str, float] | None = None
    stratify: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        at_least("seed", self.seed, 0)
        if self.per_class is not None:
            at_least("per_class", self.per_class, 1)
        if self.split is not None:
            _check_split(self.split)
        elif self.stratify is not None:
            fix = "give --split train=0.8,test=0.2 too"
            raise BadSetting(f"stratify = {show(self.stratify)} without a split", "a split to balance", fix)
        if self.items is None and self.leave_out is None and not (self.where or self.per_class or self.split):
            fix = "give --items, --leave-out, --where, --per-class or --split"
            raise BadSetting("nothing to select by", "at least one choice", fix, "nothing-chosen")

    def of(self, values: RowValues) -> SelectedRows:
        """The selected rows of a table."""
        for other in (values.labels, self.items, self.leave_out):
            if row_sources_of(other) and row_sources_of(values):
                check_same_rows(values, other)
        kept = np.ones(len(values.columns), bool)
        notes: list[str] = []
        for condition in map(RowCondition.of, self.where):
            fulfilled, known = condition.fulfilled(values), condition.known(values)
            if missing := int((kept & ~known).sum()):
                notes.append(f"{missing:,} rows have no {condition.name} and are left out by {condition}")
            kept &= fulfilled
        if self.items is not None:
            kept &= _among(values, self.items, "--items", notes)
        if self.leave_out is not None and not self.leave_out:
            notes.append("--leave-out lists no items")
        elif self.leave_out:
            kept &= ~_among(values, self.leave_out, "--leave-out", notes)
        if self.per_class is None and self.split is None:
            _check_some(values, kept)
            return SelectedRows({WHOLE: np.flatnonzero(kept)}, tuple(notes))
        codes, names = values.item.codes, values.item.names
        is_left = np.bincount(codes[kept], minlength=len(names)) > 0
        _check_some(values, is_left)
        order = _random_order(names, self.seed)
        if self.per_class is not None:
            is_left &= self._per_class(values, is_left, order, notes)
        parts = {WHOLE: is_left} if self.split is None else self._split(values, is_left, order, notes)
        return SelectedRows({name: np.flatnonzero(kept & part[codes]) for name, part in parts.items()}, tuple(notes))

    def _per_class(
        self, values: RowValues, is_left: Bool[np.ndarray, "items"], order: Float[np.ndarray, "items"], notes: list[str]
    ) -> Bool[np.ndarray, "items"]:
        """The first items of every class, in random order."""
        assert self.per_class is not None
        chosen = np.zeros(len(is_left), bool)
        group = values.of_items("class")
        few = []
        for name in sorted(set(group[is_left].tolist())):
            members = np.flatnonzero(is_left & (group == name))
            chosen[members[np.argsort(order[members])][: self.per_class]] = True
            few += [f"{name} ({len(members):,})"] if len(members) < self.per_class else []
        if few:
            notes.append(f"all items of classes with fewer than {self.per_class:,} are kept: {listing(few)}")
        return chosen

    def _split(
        self, values: RowValues, is_left: Bool[np.ndarray, "items"], order: Float[np.ndarray, "items"], notes: list[str]
    ) -> dict[str, Bool[np.ndarray, "items"]]:
        """The items of every part: a cut through all items, with each stratum spread evenly over the whole."""
        assert self.split is not None
        items = np.flatnonzero(is_left)
        group = values.of_items(self.stratify)[items] if self.stratify else np.zeros(len(items), object)
        place = np.empty(len(items))
        for name in dict.fromkeys(group.tolist()):
            members = np.flatnonzero(group == name)
            rank = np.argsort(np.argsort(order[items[members]]))
            # A random start, so that strata of one item are not all in the first part.
            start = _random_order(pa.array([str(name)]), self.seed)[0]
            place[members] = (rank + start) / len(members)
        items = items[np.lexsort((order[items], place))]
        sizes = _sizes(self.split, len(items))
        parts: dict[str, np.ndarray] = {}
        at = 0
        for name, size in sizes.items():
            if not size:
                found = f"{len(items):,} items, and 0 of them for {name}"
                raise BadSetting(found, "at least one item in every part", "give it a larger share", "empty-part")
            parts[name] = np.zeros(len(is_left), bool)
            parts[name][items[at : at + size]] = True
            at += size
        if at < len(items):
            notes.append(f"{len(items) - at:,} of {len(items):,} items are in no part of the split")
        return parts


def split_shares(text: str, option: str = "split") -> dict[str, float]:
    """Parts with their shares or numbers of items, from text: `train=0.8,test=0.2`."""
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = (each.strip() for each in part.partition("="))
        number = re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", share)
        if not re.fullmatch(r"[\w.-]+", name) or number is None or name in found:
            expected = "different names, each with a share or a number of items"
            raise BadSetting(f"{option} {show(text)}", expected, f"write for example {option} train=0.8,test=0.2")
        found[name] = float(share)
    return found


def read_own(path: Path) -> Any:
    """A table of ours, or inputs in a folder or a NumPy file; None for other files."""
    if path.is_dir():
        return Inputs.read(path) if has_pictures(path) else None
    if path.name.lower().endswith(NUMPY.suffixes):
        return Inputs.read(path) if {"images", "texts", "features", "format"} & set(read_arrays(path)) else None
    is_table = path.name.lower().endswith(tuple(end for kind in (*TABLE_KINDS, TSV) for end in kind.suffixes))
    reader = table_reader(read_rows(path).schema.names) if is_table else None
    return None if reader is None else reader(path)


def table_reader(names: Sequence[str]) -> Callable[[Path], Any] | None:
    """How to read a table of ours, by its columns; None for a table of others."""
    if {"item", "annotator", "kind", "payload"} <= set(names):
        return Annotations.read
    if "probs" in names or any(name.startswith(WIDE_PREFIX) for name in names):
        return Beliefs.read if "annotator" in names else SoftLabels.read
    return Counts.read if "counts" in names or any(name.startswith(COUNT_PREFIX) for name in names) else None


def values_of(table: Any) -> RowValues:
    """The values of a table's rows."""
    if isinstance(table, Inputs):
        columns: dict[str, Any] = {"item": pa.array(table.items, pa.string())}
        columns |= {} if table.labels is None else {"label": pa.array(table.labels, pa.string())}
        numbered = pa.table(columns).replace_schema_metadata(row_sources_metadata(table.row_sources))
        return RowValues(numbered, path=table.path)
    if not isinstance(table, Table):
        votes = "sf.Beliefs.from_pandas(frame) makes votes of it, sf.SoftLabels.from_arrow(frame) labels"
        fix = votes if is_frame(table) else "make a table first: sf.read(path), sf.Beliefs.from_votes or from_numpy"
        raise BadTable(f"a {type(table).__name__}", "a table of sfumato, or Inputs", fix, "not-a-table")
    return RowValues(table.to_arrow(), table.classes, getattr(table, "path", None))


def take(table: Any, rows: Int[np.ndarray, "kept"]) -> Any:
    """The rows of a table, as a table of the same type."""
    if isinstance(table, (Inputs, Beliefs)):
        return table.take(rows)
    if isinstance(table, Annotations):
        return table.take(np.isin(np.arange(len(table)), rows))
    if isinstance(table, RecordTable):
        first = fields(table)[0].name  # type: ignore[arg-type]
        return replace(table, **{first: tuple(getattr(table, first)[row] for row in rows)})  # type: ignore[type-var]
    changed = {}
    for field in fields(table):
        value = getattr(table, field.name)
        if isinstance(value, (pa.Array, np.ndarray)) and len(value) == len(table):
            changed[field.name] = value.take(pa.array(rows)) if isinstance(value, pa.Array) else value[rows]
        elif isinstance(value, tuple) and field.name != "classes" and len(value) == len(table):
            changed[field.name] = tuple(value[row] for row in rows)
        elif isinstance(value, dict):
            changed[field.name] = {name: np.asarray(column)[rows] for name, column in value.items()}
    return replace(table, **changed)


def _among(values: RowValues, items: Sequence[str], option: str, notes: list[str]) -> Bool[np.ndarray, "rows"]:
    """Which rows are about one of `items`."""
    names = values.item.names
    listed = pa.array([str(item) for item in items], pa.string())
    unknown = list(dict.fromkeys(listed.filter(pc.invert(pc.is_in(listed, value_set=names))).to_pylist()))
    if unknown:
        shown = listing([show(item, 40) for item in unknown], 5)
        notes.append(
            f"{len(unknown):,} of {len(set(listed.to_pylist())):,} ids of {option} are not in the table: {shown}"
        )
    known = pc.is_in(names, value_set=listed).to_numpy(zero_copy_only=False)
    if option == "--items" and not known.any():
        found = f"none of the {len(listed):,} ids of --items among the {len(names):,} items of the table"
        fix = f"use the ids of the table, such as {listing([show(name, 40) for name in names[:3].to_pylist()])}"
        raise BadTable(found, "ids of items in the table", fix, "missing-item", values.path)
    return np.asarray(known[values.item.codes])


def _check_some(values: RowValues, kept: Bool[np.ndarray, "rows"]) -> None:
    if not kept.any():
        found = f"none of the {len(values.columns):,} rows selected"
        raise no_rows("at least one row", "choose by other conditions or items", values.path, found)


def _random_order(names: pa.Array, seed: int) -> Float[np.ndarray, "items"]:
    """A random number from 0 to 1 per name, the same in every table."""
    key = str(seed).encode()[:64]
    digests = b"".join(hashlib.blake2b(name.encode(), digest_size=8, key=key).digest() for name in names.to_pylist())
    return np.frombuffer(digests, np.uint64).astype(np.float64) / 2**64


def _check_split(split: Mapping[str, float]) -> None:
    values = list(split.values())
    shares = all(0 < value <= 1 for value in values)
    whole = all(value >= 1 and float(value).is_integer() for value in values)
    if not values or not (shares or whole) or (shares and not whole and sum(values) > 1 + 1e-9):
        text = ",".join(f"{name}={value:g}" for name, value in split.items())
        raise bad_setting("split", text, "shares above 0 that sum to at most 1, or whole numbers of items")


def _sizes(split: Mapping[str, float], n: int) -> dict[str, int]:
    """The number of items of every part."""
    if all(float(value).is_integer() for value in split.values()) and (len(split) > 1 or max(split.values()) > 1):
        sizes = {name: int(value) for name, value in split.items()}
        if sum(sizes.values()) > n:
            found = f"{sum(sizes.values()):,} items in the split"
            raise BadSetting(found, f"at most the {n:,} that are left", "ask for fewer items", "too-few-items")
        return sizes
    cuts = np.floor(np.cumsum([0.0, *split.values()]) * n + 0.5 + 1e-9).astype(int)
    return dict(zip(split, np.diff(cuts).tolist(), strict=True))
