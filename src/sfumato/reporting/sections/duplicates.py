"""Report section: duplicate items, and leakage between splits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from sfumato.evaluation.duplicates import Duplicates, find_duplicates
from sfumato.reporting.blocks import Block, Column, Prose, ReportTable, as_columns, attributes
from sfumato.reporting.gallery import Gallery, ItemCard, thumbnails
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import counted, share_of, shorten
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.errors import SfumatoError
from sfumato.tables.model_inputs import Inputs

TITLE = "Duplicates"
ALL = "inputs"
MAX_COMPARED = 1500
"""The most images compared for near duplicates: the time grows with the square of their number."""
N_SHOWN = 8


@dataclass(frozen=True)
class Pair:
    """Two items that are exact or near duplicates, each with its split; a row of a `sfumato duplicates` table."""

    item_a: str
    item_b: str
    split_a: str
    split_b: str
    kind: str
    distance: float


def duplicates_section(evidence: ReportInputs) -> Section | None:
    """Duplicates among the labeled items, and between splits if there are several; None without inputs.

    Among many images only exact duplicates are searched; near ones come from the table of `sfumato duplicates`, if any.
    """
    splits = splits_of(evidence)
    if not splits:
        return None
    n_items = sum(len(each) for each in splits.values())
    near = next(iter(splits.values())).images is None or n_items <= MAX_COMPARED
    try:
        found = find_duplicates(splits, near=near)
    except SfumatoError as error:
        return Section(TITLE, (Prose((f"The splits cannot be compared: {error.found}; expected {error.expected}.",)),))
    listed = [] if near else pairs_in(evidence.columns.get("duplicates", {}))
    blocks: list[Block] = [Prose(tuple(_words(found, near, listed)))]
    if len(found):
        blocks.append(_leaks(evidence, found))
    pairs = listed or pairs_in(found.chunk(0, len(found), wide=False).to_pydict())
    if pairs:
        blocks.append(pairs_seen(splits, pairs))
    return Section(TITLE, tuple(blocks))


def splits_of(evidence: ReportInputs) -> Mapping[str, Inputs]:
    """The inputs to compare: the splits, else the labeled items, else all."""
    if evidence.splits:
        return evidence.splits
    inputs, labels = evidence.inputs, evidence.main_labels
    if inputs is None:
        return {}
    rows = np.arange(len(inputs)) if labels is None else np.sort(inputs.rows_of(labels.items.to_pylist()))
    rows = rows[rows >= 0]
    return {ALL: inputs if len(rows) in (0, len(inputs)) else inputs.take(rows)}


def pairs_in(table: Mapping[str, Sequence[Any]]) -> list[Pair]:
    """The pairs of a `sfumato duplicates` table; those between splits first, then by distance."""
    names = [field.name for field in fields(Pair)]
    if not set(names) <= set(table):
        return []
    rows = zip(*(table[name] for name in names), strict=True)
    pairs = [
        Pair(str(a), str(b), str(split_a), str(split_b), str(kind), float(distance or 0.0))
        for a, b, split_a, split_b, kind, distance in rows
    ]
    return sorted(pairs, key=lambda pair: (pair.split_a == pair.split_b, pair.distance))


def _words(found: Duplicates, near: bool, listed: Sequence[Pair]) -> list[str]:
    n_items, doubled = len(found.items), int((found.groups() >= 0).sum())
    share = share_of(doubled, n_items)
    if doubled:
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in Counter(found.kind).items())
        sentences = [
            f"{doubled:,} of {n_items:,} items, {share.percent()}, have a duplicate (pairs: {kinds}). Removing "
            f"{counted(int(found.to_leave_out().sum()), 'item')} would leave one per group."
        ]
    else:
        kinds = "exact or near duplicates" if near else "exact duplicates"
        sentences = [f"There are no {kinds} among {n_items:,} items."]
    if listed:
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in Counter(pair.kind for pair in listed).items())
        sentences.append(f"`sfumato duplicates` found these pairs: {kinds}.")
    elif not near:
        sentences.append(
            f"Near duplicates were not searched, because there are more than {MAX_COMPARED:,} images; "
            "`sfumato duplicates INPUTS.npz -o pairs.csv` finds them."
        )
    others = found.n_of_other_labels()
    if others:
        sentences.append(f"{others:,} pairs have different original labels: at least one label per pair is wrong.")
    return [*sentences, *_leaking(found)]


def _leaking(found: Duplicates) -> list[str]:
    if len(found.splits) < 2:
        return []
    leaks = [
        f"{counted(found.leaking(one, other), 'item')} of {shorten(one)} with a duplicate in {shorten(other)}"
        for i, one in enumerate(found.splits)
        for other in found.splits[:i]
        if found.leaking(one, other)
    ]
    if not leaks:
        return ["There is no leakage between splits."]
    return [f"Between splits: {'; '.join(leaks)}. Test scores are too high if items leak from the training split."]


def _leaks(evidence: ReportInputs, found: Duplicates) -> ReportTable:
    """The number of items per split with a duplicate in each split."""
    sizes = [int((found.split == i).sum()) for i in range(len(found.splits))]
    columns = [Column("split", tuple(shorten(name) for name in found.splits)), Column("items", tuple(sizes), 0)]
    for other in found.splits:
        counts = tuple(found.leaking(name, other) for name in found.splits)
        columns.append(Column(f"with a duplicate in {shorten(other)}", counts, 0))
    part = ALL if ALL in evidence.origins else f"{ALL}/{found.splits[0]}"
    return ReportTable(
        "duplicates",
        "Items with a duplicate",
        "Rows: splits. Columns: the number of items with a duplicate in that split.",
        tuple(columns),
        evidence.source(part, command="sfumato duplicates {file} -o pairs.csv"),
    )


def pairs_seen(splits: Mapping[str, Inputs], pairs: Sequence[Pair]) -> Gallery:
    """The first pairs as images or texts."""
    shown = []
    only = next(iter(splits)) if len(splits) == 1 else None
    for pair in pairs[:N_SHOWN]:
        both = ((pair.item_a, pair.split_a), (pair.item_b, pair.split_b))
        images = [thumbnails([item], splits.get(only or split))[0] for item, split in both]
        named = [item if only else f"{shorten(split)}: {item}" for item, split in both]
        distance = f", distance {pair.distance:.3f}" if pair.distance else ""
        shown.append(ItemCard(" = ".join(named), images[0], (), f"{pair.kind}{distance}", images[1]))
    return Gallery(
        "duplicate-pairs",
        "Duplicate pairs" if len(pairs) <= N_SHOWN else f"{N_SHOWN} of {len(pairs):,} duplicate pairs",
        "Pairs between splits first, then by distance.",
        tuple(shown),
        as_columns(attributes(pairs, *(field.name for field in fields(Pair)))),
    )
