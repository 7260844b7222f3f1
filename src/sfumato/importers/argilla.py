"""Imports Argilla's records: version 2 (nested and flat), version 1 (feedback and legacy), and the server's API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from sfumato.importers.file_head import Evidence, Preview
from sfumato.importers.foreign_answers import AnswerList, Record, bad_field, located_records
from sfumato.importers.importer import ImportResult
from sfumato.tables.columns import is_time
from sfumato.tables.errors import ErrorLocation, SfumatoError, listing, show, unknown
from sfumato.tables.files.file_type import JSON, JSON_LINES, PARQUET, kind_of
from sfumato.tables.files.json import read_json

FLAT = ".responses"
SUGGESTION = "-suggestion"
LEGACY = ("annotation", "annotation_agent", "prediction", "status")
NESTED = ("fields", "responses", "suggestions", "_server_id")


@dataclass(frozen=True)
class ArgillaResponse:
    """One user's response to one question; `status` is None where the file does not tell it."""

    question: str
    user: Any
    value: Any
    status: str | None
    submitted_at: str | None = None


@dataclass(frozen=True)
class ArgillaImporter:
    """Responses to label, multi-label and rating questions, as `choice` or (several labels) `plausible`.

    `label` chooses the question if there are several. Only submitted responses count; drafts, discarded responses and
    suggestions of models are left out. The nested export of version 2 does not tell the status of a response.
    `item` names another key of the item id than the record's own.
    """

    classes: tuple[str, ...] = ()
    label: str | None = None
    item: str | None = None
    repeats: bool = False

    name: ClassVar[str] = "argilla"

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        try:
            records = _plain_records(preview.value) if preview.value is not None else preview.records()
        except SfumatoError:
            return None
        shapes = {_shape(record) for record in records if _shape(record) or "external_id" not in record}
        shape = shapes.pop() if len(shapes) == 1 else None
        return Evidence(f"records as in {SHAPES[shape]}") if shape else None

    def read(self, source: str | Path) -> ImportResult:
        path = Path(source)
        answers, questions, notes = AnswerList(), dict[str, None](), list[str]()
        found: list[tuple[Any, ArgillaResponse, ErrorLocation]] = []
        for number, (record, where) in enumerate(_records(path)):
            shape = _shape(record)
            if shape is None and "external_id" in record:
                answers.left_out["records without a response"] += 1
                continue
            if shape is None:
                expected = "a record of Argilla: responses by question or by user"
                raise bad_field(f"a record with {listing(list(record))}", expected, where)
            item = self._item(record, number, notes)
            for response in _responses(record, shape, where):
                questions[response.question] = None
                found.append((item, response, where))
        question = self._question(list(questions), found, ErrorLocation(str(path)))
        several = False
        for item, response, where in found:
            if response.question != question:
                answers.left_out[f"responses to the question {response.question}, not read"] += 1
            elif response.status not in (None, "submitted", "Validated"):
                answers.left_out[f"responses with status {response.status}"] += 1
            elif response.value is None:
                answers.left_out["responses without a value"] += 1
            else:
                several |= isinstance(response.value, list)
                chosen = response.value if isinstance(response.value, list) else [response.value]
                answers.add(item, response.user, chosen, where, submitted_at=response.submitted_at)
        if any(response.status is None for _, response, _ in found):
            notes.append("this export does not tell drafts and discarded responses from submitted ones: all are read")
        notes.append(f"read from the question {question}")
        return answers.result(
            ErrorLocation(str(path)),
            classes=self.classes,
            known=_options(path, question),
            several=several,
            repeats=self.repeats,
            notes=list(dict.fromkeys(notes)),
        )

    def _item(self, record: dict[str, Any], number: int, notes: list[str]) -> Any:
        keys = (self.item,) if self.item else ("external_id", "id", "_server_id")
        value = next((record[key] for key in keys if record.get(key) is not None), None)
        if value is None and self.item is None:
            notes.append("records without an id are named by their row number")
            return f"row-{number}"
        return value

    def _question(self, questions: list[str], found: list[Any], where: ErrorLocation) -> str:
        """The question to read: the given one, or the only one whose answers can be classes."""
        if self.label is not None:
            if self.label not in questions:
                raise unknown("question", self.label, questions, where)
            return self.label
        wrong = {each.question for _, each, _ in found if each.value is not None and not _is_class(each.value)}
        left = [name for name in questions if name not in wrong]
        if len(left) != 1:
            seen = f"the questions {listing(questions) or 'none'}"
            raise bad_field(seen, "one question of labels or ratings", where, "choose one with --label NAME")
        return left[0]


