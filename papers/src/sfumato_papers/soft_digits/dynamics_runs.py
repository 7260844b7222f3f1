"""What trainings of a fixed length predicted, epoch by epoch, for items they learned from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from sfumato.evaluation.data_map import DataMap, data_map
from sfumato.evaluation.training_dynamics import BY_EPOCH, TrainingDynamics, find_runs, jensen_shannon
from sfumato.tables.files import read_rows
from sfumato.tables.probabilities import classes_of, probs_of
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.text_columns import CodedText
from sfumato_papers.paper import Rerun
from sfumato_papers.soft_digits.sets import Audited
from sfumato_papers.soft_digits.training import (
    MAJORITY,
    NETWORKS,
    ORIGINAL,
    SYNTHETIC,
    WEIGHTED,
    dynamics,
    with_synthetic,
)

LAST = 5
"""Epochs that a data map is drawn from, of every seed."""


@dataclass(frozen=True, eq=False)
class Watched:
    """Predictions of one network, seed and target for the items it learned from, after every epoch."""

    items: tuple[str, ...]
    probs: Float[np.ndarray, "epochs items classes"]

    def shifts(self) -> Float[np.ndarray, "steps items"]:
        """The Jensen-Shannon divergence of every epoch's predictions from those of the one before."""
        return np.stack(
            [jensen_shannon(one, other) for one, other in zip(self.probs[:-1], self.probs[1:], strict=True)]
        )


def watched(rerun: Rerun, audited: Audited) -> Mapping[tuple[str, str], Mapping[int, Watched]]:
    """By the paper's name of the network and target: every seed."""

    def found() -> Mapping[tuple[str, str], Mapping[int, Watched]]:
        named = {ours: name for name, ours in NETWORKS.items()}
        runs: dict[tuple[str, str], dict[int, Watched]] = {}
        for run in find_runs([dynamics(rerun, audited)]):
            runs.setdefault((named[run.network], run.target), {})[run.seed] = _read(run.path)
        return runs

    return rerun.once(f"watched on {audited.name}", found)


def maps(rerun: Rerun, audited: Audited) -> Mapping[tuple[str, str], DataMap]:
    """The data map of every network and target: its last epochs of all seeds together.

    Confidence is the probability of the class that the target itself puts first.
    """

    def found() -> Mapping[tuple[str, str], DataMap]:
        gold = {target: _first(labels) for target, labels in labels_of(rerun, audited).items()}
        return {
            (network, target): data_map([_dynamics(run, gold[target]) for run in runs.values()])
            for (network, target), runs in watched(rerun, audited).items()
        }

    return rerun.once(f"maps of {audited.name}", found)


def labels_of(rerun: Rerun, audited: Audited) -> Mapping[str, SoftLabels]:
    """What each target of these trainings teaches."""
    labels = {ORIGINAL: audited.original, MAJORITY: audited.weighted, WEIGHTED: audited.weighted}
    if audited.is_synthetic:
        assert audited.synthetic is not None
        return {**labels, ORIGINAL: audited.synthetic}
    if any(target == SYNTHETIC for _, target in watched(rerun, audited)):
        made = with_synthetic(rerun, audited).synthetic
        assert made is not None
        return {**labels, SYNTHETIC: made}
    return labels


def _first(labels: SoftLabels) -> dict[str, int]:
    return dict(zip(labels.items.to_pylist(), labels.probs.argmax(axis=1).tolist(), strict=True))


def _dynamics(run: Watched, gold: Mapping[str, int]) -> TrainingDynamics:
    """The last epochs as training dynamics."""
    last = run.probs[-LAST:]
    right = np.array([gold[item] for item in run.items])
    n_epochs, n_items, _ = last.shape
    item = CodedText(np.tile(np.arange(n_items, dtype=np.int32), n_epochs), pa.array(run.items, pa.string()))
    return TrainingDynamics(
        item,
        np.repeat(np.arange(len(run.probs) - n_epochs + 1, len(run.probs) + 1), n_items),
        last[:, np.arange(n_items), right].ravel(),
        (last.argmax(axis=2) == right).ravel().astype(np.float64),
        "end",
    )


def _read(folder: Path) -> Watched:
    rows = read_rows(folder / BY_EPOCH)
    classes = classes_of(rows)
    items: list[str] = []
    epochs: list[int] = []
    parts, n_rows = [], 0
    for chunk in rows.chunks:
        items += chunk.column("item").to_pylist()
        epochs += chunk.column("epoch").to_pylist()
        parts.append(probs_of(rows, chunk, classes, n_rows))
        n_rows += len(chunk)
    n_items = epochs.count(epochs[0])
    probs = np.concatenate(parts).reshape(-1, n_items, len(classes))
    assert items == items[:n_items] * len(probs), "epochs follow each other, each with the items in one order"
    return Watched(tuple(items[:n_items]), probs)
