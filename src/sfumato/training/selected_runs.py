"""Runs with selected settings: trains every trial, keeps the best one of each run, and writes `selection.csv`.

Trials are ordinary runs in `unfinished/trials`, so that an interrupted search continues. What a run keeps is its best
trial as it was trained, without the validation items; `run.json` lists all trials.
"""

from __future__ import annotations

import contextlib
import math
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.tables.files.table_file import write_table
from sfumato.training.experiment import UNFINISHED, Experiment
from sfumato.training.grid import RunGroupKey, RunKey
from sfumato.training.run_folder import RUN, Run, write_metadata
from sfumato.training.setting_selection import SettingTrial, TrialGrid

TRIALS = "trials"
SELECTION = "selection.csv"


def select_runs(experiment: Experiment, train: Callable[[Experiment], None], *, writes: bool = True) -> None:
    """Train the trials of all missing runs with `train`, and write the runs; only the process that `writes` does."""
    missing = experiment.missing(experiment.run_groups())
    if missing:
        trials = TrialGrid.of(experiment.grid)
        tried = trial_experiment(experiment, trials, missing)
        if writes:
            # Networks that are pretrained already, for trials that start with their weights.
            for key in (run for group in tried.run_groups() for run in group.runs if run.fold is None):
                if (experiment.folder / key.name / RUN).is_file():
                    _copy(experiment.folder / key.name, tried.folder / key.name)
        train(tried)
        if not writes:
            return
        for group in missing:
            for key in group.runs:
                if key.fold is None:
                    _copy(tried.folder / key.name, experiment.folder / key.name)
                else:
                    _keep_best(experiment, tried, trials, key)
        shutil.rmtree(tried.folder)
        with contextlib.suppress(OSError):
            tried.folder.parent.rmdir()
    if writes:
        experiment.write_table()
        if rows := selection_table(experiment):
            write_table(pa.Table.from_pylist(rows), experiment.folder / SELECTION)


def trial_experiment(experiment: Experiment, trials: TrialGrid, groups: list[RunGroupKey]) -> Experiment:
    """The trials of some run groups as an experiment of their own."""
    wanted: dict[RunGroupKey, dict[str, None]] = {}
    seeds = {group.seed for group in groups}
    for group in experiment.grid.pretraining_groups():
        if group.seed in seeds:
            wanted[replace(group, targets=())] = dict.fromkeys(group.targets)
    for group in groups:
        for target in group.targets if group.fold is not None else ():
            for each in trials.trials[target, group.network, group.recipe]:
                place = RunGroupKey((), each.network, group.seed, group.fold, each.recipe)
                wanted.setdefault(place, {})[each.target] = None
    only = tuple(replace(place, targets=tuple(targets)) for place, targets in wanted.items())
    return replace(experiment, grid=trials.grid, folder=experiment.folder / UNFINISHED / TRIALS, only=only)


def _keep_best(experiment: Experiment, tried: Experiment, grid: TrialGrid, key: RunKey) -> None:
    """Copy the best trial of a run into the run's folder, with a list of all of them."""
    selection = experiment.grid.selection
    assert selection is not None
    trials = grid.trials[key.target, key.network, key.recipe]
    runs = [_run(tried, trial, key) for trial in trials]
    scores = [_score(run, selection.by) for run in runs]
    # The first of equal ones; if every trial diverged, the first.
    best = scores.index(min(scores))
    listed = [
        {"settings": dict(trial.settings), **run.metadata["validation"], "ended": run.metadata["ended"]}
        for trial, run in zip(trials, runs, strict=True)
    ]
    now = experiment.run_metadata(key)
    metadata = {name: value for name, value in runs[best].metadata.items() if name != "mixing"}
    metadata |= {name: value for name, value in now.items() if name not in ("settings", "data")}
    chosen = {"by": selection.by, "settings": dict(trials[best].settings), "trials": listed}
    _copy(runs[best].folder, experiment.folder / key.name, {**metadata, "asked": now["settings"], "selection": chosen})


def _copy(source: Path, target: Path, metadata: Mapping[str, Any] | None = None) -> None:
    """Copy the folder of a run; `run.json`, with other `metadata` if given, is written last."""
    target.mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        if path.name != RUN:
            shutil.copyfile(path, target / path.name)
    write_metadata(target, Run.read(source).metadata if metadata is None else metadata)


def _run(tried: Experiment, trial: SettingTrial, key: RunKey) -> Run:
    run = tried.run(RunKey(trial.target, trial.network, key.seed, key.fold, trial.recipe))
    assert run is not None, "all trials are trained before one is chosen"
    return run


def _score(run: Run, by: str) -> float:
    """The cross-entropy on the validation items; infinite if the run diverged."""
    score: float | None = run.metadata["validation"][by]
    return math.inf if score is None or run.metadata["ended"] == "diverged" else score


# --- what was chosen ---


@dataclass(frozen=True)
class ChosenSettings:
    """The settings that most runs of a target, model and recipe chose."""

    target: str
    network: str
    settings: dict[str, Any]
    n_runs: int
    n_all: int

    @property
    def text(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.settings.items()) or "nothing to choose"


def chosen_settings(experiment: Experiment) -> list[ChosenSettings]:
    """One row per target, model and recipe, over its finished runs."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for key, run in _finished(experiment):
        found.setdefault((key.label, key.network), []).append(run.metadata["selection"]["settings"])
    rows = []
    for (target, network), chosen in found.items():
        ((text, n_runs),) = Counter(map(repr, chosen)).most_common(1)
        settings = next(each for each in chosen if repr(each) == text)
        rows.append(ChosenSettings(target, network, settings, n_runs, len(chosen)))
    return rows


def selection_table(experiment: Experiment) -> list[dict[str, Any]]:
    """One row per finished run and trial, with the tried settings and the validation scores."""
    selection = experiment.grid.selection
    assert selection is not None
    return [
        {
            "run": key.name, "target": key.label, "network": key.network, "seed": key.seed, "fold": key.fold,
            **{name: _text(trial["settings"].get(name)) for name in selection.settings},
            **{name: trial[name] for name in ("items", "people", "original", "accuracy", "ended")},
            "chosen": trial["settings"] == run.metadata["selection"]["settings"],
        }
        for key, run in _finished(experiment)
        for trial in run.metadata["selection"]["trials"]
    ]  # fmt: skip


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _finished(experiment: Experiment) -> list[tuple[RunKey, Run]]:
    keys = [key for group in experiment.run_groups() for key in group.runs if key.fold is not None]
    pairs = [(key, experiment.run(key)) for key in keys]
    return [(key, run) for key, run in pairs if run is not None and "selection" in run.metadata]
