"""SQL queries of a store: what the running study reads and writes.

Queries for researchers are in `researcher_queries.py`, those over all answers in `export_queries.py`, batched writes in
`changes.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from sfumato.store.changes import update_rows
from sfumato.store.schema import (
    ANSWERED,
    OPEN,
    Row,
    annotators,
    answers,
    events,
    items,
    links,
    refused,
    studies,
    trials,
)
from sfumato.study.stimulus import Stimulus

IDS_PER_STUDY = 2**40
ADVISORY_LOCK = 0x5F0A70
"""The number of our advisory lock in a PostgreSQL database."""
STREAMED = {"stream_results": True, "yield_per": 5_000}
"""Options of a statement whose rows are fetched some thousand at a time. They are passed with the statement:
`connection.execution_options` would change the connection, and PostgreSQL would then refuse its later writes."""


# --- the study ---


def study_row(connection: sa.Connection, name: str) -> Row | None:
    """The study called `name`, if it is in the store."""
    return one_row(connection, sa.select(studies).where(studies.c.name == name))


def study_names(connection: sa.Connection) -> list[str]:
    """Every study of the store."""
    return list(connection.execute(sa.select(studies.c.name).order_by(studies.c.id)).scalars())


def secret_of(connection: sa.Connection, name: str) -> str | None:
    """The key that signs the links of a study; None if the study is not in the store."""
    return connection.execute(sa.select(studies.c.secret).where(studies.c.name == name)).scalar_one_or_none()


def lock_store(connection: sa.Connection) -> None:
    """Keep other servers from creating tables or studies in this database until the transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(ADVISORY_LOCK)))


def add_study(connection: sa.Connection, row: Row) -> int:
    """Add a study; returns its id."""
    number = int(connection.execute(sa.select(sa.func.coalesce(sa.func.max(studies.c.id), 0))).scalar_one()) + 1
    connection.execute(sa.insert(studies), row | {"id": number, "version": 0})
    return number


def lock_study(connection: sa.Connection, study: int) -> int:
    """Lock the study against other servers, and return its version (the number of groups that changed it)."""
    found = connection.execute(sa.select(studies.c.version).where(studies.c.id == study).with_for_update())
    return int(found.scalar_one())


def set_study(connection: sa.Connection, study: int, **values: Any) -> None:
    """Set columns of the study; runs with every group, so it must be fast."""
    update_rows(connection, studies, {study: values})


def set_paused(connection: sa.Connection, study: int, at: int | None) -> None:
    connection.execute(sa.update(studies).where(studies.c.id == study).values(paused_at=at))


# --- items ---


def stimuli(connection: sa.Connection, study: int) -> dict[int, tuple[Stimulus, int]]:
    """Every stimulus of the study with its quota, by id."""
    found = connection.execute(sa.select(items).where(items.c.study == study).order_by(items.c.id))
    return {row.id: (_stimulus(row), row.quota) for row in found}


def add_items(connection: sa.Connection, study: int, added: Sequence[Stimulus], quota: int) -> None:
    """Add stimuli, all with the same quota."""
    first = next_id(connection, items, study)
    rows = []
    for number, each in enumerate(added, first):
        others = json.dumps(each.others, ensure_ascii=False)
        told = json.dumps(dict(each.context), ensure_ascii=False, sort_keys=True)
        rows.append({"id": number, "study": study, "item": each.item, "quota": quota, "others": others, "told": told})
    if rows:
        connection.execute(sa.insert(items), rows)


def set_quota(connection: sa.Connection, quota: int, numbers: Sequence[int]) -> None:
    """Change the quota of these items."""
    if numbers:
        statement = sa.update(items).where(items.c.id == sa.bindparam("row")).values(quota=sa.bindparam("new_quota"))
        connection.execute(statement, [{"row": number, "new_quota": quota} for number in numbers])


def taken(
    connection: sa.Connection, study: int, states: Sequence[int] = (OPEN, ANSWERED)
) -> dict[tuple[int, int], int]:
    """Trials in these states that count toward each item's quota, by item and question: answers and open trials;
    answers of excluded annotators, and those left out of exports, do not count."""
    counts = (
        sa.select(trials.c.item, trials.c.question, sa.func.count())
        .join(items, items.c.id == trials.c.item)
        .where(items.c.study == study, trials.c.purpose == "label", trials.c.state.in_(states))
        .where(trials.c.annotator.not_in(_left_out(study)), trials.c.annotator.not_in(set_aside(connection, study)))
        .group_by(trials.c.item, trials.c.question)
    )
    return {(row[0], row[1]): row[2] for row in connection.execute(counts)}


