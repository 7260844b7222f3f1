"""Training dynamics: predictions of each item by epoch, read from run folders or tables, and their change per epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from sfumato.tables.base_table import ColumnTable
from sfumato.tables.columns import classes_of, numbers, probs_of
from sfumato.tables.doubt import entropy
from sfumato.tables.errors import BadFile, BadTable, UnsafeFile, listing, no_rows, show
from sfumato.tables.files.json import read_document
from sfumato.tables.files.table_file import Rows, check_columns, read_rows
from sfumato.tables.text_columns import CodedText, TextEncoder
from sfumato.tables.text_file import path_inside

RUN, DYNAMICS, BY_EPOCH, UNFINISHED = "run.json", "dynamics.parquet", "predictions-by-epoch.parquet", "unfinished"
WHEN = ("end", "online")
"""When items were predicted: at the end of each epoch with the same weights, or during training."""
MAX_EPOCH = 2**53
GOLD, AGREEMENT = "gold", "agreement"
"""The recorded value: the probability of the gold class, or `sum q p`, the agreement with people's label."""


@dataclass(frozen=True, eq=False)
class TrainingDynamics:
    """One network's predictions of its training items, one row per item and epoch."""

    item: CodedText
    epoch: Int[np.ndarray, "rows"]
    value: Float[np.ndarray, "rows"]
    correct: Float[np.ndarray, "rows"]
    when: str
    path: Path | None = None

    @property
    def epochs(self) -> list[int]:
        return [int(epoch) for epoch in np.unique(self.epoch)]

    @classmethod
    def read(cls, path: str | Path, *, when: str | None = None, by: str = GOLD) -> TrainingDynamics:
        """The dynamics of a run's folder, or of a table with the columns item, epoch, gold (or `by`), correct, and
        optionally `when`."""
        path = Path(path)
        if path.is_dir() and not (path / DYNAMICS).is_file():
            expected = "a run that noted how its training items were predicted"
            raise BadFile(f"no {DYNAMICS}", expected, "train with sfumato train --dynamics end", "no-dynamics", path)
        path = _file_of_run(path / DYNAMICS) if path.is_dir() else path
        return cls.from_rows(read_rows(path), when=when, by=by)

    @classmethod
    def from_rows(cls, rows: Rows, *, when: str | None = None, by: str = GOLD) -> TrainingDynamics:
        """`when` is "end" or "online"; by default what the table has, "end" if it has both."""
        check_columns(rows, ("item", "epoch", by, "correct"))
        item, moment = TextEncoder.of(rows, "item"), TextEncoder.of(rows, "when")
        parts: dict[str, list[np.ndarray]] = {"epoch": [], "value": [], "correct": []}
        n_rows = 0
        for chunk in rows.chunks:
            item.append(chunk.column("item"))
            if "when" in chunk.column_names:
                moment.append(chunk.column("when"))
            parts["epoch"].append(numbers(rows, "epoch", chunk.column("epoch"), n_rows))
            parts["value"].append(numbers(rows, by, chunk.column(by), n_rows, optional=True))
            parts["correct"].append(numbers(rows, "correct", _as_numbers(chunk.column("correct")), n_rows))
            n_rows += len(chunk)
        if not n_rows:
            raise no_rows("one row per item and epoch", where=rows.where())
        joined = {name: np.concatenate(arrays) for name, arrays in parts.items()}
        coded, moments = item.finish(), moment.finish()
        chosen, kept = _moment(rows, moments, when)
        # Mixed batches contain no original items, so their values are NaN.
        kept = kept & ~np.isnan(joined["value"])
        if not kept.any():
            found = f"no {by} {chosen}"
            raise BadTable(found, "predictions of items", "train without mixing", "no-dynamics", rows.where())
        for name, values in ((by, joined["value"][kept]), ("correct", joined["correct"][kept])):
            if ((values < 0) | (values > 1 + 1e-5)).any():
                found = f"{name} outside 0 to 1"
                raise BadTable(found, "probabilities", "check how the file was made", "bad-number", rows.where())
        if ((joined["epoch"] % 1 != 0) | (np.abs(joined["epoch"]) > MAX_EPOCH)).any():
            found, expected = "an epoch that is no whole number", f"whole numbers up to {MAX_EPOCH:,}"
            raise BadTable(found, expected, "check how the file was made", "bad-number", rows.where(column="epoch"))
        return cls(
            coded.take(kept), joined["epoch"][kept].astype(np.int64), joined["value"][kept], joined["correct"][kept],
            chosen, rows.path,
        )  # fmt: skip

    def last(self, n_epochs: int) -> TrainingDynamics:
        """Only the last `n_epochs`."""
        kept = np.isin(self.epoch, self.epochs[-n_epochs:])
        return TrainingDynamics(
            self.item.take(kept), self.epoch[kept], self.value[kept], self.correct[kept], self.when, self.path
        )


