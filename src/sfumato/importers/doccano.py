"""Imports doccano's exports: a zip or folder with one file per user, or the single file of versions before 1.3."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from sfumato.importers.file_head import Evidence, Preview, opened_folder
from sfumato.importers.foreign_answers import AnswerList, Record, bad_field, located_records
from sfumato.importers.importer import ImportResult
from sfumato.tables.errors import BadFile, ErrorLocation, show
from sfumato.tables.files.file_type import CSV, JSON, JSON_LINES, kind_of

ENDINGS = tuple(suffix for kind in (CSV, JSON, JSON_LINES) for suffix in kind.suffixes)
OLD_KEYS = ("id", "text", "annotations", "annotation_approver")
FIRST_KEYS = ("doc_id", "labels", "username")


@dataclass(frozen=True)
class DoccanoImporter:
    """Text or image classification. From 1.3 on, the annotator is the name of the file, and an empty list of labels
    means no vote. `all.jsonl` (labels of all users pooled) has no annotators and is an error; `unknown.jsonl` is left
    out. Before 1.3 classes and users are numbers; name the classes with `classes` in the order of their numbers.
    """

    classes: tuple[str, ...] = ()
    item: str = "id"
    annotator: str | None = None
    repeats: bool = False

    name: ClassVar[str] = "doccano"

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        if preview.all_have(*OLD_KEYS):
            return Evidence("each line has annotations and annotation_approver, as before doccano 1.3")
        if preview.all_have(*FIRST_KEYS):
            return Evidence("each line has doc_id, labels and username, as in the first versions of doccano")
        if preview.files:
            return _recognize_folder(preview)
        if preview.has_columns("id", "label") and {"text", "data"} & set(preview.columns):
            return Evidence("the columns id, label and a text, in a file named by its user", certain=False)
        if preview.all_have("id", "label") and all(_is_classified(record) for record in preview.records()):
            by_comments = preview.all_have("Comments")
            more = " and Comments, as from doccano 1.8" if by_comments else ""
            return Evidence(f"each record has id, a text and a list of labels{more}", certain=by_comments)
        return None

    def read(self, source: str | Path) -> ImportResult:
        source, answers = Path(source), AnswerList()
        with opened_folder(source) as folder:
            paths = [folder] if not folder.is_dir() else _files_of(folder)
            for path in paths:
                user = self.annotator or path.name.split(".")[0]
                if user == "unknown":
                    answers.left_out["files unknown.* of items that nobody labeled"] += 1
                    continue
                for record, where in _records(path):
                    self._add(answers, record, user, where)
            several = any(len(answer.chosen) > 1 for answer in answers.answers)
            return answers.result(
                ErrorLocation(str(source)), classes=self.classes, several=several, repeats=self.repeats
            )

    def _add(self, answers: AnswerList, record: dict[str, Any], user: str, where: ErrorLocation) -> None:
        item = record.get(self.item)
        if "annotations" in record:
            _add_old(answers, item, record["annotations"], where)
            return
        if "username" in record and "labels" in record:
            found = "the labels of all users under the name of the first one"
            raise bad_field(found, "votes with their users", where, "export again with doccano 1.3 or later")
        if user == "all":
            fix = "export a project without *Share annotations across all users*; or name one user: --annotator NAME"
            raise bad_field("the labels of all users pooled in one file", "one file per user", where, fix)
        labels = record.get("label", record.get("cats"))
        if isinstance(labels, str):
            labels = [part for part in labels.split("#") if part]
        if labels is None or labels == []:
            answers.left_out["items without a label by a user"] += 1
        elif isinstance(labels, list) and all(isinstance(name, str) for name in labels):
            answers.add(item, user, dict.fromkeys(labels), where)
        else:
            answers.fault(show(labels), "a list of classes (spans and boxes are not read)", where)


def _add_old(answers: AnswerList, item: Any, annotations: Any, where: ErrorLocation) -> None:
    """The labels of doccano before 1.3: a list of label and user numbers, one entry per class."""
    by_user: dict[Any, list[Any]] = {}
    for each in annotations if isinstance(annotations, list) else [None]:
        if not isinstance(each, dict) or not all(isinstance(each.get(key), (int, str)) for key in ("label", "user")):
            answers.fault(show(each), "an annotation with label and user", where)
            return
        if "start_offset" in each:
            answers.left_out["spans, not read"] += 1
            continue
        by_user.setdefault(each["user"], []).append(each["label"])
    answers.left_out["items without a label"] += not by_user
    for user, labels in by_user.items():
        answers.add(item, user, dict.fromkeys(labels), where)


def _records(path: Path) -> list[Record]:
    kind_of(path, (CSV, JSON, JSON_LINES))
    return located_records(path) if path.read_bytes().strip() else []


def _files_of(folder: Path) -> list[Path]:
    paths = [path for path in sorted(folder.rglob("*")) if path.name.lower().endswith(ENDINGS)]
    if not paths:
        found, expected = "no export file", "files named by user: ana.jsonl, ben.jsonl"
        raise BadFile(found, expected, "export as JSONL, JSON or CSV", "no-such-file", folder)
    return paths


def _is_classified(record: dict[str, Any]) -> bool:
    labels = record.get("label")
    has_input = bool({"text", "data", "filename"} & record.keys())
    return has_input and isinstance(labels, list) and all(isinstance(name, str) for name in labels)


def _recognize_folder(preview: Preview) -> Evidence | None:
    names = [name for name in preview.files if name.lower().endswith((".jsonl", ".json"))]
    if not names or len(names) != len(preview.files) or any("/" in name for name in names):
        return None
    with opened_folder(preview.path) as folder:
        if not folder.is_dir():
            return None
        tables = [Preview.of(folder / name).records() for name in names if (folder / name).stat().st_size]
    if not tables or not all(records and all(map(_is_classified, records)) for records in tables):
        return None
    if len(tables) > 1 and not set.intersection(*({str(r.get("id")) for r in records} for records in tables)):
        return None
    return Evidence("one file per user, each with id, a text and a list of labels, and the same ids")
