"""Imports Potato's annotations: the users' folders of versions 1 and 2, and the exported tables and JSONL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from sfumato.importers.file_head import Evidence, Preview, opened_folder
from sfumato.importers.foreign_answers import AnswerList, bad_field, located_records
from sfumato.importers.importer import ImportResult
from sfumato.tables.errors import BadFile, ErrorLocation, listing, show, unknown
from sfumato.tables.files.file_type import CSV, JSON, JSON_LINES, TSV, kind_of
from sfumato.tables.files.json import read_json

STATE = "user_state.json"
INSTANCES = ("annotated_instances.jsonl", "annotated_instances.json")
VALUES = "instance_id_to_label_to_value"
VALUE_NAMES = {"select-one", "slider", "number", "decision", "selection", "scale_value"}
"""Names of form fields whose value, not their name, is the answer."""
NO_CLASS = {"free_response", "text_box", "_data"}
NOT_ITEMS = ("consent", "prestudy", "poststudy", "_testing_")
Labels = dict[str, dict[str, Any]]
Answer = tuple[Any, Any, Labels, ErrorLocation]


@dataclass(frozen=True)
class PotatoImporter:
    """The answers to one schema (`label`, if there are several), as `choice`; `plausible` if anyone chose several.

    The chosen class is the name of the option; for a drop-down, slider or number it is the value. Whole numbers per
    class that sum to the same total (soft labels, constant sums) become `tokens`. Free texts, survey pages and test
    questions are left out. A note counts answers with several options: Potato before 2.8 could store them for a radio
    button too.
    """

    classes: tuple[str, ...] = ()
    label: str | None = None
    repeats: bool = False

    name: ClassVar[str] = "potato"

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        if any(Path(name).name == STATE or Path(name).name in INSTANCES for name in preview.files):
            return Evidence("a folder with user_state.json or annotated_instances.jsonl per user")
        if isinstance(preview.value, dict) and {"user_id", VALUES} <= preview.value.keys():
            return Evidence(f"an object with user_id and {VALUES}, as in Potato 2")
        if preview.all_have("instance_id", "user_id", "labels", "spans"):
            return Evidence("each line has instance_id, user_id, labels and spans, as exported by Potato 2")
        if preview.value is not None and preview.all_have("label_annotations", "span_annotations"):
            return Evidence("each line has label_annotations and span_annotations, as in Potato 1")
        if preview.has_columns("user", "instance_id") and any(":::" in name for name in preview.columns):
            return Evidence("columns user, instance_id and SCHEMA:::LABEL, as in Potato 1")
        if preview.columns[:2] == ("instance_id", "user_id") and any("." in name for name in preview.columns):
            return Evidence("columns instance_id, user_id and SCHEMA.NAME, as exported by Potato 2", certain=False)
        return None

    def read(self, source: str | Path) -> ImportResult:
        source, answers = Path(source), AnswerList()
        with opened_folder(source) as place:
            found = [each for path in _files(place) for each in _answers(path)]
            schema = self._schema(found, ErrorLocation(str(source)))
            shares = _total([labels[schema] for _, _, labels, _ in found if schema in labels])
            for item, user, labels, where in found:
                if any(mark in str(item) for mark in NOT_ITEMS):
                    answers.left_out["survey pages and test questions"] += 1
                elif not labels.get(schema):
                    answers.left_out["items without an answer"] += 1
                elif shares is not None:
                    tokens = {name: int(float(value)) for name, value in labels[schema].items()}
                    answers.add(item, user, (), where, tokens=tokens)
                else:
                    self._add(answers, item, user, labels[schema], where)
            notes = [f"read from the schema {schema}"]
            others = {name for _, _, labels, _ in found for name in labels} - {schema}
            notes += [f"schemas not read: {listing(sorted(others))}"] * bool(others)
            if double := sum(len(answer.chosen) > 1 for answer in answers.answers):
                notes.append(
                    f"{double:,} answers with several options; if {schema} is a radio button, repair the files first "
                    "(Potato before 2.8 kept every option that was clicked: potato repair-annotations)"
                )
            where = ErrorLocation(str(source))
            return answers.result(where, classes=self.classes, repeats=self.repeats, notes=notes)

    def _add(self, answers: AnswerList, item: Any, user: Any, given: dict[str, Any], where: ErrorLocation) -> None:
        named = {name: value for name, value in given.items() if name not in NO_CLASS}
        if set(named) <= VALUE_NAMES:
            answers.add(item, user, list(named.values())[:1], where)
        elif named:
            answers.add(item, user, named, where)

    def _schema(self, found: list[Answer], where: ErrorLocation) -> str:
        """The schema to read: the given one, or the only one with classes."""
        schemas = list(dict.fromkeys(name for _, _, labels, _ in found for name in labels))
        if self.label is not None:
            if self.label not in schemas:
                raise unknown("schema", self.label, schemas, where)
            return self.label
        with_classes = [
            name for name in schemas if any(set(labels.get(name, ())) - NO_CLASS for _, _, labels, _ in found)
        ]
        if len(with_classes) != 1:
            seen = f"the schemas {listing(schemas) or 'none'}"
            raise bad_field(seen, "one schema of classes", where, "choose one with --label NAME")
        return with_classes[0]


def _total(answers: list[dict[str, Any]]) -> int | None:
    """The number of points that every answer divides over several classes; None for other schemas."""
    totals = set()
    for given in answers:
        try:
            points = [float(value) for value in given.values()]
        except (TypeError, ValueError):
            return None
        if set(given) & (VALUE_NAMES | NO_CLASS) or any(value < 0 or value != int(value) for value in points):
            return None
        totals.add(sum(points))
    divided = any(len(given) > 1 for given in answers)
    return int(totals.pop()) if divided and len(totals) == 1 and max(totals) >= 10 else None


def _files(place: Path) -> list[Path]:
    if not place.is_dir():
        return [place]
    by_user = [path for name in (STATE, *INSTANCES) for path in sorted(place.glob(f"*/{name}"))]
    by_user += [path for name in (STATE, *INSTANCES) if not by_user for path in sorted(place.rglob(name))]
    if by_user:
        return by_user
    found, expected = "no folder of a user", f"folders named by user, with {STATE} or {INSTANCES[0]}"
    raise BadFile(found, expected, "give the folder annotation_output, or an exported file", "no-such-file", place)


def _answers(path: Path) -> Iterator[Answer]:
    """Item, annotator, labels by schema, and the location of each answer."""
    if kind_of(path, (CSV, TSV, JSON, JSON_LINES)) in (CSV, TSV):
        yield from _table(path)
        return
    content = read_json(path)
    if isinstance(content.value, dict) and VALUES in content.value:
        by_item = content.value[VALUES] or {}
        if not isinstance(by_item, dict):
            raise bad_field(show(by_item), "an object of items", content.where(None, VALUES))
        for item, given in by_item.items():
            where = content.where(None, VALUES, item)
            yield item, content.value.get("user_id"), _labels(given, where), where
        return
    for number, record in enumerate(content.records()):
        where = content.where(number)
        item = record.get("instance_id", record.get("id"))
        given = next((record[key] for key in ("labels", "label_annotations", "annotation") if key in record), None)
        user = record.get("user_id")
        if user is None:
            user = path.parent.name if path.parent.parent.is_dir() and path.name in INSTANCES else None
        if user is None or (path.name in INSTANCES and "user_id" not in record and _is_joined(path)):
            fix = "give the folder annotation_output, whose subfolders are named by user"
            raise bad_field("annotations without their user", "user_id in each line", where, fix)
        yield item, user, _labels(given, where), where


def _is_joined(path: Path) -> bool:
    """Whether the file is next to the users' folders and has the annotations of all of them."""
    return any((each / name).is_file() for each in path.parent.iterdir() if each.is_dir() for name in INSTANCES)


