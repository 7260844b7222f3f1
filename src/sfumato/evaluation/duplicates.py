"""Duplicate and near-duplicate items within a data set and across its splits (leakage)."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sfumato.evaluation.image_distance import near_pairs
from sfumato.tables.base_table import Table
from sfumato.tables.errors import BadTable, wrong_shape
from sfumato.tables.files.table_file import write_table
from sfumato.tables.growable_array import freeze
from sfumato.tables.model_inputs import Inputs
from sfumato.tables.setting_checks import at_least, share

EXACT, NEAR, NORMALIZED = "exact", "near", "normalised"  # values are part of the file format
GRAY_DISTANCE, COLOR_DISTANCE = 0.01, 0.05
"""Default distances of near images: gray images (digits, clothes) are often similar without being copies; photographs
differ more, and so do their copies."""


@dataclass(frozen=True, eq=False, repr=False)
class Duplicates(Table):
    """One row per pair of duplicates: `item_a`, of the earlier split or row, and `item_b`.

    `kind` is `exact` (the same pixels or characters), `near` (images at most `distance` apart) or `normalised` (texts
    that differ only in case, spaces, punctuation or Unicode form). Identical items are each paired with the first of
    them; near pairs are between these first items. Connected items are a group.
    """

    splits: tuple[str, ...]
    items: tuple[str, ...]
    """All items, split by split."""
    split: Int[np.ndarray, "items"]
    first: Int[np.ndarray, "pairs"]
    second: Int[np.ndarray, "pairs"]
    distance: Float[np.ndarray, "pairs"]
    kind: tuple[str, ...]
    labels: tuple[str, ...] | None = None
    n_flat: int = 0
    """The number of images of a single shade, which are only compared exactly."""

    classes = ()

    def __post_init__(self) -> None:
        freeze(self, "split", "first", "second", "distance")

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        columns: dict[str, Any] = {}
        for side, rows in (("a", self.first[start:stop]), ("b", self.second[start:stop])):
            columns[f"item_{side}"] = pa.array([self.items[row] for row in rows], pa.string())
            columns[f"split_{side}"] = pa.array([self.splits[self.split[row]] for row in rows], pa.string())
        columns["distance"] = pa.array(self.distance[start:stop])
        columns["kind"] = pa.array(self.kind[start:stop], pa.string())
        names = ("item_a", "item_b", "distance", "kind", "split_a", "split_b")
        return pa.table({name: columns[name] for name in names})

    def __len__(self) -> int:
        return len(self.first)

    def groups(self) -> Int[np.ndarray, "items"]:
        """The group number of every item, in order of first items; -1 without duplicates."""
        n = len(self.items)
        graph = coo_array((np.ones(len(self)), (self.first, self.second)), shape=(n, n))
        _, component = connected_components(graph, directed=False)
        alone = np.bincount(component, minlength=n)[component] < 2
        numbered = np.where(alone, -1, component)
        _, place = np.unique(numbered, return_inverse=True)
        return np.asarray(place - (1 if alone.any() else 0), np.int64)

    def to_leave_out(self) -> Bool[np.ndarray, "items"]:
        """Which items to remove so that one of each group is left: the first, of the earliest split."""
        group = self.groups()
        _, firsts = np.unique(group, return_index=True)
        out = group >= 0
        out[firsts] = False
        return np.asarray(out)

    def write_groups(self, path: str | Path) -> None:
        """Write every item that has a duplicate: item, split, group, and whether to remove it."""
        group, out = self.groups(), self.to_leave_out()
        rows = np.flatnonzero(group >= 0)[np.argsort(group[group >= 0], kind="stable")]
        table = pa.table(
            {
                "item": pa.array([self.items[row] for row in rows], pa.string()),
                "split": pa.array([self.splits[self.split[row]] for row in rows], pa.string()),
                "group": pa.array(group[rows]),
                "leave_out": pa.array(out[rows]),
            }
        )
        write_table(table, path)

    def leaking(self, split: str, into: str) -> int:
        """The number of items of `split` with a duplicate in the split `into`."""
        group, own, other = self.groups(), self.splits.index(split), self.splits.index(into)
        if own == other:
            n = np.bincount(group[(self.split == own) & (group >= 0)])
            return int(n[n > 1].sum())
        there = np.unique(group[(self.split == other) & (group >= 0)])
        return int(np.isin(group[self.split == own], there).sum())

    def n_of_other_labels(self) -> int:
        """The number of pairs with different labels; 0 without labels."""
        labels = self.labels
        if labels is None:
            return 0
        return sum(labels[a] != labels[b] for a, b in zip(self.first.tolist(), self.second.tolist(), strict=True))


def find_duplicates(
    splits: Mapping[str, Inputs], *, distance: float | None = None, shift: int = 1, near: bool = True
) -> Duplicates:
    """All duplicates within and across `splits`; later copies of earlier items are redundant.

    Images are near within `distance`, shifted by up to `shift` pixels (see `image_distance`). The default distance is
    0.01 for gray images and 0.05 for color.
    """
    if distance is not None:
        share("distance", distance)
    at_least("shift", shift, 0)
    inputs = list(splits.values())
    _check_alike(splits)
    items = tuple(item for each in inputs for item in each.items)
    split = np.repeat(np.arange(len(inputs)), [len(each) for each in inputs])
    labels = None
    if all(each.labels is not None for each in inputs):
        labels = tuple(label for each in inputs for label in each.labels or ())
    n_flat, kinds, found = 0, [], []
    if inputs[0].features is not None:
        exact = _same([key for each in inputs for key in _row_keys(each)])
        found.append((exact, np.zeros(len(exact)), EXACT))
    elif inputs[0].texts is None:
        pictures = np.concatenate([_with_colors(each.images) for each in inputs if each.images is not None])
        exact = _same([_digest(picture) for picture in pictures])
        found.append((exact, np.zeros(len(exact)), EXACT))
        if near:
            # Only the first image of each exact group is compared.
            alone = np.setdiff1d(np.arange(len(items)), exact[:, 1])
            usual = GRAY_DISTANCE if pictures.shape[3] == 1 else COLOR_DISTANCE
            pairs = near_pairs(pictures[alone], distance=usual if distance is None else distance, shift=shift)
            rows = np.stack([alone[pairs.first], alone[pairs.second]], axis=1)
            found.append((rows, pairs.distance, NEAR))
            n_flat = pairs.n_flat
    else:
        texts = [text for each in inputs for text in each.texts or ()]
        exact = _same([text.encode("utf-8", "surrogatepass") for text in texts])
        found.append((exact, np.zeros(len(exact)), EXACT))
        if near:
            alone = np.setdiff1d(np.arange(len(items)), exact[:, 1])
            plain = _same([normalized(texts[row]).encode("utf-8", "surrogatepass") for row in alone])
            found.append((alone[plain], np.zeros(len(plain)), NORMALIZED))
    rows = np.concatenate([pairs for pairs, _, _ in found])
    kinds = [kind for pairs, _, kind in found for _ in range(len(pairs))]
    apart = np.concatenate([values for _, values, _ in found])
    order = np.lexsort((rows[:, 1], rows[:, 0]))
    return Duplicates(
        tuple(splits), items, split, rows[order, 0], rows[order, 1], apart[order],
        tuple(kinds[k] for k in order), labels, n_flat,
    )  # fmt: skip


def normalized(text: str) -> str:
    """The text without case, punctuation and extra spaces, in Unicode NFKC; unchanged if nothing is left."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = "".join(" " if unicodedata.category(c)[0] in "PZC" else c for c in folded).split()
    return " ".join(words) or text