def _is_class(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return all(isinstance(each, (str, int)) and not isinstance(each, bool) for each in values)


def _records(path: Path) -> list[Record]:
    if kind_of(path, (PARQUET, JSON, JSON_LINES)) is PARQUET:
        return located_records(path)
    content = read_json(path)
    records = enumerate(_plain_records(content.value))
    is_list = isinstance(content.value, list)
    return [(record, content.where(n) if is_list else content.where(None, n)) for n, record in records]


def _plain_records(value: Any) -> list[dict[str, Any]]:
    """The records of a list, of the API's `items`, of `to_dict(orient="names")` or of `orient="index"`."""
    if isinstance(value, dict) and isinstance(value.get("items"), list):
        value = value["items"]
    elif isinstance(value, dict) and value and all(isinstance(each, list) for each in value.values()):
        value = [dict(zip(value, row, strict=False)) for row in zip(*value.values(), strict=False)]
    elif isinstance(value, dict) and value and all(_is_record(each) for each in value.values()):
        value = [{"id": key, **each} for key, each in value.items()]
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise bad_field(type(value).__name__, "a list of records", ErrorLocation())
    return value


def _is_record(value: Any) -> bool:
    return isinstance(value, dict) and _shape(value) is not None


def _shape(record: dict[str, Any]) -> str | None:
    responses = record.get("responses")
    if record.keys() >= set(NESTED) and isinstance(responses, dict):
        return "nested"
    if "fields" in record and isinstance(responses, list):
        return "by user"
    flat = [key for key in record if key.endswith(FLAT)]
    if flat and all({f"{key}.users", f"{key}.status"} <= record.keys() for key in flat):
        return "flat"
    if "external_id" in record and _feedback_questions(record):
        return "feedback"
    return "legacy" if record.keys() >= set(LEGACY) else None


def _feedback_questions(record: dict[str, Any]) -> list[str]:
    named = [key.removesuffix(SUGGESTION) for key in record if key.endswith(SUGGESTION)]
    return named or [
        key for key, value in record.items() if isinstance(value, dict) and {"user_id", "status"} <= value.keys()
    ]


def _nested(record: dict[str, Any]) -> Iterator[ArgillaResponse]:
    for question, responses in record["responses"].items():
        for each in responses or []:
            yield ArgillaResponse(question, each.get("user_id"), each.get("value"), None)


def _by_user(record: dict[str, Any]) -> Iterator[ArgillaResponse]:
    for each in record["responses"]:
        for question, given in (each.get("values") or {}).items():
            value = given.get("value") if isinstance(given, dict) else given
            at = each.get("updated_at")
            at = at if isinstance(at, str) and is_time(at) else None
            yield ArgillaResponse(question, each.get("user_id"), value, each.get("status") or "submitted", at)


def _flat(record: dict[str, Any]) -> Iterator[ArgillaResponse]:
    for key in [key for key in record if key.endswith(FLAT)]:
        columns = (record[part] or [] for part in (f"{key}.users", key, f"{key}.status"))
        for user, value, status in zip(*columns, strict=False):
            yield ArgillaResponse(key.removesuffix(FLAT), user, value, status or "submitted")


def _feedback(record: dict[str, Any]) -> Iterator[ArgillaResponse]:
    for question in _feedback_questions(record):
        given = record.get(question) or []
        if isinstance(given, dict):  # before 1.14: one object of parallel lists
            given = [
                {"user_id": user, "value": value, "status": status}
                for user, value, status in zip(given["user_id"], given["value"], given["status"], strict=False)
            ]
        for each in given:
            yield ArgillaResponse(question, each.get("user_id"), each.get("value"), each.get("status") or "submitted")


def _legacy(record: dict[str, Any]) -> Iterator[ArgillaResponse]:
    yield ArgillaResponse("annotation", record["annotation_agent"], record["annotation"], record["status"])


READERS = {"nested": _nested, "by user": _by_user, "flat": _flat, "feedback": _feedback, "legacy": _legacy}
SHAPES: dict[str | None, str] = {
    "nested": "Argilla 2: responses by question, with fields, suggestions and _server_id",
    "by user": "Argilla's API and version 1: fields, and a list of responses by user",
    "flat": "Argilla 2, flat: QUESTION.responses with users and status",
    "feedback": "Argilla 1: external_id, and lists of responses by question",
    "legacy": "Argilla before feedback data sets: annotation, annotation_agent and prediction",
}


def _responses(record: dict[str, Any], shape: str, where: ErrorLocation) -> list[ArgillaResponse]:
    try:
        return list(READERS[shape](record))
    except (AttributeError, KeyError, TypeError) as error:
        expected = "responses with a user and a value"
        raise bad_field("responses of another form", expected, where) from error


def _options(path: Path, question: str) -> list[str]:
    """The classes of a question in `.argilla/settings.json` next to the file, if it exists."""
    settings = path.parent / ".argilla" / "settings.json"
    if not settings.is_file():
        return []
    document = read_json(settings).value
    try:
        options = next(each["settings"]["options"] for each in document["questions"] if each["name"] == question)
        return [str(option["value"]) for option in options]
    except (KeyError, TypeError, StopIteration) as error:
        found, where = f"settings without the options of {show(question)}", ErrorLocation(str(settings))
        fix = "export again, or move the folder .argilla away"
        raise bad_field(found, "questions with settings.options", where, fix) from error
