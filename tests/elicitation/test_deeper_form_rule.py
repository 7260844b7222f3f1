"""Depth: a single choice first, the deeper form by one of its doors, and what the store says of why."""

from __future__ import annotations

import hashlib
import json
import random
import uuid
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from study_instance import StudyInstance, StudyPerson, items_named, plain_study

from sfumato.cli.checked_study import checked_study
from sfumato.elicitation.deeper_form_rule import DeeperFormRule
from sfumato.elicitation.page_messages import ShownTrial, SubmitResult, SubmittedAnswer
from sfumato.elicitation.session import StudyClosed
from sfumato.store.export import export
from sfumato.store.interaction_record import InteractionRecord
from sfumato.store.location import StoreLocation
from sfumato.store.verification import verify
from sfumato.study import read_study
from sfumato.study.study import Check, Deeper, People, PracticeItem, Question, Region, Study
from sfumato.tables.errors import BadStudy, InvalidAnswer

TOKENS = {"tokens": {"cat": 7, "dog": 3}, "others": False}


def study_with(people: People | None = None, **doors: Any) -> Study:
    deeper = Deeper(Question("tokens"), **{"unsure": True, **doors})
    return plain_study(people=people or People(answers_per_item=3, batch_size=4), deeper=deeper)


def running_instance(store: str, study: Study, n_items: int = 8) -> StudyInstance:
    return StudyInstance(store, study, items_named(n_items)).start()


def sent(trial: str, answer: dict[str, Any], key: str | None = None, **record: Any) -> SubmittedAnswer:
    key = key or str(uuid.uuid4())
    body = json.dumps({"key": key, "trial": trial, "answer": answer, "record": record})
    digest = hashlib.sha256(body.encode()).hexdigest()
    return SubmittedAnswer(key, trial, answer, InteractionRecord(elapsed_ms=1500, **record), body, digest)


def answer(person: StudyPerson, shown: ShownTrial, chosen: str | None = "cat") -> SubmitResult:
    """As a page would: None is somebody who is not sure."""
    if shown.question == 1:
        given = sent(shown.handle, TOKENS)
    elif chosen is None:
        given = sent(shown.handle, TOKENS, opened="unsure")
    elif shown.deeper:
        given = sent(shown.handle, TOKENS, opened="asked", first={"class": chosen})
    else:
        given = sent(shown.handle, {"class": chosen})
    outcome = person.submit(given)
    assert outcome.code is None
    return outcome


def answer_all(person: StudyPerson, chosen: str | None = "cat") -> list[ShownTrial]:
    shown = []
    while (state := person.state()).stage == "trials":
        shown.append(state.trials[0])
        answer(person, state.trials[0], chosen)
    return shown


# --- when it opens ---


def test_by_chance_as_often_as_the_share_says() -> None:
    rule, rng = DeeperFormRule(Deeper(Question("tokens"), share=0.25)), random.Random(7)
    drawn = [rule.draw(1, "label", rng) for _ in range(4000)]
    assert {each.probability for each in drawn} == {0.25}
    assert Counter(each.why for each in drawn)["random"] == pytest.approx(1000, abs=4 * (4000 * 0.25 * 0.75) ** 0.5)
    assert {rule.draw(1, "repeat", rng) for _ in range(50)} == {rule.draw(1, "practice", rng)}
    assert rule.draw(1, "repeat", rng).why is None


def test_an_item_is_uncertain_where_enough_answers_name_another_class() -> None:
    rule = DeeperFormRule(Deeper(Question("tokens"), disagreement=0.4))
    said: list[tuple[str | None, bool]] = [
        ("cat", False),  # one answer says nothing yet
        ("dog", True),  # 1 of 2
        ("cat", False),  # 1 of 3
        (None, True),  # who is not sure agrees with nobody: 2 of 4
        ("cat", True),  # 2 of 5
        ("cat", False),  # 2 of 6
    ]
    for chosen, uncertain in said:
        rule.add_choice(1, chosen)
        assert rule.is_uncertain(1) is uncertain
    assert not rule.is_uncertain(2)


def test_listed_and_uncertain_items_open_for_certain() -> None:
    rule, rng = DeeperFormRule(Deeper(Question("tokens"), share=0.5, disagreement=0.3), [5]), random.Random(1)
    for chosen in ("cat", "dog"):
        rule.add_choice(6, chosen)
    assert (rule.draw(5, "label", rng).why, rule.draw(5, "label", rng).probability) == ("listed", 1.0)
    assert (rule.draw(6, "label", rng).why, rule.draw(6, "label", rng).probability) == ("uncertain", 1.0)
    assert rule.draw(6, "check", rng).probability == 0.5  # nothing tells a check from an item


# --- in a running study ---


