"""The store: every SQL statement there is, in one place.

Two sides. The writing side reads what a server needs to know when it starts or meets a person, and writes
`PendingWrites`, the rows of a whole group of requests, in one transaction. The reading side takes a snapshot for
exports.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from sfumato.store.schema import ANSWERED, OPEN, annotators, answers, items, refused, studies, trials
from sfumato.study.stimulus import Stimulus

Row = dict[str, Any]
IDS_PER_STUDY = 2**40
ADVISORY_LOCK = 0x5F0A70
"""A number that stands for our stores among the advisory locks of a PostgreSQL database."""
ROWS_A_STATEMENT = 500
"""Rows inserted by one statement; SQLite takes 32,766 values in all."""
AT_ONCE = 5_000
"""Rows fetched together by an export."""


@dataclass
class PendingWrites:
    """Rows to be written together. Nothing reaches the database before `flush`."""

    new_annotators: list[Row] = field(default_factory=list)
    new_trials: list[Row] = field(default_factory=list)
    new_answers: list[Row] = field(default_factory=list)
    new_refused: list[Row] = field(default_factory=list)
    annotators: dict[int, Row] = field(default_factory=dict)
    """Columns to set, by the annotator's id."""
    trials: dict[int, Row] = field(default_factory=dict)

    def set_annotator(self, number: int, **values: Any) -> None:
        self.annotators.setdefault(number, {}).update(values)

    def set_trial(self, number: int, **values: Any) -> None:
        self.trials.setdefault(number, {}).update(values)

    def __bool__(self) -> bool:
        return bool(
            self.new_annotators
            or self.new_trials
            or self.new_answers
            or self.new_refused
            or self.annotators
            or self.trials
        )

    def clear(self) -> None:
        for rows in (self.new_annotators, self.new_trials, self.new_answers, self.new_refused):
            rows.clear()
        self.annotators.clear()
        self.trials.clear()


def flush(connection: sa.Connection, changes: PendingWrites) -> None:
    """Write the changes, each table with as few statements as can be.

    One statement for many rows, and not one run many times: between two steps of SQLite other threads take over, and
    the writer would wait its turn once a row. The texts are made of our own names and of placeholders, nothing else.
    """
    _insert(connection, annotators, changes.new_annotators)
    _insert(connection, trials, changes.new_trials)
    _insert(connection, answers, changes.new_answers)
    _insert(connection, refused, changes.new_refused)
    _update(connection, annotators, changes.annotators)
    _update(connection, trials, changes.trials)


def _insert(connection: sa.Connection, table: sa.Table, rows: list[Row]) -> None:
    names = table.c.keys()
    for start in range(0, len(rows), ROWS_A_STATEMENT):
        part = rows[start : start + ROWS_A_STATEMENT]
        row = f"({', '.join([_mark(connection)] * len(names))})"
        text = f"INSERT INTO {table.name} ({', '.join(names)}) VALUES {', '.join([row] * len(part))}"
        connection.exec_driver_sql(text, tuple(each[name] for each in part for name in names))


def _update(connection: sa.Connection, table: sa.Table, rows: dict[int, Row]) -> None:
    """Set columns of rows by id; rows that set the same columns to the same values go together."""
    alike: dict[tuple[tuple[str, Any], ...], list[int]] = {}
    for number, values in rows.items():
        alike.setdefault(tuple(values.items()), []).append(number)
    mark = _mark(connection)
    for pairs, numbers in alike.items():
        columns = ", ".join(f"{name} = {mark}" for name, _ in pairs)
        text = f"UPDATE {table.name} SET {columns} WHERE id IN ({', '.join([mark] * len(numbers))})"
        connection.exec_driver_sql(text, (*(value for _, value in pairs), *numbers))


def _mark(connection: sa.Connection) -> str:
    """A placeholder as the driver writes it."""
    return "?" if connection.dialect.name == "sqlite" else "%s"


# --- the study ---


def study_row(connection: sa.Connection, name: str) -> Row | None:
    """The study called `name`, if it is known to the store."""
    return _one(connection, sa.select(studies).where(studies.c.name == name))


def study_names(connection: sa.Connection) -> list[str]:
    """Every study of the store."""
    return list(connection.execute(sa.select(studies.c.name).order_by(studies.c.id)).scalars())


def secret_of(connection: sa.Connection, name: str) -> str | None:
    """What the links of the study called `name` are signed with; None if the store does not know the study."""
    return connection.execute(sa.select(studies.c.secret).where(studies.c.name == name)).scalar_one_or_none()


