"""Adaptive studies: where answers tell most more are asked, items stop at their target, and a restart knows it all."""

from __future__ import annotations

import hashlib
import json
import random
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from study_instance import LEASE, StudyInstance, StudyPerson, items_named, plain_study, sent

from sfumato.elicitation.assignment import AnswerEvent, NextTrial
from sfumato.elicitation.page_messages import SubmittedAnswer
from sfumato.planning.adaptive_assignment import AdaptiveSelector, rule_of
from sfumato.planning.allocation import Allocation
from sfumato.planning.answer_value import ItemPosteriors
from sfumato.store.interaction_record import InteractionRecord
from sfumato.study.study import Adaptive, Assignment, Deeper, People, PracticeItem, Question, Study, StudyClass
from sfumato.tables.errors import BadSetting, UnknownName

SHARE_OF_DOGS = {"i0": 0.5, "i1": 0.3, "i2": 0.6, "i3": 0.2, "i4": 0.45}


def adaptive_study(rule: Adaptive | None = None, *, most: int = 12, batch: int = 8, **more: Any) -> Study:
    people = People(answers_per_item=most, batch_size=batch, assignment=Assignment.ADAPTIVE)
    return plain_study(people=people, adaptive=rule or Adaptive(target=0.03, audit=0.0), **more)


@pytest.fixture
def served(store: str) -> Iterator[Callable[..., StudyInstance]]:
    first: list[StudyInstance] = []

    def begin(study: Study, n_items: int = 8, **more: Any) -> StudyInstance:
        at = StudyInstance(
            store, study, items_named(n_items), selector=AdaptiveSelector(study, background=False), **more
        ).start()
        first.append(at)
        return at

    yield begin
    for each in {id(one): one for at in first for one in at.begun}.values():
        each.stop()


def anew(at: StudyInstance) -> StudyInstance:
    """The same store in a new process, which knows only what is stored."""
    return at.restarted(selector=AdaptiveSelector(at.study, background=False))


def says(item: str, number: int) -> str:
    """Everybody sees a cat, but in some items many see a dog: who, is drawn for each."""
    return "dog" if random.Random(f"{item}-{number}").random() < SHARE_OF_DOGS.get(item, 0) else "cat"


def run(at: StudyInstance, n_people: int) -> None:
    """People one after the other, each answering what they are given."""
    for number in range(n_people):
        if at.run(lambda running: running.sessions.closed()):
            return
        person = at.new()
        while (state := person.state()).stage == "trials":
            shown = state.trials[0]
            assert person.submit(sent(shown.handle, says(shown.stimulus.item, number))).code is None


def answers_of(at: StudyInstance) -> Counter[str]:
    with at.engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT i.item FROM answers a JOIN items i ON i.id = a.item").all()
    return Counter(row[0] for row in rows)


def test_items_in_doubt_get_more_answers_and_clear_ones_stop(served: Callable[..., StudyInstance]) -> None:
    at = served(adaptive_study(Adaptive(target=0.02, audit=0.0), batch=30), n_items=30)
    run(at, 12)
    n = answers_of(at)
    clear = [n[f"i{k}"] for k in range(5, 30)]
    assert np.mean(clear) < 0.6 * np.mean([n[item] for item in SHARE_OF_DOGS])
    # Never past the most, never before the fewest, and in the end nobody is asked any more.
    assert max(n.values()) <= 12
    assert min(n.values()) >= 2
    assert at.run(lambda running: running.sessions.closed()) == "full"
    # The expected error of every item that stopped early is within the target.
    selector = at.selector
    assert isinstance(selector, AdaptiveSelector)
    state = selector._updated_state()
    assert state is not None
    early = state.counts.sum(axis=1) < 12
    assert early.any()
    assert (ItemPosteriors(state.counts, state.prior).kl_risk[early] <= 0.02).all()


def test_what_was_saved(served: Callable[..., StudyInstance]) -> None:
    at = served(adaptive_study())
    run(at, 40)
    n, saved = answers_of(at), at.run(lambda running: running.selector.savings())
    assert (saved.n_items, saved.n_answers, saved.n_most) == (8, n.total(), 96)
    assert saved.n_finished == 8
    assert saved.n_saved == 96 - n.total()
    assert sum(k * items for k, items in enumerate(saved.answers_of_items)) == n.total()
    assert saved.error is not None
    assert 0 < saved.error < 0.1


