"""Predictions of training runs, read from folders and grouped by target, network, seed and condition.

Reads `run.json` and `predictions.parquet` as written by `sfumato train`, `shift` and `attack`, or one table of
predictions per file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.evaluation.matched_labels import MatchedLabels, match_labels
from sfumato.importers.prediction_file import convert_first, read_predictions
from sfumato.tables.errors import BadFile, BadTable, SfumatoError, listing, one_line, show, warn
from sfumato.tables.estimand import check_roles
from sfumato.tables.files.file_type import JSON, JSON_LINES, KINDS
from sfumato.tables.files.json import read_document
from sfumato.tables.row_numbers import check_same_rows
from sfumato.tables.scores import ALL
from sfumato.tables.setting_checks import is_whole
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.text_file import path_inside

CLEAN = "clean"
"""The condition of unchanged images."""
NUMBER = re.compile(r"(\d+(?:\.\d+)?)")


def order_of(condition: str) -> tuple[int, list[tuple[str, float]]]:
    """The sort key of conditions: none first, then clean, then by name with numbers (severities, steps) as numbers."""
    parts = NUMBER.split(condition)
    first = {"": 0, CLEAN: 1}.get(condition, 2)
    return first, [(text, float(number)) for text, number in zip(parts[::2], [*parts[1::2], "-1"], strict=True)]


def joined(condition: str, stratum: str) -> str:
    """A condition and a stratum as one name: `gaussian-noise/3: people disagree`, or only one for all items."""
    if not condition:
        return stratum
    return condition if stratum == ALL else f"{condition}: {stratum}"


RUN, PREDICTIONS, MODEL = "run.json", "predictions.parquet", "model.safetensors"
UNFINISHED = "unfinished"
CONTROL = "hard"
PRETRAINED = "pretrained"
"""The target of networks that are only pretrained."""
ENDINGS = tuple(sorted((end for kind in KINDS for end in kind.suffixes), key=len, reverse=True))
"""The endings of files that may be predictions."""
OTHER_CONTENT = (*JSON.suffixes, *JSON_LINES.suffixes)
"""Endings of files that are often something else, such as settings."""
SEED = re.compile(r"(.+)\.seed-(\d+)")


@dataclass(frozen=True, eq=False)
class RunPredictions:
    """The predictions of one network, target and seed, all folds together.

    `condition` is the change to the images (`gaussian-noise/3`, `clean`), empty if the run has none.
    """

    target: str
    network: str
    seed: int
    predictions: SoftLabels
    condition: str = ""
    label_set: str = ""
    """The label set that the target is trained on, if known."""

    @property
    def name(self) -> str:
        return _named(self.target, self.network, self.seed, self.condition)


def read_runs(folder: str | Path) -> list[RunPredictions]:
    """All finished runs under `folder`, sorted by condition, target and seed.

    If there is no run folder, every file in `folder` is read as the predictions of one target: `soft.parquet`, or
    `soft.seed-0.parquet`, `soft.seed-1.parquet` ... for several seeds (or .csv, .npz ...). Files that are not used, and
    seeds that diverged or lack a fold, are named in a warning.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise BadFile("no such folder", "a folder of runs", "check the path", "no-such-folder", folder)
    found = [_read(path) for path in sorted(folder.rglob(RUN)) if UNFINISHED not in path.relative_to(folder).parts]
    if not found:
        return _tables(folder)
    _warn_of_unfinished(folder)
    _warn_of_files(folder)
    _check_once(found)
    runs = [run for run in found if not run.is_pretrained]
    trained: list[RunPredictions] = []
    skipped: list[str] = []
    folds: dict[str, set[int | None]] = {}
    together: dict[tuple[str, str, int, str], list[_Run]] = {}
    for run in runs:
        folds.setdefault(run.network, set()).add(run.fold)
        together.setdefault((run.target, run.network, run.seed, run.condition), []).append(run)
    for (target, network, seed, condition), own in together.items():
        bad = _fault(own, folds[network])
        if bad:
            skipped.append(f"{_named(target, network, seed, condition)} ({bad})")
        else:
            table = _joined([run.folder / PREDICTIONS for run in own])
            trained.append(RunPredictions(target, network, seed, table, condition, own[0].label_set))
    for run in found:
        if not run.is_pretrained:
            continue
        bad = _fault([run], {None})
        if bad:
            skipped.append(f"{_named(run.target, run.network, run.seed, run.condition)} ({bad})")
        else:
            trained.append(_pretrained(run, trained))
    if skipped:
        more = f" and {len(skipped) - 6:,} more" if len(skipped) > 6 else ""
        warn(f"skipped: {one_line(', '.join(skipped[:6]))}{more}")
    if not trained:
        raise BadFile("no finished run", "at least one", "run the grid again", "no-runs", folder)
    return sorted(trained, key=lambda run: (order_of(run.condition), run.network, run.target, run.seed))


