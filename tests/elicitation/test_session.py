"""The rules of a running study, each through the writer, on both databases, by a clock set by hand."""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import study_instance
from loaded_python import loaded_sfumato
from study_instance import DAY, LEASE, Serve, StudyPerson, items_named, plain_study, running_instance, sent

from sfumato.elicitation.page_messages import ShownTrial
from sfumato.elicitation.participant_link import new_token
from sfumato.store.database import only_server
from sfumato.store.location import StoreLocation
from sfumato.study.stimulus import Stimulus
from sfumato.study.study import ComprehensionQuestion, Entry, Limits, People, PracticeItem, StudyClass
from sfumato.tables.errors import BadSetting, InvalidAnswer, NotNow, NotThere

QUESTIONS = (
    ComprehensionQuestion("What is asked?", ("cats", "cars"), "cats"),
    ComprehensionQuestion("May one doubt?", ("yes", "no"), "yes"),
)
ONE_EACH = People(answers_per_item=1, batch_size=4)
NO_REMINDER = Limits(lease_minutes=LEASE / 60, remind_after_minutes=1e7)


def items_of(person: StudyPerson) -> list[str]:
    return [shown.stimulus.item for shown in person.state().trials]


# --- stages ---


def test_stages_come_in_order(serve: Serve) -> None:
    at = serve(plain_study(consent="May we?", instructions="Look.", comprehension=QUESTIONS))
    person = at.new(ready=False)
    assert person.state().stage == "consent"
    assert person.finish_instructions().stage == "consent"
    assert person.comprehension("cats", "yes").stage == "consent"
    assert person.consent().stage == "instructions"
    assert person.consent().stage == "instructions"
    asked = person.finish_instructions()
    assert (asked.stage, asked.attempts_left, asked.trials) == ("comprehension", 3, ())
    begun = person.comprehension("cats", "yes")
    assert (begun.stage, begun.answered, begun.wanted) == ("trials", 0, 4)
    assert [shown.number for shown in begun.trials] == [1, 2, 3]
    person.answer_all()
    done = person.state()
    assert (done.stage, done.answered, done.trials) == ("finished", 4, ())
    assert done.code
    assert person.state().code == done.code


def test_without_consent_text_and_questions_only_the_instructions_stand_before_the_trials(serve: Serve) -> None:
    person = serve().new(ready=False)
    assert person.state().stage == "instructions"
    assert person.finish_instructions().stage == "trials"


def test_who_fails_the_questions_too_often_is_excluded(serve: Serve) -> None:
    at = serve(plain_study(comprehension=QUESTIONS, limits=Limits(comprehension_attempts=2)))
    person = at.new()
    once = person.comprehension("cars", "yes")
    assert (once.stage, tuple(once.wrong), once.attempts_left) == ("comprehension", (0,), 1)
    with pytest.raises(InvalidAnswer) as caught:
        person.comprehension("cats")
    assert caught.value.code == "invalid-answer"
    assert person.state().attempts_left == 1
    assert person.comprehension("cars", "no").stage == "excluded"
    assert person.comprehension("cats", "yes").stage == "excluded"
    assert at.same(person).state().trials == ()
    again = at.restarted()
    assert again.same(person).state().stage == "excluded"
    assert again.one("SELECT count(*) FROM trials") == 0


def test_attempts_are_remembered_through_a_restart(serve: Serve) -> None:
    at = serve(plain_study(comprehension=QUESTIONS))
    person = at.new()
    person.comprehension("cars", "no")
    assert at.restarted().same(person).state().attempts_left == 2


def test_links_only(serve: Serve) -> None:
    at = serve(plain_study(people=People(entry=Entry.LINKS)))
    with pytest.raises(NotNow) as caught:
        at.run(lambda running: running.sessions.join())
    assert caught.value.code == "links-only"
    token = new_token(at.one("SELECT secret FROM studies"))
    with pytest.raises(NotThere):
        StudyPerson(at, token).state()
    seed = at.run(lambda running: running.sessions.open_link(token))
    assert at.run(lambda running: running.sessions.open_link(token)) == seed
    assert StudyPerson(at, token).state().stage == "instructions"
    with pytest.raises(NotThere) as unknown:
        at.run(lambda running: running.sessions.open_link(token[:-1] + ("A" if token[-1] != "A" else "B")))
    assert unknown.value.code == "unknown-link"
    assert at.one("SELECT count(*) FROM annotators") == 1


