"""Epoch shifts: how far predictions still move from one epoch to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from sfumato.evaluation.training_dynamics import BY_EPOCH
from sfumato.tables.columns import check_columns, numbers
from sfumato.tables.doubt import entropy
from sfumato.tables.errors import BadFile, BadTable, ErrorLocation
from sfumato.tables.files import read_rows
from sfumato.tables.growable_array import freeze
from sfumato.tables.probabilities import classes_of, probs_of
from sfumato.tables.table import Table
from sfumato.tables.text_columns import TextEncoder


@dataclass(frozen=True, eq=False, repr=False)
class EpochShifts(Table):
    """One row an epoch from the second on: `jsd`, the mean Jensen-Shannon divergence of its predictions from those of
    the epoch before, in nats (0 to ln 2), over `n_items` of `n_runs` runs."""

    epoch: Int[np.ndarray, "epochs"]
    jsd: Float[np.ndarray, "epochs"]
    n_items: Int[np.ndarray, "epochs"]
    n_runs: Int[np.ndarray, "epochs"]

    classes = ()

    def __post_init__(self) -> None:
        freeze(self, "epoch", "jsd", "n_items", "n_runs")

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        return pa.table({name: getattr(self, name)[start:stop] for name in ("epoch", "jsd", "n_items", "n_runs")})

    def __len__(self) -> int:
        return len(self.epoch)


def jensen_shannon(
    one: Float[np.ndarray, "rows classes"], other: Float[np.ndarray, "rows classes"]
) -> Float[np.ndarray, "rows"]:
    """H((p + q) / 2) - (H(p) + H(q)) / 2 of each row, in nats."""
    return np.asarray(np.maximum(entropy((one + other) / 2) - (entropy(one) + entropy(other)) / 2, 0.0))


def epoch_shifts(paths: Sequence[str | Path]) -> EpochShifts:
    """The shifts of runs that kept their predictions of every epoch, the mean over items, then over runs.

    A path is a run's folder, or a table with item, epoch and probs.
    """
    runs = [_shifts_of(Path(path)) for path in paths]
    epochs = sorted({epoch for run in runs for epoch in run})
    present = [[run[epoch] for run in runs if epoch in run] for epoch in epochs]
    return EpochShifts(
        np.array(epochs, np.int64),
        np.array([np.mean([each.mean() for each in rows]) for rows in present], np.float64),
        np.array([max(len(each) for each in rows) for rows in present], np.int64),
        np.array([len(rows) for rows in present], np.int64),
    )


def _shifts_of(path: Path) -> dict[int, Float[np.ndarray, "items"]]:
    """For each epoch from the second on, how far every item moved."""
    path = path / BY_EPOCH if path.is_dir() else path
    if not path.is_file():
        raise BadFile(
            f"found no {path.name}",
            expected="a run that kept its predictions of every epoch",
            fix="train with sfumato learn --predictions-each-epoch",
            code="no-predictions-by-epoch",
            where=ErrorLocation(str(path.parent)),
        )
    rows = read_rows(path)
    check_columns(rows, ("item", "epoch"))
    classes, item = classes_of(rows), TextEncoder.of(rows, "item")
    parts, epochs, n_rows = [], [], 0
    for chunk in rows.chunks:
        item.append(chunk.column("item"))
        epochs.append(numbers(rows, "epoch", chunk.column("epoch"), n_rows).astype(np.int64))
        parts.append(probs_of(rows, chunk, classes, n_rows))
        n_rows += len(chunk)
    codes, probs = item.finish().codes, np.concatenate([np.empty((0, len(classes))), *parts])
    epoch = np.concatenate([np.empty(0, np.int64), *epochs])
    known = np.unique(epoch)
    # The rows of each epoch, items in one order.
    place = [np.flatnonzero(epoch == each)[np.argsort(codes[epoch == each], kind="stable")] for each in known]
    if len(known) < 2 or any(not np.array_equal(codes[each], codes[place[0]]) for each in place):
        raise BadTable(
            f"found {len(known)} epochs" if len(known) < 2 else "found other items in some epochs than in the first",
            expected="at least two epochs, each with the same items",
            fix="train longer, or check how the file was made",
            code="one-epoch" if len(known) < 2 else "other-items",
            where=ErrorLocation(str(path)),
        )
    steps = zip(known[1:].tolist(), place[:-1], place[1:], strict=True)
    return {each: jensen_shannon(probs[before], probs[after]) for each, before, after in steps}
