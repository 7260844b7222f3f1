"""LeWiDi: the JSON files of the shared tasks on learning with disagreements, editions 2023 and 2025."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from sfumato.importers.file_head import Evidence, Preview
from sfumato.importers.foreign_answers import AnswerList, bad_field
from sfumato.importers.importer import ImportResult
from sfumato.importers.source_columns import by_value
from sfumato.tables.errors import BadFile, ErrorLocation, show, unknown
from sfumato.tables.files.json import JsonContent, read_json

KEYS = {"annotation task", "annotations", "annotators", "soft_label", "split"}
NO_VOTES = ("_annotators_meta", "_test_clear")
"""Ends of the names of files without votes: descriptions of annotators, and tests with the votes removed."""
SPLIT_ENDS = ("_train", "_dev", "_test")
PARTS = ("votes", "binary")
SEVERITIES = ("-3", "-2", "-1", "0", "1")


@dataclass(frozen=True)
class LeWiDiImporter:
    """The votes of a file `<Set>_train.json` (or dev, test), or of a folder of them, as Annotations.

    Items of 2023 are `<split>:<id>`, because every file numbers its items from 1; those of 2025 keep their ids.
    ConvAbuse has five steps from -3 to 1; `part` "binary" reads negative steps as class 1 (abusive), the others as 0,
    as in the file's soft labels. VariErrNLI allows several classes: type `plausible`. Rounded `soft_label` values and
    `hard_label` (ties broken at random) are not read.
    """

    classes: tuple[str, ...] = ()
    part: str = "votes"
    split: str | None = None

    name: ClassVar[str] = "lewidi"

    def __post_init__(self) -> None:
        if self.part not in PARTS:
            raise unknown("part", self.part, PARTS)

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        if preview.path.is_dir():
            names = [name for name in preview.files if name.endswith(".json") and "/" not in name]
            votes = [name for name in names if not Path(name).stem.endswith(NO_VOTES)]
            if not votes or not votes[0].removesuffix(".json").endswith(SPLIT_ENDS):
                return None
            found = cls.recognize(Preview.of(preview.path / votes[0]))
            return found and replace(found, why=f"in {votes[0]} {found.why}")
        values = preview.entries()
        if not values or not all(isinstance(each, dict) and each.keys() >= KEYS for each in values):
            return None
        edition = "2023" if isinstance(values[0]["annotations"], str) else "2025"
        return Evidence(f"each entry has annotation task, annotations, annotators and soft_label, as in {edition}")

    def read(self, source: str | Path) -> ImportResult:
        answers, named, several = AnswerList(), dict[str, None](), False
        source = Path(source)
        for path in _files(source):
            content = read_json(path)
            for item, entry in _entries(content):
                if self.split not in (None, entry["split"]):
                    answers.left_out[f"items of the split {entry['split']}"] += 1
                    continue
                where = content.where(None, item)
                several |= _add(answers, item, entry, where, binary=self.part == "binary")
                named |= dict.fromkeys(_named(entry))
        if self.part == "binary":
            named = {"0": None, "1": None}
        known = list(named) if several else sorted(named, key=by_value)
        # Two of the published votes are by one annotator on one item.
        where = ErrorLocation(str(source))
        return answers.result(where, classes=self.classes, known=known, several=several, repeats=True)


def _files(source: Path) -> list[Path]:
    if not source.is_dir():
        return [source]
    names = (path for path in sorted(source.glob("*.json")) if not path.stem.endswith(NO_VOTES))
    if files := list(names):
        return files
    found, expected = "a folder without files of votes", "files named <Set>_train.json, _dev.json or _test.json"
    raise BadFile(found, expected, "give the path of a file", "no-such-file", source)


def _entries(content: JsonContent) -> Iterator[tuple[str, dict[str, Any]]]:
    entries = content.value if isinstance(content.value, dict) else {}
    for item, entry in entries.items():
        if not isinstance(entry, dict) or not entry.keys() >= KEYS:
            keys = ", ".join(sorted(KEYS))
            raise bad_field(show(entry), f"an entry with {keys}", content.where(None, item))
        yield item, entry
    if not entries:
        raise bad_field(type(content.value).__name__, "an object with one entry per item", content.where())


def _add(answers: AnswerList, item: str, entry: dict[str, Any], where: ErrorLocation, *, binary: bool) -> bool:
    """Add the votes about one item; returns whether the form allows several classes."""
    votes = entry["annotations"]
    if isinstance(votes, str):
        item = f"{entry['split']}:{item}"
        people, labels = str(entry["annotators"]).split(","), votes.split(",")
        if len(people) != len(labels):
            found = f"{len(labels)} annotations of {len(people)} annotators"
            answers.fault(found, "one annotation per annotator", where)
            return False
        pairs = list(zip(people, labels, strict=True))
    elif isinstance(votes, dict):
        pairs = [(name, str(label)) for name, label in votes.items()]
    else:
        answers.fault(show(votes), "annotations as text or as an object", where)
        return False
    several = _is_nested(entry["soft_label"])
    for annotator, label in pairs:
        chosen = [part.strip() for part in label.split(",")] if several else [label.strip()]
        if not label.strip():
            answers.left_out["empty votes (the file is without labels)"] += 1
        elif binary:
            answers.add(item, annotator, ["1" if label.strip().startswith("-") else "0"], where)
        else:
            answers.add(item, annotator, chosen, where)
    return several


def _is_nested(soft_label: Any) -> bool:
    return isinstance(soft_label, dict) and any(isinstance(value, dict) for value in soft_label.values())


def _named(entry: dict[str, Any]) -> list[str]:
    """The classes that the entry's soft label names; whole numbers as they are in the votes."""
    if isinstance(entry["annotations"], str) and str(entry["annotation task"]).startswith("abus"):
        return list(SEVERITIES)  # its soft label joins them to two classes
    if not isinstance(entry["soft_label"], dict):
        return []
    names = [str(name).removesuffix(".0") for name in entry["soft_label"]]
    # An early release of the sarcasm set has a class 0, which the form does not have.
    return [name for name in names if name != "0"] if entry["annotation task"] == "sarcasm detection" else names