def _digest(picture: np.ndarray) -> bytes:
    return hashlib.blake2b(picture.tobytes(), digest_size=16).digest()


def _same(keys: Sequence[bytes]) -> Int[np.ndarray, "pairs 2"]:
    """Pairs of the first row with the same key and each later row."""
    first: dict[bytes, int] = {}
    pairs = [(first[key], row) for row, key in enumerate(keys) if first.setdefault(key, row) != row]
    return np.array(pairs, np.int64).reshape(-1, 2)


def _row_keys(inputs: Inputs) -> list[bytes]:
    """One key per row of the features: equal numbers give equal keys."""
    features = inputs.features
    if isinstance(features, np.ndarray):
        # Adding 0 turns -0.0 into 0.0.
        return [row.tobytes() for row in features.astype(np.float64) + 0.0]
    assert features is not None
    plain = features.astype(np.float64)
    plain.sum_duplicates()
    plain.eliminate_zeros()
    ends, columns = plain.indptr, plain.indices.astype(np.int64)
    spans = zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    return [columns[a:b].tobytes() + plain.data[a:b].tobytes() for a, b in spans]


def _with_colors(images: np.ndarray) -> np.ndarray:
    return images if images.ndim == 4 else images[..., None]


def _check_alike(splits: Mapping[str, Inputs]) -> None:
    if not splits:
        raise BadTable("no inputs", "at least one set", "give a file", "no-items")
    first_name, first = next(iter(splits.items()))
    for name, each in splits.items():
        if _what(each) != _what(first):
            found, fix = f"{_what(each)} in {name}", "use the same size and number of colors in all splits"
            raise wrong_shape(found, f"the same as in {first_name}: {_what(first)}", fix, each.path)


def _what(inputs: Inputs) -> str:
    if inputs.images is None:
        return inputs.described()
    height, width, colors = _with_colors(inputs.images).shape[1:]
    return f"images of {height} x {width} pixels in {colors} color{'s' * (colors != 1)}"