def _pretrained(run: _Run, trained: Sequence[RunPredictions]) -> RunPredictions:
    """The predictions of a network that is only pretrained, of the items that the runs trained from it predict."""
    table = SoftLabels.read(run.folder / PREDICTIONS)
    same = [each for each in trained if each.network == run.network and each.condition == run.condition]
    if same:
        tested = pa.concat_arrays([each.predictions.items for each in same]).unique()
        rows = np.flatnonzero(pc.is_in(table.items, value_set=tested).to_numpy(zero_copy_only=False))
        counts = None if table.n_annotators is None else table.n_annotators[rows]
        table = replace(table, items=table.items.take(pa.array(rows)), probs=table.probs[rows], n_annotators=counts)
    return RunPredictions(run.target, run.network, run.seed, table, run.condition)


@dataclass(frozen=True)
class _Run:
    """The fields of `run.json` used here."""

    folder: Path
    target: str
    network: str
    seed: int
    fold: int | None
    ended: str
    condition: str
    label_set: str = ""

    @property
    def is_pretrained(self) -> bool:
        """Whether the network is only pretrained, and so belongs to no fold."""
        return self.target == PRETRAINED and self.fold is None


def _read(path: Path) -> _Run:
    for each in (path, path.with_name(PREDICTIONS)):
        if path_inside(each, (path.parent,)) is None:
            fix = "copy the file into the folder"
            raise BadFile("a link to a file outside its folder", "the file of a run", fix, "outside-folder", each)
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
    if not wrong and not isinstance(said.get("label_set", ""), str):
        wrong = ["label_set"]
    if wrong:
        fix = "remove the run's folder, or run the grid again"
        raise BadFile(f"no {', '.join(wrong)}", "a run.json as sfumato train writes it", fix, "bad-run", path)
    return _Run(
        path.parent, said["target"], said["network"], said["seed"], said.get("fold"), said["ended"],
        said.get("condition", ""), said.get("label_set", ""),
    )  # fmt: skip


def _named(target: str, network: str, seed: int, condition: str) -> str:
    name = ".".join(part for part in (target, network, f"seed-{seed}") if part)
    return f"{name} under {condition}" if condition else name


def _fault(runs: Sequence[_Run], folds: set[int | None]) -> str:
    """Why a seed cannot be scored; empty if it can."""
    if any(run.ended == "diverged" for run in runs):
        return "diverged"
    missing = folds - {run.fold for run in runs}
    if missing:
        return f"{len(missing)} of {len(folds)} folds missing"
    return "" if all((run.folder / PREDICTIONS).is_file() for run in runs) else "no predictions"


def _warn_of_unfinished(folder: Path) -> None:
    """Warn of unfinished runs: folders without `run.json`, which is written last."""
    begun = [
        str(path.parent.relative_to(folder))
        for name in (MODEL, PREDICTIONS)
        for path in folder.rglob(name)
        if not (path.parent / RUN).exists() and UNFINISHED not in path.relative_to(folder).parts
    ]
    cut_off = [path.name for path in folder.rglob(f"{UNFINISHED}/*") if path.is_dir()]
    if begun or cut_off:
        names = sorted({*begun, *cut_off})
        warn(f"skipped {len(names)} unfinished trainings: {listing(names, 4)}; run the grid again to finish them")