def lock_store(connection: sa.Connection) -> None:
    """Wait until no other server makes tables or studies in this database; until the transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(ADVISORY_LOCK)))


def add_study(connection: sa.Connection, row: Row) -> int:
    """Add a study; returns its id."""
    number = int(connection.execute(sa.select(sa.func.coalesce(sa.func.max(studies.c.id), 0))).scalar_one()) + 1
    connection.execute(sa.insert(studies), row | {"id": number, "version": 0})
    return number


def lock_study(connection: sa.Connection, study: int) -> int:
    """Wait for other servers of the same study, and return how many groups of changes there have been."""
    found = connection.execute(sa.select(studies.c.version).where(studies.c.id == study).with_for_update())
    return int(found.scalar_one())


def set_study(connection: sa.Connection, study: int, **values: Any) -> None:
    """Set columns of the study: done with every group, so as plainly as answers are stored."""
    _update(connection, studies, {study: values})


def set_paused(connection: sa.Connection, study: int, at: int | None) -> None:
    connection.execute(sa.update(studies).where(studies.c.id == study).values(paused_at=at))


# --- items ---


def stimuli(connection: sa.Connection, study: int) -> dict[int, tuple[Stimulus, int]]:
    """Every stimulus of the study with its quota, by id."""
    found = connection.execute(sa.select(items).where(items.c.study == study).order_by(items.c.id))
    return {row.id: (_stimulus(row), row.quota) for row in found}


def add_items(connection: sa.Connection, study: int, added: Sequence[Stimulus], quota: int) -> None:
    """Add stimuli, all with the same quota."""
    first = _next(connection, items, study)
    rows = [
        {"id": first + i, "study": study, "item": each.item, "quota": quota, **_texts_of(each)}
        for i, each in enumerate(added)
    ]
    if rows:
        connection.execute(sa.insert(items), rows)


def set_quota(connection: sa.Connection, quota: int, numbers: Sequence[int]) -> None:
    """Give these items another quota."""
    if numbers:
        statement = sa.update(items).where(items.c.id == sa.bindparam("row")).values(quota=sa.bindparam("new_quota"))
        connection.execute(statement, [{"row": number, "new_quota": quota} for number in numbers])


def taken(connection: sa.Connection, study: int) -> dict[tuple[int, int], int]:
    """Answers that count towards each item's quota, and open trials for them, by item and question."""
    counts = (
        sa.select(trials.c.item, trials.c.question, sa.func.count())
        .join(items, items.c.id == trials.c.item)
        .where(items.c.study == study, trials.c.purpose == "label", trials.c.state.in_((OPEN, ANSWERED)))
        .group_by(trials.c.item, trials.c.question)
    )
    return {(row[0], row[1]): row[2] for row in connection.execute(counts)}


def answer_rows(connection: sa.Connection, study: int) -> Iterator[Row]:
    """What was said about each item for a label, and how often: `item, kind, payload, n`."""
    same = (answers.c.item, answers.c.kind, answers.c.payload)
    rows = (
        sa.select(*same, sa.func.count().label("n"))
        .where(answers.c.study == study, answers.c.purpose == "label")
        .group_by(*same)
    )
    result = connection.execution_options(yield_per=AT_ONCE).execute(rows)
    yield from (dict(row._mapping) for row in result)


def first_chosen(connection: sa.Connection, study: int) -> Iterator[tuple[int, str | None]]:
    """The item of every answer for a label that began with a choice, and the class chosen; None where the person was
    not sure."""
    is_deeper = trials.c.question == 1
    was_outright = sa.func.coalesce(trials.c.deeper, "worth") == "worth"
    said = sa.case((is_deeper, answers.c.record), else_=answers.c.payload)
    rows = (
        sa.select(answers.c.item, is_deeper, said)
        .join(trials, trials.c.id == answers.c.trial)
        .where(answers.c.study == study, answers.c.purpose == "label", sa.not_(sa.and_(is_deeper, was_outright)))
    )
    for item, deeper, text in connection.execution_options(yield_per=AT_ONCE).execute(rows):
        first = json.loads(text)["first"] if deeper else json.loads(text)
        yield item, None if first is None else first["class"]


# --- people ---


def next_ids(connection: sa.Connection, study: int) -> dict[str, int]:
    """Where the numbering of each table goes on."""
    tables = {"annotator": annotators, "trial": trials, "answer": answers, "refused": refused}
    return {name: _next(connection, table, study) for name, table in tables.items()}


def people_in_arms(connection: sa.Connection, study: int) -> dict[int, int]:
    """How many people each arm has."""
    arm = annotators.c.arm
    found = connection.execute(sa.select(arm, sa.func.count()).where(annotators.c.study == study).group_by(arm))
    return {row[0]: row[1] for row in found}


def arms_of(connection: sa.Connection, study: int) -> dict[str, int]:
    """The arm of everybody, by pseudonym."""
    found = sa.select(annotators.c.pseudonym, annotators.c.arm).where(annotators.c.study == study)
    return {row[0]: row[1] for row in connection.execute(found)}


