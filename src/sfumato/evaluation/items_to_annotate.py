"""Selection of items to annotate: a quota per class and region of a data map.

As for soft-digits: most items are easy and show little about uncertainty, so all ambiguous and hard items are used, and
easy ones by quota. It needs at least 150 easy training items per class, with 70%, 15% and 15% for training, validation
and test: 215 per class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Int

from sfumato.evaluation.data_map import REGIONS, DataMap, MapRegion
from sfumato.tables.base_table import ColumnTable
from sfumato.tables.errors import BadSetting, BadTable, listing, warn
from sfumato.tables.setting_checks import at_least


@dataclass(frozen=True, eq=False, repr=False)
class ItemSelection(ColumnTable):
    """Items to annotate, in the order of the map: class, region, and split."""

    items: tuple[str, ...]
    labels: tuple[str, ...]
    regions: tuple[MapRegion, ...]
    splits: tuple[str, ...] | None = None

    renamed: ClassVar[Mapping[str, str]] = {"items": "item", "labels": "label", "regions": "region", "splits": "split"}


def select(
    drawn: DataMap,
    labels: Mapping[str, str],
    quota: Mapping[MapRegion, int | None],
    *,
    rng: np.random.Generator,
    fill: bool = False,
) -> ItemSelection:
    """Draw `quota` items per class and region without replacement; None means all.

    `labels` holds the original label of each item. A quota that cannot be filled is an error with the numbers there;
    with `fill`, all available items are used, with a warning. The same rng state draws the same items.
    """
    items = drawn.items.to_pylist()
    missing = [item for item in items if item not in labels]
    if missing:
        found = f"no class for {len(missing):,} items, the first {missing[0]!r}"
        raise BadTable(found, "the class of every item", "give the class each item came with", "missing-item")
    for region, n in quota.items():
        if n is not None:
            at_least(f"quota of {region}", n, 0)
    label = np.array([labels[item] for item in items], dtype=object)
    chosen: list[np.ndarray] = []
    short: list[str] = []
    for name in sorted(set(label.tolist())):
        for region in REGIONS:
            there = np.flatnonzero((label == name) & (drawn.region == REGIONS.index(region)))
            wanted = quota.get(region, 0)
            if wanted is not None and wanted > len(there):
                short.append(f"{len(there)} of {wanted} {region} {name}")
            n = len(there) if wanted is None else min(wanted, len(there))
            # Always draw, so that the size of one cell does not change the draw of another.
            chosen.append(rng.permutation(there)[:n])
    if short and not fill:
        fix = "ask for fewer, cut the regions wider, or take what is there (fill=True)"
        raise BadTable(f"{listing(short, 6)}", "as many items as the quota asks for", fix, "quota")
    if short:
        warn(f"used all available items: {listing(short, 6)}")
    rows = np.sort(np.concatenate([np.empty(0, np.int64), *chosen]))
    return ItemSelection(
        tuple(items[row] for row in rows), tuple(label[rows].tolist()), tuple(REGIONS[k] for k in drawn.region[rows])
    )


def assign_splits(selection: ItemSelection, shares: Mapping[str, float], *, rng: np.random.Generator) -> ItemSelection:
    """The selection with splits (`{"train": 0.7, "validation": 0.15, "test": 0.15}`), stratified by class and region.

    Within a class and region, shares are rounded down, and the rest goes to the splits that lack most.
    """
    if not shares or any(part <= 0 for part in shares.values()) or abs(sum(shares.values()) - 1) > 1e-9:
        raise BadSetting(f"the shares {dict(shares)}", "shares above 0 that sum to 1", "choose other shares")
    names, parts = list(shares), np.array(list(shares.values()))
    dealt = np.zeros(len(names))
    split = np.empty(len(selection), dtype=object)
    cells = np.array([f"{region}\0{label}" for region, label in zip(selection.regions, selection.labels, strict=True)])
    seen = 0
    for cell in np.unique(cells):
        rows: Int[np.ndarray, "some"] = rng.permutation(np.flatnonzero(cells == cell))
        seen += len(rows)
        counts = np.floor(parts * len(rows) + 1e-9)
        for _ in range(len(rows) - int(counts.sum())):
            # Over all cells so far each split should have its share.
            counts[int(np.argmax(parts * seen - dealt - counts))] += 1
        split[rows] = np.repeat(np.array(names, dtype=object), counts.astype(np.int64))
        dealt += counts
    return ItemSelection(selection.items, selection.labels, selection.regions, tuple(split.tolist()))