def answer_rows(connection: sa.Connection, study: int) -> Iterator[Row]:
    """The distinct answers for a label with their counts: `item, kind, payload, audit, n`."""
    same = (answers.c.item, answers.c.kind, answers.c.payload, trials.c.audit)
    rows = (
        sa.select(*same, sa.func.count().label("n"))
        .join(trials, trials.c.id == answers.c.trial)
        .where(answers.c.study == study, answers.c.purpose == "label", answers.c.annotator.not_in(_left_out(study)))
        .where(answers.c.annotator.not_in(set_aside(connection, study)))
        .group_by(*same)
    )
    result = connection.execute(rows, execution_options=STREAMED)
    yield from (dict(row._mapping) for row in result)


def first_chosen(connection: sa.Connection, study: int) -> Iterator[tuple[int, str | None]]:
    """The item of every answer for a label that began with a choice, and the chosen class; None for "not sure"."""
    is_deeper = trials.c.question == 1
    is_direct = sa.func.coalesce(trials.c.deeper, "worth") == "worth"
    text = sa.case((is_deeper, answers.c.record), else_=answers.c.payload)
    rows = (
        sa.select(answers.c.item, is_deeper, text)
        .join(trials, trials.c.id == answers.c.trial)
        .where(answers.c.study == study, answers.c.purpose == "label", sa.not_(sa.and_(is_deeper, is_direct)))
        .where(answers.c.annotator.not_in(_left_out(study)), answers.c.annotator.not_in(set_aside(connection, study)))
    )
    for item, deeper, value in connection.execute(rows, execution_options=STREAMED):
        first = json.loads(value)["first"] if deeper else json.loads(value)
        yield item, None if first is None else first["class"]


# --- participants ---


def next_ids(connection: sa.Connection, study: int) -> dict[str, int]:
    """The next unused id of each table."""
    tables = {"annotator": annotators, "trial": trials, "answer": answers, "refused": refused}
    return {name: next_id(connection, table, study) for name, table in tables.items()}


def people_in_arms(connection: sa.Connection, study: int) -> dict[int, int]:
    """The number of participants per arm."""
    arm = annotators.c.arm
    found = connection.execute(sa.select(arm, sa.func.count()).where(annotators.c.study == study).group_by(arm))
    return {row[0]: row[1] for row in found}


def arms_of(connection: sa.Connection, study: int) -> dict[str, int]:
    """The arm of each annotator, by pseudonym."""
    found = sa.select(annotators.c.pseudonym, annotators.c.arm).where(annotators.c.study == study)
    return {row[0]: row[1] for row in connection.execute(found)}


def blank_annotator() -> Row:
    """An empty row of `annotators`."""
    return dict.fromkeys(annotators.c.keys()) | {"arm": 0}


def annotator_by_token(connection: sa.Connection, study: int, token_hash: str) -> Row | None:
    """The participant of a link, their first or a further one."""
    owner = sa.select(annotators).where(_has_link(token_hash), annotators.c.study == study)
    return one_row(connection, owner)


def annotator_by_person(connection: sa.Connection, study: int, person_hash: str) -> Row | None:
    """The participant with this hash of a platform id, also after the id was erased."""
    owner = sa.select(annotators).where(annotators.c.person_hash == person_hash, annotators.c.study == study)
    return one_row(connection, owner)


def pseudonyms(connection: sa.Connection, study: int) -> Iterator[tuple[int, str]]:
    """Id and pseudonym of every participant."""
    found = sa.select(annotators.c.id, annotators.c.pseudonym).where(annotators.c.study == study)
    yield from ((row[0], row[1]) for row in connection.execute(found))


def add_link(connection: sa.Connection, study: int, annotator: int, token_hash: str, at: int) -> None:
    """Add a further link of a participant. For the writer."""
    row = {"id": next_id(connection, links, study), "study": study, "annotator": annotator}
    connection.execute(sa.insert(links), row | {"token_hash": token_hash, "created_at": at})


def trials_of(connection: sa.Connection, annotator: int) -> list[Row]:
    """A participant's trials in order, with key, digest, handle and time of receipt of the answer if there is one."""
    columns = (answers.c.key, answers.c.digest, answers.c.handle.label("answer"), answers.c.received_at)
    found = (
        sa.select(trials, *columns)
        .outerjoin(answers, answers.c.trial == trials.c.id)
        .where(trials.c.annotator == annotator)
        .order_by(trials.c.number)
    )
    return [dict(row._mapping) for row in connection.execute(found)]


def checks_of(connection: sa.Connection, annotator: int) -> list[Row]:
    """A participant's answered checks, each with the payload of its answer."""
    found = (
        sa.select(trials, answers.c.payload)
        .join(answers, answers.c.trial == trials.c.id)
        .where(trials.c.annotator == annotator, trials.c.purpose == "check")
        .order_by(trials.c.number)
    )
    return [dict(row._mapping) for row in connection.execute(found)]