def test_a_new_process_knows_what_the_old_one_did(served: Callable[..., StudyInstance]) -> None:
    at = served(adaptive_study(), n_items=12)
    run(at, 9)
    holder = at.new()
    held = [each.stimulus.item for each in holder.state().trials]
    before = at.selector
    later = anew(at)
    after = later.selector
    assert isinstance(before, AdaptiveSelector)
    assert isinstance(after, AdaptiveSelector)
    told, known = before._updated_state(), after._updated_state()
    assert told is not None
    assert known is not None
    assert np.array_equal(told.counts, known.counts)
    assert np.array_equal(before._taken, after._taken)
    assert np.array_equal(before._answered, after._answered)
    assert [each.stimulus.item for each in later.same(holder).state().trials] == held


def test_what_was_not_committed_was_not_heard(
    served: Callable[..., StudyInstance], monkeypatch: pytest.MonkeyPatch
) -> None:
    at = served(adaptive_study())
    person = at.new()
    answer = sent(person.first().handle, "dog")

    def breaks(running: Any) -> None:
        running.sessions.submit(person.token_hash, answer)
        raise sa.exc.OperationalError("the disk", None, Exception("is full"))

    with pytest.raises(Exception, match="the store failed"):
        at.run(breaks)
    selector = at.selector
    assert isinstance(selector, AdaptiveSelector)
    person.state()
    state = selector._updated_state()
    assert state is not None
    assert state.counts.sum() == 0
    assert person.submit(answer).code is None
    person.state()
    assert selector.savings().n_answers == 1


def test_people_at_once_are_sent_to_different_items(served: Callable[..., StudyInstance]) -> None:
    at = served(adaptive_study(batch=1), n_items=8)
    people = [at.new() for _ in range(8)]
    assert sorted(person.first().stimulus.item for person in people) == [f"i{k}" for k in range(8)]


def test_audited_items_get_two_more_votes_that_decide_nothing(served: Callable[..., StudyInstance]) -> None:
    rule = Adaptive(lead=2, index="lead", audit=0.4)
    at = served(adaptive_study(rule, most=6, batch=20), n_items=20)
    run(at, 12)
    with at.engine.connect() as connection:
        rows = connection.exec_driver_sql(
            "SELECT i.item, t.audit, t.probability FROM answers a JOIN trials t ON t.id = a.trial "
            "JOIN items i ON i.id = a.item"
        ).all()
    audits = Counter(item for item, audit, _ in rows if audit)
    assert 3 <= len(audits) <= 13
    assert set(audits.values()) == {2}
    assert all(0 < probability <= 1 for _, _, probability in rows)
    # From i5 on everybody agrees: an item is finished after two votes, and audited ones have two more.
    deciding = Counter(item for item, audit, _ in rows if not audit)
    assert all(deciding[f"i{k}"] == 2 for k in range(5, 20))
    selector = at.selector
    assert isinstance(selector, AdaptiveSelector)
    state = selector._updated_state()
    assert state is not None
    assert selector.room == 0
    assert state.counts.sum() == sum(deciding.values())
    assert max(answers_of(at).values()) <= 6


def test_audits_are_the_same_after_a_restart(served: Callable[..., StudyInstance]) -> None:
    study = adaptive_study(Adaptive(lead=2, index="lead", audit=0.4), most=6, batch=20)
    names = {k: f"i{k}" for k in range(50)}
    selectors = [AdaptiveSelector(study, background=False) for _ in range(2)]
    wanted = []
    for selector in selectors:
        selector.begin([(k, 6, 0) for k in names], names, [])
        wanted.append(selector._audits.tolist())
    assert wanted[0] == wanted[1]
    audited = wanted[0].index(2)
    event = AnswerEvent(audited, 0, {"class": "cat"}, 1, is_audit=True)
    selectors[1].begin([(k, 6, int(k == audited)) for k in names], names, [event])
    assert selectors[1]._audits[audited] == 1
    assert selectors[1]._state is not None
    assert selectors[1]._state.counts.sum() == 0


