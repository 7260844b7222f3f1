"""The rights of the server on PostgreSQL: docs/security.md lists them, and it needs no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sqlalchemy as sa
from postgres_cluster import Cluster
from study_instance import StudyPerson, plain_study, running_instance

from sfumato.elicitation.researcher_actions import extend, set_password, set_paused
from sfumato.recruitment import Prolific
from sfumato.recruitment.arrival import admit, entry_key
from sfumato.recruitment.platform import Arrival
from sfumato.store.database import writing_engine
from sfumato.store.export import export
from sfumato.store.location import StoreLocation
from sfumato.store.verification import verify
from sfumato.study.study import Recruiting

GUIDE = Path(__file__).parents[2] / "docs" / "security.md"
STUDY = plain_study(recruiting=Recruiting("prolific", "DONE"))


def documented() -> list[str]:
    """The statements in the documentation."""
    (block,) = re.findall(r"```sql\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    return [each.strip() for each in re.sub(r"--[^\n]*", "", block).split(";") if each.strip()]


@pytest.fixture
def as_server(postgres: Cluster) -> str:
    """The URL of a store, for a role with the documented rights only."""
    url = postgres.new_database()
    writing_engine(StoreLocation.of(url)).dispose()
    engine = sa.create_engine(StoreLocation.of(url).url)
    with engine.begin() as connection:
        found = connection.exec_driver_sql("SELECT 1 FROM pg_roles WHERE rolname = 'sfumato_server'").scalar()
        for statement in (*([] if found else ["CREATE ROLE sfumato_server LOGIN"]), *documented()):
            connection.exec_driver_sql(statement)
    engine.dispose()
    return url.replace("sfumato@", "sfumato_server@")


def test_the_server_runs_with_the_documented_rights(as_server: str, tmp_path: Path) -> None:
    platform = Prolific()
    with running_instance(as_server, STUDY) as at:
        key = entry_key(at.run(lambda running: running.secret), platform.name)
        token = at.run(lambda running: admit(running, platform, key, Arrival("person1", "study1", "session1")).token)
        person = StudyPerson(at, token)
        person.finish_instructions()
        person.answer()
        at.run(lambda running: set_paused(running, True, "tests"))
        at.run(lambda running: set_paused(running, False, "tests"))
        at.run(lambda running: extend(running, STUDY.people.answers_per_item + 1, "tests"))
        at.run(lambda running: set_password(running, "hashed", "tests"))
        export(StoreLocation.of(as_server), STUDY.name, tmp_path / "answers.parquet", tmp_path / "records.parquet")
    (verified,) = verify(StoreLocation.of(as_server))
    assert (verified.n_answers, verified.faults) == (1, ())
    with running_instance(as_server, STUDY):  # and starts again
        pass


@pytest.mark.parametrize(
    "statement",
    ["UPDATE answers SET payload = payload", "DELETE FROM answers", "TRUNCATE answers", "DROP TABLE answers",
     "DELETE FROM happenings", "UPDATE happenings SET what = what", "ALTER TABLE answers DISABLE TRIGGER ALL",
     "CREATE TABLE more (a int)", "UPDATE alembic_version SET version_num = version_num"],
)  # fmt: skip
def test_the_role_changes_no_answers_and_no_tables(as_server: str, statement: str) -> None:
    engine = sa.create_engine(StoreLocation.of(as_server).url)
    try:
        with engine.connect() as connection, pytest.raises(sa.exc.ProgrammingError, match=r"permission denied|owner"):
            connection.exec_driver_sql(statement)
    finally:
        engine.dispose()
