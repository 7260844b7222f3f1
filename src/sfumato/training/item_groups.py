"""ItemGroups: items that must stay together in a split, such as near duplicates or the pictures of one patient."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from sfumato.tables.column_reader import read_columns
from sfumato.tables.errors import BadTable, show
from sfumato.tables.files.table_file import read_rows

PAIR = ("item_a", "item_b")
"""The columns of the pairs that `sfumato duplicates` writes."""
REMOVE = "leave_out"
"""A column that only the groups of `sfumato duplicates` have."""


@dataclass(frozen=True)
class ItemGroups:
    """The group of each item. If `alone`, an item that is not listed is a group of its own; else it is an error."""

    of: Mapping[str, str]
    alone: bool = False
    path: Path | None = None

    @classmethod
    def read(cls, path: str | Path) -> ItemGroups:
        """A table with `item` and `group`, or what `sfumato duplicates` writes: pairs (`-o`) or `--groups`."""
        path = Path(path)
        rows = read_rows(path)
        names = rows.schema.names
        if set(PAIR) <= set(names):
            columns = read_columns(rows, PAIR)
            return cls(_connected(columns.listed(PAIR[0]), columns.listed(PAIR[1])), True, path)
        columns = read_columns(rows, ("item", "group"))
        group: dict[str, str] = {}
        for item, own in zip(columns.listed("item"), map(str, columns.listed("group")), strict=True):
            if group.setdefault(str(item), own) != own:
                found = f"item {show(item)} in the groups {show(group[str(item)])} and {show(own)}"
                raise BadTable(found, "one group per item", "remove one of the rows", "doubled-item", path)
        return cls(group, REMOVE in names, path)

    def numbers(self, items: Sequence[str]) -> Int[np.ndarray, "items"]:
        """The number of the group of each item."""
        missing = [] if self.alone else [item for item in items if item not in self.of]
        if missing:
            more = f" ({len(missing):,} such items)" if len(missing) > 1 else ""
            found, fix = f"no group for item {show(missing[0])}{more}", "add them, each with a group of its own"
            raise BadTable(found, "a group for every item", fix, "missing-item", self.path)
        # Two kinds of keys, so that an unlisted item is in no group that has its name.
        number: dict[tuple[bool, str], int] = {}
        keys = ((True, self.of[item]) if item in self.of else (False, item) for item in items)
        return np.array([number.setdefault(key, len(number)) for key in keys], np.int64)


def item_groups(given: Any) -> ItemGroups:
    """Groups from a file, or from the group of each item."""
    if isinstance(given, ItemGroups):
        return given
    if isinstance(given, Mapping):
        return ItemGroups({str(item): str(group) for item, group in given.items()})
    if isinstance(given, (str, Path)):
        return ItemGroups.read(given)
    fix = 'give a file with item and group, or a dictionary: groups={"photo-1": "patient-7"}'
    raise BadTable(f"groups = {show(given)}", "a group for every item", fix, "wrong-argument")


def _connected(first: Sequence[str], second: Sequence[str]) -> dict[str, str]:
    """The group of every item in pairs: items that are connected by pairs have the same group."""
    parent: dict[str, str] = {}

    def root(item: str) -> str:
        while parent.setdefault(item, item) != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    for one, other in zip(first, second, strict=True):
        parent[root(str(one))] = root(str(other))
    return {item: root(item) for item in parent}
