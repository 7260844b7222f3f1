"""SQL queries for researchers: the event log, the dashboard, and participants' ids on recruitment platforms.

Queries run on a snapshot next to the writer; functions that write say "for the writer" and run in its thread.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa

from sfumato.store.credentials import Credentials
from sfumato.store.queries import STREAMED, next_id, one_row, open_trials, set_aside, stimulus_in, taken
from sfumato.store.schema import ANSWERED, Row, annotators, answers, events, items, studies, trials
from sfumato.store.schema import platform_ids as ids
from sfumato.study.stimulus import Stimulus
from sfumato.study.study import Study

# --- events and the dashboard ---


def add_event(connection: sa.Connection, study: int, *, at: int, who: str, what: str, about: Mapping[str, Any]) -> None:
    """Add an event to the study's log. For the writer."""
    text = json.dumps(dict(about), ensure_ascii=False)
    row = {"id": next_id(connection, events, study), "study": study, "at": at, "who": who, "what": what, "about": text}
    connection.execute(sa.insert(events), row)


def last_events(connection: sa.Connection, study: int, n: int) -> list[Row]:
    """The last events, latest first: `at, who, what, about`."""
    columns = (events.c.at, events.c.who, events.c.what, events.c.about)
    found = sa.select(*columns).where(events.c.study == study).order_by(events.c.id.desc()).limit(n)
    return [dict(row._mapping) for row in connection.execute(found)]


def quota_in_force(connection: sa.Connection, study: int, in_file: int) -> int:
    """The number of answers per item: that of the study file, or more where the study was extended since.

    An extension is valid as long as the number in the file is the same as then; a changed file overrides it.
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
    """The largest quota of the study's items."""
    largest = sa.select(sa.func.coalesce(sa.func.max(items.c.quota), 0)).where(items.c.study == study)
    return int(connection.execute(largest).scalar_one())


def paused_at(connection: sa.Connection, study: int) -> int | None:
    """When the study was paused; None if it is not."""
    at: int | None = connection.execute(sa.select(studies.c.paused_at).where(studies.c.id == study)).scalar_one()
    return at


def credentials_of(connection: sa.Connection, study: int) -> Credentials:
    """The researcher's password, as its hash, and second factor."""
    column: str | None = connection.execute(sa.select(studies.c.password).where(studies.c.id == study)).scalar_one()
    return Credentials.stored(column)


def set_credentials(connection: sa.Connection, study: int, credentials: Credentials) -> None:
    """Set the researcher's password and second factor. For the writer."""
    connection.execute(sa.update(studies).where(studies.c.id == study).values(password=credentials.column()))


def quotas(connection: sa.Connection, study: int) -> dict[int, int]:
    """The quota of each item, by its id in the store."""
    found = sa.select(items.c.id, items.c.quota).where(items.c.study == study).order_by(items.c.id)
    return {row[0]: row[1] for row in connection.execute(found)}


def not_counted(connection: sa.Connection, study: int) -> dict[int, int]:
    """Answers for a label that do not count toward each item's quota: of excluded annotators, or left out."""
    found = (
        sa.select(answers.c.item, sa.func.count())
        .join(annotators, annotators.c.id == answers.c.annotator)
        .where(answers.c.study == study, answers.c.purpose == "label")
        .where(sa.or_(annotators.c.left_out_at.is_not(None), annotators.c.id.in_(set_aside(connection, study))))
        .group_by(answers.c.item)
    )
    return {row[0]: row[1] for row in connection.execute(found)}


def pseudonyms(connection: sa.Connection, study: int) -> set[str]:
    """The names of all participants."""
    return set(connection.execute(sa.select(annotators.c.pseudonym).where(annotators.c.study == study)).scalars())


def answers_since(connection: sa.Connection, study: int, after: int) -> Iterator[sa.Row[Any]]:
    """Answers with a higher id than `after`, in order: `id, item, annotator, purpose, seconds, received_at`.

    One writer at a time assigns and commits ids, so no id below the last one read appears later.
    """
    columns = [answers.c[name] for name in ("id", "item", "annotator", "purpose", "seconds", "received_at")]
    found = sa.select(*columns).where(answers.c.study == study, answers.c.id > after).order_by(answers.c.id)
    yield from connection.execute(found, execution_options=STREAMED)