def _warn_of_files(folder: Path) -> None:
    """Warn of files of predictions next to run folders, which are not scored."""
    names = sorted(
        path.name
        for path in folder.iterdir()
        if path.is_file()
        and path.name.lower().endswith(ENDINGS)
        and not path.name.lower().endswith(OTHER_CONTENT)
        and path.name.partition(".")[0] not in ("", "runs", "selection", "scores", "differences", "comparison")
    )
    if names:
        fix = "give them with --predicted, or in a folder of their own"
        warn(f"{folder.name}: only the run folders are scored, not the files {listing(names, 4)}: {fix}")


def _check_once(runs: Sequence[_Run]) -> None:
    seen: dict[tuple[str, str, int, int | None, str], Path] = {}
    for run in runs:
        key = (run.target, run.network, run.seed, run.fold, run.condition)
        if key in seen:
            under = f", condition {run.condition}" if run.condition else ""
            which = f"target {run.target}, network {run.network}, seed {run.seed}, fold {run.fold}{under}"
            fix = "score the folders separately, or remove one of them"
            raise BadTable(
                f"the same run in {show(seen[key].name)}: {which}", "each run once", fix, "doubled-run", run.folder
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
            found = f"the classes {listing(table.classes)}"
            expected = f"those of the other folds: {listing(first.classes)}"
            raise BadTable(found, expected, "run the grid again into another folder", "other-classes", table.path)
        parts.append(table.probs[:, [table.classes.index(name) for name in first.classes]])
    items = pa.concat_arrays([table.items for table in tables])
    if len(items.unique()) < len(items):
        found, expected = "items that two folds of a seed predict", "every item in one fold"
        raise BadTable(found, expected, "run the grid again into another folder", "doubled-item", paths[0].parent)
    return replace(first, items=items, probs=np.concatenate(parts), n_annotators=None, path=paths[0].parent)


def _tables(folder: Path) -> list[RunPredictions]:
    """Files of predictions, one per target and seed, read as those of `--predicted`; other files are named."""
    _warn_of_unfinished(folder)
    trained: dict[tuple[str, int], RunPredictions] = {}
    unused = []
    for path in sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")):
        if path.name == "runs.csv":
            continue
        end = next((end for end in ENDINGS if path.name.lower().endswith(end)), None)
        if end is None:
            unused.append(f"{path.name} (no predictions in such files)")
            continue
        stem = path.name[: -len(end)]
        named = SEED.fullmatch(stem)
        target, seed = (named[1], int(named[2])) if named else (stem, 0)
        try:
            table = read_predictions(path)
        except SfumatoError as error:
            if end not in OTHER_CONTENT:
                raise convert_first(error) from None
            unused.append(f"{path.name} (expected {error.expected})")
            continue
        if (other := trained.get((target, seed))) is not None:
            found = (
                f"two files of the target {show(target)}: {getattr(other.predictions.path, 'name', '')} and {path.name}"
            )
            raise BadTable(found, "one file per target and seed", "remove or rename one", "doubled-run", folder)
        trained[target, seed] = RunPredictions(target, "", seed, table)
    if unused:
        warn(f"{folder.name}: files not used: {one_line('; '.join(unused))}")
    if not trained:
        expected = "folders as sfumato train writes them, or one table of predictions per target (soft.parquet)"
        fix = "train with sfumato train, or give the folder with the predictions"
        raise BadFile("neither runs nor predictions", expected, fix, "no-runs", folder)
    return list(trained.values())


def match_runs(
    runs: Sequence[RunPredictions],
    *,
    people: SoftLabels,
    original: SoftLabels | None = None,
    common: bool = False,
    any_estimand: bool = False,
) -> list[MatchedLabels]:
    """Match every run with people's labels: the same items and classes for all runs, in the same order."""
    check_some(runs)
    for run in runs:
        check_roles(run.predictions, people, any_estimand=any_estimand)
    check_same_rows(*(run.predictions for run in runs))
    kept = runs[0].predictions.items
    n_most = max(len(run.predictions) for run in runs)
    for run in runs[1:]:
        kept = kept.filter(pc.is_in(kept, value_set=run.predictions.items))
    if not len(kept):
        other = next(run for run in runs if not pc.any(pc.is_in(run.predictions.items, runs[0].predictions.items)))
        found = f"no item that all runs predict: {runs[0].name} and {other.name} have none in common"
        expected = "runs that predict the same items"
        raise BadTable(
            found, expected, "score runs of different splits separately", "no-common-items", other.predictions.path
        )
    if len(kept) < n_most:
        warn(f"the runs predict different items: only the {len(kept):,} that all of them predict are scored")
    first = match_labels(
        predicted=_only(runs[0], kept), people=people, original=original, common=common, any_estimand=True
    )
    matched = [first]
    for run in runs[1:]:
        own = match_labels(predicted=run.predictions, people=people, common=True, any_estimand=True)
        rows = pc.index_in(first.items, value_set=own.items).to_numpy().astype(np.int64)
        columns = [own.classes.index(name) for name in first.classes]
        matched.append(replace(first, predicted=np.ascontiguousarray(own.predicted[rows][:, columns])))
    return matched


def _only(run: RunPredictions, items: pa.StringArray) -> SoftLabels:
    table = run.predictions
    if len(items) == len(table):
        return table
    return replace(table, items=items, probs=table.probs[table.rows_of(items)], n_annotators=None)


def default_baseline(targets: Sequence[str]) -> str | None:
    """The target that others are compared with: `hard`, else the first; None if there is only one."""
    names = list(dict.fromkeys(targets))
    if len(names) < 2:
        return None
    return CONTROL if CONTROL in names else names[0]


def paired_runs(runs: Sequence[RunPredictions], baseline: str | None = None) -> list[RunPredictions]:
    """The runs whose seeds all targets of their network and condition have, so that scores and comparisons are of the
    same seeds; the others are left out with a warning.

    A network that is only pretrained has one run, which is kept and limits nothing. A target that shares no seed with
    `baseline` (default: the first target) is kept too; it cannot be compared.
    """
    kept = list(runs)
    sentences: dict[str, None] = {}
    for network, condition in dict.fromkeys((run.network, run.condition) for run in runs):
        seeds: dict[str, list[int]] = {}
        for run in runs:
            if (run.network, run.condition) == (network, condition):
                seeds.setdefault(run.target, []).append(run.seed)
        common: set[int] = set()
        paired: list[str] = []
        for target in sorted(seeds, key=lambda target: target != baseline):
            shared = common & set(seeds[target]) if paired else set(seeds[target])
            if shared and (target != PRETRAINED or len(seeds[target]) > 1):
                common, paired = shared, [*paired, target]
        odd = {target: [seed for seed in seeds[target] if seed not in common] for target in paired}
        odd = {target: own for target, own in odd.items() if own}
        if odd:
            named = ", ".join(f"{_seeds_named(own)} of {target}" for target, own in odd.items())
            where = f" ({network})" if network else ""
            shared_by_all = f"{_seeds_named(common)}, which all targets have{where}"
            sentences[f"scored and compared over {shared_by_all}: {named} left out"] = None
        kept = [
            run
            for run in kept
            if (run.network, run.condition) != (network, condition) or run.seed not in odd.get(run.target, ())
        ]
    for sentence in sentences:
        warn(one_line(sentence))
    return kept


def _seeds_named(seeds: Collection[int]) -> str:
    return f"seed{'s' * (len(seeds) != 1)} {listing([str(seed) for seed in sorted(seeds)])}"


def check_some(runs: Sequence[RunPredictions]) -> None:
    """Raise if there are no runs."""
    if not runs:
        raise BadTable("no runs", "at least one", "train some with sfumato train first", "no-runs")
