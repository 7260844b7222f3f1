"""Label Studio's JSON export: Choices, Rating and Number."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from sfumato.errors import BadTable, Where, listing, show, unknown
from sfumato.files import read_document
from sfumato.imports.imported import Imported, annotations_of, came_in, purposes

READ = ("choices", "rating", "number")


@dataclass(frozen=True)
class LabelStudio:
    """Tasks with their annotations, as `choice`, `plausible`, `typicality` or `sliders` answers:

    - one Choices control, one class chosen: `choice`; several chosen anywhere: `plausible` (chosen yes, others no);
    - one Choices and one Rating or Number: `typicality` of the chosen class, the value divided by `scale`;
    - only Ratings or Numbers, each control named like a class: `sliders`, the values divided by `scale`.

    `scale` is the top of the Rating or Number (Label Studio does not export it; a Rating goes to 5 by default).
    `item` names a field of the task's data to use as id instead of the task's number.
    """

    classes: tuple[str, ...] = ()
    item: str | None = None
    scale: float | None = None
    repeats: bool = False

    name: ClassVar[str] = "label-studio"
    summary: ClassVar[str] = "Label Studio's JSON export: Choices, Rating, Number"

    def read(self, source: str | Path) -> Imported:
        path = Path(source)
        gathered = _Gathered(path, self.item)
        tasks = read_document(path)
        if not isinstance(tasks, list):
            raise _bad(path, "", type(tasks).__name__, "an array of tasks (the export format called JSON)")
        for number, task in enumerate(tasks):
            gathered.add_task(number, task)
        if not gathered.answers:
            raise _bad(path, "", "no annotation that answers anything", f"annotations with {listing(READ)}")
        kind, payloads, classes = self._payloads(path, gathered.answers)
        columns = {
            "item": pa.array([a.item for a in gathered.answers], pa.string()),
            "annotator": pa.array([a.annotator for a in gathered.answers], pa.string()),
            "payload": pa.array(payloads, pa.string()),
            "submitted_at": pa.array([a.submitted_at for a in gathered.answers], pa.string()),
            "seconds": pa.array([a.seconds for a in gathered.answers], pa.float64()),
            "purpose": purposes(self._later(path, gathered.answers)),
        }
        table = annotations_of(columns, kind, classes)
        notes = [
            f"{came_in(table)}; of kind {kind}",
            f"classes: {listing(classes)}" + ("" if self.classes else " (as found; fix them with --classes)"),
        ]
        notes += [f"{n:,} {what}" for what, n in sorted(gathered.left_out.items())]
        return Imported(table, tuple(notes))

    def _payloads(self, path: Path, answers: list[_Answer]) -> tuple[str, list[str], tuple[str, ...]]:
        has_choices = {bool(a.chosen) for a in answers}
        has_values = {bool(a.values) for a in answers}
        if len(has_choices) > 1 or len(has_values) > 1:
            odd = next(
                a
                for a in answers
                if (bool(a.chosen), bool(a.values)) != (bool(answers[0].chosen), bool(answers[0].values))
            )
            raise _bad(
                path,
                odd.pointer,
                "an answer of another shape than the first",
                "the same controls answered in every annotation",
            )
        named = sorted({name for a in answers for name in (a.chosen or a.values)})
        classes = self.classes or tuple(named)
        for a in answers:
            for name in a.chosen or a.values:
                if name not in classes:
                    raise unknown(
                        "class",
                        name,
                        list(classes),
                        where=Where(str(path), column=a.pointer),
                        fix="add it to --classes",
                    )
        if has_choices == {False}:
            return "sliders/1", [json.dumps(self._sliders(path, a, classes)) for a in answers], classes
        if has_values == {True}:
            return "typicality/1", [json.dumps(self._typicality(path, a)) for a in answers], classes
        if all(len(a.chosen) == 1 for a in answers):
            return (
                "choice/1",
                [json.dumps({"class": a.chosen[0]}, ensure_ascii=False) for a in answers],
                classes,
            )
        marks = [{name: "yes" if name in a.chosen else "no" for name in classes} for a in answers]
        return "plausible/1", [json.dumps(mark, ensure_ascii=False) for mark in marks], classes

    def _sliders(self, path: Path, answer: _Answer, classes: tuple[str, ...]) -> dict[str, float]:
        if missing := [name for name in classes if name not in answer.values]:
            raise _bad(path, answer.pointer, f"no value for {listing(missing)}", "a Rating or Number for every class")
        return {name: self._scaled(path, answer, answer.values[name]) for name in classes}

    def _typicality(self, path: Path, answer: _Answer) -> dict[str, Any]:
        if len(answer.chosen) != 1 or len(answer.values) != 1:
            found = f"{len(answer.chosen)} choices and {len(answer.values)} values"
            raise _bad(path, answer.pointer, found, "one choice and one Rating or Number")
        return {
            "class": answer.chosen[0],
            "typicality": self._scaled(path, answer, next(iter(answer.values.values()))),
        }

    def _scaled(self, path: Path, answer: _Answer, value: float) -> float:
        scale = self.scale if self.scale is not None else 5.0 if answer.only_ratings else None
        if scale is None:
            raise _bad(
                path,
                answer.pointer,
                f"the number {value:g}",
                "its largest possible value",
                "say it with --scale 100",
            )
        if not 0 <= value <= scale:
            raise _bad(
                path,
                answer.pointer,
                f"the value {value:g}",
                f"0 to {scale:g}",
                "say the largest possible value with --scale",
            )
        return value / scale

    def _later(self, path: Path, answers: list[_Answer]) -> np.ndarray:
        """Which answers are a person's second to the same item; an error unless `repeats`."""
        seen: set[tuple[str, str]] = set()
        later = []
        for a in answers:
            later.append((a.item, a.annotator) in seen)
            seen.add((a.item, a.annotator))
            if later[-1] and not self.repeats:
                found = f"annotator {show(a.annotator)} answering item {show(a.item)} again"
                raise _bad(
                    path,
                    a.pointer,
                    found,
                    "one answer of a person to an item",
                    "keep them, marked as repeats, with --repeats",
                    "duplicate-answer",
                )
        return np.array(later, dtype=bool)


