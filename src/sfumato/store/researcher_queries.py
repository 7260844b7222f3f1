"""The store, second part: what was done to a study, and what its researcher looks at.

Like `store.py` nothing but SQL. Everything here is read from a snapshot beside the writer, but for what says otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from sfumato.store.queries import AT_ONCE, IDS_PER_STUDY, Row
from sfumato.store.schema import annotators, answers, events, items, studies, trials
from sfumato.store.schema import platform_ids as ids
from sfumato.study.stimulus import Stimulus

# --- the researcher's page ---


def note_happening(
    connection: sa.Connection, study: int, *, at: int, who: str, what: str, about: Mapping[str, Any]
) -> None:
    """Note what was done to the study; for the writer alone, whose turn makes the numbering safe."""
    first = study * IDS_PER_STUDY
    last = sa.select(sa.func.max(events.c.id)).where(events.c.id > first, events.c.id < first + IDS_PER_STUDY)
    number = int(connection.execute(last).scalar_one() or first) + 1
    text = json.dumps(dict(about), ensure_ascii=False)
    row = {"id": number, "study": study, "at": at, "who": who, "what": what, "about": text}
    connection.execute(sa.insert(events), row)


def last_happenings(connection: sa.Connection, study: int, n: int) -> list[Row]:
    """The last things done to the study, the latest first: `at, who, what, about`."""
    columns = (events.c.at, events.c.who, events.c.what, events.c.about)
    found = sa.select(*columns).where(events.c.study == study).order_by(events.c.id.desc()).limit(n)
    return [dict(row._mapping) for row in connection.execute(found)]


def quota_in_force(connection: sa.Connection, study: int, in_file: int) -> int:
    """How many answers an item is to get: as the study file says, or more where the study was extended since.

    An extension holds for as long as the file says the number that it said then; whoever changes the file has the
    last word.
    """
    last = (
        sa.select(events.c.about)
        .where(events.c.study == study, events.c.what == "extended")
        .order_by(events.c.id.desc())
        .limit(1)
    )
    about = connection.execute(last).scalar_one_or_none()
    extended = json.loads(about) if about else {}
    return int(extended["to"]) if extended.get("file") == in_file else in_file


def largest_quota(connection: sa.Connection, study: int) -> int:
    """The number of answers that the items of the study are to get."""
    largest = sa.select(sa.func.coalesce(sa.func.max(items.c.quota), 0)).where(items.c.study == study)
    return int(connection.execute(largest).scalar_one())


def paused_at(connection: sa.Connection, study: int) -> int | None:
    """Since when the study is paused; None if it is not."""
    at: int | None = connection.execute(sa.select(studies.c.paused_at).where(studies.c.id == study)).scalar_one()
    return at


def password_of(connection: sa.Connection, study: int) -> str | None:
    """The hash of the researcher's password, if there is one."""
    hashed: str | None = connection.execute(sa.select(studies.c.password).where(studies.c.id == study)).scalar_one()
    return hashed


def set_password(connection: sa.Connection, study: int, hashed: str) -> None:
    """Set the researcher's password, as its hash; for the writer alone."""
    connection.execute(sa.update(studies).where(studies.c.id == study).values(password=hashed))


def quotas(connection: sa.Connection, study: int) -> dict[int, int]:
    """How many answers each item is to get, by its number."""
    found = sa.select(items.c.id, items.c.quota).where(items.c.study == study).order_by(items.c.id)
    return {row[0]: row[1] for row in connection.execute(found)}


def answers_since(connection: sa.Connection, study: int, after: int) -> Iterator[sa.Row[Any]]:
    """Answers with a higher number than `after`, in order: `id, item, annotator, purpose, seconds, received_at`.

    Numbers are given out and committed by one writer at a time, so none below the last one seen ever comes later.
    """
    columns = [answers.c[name] for name in ("id", "item", "annotator", "purpose", "seconds", "received_at")]
    found = sa.select(*columns).where(answers.c.study == study, answers.c.id > after).order_by(answers.c.id)
    yield from connection.execution_options(stream_results=True, yield_per=AT_ONCE).execute(found)


def people(connection: sa.Connection, study: int) -> list[sa.Row[Any]]:
    """Everybody who came, in order, without what they are called elsewhere."""
    names = ("id", "pseudonym", "arm", "created_at", "seen_at", "excluded_at", "withdrawn_at", "finished_at")
    found = sa.select(*(annotators.c[name] for name in names)).where(annotators.c.study == study)
    return list(connection.execute(found.order_by(annotators.c.id)))


def sampled_answers(connection: sa.Connection, study: int, *, every: int = 1) -> list[sa.Row[Any]]:
    """Answers for labels, repeats and checks in order, each with its annotator's pseudonym and the question asked;
    without those of who had theirs left out.

    With `every` = n those about each n-th item alone, all of each.
    """
    columns = [answers.c[name] for name in ("item", "kind", "payload", "purpose", "number", "seconds")]
    found = (
        sa.select(*columns, annotators.c.pseudonym, trials.c.question)
        .join(annotators, annotators.c.id == answers.c.annotator)
        .join(trials, trials.c.id == answers.c.trial)
        .where(answers.c.study == study, answers.c.purpose.in_(("label", "repeat", "check")))
        .where(answers.c.item % every == 0, annotators.c.left_out_at.is_(None))
        .order_by(answers.c.id)
    )
    return list(connection.execute(found))


def item_numbered(connection: sa.Connection, study: int, number: int) -> Stimulus | None:
    """What is shown of an item of the study, by its number."""
    row = connection.execute(sa.select(items).where(items.c.study == study, items.c.id == number)).one_or_none()
    return None if row is None else Stimulus(row.item, tuple(json.loads(row.others)), json.loads(row.told))


