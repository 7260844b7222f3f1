"""Retention: ids, records and exact times that are past their date are erased; answers and their chain stay."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from study_instance import DAY, StudyInstance, StudyPerson, items_named, plain_study, running_instance, sent

from sfumato.elicitation.page_messages import SubmittedAnswer
from sfumato.elicitation.researcher_actions import erase_expired, erase_participant, expired_of
from sfumato.recruitment import Prolific
from sfumato.recruitment.arrival import admit, entry_key
from sfumato.recruitment.platform import Arrival
from sfumato.store.erasure import DAY_MS, STAGES, Expired
from sfumato.store.export import ERASABLE, RECORDS, export
from sfumato.store.interaction_record import InteractionRecord
from sfumato.store.location import StoreLocation
from sfumato.store.schema import annotators
from sfumato.store.verification import Verified, verify
from sfumato.study.study import Limits, People, Privacy, Recruiting

STUDY = plain_study(
    people=People(answers_per_item=9, batch_size=4),
    recruiting=Recruiting("prolific", "DONE"),
    privacy=Privacy(keep_ids_days=30, keep_records_days=60),
    limits=Limits(link_days=0),
)
RECORD = InteractionRecord(
    4321.0,
    hidden=((1.0, 2.0),),
    events=((10.0, "keydown", "pressedcontrol", "pressedkey"),),
    pointer="touch",
    viewport=(411.0, 823.0, 2.625),
    keys={"cat": "pressedkey"},
    order=("dog", "cat"),
)
TIMES = ("started_at", "submitted_at", "received_at")


def arrives(at: StudyInstance, person: str) -> StudyPerson:
    def come(running: Any) -> str:
        key = entry_key(running.secret, "prolific")
        return admit(running, Prolific(), key, Arrival(person, "study1", f"ses{person}")).token

    someone = StudyPerson(at, at.run(come))
    someone.finish_instructions()
    return someone


def answered(given: SubmittedAnswer, body: str | None = None) -> SubmittedAnswer:
    """The answer with a whole record."""
    return SubmittedAnswer(given.key, given.trial, given.answer, RECORD, body or given.body, given.digest)


def answers(person: StudyPerson, n: int) -> None:
    for _ in range(n):
        person.at.clock.advance(61.5)
        answer = sent(person.first().handle)
        assert person.submit(answered(answer)).code is None


def reads_again(person: StudyPerson) -> None:
    """After a long break the instructions are shown again."""
    assert person.state().stage == "instructions"
    person.finish_instructions()


def erase(at: StudyInstance) -> Expired:
    return at.run(lambda running: erase_expired(running, "tests"))


def verified(at: StudyInstance) -> Verified:
    (found,) = verify(StoreLocation.of(at.store))
    return found


def test_what_is_past_its_date_is_erased_and_the_chain_stays_right(store: str) -> None:
    with running_instance(store, STUDY, items_named(9)) as at:
        early = arrives(at, "pidearly12")
        answers(early, 3)
        at.clock.advance(31 * DAY)
        late = arrives(at, "pidlate123")
        answers(late, 2)
        before = at.rows("SELECT payload, seconds, chain, digest FROM answers ORDER BY id")
        head = verified(at).head
        ids = erase(at)
        assert (len(ids.ids), len(ids.records)) == (1, 0)
        assert at.rows("SELECT person FROM platform_ids") == [("pidlate123",)]
        assert at.one("SELECT count(*) FROM answers WHERE record LIKE '%pressedkey%'") == 5
        at.clock.advance(30 * DAY)
        records = erase(at)
        assert [len(each) for each in (records.ids, records.records)] == [0, 1]
        assert records.records[0]["n_answers"] == 3
        kept = at.rows("SELECT record LIKE '%pressedkey%', record LIKE '%touch%' FROM answers ORDER BY id")
        assert [tuple(map(bool, row)) for row in kept] == [(False, False)] * 3 + [(True, True)] * 2
        assert at.rows("SELECT payload, seconds, chain, digest FROM answers ORDER BY id") == before
        found = verified(at)
        assert (found.faults, found.n_erased, found.head) == ((), 3, head)
        assert erase(at) == Expired()
        # The study goes on, with the same chain.
        reads_again(late)
        answers(late, 1)
        again = at.restarted()
        answers(again.same(late), 1)
        assert (verified(at).faults, verified(at).n_answers) == ((), 7)


def test_times_become_days_and_distances(store: str) -> None:
    with running_instance(store, STUDY, items_named(9)) as at:
        person = arrives(at, "pid12345")
        answers(person, 3)
        before = at.rows(f"SELECT {', '.join(TIMES)} FROM answers ORDER BY id")
        leases = at.rows("SELECT leased_at, expires_at FROM trials WHERE state = 1 ORDER BY id")
        at.clock.advance(61 * DAY)
        erase(at)
        after = at.rows(f"SELECT {', '.join(TIMES)} FROM answers ORDER BY id")
        moved = before[0][0] % DAY_MS
        assert moved > 0
        assert after == [tuple(value - moved for value in row) for row in before]
        assert after[0][0] % DAY_MS == 0
        now = at.rows("SELECT leased_at, expires_at FROM trials WHERE state = 1 ORDER BY id")
        assert now == [tuple(value - moved for value in row) for row in leases]
        stages = at.rows(f"SELECT {', '.join(STAGES)} FROM annotators")[0]
        assert all(value is None or value % DAY_MS == 0 for value in stages)
        assert all(
            value % DAY_MS == 0 for row in at.rows("SELECT leased_at FROM trials WHERE state <> 1") for value in row
        )


def test_every_time_of_a_person_is_reduced() -> None:
    """A new column with a time must be reduced, too."""
    times = {name for name in annotators.c.keys() if name.endswith("_at")}  # noqa: SIM118
    assert times == {*STAGES, "erased_at", "left_out_at"}


def test_a_person_who_comes_back_is_erased_again(store: str) -> None:
    study = replace(STUDY, privacy=Privacy(keep_records_days=10))
    with running_instance(store, study, items_named(9)) as at:
        person = arrives(at, "pid12345")
        answers(person, 2)
        at.clock.advance(11 * DAY)
        assert len(erase(at).records) == 1
        reads_again(person)
        answers(person, 1)
        assert verified(at).faults == ()
        assert erase(at) == Expired()
        at.clock.advance(11 * DAY)
        assert len(erase(at).records) == 1
        starts = [row[0] for row in at.rows("SELECT started_at FROM answers ORDER BY id")]
        assert (starts[0] % DAY_MS, starts[2] % DAY_MS) == (0, 0)
        assert (verified(at).faults, verified(at).n_erased) == ((), 3)
        assert at.one("SELECT count(*) FROM answers WHERE record LIKE '%pressedkey%'") == 0
        assert at.one("SELECT count(*) FROM platform_ids") == 1


@pytest.mark.parametrize("change", ["payload = '{}'", "record = '{\"elapsed_ms\":1}'", "started_at = started_at + 1"])
def test_a_change_of_an_erased_answer_is_found(store: str, change: str) -> None:
    with running_instance(store, STUDY, items_named(9)) as at:
        person = arrives(at, "pid12345")
        answers(person, 3)
        pseudonym = at.one("SELECT pseudonym FROM annotators")
        at.clock.advance(61 * DAY)
        erase(at)
        last = at.one("SELECT max(id) FROM answers")
        engine = sa.create_engine(StoreLocation.of(at.store).url, poolclass=sa.NullPool)
        statement = f"UPDATE answers SET {change} WHERE id = {last - 1}"
        # The tables are append-only as before.
        with pytest.raises(sa.exc.DBAPIError, match="append-only"), engine.begin() as connection:
            connection.exec_driver_sql(statement)
        with engine.begin() as connection:
            is_sqlite = connection.dialect.name == "sqlite"
            off = "DROP TRIGGER answers_no_update" if is_sqlite else "ALTER TABLE answers DISABLE TRIGGER USER"
            connection.exec_driver_sql(off)
            connection.exec_driver_sql(statement)
        (fault,) = verified(at).faults
        assert (fault.id, fault.what, fault.annotator) == (last, "changed", pseudonym)


def test_nothing_of_a_record_is_left_in_the_file(tmp_path: Path) -> None:
    store = tmp_path / "a.sqlite"
    with running_instance(str(store), STUDY, items_named(9)) as at:
        person = arrives(at, "pid12345")
        answers(person, 3)
        shown = person.first()
        person.withdraw()
        late = sent(shown.handle)
        body = json.dumps({"record": msgspec.to_builtins(RECORD)})
        assert person.submit(answered(late, body)).code == "withdrawn"
        at.clock.advance(61 * DAY)
        assert b"pressedcontrol" in b"".join(file.read_bytes() for file in tmp_path.iterdir())
        # As SQLite is by itself; some systems' is stricter.
        at.run(lambda running: running.action()[0].exec_driver_sql("PRAGMA secure_delete = OFF"))
        erase(at)
    for file in tmp_path.iterdir():
        assert b"pressed" not in file.read_bytes(), file.name


def test_forgetting_a_person_erases_their_records_too(store: str) -> None:
    with running_instance(store, STUDY, items_named(9)) as at:
        person, other = arrives(at, "pid12345"), arrives(at, "pidother1")
        answers(person, 2)
        answers(other, 1)
        at.run(lambda running: erase_participant(running, "tests", platform_id="pid12345"))
        assert at.one("SELECT count(*) FROM answers WHERE record LIKE '%pressedkey%'") == 1
        assert (verified(at).faults, verified(at).n_erased) == ((), 2)
        whats = [row[0] for row in at.rows("SELECT what FROM happenings ORDER BY id")]
        assert whats == ["erased", "records erased"]


def test_the_completion_code_goes_with_the_id(store: str) -> None:
    with running_instance(store, replace(STUDY, recruiting=None), items_named(4)) as at:
        at.new().answer_all()
        assert at.one("SELECT code FROM annotators")
        at.clock.advance(31 * DAY)
        erase(at)
        assert at.one("SELECT code FROM annotators") is None


def test_exports_leave_erased_fields_empty(store: str, tmp_path: Path) -> None:
    with running_instance(store, STUDY, items_named(9)) as at:
        answers(arrives(at, "pid12345"), 1)
        at.clock.advance(61 * DAY)
        erase(at)
        answers(arrives(at, "pidother1"), 1)
        export(StoreLocation.of(store), STUDY.name, tmp_path / "a.parquet", tmp_path / "r.parquet")
    rows = pq.read_table(tmp_path / "r.parquet").to_pylist()
    gone = [row for row in rows if row["events"] is None]
    (kept,) = [row for row in rows if row["events"] is not None]
    assert [{name for name in RECORDS.names if row[name] is None and kept[name] is not None} for row in gone] == [
        {*ERASABLE} - {"network"}  # not known here: nobody came over a network
    ]
    assert gone[0]["order"] == '["dog","cat"]'
    assert gone[0]["elapsed_seconds"] == 4.3


def test_no_limit_erases_nothing(store: str) -> None:
    with running_instance(store, replace(STUDY, privacy=Privacy()), items_named(9)) as at:
        answers(arrives(at, "pid12345"), 1)
        at.clock.advance(36_000 * DAY)
        assert at.run(expired_of) == Expired()
        assert erase(at) == Expired()
        assert at.one("SELECT count(*) FROM platform_ids") == 1
