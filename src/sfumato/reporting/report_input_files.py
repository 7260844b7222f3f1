"""The files of a report: their names in a folder, and how each is read into `ReportInputs`."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.importers.label_file import read_labels
from sfumato.importers.prediction_file import FileOptions, convert_first
from sfumato.labeling.screening import Screened
from sfumato.planning.plan_file import Plan
from sfumato.reporting.blocks import Columns
from sfumato.reporting.people_tables import OUT_OF_DATE, PeopleTables, kind_of, out_of_date
from sfumato.reporting.report_inputs import Origin, ReportInputs
from sfumato.study.study_file import read_study, study_path
from sfumato.tables.base_table import rows_of
from sfumato.tables.errors import BadFile, BadSetting, BadTable, SfumatoError, one_line, show
from sfumato.tables.estimand import Estimand
from sfumato.tables.files.atomic_write import sha256_of
from sfumato.tables.files.file_type import KINDS
from sfumato.tables.files.table_file import check_columns, read_rows
from sfumato.tables.model_inputs import InputOptions, Inputs
from sfumato.tables.row_numbers import check_same_rows
from sfumato.tables.scores import Difference, Differences, RunScore, RunScores, Scores
from sfumato.tables.soft_labels import SoftLabels

TABLE = (".parquet", ".csv")
NAMES: dict[str, tuple[str, ...]] = {
    "study": ("study.toml",),
    "annotations": tuple(f"annotations{end}" for end in TABLE),
    "screening": ("screening.csv", "screening.parquet"),
    "beliefs": tuple(f"beliefs{end}" for end in TABLE),
    "counts": tuple(f"counts{end}" for end in TABLE),
    "votes": tuple(f"votes{end}" for end in TABLE),
    "labels": tuple(f"labels{end}" for end in TABLE),
    "original": tuple(f"original{end}" for end in TABLE),
    "inputs": ("inputs.npz", *(f"inputs{end}" for end in TABLE)),
    "splits": ("splits.csv", "splits.parquet"),
    "runs": ("runs",),
    "shifted": ("shifted",),
    "attacked": ("attacked",),
    "scores": ("scores.csv", "scores.parquet"),
    "comparison": ("differences.csv", "differences.parquet", "comparison.csv", "comparison.parquet"),
    "map": ("map.csv", "map.parquet"),
    "shifts": ("shifts.csv", "shifts.parquet"),
    "quality": ("quality.csv", "quality.parquet"),
    "intervals": ("intervals.parquet", "intervals.csv"),
    "duplicates": ("duplicates.csv", "duplicates.parquet", "pairs.csv", "pairs.parquet"),
    "plan": ("plan.json",),
}
"""The file names of each input; the first one found is used."""
FOLDERS = ("labels", "inputs", "scores")
"""Inputs that may be several files, in a folder of that name."""
PLAIN_TABLES = ("map", "shifts", "quality", "intervals", "duplicates")
RUN_FOLDERS = ("runs", "shifted", "attacked")

Place = str | Path
Named = Mapping[str, Place | Mapping[str, Place]]
Places = Mapping[str, Path]
INSTEAD_OF = {
    "annotations": ("beliefs", "votes", "counts"),
    "beliefs": ("votes",),
    "counts": ("annotations", "beliefs", "votes"),
}
"""The files in a folder that are not used if the user names such a table of people's answers."""


def read_evidence(
    folder: Place | None,
    named: Named,
    titles: Mapping[str, str],
    reading: InputOptions,
) -> ReportInputs:
    """Read the inputs in `folder` and those `named`."""
    root = None if folder is None else Path(folder)
    if root is not None and not root.is_dir():
        raise BadFile("no folder there", "a folder with the files of a study", "check the path", "no-such-folder", root)
    kind = _kind_of_people(named)
    named = _with_people(named, kind)
    here = {} if root is None else _found(root)
    # Named files replace files in the folder.
    here = {key: path for key, path in here.items() if key.partition("/")[0] not in named}
    other = {key: path for key, path in here.items() if key in INSTEAD_OF.get(kind, ())}
    found = {key: path for key, path in here.items() if key not in other} | _named(named)
    if not found:
        usual = [*(names[0] for names in NAMES.values()), *(f"{name}/" for name in FOLDERS)]
        fix = "give the folder that the commands wrote to, or single files"
        raise BadFile("nothing to report on", f"at least one of: {', '.join(usual)}", fix, "no-evidence", root)
    try:
        read = _read(found, root, titles, reading, {key for key in found if key.partition("/")[0] in named})
    except SfumatoError as error:
        raise convert_first(error, "labels") from None
    skipped = [f"{path.name} is not used: `--people` names other answers" for path in other.values()]
    read = replace(read, people=kind, notes=(*read.notes, *skipped))
    unused = [] if root is None else _unused(root, found)
    if not unused:
        return read
    note = (
        f"files not used, because a report reads files by their names: {one_line(', '.join(unused))}; move "
        "predictions of models into the folder runs, and name others with an option"
    )
    return replace(read, notes=(*read.notes, note))