def numbers_of(connection: sa.Connection, study: int, names: Sequence[str]) -> dict[str, int]:
    """The numbers of items by their ids; of an item that is asked about in several ways, the first."""
    found = sa.select(items.c.item, items.c.id).where(items.c.study == study, items.c.item.in_(list(names)))
    return {row[0]: row[1] for row in connection.execute(found.order_by(items.c.id.desc()))}


# --- end of the researcher's page ---

# --- people from platforms ---


def platform_id_of(connection: sa.Connection, annotator: int) -> Row | None:
    """Who an annotator is on the platform they came from, with `refs` read; None for who came by a link."""
    row = connection.execute(sa.select(ids).where(ids.c.annotator == annotator)).one_or_none()
    return None if row is None else dict(row._mapping) | {"refs": json.loads(row.refs)}


def platform_ids(connection: sa.Connection, study: int, platform: str) -> list[Row]:
    """Everybody who came from a platform, in order, with pseudonym, link and refs."""
    found = (
        sa.select(ids, annotators.c.pseudonym, annotators.c.token_hash)
        .join(annotators, annotators.c.id == ids.c.annotator)
        .where(ids.c.study == study, ids.c.platform == platform)
        .order_by(ids.c.id)
    )
    return [dict(row._mapping) | {"refs": json.loads(row.refs)} for row in connection.execute(found)]


def note_arrival(
    connection: sa.Connection, study: int, token_hash: str, platform: str, person: str, refs: Row, at: int
) -> None:
    """Note that somebody came: a row for who is new; of who was here, the visit if it is another. For the writer."""
    annotator = sa.select(annotators.c.id).where(annotators.c.token_hash == token_hash)
    number = int(connection.execute(annotator).scalar_one())
    known = platform_id_of(connection, number)
    if known is None:
        first = study * IDS_PER_STUDY
        last = sa.select(sa.func.max(ids.c.id)).where(ids.c.id > first, ids.c.id < first + IDS_PER_STUDY)
        row: Row = {"id": int(connection.execute(last).scalar_one() or first) + 1, "study": study, "annotator": number}
        row |= {"platform": platform, "person": person, "refs": json.dumps(refs), "created_at": at}
        connection.execute(sa.insert(ids), row)
    elif known["refs"].get("session") != refs["session"]:
        earlier = [*known["refs"].get("earlier", ()), known["refs"]["session"]][-20:]
        _set_refs(connection, number, refs | {"earlier": earlier})


def note_check(connection: sa.Connection, annotator: int, session: str, said: str, at: int) -> None:
    """Keep what the platform said of a visit, unless it has said so already. For the writer."""
    known = platform_id_of(connection, annotator)
    if known is not None and known["refs"].get("session") == session and "check" not in known["refs"]:
        _set_refs(connection, annotator, known["refs"] | {"check": said, "checked_at": at})


def _set_refs(connection: sa.Connection, annotator: int, refs: Row) -> None:
    connection.execute(sa.update(ids).where(ids.c.annotator == annotator).values(refs=json.dumps(refs)))


def find_annotator(connection: sa.Connection, study: int, pseudonym: str | None, platform_id: str | None) -> Row | None:
    """A person of the study by pseudonym, or by what the platform calls them."""
    found = sa.select(annotators).where(annotators.c.study == study)
    if pseudonym is not None:
        found = found.where(annotators.c.pseudonym == pseudonym)
    if platform_id is not None:
        found = found.join(ids, ids.c.annotator == annotators.c.id).where(ids.c.person == platform_id)
    row = connection.execute(found).one_or_none()
    return None if row is None else dict(row._mapping)


def forget_platform_id(connection: sa.Connection, annotator: int) -> None:
    """Remove who somebody is elsewhere. For the writer."""
    if connection.dialect.name == "sqlite":
        # What is deleted is overwritten in the file, too, and not only let go of.
        connection.exec_driver_sql("PRAGMA secure_delete = ON")
    connection.execute(sa.delete(ids).where(ids.c.annotator == annotator))


def leave_out(connection: sa.Connection, annotator: int, at: int) -> None:
    """Leave somebody's answers out of every export from now on. For the writer."""
    connection.execute(sa.update(annotators).where(annotators.c.id == annotator).values(left_out_at=at))


def participants(connection: sa.Connection, study: int) -> list[Row]:
    """Everybody of the study in order: their row, their counted answers, the seconds these took, and who they are on
    the platform they came from (`platform, person, refs`, all None without one)."""
    counted = (
        sa.select(
            answers.c.annotator,
            sa.func.sum(sa.case((answers.c.purpose == "label", 1), else_=0)).label("n_labels"),
            sa.func.count().label("n_answers"),
            sa.func.sum(answers.c.seconds).label("seconds"),
        )
        .where(answers.c.study == study, answers.c.purpose != "practice")
        .group_by(answers.c.annotator)
        .subquery()
    )
    found = (
        sa.select(
            annotators,
            counted.c.n_labels,
            counted.c.n_answers,
            counted.c.seconds,
            ids.c.platform,
            ids.c.person,
            ids.c.refs,
        )
        .outerjoin(counted, counted.c.annotator == annotators.c.id)
        .outerjoin(ids, ids.c.annotator == annotators.c.id)
        .where(annotators.c.study == study)
        .order_by(annotators.c.id)
    )
    return [
        dict(row._mapping) | {"refs": json.loads(row.refs) if row.refs else {}} for row in connection.execute(found)
    ]


# --- end of people from platforms ---
