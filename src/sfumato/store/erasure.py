"""Erasure of how participants worked and when: records of inputs, refused answers, and exact times.

Answers stay under their pseudonym, and the hash chain stays verifiable: the hashes of erased answers are kept as links,
and a seal, a hash of what is left of an annotator's answers, is added to the append-only log of the study. `verify`
compares the answers with it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import sqlalchemy as sa

from sfumato.store.changes import update_rows
from sfumato.store.interaction_record import InteractionRecord
from sfumato.store.researcher_queries import secure_delete
from sfumato.store.schema import Row, annotators, answers, events, refused, trials
from sfumato.store.schema import platform_ids as ids
from sfumato.study.study import Privacy

DAY_MS = 86_400_000
ERASED = "records erased"
"""The event of an erasure: `annotator`, the last answer erased (`through`), and the `seal`."""
SEALED = tuple(answers.c.keys())
"""The columns that a seal covers: all of them, with the hash in the chain."""
STAGES = (
    "created_at", "seen_at", "consented_at", "instructed_at", "passed_at", "excluded_at", "withdrawn_at", "finished_at",
    "full_at",
)  # fmt: skip
"""The times of an annotator that become days."""
READ = msgspec.json.Decoder(InteractionRecord).decode
ENCODE = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class ErasedRecords:
    """The erased answers of an annotator: how many, up to which id, and the seal of what is left."""

    n_answers: int
    through: int
    seal: str


class Seal:
    """The hash of answers that are left after an erasure; rows are added in the order of their ids."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, row: Mapping[str, Any]) -> None:
        self._hash.update(ENCODE([row[name] for name in SEALED]))

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def erased_records(connection: sa.Connection, study: int) -> dict[str, ErasedRecords]:
    """The erased answers of each annotator, by pseudonym."""
    found = sa.select(events.c.about).where(events.c.study == study, events.c.what == ERASED).order_by(events.c.id)
    erased: dict[str, ErasedRecords] = {}
    for about in map(json.loads, connection.execute(found).scalars()):
        name = about["annotator"]
        n_before = erased[name].n_answers if name in erased else 0
        erased[name] = ErasedRecords(n_before + about["answers"], about["through"], about["seal"])
    return erased


def is_erased(erased: Mapping[str, ErasedRecords], annotator: str, answer: int) -> bool:
    """Whether the record of an answer was erased, by the annotator's pseudonym and the answer's id."""
    return annotator in erased and answer <= erased[annotator].through


@dataclass(frozen=True)
class Expired:
    """The participants whose ids, and those whose records, are past their date."""

    ids: tuple[Row, ...] = ()
    """Rows of `annotators`, with `person`: their platform id, or None."""
    records: tuple[Row, ...] = ()
    """Rows of `annotators`, with `n_answers`: the answers whose records are to be erased."""

    @property
    def n_people(self) -> int:
        return len({row["id"] for row in (*self.ids, *self.records)})


def expired(connection: sa.Connection, study: int, privacy: Privacy, now: int) -> Expired:
    """The participants whose ids or records are past the date that [privacy] of the study sets."""
    ids_before = None if privacy.keep_ids_days is None else now - privacy.keep_ids_days * DAY_MS
    records_before = None if privacy.keep_records_days is None else now - privacy.keep_records_days * DAY_MS
    active = sa.func.coalesce(annotators.c.seen_at, annotators.c.created_at)
    named: list[Row] = []
    if ids_before is not None:
        rows = sa.select(annotators, ids.c.person).outerjoin(ids, ids.c.annotator == annotators.c.id)
        rows = rows.where(annotators.c.study == study, annotators.c.erased_at.is_(None), active < ids_before)
        named = [dict(row._mapping) for row in connection.execute(rows.order_by(annotators.c.id))]
    recorded: list[Row] = []
    if records_before is not None:
        done = erased_records(connection, study)
        last, n_answers = sa.func.max(answers.c.id).label("last"), sa.func.count().label("n_answers")
        rows = sa.select(annotators, last, n_answers).join(answers, answers.c.annotator == annotators.c.id)
        rows = rows.where(annotators.c.study == study, active < records_before).group_by(annotators.c.id)
        found = (dict(row._mapping) for row in connection.execute(rows.order_by(annotators.c.id)))
        recorded = [row for row in found if row["last"] > _through(done, row)]
    return Expired(tuple(named), tuple(recorded))