def test_fifty_at_once_by_one_link_are_one_person(serve: Serve) -> None:
    at = serve(plain_study(people=People(entry=Entry.LINKS)))
    token = new_token(at.one("SELECT secret FROM studies"))
    with ThreadPoolExecutor(10) as pool:
        seeds = set(pool.map(lambda _: at.run(lambda running: running.sessions.open_link(token)), range(50)))
    assert (len(seeds), at.one("SELECT count(*) FROM annotators")) == (1, 1)


def test_a_link_nobody_has(serve: Serve) -> None:
    at = serve()
    for ask in (StudyPerson.state, StudyPerson.finish_instructions, StudyPerson.heartbeat, StudyPerson.withdraw):
        with pytest.raises(NotThere) as caught:
            ask(StudyPerson(at, "x" * 32))
        assert caught.value.code == "unknown-link"


def test_nothing_can_be_answered_before_it_is_given(serve: Serve) -> None:
    at = serve(plain_study(consent="May we?"))
    person, other = at.new(ready=False), at.new(ready=False)
    other.consent()
    trial = other.finish_instructions().trials[0].handle
    for handle in (trial, "no-such-trial", ""):
        with pytest.raises(NotThere) as caught:
            person.submit(sent(handle))
        assert caught.value.code == "unknown-trial"
    assert at.one("SELECT count(*) FROM answers") == 0


def test_the_instructions_come_again_after_a_long_gap(serve: Serve) -> None:
    at = serve(plain_study(comprehension=QUESTIONS, limits=Limits(lease_minutes=10, remind_after_minutes=60)))
    person = at.new()
    before = person.comprehension("cats", "yes").trials[0].handle
    at.clock.advance(59 * 60)
    assert person.state().stage == "trials"
    at.clock.advance(61 * 60)
    assert person.state().stage == "instructions"
    back = person.finish_instructions()
    assert (back.stage, back.trials[0].handle) == ("trials", before)
    person.answer_all()
    at.clock.advance(DAY)
    assert person.state().stage == "finished"


# --- leases ---


def test_a_late_answer_is_taken_while_its_item_has_room(serve: Serve) -> None:
    at = serve(plain_study(people=ONE_EACH), items_named(1))
    person = at.new()
    trial = person.first().handle
    at.clock.advance(LEASE)
    at.run(lambda running: None)
    assert at.rows("SELECT state FROM trials") == [(2,)]
    outcome = person.submit(sent(trial))
    assert (outcome.code, outcome.again, outcome.state.stage) == (None, False, "finished")
    assert at.answers_by_item() == {"i0": 1}


def test_a_late_answer_is_kept_aside_when_somebody_else_has_the_item(serve: Serve) -> None:
    at = serve(plain_study(people=ONE_EACH), items_named(1))
    person, other = at.new(), at.new()
    trial = person.first().handle
    at.clock.advance(LEASE)
    assert other.first().stimulus.item == "i0"
    late = sent(trial)
    for again in (False, True):
        outcome = person.submit(late)
        assert (outcome.code, outcome.again, outcome.state.stage) == ("given-to-others", again, "empty")
    other.answer()
    assert person.submit(sent(trial)).code == "given-to-others"
    assert at.answers_by_item() == {"i0": 1}
    assert at.rows("SELECT code, body FROM refused ORDER BY id")[0] == ("given-to-others", late.body)


def test_a_lease_ends_after_its_time_and_not_before(serve: Serve) -> None:
    at = serve(plain_study(people=ONE_EACH), items_named(1))
    person, other = at.new(), at.new()
    person.state()
    at.clock.advance(LEASE - 1)
    assert other.state().stage == "empty"
    at.clock.advance(1)
    assert items_of(other) == ["i0"]


@pytest.mark.parametrize("sign", [StudyPerson.heartbeat, StudyPerson.state])
def test_a_lease_is_renewed_while_its_owner_is_there(serve: Serve, sign: Callable[[StudyPerson], object]) -> None:
    at = serve(plain_study(people=ONE_EACH), items_named(1))
    person, other = at.new(), at.new()
    person.state()
    for _ in range(4):
        at.clock.advance(0.6 * LEASE)
        sign(person)
        assert other.state().stage == "empty"
    at.clock.advance(LEASE)
    assert items_of(other) == ["i0"]


