"""Exported checks, judged by their study."""

from __future__ import annotations

import json

import pyarrow as pa

from sfumato import Annotations
from sfumato.labeling.attention_checks import check_results
from sfumato.study.study import Arm, Check, ItemSource, Question, Region, Study, StudyClass

CLASSES = ("cat", "dog", "ship")
STUDY = Study(
    "pets",
    "Pets",
    tuple(StudyClass(name) for name in CLASSES),
    ItemSource(),
    checks=(
        Check("clear", Region(classes=("cat",), at_least=0.6)),
        Check("half", Region(near={"cat": 0.5, "dog": 0.5}, within=0.3)),
    ),
    arms=(Arm("rich", Question("tokens")), Arm("plain", Question("choice"))),
)


def tokens(item: str, cat: int, dog: int, purpose: str = "check") -> tuple[str, str, str, str]:
    return item, "tokens/1", json.dumps({"tokens": {"cat": cat, "dog": dog}, "others": False}), purpose


def choice(item: str, name: str) -> tuple[str, str, str, str]:
    return item, "choice/1", json.dumps({"class": name}), "check"


def test_every_form_is_held_against_the_region() -> None:
    rows = [
        (tokens("clear", 6, 4), True),
        (tokens("clear", 5, 5), False),
        (tokens("half", 8, 2), True),
        (tokens("half", 9, 1), False),
        (choice("clear", "cat"), True),
        (choice("clear", "ship"), False),
        (choice("half", "cat"), False),
    ]
    item, kind, payload, purpose = zip(*(row for row, _ in rows), strict=True)
    columns = {"item": item, "kind": kind, "payload": payload, "purpose": purpose, "annotator": ["ann"] * len(rows)}
    found = check_results(STUDY, Annotations.from_arrow(pa.table(columns), CLASSES))
    assert found.passed.tolist() == [right for _, right in rows]
    assert found.judged.all()


def test_only_checks_that_the_study_has_are_judged() -> None:
    rows = [tokens("clear", 1, 9, "label"), tokens("gone", 10, 0), tokens("clear", 10, 0)]
    item, kind, payload, purpose = zip(*rows, strict=True)
    columns = {"item": item, "kind": kind, "payload": payload, "purpose": purpose, "annotator": ["ann"] * 3}
    found = check_results(STUDY, Annotations.from_arrow(pa.table(columns), CLASSES))
    assert found.judged.tolist() == [False, False, True]
    assert found.passed.tolist() == [False, False, True]