@dataclass(frozen=True)
class RunFound:
    """A run's folder with its target, network and seed; a single table has no target and no network."""

    path: Path
    target: str = ""
    network: str = ""
    seed: int = 0
    label_set: str = ""

    @property
    def model(self) -> str:
        return ".".join(part for part in (self.target, self.network) if part)


def find_runs(paths: Sequence[str | Path]) -> list[RunFound]:
    """The finished runs in and under `paths`, each once; a table counts as one run."""
    found: dict[Path, RunFound] = {}
    for path in map(Path, paths):
        if not path.is_dir():
            found[path] = RunFound(path)
            continue
        own = [each for each in sorted(path.rglob(RUN)) if UNFINISHED not in each.relative_to(path).parts]
        if not own:
            fix = "give the output folder of sfumato train"
            raise BadFile("no run.json in or under it", "the folder of one or more runs", fix, "no-runs", path)
        for each in own:
            document: Any = read_document(_file_of_run(each))
            metadata = document if isinstance(document, dict) else {}
            target, network, seed = metadata.get("target", ""), metadata.get("network", ""), metadata.get("seed", 0)
            if not isinstance(seed, int):
                expected, fix = "a whole number", "check how the file was made"
                raise BadFile(f"the seed {show(seed)}", expected, fix, "bad-run", each)
            if metadata.get("fold", 0) is not None:
                label_set = str(metadata.get("label_set", ""))
                found[each.parent] = RunFound(each.parent, str(target), str(network), seed, label_set)
    return list(found.values())


def _file_of_run(path: Path) -> Path:
    """A file of a run's folder; raises if it is a link that leads outside."""
    inside = path_inside(path, (path.parent,))
    if inside is None:
        found, expected = "a link to a place outside the folder", "a file in the folder of the run"
        raise UnsafeFile(found, expected, "replace the link by the file", "outside-folder", path)
    return inside


def runs_of_model(runs: Sequence[RunFound], target: str | None = None, network: str | None = None) -> list[RunFound]:
    """The runs of one target and network; an error if there are several, because a map shows one."""
    left = [run for run in runs if target in (None, run.target) and network in (None, run.network)]
    models = list(dict.fromkeys(run.model for run in left))
    if len(models) == 1:
        return left
    expected = "runs of one target and network"
    fix = "choose with --target and --network, or give --strata to compare them"
    if left:
        raise BadTable(f"runs of {listing(models)}", expected, fix, "mixed-runs")
    known = listing(list(dict.fromkeys(run.model for run in runs)))
    wanted = show(".".join(filter(None, (target, network))))
    raise BadTable(f"no run of {wanted}", f"{expected}: {known}", fix, "no-runs")


def _as_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """True and false as 1 and 0, however a file writes them."""
    if pa.types.is_boolean(column.type):
        return column.cast(pa.int8())
    if not (pa.types.is_string(column.type) or pa.types.is_dictionary(column.type)):
        return column
    said = {"true": "1", "false": "0"}
    return pa.chunked_array([pa.array([said.get(str(text).lower(), text) for text in column.to_pylist()], pa.string())])


def _moment(rows: Rows, moments: CodedText, when: str | None) -> tuple[str, np.ndarray]:
    """Which moment is taken, and its rows."""
    names = moments.names.to_pylist()
    if not names:
        return when or WHEN[0], np.array([True])
    chosen = when or next((each for each in WHEN if each in names), names[0])
    if chosen not in names:
        fix = f"take {listing(names)}, or train with sfumato train --dynamics {chosen}"
        raise BadTable(f"predictions {listing(names)}", f"predictions {chosen}", fix, "no-dynamics", rows.where())
    return chosen, np.asarray(moments.codes == names.index(chosen))