def test_a_lapsed_trial_goes_back_to_its_owner_first_with_the_same_handle(serve: Serve) -> None:
    at = serve(stimuli=items_named(8))
    person = at.new()
    before = [shown.handle for shown in person.state().trials]
    at.clock.advance(2 * LEASE)
    at.run(lambda running: None)
    assert [shown.handle for shown in person.state().trials] == before
    assert at.one("SELECT count(*) FROM trials") == 3


@pytest.mark.parametrize("days", [1, -1, 400, -400])
def test_jumps_of_the_clock_end_no_lease(serve: Serve, days: int) -> None:
    at = serve(plain_study(people=ONE_EACH, limits=NO_REMINDER), items_named(1))
    person, other = at.new(), at.new()
    trial = person.first().handle
    for jump in (days, -days, days):
        at.clock.jump(jump * DAY)
        at.clock.advance(LEASE / 5)
        assert other.state().stage == "empty"
    assert person.first().handle == trial
    at.clock.jump(-days * DAY)
    assert person.submit(sent(trial)).code is None
    assert at.answers_by_item() == {"i0": 1}


def test_a_clock_set_back_before_a_restart_lengthens_no_lease(serve: Serve) -> None:
    at = serve(plain_study(people=ONE_EACH), items_named(1))
    person = at.new()
    person.state()
    at.clock.jump(-DAY)
    again = at.restarted()
    other = again.new()
    assert other.state().stage == "empty"
    at.clock.advance(LEASE)
    assert items_of(other) == ["i0"]


def test_a_clock_jump_ends_no_lease_when_memory_is_reloaded(serve: Serve) -> None:
    at = serve(plain_study(people=ONE_EACH, limits=NO_REMINDER), items_named(1))
    person, other = at.new(), at.new()
    trial = person.first().handle
    at.clock.jump(DAY)
    # As after a failed group, or when another server of the same database has written.
    at.run(lambda running: running.end() or running.forget() or running.begin(running.transaction))
    assert other.state().stage == "empty"
    assert person.submit(sent(trial)).code is None


def test_a_lease_that_ends_while_its_owner_is_not_in_memory_is_given_back(serve: Serve) -> None:
    at = serve(plain_study(people=ONE_EACH), items_named(1))
    person, other = at.new(), at.new()
    trial = person.first().handle
    again = at.restarted()
    person, other = again.same(person), again.same(other)
    at.clock.advance(LEASE)
    # The first thing that happens after the lease has ended is that its owner opens the page.
    again.run(lambda running: running.sessions.seed(person.token_hash))
    assert items_of(other) == ["i0"]
    other.answer()
    assert person.submit(sent(trial)).code == "given-to-others"
    assert again.answers_by_item() == {"i0": 1}


# --- who is shown what ---


def test_practice_comes_first_and_never_counts(serve: Serve) -> None:
    practice = (PracticeItem("i3", "A cat."), PracticeItem("i1"))
    at = serve(plain_study(people=People(answers_per_item=1, batch_size=2), practice=practice))
    person = at.new()
    assert [shown.practice for shown in person.state().trials] == [True, True, False]
    shown = person.answer_all()
    assert [(each.stimulus.item, each.practice) for each in shown[:2]] == [("i3", True), ("i1", True)]
    assert [each.practice for each in shown[2:]] == [False, False]
    done = person.state()
    assert (done.stage, done.answered, done.wanted) == ("finished", 2, 2)
    other = at.new()
    assert [each.stimulus.item for each in other.answer_all()[:2]] == ["i3", "i1"]
    assert set(at.answers_by_item()) == {"i0", "i2", "i4", "i5"}
    assert at.one("SELECT count(*) FROM answers WHERE purpose = 'practice'") == 4


def test_practice_waits_for_its_person(serve: Serve) -> None:
    at = serve(plain_study(practice=(PracticeItem("i0"),)))
    person = at.new()
    trial = person.first()
    at.clock.advance(50 * 60)
    assert person.first() == trial
    assert trial.practice
    assert at.restarted().same(person).first() == trial


