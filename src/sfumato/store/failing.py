"""What the failure of a store means: no room, a disk that cannot be relied on, or one request that went wrong."""

from __future__ import annotations

from enum import Enum

import sqlalchemy as sa

from sfumato.tables.errors import StoreDown

NO_ROOM = 13
"""SQLITE_FULL."""
UNRELIABLE = {8, 10, 11, 14, 26}
"""SQLITE_READONLY, SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_CANTOPEN and SQLITE_NOTADB."""
POSTGRESQL_NO_ROOM = "53100"


class Failure(Enum):
    """What failed. What was being written is undone in any case, and nothing of it was acknowledged."""

    NO_ROOM = "no room"
    """The store is whole, and goes on as soon as there is room."""
    DISK = "disk"
    """A write or a sync failed. Who tries the same again may be told of a success that is none (the system may count
    pages as clean that never reached the disk), so the store is opened and looked at anew before the next write."""
    REQUEST = "request"
    """Anything else: other requests may do better."""


def failure_of(error: BaseException) -> Failure:
    """What an error that came while writing means."""
    if not isinstance(error, sa.exc.DBAPIError):
        return Failure.REQUEST
    # SQLite's extended codes keep the kind of failure in their last byte.
    number = (getattr(error.orig, "sqlite_errorcode", None) or 0) & 0xFF
    if number == NO_ROOM or getattr(error.orig, "sqlstate", None) == POSTGRESQL_NO_ROOM:
        return Failure.NO_ROOM
    return Failure.DISK if number in UNRELIABLE else Failure.REQUEST


def down_because(error: BaseException) -> StoreDown:
    """The error that people hear of, who may try again."""
    if isinstance(error, StoreDown):
        return error
    if failure_of(error) is Failure.NO_ROOM:
        return StoreDown(
            "found no room left where answers are kept",
            expected="room for more answers",
            fix="free some space; nothing was acknowledged, so nothing is lost, and it goes on by itself",
            code="storage-full",
        )
    return down(f"the store failed ({type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''})")


def down(found: str) -> StoreDown:
    """The error for a store that cannot write at the moment."""
    return StoreDown(
        f"found that {found}",
        expected="a store that can write",
        fix="try again in a moment; nothing was acknowledged, so nothing is lost",
        code="store-down",
    )