@contextlib.contextmanager
def erasing(connection: sa.Connection) -> Iterator[None]:
    """Allow changes of answers in this transaction; erased content is overwritten in an SQLite file.

    If something fails, the transaction is rolled back, and the tables are append-only as before.
    """
    secure_delete(connection)
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("DROP TRIGGER answers_no_update")
        connection.exec_driver_sql("DROP TRIGGER refused_no_update")
        yield
        connection.exec_driver_sql(
            "CREATE TRIGGER answers_no_update BEFORE UPDATE ON answers"
            " BEGIN SELECT RAISE(ABORT, 'answers are append-only'); END"
        )
        connection.exec_driver_sql(
            "CREATE TRIGGER refused_no_update BEFORE UPDATE ON refused"
            " BEGIN SELECT RAISE(ABORT, 'refused are append-only'); END"
        )
        return
    connection.exec_driver_sql("ALTER TABLE answers DISABLE TRIGGER answers_append_only")
    connection.exec_driver_sql("ALTER TABLE refused DISABLE TRIGGER refused_append_only")
    yield
    connection.exec_driver_sql("ALTER TABLE answers ENABLE TRIGGER answers_append_only")
    connection.exec_driver_sql("ALTER TABLE refused ENABLE TRIGGER refused_append_only")


def erase_records(connection: sa.Connection, study: int, annotator: Row) -> dict[str, Any] | None:
    """Erase the records and exact times of an annotator, within `erasing`; returns the event to log, or None if there
    is nothing new. For the writer.

    Their times since the last erasure are moved together, to start at midnight (UTC) of their day.
    """
    done = _through(erased_records(connection, study), annotator)
    mine = sa.select(answers).where(answers.c.annotator == annotator["id"]).order_by(answers.c.id)
    rows = [dict(row._mapping) for row in connection.execute(mine)]
    new = [row for row in rows if row["id"] > done]
    _erase_stages(connection, annotator["id"])
    if not new:
        return None
    earlier = min(row["started_at"] for row in new) % DAY_MS
    for row in new:
        row["record"] = _rest(row["record"])
        for name in ("started_at", "submitted_at", "received_at"):
            row[name] -= earlier
    changed = ("record", "started_at", "submitted_at", "received_at")
    update_rows(connection, answers, {row["id"]: {name: row[name] for name in changed} for row in new})
    leases = {name: trials.c[name] - earlier for name in ("leased_at", "expires_at")}
    theirs = sa.select(answers.c.trial).where(answers.c.annotator == annotator["id"], answers.c.id > done)
    connection.execute(sa.update(trials).where(trials.c.id.in_(theirs)).values(**leases))
    seal = Seal()
    for row in rows:
        seal.add(row)
    return {
        "annotator": annotator["pseudonym"],
        "answers": len(new),
        "through": rows[-1]["id"],
        "seal": seal.hexdigest(),
    }


def _erase_stages(connection: sa.Connection, annotator: int) -> None:
    """Reduce the other times of an annotator to days, and delete the bodies of refused answers."""
    days = {name: annotators.c[name] - annotators.c[name] % DAY_MS for name in STAGES}
    connection.execute(sa.update(annotators).where(annotators.c.id == annotator).values(**days, network=None))
    unanswered = trials.c.id.not_in(sa.select(answers.c.trial).where(answers.c.annotator == annotator))
    leases = {name: trials.c[name] - trials.c[name] % DAY_MS for name in ("leased_at", "expires_at")}
    connection.execute(sa.update(trials).where(trials.c.annotator == annotator, unanswered).values(**leases))
    received = refused.c.received_at - refused.c.received_at % DAY_MS
    mine = sa.update(refused).where(refused.c.annotator == annotator)
    connection.execute(mine.values(body="{}", received_at=received))


def _through(done: Mapping[str, ErasedRecords], annotator: Row) -> int:
    found = done.get(annotator["pseudonym"])
    return 0 if found is None else found.through


def _rest(text: str) -> str:
    """What is left of a record: the time on the answer, the order of the classes, and the choice before a deeper form,
    which is part of the answer."""
    record = READ(text)
    rest = InteractionRecord(record.elapsed_ms, order=record.order, opened=record.opened, first=record.first)
    return ENCODE(rest).decode()
