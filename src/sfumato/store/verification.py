"""The chain of a study's answers: each carries a hash of itself and of the one before it.

A row that is changed, taken out or put in afterwards no longer fits its neighbours, and `verify` names it. Whoever can
write to the store could make the whole chain anew: against that, keep the head that `verify` prints elsewhere, and
compare.

Verifying a store: whether every answer is as it was stored, and which are not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import sqlalchemy as sa

from sfumato.store import queries
from sfumato.store.database import reading_engine
from sfumato.store.location import StoreLocation

START = ""
"""What the first answer of a study is chained to."""
COLUMNS = (
    "id", "study", "annotator", "item", "trial", "number", "purpose", "kind", "payload", "started_at", "submitted_at",
    "received_at", "seconds", "key", "digest", "handle", "record",
)  # fmt: skip
ENCODE = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class ChainFault:
    """An answer that is not as it was stored. `id` is its number in the store; what of it is known is said."""

    id: int
    what: str
    """`changed`, `missing` or `added`."""
    annotator: str = ""
    item: str = ""


@dataclass(frozen=True)
class Verified:
    """What came of looking at a study's answers: how many there are, the head of their chain, and every fault."""

    study: str
    n_answers: int
    head: str
    faults: tuple[ChainFault, ...] = ()


def chain_hash(previous: str, row: Mapping[str, Any]) -> str:
    """The link of an answer: a SHA-256 of the link before it and of every column."""
    return hashlib.sha256(previous.encode() + ENCODE([row[name] for name in COLUMNS])).hexdigest()


def faults_of(rows: Iterable[Mapping[str, Any]], *, first: int, n_answers: int, head: str) -> Iterator[ChainFault]:
    """Every fault of the answers `rows`, which come in order of id, `annotator_name` and `item_name` beside them.

    The store noted that there are `n_answers` from id `first`, and that the last link is `head`.
    """
    before, link = first - 1, START
    for row in rows:
        known = {"annotator": row["annotator_name"], "item": row["item_name"]}
        if row["id"] >= first + n_answers:
            yield ChainFault(row["id"], "added", **known)
            continue
        missing = range(before + 1, row["id"])
        yield from (ChainFault(number, "missing") for number in missing)
        # After a gap the link before is not known: nothing can be said of the first row that follows it.
        if not missing and chain_hash(link, row) != row["chain"]:
            yield ChainFault(row["id"], "changed", **known)
        before, link = row["id"], row["chain"]
    yield from (ChainFault(number, "missing") for number in range(before + 1, first + n_answers))
    if before == first + n_answers - 1 and link != head:
        yield ChainFault(before, "changed")


def with_names(faults: Iterable[ChainFault], orphans: Sequence[tuple[str, str]]) -> tuple[ChainFault, ...]:
    """The faults, each answer once; those that are missing with annotator and item of a trial without its answer.

    Of several that are missing it is known whose they were, and not which was which.
    """
    left = iter(orphans)
    found: dict[int, ChainFault] = {}
    for fault in faults:
        if fault.what == "missing":
            found.setdefault(fault.id, ChainFault(fault.id, fault.what, *next(left, ("", ""))))
        found.setdefault(fault.id, fault)
    return tuple(found.values())


def verify(place: StoreLocation) -> list[Verified]:
    """What became of the answers of every study in the store. One snapshot: a server may be at work meanwhile."""
    engine = reading_engine(place)
    try:
        with engine.connect() as connection, connection.begin():
            return [_verified(connection, name) for name in queries.study_names(connection)]
    finally:
        engine.dispose()


def _verified(connection: sa.Connection, name: str) -> Verified:
    row = queries.study_row(connection, name)
    assert row is not None
    number = row["id"]
    faults = faults_of(
        queries.chained(connection, number),
        first=queries.first_answer(number),
        n_answers=row["n_answers"],
        head=row["head"],
    )
    return Verified(name, row["n_answers"], row["head"], with_names(faults, queries.without_answer(connection, number)))
