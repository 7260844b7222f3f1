"""Arms: several forms on the same items, people drawn to one of them, quotas of each arm kept."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from study_instance import StudyInstance, StudyPerson, items_named, plain_study, sent

from sfumato.cli.checked_study import checked_study
from sfumato.elicitation.page_messages import ShownTrial, SubmittedAnswer
from sfumato.study import read_study
from sfumato.study.study import Arm, Check, People, Question, Region
from sfumato.tables.errors import BadStudy

FORMS = (Arm("choice", Question("choice")), Arm("tokens", Question("tokens")))


def running_instance(store: str, n_items: int = 5, **more: object) -> StudyInstance:
    people = People(answers_per_item=2, batch_size=3, repeats=1)
    study = replace(plain_study(people=people), question=FORMS[0].question, arms=FORMS, **more)
    return StudyInstance(store, study, items_named(n_items)).start()


def answer(person: StudyPerson, shown: ShownTrial) -> None:
    """As the form of the trial has it."""
    given = sent(shown.handle)
    if shown.question == 1:
        raw = {"tokens": {"cat": 7, "dog": 3}, "others": False}
        body = json.dumps({"key": given.key, "trial": shown.handle, "answer": raw})
        given = SubmittedAnswer(given.key, shown.handle, raw, given.record, body, given.digest)
    assert person.submit(given).code is None


def answer_all(person: StudyPerson) -> list[ShownTrial]:
    shown = []
    while (state := person.state()).stage == "trials":
        shown.append(state.trials[0])
        answer(person, state.trials[0])
    return shown


def test_arms_fill_evenly_and_each_has_its_quota(store: str) -> None:
    at = running_instance(store)
    forms = []
    while not at.run(lambda running: running.sessions.closed()):
        shown = answer_all(at.new())
        assert len({each.question for each in shown}) <= 1
        forms += [each.question for each in shown[:1]]
    arms = Counter(arm for (arm,) in at.rows("SELECT arm FROM annotators"))
    assert arms[0] == arms[1]
    assert set(forms) == {0, 1}
    filled = at.rows("SELECT item, kind, count(*) FROM answers WHERE purpose = 'label' GROUP BY item, kind")
    assert sorted(n for *_, n in filled) == [2] * 10  # five items, two forms, two answers each
    at.stop()


def test_a_person_stays_in_their_arm_over_a_restart(store: str) -> None:
    at = running_instance(store)
    people = [at.new() for _ in range(4)]
    before = [person.first().question for person in people]
    assert sorted(before) == [0, 0, 1, 1]
    for person in people:
        answer(person, person.first())
    again = at.restarted()
    assert [again.same(person).first().question for person in people] == before
    fifth, sixth = again.new(), again.new()
    assert sorted([fifth.first().question, sixth.first().question]) == [0, 1]
    again.stop()


def test_checks_and_repeats_are_asked_in_the_arm(store: str) -> None:
    at = running_instance(store, 8, checks=(Check("i0", Region(("cat",), 0.5), 1),))
    for _ in range(2):
        shown = answer_all(at.new())
        assert len(shown) == 3 + 1 + 1
        assert len({each.question for each in shown}) == 1
    assert {kind for (kind,) in at.rows("SELECT DISTINCT kind FROM answers")} == {"choice/1", "tokens/1"}
    at.stop()


def test_the_forms_that_are_compared_are_the_question(store: str) -> None:
    at = running_instance(store)
    at.stop()
    assert at.one("SELECT kind FROM studies") == "choice/1+tokens/1"


STUDY = """
title = "Pets"
classes = ["cat", "dog"]
items = {{ csv = "items.csv" }}
{more}
"""


def write(tmp_path: Path, more: str) -> Path:
    (tmp_path / "items.csv").write_text("item,text\na,one\nb,two\nc,three\n")
    (tmp_path / "study.toml").write_text(STUDY.format(more=more))
    return tmp_path


TWO = '[[arms]]\nkind = "choice"\n[[arms]]\nname = "ten tokens"\nkind = "tokens"\ntokens = 10\n'


def test_arms_are_one_entry_in_the_study_file(tmp_path: Path) -> None:
    study = read_study(write(tmp_path, TWO))
    assert study.arms == (
        Arm("choice", Question("choice")),
        Arm("ten tokens", Question("tokens", settings={"tokens": 10})),
    )
    assert study.question.kind == "choice"
    checked = checked_study(tmp_path, pictures=True)
    assert (checked.n_answers, checked.n_people) == (3 * 5 * 2, 10)


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        ('[[arms]]\nkind = "choice"', "out-of-range", "one arm"),
        ('[[arms]]\nkind = "choice"\n[[arms]]\nkind = "choice"', "doubled-arm", "twice"),
        ('[[arms]]\nname = "x"\n[[arms]]\nkind = "tokens"', "missing-key", "no kind"),
        (f'[question]\nkind = "choice"\n{TWO}', "two-forms", "[question] together with"),
        (f'[people]\nassignment = "adaptive"\n{TWO}', "two-forms", "adaptive"),
        (f'{TWO}[[arms]]\nkind = "triplets"', "unknown-kind", "triplets"),
        (f"{TWO.replace('tokens = 10', 'token = 10')}", "unknown-key", "'token'"),
        (f'{TWO}[[arms]]\nkind = "typicality"', "other-stimuli", "different items"),
    ],
)
def test_wrong_arms_are_named_with_their_line(tmp_path: Path, more: str, code: str, words: str) -> None:
    with pytest.raises(BadStudy) as caught:
        checked_study(write(tmp_path, more), pictures=True)
    found = {each.code: each for each in caught.value.mistakes}
    assert code in found, list(found)
    assert words in found[code].found
    assert found[code].where.line is not None
