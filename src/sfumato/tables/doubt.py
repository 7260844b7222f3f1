"""Doubt: the uncertainty about each item, within and between annotators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from sfumato.tables.base_table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Doubt(Table):
    """Per item, in nats: `total` = `within` + `between`.

    `total` is the entropy of the mean belief; `within` the mean entropy of single beliefs (annotators are unsure);
    `between` the rest (annotators disagree), the mutual information of annotator and class. Items of equal entropy
    can be opposite cases: everyone is unsure, or everyone is sure but they disagree.
    Hard votes have `within` = 0 by construction.

    `mean_doubt` and `unsure_proportion` exist for yes / no / unsure answers only: the mean share of classes marked
    unsure, and the share of annotators who marked any.
    """

    items: pa.StringArray
    n_answers: Int[np.ndarray, "items"]
    total: Float[np.ndarray, "items"]
    within: Float[np.ndarray, "items"]
    between: Float[np.ndarray, "items"]
    mean_doubt: Float[np.ndarray, "items"] | None = None
    unsure_proportion: Float[np.ndarray, "items"] | None = None

    classes = ()

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        columns: dict[str, Any] = {"item": self.items.slice(start, stop - start)}
        for name in ("n_answers", "total", "within", "between", "mean_doubt", "unsure_proportion"):
            values = getattr(self, name)
            if values is not None:
                columns[name] = pa.array(values[start:stop], from_pandas=True)
        return pa.table(columns)

    def __len__(self) -> int:
        return len(self.items)


def entropy(probs: Float[np.ndarray, "rows classes"]) -> Float[np.ndarray, "rows"]:
    """-sum p ln p of each row, in nats, with 0 ln 0 = 0."""
    logs = np.log(probs, out=np.zeros_like(probs), where=probs > 0)
    return 0.0 - np.einsum("ij,ij->i", probs, logs)  # type: ignore[no-any-return]


def doubt_of(
    items: pa.StringArray,
    item: Int[np.ndarray, "rows"],
    hard: Int[np.ndarray, "rows"] | None,
    soft: Float[np.ndarray, "rows classes"] | None,
    n_classes: int,
) -> Doubt:
    """The decomposition over coded beliefs."""
    n_items = len(items)
    n_answers = np.bincount(item, minlength=n_items)
    within = np.zeros(n_items)
    if hard is not None:
        cell = item.astype(np.int64) * n_classes + hard
        mean = np.bincount(cell, minlength=n_items * n_classes).reshape(n_items, n_classes) / n_answers[:, None]
    else:
        assert soft is not None
        sums = [np.bincount(item, weights=soft[:, k], minlength=n_items) for k in range(n_classes)]
        mean = np.stack(sums, axis=1) / n_answers[:, None]
        within = np.bincount(item, weights=entropy(soft), minlength=n_items) / n_answers
    return doubt_of_means(items, n_answers, mean, within)


def doubt_of_means(
    items: pa.StringArray,
    n_answers: Int[np.ndarray, "items"],
    mean: Float[np.ndarray, "items classes"],
    within: Float[np.ndarray, "items"] | float = 0.0,
) -> Doubt:
    """The decomposition of the entropy of mean beliefs, given the mean entropy `within` beliefs (0 for votes)."""
    total = entropy(mean)
    return Doubt(items, n_answers, total, np.minimum(within, total), np.maximum(total - within, 0.0))


def most_doubtful(doubt: Doubt, n: int) -> list[int]:
    """The rows of the `n` most uncertain items, largest total first."""
    return [int(row) for row in np.argsort(-doubt.total, kind="stable")[:n]]
