"""Imports Hugging Face data sets: folders of `save_to_disk`, Parquet folders and files, what `sfumato share` writes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from sfumato.importers.file_head import Evidence, Preview, arrow_tables
from sfumato.importers.foreign_answers import AnswerList, bad_field
from sfumato.importers.importer import ImportResult, located_in, summary
from sfumato.importers.json_records import ANNOTATORS, VoteCounts
from sfumato.tables.annotations import SCHEMA, Annotations
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.class_columns import id_column
from sfumato.tables.counts import Counts
from sfumato.tables.errors import BadFile, ErrorLocation, damaged_file, listing, show, unknown
from sfumato.tables.files.json import read_json
from sfumato.tables.files.table_file import CLASSES_KEY, class_names, read_rows
from sfumato.tables.row_numbers import source_of
from sfumato.tables.soft_labels import SoftLabels

KEY = b"huggingface"
DEFAULT = "data"
OUR_COLUMNS = {"item", "annotator", "counts", "probs", "n_annotators"}


@dataclass(frozen=True)
class HuggingFaceImporter:
    """The votes in a data set of the datasets library, from the column `label` (needed if several columns qualify):

    - a list of classes (with `annotator`, a list of the annotators): Annotations, without annotators Counts;
    - a list of shares, or an object of shares by class: SoftLabels; an object of numbers of votes by class: Counts;
    - one class per row, with a column of annotators: Annotations.

    A folder written by `sfumato share` gives its SoftLabels; `part` chooses `counts`, `beliefs` or `annotations`.
    `split` reads one split only; otherwise row numbers are joined with the split (`train:0`) where no column has ids.
    """

    label: str | None = None
    annotator: str | None = None
    item: str | None = None
    classes: tuple[str, ...] = ()
    split: str | None = None
    part: str = DEFAULT
    repeats: bool = False

    name: ClassVar[str] = "hugging-face"

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        names = set(preview.files)
        if preview.path.is_dir() and {"state.json", "dataset_info.json"} <= names:
            return Evidence("a folder with state.json and dataset_info.json, as save_to_disk writes it")
        if preview.path.is_dir() and "dataset_dict.json" in names:
            return Evidence("a folder with dataset_dict.json, as save_to_disk writes it")
        if preview.path.is_dir() and any(name.startswith("data/") and name.endswith(".parquet") for name in names):
            return Evidence("a folder with data/*.parquet, as on the Hugging Face Hub")
        if KEY in preview.metadata:
            return Evidence("a Parquet file with the metadata key huggingface", general=True)
        if preview.path.name.endswith(".arrow"):
            return Evidence("an Arrow stream file", general=True)
        return None

    def read(self, source: str | Path) -> ImportResult:
        path = Path(source)
        splits = self._splits(path)
        if self.split is not None:
            if self.split not in splits:
                raise unknown("split", self.split, list(splits), path)
            splits = {self.split: splits[self.split]}
        with located_in(path):
            first = next(iter(splits.values()))
            if CLASSES_KEY in (first.schema.metadata or {}):
                return _our_table(pa.concat_tables(splits.values()))
            return self._foreign(path, splits)

    def _splits(self, path: Path) -> dict[str, pa.Table]:
        if not path.is_dir():
            name = path.name.split("-")[0].split(".")[0]
            return {name: arrow_tables([path]) if path.suffix == ".arrow" else _parquet([path])}
        if (path / "dataset_dict.json").is_file():
            names = read_json(path / "dataset_dict.json").value
            names = names.get("splits") if isinstance(names, dict) else None
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or not names:
                raise damaged_file("dataset_dict.json", "no list of splits", path / "dataset_dict.json")
            return {name: _saved(path / name) for name in names}
        if (path / "state.json").is_file():
            return {"data": _saved(path)}
        folder = path / self.part if (path / self.part).is_dir() else path
        files = sorted(folder.glob("*.parquet"))
        if not files:
            found = f"a folder without {self.part}/*.parquet, dataset_dict.json or state.json"
            inside = sorted(each.name for each in path.iterdir() if each.is_dir())
            fix = f"choose a folder in it with --part: {listing(inside)}" if inside else "give the folder of a data set"
            raise BadFile(found, "a data set of the datasets library", fix, "no-such-file", path)
        by_split: dict[str, list[Path]] = {}
        for file in files:
            by_split.setdefault(file.name.split("-")[0].split(".")[0], []).append(file)
        return {name: _parquet(paths) for name, paths in by_split.items()}

    def _foreign(self, path: Path, splits: dict[str, pa.Table]) -> ImportResult:
        answers, counts, where = AnswerList(), VoteCounts(), ErrorLocation(str(path))
        table = next(iter(splits.values()))
        features = _features(path, table.schema)
        label = self._label(table.schema, features, where)
        key = self.item or id_column(table.column_names)
        kind = table.schema.field(label).type
        person = self._annotators(table.schema, label)
        names = _class_names(features.get(label), kind) or self._other_names(kind, features)
        if key and self.split is None:
            _check_splits_differ(splits, key, where)
        rows: list[tuple[Any, Any, Any, ErrorLocation]] = []
        for split, part in splits.items():
            ids = (
                part.column(key).to_pylist()
                if key
                else [f"{split}:{n}" if split != "data" else n for n in range(len(part))]
            )
            people = part.column(person).to_pylist() if person else [None] * len(part)
            values = zip(ids, part.column(label).to_pylist(), people, range(len(part)), strict=True)
            rows += [
                (item, given, who, ErrorLocation(str(path), row=n, column=label)) for item, given, who, n in values
            ]
        notes = [f"read from the column {label}" + (f", annotators from {person}" if person else "")]
        notes.append(f"items from the column {key}" if key else "items are row numbers")
        others = [name for name in table.column_names if name not in (label, key, person)]
        notes += [f"columns not read: {listing(others)}"] * bool(others)
        if _is_shares(kind):
            return _numbered(_shares(rows, class_names(self.classes) or names, where, notes), key, path)
        for item, given, who, place in rows:
            self._add(answers, counts, item, given, who, names, place)
        if counts.by_item or counts.faults:
            return _numbered(counts.result(class_names(self.classes) or names, notes), key, path)
        found = answers.result(where, classes=self.classes, known=names, repeats=self.repeats, notes=notes)
        return _numbered(found, key, path)

    def _add(
        self, answers: AnswerList, counts: VoteCounts, item: Any, given: Any, who: Any, names: Sequence[str],
        where: ErrorLocation,
    ) -> None:  # fmt: skip
        """Add the votes of one row."""
        if given is None or given == [] or given == -1:
            answers.left_out["rows without a vote"] += 1
        elif isinstance(given, dict):
            counts.add(item, {name: n or 0 for name, n in given.items()}, where)
        elif not isinstance(given, list):
            answers.add(item, who, [_name(given, names)], where)
        elif isinstance(who, list):
            if len(who) != len(given):
                answers.fault(f"{len(given)} votes of {len(who)} annotators", "one vote per annotator", where)
                return
            for person, vote in zip(who, given, strict=True):
                answers.add(item, person, [_name(vote, names)], where)
        else:
            counts.add(item, dict(Counter(str(_name(vote, names)) for vote in given)), where)

    def _label(self, schema: pa.Schema, features: dict[str, Any], where: ErrorLocation) -> str:
        """The column of votes: the given one, or the only one that can be."""
        if self.label is not None:
            if self.label not in schema.names:
                raise unknown("column", self.label, schema.names, where)
            return self.label
        people = set(ANNOTATORS) | {f"{name}s" for name in ANNOTATORS} | {self.annotator}
        fits = [
            name
            for name in schema.names
            if name not in people and _holds_votes(schema.field(name).type, features.get(name))
        ]
        if not fits and set(schema.names) & people:
            fits = [name for name in ("label", "class") if name in schema.names]
        if len(fits) == 1:
            return str(fits[0])
        found = f"columns that may be votes: {listing(fits)}" if fits else f"columns {listing(schema.names)}"
        raise bad_field(found, "one column of votes, counts or shares", where, "choose it with --label NAME")

    def _annotators(self, schema: pa.Schema, label: str) -> str | None:
        if self.annotator is not None:
            return self.annotator
        wanted = pa.types.is_nested(schema.field(label).type)
        known = (f"{name}s" if wanted else name for name in ANNOTATORS)
        return next((name for name in known if name in schema.names), None)

    def _other_names(self, kind: pa.DataType, features: dict[str, Any]) -> tuple[str, ...]:
        """The class names of another column, for a list of shares with as many numbers."""
        size = kind.list_size if pa.types.is_fixed_size_list(kind) else None
        named = [names for each in features.values() if (names := _class_label(each))]
        fitting = [names for names in named if size in (None, len(names))]
        return fitting[0] if _is_shares(kind) and len(set(fitting)) == 1 else ()


def _check_splits_differ(splits: dict[str, pa.Table], key: str, where: ErrorLocation) -> None:
    """Raise if an id is in two splits: these may be the same item, or numbers that begin again."""
    found: dict[Any, str] = {}
    for split, table in splits.items():
        for item in dict.fromkeys(table.column(key).to_pylist()):
            if found.setdefault(item, split) != split:
                seen = f"item {show(item)} in the splits {found[item]} and {split}"
                fix = f"choose one: --split {found[item]} or --split {split}"
                raise bad_field(seen, "different items in each split", where, fix, "doubled-item")


def _numbered(result: ImportResult, key: str | None, path: Path) -> ImportResult:
    """The result with a table that records the data whose row numbers its ids are, if it has no column of ids."""
    if key is not None:
        return result
    table = result.table
    assert isinstance(table, (Annotations, Counts, SoftLabels))
    return replace(result, table=replace(table, row_sources=(source_of(path),)))


def _our_table(table: pa.Table) -> ImportResult:
    """A table that sfumato wrote, without the columns that were added for sharing."""
    names = set(table.column_names)
    if {"kind", "payload"} <= names:
        answers = Annotations.from_arrow(table.select([name for name in SCHEMA.names if name in names]))
        return ImportResult(answers, (f"{summary(answers)}, as shared by sfumato",))
    ours = table.select([name for name in table.column_names if name in OUR_COLUMNS])
    kind = Counts if "counts" in names else Beliefs if "annotator" in names else SoftLabels
    own = kind.from_arrow(ours)
    left = [name for name in table.column_names if name not in OUR_COLUMNS]
    notes = [f"{len(own):,} rows, {len(own.classes)} classes, as shared by sfumato"]
    return ImportResult(own, (*notes, *([f"columns not read: {listing(left)}"] if left else [])))


def _shares(rows: list[Any], names: Sequence[str], where: ErrorLocation, notes: list[str]) -> ImportResult:
    """A column of shares as soft labels; rows that sum to 1 but for rounding are divided by their sum."""
    if isinstance(rows[0][1], dict):
        names = tuple(names) or tuple(rows[0][1])
        matrix = [[given.get(name) or 0.0 for name in names] for _, given, _, _ in rows]
    else:
        matrix = [given for _, given, _, _ in rows]
    if not names:
        fix = "name them with --classes, in the order of the shares"
        raise bad_field("shares without class names", "the names of the classes", where, fix)
    for (_, given, _, place), row in zip(rows, matrix, strict=True):
        if row is None or len(row) != len(names) or not 0.999 <= sum(row) <= 1.001:
            raise bad_field(str(given), f"{len(names)} shares that sum to 1", place)
    probs = [[value / sum(row) for value in row] for row in matrix]
    table = SoftLabels.from_numpy([str(row[0]) for row in rows], probs, names)
    size = f"{len(table):,} items, classes {listing(names)}; the number of votes is not known"
    return ImportResult(table, (size, *notes))


def _saved(folder: Path) -> pa.Table:
    """The rows of a folder of `save_to_disk`: the files named in `state.json`, in order."""
    state = read_json(folder / "state.json").value if (folder / "state.json").is_file() else None
    state = state if isinstance(state, dict) else {}
    files = state.get("_data_files")
    if not isinstance(files, list) or not all(isinstance(each, dict) and "filename" in each for each in files):
        raise damaged_file("folder of save_to_disk", "state.json names no data files", folder)
    if state.get("_indices_data_files"):
        fix = "save it again with a newer version of datasets (flatten_indices)"
        raise BadFile("rows chosen by a separate file of indices", "rows as stored", fix, "bad-file", folder)
    return arrow_tables([folder / Path(each["filename"]).name for each in files])


def _parquet(paths: list[Path]) -> pa.Table:
    tables = []
    for path in paths:
        rows = read_rows(path, guarded=False)
        tables.append(pa.concat_tables([rows.schema.empty_table(), *rows.chunks], promote_options="permissive"))
    return pa.concat_tables(tables).replace_schema_metadata(tables[0].schema.metadata)


def _features(path: Path, schema: pa.Schema) -> dict[str, Any]:
    """The features of the data set by column: of its `dataset_info.json`, or of the schema's metadata."""
    info = path / "dataset_info.json"
    if info.is_file():
        document = read_json(info).value
        features = document.get("features") if isinstance(document, dict) else None
    else:
        text = (schema.metadata or {}).get(KEY)
        try:
            features = json.loads(text)["info"]["features"] if text else None
        except (ValueError, KeyError, TypeError):
            features = None
    return features if isinstance(features, dict) else {}