@dataclass(frozen=True, eq=False, repr=False)
class EpochShifts(ColumnTable):
    """One row per epoch from the second: `jsd`, the mean Jensen-Shannon divergence of its predictions from the previous
    epoch, in nats (0 to ln 2), over `n_items` of `n_runs` runs."""

    epoch: Int[np.ndarray, "epochs"]
    jsd: Float[np.ndarray, "epochs"]
    n_items: Int[np.ndarray, "epochs"]
    n_runs: Int[np.ndarray, "epochs"]


def jensen_shannon(
    one: Float[np.ndarray, "rows classes"], other: Float[np.ndarray, "rows classes"]
) -> Float[np.ndarray, "rows"]:
    """H((p + q) / 2) - (H(p) + H(q)) / 2 of each row, in nats."""
    return np.asarray(np.maximum(entropy((one + other) / 2) - (entropy(one) + entropy(other)) / 2, 0.0))


@dataclass(frozen=True, eq=False)
class EpochPredictions:
    """Predictions of one run for the same items after every epoch."""

    items: tuple[str, ...]
    epochs: tuple[int, ...]
    probs: Float[np.ndarray, "epochs items classes"]

    @classmethod
    def read(cls, path: Path) -> EpochPredictions:
        """From a run's folder with the predictions of every epoch, or a table with item, epoch and probs."""
        path = _file_of_run(path / BY_EPOCH) if path.is_dir() else path
        if not path.is_file():
            found, fix = f"no {path.name}", "train with sfumato train --predictions-each-epoch"
            expected = "a run with the predictions of every epoch"
            raise BadFile(found, expected, fix, "no-predictions-by-epoch", path.parent)
        rows = read_rows(path)
        check_columns(rows, ("item", "epoch"))
        classes, encoder = classes_of(rows), TextEncoder.of(rows, "item")
        parts, epochs, n_rows = [], [], 0
        for chunk in rows.chunks:
            encoder.append(chunk.column("item"))
            epochs.append(numbers(rows, "epoch", chunk.column("epoch"), n_rows).astype(np.int64))
            parts.append(probs_of(rows, chunk, classes, n_rows))
            n_rows += len(chunk)
        item, probs = encoder.finish(), np.concatenate([np.empty((0, len(classes))), *parts])
        epoch = np.concatenate([np.empty(0, np.int64), *epochs])
        known = np.unique(epoch)
        # The rows of each epoch, items in the same order.
        place = [np.flatnonzero(epoch == each)[np.argsort(item.codes[epoch == each], kind="stable")] for each in known]
        if len(known) < 2 or any(not np.array_equal(item.codes[each], item.codes[place[0]]) for each in place):
            found = f"{len(known)} epochs" if len(known) < 2 else "different items in some epochs than in the first"
            expected, fix = (
                "at least two epochs, each with the same items",
                "train longer, or check how the file was made",
            )
            raise BadTable(found, expected, fix, "one-epoch" if len(known) < 2 else "other-items", path)
        names = item.names.to_pylist()
        items = tuple(names[code] for code in item.codes[place[0]])
        return cls(items, tuple(known.tolist()), probs[np.stack(place)])

    def shifts(self) -> Float[np.ndarray, "steps items"]:
        """The Jensen-Shannon divergence of each epoch's predictions from those of the previous epoch."""
        pairs = zip(self.probs[:-1], self.probs[1:], strict=True)
        return np.stack([jensen_shannon(before, after) for before, after in pairs])


def epoch_shifts(paths: Sequence[str | Path]) -> EpochShifts:
    """The change of predictions per epoch, a mean over items, then over runs.

    A path is a run's folder with the predictions of every epoch, or a table with item, epoch and probs.
    """
    found = [EpochPredictions.read(Path(path)) for path in paths]
    runs = [dict(zip(run.epochs[1:], run.shifts(), strict=True)) for run in found]
    epochs = sorted({epoch for run in runs for epoch in run})
    present = [[run[epoch] for run in runs if epoch in run] for epoch in epochs]
    return EpochShifts(
        np.array(epochs, np.int64),
        np.array([np.mean([each.mean() for each in rows]) for rows in present], np.float64),
        np.array([max(len(each) for each in rows) for rows in present], np.int64),
        np.array([len(rows) for rows in present], np.int64),
    )