def test_repeats_come_after_each_batch_and_are_of_it(serve: Serve) -> None:
    at = serve(stimuli=items_named(30), answers_per_item=3, batch_size=5, batches=3, repeats=2)
    for _ in range(3):
        person = at.new()
        items = [shown.stimulus.item for shown in person.answer_all()]
        assert len(items) == 3 * 7
        for start in (0, 7, 14):
            batch, repeats = items[start : start + 5], items[start + 5 : start + 7]
            assert set(repeats) < set(batch)
            assert len(set(repeats)) == 2
        assert len(set(items)) == 15
        done = person.state()
        assert (done.stage, done.answered, done.wanted) == ("finished", 21, 21)
    assert at.one("SELECT count(*) FROM answers WHERE purpose = 'repeat'") == 18
    assert max(at.answers_by_item().values()) <= 3


def test_fewest_first(serve: Serve) -> None:
    at = serve(stimuli=items_named(8), answers_per_item=3, batch_size=8)
    for n_people in (1, 2, 3):
        at.new().answer_all()
        assert at.answers_by_item() == {f"i{number}": n_people for number in range(8)}


@pytest.mark.parametrize("quota", [1, 3])
def test_fifty_people_at_once_fill_every_quota_and_none_is_exceeded(serve: Serve, quota: int) -> None:
    at = serve(stimuli=items_named(30), answers_per_item=quota, batch_size=5)
    people = [at.new() for _ in range(50)]
    shown: list[list[ShownTrial]] = [[] for _ in people]
    with ThreadPoolExecutor(8) as pool:
        # Who finds nothing while others hold the rest comes back in the next round.
        for _ in range(5):
            for theirs, more in zip(shown, pool.map(StudyPerson.answer_all, people), strict=True):
                theirs += more
    for theirs in shown:
        assert len({each.stimulus.item for each in theirs}) == len(theirs) <= 5
    assert at.answers_by_item() == {f"i{number}": quota for number in range(30)}
    assert {person.state().stage for person in people} == {"finished"}
    twice = at.rows("SELECT item, annotator FROM answers GROUP BY item, annotator HAVING count(*) > 1")
    assert twice == []


def test_near_the_end_nobody_keeps_a_reserve(serve: Serve) -> None:
    at = serve(stimuli=items_named(3), answers_per_item=1, batch_size=3)
    first, second, third, fourth = (at.new() for _ in range(4))
    assert len(first.state().trials) == 3
    at.clock.advance(LEASE)
    assert [len(person.state().trials) for person in (second, third)] == [3, 0]
    assert {third.state().stage, fourth.state().stage, first.state().stage} == {"empty"}


def test_empty_while_something_may_come_back_and_finished_only_then(serve: Serve) -> None:
    at = serve(plain_study(people=ONE_EACH), items_named(2))
    person, other = at.new(), at.new()
    held = items_of(person)
    if len(held) == 2:
        person.answer()
    else:
        other.answer()
    waiting = next(each for each in (person, other) if not each.state().trials)
    assert (waiting.state().stage, waiting.state().code) == ("empty", None)
    holder = person if waiting is other else other
    holder.answer()
    assert waiting.state().stage == "finished"
    assert waiting.state().code
    assert waiting.state().code != holder.state().code


def test_what_i_have_answered_cannot_come_back_to_me(serve: Serve) -> None:
    at = serve(plain_study(people=People(answers_per_item=2, batch_size=4)), items_named(1))
    person, other = at.new(), at.new()
    person.answer()
    assert items_of(other) == ["i0"]
    assert person.state().stage == "finished"


def test_nobody_is_given_more_than_their_batches(serve: Serve) -> None:
    at = serve(stimuli=items_named(6), answers_per_item=1, batch_size=2)
    person = at.new()
    lost = set(items_of(person))
    assert len(lost) == 2
    at.clock.advance(LEASE)
    # Others are given what lapsed, and the person does their batch with other items.
    others = {}
    while not lost <= {item for held in others.values() for item in held}:
        other = at.new()
        others[other.token] = items_of(other)
    for token, held in others.items():
        if not lost & set(held):
            StudyPerson(at, token).withdraw()
    assert not lost & {shown.stimulus.item for shown in person.answer_all()}
    done = person.state()
    assert (done.stage, done.answered) == ("finished", 2)
    at.clock.advance(LEASE)
    after = person.state()
    assert (after.stage, after.answered, after.code) == ("finished", 2, done.code)