MATCHED_BY_ITEM = ("annotations", "beliefs", "counts", "original", "inputs")
"""Inputs of a report that are matched by item, in addition to labels and splits."""


def _kind_of_people(named: Named) -> str:
    """What the file named `people` holds; empty without one."""
    people = named.get("people")
    if people is None:
        return ""
    assert not isinstance(people, Mapping)
    try:
        return kind_of(people)
    except SfumatoError as error:
        raise convert_first(error, "labels") from None


def _with_people(named: Named, kind: str) -> Named:
    """The named files, with those of `people` under the name of what they hold; labels come first."""
    others = {part: place for part, place in named.items() if part != "people"}
    if not kind:
        return others
    people, own = named["people"], others.get(kind)
    assert not isinstance(people, Mapping)
    if kind == "labels":
        several = own if isinstance(own, Mapping) else {} if own is None else {Path(own).stem: own}
        if "labels" in several:
            fix = "use for example --labels mace=mace.parquet"
            raise BadSetting("--labels with the name labels, which --people has", "another name", fix)
        return {**others, "labels": {"labels": people, **several}}
    if own is not None:
        found = f"two files with {kind}: {show(Path(people).name)} for --people, and one for --{kind}"
        raise BadSetting(found, "one of them", f"leave out --{kind}")
    return {**others, kind: people}


def _unused(root: Path, found: Places) -> list[str]:
    """The files in a folder that may be data and have none of the names that a report reads."""
    known = {name for names in NAMES.values() for name in names}
    given = {path.absolute() for path in found.values()}
    ends = tuple(end for kind in KINDS for end in kind.suffixes)
    own = (path for path in root.iterdir() if path.is_file() and path.name.lower().endswith(ends))
    return sorted(path.name for path in own if path.name not in known and path.absolute() not in given)


def _found(root: Path) -> dict[str, Path]:
    """The paths of all inputs in a folder by name: `annotations`, `labels`, `labels/dawid-skene`."""
    found: dict[str, Path] = {}
    for part, names in NAMES.items():
        here = [root / name for name in names if (root / name).exists()]
        if here and here[0].is_dir() == (part in RUN_FOLDERS):
            found[part] = here[0]
        if part in FOLDERS and (root / part).is_dir():
            ends = (".npz", *TABLE) if part == "inputs" else TABLE
            each = {f"{part}/{path.stem}": path for path in sorted((root / part).iterdir()) if path.suffix in ends}
            # A folder `inputs` without such files is a folder of images.
            found |= each or ({part: root / part} if part == "inputs" and part not in found else {})
    return found


def _named(named: Named) -> dict[str, Path]:
    places: dict[str, Path] = {}
    for part, place in named.items():
        if isinstance(place, Mapping):
            # Splits are inputs, one file per split.
            places |= {f"{'inputs' if part == 'splits' else part}/{name}": Path(each) for name, each in place.items()}
        else:
            places[part] = study_path(Path(place)) if part == "study" else Path(place)
    return places


