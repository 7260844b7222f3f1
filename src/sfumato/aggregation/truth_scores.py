"""Aggregated labels scored against the true class of each item: accuracy, log-loss and Brier score per method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc
from jaxtyping import Float, Int

from sfumato.tables.base_table import ColumnTable
from sfumato.tables.errors import BadTable, bad_classes, listing
from sfumato.tables.printed_text import counted, wrapped
from sfumato.tables.row_numbers import check_same_rows
from sfumato.tables.soft_labels import SoftLabels

TIE = 1e-9
"""Probabilities that differ by less are equal: the difference is rounding."""


@dataclass(frozen=True, eq=False, repr=False)
class TruthScores(ColumnTable):
    """One row per method, over the items with a known class.

    `accuracy` is the share of items whose most probable class is the true one; k tied classes count 1/k. `log_loss` is
    the mean of -ln p of the true class, infinite if `n_zero` items have it at 0; `brier` is the mean squared distance
    from the one-hot truth, always finite. Lower is better for both.
    """

    method: tuple[str, ...]
    estimand: tuple[str, ...]
    accuracy: Float[np.ndarray, "methods"]
    log_loss: Float[np.ndarray, "methods"]
    brier: Float[np.ndarray, "methods"]
    n_zero: Int[np.ndarray, "methods"]
    n_items: Int[np.ndarray, "methods"]
    n_labels: Int[np.ndarray, "methods"]

    def lines(self) -> list[str]:
        """Accuracy, log-loss and Brier score of each method, the best of each marked."""
        width = max(len("method"), *(len(name) for name in self.method))
        columns = f"{'accuracy':>8}   {'log-loss':>8}   {'Brier':>8}   {'truth at 0':>10}"
        lines = [f"{'method':{width}}  {'estimand':8}  {columns}"]
        best = {"accuracy": self.accuracy.max(), "log_loss": self.log_loss.min(), "brier": self.brier.min()}
        for i, name in enumerate(self.method):
            cells = []
            for column, top in best.items():
                value = getattr(self, column)[i]
                cells.append(f"{value:>8.4f}{'*' if value == top and len(self) > 1 else ' '}")
            lines.append(f"{name:{width}}  {self.estimand[i]:8}  {'  '.join(cells)}  {self.n_zero[i]:>10,}".rstrip())
        known = f"{self.n_items[0]:,} of {counted(int(self.n_labels[0]), 'item')}"
        meaning = "log-loss: mean of -ln p of the true class; infinite if it has probability 0 for some item"
        return [*lines, *wrapped(f"{known} have a known class. {meaning}")]


@dataclass(frozen=True)
class TruthScore:
    """A row of the table."""

    method: str
    estimand: str
    accuracy: float
    log_loss: float
    brier: float
    n_zero: int
    n_items: int
    n_labels: int
    """The items with a label, with and without a known class."""


def truth_scores(labels: Mapping[str, SoftLabels], truth: SoftLabels) -> TruthScores:
    """The scores of the labels of each method against `truth` (one-hot), on the items that both have."""
    return TruthScores.of([_score(name, each, truth) for name, each in labels.items()])


def _score(name: str, labels: SoftLabels, truth: SoftLabels) -> TruthScore:
    check_same_rows(labels, truth)
    rows = pc.index_in(truth.items, value_set=labels.items)
    known = rows.is_valid().to_numpy(zero_copy_only=False)
    if not known.any():
        expected, fix = "the true class of items that were answered", "use the same item ids in both files"
        raise BadTable("no true class for any item of the votes", expected, fix, "missing-item", truth.path)
    answer = [truth.classes[k] for k in truth.probs[known].argmax(axis=1)]
    missing = sorted(set(answer) - set(labels.classes))
    if missing:
        fix = "use the same class names in both files"
        raise bad_classes(f"the true class {listing(missing)}", labels.classes, fix, truth.path)
    correct = np.array([labels.classes.index(each) for each in answer])
    probs = labels.probs[rows.filter(rows.is_valid()).to_numpy().astype(np.int64)]
    own = probs[np.arange(len(probs)), correct]
    best = probs >= probs.max(axis=1, keepdims=True) - TIE
    right = best[np.arange(len(probs)), correct] / best.sum(axis=1)
    with np.errstate(divide="ignore"):
        log_loss = float(-np.log(own).mean())
    brier = float(((probs**2).sum(axis=1) - 2 * own + 1).mean())
    estimand = "" if labels.estimand is None else labels.estimand.value
    return TruthScore(
        name, estimand, float(right.mean()), log_loss, brier, int((own == 0).sum()), len(probs), len(labels)
    )
