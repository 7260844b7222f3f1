"""Report section: items whose most probable class differs from the original label, and aggregations compared."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from sfumato.labeling.agreement.item_answers import TIE
from sfumato.reporting.blocks import Block, Column, Fact, Facts, Prose, ReportTable
from sfumato.reporting.gallery import Gallery, card_columns, item_cards
from sfumato.reporting.item_votes import rows_by_name
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import SHARE, DisplayedEstimate, counted, mean_of, share_of, shorten
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.soft_labels import SoftLabels

TITLE = "Changes from the original labels"
ALONE = "Aggregations compared"
"""The title without original labels."""
N_SHOWN = 8
N_LISTED = 12


@dataclass(frozen=True, eq=False)
class ChangedMajority:
    """Items whose original class is not the most probable one. `rows` are rows of the labels, by decreasing `margin`
    between the most probable and the original class."""

    rows: Int[np.ndarray, "moved"]
    was: tuple[str, ...]
    now: tuple[str, ...]
    margin: Float[np.ndarray, "moved"]
    n_items: int
    n_tied: int


def changed_majority(labels: SoftLabels, original: SoftLabels) -> ChangedMajority:
    """The items for which `labels` and `original` differ in the most probable class; only items in both count.

    Classes with equal probabilities (up to rounding) tie: an original class among them is not changed.
    """
    at = rows_by_name(labels.items, original.items)
    known = {name: k for k, name in enumerate(labels.classes)}
    best = original.probs.argmax(axis=1)
    rows = np.flatnonzero(at >= 0)
    was = np.array([known.get(name, -1) for name in original.classes])[best[at[rows]]]
    probs = labels.probs[rows]
    own = np.where(was >= 0, probs[np.arange(len(rows)), np.maximum(was, 0)], 0.0)
    margin = probs.max(axis=1) - own
    is_moved = margin > TIE
    tied = ~is_moved & ((probs >= probs.max(axis=1, keepdims=True) - TIE).sum(axis=1) > 1)
    order = np.argsort(-margin[is_moved], kind="stable")
    found = rows[is_moved][order]
    return ChangedMajority(
        found,
        tuple(original.classes[best[at[row]]] for row in found),
        tuple(labels.classes[k] for k in labels.probs[found].argmax(axis=1)),
        margin[is_moved][order],
        len(rows),
        int(tied.sum()),
    )


def label_changes_section(evidence: ReportInputs) -> Section | None:
    """Changes from the original labels, and differences between aggregations; None without both."""
    labels = evidence.main_labels
    if labels is None or not len(labels):
        return None
    blocks: list[Block] = []
    if evidence.original is not None:
        found = changed_majority(labels, evidence.original)
        blocks += _against_original(evidence, labels, found) if found.n_items else []
    if len(evidence.labels) > 1:
        blocks += _side_by_side(evidence)
    title = TITLE if evidence.original is not None else ALONE
    return Section(title, tuple(blocks)) if blocks else None


def _against_original(evidence: ReportInputs, labels: SoftLabels, found: ChangedMajority) -> list[Block]:
    n, share = len(found.rows), share_of(len(found.rows), found.n_items)
    facts = Facts((
        Fact(f"{n:,}", "items changed", f"of {found.n_items:,}"),
        Fact(f"{100 * share.value:.2f}%", "of items", f"{100 * share.low:.2f}% to {100 * share.high:.2f}%"),
        Fact(f"{found.n_tied:,}", "ties", "the original class is among the most probable"),
    ))  # fmt: skip
    if not n:
        return [facts, Prose(("The most probable class is the original one for all items.",))]
    text = (
        f"For {n:,} of {counted(found.n_items, 'item')}, {share.percent()}, the most probable class differs from the "
        "original label. Either the new or the original label is wrong: check the items."
    )
    return [facts, Prose((text,)), _pairs(evidence, found), changed_gallery(evidence, labels, found)]


def _pairs(evidence: ReportInputs, found: ChangedMajority) -> ReportTable:
    pairs = Counter(zip(found.was, found.now, strict=True)).most_common()
    left = f" The {N_LISTED} most frequent of {len(pairs)} pairs." if len(pairs) > N_LISTED else ""
    shown = pairs[:N_LISTED]
    return ReportTable(
        "moved",
        "Changes by class",
        f"Changed items by original and most probable class.{left}",
        (
            Column("original", tuple(shorten(was) for (was, _), _ in shown)),
            Column("most probable", tuple(shorten(now) for (_, now), _ in shown)),
            Column("items", tuple(n for _, n in shown), 0),
            Column("share of changed items", tuple(share_of(n, len(found.rows)).percent() for _, n in shown)),
        ),
        evidence.source("original"),
    )


def changed_gallery(evidence: ReportInputs, labels: SoftLabels, found: ChangedMajority, n: int = N_SHOWN) -> Gallery:
    """The changed items with the largest margin."""
    rows = [int(row) for row in found.rows[:n]]
    return Gallery(
        "striking",
        "Clearest changes",
        "Changed items with the largest margin between the most probable and the original class, which is marked.",
        item_cards(evidence, labels, rows, [f"original: {was}" for was in found.was[:n]], found.was[:n]),
        card_columns(labels, rows),
        evidence.source("original"),
    )


def _side_by_side(evidence: ReportInputs) -> list[Block]:
    """All pairs of aggregations: how often their most probable classes differ, and their mean distance."""
    rows, apart = [], Counter[str]()
    for one, other in combinations(evidence.labels, 2):
        p, q, items = _paired(evidence.labels[one], evidence.labels[other])
        if not len(p):
            continue
        differs = ~(_leads(p) & _leads(q)).any(axis=1)
        rows.append((one, other, share_of(int(differs.sum()), len(p)), _distance(p, q)))
        apart.update(items[i] for i in np.flatnonzero(differs))
    if not rows:
        return []
    listed = ReportTable(
        "aggregations",
        "Aggregations compared",
        "Items with different most probable classes (without ties), and the mean total variation: 0 for equal labels, "
        "1 for labels without a common class.",
        (
            Column("labels", tuple(f"`{evidence.title_of(one)}`" for one, _, _, _ in rows)),
            Column("compared with", tuple(f"`{evidence.title_of(other)}`" for _, other, _, _ in rows)),
            Column("items that differ", tuple(round(each.value * each.n) for _, _, each, _ in rows), 0),
            Column("share", tuple(each.percent() for _, _, each, _ in rows)),
            Column("mean distance", tuple(each.text(3) for _, _, _, each in rows)),
        ),
    )
    return [listed, *_disputed_between(evidence, apart)]


def _disputed_between(evidence: ReportInputs, apart: Counter[str]) -> list[Block]:
    """The items for which most pairs of aggregations differ, with the class of each."""
    if not apart:
        return [Prose(("All aggregations have the same most probable class for every common item.",))]
    items = [item for item, _ in apart.most_common(N_LISTED)]
    columns = [Column("item", tuple(shorten(item, 40) for item in items))]
    for name, labels in evidence.labels.items():
        rows = rows_by_name(pa.array(items), labels.items)
        columns.append(Column(shorten(evidence.title_of(name)), tuple(_first_of(labels, int(row)) for row in rows)))
    return [
        ReportTable(
            "aggregations-apart",
            "Items with different labels",
            f"The most probable class and its probability, for {min(len(items), len(apart)):,} of {len(apart):,} items "
            "for which at least two aggregations differ.",
            tuple(columns),
        )
    ]


def _first_of(labels: SoftLabels, row: int) -> str | None:
    if row < 0:
        return None
    k = int(labels.probs[row].argmax())
    return f"{shorten(labels.classes[k])} {labels.probs[row, k]:.2f}"


def _paired(
    one: SoftLabels, other: SoftLabels
) -> tuple[Float[np.ndarray, "items classes"], Float[np.ndarray, "items classes"], list[str]]:
    """Both distributions of the common items, over the classes of the first; empty if the classes are not the same."""
    at = rows_by_name(one.items, other.items)
    is_same = set(one.classes) == set(other.classes)
    order = [other.classes.index(name) for name in one.classes if is_same]
    kept = np.flatnonzero((at >= 0) & is_same)
    return one.probs[kept], other.probs[at[kept]][:, order], one.items.take(kept).to_pylist()


def _distance(p: Float[np.ndarray, "items classes"], q: Float[np.ndarray, "items classes"]) -> DisplayedEstimate:
    """The mean total variation."""
    return mean_of(np.minimum(np.abs(p - q).sum(axis=1) / 2, 1.0), SHARE)


def _leads(probs: Float[np.ndarray, "items classes"]) -> np.ndarray:
    return np.asarray(probs >= probs.max(axis=1, keepdims=True) - TIE)