# --- researchers' requests ---


def test_withdrawing_gives_back_what_is_held_and_keeps_what_was_answered(serve: Serve) -> None:
    at = serve(stimuli=items_named(4), answers_per_item=1, batch_size=4)
    person, other = at.new(), at.new()
    done = person.answer().stimulus.item
    assert person.withdraw().stage == "withdrawn"
    assert person.withdraw().trials == ()
    rest = {shown.stimulus.item for shown in other.answer_all()}
    assert rest == {"i0", "i1", "i2", "i3"} - {done}
    assert other.state().stage == "finished"
    assert at.restarted().same(person).state().stage == "withdrawn"
    assert sum(at.answers_by_item().values()) == 4


def test_nothing_new_is_given_while_paused_and_answers_are_taken(serve: Serve) -> None:
    at = serve(stimuli=items_named(8), answers_per_item=2, batch_size=8)
    person = at.new()
    held = [shown.handle for shown in person.state().trials]
    at.run(lambda running: running.pause(True))
    assert at.new().state().stage == "paused"
    assert [shown.handle for shown in person.state().trials] == held
    person.answer_all()
    assert (person.state().stage, person.state().answered) == ("paused", 3)
    at = at.restarted()
    assert at.same(person).state().stage == "paused"
    at.run(lambda running: running.pause(False))
    assert at.same(person).state().stage == "trials"
    assert at.restarted().same(person).state().stage == "trials"


def test_a_quota_goes_up(serve: Serve) -> None:
    at = serve(stimuli=items_named(2), answers_per_item=1, batch_size=4)
    at.new().answer_all()
    assert at.new().state().stage == "finished"
    at.run(lambda running: running.set_quota(3))
    for _ in range(3):
        at.new().answer_all()
    assert at.answers_by_item() == {"i0": 3, "i1": 3}


def test_a_quota_goes_down_and_what_is_held_may_still_be_answered(serve: Serve) -> None:
    at = serve(stimuli=items_named(2), answers_per_item=3, batch_size=4)
    at.new().answer_all()
    person = at.new()
    held = [shown.handle for shown in person.state().trials]
    at.run(lambda running: running.set_quota(1))
    other = at.new()
    assert other.state().stage == "empty"
    assert all(person.submit(sent(handle)).code is None for handle in held)
    assert other.state().stage == "finished"
    assert person.state().stage == "finished"
    assert sum(at.answers_by_item().values()) == 2 + len(held)


def test_a_new_quota_is_not_for_practice_nor_for_items_that_are_gone(serve: Serve) -> None:
    at = serve(plain_study(practice=(PracticeItem("i0"),)), items_named(4))
    at = at.restarted(stimuli=items_named(3))
    at.run(lambda running: running.set_quota(5))
    at.new().answer_all()
    assert set(at.answers_by_item()) == {"i1", "i2"}


# --- restarts and changed study files ---


def test_after_a_restart_people_go_on_where_they_were(serve: Serve) -> None:
    at = serve(stimuli=items_named(12), answers_per_item=2, batch_size=6)
    person = at.new()
    done = [person.answer() for _ in range(2)]
    held = person.state().trials
    at = at.restarted()
    person = at.same(person)
    assert person.state().trials == held
    assert person.state().answered == 2
    rest = person.answer_all()
    assert len({shown.stimulus.item for shown in (*done, *rest)}) == 6
    assert [shown.number for shown in (*done, *rest)] == [1, 2, 3, 4, 5, 6]


def test_what_lapsed_while_the_server_was_down_goes_to_others(serve: Serve) -> None:
    at = serve(plain_study(people=ONE_EACH), items_named(1))
    person = at.new()
    trial = person.first().handle
    at.clock.advance(2 * LEASE)
    at = at.restarted()
    other = at.new()
    assert items_of(other) == ["i0"]
    assert at.same(person).submit(sent(trial)).code == "given-to-others"


def test_the_finish_is_remembered(serve: Serve) -> None:
    at = serve(stimuli=items_named(2), answers_per_item=1, batch_size=2)
    person = at.new()
    person.answer_all()
    code = person.state().code
    assert at.restarted().same(person).state().code == code


