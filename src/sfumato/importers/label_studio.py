"""Label Studio's JSON export: Choices, Rating and Number."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from sfumato.importers.importer import ImportResult, came_in
from sfumato.importers.label_studio_export import READ, LabelStudioAnswer, LabelStudioExport, bad_field
from sfumato.importers.source_columns import annotations_of, purposes
from sfumato.tables.errors import BadSetting, ErrorLocation, listing, show, unknown
from sfumato.tables.files import read_document


@dataclass(frozen=True)
class LabelStudioImporter:
    """Tasks with their annotations, as `choice`, `plausible`, `typicality` or `sliders` answers:

    - one Choices control, one class chosen: `choice`; several chosen anywhere: `plausible` (chosen yes, others no);
    - one Choices and one Rating or Number: `typicality` of the chosen class, the value divided by `scale`;
    - only Ratings or Numbers, each control named like a class: `sliders`, the values divided by `scale`.

    Where several Choices controls were answered, `label` says which one to read.
    `scale` is the top of the Rating or Number (Label Studio does not export it; a Rating goes to 5 by default).
    `item` names a field of the task's data to use as id instead of the task's number.
    """

    classes: tuple[str, ...] = ()
    item: str | None = None
    label: str | None = None
    scale: float | None = None
    repeats: bool = False

    name: ClassVar[str] = "label-studio"

    def __post_init__(self) -> None:
        if self.scale is not None and not self.scale > 0:
            raise BadSetting(
                f"found scale = {self.scale}",
                expected="a number above 0",
                fix="choose another scale",
                code="bad-setting",
            )

    def read(self, source: str | Path) -> ImportResult:
        path = Path(source)
        export = LabelStudioExport(path, self.item, self.label)
        tasks = read_document(path)
        if not isinstance(tasks, list):
            raise bad_field(path, "", type(tasks).__name__, "an array of tasks (the export format called JSON)")
        for number, task in enumerate(tasks):
            export.add_task(number, task)
        if not export.answers and self.label and export.left_out:
            seen = listing(sorted(export.left_out))
            raise bad_field(
                path,
                "",
                f"no answer to a control {show(self.label)} ({seen})",
                "a control that was answered",
                "see --label",
            )
        if not export.answers:
            raise bad_field(path, "", "no annotation that answers anything", f"annotations with {listing(READ)}")
        kind, payloads, classes = self._payloads(path, export.answers)
        columns = {
            "item": pa.array([a.item for a in export.answers], pa.string()),
            "annotator": pa.array([a.annotator for a in export.answers], pa.string()),
            "payload": pa.array(payloads, pa.string()),
            "submitted_at": pa.array([a.submitted_at for a in export.answers], pa.string()),
            "seconds": pa.array([a.seconds for a in export.answers], pa.float64()),
            "purpose": purposes(self._later(path, export.answers)),
        }
        table = annotations_of(columns, kind, classes, ErrorLocation(str(path)))
        notes = [
            f"{came_in(table)}; of kind {kind}",
            f"classes: {listing(classes)}"
            + ("" if self.classes else " (as found; set names and order with --classes)"),
        ]
        notes += [f"{n:,} {what}" for what, n in sorted(export.left_out.items()) if n]
        return ImportResult(table, tuple(notes))

    def _payloads(self, path: Path, answers: list[LabelStudioAnswer]) -> tuple[str, list[str], tuple[str, ...]]:
        has_choices = {bool(a.chosen) for a in answers}
        has_values = {bool(a.values) for a in answers}
        if len(has_choices) > 1 or len(has_values) > 1:
            odd = next(
                a
                for a in answers
                if (bool(a.chosen), bool(a.values)) != (bool(answers[0].chosen), bool(answers[0].values))
            )
            raise bad_field(
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
                        where=ErrorLocation(str(path), column=a.pointer),
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

    def _sliders(self, path: Path, answer: LabelStudioAnswer, classes: tuple[str, ...]) -> dict[str, float]:
        if missing := [name for name in classes if name not in answer.values]:
            raise bad_field(
                path, answer.pointer, f"no value for {listing(missing)}", "a Rating or Number for every class"
            )
        return {name: self._scaled(path, answer, answer.values[name]) for name in classes}

    def _typicality(self, path: Path, answer: LabelStudioAnswer) -> dict[str, Any]:
        if len(answer.chosen) != 1 or len(answer.values) != 1:
            found = f"{len(answer.chosen)} choices and {len(answer.values)} values"
            raise bad_field(path, answer.pointer, found, "one choice and one Rating or Number")
        return {
            "class": answer.chosen[0],
            "typicality": self._scaled(path, answer, next(iter(answer.values.values()))),
        }

    def _scaled(self, path: Path, answer: LabelStudioAnswer, value: float) -> float:
        scale = self.scale if self.scale is not None else 5.0 if answer.only_ratings else None
        if scale is None:
            raise bad_field(
                path,
                answer.pointer,
                f"the number {value:g}",
                "its largest possible value",
                "say it with --scale 100",
            )
        if not 0 <= value <= scale:
            raise bad_field(
                path,
                answer.pointer,
                f"the value {value:g}",
                f"0 to {scale:g}",
                "say the largest possible value with --scale",
            )
        return value / scale

    def _later(self, path: Path, answers: list[LabelStudioAnswer]) -> np.ndarray:
        """Which answers are a person's second to the same item; an error unless `repeats`."""
        seen: set[tuple[str, str]] = set()
        later = []
        for a in answers:
            later.append((a.item, a.annotator) in seen)
            seen.add((a.item, a.annotator))
            if later[-1] and not self.repeats:
                found = f"annotator {show(a.annotator)} answering item {show(a.item)} again"
                raise bad_field(
                    path,
                    a.pointer,
                    found,
                    "one answer of a person to an item",
                    "keep them, marked as repeats, with --repeats",
                    "duplicate-answer",
                )
        return np.array(later, dtype=bool)
