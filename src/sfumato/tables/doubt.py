"""Doubt: the uncertainty about each item, within and between annotators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from sfumato.tables.base_table import Table
from sfumato.tables.dissent import PersonBeliefs, dissent_of_counts, vote_counts
from sfumato.tables.printed_text import bar, counted, printable


@dataclass(frozen=True, eq=False, repr=False)
class Doubt(Table):
    """Uncertainty per item; NaN (null in files) where it is not identifiable.

    `dissent` = `dissent_within` + `dissent_between` is the probability that two people give different answers, unbiased
    from two people on (see `sfumato.tables.dissent`). Votes have no parts, because a vote does not say how sure a
    person was.

    In nats, `total` = `within` + `between`: the entropy of the mean belief, the mean entropy of single beliefs
    (annotators are unsure), and the rest (annotators disagree), the mutual information of annotator and class. These
    are plug-in values: `total` and `between` are biased low if few people answered. Hard votes have `within` = 0 by
    construction. With one person nothing but `dissent_within` and `within` of a soft belief is identifiable.

    `mean_doubt` and `unsure_proportion` exist for yes / no / unsure answers only: the mean share of classes marked
    unsure, and the share of annotators who marked any.
    """

    items: pa.StringArray
    n_answers: Int[np.ndarray, "items"]
    dissent: Float[np.ndarray, "items"]
    dissent_within: Float[np.ndarray, "items"]
    dissent_between: Float[np.ndarray, "items"]
    total: Float[np.ndarray, "items"]
    within: Float[np.ndarray, "items"]
    between: Float[np.ndarray, "items"]
    mean_doubt: Float[np.ndarray, "items"] | None = None
    unsure_proportion: Float[np.ndarray, "items"] | None = None

    classes = ()

    def lines(self) -> list[str]:
        known = ~np.isnan(self.dissent)
        mean = f"mean dissent {self.dissent[known].mean():.1%}" if known.any() else "no item with two answers"
        most = self.item_lines()
        below = ", the most uncertain first" * (len(self) > len(most) > 0)
        return [f"{counted(len(self), 'item')}, {mean}{below}", *most]

    def item_lines(self, top: int = 10) -> list[str]:
        """The most uncertain items: dissent within (█) and between (░) annotators, as the command prints it."""
        shown = most_doubtful(self, top)
        largest = max((float(self.dissent[row]) for row in shown), default=0.0) or 1.0
        lines = []
        for row in shown:
            within = float(np.nan_to_num(self.dissent_within[row]))
            drawn = bar([(within / largest, "█"), ((self.dissent[row] - within) / largest, "░")])
            lines.append(f"  {printable(self.items[row].as_py(), 48):48} {drawn} {self.dissent[row]:.0%}")
        return lines

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        columns: dict[str, Any] = {"item": self.items.slice(start, stop - start)}
        for name in COLUMNS:
            values = getattr(self, name)
            if values is not None:
                columns[name] = pa.array(values[start:stop], from_pandas=True)
        return pa.table(columns)

    def __len__(self) -> int:
        return len(self.items)


DISSENT_COLUMNS = ("dissent", "dissent_within", "dissent_between")
ENTROPY_COLUMNS = ("total", "within", "between")
COLUMNS = ("n_answers", *DISSENT_COLUMNS, *ENTROPY_COLUMNS, "mean_doubt", "unsure_proportion")


def entropy(probs: Float[np.ndarray, "rows classes"]) -> Float[np.ndarray, "rows"]:
    """-sum p ln p of each row, in nats, with 0 ln 0 = 0."""
    logs = np.log(probs, out=np.zeros_like(probs), where=probs > 0)
    return 0.0 - np.einsum("ij,ij->i", probs, logs)  # type: ignore[no-any-return]


def doubt_of(
    items: pa.StringArray,
    item: Int[np.ndarray, "rows"],
    annotator: Int[np.ndarray, "rows"],
    hard: Int[np.ndarray, "rows"] | None,
    soft: Float[np.ndarray, "rows classes"] | None,
    n_classes: int,
) -> Doubt:
    """The uncertainty of coded beliefs."""
    n_items = len(items)
    people = PersonBeliefs.of(item, annotator, hard, soft, n_items, n_classes)
    n_answers = np.bincount(item, minlength=n_items)
    if hard is not None:
        mean, within = vote_counts(item, hard, n_items, n_classes) / n_answers[:, None], np.zeros(n_items)
    else:
        assert soft is not None
        sums = [np.bincount(item, weights=soft[:, k], minlength=n_items) for k in range(n_classes)]
        mean = np.stack(sums, axis=1) / n_answers[:, None]
        within = np.bincount(item, weights=entropy(soft), minlength=n_items) / n_answers
    total = entropy(mean)
    within = np.minimum(within, total)
    between = np.where(people.several, np.maximum(total - within, 0.0), np.nan)
    if hard is not None:
        within = np.where(people.several, within, np.nan)
    total = np.where(people.several, total, np.nan)
    apart = people.dissent - people.within
    return Doubt(items, n_answers, people.dissent, people.within, apart, total, within, between)


def doubt_of_counts(items: pa.StringArray, counts: Int[np.ndarray, "items classes"]) -> Doubt:
    """The uncertainty of votes per item and class: all of it is disagreement."""
    n_votes = np.asarray(counts.sum(axis=1, dtype=np.int64))
    unknown, several = np.full(len(items), np.nan), n_votes > 1
    total = np.where(several, entropy(counts / n_votes[:, None]), np.nan)
    dissent = dissent_of_counts(counts)
    return Doubt(items, n_votes, dissent, unknown, unknown, total, np.where(several, 0.0, np.nan), total)


def most_doubtful(doubt: Doubt, n: int) -> list[int]:
    """The rows of the `n` most uncertain items by dissent, of equal ones those with more answers first; items whose
    dissent is not identifiable are left out."""
    order = np.lexsort((-doubt.n_answers, -doubt.dissent))
    return [int(row) for row in order[:n] if not np.isnan(doubt.dissent[row])]
