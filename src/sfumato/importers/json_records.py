"""Imports JSON and JSON Lines of votes or of counts: records, or one object by item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sfumato.importers.file_head import Evidence, Preview
from sfumato.importers.foreign_answers import AnswerList, bad_field, id_text, value_at
from sfumato.importers.importer import ImportResult
from sfumato.importers.source_columns import by_value
from sfumato.tables.class_columns import column_records, id_column
from sfumato.tables.counts import Counts
from sfumato.tables.errors import ErrorLocation, SfumatoError, listing, missing_column, raise_together, show, unknown
from sfumato.tables.files.json import JsonContent, read_json
from sfumato.tables.files.table_file import class_names

ANNOTATORS = ("annotator", "worker", "annotator_id", "worker_id", "user", "rater")
LABELS = ("label", "class", "answer")
SEVERAL = ("votes", "labels", "annotations", "answers")
COUNTS = ("counts", "label_counts", "label_count", "n_votes", "votes_per_class")
PARTS = ("votes", "counts", "by-annotator")


@dataclass
class VoteCounts:
    """Votes per class by item, without annotators."""

    by_item: dict[str, Counter[str]] = field(default_factory=dict)
    where: list[ErrorLocation] = field(default_factory=list)
    faults: list[SfumatoError] = field(default_factory=list)

    def add(self, item: Any, votes: dict[str, Any], where: ErrorLocation) -> None:
        """Add the votes about one item."""
        try:
            name = id_text(item, "an item id", where)
        except SfumatoError as fault:
            self.faults.append(fault)
            return
        if name in self.by_item:
            self.faults.append(bad_field(f"item {show(name)} a second time", "each item once", where))
        wrong = {key: n for key, n in votes.items() if type(n) is not int or n < 0}
        if wrong:
            self.faults.append(bad_field(show(wrong), "whole numbers of votes >= 0", where))
        elif not sum(votes.values()):
            self.faults.append(bad_field(f"no vote for item {show(name)}", "at least one vote", where))
        self.by_item[name] = Counter(votes)
        self.where.append(where)

    def result(self, given: tuple[str, ...], notes: list[str]) -> ImportResult:
        """The votes as Counts, over `given` classes or those found."""
        found = {name: None for votes in self.by_item.values() for name in votes}
        classes = given or tuple(sorted(found, key=by_value))
        for name in found:
            if name not in classes:
                self.faults.append(unknown("class", name, list(classes), self.where[0], "add it to --classes"))
        raise_together(self.faults)
        matrix = np.array([[votes[name] for name in classes] for votes in self.by_item.values()], np.int64)
        table = Counts.from_numpy(list(self.by_item), matrix, classes, place=lambda row, _: self._place(row))
        n = table.n_votes
        size = f"{len(table):,} items, {int(n.sum()):,} votes, {n.min()} to {n.max()} per item"
        as_found = "" if given else " (as found; set names and order with --classes)"
        return ImportResult(table, (size, f"classes: {listing(classes)}{as_found}", *notes))

    def _place(self, row: int | None) -> ErrorLocation:
        return self.where[row] if row is not None else ErrorLocation()


@dataclass(frozen=True)
class JsonEntry:
    """One record: its vote or votes, the annotator or annotators, and whether the votes are `counted` per class."""

    item: Any
    given: Any
    annotator: Any
    counted: bool
    where: ErrorLocation


@dataclass(frozen=True)
class JsonImporter:
    """Records with an item, an annotator and a label are votes. A record may also have all votes about its item: a
    list of classes (with a list of annotators), an object `{annotator: class}`, or a list of records; or their number:
    an object `{class: number}`, or a list in the order of `classes`. Instead of records, one object by item.

    Votes with annotators give Annotations, others Counts. `item`, `annotator` and `label` name the keys. `part` says
    `votes` or `counts` where an object of numbers can be either; `by-annotator` reads `{annotator: {item: class}}`.
    """

    item: str | None = None
    annotator: str | None = None
    label: str | None = None
    classes: tuple[str, ...] = ()
    part: str | None = None
    repeats: bool = False

    name: ClassVar[str] = "json"

    def __post_init__(self) -> None:
        if self.part is not None and self.part not in PARTS:
            raise unknown("part", self.part, PARTS)

    @classmethod
    def recognize(cls, preview: Preview) -> Evidence | None:
        if preview.value is None:
            return None
        records = column_records(preview.value) or preview.records()
        keys = set.intersection(*(set(record) for record in records)) if records else set()
        item = id_column([str(key) for key in keys])
        label = _first(keys, LABELS)
        if item and label and _first(keys, ANNOTATORS) and not isinstance(records[0][label], (dict, list)):
            return Evidence(f"each record has {item}, {_first(keys, ANNOTATORS)} and {label}", general=True)
        several = _first(keys, (*COUNTS, *SEVERAL))
        if item and several and _is_votes_or_counts(records[0][several]):
            why = f"each record has {item}, and {several} with all votes about it"
            return Evidence(why, certain=item != "id", general=True)
        others = [value for record in records for key, value in record.items() if key != item]
        if item and len(keys) > 2 and all(type(each) in (int, float) and each == int(each) >= 0 for each in others):
            return Evidence("numbers per class or per annotator in each record", certain=False)
        entries = preview.entries()
        if entries and all(_is_votes_or_counts(each) for each in entries):
            return Evidence("an object of votes or counts; the outer keys may be items or annotators", certain=False)
        return None

    def read(self, source: str | Path) -> ImportResult:
        content = read_json(source)
        answers, counts = AnswerList(), VoteCounts()
        notes: list[str] = []
        for entry in self._entries(content, notes):
            self._add(answers, counts, entry)
        if answers.answers and counts.by_item:
            raise bad_field("votes and counts in one file", "one of the two", content.where())
        if counts.by_item or counts.faults:
            notes.append("without annotators: the table is Counts")
            return counts.result(class_names(self.classes), notes)
        return answers.result(content.where(), classes=self.classes, repeats=self.repeats, notes=notes)

    def _entries(self, content: JsonContent, notes: list[str]) -> Iterator[JsonEntry]:
        records = column_records(content.value)
        if isinstance(content.value, dict) and self.part == "by-annotator":
            for person, given in content.value.items():
                where = content.where(None, person)
                if not isinstance(given, dict):
                    raise bad_field(show(given), "an object of items and classes", where)
                for item, vote in given.items():
                    yield JsonEntry(item, vote, person, False, where)
            return
        if isinstance(content.value, dict) and not records:
            for item, given in content.value.items():
                yield JsonEntry(item, given, None, self.part == "counts", content.where(None, item))
            return
        in_order = records or content.records()
        keys = list(dict.fromkeys(key for record in in_order for key in record))
        item = self.item or id_column(keys)
        label = self.label or _first(keys, (*LABELS, *COUNTS, *SEVERAL))
        if item is None or (label is None and self.annotator is not None):
            fix = "name the keys with --item NAME, --annotator NAME and --label NAME"
            raise missing_column(keys, "a key for the item and one for its votes", fix, content.where())
        names = (f"{name}{end}" for name in ANNOTATORS for end in ("", "s"))
        annotator = self.annotator or _first(keys, tuple(names))
        left = [key for key in keys if key not in (item, label, annotator)]
        if label is not None and left:
            notes.append(f"keys not read: {listing(left)}")
        counted = self.part == "counts" or (self.part is None and label in COUNTS)
        for number, record in enumerate(in_order):
            rest = {key: value for key, value in record.items() if key != item}
            given = rest if label is None else value_at(record, label)
            who = None if annotator is None else value_at(record, annotator)
            yield JsonEntry(value_at(record, item), given, who, counted, content.where(number))

    def _add(self, answers: AnswerList, counts: VoteCounts, entry: JsonEntry) -> None:
        """Add one vote, or all votes about an item."""
        item, given, who, where = entry.item, entry.given, entry.annotator, entry.where
        if isinstance(given, dict):
            self._add_object(answers, counts, entry)
        elif not isinstance(given, list) and who is None:
            fix = "name the keys with --annotator NAME and --label NAME"
            answers.fault(f"a vote without an annotator: {show(given)}", "an annotator, or all votes", where, fix)
        elif not isinstance(given, list):
            answers.add(item, who, [given], where)
        elif given and all(isinstance(each, dict) for each in given):
            for each in given:
                person, label = (_first(each, names) for names in (ANNOTATORS, LABELS))
                if person is None or label is None:
                    answers.fault(show(each), "a vote with an annotator and a label", where)
                    return
                answers.add(item, each[person], [each[label]], where)
        elif isinstance(who, list):
            if len(given) != len(who):
                answers.fault(f"{len(given)} votes of {len(who)} annotators", "one vote per annotator", where)
                return
            for person, label in zip(who, given, strict=True):
                answers.add(item, person, [label], where)
        elif entry.counted:
            if len(given) != len(self.classes):
                found, expected = f"{len(given)} numbers of votes", f"{len(self.classes)}, one per class in --classes"
                counts.faults.append(bad_field(found, expected, where, "name the classes with --classes, in order"))
                return
            counts.add(item, dict(zip(self.classes, given, strict=True)), where)
        elif all(isinstance(each, (str, int)) and not isinstance(each, bool) for each in given):
            counts.add(item, dict(Counter(map(str, given))), where)
        else:
            answers.fault(show(given), "a list of classes", where)

    def _add_object(self, answers: AnswerList, counts: VoteCounts, entry: JsonEntry) -> None:
        """Add an object: classes with their number of votes, or annotators with their vote."""
        item, given, where = entry.item, entry.given, entry.where
        given = {key: int(n) if isinstance(n, float) and n.is_integer() else n for key, n in given.items()}
        numeric = bool(given) and all(type(each) is int for each in given.values())
        named = bool(self.classes) and set(given) <= set(self.classes)
        if entry.counted or (self.part is None and numeric and named):
            counts.add(item, given, where)
        elif self.part is None and numeric:
            found = f"an object of numbers, {show(given)}, which may be votes per class or class numbers per annotator"
            answers.fault(
                found, "to know which", where, "give --part (counts, votes or by-annotator), or --classes NAMES"
            )
        else:
            answers.left_out["items without a vote"] += not given
            for person, label in given.items():
                answers.add(item, person, [label], where)


def _first(keys: Any, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in keys), None)


def _is_votes_or_counts(value: Any) -> bool:
    values = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else [None]
    plain = all(isinstance(each, (str, int)) and not isinstance(each, bool) for each in values)
    return plain or all(isinstance(each, dict) and _first(each, ANNOTATORS) and _first(each, LABELS) for each in values)