def test_who_is_not_sure_gets_the_deeper_form_and_the_store_says_so(store: str, tmp_path: Path) -> None:
    at = running_instance(store, study_with())
    person = at.new()
    first = person.first()
    assert (first.question, first.deeper) == (0, False)
    answer(person, first, None)
    answer(person, person.first(), "dog")
    rows = at.rows("SELECT kind, question, deeper, deeper_probability FROM answers JOIN trials ON trials.id = trial"
                   " ORDER BY answers.id")  # fmt: skip
    assert rows == [("tokens/1", 1, "unsure", 1.0), ("choice/1", 0, None, 0.0)]
    export(StoreLocation.of(store), "pets", tmp_path / "a.parquet", tmp_path / "r.parquet")
    records = pq.read_table(tmp_path / "r.parquet").to_pylist()
    assert [(row["deeper"], row["deeper_probability"], row["first"]) for row in records] == [
        ("unsure", 1.0, None),
        (None, 0.0, None),
    ]
    at.stop()
    assert [each.faults for each in verify(StoreLocation.of(store))] == [()]


def test_one_trial_one_answer_one_place_of_the_quota(store: str, tmp_path: Path) -> None:
    at = running_instance(store, study_with(share=0.5), 4)
    shown = [answer_all(at.new(), chosen) for chosen in ("cat", None, "dog")]
    assert [len(each) for each in shown] == [4, 4, 4]
    with pytest.raises(StudyClosed):
        at.new()
    assert set(at.answers_by_item().values()) == {3}
    assert at.one("SELECT count(DISTINCT trial) FROM answers") == 12
    export(StoreLocation.of(store), "pets", tmp_path / "a.parquet", tmp_path / "r.parquet")
    records = pq.read_table(tmp_path / "r.parquet").to_pylist()
    opened = {row["trial"]: row for row in records if row["deeper"] == "random"}
    assert opened  # by the seed
    assert all(json.loads(row["first"])["class"] in ("cat", "dog") for row in opened.values())
    assert {row["deeper_probability"] for row in records if row["deeper"] != "unsure"} == {0.5}
    at.stop()


def test_the_same_answer_again_is_the_same_answer(store: str) -> None:
    at = running_instance(store, study_with(share=1.0))
    person = at.new()
    shown = person.first()
    assert shown.deeper
    given = sent(shown.handle, TOKENS, "k", opened="asked", first={"class": "dog"})
    assert person.submit(given).answer == person.submit(given).answer
    late = sent(shown.handle, TOKENS, opened="asked", first={"class": "dog"})
    assert person.submit(late).code == "already-answered"
    assert at.one("SELECT count(*) FROM answers") == 1
    at.stop()


@pytest.mark.parametrize(
    ("doors", "answer", "record"),
    [
        ({"share": 1.0}, {"class": "cat"}, {}),  # drawn, and answered with the choice alone
        ({}, TOKENS, {"opened": "asked", "first": {"class": "cat"}}),  # not drawn
        ({}, TOKENS, {}),  # the deeper form, and not a word why
        ({"unsure": False, "share": 0.01}, TOKENS, {"opened": "unsure"}),  # no such door
        ({}, TOKENS, {"opened": "unsure", "first": {"class": "cat"}}),
        ({"share": 1.0}, TOKENS, {"opened": "asked"}),
        ({"share": 1.0}, TOKENS, {"opened": "asked", "first": {"class": "bird"}}),
        ({"share": 1.0}, TOKENS, {"opened": "asked", "first": {"tokens": {}}}),
    ],
)
def test_what_was_not_asked_is_not_taken(
    store: str, doors: dict[str, Any], answer: dict[str, Any], record: dict[str, Any]
) -> None:
    at = running_instance(store, study_with(**doors))
    person = at.new()
    with pytest.raises(InvalidAnswer):
        person.submit(sent(person.first().handle, answer, **record))
    assert at.one("SELECT count(*) FROM answers") == 0
    assert at.one("SELECT count(*) FROM trials WHERE deeper = 'unsure' OR question = 1") == 0
    at.stop()


def test_an_uncertain_item_is_known_again_after_a_restart(store: str) -> None:
    study = study_with(People(answers_per_item=9, batch_size=3), disagreement=0.5)
    at = running_instance(store, study, 3)
    for chosen in ("cat", "dog"):
        assert not any(shown.deeper for shown in answer_all(at.new(), chosen))
    assert at.new().first().deeper  # 1 of 2
    again = at.restarted()
    assert again.new().first().deeper
    third = again.new()
    assert all(shown.deeper for shown in answer_all(third, "cat"))  # 1 of 3 by then is below: asked ahead of it
    assert not again.new().first().deeper
    last = again.restarted()
    assert not last.new().first().deeper  # what was chosen before the deeper form counts as before
    assert {why for (why,) in last.rows("SELECT deeper FROM trials WHERE question = 1")} == {"uncertain"}
    last.stop()