def test_nobody_can_compute_which_items_are_audited() -> None:
    """They followed from the name of the study and the ids of the items, which people may know."""
    study = adaptive_study(Adaptive(lead=2, index="lead", audit=0.4), most=6, batch=20)
    names = {k: f"i{k}" for k in range(50)}
    drawn = []
    for secret in ("", "0a" * 32, "0b" * 32, "0a" * 32):
        selector = AdaptiveSelector(study, background=False)
        selector.begin([(k, 6, 0) for k in names], names, [], secret)
        drawn.append(tuple(selector._audits.tolist()))
    assert drawn[1] == drawn[3]
    assert len(set(drawn)) == 3


def test_the_server_draws_audits_with_the_secret_of_its_store(served: Callable[..., StudyInstance]) -> None:
    at = served(adaptive_study(Adaptive(lead=2, index="lead", audit=0.4), most=6, batch=20), n_items=50)
    selector, apart = at.selector, AdaptiveSelector(at.study, background=False)
    assert isinstance(selector, AdaptiveSelector)
    items = [(item, 6, 0) for item in at.running.state.stimuli]
    names = {item: each.item for item, each in at.running.state.stimuli.items()}
    apart.begin(items, names, [], at.running.state.secret)
    assert selector._audits.tolist() == apart._audits.tolist()
    apart.begin(items, names, [])
    assert selector._audits.tolist() != apart._audits.tolist()


def test_items_without_room_for_two_more_votes_are_not_audited() -> None:
    selector = AdaptiveSelector(adaptive_study(Adaptive(audit=1.0), most=3), background=False)
    selector.begin([(k, 3, 0) for k in range(5)], {k: f"i{k}" for k in range(5)}, [])
    assert not selector._audits.any()


def test_lapsed_items_go_back(served: Callable[..., StudyInstance]) -> None:
    at = served(adaptive_study(Adaptive(audit=0.0), most=1, batch=8), n_items=3)
    away = at.new()
    held = {each.stimulus.item for each in away.state().trials}
    assert held
    at.clock.advance(2 * LEASE)
    other = at.new()
    other.answer_all()
    assert set(answers_of(at)) == {"i0", "i1", "i2"}
    assert max(answers_of(at).values()) == 1


DEEPER = Deeper(Question("tokens"), votes=30, seconds=1.0)


def deep_answer(trial: str, tokens: dict[str, int]) -> SubmittedAnswer:
    key = str(uuid.uuid4())
    raw = {"tokens": tokens, "others": False}
    body = json.dumps({"key": key, "trial": trial, "answer": raw, "record": {"elapsed_ms": 900}})
    return SubmittedAnswer(
        key, trial, raw, InteractionRecord(elapsed_ms=900), body, hashlib.sha256(body.encode()).hexdigest(), 0
    )


def give(person: StudyPerson, cat: int = 7) -> tuple[str, int]:
    shown = person.first()
    answer = deep_answer(shown.handle, {"cat": cat, "dog": 10 - cat}) if shown.question else sent(shown.handle)
    assert person.submit(answer).code is None
    return shown.stimulus.item, shown.question


def test_the_deeper_form_is_asked_where_it_is_worth_more(served: Callable[..., StudyInstance]) -> None:
    study = adaptive_study(Adaptive(audit=0.0, fewest=1, target=0.001, seconds=1.0), deeper=DEEPER, batch=4)
    at = served(study, n_items=2)
    person = at.new()
    # At the same price thirty votes beat one.
    item, question = give(person)
    assert question == 1
    selector = at.selector
    assert isinstance(selector, AdaptiveSelector)
    person.state()
    state = selector._updated_state()
    assert state is not None
    # Seven tokens of ten on one class are 21 votes for it.
    place = selector._place[selector._numbers[[f"i{k}" for k in range(2)].index(item)]]
    np.testing.assert_allclose(state.counts[place], [21, 9])
    with at.engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT kind FROM answers").all()
    assert rows == [("tokens/1",)]
    # The same after a restart.
    later = anew(at)
    later.new()
    assert isinstance(later.selector, AdaptiveSelector)
    found = later.selector._updated_state()
    assert found is not None
    assert np.array_equal(found.counts, state.counts)


