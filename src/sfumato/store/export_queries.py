"""SQL queries over all answers of a study, for exports and verification."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from sfumato.store.queries import IDS_PER_STUDY, STREAMED
from sfumato.store.schema import ANSWERED, Row, annotators, answers, items, studies, trials


def exported(
    connection: sa.Connection, study: int, purposes: Sequence[str], *, by_item: bool = False
) -> Iterator[list[sa.Row[Any]]]:
    """The study's answers, some thousand at a time; without annotators whose answers are left out.

    In the order in which they came or, with `by_item`, in one that does not tell it: by item, then by pseudonym.
    """
    own = ("id", "kind", "payload", "purpose", "started_at", "submitted_at", "received_at", "seconds", "record")
    drawn = ("leased_at", "probability", "audit", "deeper", "deeper_probability")
    columns = [*(answers.c[name] for name in own), *(trials.c[name] for name in drawn), annotators.c.network]
    order = (answers.c.item, annotators.c.pseudonym, answers.c.number) if by_item else (answers.c.id,)
    rows = (
        sa.select(items.c.item, annotators.c.pseudonym.label("annotator"), answers.c.number.label("trial"), *columns)
        .join(trials, trials.c.id == answers.c.trial)
        .join(items, items.c.id == answers.c.item)
        .join(annotators, annotators.c.id == answers.c.annotator)
        .where(answers.c.study == study, answers.c.purpose.in_(purposes), annotators.c.left_out_at.is_(None))
        .order_by(*order)
    )
    result = connection.execute(rows, execution_options=STREAMED)
    yield from (list(part) for part in result.partitions())


def is_adaptive(connection: sa.Connection, study: int) -> bool:
    """Whether answers decided which items were asked: then each choice was stored with its probability."""
    chosen = sa.select(trials.c.id).join(items, items.c.id == trials.c.item)
    return (
        connection.execute(chosen.where(items.c.study == study, trials.c.probability.is_not(None)).limit(1)).first()
        is not None
    )


def first_starts(connection: sa.Connection, study: int, purposes: Sequence[str]) -> dict[str, int]:
    """When each annotator started the first of their answers for these purposes, by pseudonym."""
    found = (
        sa.select(annotators.c.pseudonym, sa.func.min(answers.c.started_at))
        .join(annotators, annotators.c.id == answers.c.annotator)
        .where(answers.c.study == study, answers.c.purpose.in_(purposes))
        .group_by(annotators.c.pseudonym)
    )
    return {row[0]: row[1] for row in connection.execute(found)}


def chained(connection: sa.Connection, study: int) -> Iterator[Row]:
    """The study's answers in order with all columns, and the names of annotator and item."""
    rows = (
        sa.select(answers, annotators.c.pseudonym.label("annotator_name"), items.c.item.label("item_name"))
        .join(items, items.c.id == answers.c.item)
        .join(annotators, annotators.c.id == answers.c.annotator)
        .where(answers.c.study == study)
        .order_by(answers.c.id)
    )
    result = connection.execute(rows, execution_options=STREAMED)
    yield from (dict(row._mapping) for row in result)


def broken_ends(connection: sa.Connection) -> list[str]:
    """The studies whose last answer is not the one recorded in `studies`."""
    found = connection.execute(sa.select(studies.c.name, studies.c.id, studies.c.n_answers, studies.c.head))
    broken = []
    for name, number, n_answers, head in found.all():
        last = sa.select(answers.c.id, answers.c.chain).where(answers.c.study == number)
        row = connection.execute(last.order_by(answers.c.id.desc()).limit(1)).one_or_none()
        recorded = (first_answer(number) + n_answers - 1, head) if n_answers else None
        if (None if row is None else (row.id, row.chain)) != recorded:
            broken.append(str(name))
    return broken


def first_answer(study: int) -> int:
    """The id of a study's first answer."""
    return study * IDS_PER_STUDY + 1


def without_answer(connection: sa.Connection, study: int) -> list[tuple[str, str]]:
    """Annotator and item of every trial marked as answered that has no answer."""
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
