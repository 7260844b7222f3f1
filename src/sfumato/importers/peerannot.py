"""Imports peerannot folders (LabelMe, Music and one's own): `answers.json`, `metadata.json` and `train/`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from sfumato.importers.file_head import Evidence, Preview
from sfumato.importers.foreign_answers import AnswerList, bad_field
from sfumato.importers.importer import ImportResult, find_file
from sfumato.tables.errors import ErrorLocation, show
from sfumato.tables.files.json import read_json
from sfumato.tables.soft_labels import SoftLabels

LABELME = ("coast", "forest", "highway", "insidecity", "mountain", "opencountry", "street", "tallbuilding")
ANSWERS = "answers.json"
METADATA = "metadata.json"


@dataclass(frozen=True)
class PeerannotImporter:
    """`answers.json` has `{task: {worker: label}}`. Classes are the folders in `train/`, sorted, as peerannot has them;
    for LabelMe they are known; otherwise the numbers. The class folder of a file `train/<class>/<name>-<task>.png` is
    the true class of the task. Tasks are numbered by the machine that installed the data: only the file names in the
    same folder tell which picture a task is.
    """

    classes: tuple[str, ...] = ()

    name: ClassVar[str] = "peerannot"

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        if {ANSWERS, METADATA} <= set(preview.files) and preview.path.is_dir():
            described = read_json(preview.path / METADATA).value
            if isinstance(described, dict) and {"n_classes", "n_workers"} <= described.keys():
                return Evidence("a folder with answers.json, and metadata.json with n_classes and n_workers")
        if preview.path.name == ANSWERS and preview.entries() and all(map(_is_answers, preview.entries())):
            why = "objects of answers; but annotators and items may be exchanged, and without metadata.json it is open"
            return Evidence(why, certain=False)
        return None

    def read(self, source: str | Path) -> ImportResult:
        path = find_file(source, (ANSWERS,))
        content, folder = read_json(path), path.parent
        if not isinstance(content.value, dict):
            raise bad_field(type(content.value).__name__, "an object of tasks", content.where())
        described = _metadata(folder)
        truth = _true_classes(folder)
        answers = AnswerList()
        largest = _largest(content.value)
        names = self.classes or _class_names(folder, described, largest)
        notes = ["classes: the folders in train/, sorted"] if names and names == _folders(folder) else []
        for task, votes in content.value.items():
            if not _is_answers(votes):
                answers.fault(show(votes), "an object of worker: label", content.where(None, task))
                continue
            answers.left_out["tasks without an answer"] += not votes
            for worker, label in votes.items():
                where = content.where(None, task, worker)
                if isinstance(label, int) and names and not 0 <= label < len(names):
                    fix = "name all classes with --classes, in the order of their numbers"
                    answers.fault(f"the class number {label}", f"a number from 0 to {len(names) - 1}", where, fix)
                    continue
                is_number = isinstance(label, int) and bool(names)
                answers.add(task, worker, [names[label] if is_number else label], where)
        original = None
        known = {task: name for task, name in truth.items() if task in content.value and name in names}
        if known:
            original = SoftLabels.one_hot(list(known), list(known.values()), names)
            notes.append(f"true classes of {len(known):,} tasks from the files in train/")
        else:
            notes.append("without train/, nothing tells which picture a task is")
        return answers.result(
            ErrorLocation(str(path)), classes=self.classes, known=names, notes=notes, original=original
        )


def _is_answers(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return all(isinstance(each, (int, str)) and not isinstance(each, bool) for each in value.values())


def _largest(answers: dict[str, Any]) -> int:
    """The largest class number; -1 if the labels are names."""
    labels = [label for votes in answers.values() if isinstance(votes, dict) for label in votes.values()]
    return max((label for label in labels if isinstance(label, int)), default=-1)


def _metadata(folder: Path) -> dict[str, Any]:
    path = folder / METADATA
    described = read_json(path).value if path.is_file() else {}
    return described if isinstance(described, dict) else {}


def _folders(folder: Path) -> tuple[str, ...]:
    train = folder / "train"
    return tuple(sorted(each.name for each in train.iterdir() if each.is_dir())) if train.is_dir() else ()


def _class_names(folder: Path, described: dict[str, Any], largest: int) -> tuple[str, ...]:
    """The names of the class numbers; the numbers themselves if the names are not known or do not fit."""
    n_classes = described.get("n_classes")
    for names in (_folders(folder), LABELME if "labelme" in str(described.get("name")).lower() else ()):
        if names and len(names) == (n_classes or len(names)) and largest < len(names):
            return names
    if isinstance(n_classes, int) and 0 <= largest < n_classes <= 100_000:
        return tuple(map(str, range(n_classes)))
    return ()


def _true_classes(folder: Path) -> dict[str, str]:
    """Task number and class folder of every file in `train/`; names end in `-<task>`."""
    files = (path for path in sorted((folder / "train").glob("*/*")) if path.is_file())
    pairs = ((path.stem.rpartition("-")[2], path.parent.name) for path in files)
    return {str(int(task)): name for task, name in pairs if task.isascii() and task.isdigit()}
