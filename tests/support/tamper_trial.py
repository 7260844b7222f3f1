"""Trial: rows are changed, deleted and inserted by hand, one at a time; `verify` must list exactly these."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from study_instance import items_named, plain_study, running_instance

from sfumato.store import verification
from sfumato.store.database import writing_engine
from sfumato.store.location import StoreLocation
from sfumato.store.schema import annotators, answers, trials
from sfumato.store.verification import verify
from sfumato.study.study import People

N_PEOPLE, N_EACH = 3, 8
CHANGES: dict[str, Any] = {
    "payload": '{"class":"bird"}',
    "seconds": 99.5,
    "started_at": 7,
    "submitted_at": 7,
    "received_at": 7,
    "record": "{}",
    "kind": "tokens",
    "key": "another key",
    "digest": "another digest",
    "handle": "another handle",
    "chain": "0" * 64,
}


@dataclass
class TamperReport:
    """The number of rows that were tampered with, and how many of them were listed, with no other row."""

    changed: int = 0
    deleted: int = 0
    inserted: int = 0
    listed: int = 0

    @property
    def n(self) -> int:
        return self.changed + self.deleted + self.inserted

    @property
    def clean(self) -> bool:
        return self.listed == self.n > 0

    def __str__(self) -> str:
        rows = f"{self.changed} rows changed, {self.deleted} deleted, {self.inserted} inserted"
        return f"{rows}: {self.listed} of {self.n} listed"


def tamper_trial(store: str, n: int, *, seed: int, ignored: Sequence[str] = ()) -> TamperReport:
    """Tamper with one row at a time, verify, and undo it. Control: the columns `ignored` are not in the chain."""
    rng, report = random.Random(seed), TamperReport()
    with _without(ignored):
        _collect_answers(store)
        engine = writing_engine(StoreLocation.of(store))
        try:
            _drop_triggers(engine)
            assert not _listed_faults(store)
            for number in range(n):
                (_changed, _deleted, _inserted)[0 if ignored else number % 3](engine, store, rng, report, ignored)
            assert not _listed_faults(store), "a change was not undone"
        finally:
            engine.dispose()
    return report


def _collect_answers(store: str) -> None:
    study = plain_study(people=People(answers_per_item=N_PEOPLE, batch_size=N_EACH))
    with running_instance(store, study, items_named(N_EACH)) as at:
        for _ in range(N_PEOPLE):
            person = at.new()
            for _ in range(N_EACH):
                person.answer()


def _listed_faults(store: str) -> set[tuple[int, str]]:
    return {(fault.id, fault.what) for study in verify(StoreLocation.of(store)) for fault in study.faults}


def _row(engine: sa.Engine, rng: random.Random) -> dict[str, Any]:
    with engine.connect() as connection:
        rows = connection.execute(sa.select(answers).order_by(answers.c.id)).mappings().all()
    return dict(rng.choice(rows))


def _changed(engine: sa.Engine, store: str, rng: random.Random, report: TamperReport, ignored: Sequence[str]) -> None:
    row, column = _row(engine, rng), rng.choice(ignored or [*CHANGES])
    by_id = sa.update(answers).where(answers.c.id == row["id"])
    _execute(engine, by_id.values({column: CHANGES[column]}))
    found = _listed_faults(store)
    _execute(engine, by_id.values({column: row[column]}))
    report.changed += 1
    # A changed hash does not match the next row either.
    allowed = {(row["id"], "changed"), (row["id"] + 1, "changed")} if column == "chain" else {(row["id"], "changed")}
    report.listed += (row["id"], "changed") in found and found <= allowed


def _deleted(engine: sa.Engine, store: str, rng: random.Random, report: TamperReport, _: Sequence[str]) -> None:
    row = _row(engine, rng)
    _execute(engine, sa.delete(answers).where(answers.c.id == row["id"]))
    found = _listed_faults(store)
    _execute(engine, sa.insert(answers).values(row))
    report.deleted += 1
    report.listed += found == {(row["id"], "missing")}


def _inserted(engine: sa.Engine, store: str, rng: random.Random, report: TamperReport, _: Sequence[str]) -> None:
    """Insert an invented answer with its own trial after the last one."""
    with engine.connect() as connection:
        last = connection.execute(sa.select(sa.func.max(answers.c.id))).scalar_one()
        trial = dict(connection.execute(sa.select(trials).order_by(trials.c.id).limit(1)).mappings().one())
        person = dict(connection.execute(sa.select(annotators).limit(1)).mappings().one())
    row = _row(engine, rng)
    ours = {"id": 5, "annotator": 5}
    new = row | ours | {"id": last + 1, "trial": 5, "key": "made up", "handle": "made up"}
    _execute(engine, sa.insert(annotators).values(person | {"id": 5, "pseudonym": "made up", "token_hash": "made up"}))
    _execute(engine, sa.insert(trials).values(trial | ours | {"handle": "made up", "item": row["item"]}))
    _execute(engine, sa.insert(answers).values(new))
    found = _listed_faults(store)
    _execute(engine, sa.delete(answers).where(answers.c.id == last + 1))
    _execute(engine, sa.delete(trials).where(trials.c.id == 5))
    _execute(engine, sa.delete(annotators).where(annotators.c.id == 5))
    report.inserted += 1
    report.listed += found == {(last + 1, "added")}


def _execute(engine: sa.Engine, statement: sa.Executable) -> None:
    with engine.begin() as connection:
        connection.execute(statement)


def _drop_triggers(engine: sa.Engine) -> None:
    """Drop the triggers, as a person with access to the database can."""
    with engine.begin() as connection:
        if connection.dialect.name == "sqlite":
            for verb in ("update", "delete"):
                connection.exec_driver_sql(f"DROP TRIGGER answers_no_{verb}")
        else:
            connection.exec_driver_sql("ALTER TABLE answers DISABLE TRIGGER answers_append_only")


@contextlib.contextmanager
def _without(ignored: Sequence[str]) -> Iterator[None]:
    columns = verification.COLUMNS
    _set_columns(tuple(name for name in columns if name not in ignored))
    try:
        yield
    finally:
        _set_columns(columns)


def _set_columns(columns: tuple[str, ...]) -> None:
    verification.COLUMNS, verification.SECONDS = columns, columns.index("seconds")
