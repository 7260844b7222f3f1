"""The hash chain of a study's answers, and its verification.

Each answer has a hash of itself and of the previous hash, so `verify` finds rows that were changed, removed or added.
A person who can write to the store could rebuild the whole chain; to detect that, keep the head that `verify` prints in
another place, and compare. Answers whose records were erased (`erasure.py`) keep their hashes as links; they are
compared with the seal of their annotator instead.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import sqlalchemy as sa

from sfumato.store import export_queries, queries
from sfumato.store.database import reading
from sfumato.store.erasure import ErasedRecords, Seal, erased_records, is_erased
from sfumato.store.location import StoreLocation

START = ""
"""The hash before the first answer of a study."""
COLUMNS = (
    "id", "study", "annotator", "item", "trial", "number", "purpose", "kind", "payload", "started_at", "submitted_at",
    "received_at", "seconds", "key", "digest", "handle", "record",
)  # fmt: skip
SECONDS = COLUMNS.index("seconds")
"""The only column with fractions."""
ENCODE = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class ChainFault:
    """An answer that differs from what was stored. `id` is its id in the store."""

    id: int
    what: str
    """`changed`, `missing` or `added`."""
    annotator: str = ""
    item: str = ""


@dataclass(frozen=True)
class Verified:
    """The verification of a study: the number of answers, the head of their chain, and every fault."""

    study: str
    n_answers: int
    head: str
    faults: tuple[ChainFault, ...] = ()
    n_erased: int = 0
    """How many of the answers are without their records."""


def chain_hash(previous: str, row: Mapping[str, Any]) -> str:
    """The hash of an answer: SHA-256 of the previous hash and of every column.

    Minus zero counts as zero: SQLite does not store its sign.
    """
    values = [row[name] for name in COLUMNS]
    values[SECONDS] += 0.0
    return hashlib.sha256(previous.encode() + ENCODE(values)).hexdigest()


def faults_of(
    rows: Iterable[Mapping[str, Any]],
    *,
    first: int,
    n_answers: int,
    head: str,
    erased: Mapping[str, ErasedRecords] | None = None,
) -> Iterator[ChainFault]:
    """Every fault of the answers `rows`, ordered by id, with `annotator_name` and `item_name`.

    The store recorded `n_answers` answers from id `first`, and the last hash `head`. A fault in the `erased` answers of
    an annotator is reported once, with their last id.
    """
    erased = erased or {}
    seals = {name: Seal() for name in erased}
    before, link = first - 1, START
    for row in rows:
        known = {"annotator": row["annotator_name"], "item": row["item_name"]}
        if row["id"] >= first + n_answers:
            yield ChainFault(row["id"], "added", **known)
            continue
        missing = range(before + 1, row["id"])
        yield from (ChainFault(number, "missing") for number in missing)
        if is_erased(erased, row["annotator_name"], row["id"]):
            seals[row["annotator_name"]].add(row)
        # After a gap the previous hash is unknown, so the next row cannot be checked.
        elif not missing and chain_hash(link, row) != row["chain"]:
            yield ChainFault(row["id"], "changed", **known)
        before, link = row["id"], row["chain"]
    yield from (ChainFault(number, "missing") for number in range(before + 1, first + n_answers))
    if before == first + n_answers - 1 and link != head:
        yield ChainFault(before, "changed")
    for name, seal in seals.items():
        if seal.hexdigest() != erased[name].seal:
            yield ChainFault(erased[name].through, "changed", name)


def with_names(faults: Iterable[ChainFault], orphans: Sequence[tuple[str, str]]) -> tuple[ChainFault, ...]:
    """The faults, each answer once; missing answers get the annotator and item of a trial without its answer.

    For several missing answers these are known only as a set, not one by one.
    """
    left = iter(orphans)
    found: dict[int, ChainFault] = {}
    for fault in faults:
        if fault.what == "missing":
            found.setdefault(fault.id, ChainFault(fault.id, fault.what, *next(left, ("", ""))))
        found.setdefault(fault.id, fault)
    return tuple(found.values())


def verify(place: StoreLocation) -> list[Verified]:
    """Verify the answers of every study in the store, in one snapshot; a server may be running."""
    with reading(place) as connection:
        return [_verified(connection, name) for name in queries.study_names(connection)]


def _verified(connection: sa.Connection, name: str) -> Verified:
    row = queries.study_row(connection, name)
    assert row is not None
    number = row["id"]
    rows, first = export_queries.chained(connection, number), export_queries.first_answer(number)
    erased = erased_records(connection, number)
    faults = faults_of(rows, first=first, n_answers=row["n_answers"], head=row["head"], erased=erased)
    named = with_names(faults, export_queries.without_answer(connection, number))
    return Verified(name, row["n_answers"], row["head"], named, sum(each.n_answers for each in erased.values()))
