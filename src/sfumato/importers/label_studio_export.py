"""The answers in Label Studio's JSON export, whatever question they answer; every fault with its JSON pointer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.tables.columns import is_moment
from sfumato.tables.errors import BadTable, ErrorLocation, listing, show

READ = ("choices", "rating", "number")


@dataclass(frozen=True)
class LabelStudioAnswer:
    """What one annotation says: classes chosen, numbers by control, by whom, about what, when, and where it stands."""

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
    """Answers as they are met in the document, and a count of everything that is none.

    `item_field` is the field of a task's data that names the item (None: the task's own number), `control` the Choices
    control to read (None: there is only one).
    """

    path: Path
    item_field: str | None
    control: str | None
    answers: list[LabelStudioAnswer] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def add_task(self, number: int, task: Any) -> None:
        pointer = f"/{number}"
        if not isinstance(task, dict) or not isinstance(task.get("annotations"), list):
            raise bad_field(self.path, pointer, show(task), "a task with `annotations` (export as JSON, not JSON-MIN)")
        predictions = task.get("predictions") or []
        if not isinstance(predictions, list):
            raise bad_field(self.path, f"{pointer}/predictions", show(predictions), "an array of predictions")
        self.left_out["predictions of models, not read"] += len(predictions)
        for i, annotation in enumerate(task["annotations"]):
            self._add(pointer, task, annotation, f"{pointer}/annotations/{i}")

    def _add(self, task_pointer: str, task: dict[str, Any], annotation: Any, pointer: str) -> None:
        if not isinstance(annotation, dict) or not isinstance(annotation.get("result"), list):
            raise bad_field(self.path, pointer, show(annotation), "an annotation with a `result` array")
        if annotation.get("was_cancelled"):
            self.left_out["annotations skipped by the annotator, no answer"] += 1
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
                self._moment(f"{pointer}/created_at", annotation.get("created_at")),
                pointer,
            )
        )

    def _results(self, results: list[Any], pointer: str) -> tuple[list[str], dict[str, float], set[str]]:
        """The classes chosen, the numbers given by control, and which kinds of result these were."""
        chosen: list[str] = []
        values: dict[str, float] = {}
        kinds = set()
        for j, result in enumerate(results):
            if not isinstance(result, dict):
                raise bad_field(self.path, f"{pointer}/{j}", show(result), "a result with a type and a value")
            kind = result.get("type")
            if kind not in READ:
                self.left_out[f"results of type {kind}, not read"] += 1
                continue
            control = str(result.get("from_name"))
            if kind == "choices" and self.control not in (None, control):
                self.left_out[f"answers to the control {control}, not read"] += 1
                continue
            if kind == "choices" and chosen:
                raise bad_field(
                    self.path,
                    f"{pointer}/{j}",
                    f"a second answer to Choices, of the control {show(control)}",
                    "one Choices control answered once",
                    "say which control to read with --label NAME",
                )
            if control in values:
                raise bad_field(
                    self.path, f"{pointer}/{j}", f"a second value for {show(control)}", "one value a control"
                )
            value: Any = result.get("value", {}).get(kind) if isinstance(result.get("value"), dict) else None
            kinds.add(kind)
            if kind == "choices" and isinstance(value, list) and value and all(isinstance(v, str) for v in value):
                chosen += value
            elif kind != "choices" and _is_number(value):
                values[control] = float(value)
            else:
                expected = "chosen classes" if kind == "choices" else "a number"
                raise bad_field(self.path, f"{pointer}/{j}/value", show(value), expected)
        return chosen, values, kinds

    def _item(self, pointer: str, task: dict[str, Any]) -> str:
        if self.item_field is None:
            return self._name(f"{pointer}/id", task.get("id"))
        data = task.get("data")
        value = data.get(self.item_field) if isinstance(data, dict) else None
        if isinstance(data, dict) and self.item_field not in data:
            found = f"no such field; there are {listing(sorted(data)) or 'none'}"
            raise bad_field(
                self.path, f"{pointer}/data/{self.item_field}", found, "a field that names the item", "see --item"
            )
        return self._name(f"{pointer}/data/{self.item_field}", value)

    def _name(self, pointer: str, value: Any) -> str:
        if not isinstance(value, (int, str)) or isinstance(value, bool) or not str(value).strip():
            raise bad_field(self.path, pointer, show(value), f"{pointer.rsplit('/', 1)[1]} as a number or text")
        return str(value)

    def _seconds(self, pointer: str, value: Any) -> float | None:
        if value is None:
            return None
        if not _is_number(value) or value < 0:
            raise bad_field(self.path, pointer, show(value), "a number of seconds, or null")
        return float(value)

    def _moment(self, pointer: str, value: Any) -> str | None:
        if value is None:
            return None
        if not isinstance(value, str) or not is_moment(value):
            raise bad_field(self.path, pointer, show(value), "a moment like 2026-01-31T12:00:00.000Z, or null")
        return value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def bad_field(
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
        where=ErrorLocation(str(path), column=pointer or None),
    )