@dataclass(frozen=True)
class _Answer:
    item: str
    annotator: str
    chosen: tuple[str, ...]
    values: dict[str, float]
    only_ratings: bool
    seconds: float | None
    submitted_at: str | None
    pointer: str


@dataclass
class _Gathered:
    """Answers as they are met in the document, and a count of everything that is none."""

    path: Path
    item_field: str | None
    answers: list[_Answer] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def add_task(self, number: int, task: Any) -> None:
        pointer = f"/{number}"
        if not isinstance(task, dict) or not isinstance(task.get("annotations"), list):
            raise _bad(self.path, pointer, show(task), "a task with `annotations` (export as JSON, not JSON-MIN)")
        self.left_out["predictions of models, not read"] += len(task.get("predictions") or [])
        for i, annotation in enumerate(task["annotations"]):
            self._add(task, annotation, f"{pointer}/annotations/{i}")

    def _add(self, task: dict[str, Any], annotation: Any, pointer: str) -> None:
        if not isinstance(annotation, dict) or not isinstance(annotation.get("result"), list):
            raise _bad(self.path, pointer, show(annotation), "an annotation with a `result` array")
        if annotation.get("was_cancelled"):
            self.left_out["annotations skipped by the annotator, no answer"] += 1
            return
        chosen: list[str] = []
        values: dict[str, float] = {}
        kinds = set()
        for j, result in enumerate(annotation["result"]):
            kind = result.get("type") if isinstance(result, dict) else None
            if kind not in READ:
                self.left_out[f"results of type {kind}, not read"] += 1
                continue
            value = result.get("value", {}).get(kind) if isinstance(result.get("value"), dict) else None
            kinds.add(kind)
            if kind == "choices" and isinstance(value, list) and value and all(isinstance(v, str) for v in value):
                chosen += value
            elif kind != "choices" and isinstance(value, (int, float)) and not isinstance(value, bool):
                values[str(result.get("from_name"))] = float(value)
            else:
                raise _bad(
                    self.path,
                    f"{pointer}/result/{j}/value",
                    show(value),
                    "chosen classes" if kind == "choices" else "a number",
                )
        if not kinds:
            self.left_out["annotations without Choices, Rating or Number"] += 1
            return
        who = annotation.get("completed_by")
        who = who.get("id") if isinstance(who, dict) else who
        what = task.get("data", {}).get(self.item_field) if self.item_field else task.get("id")
        for name, given in (("completed_by", who), (self.item_field or "id", what)):
            if not isinstance(given, (int, str)) or isinstance(given, bool) or given == "":
                raise _bad(self.path, f"{pointer}/{name}", show(given), f"{name} as a number or text")
        seconds = annotation.get("lead_time")
        self.answers.append(
            _Answer(
                str(what),
                str(who),
                tuple(chosen),
                values,
                kinds <= {"choices", "rating"},
                float(seconds) if isinstance(seconds, (int, float)) else None,
                annotation.get("created_at") if isinstance(annotation.get("created_at"), str) else None,
                pointer,
            )
        )


def _bad(
    path: Path,
    pointer: str,
    found: str,
    expected: str,
    fix: str = "export again, or mend the file",
    code: str = "bad-field",
) -> BadTable:
    return BadTable(
        f"found {found}",
        expected=expected,
        fix=fix,
        code=code,
        where=Where(str(path), column=pointer or None),
    )