def people(connection: sa.Connection, study: int) -> list[sa.Row[Any]]:
    """All participants in order, without their platform ids."""
    names = ("id", "pseudonym", "arm", "created_at", "seen_at", "excluded_at", "withdrawn_at", "finished_at")
    found = sa.select(*(annotators.c[name] for name in names)).where(annotators.c.study == study)
    return list(connection.execute(found.order_by(annotators.c.id)))


def without_further_items(
    connection: sa.Connection, number: int, study: Study, arms: Mapping[int, int], n_labels: Mapping[int, int]
) -> set[int]:
    """Of people with labels who have not finished (`arms` and `n_labels` of each), those who would have finished if
    they had opened their page again: they hold no trial, and have answered every item that still needs answers. The
    same rule as in `elicitation/session.py`, for people who left before the study became full. Quotas decide also in an
    adaptive study, which may stop earlier."""
    if not arms:
        return set()
    answered = taken(connection, number, (ANSWERED,))
    n_forms = max(len(study.questions), 1)
    # Compared forms have separate quotas.
    forms = [(arm,) for arm in range(n_forms)] if study.arms else [tuple(range(n_forms))]
    wanted = quotas(connection, number)
    open_items = [
        {item for item, quota in wanted.items() if sum(answered.get((item, form), 0) for form in each) < quota}
        for each in forms
    ]
    holders = {trial["annotator"] for trial in open_trials(connection, number)}
    done = set()
    for annotator, arm in arms.items():
        left = open_items[arm if study.arms else 0]
        if annotator in holders or len(left) > n_labels[annotator]:
            continue
        if not left or left <= answered_items(connection, annotator):
            done.add(annotator)
    return done


def sampled_answers(
    connection: sa.Connection, study: int, *, every: int = 1, records: bool = False
) -> list[sa.Row[Any]]:
    """Answers for labels, repeats and checks in order, each with its annotator's pseudonym and the item's name; without
    annotators whose answers are left out.

    With `every` = n, only the answers about every n-th item, and all checks. With `records`, also the record of each
    answer and the annotator's network.
    """
    columns = [answers.c[name] for name in ("item", "kind", "payload", "purpose", "number", "seconds")]
    columns += [answers.c.id, answers.c.record, annotators.c.network] if records else []
    found = (
        sa.select(*columns, trials.c.audit, annotators.c.pseudonym, items.c.item.label("name"))
        .join(annotators, annotators.c.id == answers.c.annotator)
        .join(items, items.c.id == answers.c.item)
        .join(trials, trials.c.id == answers.c.trial)
        .where(answers.c.study == study, answers.c.purpose.in_(("label", "repeat", "check")))
        .where(sa.or_(answers.c.item % every == 0, answers.c.purpose == "check"), annotators.c.left_out_at.is_(None))
        .order_by(answers.c.id)
    )
    return list(connection.execute(found))


def mean_seconds(connection: sa.Connection, study: int) -> float:
    """Mean seconds per answer for a label; 0 before there is one."""
    mean = sa.select(sa.func.avg(answers.c.seconds)).where(answers.c.study == study, answers.c.purpose == "label")
    return float(connection.execute(mean).scalar_one() or 0.0)


def item_numbered(connection: sa.Connection, study: int, number: int) -> Stimulus | None:
    """The stimulus of an item of the study, by its id in the store."""
    return stimulus_in(connection, sa.select(items).where(items.c.study == study, items.c.id == number))


# --- participants from platforms ---


def platform_id_of(connection: sa.Connection, annotator: int) -> Row | None:
    """An annotator's platform id with `refs` decoded; None for annotators who came by a link."""
    row = connection.execute(sa.select(ids).where(ids.c.annotator == annotator)).one_or_none()
    return None if row is None else dict(row._mapping) | {"refs": json.loads(row.refs)}


def platform_ids(connection: sa.Connection, study: int, platform: str) -> list[Row]:
    """All participants from a platform in order, with pseudonym, link and refs."""
    found = (
        sa.select(ids, annotators.c.pseudonym, annotators.c.token_hash)
        .join(annotators, annotators.c.id == ids.c.annotator)
        .where(ids.c.study == study, ids.c.platform == platform)
        .order_by(ids.c.id)
    )
    return [dict(row._mapping) | {"refs": json.loads(row.refs)} for row in connection.execute(found)]