def _class_label(feature: Any) -> tuple[str, ...]:
    """The names of a ClassLabel, or of a list of them; none for other features."""
    if isinstance(feature, list):
        feature = feature[0] if feature else None
    if isinstance(feature, dict) and isinstance(feature.get("feature"), dict):
        feature = feature["feature"]
    names = feature.get("names") if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" else None
    return tuple(map(str, names)) if isinstance(names, list) else ()


def _class_names(feature: Any, kind: pa.DataType) -> tuple[str, ...]:
    """The class names of a column of numbers; none if its type is not that of a ClassLabel."""
    inner = kind.value_type if _is_list(kind) else kind
    if pa.types.is_struct(kind):
        return tuple(kind.field(i).name for i in range(kind.num_fields))
    return _class_label(feature) if pa.types.is_integer(inner) else ()


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_shares(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return kind.num_fields > 0 and all(pa.types.is_floating(kind.field(i).type) for i in range(kind.num_fields))
    return _is_list(kind) and bool(pa.types.is_floating(kind.value_type))


def _holds_votes(kind: pa.DataType, feature: Any) -> bool:
    if _is_shares(kind):
        return True
    if pa.types.is_struct(kind):
        return kind.num_fields > 1 and all(pa.types.is_integer(kind.field(i).type) for i in range(kind.num_fields))
    if not _is_list(kind):
        return False
    return bool(pa.types.is_string(kind.value_type) or _class_label(feature))


def _name(value: Any, names: Sequence[str]) -> Any:
    return names[value] if isinstance(value, int) and 0 <= value < len(names) else value