def blank_annotator() -> Row:
    """A row of annotators with nothing in it."""
    return dict.fromkeys(annotators.c.keys()) | {"arm": 0}


def annotator_by_token(connection: sa.Connection, study: int, token_hash: str) -> Row | None:
    """Who a link belongs to."""
    owner = sa.select(annotators).where(annotators.c.token_hash == token_hash, annotators.c.study == study)
    return _one(connection, owner)


def trials_of(connection: sa.Connection, annotator: int) -> list[Row]:
    """A person's trials in order, each with the key, digest and handle of its answer where it has one."""
    columns = (answers.c.key, answers.c.digest, answers.c.handle.label("answer"))
    found = (
        sa.select(trials, *columns)
        .outerjoin(answers, answers.c.trial == trials.c.id)
        .where(trials.c.annotator == annotator)
        .order_by(trials.c.number)
    )
    return [dict(row._mapping) for row in connection.execute(found)]


def checks_of(connection: sa.Connection, annotator: int) -> list[Row]:
    """A person's trials that were checks, each with the payload of its answer."""
    found = (
        sa.select(trials, answers.c.payload)
        .join(answers, answers.c.trial == trials.c.id)
        .where(trials.c.annotator == annotator, trials.c.purpose == "check")
        .order_by(trials.c.number)
    )
    return [dict(row._mapping) for row in connection.execute(found)]


def trial_with(connection: sa.Connection, annotator: int, handle: str) -> Row | None:
    """A person's trial by its handle."""
    return _one(connection, sa.select(trials).where(trials.c.annotator == annotator, trials.c.handle == handle))


def sent_under(connection: sa.Connection, annotator: int, key: str) -> Row | None:
    """What a person sent under a key: its digest, and the handle of the answer or the code of the refusal."""
    stored = sa.select(answers.c.digest, answers.c.handle, sa.null().label("code"))
    aside = sa.select(refused.c.digest, sa.null().label("handle"), refused.c.code)
    both = (
        stored.where(answers.c.annotator == annotator, answers.c.key == key),
        aside.where(refused.c.annotator == annotator, refused.c.key == key),
    )
    return next((row for statement in both if (row := _one(connection, statement))), None)


def refused_of(connection: sa.Connection, annotator: int) -> list[Row]:
    """The answers of a person that were kept aside."""
    columns = (refused.c.key, refused.c.digest, refused.c.code)
    return [
        dict(row._mapping) for row in connection.execute(sa.select(*columns).where(refused.c.annotator == annotator))
    ]


def open_trials(connection: sa.Connection, study: int) -> list[Row]:
    """Every trial somebody holds."""
    found = (
        sa.select(trials)
        .join(annotators, annotators.c.id == trials.c.annotator)
        .where(annotators.c.study == study, trials.c.state == OPEN)
    )
    return [dict(row._mapping) for row in connection.execute(found)]


def stimulus_of_trial(connection: sa.Connection, handle: str) -> Stimulus | None:
    """What is shown in a trial; for the researcher's own programs, never for annotators."""
    found = sa.select(items).join(trials, trials.c.item == items.c.id).where(trials.c.handle == handle)
    row = connection.execute(found).one_or_none()
    return None if row is None else _stimulus(row)


def trial_of_annotator(
    connection: sa.Connection, study: int, token_hash: str, handle: str, since: int = 0
) -> Stimulus | None:
    """What is shown in a trial, if it is the trial of the person with this link, and they were there `since`."""
    found = (
        sa.select(items)
        .join(trials, trials.c.item == items.c.id)
        .join(annotators, annotators.c.id == trials.c.annotator)
        .where(trials.c.handle == handle, annotators.c.token_hash == token_hash, annotators.c.study == study)
        .where(sa.func.coalesce(annotators.c.seen_at, annotators.c.created_at) >= since)
    )
    row = connection.execute(found).one_or_none()
    return None if row is None else _stimulus(row)


# --- exports ---


def exported(connection: sa.Connection, study: int, purposes: Sequence[str]) -> Iterator[list[sa.Row[Any]]]:
    """The study's answers in the order they came, some thousand at a time; without those of who had theirs left out."""
    columns = (
        items.c.item,
        annotators.c.pseudonym.label("annotator"),
        *(
            answers.c[name]
            for name in ("kind", "payload", "purpose", "started_at", "submitted_at", "seconds", "record")
        ),
        answers.c.number.label("trial"),
        trials.c.probability,
        trials.c.audit,
        trials.c.deeper,
        trials.c.deeper_probability,
    )
    rows = (
        sa.select(*columns)
        .join(trials, trials.c.id == answers.c.trial)
        .join(items, items.c.id == answers.c.item)
        .join(annotators, annotators.c.id == answers.c.annotator)
        .where(answers.c.study == study, answers.c.purpose.in_(purposes), annotators.c.left_out_at.is_(None))
        .order_by(answers.c.id)
    )
    result = connection.execution_options(stream_results=True, yield_per=AT_ONCE).execute(rows)
    yield from (list(part) for part in result.partitions())