def add_arrival(
    connection: sa.Connection, study: int, number: int, name: tuple[str, str], refs: Row, at: int, *, ended: bool
) -> None:
    """Record an arrival of a participant: a new row, or a new visit. `name` is the platform and their id there. For the
    writer.

    A visit after they have `ended` is listed, but the outcome and its code belong to the visit before.
    """
    known = platform_id_of(connection, number)
    if known is None:
        row: Row = {"id": next_id(connection, ids, study), "study": study, "annotator": number}
        row |= {"platform": name[0], "person": name[1], "refs": json.dumps(refs), "created_at": at}
        connection.execute(sa.insert(ids), row)
        return
    session, earlier = known["refs"].get("session"), known["refs"].get("earlier", [])
    if session == refs["session"] or (ended and refs["session"] in earlier):
        return
    if ended:
        _set_refs(connection, number, known["refs"] | {"earlier": [*earlier, refs["session"]][-20:]})
    else:
        _set_refs(connection, number, refs | {"earlier": [*earlier, session][-20:]})


def add_platform_check(connection: sa.Connection, annotator: int, session: str, result: str, at: int) -> bool:
    """Store the platform's answer about a visit, unless it confirmed it already; returns whether it was the latest
    visit. For the writer."""
    known = platform_id_of(connection, annotator)
    if known is None or known["refs"].get("session") != session:
        return False
    if known["refs"].get("check") != "known":
        _set_refs(connection, annotator, known["refs"] | {"check": result, "checked_at": at})
    return True


def _set_refs(connection: sa.Connection, annotator: int, refs: Row) -> None:
    connection.execute(sa.update(ids).where(ids.c.annotator == annotator).values(refs=json.dumps(refs)))


def find_annotator(connection: sa.Connection, study: int, pseudonym: str | None, platform_id: str | None) -> Row | None:
    """A participant by pseudonym or by platform id."""
    found = sa.select(annotators).where(annotators.c.study == study)
    if pseudonym is not None:
        found = found.where(annotators.c.pseudonym == pseudonym)
    if platform_id is not None:
        found = found.join(ids, ids.c.annotator == annotators.c.id).where(ids.c.person == platform_id)
    return one_row(connection, found)


def forget_platform_id(connection: sa.Connection, annotator: int) -> None:
    """Delete an annotator's platform id. For the writer."""
    secure_delete(connection)
    connection.execute(sa.delete(ids).where(ids.c.annotator == annotator))


def secure_delete(connection: sa.Connection) -> None:
    """From now on, overwrite deleted content in the file of an SQLite store."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA secure_delete = ON")


def leave_out(connection: sa.Connection, annotator: int, at: int) -> None:
    """Leave an annotator's answers out of every export from now on. For the writer."""
    connection.execute(sa.update(annotators).where(annotators.c.id == annotator).values(left_out_at=at))


def answered_items(connection: sa.Connection, annotator: int) -> set[int]:
    """The items that an annotator has answered for a label."""
    found = sa.select(answers.c.item).where(answers.c.annotator == annotator, answers.c.purpose == "label")
    return set(connection.execute(found).scalars())


def participants(connection: sa.Connection, study: int) -> list[Row]:
    """All participants in order: their row, the number of their answers, the seconds these took, and their platform id
    (`platform, person, refs`, all None without one)."""
    n_labels = sa.func.sum(sa.case((answers.c.purpose == "label", 1), else_=0)).label("n_labels")
    sums = (n_labels, sa.func.count().label("n_answers"), sa.func.sum(answers.c.seconds).label("seconds"))
    counted = (
        sa.select(answers.c.annotator, *sums)
        .where(answers.c.study == study, answers.c.purpose != "practice")
        .group_by(answers.c.annotator)
        .subquery()
    )
    columns = (*(counted.c[each.name] for each in sums), ids.c.platform, ids.c.person, ids.c.refs)
    found = (
        sa.select(annotators, *columns)
        .outerjoin(counted, counted.c.annotator == annotators.c.id)
        .outerjoin(ids, ids.c.annotator == annotators.c.id)
        .where(annotators.c.study == study)
        .order_by(annotators.c.id)
    )
    rows = connection.execute(found)
    return [dict(row._mapping) | {"refs": json.loads(row.refs) if row.refs else {}} for row in rows]