@pytest.mark.parametrize("change", ["classes", "kind"])
def test_another_question_is_refused(serve: Serve, change: str) -> None:
    at = serve()
    at.new().answer()
    at.stop()
    study = replace(at.study, classes=(StudyClass("cat"), StudyClass("fox"))) if change == "classes" else at.study
    changed = replace(at, study=study)
    if change == "kind":
        changed.running.kinds = [type("Tokens", (type(changed.running.kinds[0]),), {"name": "tokens"})()]
    with pytest.raises(BadSetting) as caught:
        changed.start()
    assert caught.value.code == "study-changed"
    assert at.restarted().one("SELECT count(*) FROM answers") == 1


def test_items_added(serve: Serve) -> None:
    at = serve(stimuli=items_named(2), answers_per_item=1, batch_size=9)
    at.new().answer_all()
    at = at.restarted(stimuli=items_named(4))
    assert {shown.stimulus.item for shown in at.new().answer_all()} == {"i2", "i3"}
    assert at.one("SELECT count(*) FROM items") == 4


def test_an_item_removed_gets_no_more_and_keeps_its_answers(serve: Serve) -> None:
    at = serve(stimuli=items_named(3), answers_per_item=5, batch_size=9)
    at.new().answer_all()
    at = at.restarted(stimuli=items_named(2))
    assert {shown.stimulus.item for shown in at.new().answer_all()} == {"i0", "i1"}
    assert at.answers_by_item() == {"i0": 2, "i1": 2, "i2": 1}
    at = at.restarted(stimuli=items_named(3))
    assert {shown.stimulus.item for shown in at.new().answer_all()} == {"i0", "i1", "i2"}


def test_a_quota_changed_in_the_study_file(serve: Serve) -> None:
    at = serve(stimuli=items_named(2), answers_per_item=1, batch_size=9)
    at.new().answer_all()
    at = at.restarted(study=plain_study(people=People(answers_per_item=2, batch_size=9)))
    for _ in range(3):
        at.new().answer_all()
    assert at.answers_by_item() == {"i0": 2, "i1": 2}


def test_practice_added_later_keeps_nobody_from_the_rest(serve: Serve) -> None:
    at = serve(stimuli=items_named(4), answers_per_item=2, batch_size=4)
    person = at.new()
    seen = person.answer().stimulus.item
    at = at.restarted(study=replace(at.study, practice=(PracticeItem(seen),)))
    person = at.same(person)
    assert person.state().stage == "trials"
    assert len(person.answer_all()) == 3


def test_stimuli_of_one_item_are_distinguished(serve: Serve) -> None:
    stimuli = [Stimulus("a", ("b",)), Stimulus("a", ("c",)), Stimulus("a", (), {"class": "cat"}), Stimulus("a")]
    at = serve(stimuli=stimuli, answers_per_item=1, batch_size=9)
    shown = at.new().answer_all()
    assert sorted(map(repr, (each.stimulus for each in shown))) == sorted(map(repr, stimuli))
    assert at.restarted().one("SELECT count(*) FROM items") == 4


def test_two_studies_in_one_store_do_not_meet(serve: Serve, store: str) -> None:
    pets = serve(plain_study("pets", people=ONE_EACH), items_named(3))
    person = pets.new()
    person.answer()
    pets.stop()
    zoo = serve(plain_study("zoo", people=ONE_EACH), items_named(3))
    with pytest.raises(NotThere):
        zoo.same(person).state()
    visitor = zoo.new()
    assert len(visitor.answer_all()) == 3
    zoo.stop()
    again = serve(plain_study("pets", people=ONE_EACH), items_named(3))
    assert again.same(person).state().answered == 1
    assert len(again.same(person).answer_all()) == 2
    with pytest.raises(NotThere):
        again.same(visitor).state()
    assert again.one("SELECT count(*) FROM items") == 6


