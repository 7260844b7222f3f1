"""Imports Prodigy's `db-out` export (JSONL): choices, and accept or reject of one label at a time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from sfumato.importers.file_head import Evidence, Preview
from sfumato.importers.foreign_answers import AnswerList, unix_time, value_at
from sfumato.importers.importer import ImportResult
from sfumato.tables.errors import show
from sfumato.tables.files.json import JsonContent, read_json

ANSWERS = ("accept", "reject", "ignore")
ANNOTATOR_KEYS = ("_annotator_id", "_session_id")
STARTED = re.compile(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d")
"""A session without a name: the time when the server was started."""


@dataclass(frozen=True)
class ProdigyImporter:
    """One line per answer. With `options`: the chosen ones, type `choice`, or `plausible` if several are allowed.
    With one `label` per line: accept is yes and reject is no; `choice` between the label and `not LABEL` if only one
    label was asked, else `plausible`.

    `item` names another key of the item id than `_input_hash` (`meta.id`), `annotator` another one than
    `_annotator_id` and `_session_id`. Ignored answers, rejected choices (Prodigy: the chosen options do not apply) and
    records of the review recipe are left out and counted.
    """

    classes: tuple[str, ...] = ()
    item: str | None = None
    annotator: str | None = None
    repeats: bool = False

    name: ClassVar[str] = "prodigy"

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        if not preview.all_have("_input_hash", "_task_hash", "answer"):
            return None
        return Evidence("each line has _input_hash, _task_hash and answer")

    def read(self, source: str | Path) -> ImportResult:
        content = read_json(source)
        records = content.records()
        answers, known, notes = AnswerList(), dict[str, None](), list[str]()
        several = any(_has_several(record) for record in records)
        asked: dict[tuple[str, str], dict[str, Any]] = {}
        people = set()
        for number, record in enumerate(records):
            where = content.where(number)
            item, who = self._item(record), self._annotator(record)
            people.add(str(who))
            known |= dict.fromkeys(_options(record))
            if record.get("answer") not in ANSWERS:
                answers.fault(show(record.get("answer")), "an answer: accept, reject or ignore", where)
            elif record.get("_view_id") == "review":
                answers.left_out["records of the review recipe, which are not votes"] += 1
            elif record["answer"] == "ignore":
                answers.left_out["ignored answers"] += 1
            elif "options" in record or "accept" in record:
                self._add_choice(answers, content, number, several)
            elif "label" in record:
                asked.setdefault((str(item), str(who)), {"where": where, "record": record, "marks": {}})
                marks = asked[str(item), str(who)]["marks"]
                again = str(record["label"]) in marks
                marks[str(record["label"])] = "yes" if record["answer"] == "accept" else "no"
                answers.left_out["answers given again, of which the last counts"] += again
            else:
                answers.left_out["answers without options or a label (spans, text)"] += 1
        self._add_marks(answers, asked, notes)
        if any(STARTED.fullmatch(name) for name in people):
            notes.append("annotators named by a start time: sessions without a name, one per start of the server")
        return answers.result(
            content.where(), classes=self.classes, known=list(known), several=several, repeats=self.repeats, notes=notes
        )

    def _item(self, record: dict[str, Any]) -> Any:
        return value_at(record, self.item or "_input_hash")

    def _annotator(self, record: dict[str, Any]) -> Any:
        keys = (self.annotator,) if self.annotator else ANNOTATOR_KEYS
        return next((value for key in keys if (value := value_at(record, key)) is not None), None)

    def _add_choice(self, answers: AnswerList, content: JsonContent, number: int, several: bool) -> None:
        record, where = content.value[number], content.where(number)
        chosen = record.get("accept") or []
        if record["answer"] == "reject":
            answers.left_out["rejected choices (the chosen options do not apply)"] += 1
        elif not isinstance(chosen, list):
            answers.fault(show(chosen), "a list of chosen options", where)
        elif not chosen and not several:
            answers.left_out["accepted answers without a chosen option"] += 1
        else:
            at = unix_time(record.get("_timestamp"))
            who = self._annotator(record)
            if who is None:
                answers.fault("no annotator", "a key _annotator_id or _session_id", where, "name the key: --annotator")
                return
            answers.add(self._item(record), who, chosen, where, submitted_at=at)

    def _add_marks(self, answers: AnswerList, asked: dict[tuple[str, str], dict[str, Any]], notes: list[str]) -> None:
        """The yes and no of each annotator about each item, as one answer."""
        labels = {label for each in asked.values() for label in each["marks"]}
        for (item, _), each in asked.items():
            who = self._annotator(each["record"])
            at = unix_time(each["record"].get("_timestamp"))
            if who is None:
                fix = "name the key: --annotator"
                answers.fault("no annotator", "a key _annotator_id or _session_id", each["where"], fix)
            elif len(labels) == 1:
                (label,) = labels
                chosen = label if each["marks"][label] == "yes" else f"not {label}"
                answers.add(item, who, [chosen], each["where"], submitted_at=at)
            else:
                answers.add(item, who, [], each["where"], submitted_at=at, marks=each["marks"])
        partly = sum(len(each["marks"]) < len(labels) for each in asked.values())
        if partly:
            notes.append(f"{partly:,} answers about some of the labels only; the other labels are marked unsure")


def _options(record: dict[str, Any]) -> list[str]:
    options = record.get("options")
    if not isinstance(options, list):
        return []
    return [str(option["id"]) for option in options if isinstance(option, dict) and "id" in option]


def _has_several(record: dict[str, Any]) -> bool:
    """Whether several options were allowed, or chosen."""
    style = value_at(record, "config.choice_style")
    return style == "multiple" or (isinstance(record.get("accept"), list) and len(record["accept"]) > 1)