def test_the_deeper_form_is_not_asked_where_it_is_dear(served: Callable[..., StudyInstance]) -> None:
    dear = Deeper(Question("tokens"), votes=1.07, seconds=40)
    at = served(adaptive_study(Adaptive(audit=0.0, seconds=2.0), deeper=dear))
    assert give(at.new())[1] == 0


def test_items_named_are_asked_about_deeply_in_any_case(served: Callable[..., StudyInstance]) -> None:
    dear = Deeper(Question("tokens"), votes=1.07, seconds=40, items=("i1",))
    at = served(adaptive_study(Adaptive(audit=0.0, seconds=2.0), deeper=dear, batch=3), n_items=3)
    person = at.new()
    assert dict(give(person) for _ in range(3)) == {"i0": 0, "i1": 1, "i2": 0}


def test_an_answer_to_the_other_form_is_refused(served: Callable[..., StudyInstance]) -> None:
    at = served(adaptive_study(Adaptive(audit=0.0), deeper=DEEPER))
    person = at.new()
    with pytest.raises(Exception, match="tokens"):
        person.submit(sent(person.first().handle))


def test_practice_and_repeats_ask_as_they_should(served: Callable[..., StudyInstance]) -> None:
    people = People(answers_per_item=5, batch_size=2, repeats=2, assignment=Assignment.ADAPTIVE)
    practice = (PracticeItem("i0"), PracticeItem("i1", deeper=True))
    deeper = Deeper(Question("tokens"), 1.0, 1.0, items=("i2",))
    study = plain_study(people=people, adaptive=Adaptive(audit=0.0), deeper=deeper, practice=practice)
    at = served(study, n_items=4)
    person = at.new()
    asked = [give(person) for _ in range(6)]
    assert asked[:2] == [("i0", 0), ("i1", 1)]
    assert sorted(asked[2:4]) == sorted(asked[4:6])
    assert dict(asked[2:4])["i2"] == 1


def heard(item: int, payload: dict[str, Any], question: int = 0) -> AnswerEvent:
    return AnswerEvent(item, question, payload)


@pytest.mark.parametrize(
    ("kind", "payload", "votes"),
    [
        ("choice", {"class": "dog"}, [0, 1, 0]),
        ("tokens", {"tokens": {"cat": 4, "dog": 1}, "others": False}, [0.8, 0.2, 0]),
        ("sliders", {"cat": 0.6, "dog": 0.2, "fox": 0.0}, [0.75, 0.25, 0]),
        ("plausible", {"cat": "yes", "dog": "yes", "fox": "no"}, [0.5, 0.5, 0]),
        ("plausible", {"cat": "no", "dog": "no", "fox": "no"}, [0, 0, 0]),
        (
            "top_two",
            {"first": "cat", "first_percent": 70, "second": "dog", "second_percent": 30, "impossible": []},
            [0.63, 0.27, 0.1],
        ),
    ],
)
def test_what_an_answer_counts(kind: str, payload: dict[str, Any], votes: list[float]) -> None:
    classes = tuple(StudyClass(name) for name in ("cat", "dog", "fox"))
    people = People(answers_per_item=9, assignment=Assignment.ADAPTIVE)
    study = Study("s", "S", classes, plain_study().items, Question(kind), people=people)
    selector = AdaptiveSelector(study, background=False)
    selector.begin([(5, 9, 1), (6, 9, 0)], {5: "a", 6: "b"}, [heard(5, payload)])
    state = selector._updated_state()
    assert state is not None
    np.testing.assert_allclose(state.counts, [votes, [0, 0, 0]], atol=1e-12)
    selector.add_answer(heard(6, payload))
    state = selector._updated_state()
    assert state is not None
    np.testing.assert_allclose(state.counts, [votes, votes], atol=1e-12)