def trial_with(connection: sa.Connection, annotator: int, handle: str) -> Row | None:
    """A participant's trial by its handle."""
    return one_row(connection, sa.select(trials).where(trials.c.annotator == annotator, trials.c.handle == handle))


def sent_under(connection: sa.Connection, annotator: int, key: str) -> Row | None:
    """What a participant sent under a key: its digest, and the handle of the answer or the code of the refusal."""
    stored = sa.select(answers.c.digest, answers.c.handle, sa.null().label("code"))
    not_stored = sa.select(refused.c.digest, sa.null().label("handle"), refused.c.code)
    both = (
        stored.where(answers.c.annotator == annotator, answers.c.key == key),
        not_stored.where(refused.c.annotator == annotator, refused.c.key == key),
    )
    return next((row for statement in both if (row := one_row(connection, statement))), None)


def refused_of(connection: sa.Connection, annotator: int) -> list[Row]:
    """A participant's refused answers, and the sizes of their bodies."""
    columns = (refused.c.key, refused.c.digest, refused.c.code, sa.func.length(refused.c.body).label("size"))
    found = connection.execute(sa.select(*columns).where(refused.c.annotator == annotator))
    return [dict(row._mapping) for row in found]


def open_trials(connection: sa.Connection, study: int) -> list[Row]:
    """Every trial that is leased to a participant."""
    found = (
        sa.select(trials)
        .join(annotators, annotators.c.id == trials.c.annotator)
        .where(annotators.c.study == study, trials.c.state == OPEN)
    )
    return [dict(row._mapping) for row in connection.execute(found)]


def stimulus_of_trial(connection: sa.Connection, handle: str) -> Stimulus | None:
    """The stimulus of a trial; for the researcher's own programs, never for participants."""
    return stimulus_in(
        connection, sa.select(items).join(trials, trials.c.item == items.c.id).where(trials.c.handle == handle)
    )


def trial_of_annotator(
    connection: sa.Connection, study: int, token_hash: str, handle: str, since: int = 0
) -> Stimulus | None:
    """The stimulus of a trial, if it is a trial of this link's participant, and they were active after `since`."""
    found = (
        sa.select(items)
        .join(trials, trials.c.item == items.c.id)
        .join(annotators, annotators.c.id == trials.c.annotator)
        .where(trials.c.handle == handle, _has_link(token_hash), annotators.c.study == study)
        .where(sa.func.coalesce(annotators.c.seen_at, annotators.c.created_at) >= since)
    )
    return stimulus_in(connection, found)


# --- helpers ---


def one_row(connection: sa.Connection, statement: sa.Select[Any]) -> Row | None:
    row = connection.execute(statement).one_or_none()
    return None if row is None else dict(row._mapping)


def stimulus_in(connection: sa.Connection, statement: sa.Select[Any]) -> Stimulus | None:
    """The stimulus of the item that a statement selects; None if there is none."""
    row = connection.execute(statement).one_or_none()
    return None if row is None else _stimulus(row)


def next_id(connection: sa.Connection, table: sa.Table, study: int) -> int:
    """The first unused id of a study; each study has its own range, so two servers never use the same id."""
    first = study * IDS_PER_STUDY
    last = sa.select(sa.func.max(table.c.id)).where(table.c.id > first, table.c.id < first + IDS_PER_STUDY)
    return int(connection.execute(last).scalar_one() or first) + 1


def _has_link(token_hash: str) -> sa.ColumnElement[bool]:
    """Whether a link belongs to an annotator."""
    further = sa.select(links.c.annotator).where(links.c.token_hash == token_hash)
    return sa.or_(annotators.c.token_hash == token_hash, annotators.c.id.in_(further))


SET_ASIDE = "answers excluded"
"""The event whose last occurrence lists the annotators whose answers do not count toward quotas."""


def set_aside(connection: sa.Connection, study: int) -> list[int]:
    """The annotators whose answers do not count toward quotas, because a screening excluded them; exports have them."""
    last = (
        sa.select(events.c.about)
        .where(events.c.study == study, events.c.what == SET_ASIDE)
        .order_by(events.c.id.desc())
        .limit(1)
    )
    about = connection.execute(last).scalar_one_or_none()
    names = json.loads(about)["annotators"] if about else []
    if not names:
        return []
    known = sa.select(annotators.c.id).where(annotators.c.study == study, annotators.c.pseudonym.in_(names))
    return [row[0] for row in connection.execute(known)]


def _left_out(study: int) -> sa.Select[tuple[int]]:
    """The annotators whose answers are left out of exports."""
    return sa.select(annotators.c.id).where(annotators.c.study == study, annotators.c.left_out_at.is_not(None))


def _stimulus(row: sa.Row[Any]) -> Stimulus:
    if row.others == "[]" and row.told == "{}":
        return Stimulus(row.item)
    return Stimulus(row.item, tuple(json.loads(row.others)), json.loads(row.told))
