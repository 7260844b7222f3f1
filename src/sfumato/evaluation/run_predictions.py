"""Conditions: what was done to the pictures that runs predict, in the order in which they are read.

Run folders: what trained networks predict, found under a folder and brought together by target, network, seed and
condition.

Only files are read here: `run.json` and `predictions.parquet` as `sfumato train`, `shift` and `attack` write
them, or one table of predictions a file.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.tables.errors import BadFile, BadTable, SfumatoWarning, listing, one_line, show
from sfumato.tables.files import read_document
from sfumato.tables.scores import ALL
from sfumato.tables.settings import is_whole
from sfumato.tables.soft_labels import SoftLabels

CLEAN = "clean"
"""Pictures as they are."""
NUMBER = re.compile(r"(\d+(?:\.\d+)?)")


def order_of(condition: str) -> tuple[int, list[tuple[str, float]]]:
    """What conditions are sorted by: none first, then clean, then the others by name; numbers in it (severities,
    steps) count as numbers."""
    parts = NUMBER.split(condition)
    first = {"": 0, CLEAN: 1}.get(condition, 2)
    return first, [(text, float(number)) for text, number in zip(parts[::2], [*parts[1::2], "-1"], strict=True)]


def joined(condition: str, stratum: str) -> str:
    """A condition and a stratum as one: `gaussian-noise/3: people disagree`; all items are not named beside one."""
    if not condition:
        return stratum
    return condition if stratum == ALL else f"{condition}: {stratum}"


RUN, PREDICTIONS, MODEL = "run.json", "predictions.parquet", "model.safetensors"
UNFINISHED = "unfinished"
PRETRAINED = "pretrained"
"""The target of networks that have not learnt any yet."""
SEED = re.compile(r"(.+)\.seed-(\d+)")


@dataclass(frozen=True, eq=False)
class RunPredictions:
    """What one training predicts: the network that learnt a target from a seed, all folds of it together.

    `condition` is what was done to the pictures (`gaussian-noise/3`, `clean`), empty where the run says nothing of it.
    """

    target: str
    network: str
    seed: int
    predictions: SoftLabels
    condition: str = ""

    @property
    def name(self) -> str:
        return _named(self.target, self.network, self.seed, self.condition)


def read_runs(folder: str | Path) -> list[RunPredictions]:
    """All runs under `folder` that came to an end, conditions, targets and seeds in order.

    Where no run folder is found, every table in `folder` itself is taken for what one target predicts:
    `soft.parquet`, or `soft.seed-0.parquet`, `soft.seed-1.parquet` ... of several seeds.
    A seed that diverged or lacks a fold is left out with a warning.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise _bad(folder, "no folder there", "a folder of runs", "check the path", "no-such-folder")
    found = [_read(path) for path in sorted(folder.rglob(RUN)) if UNFINISHED not in path.relative_to(folder).parts]
    if not found:
        return _tables(folder)
    _warn_of_unfinished(folder)
    runs = [run for run in found if run.target != PRETRAINED or run.fold is not None]
    _check_once(runs)
    trained: list[RunPredictions] = []
    lost: list[str] = []
    folds: dict[str, set[int | None]] = {}
    together: dict[tuple[str, str, int, str], list[_Run]] = {}
    for run in runs:
        folds.setdefault(run.network, set()).add(run.fold)
        together.setdefault((run.target, run.network, run.seed, run.condition), []).append(run)
    for (target, network, seed, condition), own in together.items():
        bad = _fault(own, folds[network])
        if bad:
            lost.append(f"{_named(target, network, seed, condition)} ({bad})")
        else:
            table = _joined([run.folder / PREDICTIONS for run in own])
            trained.append(RunPredictions(target, network, seed, table, condition))
    if lost:
        more = f" and {len(lost) - 6:,} more" if len(lost) > 6 else ""
        warnings.warn(f"left out: {one_line(', '.join(lost[:6]))}{more}", SfumatoWarning, stacklevel=2)
    if not trained:
        raise _bad(folder, "no run that came to an end", "at least one", "run the grid again", "no-runs")
    return sorted(trained, key=lambda run: (order_of(run.condition), run.network, run.target, run.seed))


@dataclass(frozen=True)
class _Run:
    """What `run.json` says that matters here."""

    folder: Path
    target: str
    network: str
    seed: int
    fold: int | None
    ended: str
    condition: str


