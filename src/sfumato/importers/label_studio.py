"""Imports Label Studio's exports: Choices, Rating and Number. Errors name the JSON pointer."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from sfumato.importers.file_head import Evidence, Preview
from sfumato.importers.importer import ImportResult, located_in, summary
from sfumato.importers.label_studio_rows import read_annotation_rows
from sfumato.importers.source_columns import annotations_of, purposes
from sfumato.tables.columns import is_time
from sfumato.tables.errors import BadTable, ErrorLocation, listing, show, unknown
from sfumato.tables.files.file_type import CSV, JSON, TSV, kind_of
from sfumato.tables.files.json import read_document
from sfumato.tables.setting_checks import above_0

READ = ("choices", "rating", "number")
LEFT_OUT = {
    "was_cancelled": "annotations skipped by the annotator",
    "ground_truth": "reference annotations (ground truth), which are not votes",
}


@dataclass(frozen=True)
class LabelStudioAnswer:
    """One annotation: chosen classes, numbers by control, annotator, item, times, and its JSON pointer."""

    item: str
    annotator: str
    chosen: tuple[str, ...]
    values: dict[str, float]
    only_ratings: bool
    seconds: float | None
    submitted_at: str | None
    pointer: str


@dataclass
class LabelStudioExport:
    """The answers of the document, and counts of everything that was left out.

    `item_field` is the field of a task's data with the item id (None: the task's number), `control` the Choices control
    to read (None: there is only one).
    """

    item_field: str | None
    control: str | None
    answers: list[LabelStudioAnswer] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def add_task(self, number: int, task: Any) -> None:
        pointer = f"/{number}"
        if not isinstance(task, dict) or not isinstance(task.get("annotations"), list):
            raise _bad_field(pointer, show(task), "a task with `annotations`")
        predictions = task.get("predictions") or []
        if not isinstance(predictions, list):
            raise _bad_field(f"{pointer}/predictions", show(predictions), "an array of predictions")
        self.left_out["predictions of models, not imported"] += len(predictions)
        for i, annotation in enumerate(task["annotations"]):
            self._add(pointer, task, annotation, f"{pointer}/annotations/{i}")

    def _add(self, task_pointer: str, task: dict[str, Any], annotation: Any, pointer: str) -> None:
        if not isinstance(annotation, dict) or not isinstance(annotation.get("result"), list):
            raise _bad_field(pointer, show(annotation), "an annotation with a `result` array")
        for key, why in LEFT_OUT.items():
            if annotation.get(key):
                self.left_out[why] += 1
                return
        chosen, values, kinds = self._results(annotation["result"], f"{pointer}/result")
        if not kinds:
            self.left_out["annotations without Choices, Rating or Number"] += 1
            return
        who = annotation.get("completed_by")
        who = who.get("id") if isinstance(who, dict) else who
        self.answers.append(
            LabelStudioAnswer(
                self._item(task_pointer, task),
                self._name(f"{pointer}/completed_by", who),
                tuple(chosen),
                values,
                kinds <= {"choices", "rating"},
                self._seconds(f"{pointer}/lead_time", annotation.get("lead_time")),
                self._time(f"{pointer}/created_at", annotation.get("created_at")),
                pointer,
            )
        )

    def _results(self, results: list[Any], pointer: str) -> tuple[list[str], dict[str, float], set[str]]:
        """The chosen classes, the numbers by control, and the types of these results."""
        chosen: list[str] = []
        values: dict[str, float] = {}
        kinds = set()
        for j, result in enumerate(results):
            if not isinstance(result, dict):
                raise _bad_field(f"{pointer}/{j}", show(result), "a result with a type and a value")
            kind = result.get("type")
            if kind not in READ:
                self.left_out[f"results of type {kind}, not imported"] += 1
                continue
            control = str(result.get("from_name"))
            if kind == "choices" and self.control not in (None, control):
                self.left_out[f"answers to the control {control}, not imported"] += 1
                continue
            if kind == "choices" and chosen:
                found = f"a second answer to Choices, of the control {show(control)}"
                fix = "choose the control with --label NAME"
                raise _bad_field(f"{pointer}/{j}", found, "one Choices control answered once", fix)
            if control in values:
                raise _bad_field(f"{pointer}/{j}", f"a second value for {show(control)}", "one value per control")
            value: Any = result.get("value", {}).get(kind) if isinstance(result.get("value"), dict) else None
            kinds.add(kind)
            if kind == "choices" and isinstance(value, list) and value and all(isinstance(v, str) for v in value):
                chosen += value
            elif kind != "choices" and _is_number(value):
                values[control] = float(value)
            else:
                expected = "chosen classes" if kind == "choices" else "a number"
                raise _bad_field(f"{pointer}/{j}/value", show(value), expected)
        return chosen, values, kinds

    def _item(self, pointer: str, task: dict[str, Any]) -> str:
        if self.item_field is None:
            return self._name(f"{pointer}/id", task.get("id"))
        data = task.get("data")
        value = data.get(self.item_field) if isinstance(data, dict) else None
        if isinstance(data, dict) and self.item_field not in data:
            found = f"no such field; the fields are {listing(sorted(data)) or 'none'}"
            raise _bad_field(f"{pointer}/data/{self.item_field}", found, "a field with the item id", "see --item")
        return self._name(f"{pointer}/data/{self.item_field}", value)

    def _name(self, pointer: str, value: Any) -> str:
        if not isinstance(value, (int, str)) or isinstance(value, bool) or not str(value).strip():
            raise _bad_field(pointer, show(value), f"{pointer.rsplit('/', 1)[1]} as a number or text")
        return str(value)

    def _seconds(self, pointer: str, value: Any) -> float | None:
        if value is None:
            return None
        if not _is_number(value) or value < 0:
            raise _bad_field(pointer, show(value), "a number of seconds, or null")
        return float(value)

    def _time(self, pointer: str, value: Any) -> str | None:
        if value is None:
            return None
        if not isinstance(value, str) or not is_time(value):
            raise _bad_field(pointer, show(value), "a time like 2026-01-31T12:00:00.000Z, or null")
        return value


def _is_min(tasks: Any) -> bool:
    """Whether a document is JSON-MIN: one record per annotation."""
    return (
        isinstance(tasks, list)
        and bool(tasks)
        and all(isinstance(task, dict) and {"annotator", "annotation_id"} <= task.keys() for task in tasks)
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def _bad_field(
    pointer: str, found: str, expected: str, fix: str = "export again, or correct the file", code: str = "bad-field"
) -> BadTable:
    return BadTable(found, expected, fix, code, ErrorLocation(column=pointer or None))


@dataclass(frozen=True)
class LabelStudioImporter:
    """Tasks with their annotations (JSON), as `choice`, `plausible`, `typicality` or `sliders` answers:

    - one Choices control, one class chosen: `choice`; several chosen anywhere: `plausible` (chosen yes, others no);
    - one Choices and one Rating or Number: `typicality` of the chosen class, the value divided by `scale`;
    - only Ratings or Numbers, each control named like a class: `sliders`, the values divided by `scale`.

    `label` chooses between several Choices controls. `scale` is the largest value of the Rating or Number (Label Studio
    does not export it; a Rating has 5 by default). `item` names a field of the task's data with the item id.

    JSON-MIN, CSV and TSV have one record per annotation and do not tell controls from data: `label` names the control,
    whose choices or ratings are the classes.
    """

    classes: tuple[str, ...] = ()
    item: str | None = None
    label: str | None = None
    scale: float | None = None
    repeats: bool = False

    name: ClassVar[str] = "label-studio"

    def __post_init__(self) -> None:
        if self.scale is not None:
            above_0("scale", self.scale)

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        if preview.all_have("annotator", "annotation_id", "lead_time", "created_at"):
            kind = "JSON-MIN" if preview.value is not None else "CSV or TSV"
            return Evidence(f"each record has annotator, annotation_id and lead_time, as in {kind}")
        if not preview.all_have("annotations", "data"):
            return None
        given = [each for record in preview.records() for each in record["annotations"] or []]
        if all(isinstance(each, dict) and "result" in each for each in given):
            return Evidence("each task has data, and annotations with a result")
        return None

    def read(self, source: str | Path) -> ImportResult:
        path = Path(source)
        is_table = kind_of(path, (JSON, CSV, TSV)) is not JSON
        with located_in(path):
            tasks = None if is_table else read_document(path)
            if is_table or _is_min(tasks):
                return read_annotation_rows(path, self.classes, self.item, self.label, repeats=self.repeats)
            return self._read(tasks, ErrorLocation(str(path)))

    def _read(self, tasks: Any, where: ErrorLocation) -> ImportResult:
        export = LabelStudioExport(self.item, self.label)
        if not isinstance(tasks, list):
            raise _bad_field("", type(tasks).__name__, "an array of tasks (the export format called JSON)")
        for number, task in enumerate(tasks):
            export.add_task(number, task)
        if not export.answers and self.label and export.left_out:
            seen = listing(sorted(export.left_out))
            found = f"no answer to a control {show(self.label)} ({seen})"
            raise _bad_field("", found, "a control that was answered", "see --label")
        if not export.answers:
            raise _bad_field("", "no annotation with an answer", f"annotations with {listing(READ)}")
        kind, payloads, classes = self._payloads(export.answers)
        columns = {
            "item": pa.array([a.item for a in export.answers], pa.string()),
            "annotator": pa.array([a.annotator for a in export.answers], pa.string()),
            "payload": pa.array(payloads, pa.string()),
            "submitted_at": pa.array([a.submitted_at for a in export.answers], pa.string()),
            "seconds": pa.array([a.seconds for a in export.answers], pa.float64()),
            "purpose": purposes(self._later(export.answers)),
        }
        table = annotations_of(columns, kind, classes, where)
        notes = [
            f"{summary(table)}; question type {kind}",
            f"classes: {listing(classes)}"
            + ("" if self.classes else " (as found; set names and order with --classes)"),
        ]
        notes += [f"{n:,} {what}" for what, n in sorted(export.left_out.items()) if n]
        return ImportResult(table, tuple(notes))

    def _payloads(self, answers: list[LabelStudioAnswer]) -> tuple[str, list[str], tuple[str, ...]]:
        has_choices = {bool(a.chosen) for a in answers}
        has_values = {bool(a.values) for a in answers}
        if len(has_choices) > 1 or len(has_values) > 1:
            odd = next(
                a
                for a in answers
                if (bool(a.chosen), bool(a.values)) != (bool(answers[0].chosen), bool(answers[0].values))
            )
            expected = "answers to the same controls in every annotation"
            raise _bad_field(odd.pointer, "an answer with other controls than the first", expected)
        named = sorted({name for a in answers for name in (a.chosen or a.values)})
        classes = self.classes or tuple(named)
        for a in answers:
            for name in a.chosen or a.values:
                if name not in classes:
                    raise unknown("class", name, list(classes), ErrorLocation(column=a.pointer), "add it to --classes")
        if has_choices == {False}:
            return "sliders/1", [json.dumps(self._sliders(a, classes)) for a in answers], classes
        if has_values == {True}:
            return "typicality/1", [json.dumps(self._typicality(a)) for a in answers], classes
        if all(len(a.chosen) == 1 for a in answers):
            return "choice/1", [json.dumps({"class": a.chosen[0]}, ensure_ascii=False) for a in answers], classes
        marks = [{name: "yes" if name in a.chosen else "no" for name in classes} for a in answers]
        return "plausible/1", [json.dumps(mark, ensure_ascii=False) for mark in marks], classes

    def _sliders(self, answer: LabelStudioAnswer, classes: tuple[str, ...]) -> dict[str, float]:
        if missing := [name for name in classes if name not in answer.values]:
            raise _bad_field(answer.pointer, f"no value for {listing(missing)}", "a Rating or Number for every class")
        return {name: self._scaled(answer, answer.values[name]) for name in classes}

    def _typicality(self, answer: LabelStudioAnswer) -> dict[str, Any]:
        if len(answer.chosen) != 1 or len(answer.values) != 1:
            found = f"{len(answer.chosen)} choices and {len(answer.values)} values"
            raise _bad_field(answer.pointer, found, "one choice and one Rating or Number")
        return {
            "class": answer.chosen[0],
            "typicality": self._scaled(answer, next(iter(answer.values.values()))),
        }

    def _scaled(self, answer: LabelStudioAnswer, value: float) -> float:
        scale = self.scale if self.scale is not None else 5.0 if answer.only_ratings else None
        if scale is None:
            fix = "give it with --scale 100"
            raise _bad_field(answer.pointer, f"the number {value:g}", "a known largest value", fix)
        if not 0 <= value <= scale:
            fix = "give the largest value with --scale"
            raise _bad_field(answer.pointer, f"the value {value:g}", f"0 to {scale:g}", fix)
        return value / scale

    def _later(self, answers: list[LabelStudioAnswer]) -> np.ndarray:
        """Which answers are an annotator's second to the same item; an error unless `repeats`."""
        seen: set[tuple[str, str]] = set()
        later = []
        for a in answers:
            later.append((a.item, a.annotator) in seen)
            seen.add((a.item, a.annotator))
            if later[-1] and not self.repeats:
                found = f"annotator {show(a.annotator)} answering item {show(a.item)} again"
                expected, fix = "one answer per annotator and item", "import with --repeats to keep them as repeats"
                raise _bad_field(a.pointer, found, expected, fix, "duplicate-answer")
        return np.array(later, dtype=bool)