def test_a_person_evicted_from_memory_is_loaded_again(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.elicitation.study_state.MAX_PARTICIPANTS", 2)
    at = serve(stimuli=items_named(20), answers_per_item=3, batch_size=4)
    people = [at.new() for _ in range(6)]
    held = [person.state().trials for person in people]
    assert [person.state().trials for person in people] == held
    at.clock.advance(LEASE)
    for person in people:
        person.answer_all()
    assert {person.state().answered for person in people} == {4}
    assert max(at.answers_by_item().values()) <= 3


def test_who_has_finished_is_not_remembered_for_long(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.elicitation.study_state.MAX_FINISHED", 2)
    at = serve(stimuli=items_named(20), answers_per_item=10, batch_size=4)
    people = [at.new() for _ in range(8)]
    still_there = at.new()
    for person in people:
        person.answer_all()
    kept = at.running.state
    # Those that the last request found finished are let go of after it.
    assert len(kept._participants) == len(kept._by_id) == 3
    codes = [person.state().code for person in people]
    assert [person.state().code for person in people] == codes
    assert still_there.state().stage == "trials"


# --- two servers ---


def test_two_servers_on_one_postgresql_database(postgres: object) -> None:
    with running_instance(
        postgres.new_database(), plain_study(people=People(answers_per_item=3, batch_size=6)), items_named(16)
    ) as at:
        servers = (at, at.second_instance(seed=2))
        people = [servers[number % 2].new() for number in range(10)]
        stored: Counter[str] = Counter()
        lock = threading.Lock()

        def take_part(person: StudyPerson, seed: int) -> None:
            rng = random.Random(seed)
            while True:
                # Each request goes to any of the two servers, and some are sent to both.
                here = rng.choice(servers).same(person)
                state = here.state()
                if state.stage == "empty":
                    continue
                if state.stage == "finished":
                    return
                answer = sent(state.trials[0].handle, rng.choice(["cat", "dog"]))
                outcomes = [here.submit(answer)]
                if rng.random() < 0.3:
                    outcomes.append(rng.choice(servers).same(person).submit(answer))
                with lock:
                    stored.update({outcome.answer for outcome in outcomes})

        # A thread each: everybody holds something from the beginning, and others wait for it.
        with ThreadPoolExecutor(len(people)) as pool:
            for done in [pool.submit(take_part, person, seed) for seed, person in enumerate(people)]:
                done.result()
        assert at.answers_by_item() == {f"i{number}": 3 for number in range(16)}
        assert at.rows("SELECT item FROM answers GROUP BY item, annotator HAVING count(*) > 1") == []
        assert set(stored.values()) == {1}
        assert {row[0] for row in at.rows("SELECT handle FROM answers")} == set(stored)
        assert at.one("SELECT count(*) FROM refused") == 0


def test_two_servers_share_one_state(postgres: object) -> None:
    with running_instance(postgres.new_database(), plain_study(people=ONE_EACH), items_named(2)) as at:
        other = at.second_instance()
        person = at.new()
        assert other.same(person).state().trials == person.state().trials
        other.run(lambda running: running.pause(True))
        assert at.new().state().stage == "paused"
        at.run(lambda running: running.pause(False))
        at.run(lambda running: running.set_quota(2))
        assert len(other.new().state().trials) >= 1
        answer = sent(person.first().handle)
        first = at.same(person).submit(answer)
        again = other.same(person).submit(answer)
        assert (again.answer, again.again) == (first.answer, True)


def test_two_servers_may_start_at_the_same_moment_on_an_empty_database(postgres: object, tmp_path: Path) -> None:
    place = str(Path(study_instance.__file__).parent)
    program = (
        f"import sys; sys.path.insert(0, {place!r}); "
        "from study_instance import StudyInstance; StudyInstance(sys.argv[1]).start().stop()"
    )
    logs = [tmp_path / "first", tmp_path / "second"]
    for _ in range(2):
        store = postgres.new_database()
        both = [loaded_sfumato().start(["-c", program, store], log) for log in logs]
        assert [each.wait(60) for each in both] == [0, 0], [log.read_text()[-500:] for log in logs]


def test_a_second_server_on_one_file_is_refused_with_the_first_one_named(tmp_path: Path) -> None:
    place = StoreLocation.of(tmp_path / "answers.sqlite")
    with only_server(place):
        for _ in range(2):
            with pytest.raises(BadSetting) as caught, only_server(place):
                pass
            assert caught.value.code == "store-in-use"
            assert f"process {os.getpid()}" in caught.value.found
    with only_server(place):
        pass