def _read(path: Path) -> _Run:
    said: Any = read_document(path)
    kinds = {"target": str, "network": str, "seed": int, "ended": str}
    wrong = (
        list(kinds)
        if not isinstance(said, dict)
        else [key for key, kind in kinds.items() if not isinstance(said.get(key), kind)]
    )
    if not wrong and not (said.get("fold") is None or is_whole(said["fold"])):
        wrong = ["fold"]
    if not wrong and not isinstance(said.get("condition", ""), str):
        wrong = ["condition"]
    if wrong:
        raise _bad(
            path,
            f"no {', '.join(wrong)}",
            "a run.json as sfumato train writes it",
            "take the run's folder away, or run the grid again",
            "bad-run",
        )
    return _Run(
        path.parent, said["target"], said["network"], said["seed"], said.get("fold"), said["ended"],
        said.get("condition", ""),
    )  # fmt: skip


def _named(target: str, network: str, seed: int, condition: str) -> str:
    name = ".".join(part for part in (target, network, f"seed-{seed}") if part)
    return f"{name} under {condition}" if condition else name


def _fault(runs: Sequence[_Run], folds: set[int | None]) -> str:
    """Why a seed cannot be scored; empty where it can."""
    if any(run.ended == "diverged" for run in runs):
        return "diverged"
    missing = folds - {run.fold for run in runs}
    if missing:
        return f"{len(missing)} of {len(folds)} folds missing"
    return "" if all((run.folder / PREDICTIONS).is_file() for run in runs) else "no predictions"


def _warn_of_unfinished(folder: Path) -> None:
    """Folders of runs that were cut off: their `run.json`, which is written last, is not there."""
    begun = [
        str(path.parent.relative_to(folder))
        for name in (MODEL, PREDICTIONS)
        for path in folder.rglob(name)
        if not (path.parent / RUN).exists() and UNFINISHED not in path.relative_to(folder).parts
    ]
    cut_off = [path.name for path in folder.rglob(f"{UNFINISHED}/*") if path.is_dir()]
    if begun or cut_off:
        names = sorted({*begun, *cut_off})
        warnings.warn(
            f"left out {len(names)} trainings that are not finished: {listing(names, 4)}; run the grid again to finish",
            SfumatoWarning,
            stacklevel=3,
        )


def _check_once(runs: Sequence[_Run]) -> None:
    seen: dict[tuple[str, str, int, int | None, str], Path] = {}
    for run in runs:
        key = (run.target, run.network, run.seed, run.fold, run.condition)
        if key in seen:
            under = f", condition {run.condition}" if run.condition else ""
            raise BadTable(
                f"the same run in {show(seen[key].name)}: target {run.target}, network {run.network}, "
                f"seed {run.seed}, fold {run.fold}{under}",
                "each run once",
                "score the folders apart, or take one of the two away",
                "doubled-run",
                run.folder,
            )
        seen[key] = run.folder


def _joined(paths: Sequence[Path]) -> SoftLabels:
    """The predictions of all folds as one table."""
    tables = [SoftLabels.read(path) for path in paths]
    first = tables[0]
    if len(tables) == 1:
        return first
    parts = []
    for table in tables:
        if set(table.classes) != set(first.classes):
            raise BadTable(
                f"the classes {listing(table.classes)}",
                f"those of the other folds: {listing(first.classes)}",
                "run the grid again into another folder",
                "other-classes",
                table.path,
            )
        parts.append(table.probs[:, [table.classes.index(name) for name in first.classes]])
    items = pa.concat_arrays([table.items for table in tables])
    if len(items.unique()) < len(items):
        raise BadTable(
            "items that two folds of a seed predict",
            "every item in one fold",
            "run the grid again into another folder",
            "doubled-item",
            paths[0].parent,
        )
    return replace(first, items=items, probs=np.concatenate(parts), n_annotators=None, path=paths[0].parent)


def _tables(folder: Path) -> list[RunPredictions]:
    """One table of predictions a target and seed."""
    _warn_of_unfinished(folder)
    paths = sorted(path for path in folder.iterdir() if path.suffix in (".parquet", ".csv") and path.name != "runs.csv")
    if not paths:
        raise _bad(
            folder,
            "neither runs nor predictions",
            "folders as sfumato train writes them, or a table of predictions a target (soft.parquet)",
            "train with sfumato train, or name the folder the predictions stand in",
            "no-runs",
        )
    trained = []
    for path in paths:
        named = SEED.fullmatch(path.stem)
        target, seed = (named[1], int(named[2])) if named else (path.stem, 0)
        trained.append(RunPredictions(target, "", seed, SoftLabels.read(path)))
    return trained


def _bad(path: Path, found: str, expected: str, fix: str, code: str) -> BadFile:
    return BadFile(f"{found}", expected, fix, code, path)