def test_a_repeat_asks_as_the_first_time_and_checks_are_judged_in_either_form(store: str) -> None:
    seen: list[int] = []

    class Judge:
        def passes(self, region: Region, question: int, payload: Any) -> bool:
            seen.append(question)
            assert ("tokens" in payload) == (question == 1)
            return False

    study = replace(
        study_with(People(answers_per_item=9, batch_size=4, repeats=2), share=1.0),
        checks=(Check("i0", Region(("cat",), 0.5), 1),),
    )
    at = StudyInstance(store, study, items_named(8))
    at.running.check_judge = Judge()
    at.start()
    shown = answer_all(at.new())
    assert len(shown) == 4 + 2 + 1
    assert [(each.question, each.deeper) for each in shown[-2:]] == [(1, False)] * 2
    # All answers are compared, so that checks take no longer; of those to the check the region is its own.
    assert seen.count(1) == len(seen) > 1
    at.stop()


def test_a_deeper_form_taken_out_of_the_file_is_no_longer_asked(store: str) -> None:
    at = running_instance(store, study_with(share=1.0))
    person = at.new()
    assert person.first().deeper
    at = at.restarted(study=replace(at.study, deeper=None))
    person = at.same(person)
    assert not person.first().deeper
    answer(person, person.first(), "cat")
    at.stop()


# --- practice ---


def test_practice_says_whether_the_answer_lies_in_the_region(store: str) -> None:
    class Judge:
        def passes(self, region: Region, question: int, payload: Any) -> bool:
            return region.has({payload["class"]: 1.0} if question == 0 else {"cat": 0.7, "dog": 0.3})

    practice = (
        PracticeItem("i0", region=Region(("cat",), 0.9)),
        PracticeItem("i1", region=Region(("dog",), 0.9)),
        PracticeItem("i2", deeper=True, region=Region(("cat",), 0.6)),
        PracticeItem("i3", "Nothing said of it."),
    )
    at = StudyInstance(store, replace(study_with(), practice=practice), items_named(9))
    at.running.check_judge = Judge()
    at.start()
    person = at.new()
    passed = []
    for _ in practice:
        shown = person.first()
        assert shown.practice
        passed.append(answer(person, shown, "cat").passed)
    assert passed == [True, False, True, None]
    assert answer(person, person.first()).passed is None  # no feedback on answers that count
    assert at.one("SELECT deeper_probability FROM trials WHERE deeper = 'practice'") is None
    at.stop()


# --- the study file ---

STUDY = """
title = "Pets"
classes = ["cat", "dog"]
items = {{ csv = "items.csv" }}
{more}
"""
CHOICE = '[question]\nkind = "choice"\n'


def write(tmp_path: Path, more: str) -> Path:
    (tmp_path / "items.csv").write_text("item,text\na,one\nb,two\nc,three\n")
    (tmp_path / "study.toml").write_text(STUDY.format(more=more))
    return tmp_path


def test_the_doors_are_read_from_the_study_file(tmp_path: Path) -> None:
    usual = read_study(write(tmp_path, f'{CHOICE}[deeper]\nkind = "tokens"\ntokens = 20'))
    assert usual.deeper == Deeper(Question("tokens", settings={"tokens": 20}), unsure=True, share=0.1)
    shut = f'{CHOICE}[deeper]\nkind = "tokens"\nunsure = false\nshare = 0\ndisagreement = 0.4\nitems = ["a"]'
    assert read_study(write(tmp_path, shut)).deeper == Deeper(Question("tokens"), items=("a",), disagreement=0.4)
    checked_study(tmp_path, pictures=True)
    adaptive = f'{CHOICE}[people]\nassignment = "adaptive"\n[deeper]\nkind = "tokens"\nvotes = 2\nseconds = 9'
    assert read_study(write(tmp_path, adaptive)).deeper == Deeper(Question("tokens"), 2.0, 9.0)


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        (f'{CHOICE}[deeper]\nkind = "tokens"\nunsure = false\nshare = 0', "never-opens", "never opens"),
        ('[deeper]\nkind = "top_two"', "wrong-kind", "after the kind tokens"),
        (f'{CHOICE}[deeper]\nkind = "choice"', "same-kind", "choice"),
        (f'{CHOICE}[deeper]\nkind = "tokens"\nshare = 1.5', "out-of-range", "1.5"),
        (f'{CHOICE}[deeper]\nkind = "tokens"\nunsure = "yes"', "wrong-type", "'yes'"),
        (f"{CHOICE}[deeper]\nshare = 0.5", "missing-key", "no kind"),
        (f'{CHOICE}[deeper]\nkind = "tokens"\nitems = ["z"]', "unknown-item", "z"),
        ('[[practice]]\nitem = "a"\nclasses = ["bird"]', "unknown-class", "'bird'"),
        ('[question]\nkind = "typicality"\n[[practice]]\nitem = "a"\nnone_on = ["cat"]', "wrong-kind", "practice"),
    ],
)
def test_a_wrong_deeper_form_is_named_with_its_line(tmp_path: Path, more: str, code: str, words: str) -> None:
    with pytest.raises(BadStudy) as caught:
        checked_study(write(tmp_path, more), pictures=True)
    found = {each.code: each for each in caught.value.mistakes}
    assert code in found, {each.code: each.found for each in caught.value.mistakes}
    assert words in found[code].found
    assert found[code].where.line is not None
