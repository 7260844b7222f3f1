"""The votes of people per item: the source of every sentence of a report about disagreement.

Labels are not such a source: smoothed labels have some probability on every class although everyone gave the same
answer, and labels that estimate the truth have one class although people disagreed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Float, Int

from sfumato.labeling.agreement.item_answers import leading
from sfumato.reporting.phrases import SHARE, counted, mean_of, share_of
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.estimand import Estimand
from sfumato.tables.soft_labels import SoftLabels


@dataclass(frozen=True, eq=False)
class ItemVotes:
    """Annotators per item and most probable class.

    If an annotator answered about an item several times, the first answer counts. Of classes that tie within an answer,
    `counts` has the first; `unanimous` accepts any class that all annotators have in common.
    """

    items: pa.StringArray
    classes: tuple[str, ...]
    counts: Int[np.ndarray, "items classes"]
    unanimous: Bool[np.ndarray, "items"]
    part: str = "beliefs"
    """The input that the votes come from, as in `ReportInputs.origins`."""

    @classmethod
    def of(cls, beliefs: Beliefs | Counts, part: str = "beliefs") -> ItemVotes:
        """The votes in `beliefs`, with items in the order of their first belief; each vote in Counts is by an annotator
        of its own."""
        if isinstance(beliefs, Counts):
            counts, n_votes = beliefs.counts.astype(np.int64), beliefs.n_votes
            return cls(beliefs.items, beliefs.classes, counts, np.asarray(counts.max(axis=1) == n_votes), part)
        view = beliefs.coded()
        _, first = np.unique(view.item.astype(np.int64) * view.n_annotators + view.annotator, return_index=True)
        item = view.item[first].astype(np.int64)
        if view.hard is not None:
            counts = _cells(item, view.hard[first], view.n_items, view.n_classes)
            unanimous = counts.max(axis=1, initial=0) == counts.sum(axis=1)
        else:
            leads = leading(view.take(first).probs())
            counts = _cells(item, leads.argmax(axis=1), view.n_items, view.n_classes)
            shared = np.stack([np.bincount(item, each, minlength=view.n_items) for each in leads.T], axis=1)
            unanimous = shared.max(axis=1, initial=0) == counts.sum(axis=1)
        return cls(beliefs.item.names, beliefs.classes, counts, np.asarray(unanimous), part)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def n_annotators(self) -> Int[np.ndarray, "items"]:
        return np.asarray(self.counts.sum(axis=1))

    @property
    def several(self) -> Bool[np.ndarray, "items"]:
        """The items with at least two annotators: only these can show disagreement."""
        return np.asarray(self.n_annotators > 1)

    def only_several(self) -> str:
        """`the 50 of 200 items with at least two annotators`; empty if all items have two."""
        return only_some(self.several)

    @property
    def majority_share(self) -> Float[np.ndarray, "items"]:
        """The share of annotators with the most frequent class; NaN for items without annotators."""
        n = self.n_annotators
        most = self.counts.max(axis=1, initial=0)
        return np.asarray(np.divide(most, n, out=np.full(len(self), np.nan), where=n > 0))

    def disagreement(self) -> str:
        """How many items people disagree about, by a direct count, and the mean share of the majority class."""
        several = self.several
        n, n_disputed = int(several.sum()), int((several & ~self.unanimous).sum())
        if not n:
            return "No item has answers from two annotators, so that disagreement is unknown."
        most = mean_of(self.majority_share[several], SHARE)
        some = "" if n == len(self) else " with at least two annotators"
        share = share_of(n_disputed, n)
        return (
            f"People disagree about {n_disputed:,} of {counted(n, 'item')}{some}: {share.percent()}. The majority "
            f"class has {most.percent()} of the votes on average."
        )

    def shares(self) -> SoftLabels:
        """The share of annotators per class, of the items with annotators."""
        n = self.n_annotators
        kept = np.flatnonzero(n)
        shares = self.counts[kept] / n[kept, None]
        return SoftLabels(self.items.take(pa.array(kept)), self.classes, shares, n[kept].astype(np.int32))


ROUNDING = 1e-9


def only_some(kept: Bool[np.ndarray, "items"]) -> str:
    """`the 50 of 200 items with at least two annotators`, of `kept` items; empty if these are all."""
    return "" if kept.all() else f"the {kept.sum():,} of {counted(len(kept), 'item')} with at least two annotators"


def measured_labels(labels: SoftLabels) -> Bool[np.ndarray, "items"]:
    """The labels whose entropy says something: those of two annotators or more, if labels of one annotator are votes
    for one class; else all."""
    n, every = labels.n_annotators, np.ones(len(labels), bool)
    if n is None or labels.estimand in (Estimand.TRUTH, Estimand.PREDICTION):
        return every
    alone = n == 1
    is_votes = bool((labels.probs[alone].max(axis=1) >= 1 - ROUNDING).all())
    return np.asarray(n > 1) if is_votes and alone.any() else every


def mean_belief(beliefs: Beliefs | Counts) -> SoftLabels:
    """The mean belief about every item; for votes, the shares of votes. Every answer counts, repeated ones too."""
    if isinstance(beliefs, Counts):
        return beliefs.labels()
    view = beliefs.coded()
    sums = np.stack([np.bincount(view.item, each, minlength=view.n_items) for each in view.probs().T], axis=1)
    pairs = np.unique(view.item.astype(np.int64) * view.n_annotators + view.annotator)
    n_annotators = np.bincount(pairs // view.n_annotators, minlength=view.n_items).astype(np.int32)
    probs = sums / sums.sum(axis=1, keepdims=True)
    return SoftLabels(
        beliefs.item.names, beliefs.classes, probs, n_annotators, estimand=Estimand.JUDGMENT, made_by="mean"
    )


def _cells(
    item: Int[np.ndarray, "rows"], chosen: Int[np.ndarray, "rows"], n_items: int, n_classes: int
) -> Int[np.ndarray, "items classes"]:
    """The number of rows per item and chosen class."""
    counts = np.bincount(item * n_classes + chosen, minlength=n_items * n_classes)
    return np.asarray(counts.reshape(n_items, n_classes), np.int64)


def rows_by_name(items: pa.Array, known: pa.Array) -> Int[np.ndarray, "items"]:
    """The row of each of `items` among the `known` ones; -1 if it is missing."""
    return np.asarray(pc.index_in(items, value_set=known).fill_null(-1), np.int64)