def _labels(given: Any, where: ErrorLocation) -> Labels:
    """The selected names and their values by schema, from pairs or objects; empty values are not selected."""
    labels: Labels = {}
    pairs: Iterable[tuple[Any, Any, Any]]
    if isinstance(given, list):
        if not all(isinstance(each, list) and len(each) == 2 and isinstance(each[0], dict) for each in given):
            raise bad_field(show(given), "pairs of {schema, name} and value", where)
        pairs = ((pair[0].get("schema"), pair[0].get("name"), pair[1]) for pair in given)
    elif isinstance(given, dict) and all(isinstance(each, dict) for each in given.values()):
        pairs = ((schema, name, value) for schema, each in given.items() for name, value in each.items())
    else:
        raise bad_field(show(given), "labels by schema", where)
    for schema, name, value in pairs:
        if value not in (None, False, ""):
            labels.setdefault(str(schema), {})[str(name)] = value
    return labels


def _table(path: Path) -> Iterator[Answer]:
    for record, where in located_records(path):
        mark = ":::" if any(":::" in name for name in record) else "."
        user = "user" if "user" in record else "user_id"
        if not {"instance_id", user} <= record.keys():
            raise bad_field(f"columns {listing(list(record))}", "instance_id, and user or user_id", where)
        labels: Labels = {}
        for name, value in record.items():
            schema, _, label = name.partition(mark)
            if label and value not in ("", None) and schema != "span_annotation" and not label.startswith("_"):
                labels.setdefault(schema, {})[label] = value
        yield record["instance_id"], record[user], labels, where
