"""The writer: many requests, few commits; nobody hears of success that is not on disk; one cannot spoil the others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from sqlalchemy import event
from study_instance import StudyInstance, StudyPerson, items_named, plain_study, running_instance, sent

from sfumato.elicitation.running_study import RunningStudy
from sfumato.store.writer import GROUP, MOST_WAITING, RETRY_SECONDS
from sfumato.study.study import People
from sfumato.tables.errors import Busy, InvalidAnswer, StoreDown


@pytest.fixture
def at(store: str) -> Iterator[StudyInstance]:
    study = plain_study(people=People(answers_per_item=50, batch_size=40))
    with running_instance(store, study, items_named(50)) as running:
        yield running


@contextmanager
def commits_of(at: StudyInstance) -> Iterator[list[int]]:
    """Every commit of the writing connection adds to the list."""
    counted: list[int] = []

    def count(connection: sa.Connection) -> None:
        counted.append(1)

    event.listen(at.engine, "commit", count)
    yield counted
    event.remove(at.engine, "commit", count)


@contextmanager
def held_up(at: StudyInstance) -> Iterator[None]:
    """The writer is busy with one request while others gather, until the end."""
    entered, go_on = threading.Event(), threading.Event()

    def wait(_running: RunningStudy) -> None:
        entered.set()
        assert go_on.wait(30)

    thread = threading.Thread(target=at.run, args=(wait,))
    thread.start()
    assert entered.wait(30)
    try:
        yield
    finally:
        go_on.set()
        thread.join()


def gathered(at: StudyInstance, *requests: object) -> list[object]:
    """Have the requests done in one group; what each returned or raised."""

    async def ask_all() -> list[object]:
        asked = [asyncio.ensure_future(at.writer.ask(request)) for request in requests]
        await asyncio.sleep(0)  # Every request is in the queue after this turn of the loop.
        go_on.set()
        return await asyncio.gather(*asked, return_exceptions=True)

    entered, go_on = threading.Event(), threading.Event()

    def wait(_running: RunningStudy) -> None:
        entered.set()
        assert go_on.wait(30)

    thread = threading.Thread(target=at.run, args=(wait,))
    thread.start()
    assert entered.wait(30)
    found = asyncio.run(ask_all())
    thread.join()
    return found


def submitting(person: StudyPerson, answer: object) -> object:
    return lambda running: running.sessions.submit(person.token_hash, answer)


def test_many_requests_are_committed_together(at: StudyInstance) -> None:
    people = [at.new() for _ in range(30)]
    answers = [sent(person.first().handle) for person in people]
    with commits_of(at) as commits:
        outcomes = gathered(at, *map(submitting, people, answers))
    assert all(outcome.code is None and not outcome.again for outcome in outcomes)
    # One for the request that held the writer up, one for all the others.
    assert len(commits) == 2
    assert at.one("SELECT count(*) FROM answers") == 30


def test_a_group_has_a_largest_size(at: StudyInstance) -> None:
    person = at.new()
    with commits_of(at) as commits:
        found = gathered(at, *[lambda running: running.sessions.seed(person.token_hash)] * (GROUP + 1))
    assert len(set(found)) == 1
    assert len(commits) == 1 + 2


def test_who_finds_the_queue_full_is_asked_to_come_back_and_finds_room_later(at: StudyInstance) -> None:
    people = [at.new() for _ in range(2)]
    answers = [sent(person.first().handle) for person in people]
    others = [lambda running: running.sessions.seed(people[0].token_hash)] * (MOST_WAITING - 1)
    *found, stored, turned_away = gathered(at, *others, *map(submitting, people, answers))
    assert len(set(found)) == 1
    assert stored.code is None
    assert isinstance(turned_away, Busy)
    assert turned_away.code == "busy"
    assert turned_away.seconds in range(RETRY_SECONDS[0], RETRY_SECONDS[1] + 1)
    assert at.one("SELECT count(*) FROM answers") == 1
    assert people[1].submit(answers[1]).again is False


def test_a_refused_request_does_not_spoil_the_others(at: StudyInstance) -> None:
    people = [at.new() for _ in range(3)]
    answers = [
        sent(person.first().handle, chosen) for person, chosen in zip(people, ("cat", "bird", "dog"), strict=True)
    ]
    with commits_of(at) as commits:
        first, second, third = gathered(at, *map(submitting, people, answers))
    assert isinstance(second, InvalidAnswer)
    assert (first.code, third.code, len(commits)) == (None, None, 2)
    assert at.one("SELECT count(*) FROM answers") == 2


def test_an_unexpected_error_fails_only_its_request_and_memory_is_reloaded(at: StudyInstance) -> None:
    people = [at.new() for _ in range(3)]
    answers = [sent(person.first().handle) for person in people]

    def breaks(running: RunningStudy) -> None:
        # Half done when it fails: the answer is in memory, and must not stay there.
        running.sessions.submit(people[1].token_hash, answers[1])
        raise ZeroDivisionError("division by zero")

    first, second, third = gathered(at, submitting(people[0], answers[0]), breaks, submitting(people[2], answers[2]))
    assert isinstance(second, StoreDown)
    assert second.code == "store-down"
    assert "ZeroDivisionError" in second.found
    assert (first.code, first.again, third.code, third.again) == (None, False, None, False)
    assert at.one("SELECT count(*) FROM answers") == 2
    assert people[1].state().answered == 0
    assert people[1].submit(answers[1]).again is False
    assert at.one("SELECT count(*) FROM answers") == 3


def test_the_log_says_what_failed_and_not_what_was_asked(at: StudyInstance, caplog: pytest.LogCaptureFixture) -> None:
    def breaks(_running: RunningStudy) -> None:
        raise ValueError("an answer: cat")

    for _ in range(3):
        with pytest.raises(StoreDown):
            at.writer.run(breaks)
    (line,) = caplog.messages
    assert line.startswith("not stored: ValueError () at ")
    assert "test_writer.py:" in line
    assert "cat" not in line


def test_a_broken_statement_is_of_its_request_alone(at: StudyInstance, caplog: pytest.LogCaptureFixture) -> None:
    person = at.new()
    answer = sent(person.first().handle)
    broken = lambda running: running.transaction.exec_driver_sql("SELECT * FROM nowhere")  # noqa: E731
    first, second = gathered(at, broken, submitting(person, answer))
    assert isinstance(first, StoreDown)
    assert second.code is None
    assert at.one("SELECT count(*) FROM answers") == 1
    assert "nowhere" in caplog.messages[0]


class NoSpace(Exception):
    """As if the disk were full."""


@pytest.mark.parametrize("n_failures", [1, 5])
def test_nothing_is_acknowledged_when_the_commit_fails(at: StudyInstance, n_failures: int) -> None:
    people = [at.new() for _ in range(2)]
    answers = [sent(person.first().handle) for person in people]
    left = n_failures

    def fail(connection: sa.Connection) -> None:
        nonlocal left
        if left:
            left -= 1
            raise NoSpace("no space left on device")

    event.listen(at.engine, "commit", fail)
    for person, answer in zip(people, answers, strict=True):
        for _ in range(n_failures):
            if not left:
                break
            with pytest.raises(StoreDown) as caught:
                person.submit(answer)
            assert "NoSpace" in caught.value.found
            assert at.one("SELECT count(*) FROM answers") == 0
    outcomes = [person.submit(answer) for person, answer in zip(people, answers, strict=True)]
    again = [person.submit(answer) for person, answer in zip(people, answers, strict=True)]
    assert [(outcome.code, outcome.again) for outcome in outcomes] == [(None, False)] * 2
    assert [outcome.answer for outcome in again] == [outcome.answer for outcome in outcomes]
    assert at.one("SELECT count(*) FROM answers") == 2
    assert [person.state().answered for person in people] == [1, 1]


def test_a_commit_that_fails_for_a_group_is_tried_for_each_alone(at: StudyInstance) -> None:
    people = [at.new() for _ in range(4)]
    answers = [sent(person.first().handle) for person in people]
    commits = []

    def fail(connection: sa.Connection) -> None:
        commits.append(1)
        # The first is of the request that holds the writer up; the group fails, and then the second of its four.
        if len(commits) in (2, 4):
            raise NoSpace("no space left on device")

    event.listen(at.engine, "commit", fail)
    found = gathered(at, *map(submitting, people, answers))
    assert [isinstance(each, StoreDown) for each in found] == [False, True, False, False]
    assert at.one("SELECT count(*) FROM answers") == 3
    assert people[1].submit(answers[1]).again is False
    assert at.one("SELECT count(*) FROM answers") == 4


def test_a_commit_that_fails_after_it_was_done_stores_once(at: StudyInstance) -> None:
    # The worst moment: the store has the answer, and the word of it is lost.
    person = at.new()
    answer = sent(person.first().handle)
    committed = at.running.committed

    def lost() -> None:
        at.running.committed = committed
        raise ConnectionResetError("the word was lost")

    at.running.committed = lost
    with pytest.raises(StoreDown):
        person.submit(answer)
    assert at.one("SELECT count(*) FROM answers") == 1
    assert person.submit(answer).again is True
    assert at.one("SELECT count(*) FROM answers") == 1


def test_stopping_finishes_the_queue_and_takes_no_more(at: StudyInstance) -> None:
    person = at.new()
    answers = [sent(shown.handle) for shown in person.state().trials]
    outcomes: list[object] = []
    threads = [
        threading.Thread(target=lambda answer=answer: outcomes.append(person.submit(answer))) for answer in answers
    ]
    stopping = threading.Thread(target=at.stop)
    with held_up(at):
        for thread in threads:
            thread.start()
        while len(at.writer._queue) < len(answers):
            threading.Event().wait(0.001)
        stopping.start()
        while not at.writer._stopping:
            threading.Event().wait(0.001)
        with pytest.raises(StoreDown) as caught:
            person.state()
        assert caught.value.code == "store-down"
    for thread in (*threads, stopping):
        thread.join(30)
    assert [outcome.code for outcome in outcomes] == [None] * len(answers)
    assert at.one("SELECT count(*) FROM answers") == len(answers)
    at.stop()


def test_a_store_that_cannot_be_begun_says_so_at_the_start(store: str) -> None:
    at = StudyInstance(store)
    at.running.begin = lambda connection: 1 / 0
    with pytest.raises(ZeroDivisionError):
        at.start()
    at.stop()


def test_asking_from_an_event_loop(at: StudyInstance) -> None:
    async def take_part() -> tuple[object, object]:
        link = await at.writer.ask(lambda running: running.sessions.join())
        person = StudyPerson(at, link.token)
        state = await at.writer.ask(lambda running: running.sessions.finish_instructions(person.token_hash))
        answer = sent(state.trials[0].handle)
        first = await at.writer.ask(submitting(person, answer))
        with pytest.raises(InvalidAnswer):
            await at.writer.ask(submitting(person, sent(answer.trial, "dog", answer.key)))
        return first, await at.writer.ask(submitting(person, answer))

    first, again = asyncio.run(take_part())
    assert (first.again, again.again, first.answer) == (False, True, again.answer)


def test_who_hung_up_has_their_answer_stored(at: StudyInstance) -> None:
    person = at.new()
    answer = sent(person.first().handle)

    async def hang_up() -> None:
        asked = asyncio.ensure_future(at.writer.ask(submitting(person, answer)))
        await asyncio.sleep(0)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked

    with held_up(at):
        asyncio.run(hang_up())
    assert person.submit(answer).again is True
    assert person.state().answered == 1