def test_a_prior_fitted_aside_is_taken_once_it_is_there() -> None:
    study = adaptive_study(Adaptive(audit=0.0), most=30)
    in_background, inline = AdaptiveSelector(study), AdaptiveSelector(study, background=False)
    for selector in (in_background, inline):
        selector.begin([(item, 30, 0) for item in range(6)], {item: str(item) for item in range(6)}, [])
        for number in range(60):
            selector.add_answer(heard(number % 6, {"class": "dog" if number % 12 == 0 else "cat"}))
        assert isinstance(selector.choose((), random.Random(1)), NextTrial)
    assert in_background._fit is not None
    fitted = in_background._fit.result()
    in_background.add_answer(heard(0, {"class": "cat"}))
    inline.add_answer(heard(0, {"class": "cat"}))
    one, other = in_background._updated_state(), inline._updated_state()
    assert one is not None
    assert other is not None
    assert one.prior is fitted.prior
    assert np.array_equal(one.counts, other.counts)
    assert np.array_equal(one.worths, other.worths)


def test_a_failed_fit_does_not_stop_the_study(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_state: Allocation) -> Allocation:
        raise FloatingPointError("no such luck")

    monkeypatch.setattr(Allocation, "refit", fails)
    selector = AdaptiveSelector(adaptive_study(Adaptive(audit=0.0), most=30))
    selector.begin([(item, 30, 0) for item in range(6)], {item: str(item) for item in range(6)}, [])
    for number in range(60):
        selector.add_answer(heard(number % 6, {"class": "cat"}))
    assert selector.choose((), random.Random(1)) is not None
    assert selector._fit is not None
    assert selector._fit.exception() is not None
    selector.add_answer(heard(3, {"class": "dog"}))
    state = selector._updated_state()
    assert state is not None
    assert state.counts.sum() == 61
    assert selector.choose((), random.Random(1)) is not None


@pytest.mark.parametrize(
    ("study", "error", "says"),
    [
        (adaptive_study(Adaptive(index="klx")), UnknownName, "klx"),
        (adaptive_study(Adaptive(index="entropy", target=0.1)), BadSetting, "estimate the error"),
        (plain_study(people=adaptive_study().people, adaptive=Adaptive(), deeper=None), None, ""),
        (adaptive_study(Adaptive(index="lead", lead=3)), None, ""),
    ],
)
def test_rules_that_do_not_fit_are_refused(study: Study, error: type[Exception] | None, says: str) -> None:
    if error is None:
        rule_of(study)
        return
    with pytest.raises(error, match=says):
        rule_of(study)


def test_kinds_that_do_not_speak_of_one_item_are_refused() -> None:
    study = plain_study(people=adaptive_study().people)
    other = Study(study.name, "T", study.classes, study.items, Question("triplet"), people=study.people)
    with pytest.raises(BadSetting, match="the kind triplet"):
        rule_of(other)


def test_deeper_forms_work_with_every_index() -> None:
    rule = Adaptive(index="entropy", lead=3)
    with pytest.raises(BadSetting, match="cannot decide when"):
        rule_of(adaptive_study(rule, deeper=Deeper(Question("tokens"), 1.0, 1.0)))
    rule_of(adaptive_study(rule, deeper=Deeper(Question("tokens"), 1.0, 1.0, unsure=True, share=0.1)))


def test_a_choice_of_an_adaptive_study_may_open_the_deeper_form(served: Callable[..., StudyInstance]) -> None:
    dear = Deeper(Question("tokens"), votes=1.07, seconds=400, share=1.0)
    at = served(adaptive_study(deeper=dear))
    person = at.new()
    shown = person.first()
    assert (shown.question, shown.deeper) == (0, True)
    raw = {"tokens": {"cat": 6, "dog": 4}, "others": False}
    record = InteractionRecord(elapsed_ms=900, opened="asked", first={"class": "cat"})
    assert person.submit(SubmittedAnswer("k", shown.handle, raw, record, "", "d")).code is None
    assert at.rows("SELECT question, deeper, deeper_probability FROM trials WHERE state = 1") == [(1, "random", 1.0)]
    # The selector got it as votes of the deeper form, and a new process hears the same.
    counts = at.selector._updated_state().counts.sum(axis=0)
    np.testing.assert_allclose(counts, [1.07 * 0.6, 1.07 * 0.4])
    np.testing.assert_allclose(anew(at).selector._updated_state().counts.sum(axis=0), counts)