def _read(
    places: Places, root: Path | None, titles: Mapping[str, str], reading: InputOptions, named: Collection[str]
) -> ReportInputs:
    tables = PeopleTables.read(places)
    places, notes = tables.places, list(tables.notes)
    readers: dict[str, Callable[[Path], Any]] = {
        "study": read_study,
        "screening": Screened.read,
        "inputs": reading.read,
        "comparison": lambda path: Differences(rows_of(read_rows(path), Difference)),
        "plan": Plan.read,
    }
    parts: dict[str, Any] = {part: read(places[part]) for part, read in readers.items() if part in places}
    parts |= {"annotations": tables.annotations, "beliefs": tables.beliefs, "counts": tables.counts}
    parts |= {part: places[part] for part in RUN_FOLDERS if part in places}
    for path in (parts[part] for part in RUN_FOLDERS if part in parts):
        if not path.is_dir():
            raise BadFile("no folder there", "a folder of runs", "check the path", "no-such-folder", path)
    labels = tables.labels
    # Labels of judgment come before labels of truth, because most of a report is about them; `mean` comes first.
    order = {name: (name != "labels", each.estimand is Estimand.TRUTH, name != "mean") for name, each in labels.items()}
    parts["labels"] = {name: labels[name] for name in sorted(labels, key=order.__getitem__)}
    parts["scores"] = {name: _scores(path) for name, path in _several(places, "scores").items()}
    for key in out_of_date(places, parts.get("runs")):
        # Scores of runs are computed again if that is possible, unless the user named the file.
        is_of_runs = isinstance(parts["scores"].get(key.rpartition("/")[2]), RunScores) or key == "comparison"
        is_left_out = is_of_runs and key not in named and "runs" in parts and tables.has_people
        notes.append(f"{places[key].name} is older than the runs or labels: {OUT_OF_DATE[is_left_out]}")
        if is_left_out:
            parts["scores"].pop(key.rpartition("/")[2], None)
            places = {part: path for part, path in places.items() if part != key}
    if "comparison" not in places:
        parts.pop("comparison", None)
    parts["columns"] = {name: columns_in(places[name]) for name in PLAIN_TABLES if name in places}
    apart = {name: path for name, path in _several(places, "inputs").items() if name != "inputs"}
    splits = {name: reading.read(path) for name, path in apart.items()}
    if "splits" in places:
        splits |= _split(places["splits"], parts.get("inputs"))
    elif len(splits) == 1 and "inputs" not in parts:
        parts["inputs"], splits = next(iter(splits.values())), {}
    classes = next((each.classes for each in parts["labels"].values()), ())
    if "original" in places:
        parts["original"] = _original(places["original"], classes)
    elif (came_with := parts.get("inputs")) is not None and came_with.labels is not None:
        known = classes or came_with.classes or tuple(dict.fromkeys(came_with.labels))
        if set(came_with.labels) <= set(known):
            parts["original"] = SoftLabels.one_hot(came_with.items, came_with.labels, known)
            places = {**places, "original": places.get("inputs", next(iter(apart.values()), Path()))}
    check_same_rows(*parts["labels"].values(), *(parts.get(part) for part in MATCHED_BY_ITEM), *splits.values())
    origins = {part: _origin(path, root) for part, path in places.items()}
    return ReportInputs(**parts, splits=splits, titles=dict(titles), origins=origins, notes=tuple(notes))


def _several(places: Places, part: str) -> dict[str, Path]:
    """The files of one input by name: the single file under the input's name, those of its folder under their own."""
    own = {part: places[part]} if part in places else {}
    return own | {key.partition("/")[2]: path for key, path in places.items() if key.startswith(f"{part}/")}


def _origin(path: Path, root: Path | None) -> Origin:
    name = path.relative_to(root).as_posix() if root is not None and path.is_relative_to(root) else path.name
    if path.is_dir():
        return Origin(f"{name}/")
    return Origin(name, sha256_of(path))


def _original(path: Path, classes: tuple[str, ...]) -> SoftLabels:
    """Published labels: SoftLabels, or a table with item and label."""
    return read_labels(path, FileOptions(known=classes))


def _split(path: Path, inputs: Inputs | None) -> dict[str, Inputs]:
    """The inputs of every split in a table with item and split; items without inputs are left out."""
    if inputs is None:
        return {}
    rows = read_rows(path)
    check_columns(rows, ("item", "split"))
    members: dict[str, list[str]] = {}
    for chunk in rows.chunks:
        for item, split in zip(chunk.column("item").to_pylist(), chunk.column("split").to_pylist(), strict=True):
            members.setdefault(str(split), []).append(str(item))
    found = {split: inputs.rows_of(items) for split, items in members.items()}
    return {split: inputs.take(row[row >= 0]) for split, row in found.items() if (row >= 0).any()}


def _scores(path: Path) -> Scores | RunScores:
    if "target" in read_rows(path).schema.names:
        return RunScores(rows_of(read_rows(path), RunScore))
    return Scores.read(path)


def columns_in(path: Path) -> Columns:
    """The columns of a table; a column becomes numbers if all its values can be read as numbers."""
    rows = read_rows(path)
    found: dict[str, list[Any]] = {name: [] for name in rows.schema.names}
    for chunk in rows.chunks:
        for name in found:
            found[name] += chunk.column(name).to_pylist()
    if not found:
        raise BadTable(show(""), "a table with columns", "write it again", "bad-columns", path)
    ids = ("item", "annotator", "item_a", "item_b")
    return {name: tuple(values if name in ids else _numbers_of(values) or values) for name, values in found.items()}


def _numbers_of(values: list[Any]) -> list[Any] | None:
    """The values as numbers, None for empty ones; None instead of the list if there are no numbers, or other values."""
    try:
        read = [math.nan if value in (None, "") else float(value) for value in values]
    except (TypeError, ValueError):
        return None
    found = [number if math.isfinite(number) else None for number in read]
    return None if all(each is None for each in found) else found