def chained(connection: sa.Connection, study: int) -> Iterator[Row]:
    """The study's answers in order, whole, with the names of annotator and item."""
    rows = (
        sa.select(answers, annotators.c.pseudonym.label("annotator_name"), items.c.item.label("item_name"))
        .join(items, items.c.id == answers.c.item)
        .join(annotators, annotators.c.id == answers.c.annotator)
        .where(answers.c.study == study)
        .order_by(answers.c.id)
    )
    result = connection.execution_options(stream_results=True, yield_per=AT_ONCE).execute(rows)
    yield from (dict(row._mapping) for row in result)


def broken_ends(connection: sa.Connection) -> list[str]:
    """The studies whose last answer is not the one that the store notes."""
    found = connection.execute(sa.select(studies.c.name, studies.c.id, studies.c.n_answers, studies.c.head))
    broken = []
    for name, number, n_answers, head in found.all():
        last = sa.select(answers.c.id, answers.c.chain).where(answers.c.study == number)
        row = connection.execute(last.order_by(answers.c.id.desc()).limit(1)).one_or_none()
        noted = (first_answer(number) + n_answers - 1, head) if n_answers else None
        if (None if row is None else (row.id, row.chain)) != noted:
            broken.append(str(name))
    return broken


def first_answer(study: int) -> int:
    """The id of a study's first answer."""
    return study * IDS_PER_STUDY + 1


def without_answer(connection: sa.Connection, study: int) -> list[tuple[str, str]]:
    """Annotator and item of every trial that was answered and has no answer."""
    rows = (
        sa.select(annotators.c.pseudonym, items.c.item)
        .select_from(trials)
        .join(items, items.c.id == trials.c.item)
        .join(annotators, annotators.c.id == trials.c.annotator)
        .outerjoin(answers, answers.c.trial == trials.c.id)
        .where(annotators.c.study == study, trials.c.state == ANSWERED, answers.c.id.is_(None))
        .order_by(trials.c.id)
    )
    return [(row[0], row[1]) for row in connection.execute(rows)]


def counts(connection: sa.Connection, study: int) -> Row:
    """How far the study is: people, answers, answers wanted."""
    return {
        "annotators": _count(connection, annotators, annotators.c.study == study),
        "finished": _count(connection, annotators, annotators.c.study == study, annotators.c.finished_at.is_not(None)),
        "answers": _count(connection, answers, answers.c.study == study, answers.c.purpose == "label"),
        "wanted": connection.execute(
            sa.select(sa.func.coalesce(sa.func.sum(items.c.quota), 0)).where(items.c.study == study)
        ).scalar_one(),
    }


def mean_seconds(connection: sa.Connection, study: int) -> float:
    """What an answer for a label takes on average; 0 before there is one."""
    mean = sa.select(sa.func.avg(answers.c.seconds)).where(answers.c.study == study, answers.c.purpose == "label")
    return float(connection.execute(mean).scalar_one() or 0.0)


# --- small parts ---


def _one(connection: sa.Connection, statement: sa.Select[Any]) -> Row | None:
    row = connection.execute(statement).one_or_none()
    return None if row is None else dict(row._mapping)


def _next(connection: sa.Connection, table: sa.Table, study: int) -> int:
    """The first unused id among those of the study: ids of two studies never meet, even if two servers write them."""
    first = study * IDS_PER_STUDY
    last = sa.select(sa.func.max(table.c.id)).where(table.c.id > first, table.c.id < first + IDS_PER_STUDY)
    return int(connection.execute(last).scalar_one() or first) + 1


def _count(connection: sa.Connection, table: sa.Table, *conditions: sa.ColumnElement[bool]) -> int:
    return int(connection.execute(sa.select(sa.func.count()).select_from(table).where(*conditions)).scalar_one())


def _stimulus(row: sa.Row[Any]) -> Stimulus:
    if row.others == "[]" and row.told == "{}":
        return Stimulus(row.item)
    return Stimulus(row.item, tuple(json.loads(row.others)), json.loads(row.told))


def _texts_of(stimulus: Stimulus) -> Row:
    return {
        "others": json.dumps(stimulus.others, ensure_ascii=False),
        "told": json.dumps(dict(stimulus.told), ensure_ascii=False, sort_keys=True),
    }
