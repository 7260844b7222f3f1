"""Wrong answers, kind by kind: refused with the field at fault, the trial stays open, and a good answer is stored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from site_client import AskedSite, asked_site

from sfumato.elicitation.kinds import KINDS
from sfumato.study.study import ItemSource, People, Question, Study, StudyClass

LONG = "x" * 10_000
TOP_TWO = {"first": "cat", "first_percent": 70, "second": "dog", "second_percent": 20, "impossible": ["ship"]}
GOOD: dict[str, dict[str, Any]] = {
    "choice": {"class": "cat"},
    "top_two": TOP_TWO,
    "plausible": {"cat": "yes", "dog": "unsure", "ship": "no"},
    "sliders": {"cat": 0.5, "dog": 1, "ship": 0},
    "tokens": {"tokens": {"cat": 7, "dog": 3}, "others": False},
    "typicality": {"typicality": 0.5},
    "similarity": {"rating": 3},
    "triplet": {"closer": "a"},
    "mixture": {"share": 0.3, "confidence": 1},
}
WRONG: dict[str, list[tuple[dict[str, Any], str]]] = {
    "choice": [
        ({}, "class"),
        ({"class": None}, "class"),
        ({"class": 1}, "class"),
        ({"class": ["cat"]}, "class"),
        ({"class": ""}, "class"),
        ({"class": "Cat"}, "class"),
        ({"class": "cat "}, "class"),
        ({"class": "саt"}, "class"),
        ({"class": LONG}, "class"),
        ({"class": "<script>"}, "class"),
        ({"class": "cat", "sure": True}, "sure"),
    ],
    "top_two": [
        ({}, "first"),
        (TOP_TWO | {"first": "hen"}, "first"),
        (TOP_TWO | {"first": None}, "first"),
        (TOP_TWO | {"first_percent": None}, "first_percent"),
        (TOP_TWO | {"first_percent": 0}, "first_percent"),
        (TOP_TWO | {"first_percent": 101, "second": None, "second_percent": None}, "first_percent"),
        (TOP_TWO | {"first_percent": -1}, "first_percent"),
        (TOP_TWO | {"first_percent": "70"}, "first_percent"),
        (TOP_TWO | {"first_percent": True}, "first_percent"),
        (TOP_TWO | {"second": "cat"}, "second"),
        (TOP_TWO | {"second": "hen"}, "second"),
        (TOP_TWO | {"second": None}, "second_percent"),
        (TOP_TWO | {"second_percent": None}, "second_percent"),
        (TOP_TWO | {"second_percent": 31}, "second_percent"),
        (TOP_TWO | {"first_percent": 20, "second_percent": 30}, "second_percent"),
        (TOP_TWO | {"impossible": ["hen"]}, "impossible"),
        (TOP_TWO | {"impossible": ["cat"]}, "impossible"),
        (TOP_TWO | {"impossible": ["ship", "ship"]}, "impossible"),
        (TOP_TWO | {"impossible": "ship"}, "impossible"),
        (TOP_TWO | {"impossible": None}, "impossible"),
        (TOP_TWO | {"third": "ship"}, "third"),
    ],
    "plausible": [
        ({}, "cat"),
        ({"cat": "yes", "dog": "no"}, "ship"),
        (GOOD["plausible"] | {"hen": "no"}, "hen"),
        (GOOD["plausible"] | {"dog": "maybe"}, "dog"),
        (GOOD["plausible"] | {"dog": True}, "dog"),
        (GOOD["plausible"] | {"dog": None}, "dog"),
        (GOOD["plausible"] | {"dog": []}, "dog"),
        (GOOD["plausible"] | {"dog": {}}, "dog"),
    ],
    "sliders": [
        ({}, "cat"),
        ({"cat": 1, "dog": 0}, "ship"),
        (GOOD["sliders"] | {"hen": 0}, "hen"),
        (GOOD["sliders"] | {"dog": 1.0001}, "dog"),
        (GOOD["sliders"] | {"dog": -0.1}, "dog"),
        (GOOD["sliders"] | {"dog": "1"}, "dog"),
        (GOOD["sliders"] | {"dog": True}, "dog"),
        (GOOD["sliders"] | {"dog": None}, "dog"),
        (GOOD["sliders"] | {"dog": [1]}, "dog"),
        (GOOD["sliders"] | {"dog": 10**18}, "dog"),
    ],
    "tokens": [
        ({}, "tokens"),
        ({"tokens": {}, "others": False}, "tokens"),
        ({"tokens": {"cat": 10}}, "others"),
        ({"tokens": {"cat": 9}, "others": False}, "tokens"),
        ({"tokens": {"cat": 11}, "others": False}, "tokens"),
        ({"tokens": {"cat": 11, "dog": -1}, "others": False}, "tokens"),
        ({"tokens": {"cat": 5.5, "dog": 4.5}, "others": False}, "tokens"),
        ({"tokens": {"cat": "10"}, "others": False}, "tokens"),
        ({"tokens": {"hen": 10}, "others": False}, "tokens"),
        ({"tokens": {"cat": 10, "hen": 0}, "others": False}, "tokens"),
        ({"tokens": [10], "others": False}, "tokens"),
        ({"tokens": {"cat": 10**12}, "others": False}, "tokens"),
        ({"tokens": {"cat": 10}, "others": 1}, "others"),
        ({"tokens": {"cat": 10}, "others": None}, "others"),
        ({"tokens": {"cat": 10}, "others": False, "undo": 1}, "undo"),
    ],
    "typicality": [
        ({}, "typicality"),
        ({"typicality": None}, "typicality"),
        ({"typicality": 1.1}, "typicality"),
        ({"typicality": -0.1}, "typicality"),
        ({"typicality": 0.55}, "typicality"),
        ({"typicality": "0.5"}, "typicality"),
        ({"typicality": True}, "typicality"),
        ({"typicality": 0.5, "class": "dog"}, "class"),
    ],
    "similarity": [
        ({}, "rating"),
        ({"rating": None}, "rating"),
        ({"rating": 7}, "rating"),
        ({"rating": -1}, "rating"),
        ({"rating": 2.5}, "rating"),
        ({"rating": "3"}, "rating"),
        ({"rating": True}, "rating"),
        ({"rating": 3, "other": "t1"}, "other"),
    ],
    "triplet": [
        ({}, "closer"),
        ({"closer": None}, "closer"),
        ({"closer": "c"}, "closer"),
        ({"closer": "A"}, "closer"),
        ({"closer": ["a"]}, "closer"),
        ({"closer": "t1"}, "closer"),
        ({"closer": "a", "a": "t1"}, "a"),
    ],
    "mixture": [
        ({}, "share"),
        ({"share": 0.5}, "confidence"),
        ({"share": 1.5, "confidence": 1}, "share"),
        ({"share": -0.5, "confidence": 1}, "share"),
        ({"share": "0.5", "confidence": 1}, "share"),
        ({"share": True, "confidence": 1}, "share"),
        ({"share": 0.5, "confidence": None}, "confidence"),
        ({"share": 0.5, "confidence": 100}, "confidence"),
        ({"share": 0.5, "confidence": 1, "classes": ["cat", "dog"]}, "classes"),
    ],
}


def test_every_kind_is_here() -> None:
    assert set(GOOD) == set(WRONG) == {kind.name for kind in KINDS}


@pytest.fixture(scope="module", params=GOOD)
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedSite]:
    folder: Path = tmp_path_factory.mktemp(request.param)
    rows = "".join(f"t{i},text {i},cat,cat,dog\n" for i in range(4))
    (folder / "texts.csv").write_text("item,text,class,first,second\n" + rows)
    study = Study(
        request.param,
        "Texts",
        tuple(map(StudyClass, ("cat", "dog", "ship"))),
        ItemSource(csv=folder / "texts.csv"),
        Question(request.param),
        people=People(answers_per_item=9, batch_size=4),
        path=folder / "study.toml",
    )
    with asked_site(study) as opened:
        yield opened


def test_wrong_answers_are_refused_by_name_and_nothing_is_lost(asked: AskedSite) -> None:
    name = asked.study.question.kind
    person = asked.ready()
    state = person.state()
    trial = state["trials"][0]["trial"]
    before = asked.rows()
    for wrong, field in WRONG[name]:
        body = person.body(wrong, trial=trial)
        reply = person.submit(body)
        said = reply.json
        assert (reply.status, said["code"]) == (422, "invalid-answer"), (wrong, said)
        # Where it stands may be said more closely: tokens[...] for an entry of tokens.
        assert said["field"].partition("[")[0] == field, (wrong, said)
        assert set(said) == {"code", "found", "expected", "fix", "field"}
        assert len(reply.body) < 1000, wrong
        # The same wrong answer is wrong again: its key is not taken by it.
        assert person.submit(body).status == 422
    assert asked.rows() == before
    assert person.state() == state
    key = "good"
    reply = person.submit(person.body(GOOD[name], trial=trial, key=key))
    assert reply.status == 201, reply.json
    (row,) = asked.stored()
    stored = json.loads(row["payload"])
    assert {field: stored[field] for field in GOOD[name]} == GOOD[name]
    assert (row["key"], row["kind"]) == (key, f"{name}/1")


def test_a_key_of_a_wrong_answer_serves_for_the_right_one(asked: AskedSite) -> None:
    name = asked.study.question.kind
    person = asked.ready()
    trial = person.trial()["trial"]
    wrong, _ = WRONG[name][0]
    assert person.submit(person.body(wrong, trial=trial, key="k")).status == 422
    assert person.submit(person.body(GOOD[name], trial=trial, key="k")).status == 201
