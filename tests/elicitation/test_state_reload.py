"""Studies that read all answers when their state is rebuilt (adaptive ones, and those that look at disagreement) on
PostgreSQL: with two servers, after a lost connection, and after a restart with expired leases."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa
from postgres_cluster import Cluster
from study_instance import LEASE, StudyInstance, items_named, plain_study, sent

from sfumato.elicitation.assignment import ItemSelector
from sfumato.elicitation.running_study import RunningStudy
from sfumato.planning.adaptive_assignment import AdaptiveSelector
from sfumato.store.location import StoreLocation
from sfumato.study.study import Adaptive, Assignment, Deeper, People, Question, Study
from sfumato.tables.errors import StoreDown

ADAPTIVE = plain_study(
    people=People(answers_per_item=6, batch_size=5, assignment=Assignment.ADAPTIVE), adaptive=Adaptive(audit=0.0)
)
DISAGREEMENT = plain_study(
    people=People(answers_per_item=6, batch_size=5), deeper=Deeper(Question("tokens"), disagreement=0.9)
)


def selector(study: Study) -> ItemSelector | None:
    return AdaptiveSelector(study, background=False) if study is ADAPTIVE else None


def another(start: Callable[..., StudyInstance], at: StudyInstance) -> StudyInstance:
    """A server on the same store that knows only what is stored; `start` says which."""
    return start(selector=selector(at.study))


@pytest.fixture(params=[ADAPTIVE, DISAGREEMENT], ids=["adaptive", "disagreement"])
def at(request: pytest.FixtureRequest, postgres: Cluster) -> Iterator[StudyInstance]:
    study: Study = request.param
    running = StudyInstance(postgres.new_database(), study, items_named(8), selector=selector(study)).start()
    yield running
    for each in running.begun:
        each.stop()


def test_two_servers_store_every_answer(at: StudyInstance) -> None:
    second = another(at.second_instance, at)
    people = [at.new(), second.new()]
    # Each request comes after a change by the other server, so each reads the store again before it writes.
    for _ in range(5):
        for person in people:
            person.answer()
    assert at.one("SELECT count(*) FROM answers") == 10
    assert [person.state().stage for person in people] == ["finished", "finished"]


def test_a_server_continues_after_its_connection_was_ended(at: StudyInstance) -> None:
    person = at.new()
    person.answer()
    answer = sent(person.first().handle)
    admin = sa.create_engine(StoreLocation.of(at.store).url, poolclass=sa.NullPool)

    def end_connection(running: RunningStudy) -> None:
        pid = running.transaction.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
        with admin.connect() as other:
            assert other.execute(sa.select(sa.func.pg_terminate_backend(pid))).scalar_one()
        running.sessions.heartbeat(person.token_hash)
        running.transaction.exec_driver_sql("SELECT 1")

    with pytest.raises(StoreDown):
        at.run(end_connection)
    # The next request reads the store again, and writes.
    assert person.submit(answer).code is None
    assert at.one("SELECT count(*) FROM answers") == 2


def test_a_server_starts_with_leases_that_expired_while_it_was_stopped(at: StudyInstance) -> None:
    person = at.new()
    person.answer()
    assert at.one("SELECT count(*) FROM trials WHERE state = 0") > 0
    at.stop()
    at.clock.advance(LEASE + 1)
    later = another(at.restarted, at)
    assert at.one("SELECT count(*) FROM trials WHERE state = 0") == 0
    later.same(person).answer()
    assert at.one("SELECT count(*) FROM answers") == 2
