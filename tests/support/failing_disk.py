"""A disk that fails for a while: writes that find no room, writes and syncs that fail, a file system gone read-only.

A sync that fails forgets what it should have made safe, as systems do: their cache shows the pages as they were
written, counts them as clean, and never writes them again. A second sync then succeeds, and proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import apsw
from power_cut import Content, Disk


class Fault(Enum):
    """What fails."""

    SYNC = "sync"
    WRITE = "write"
    FULL = "full"
    READ_ONLY = "read-only"


@dataclass(frozen=True)
class Spell:
    """A bad spell: from operation `begins` on, `n` operations of its kind fail."""

    fault: Fault
    begins: int
    n: int


class FailingDisk(Disk):
    """A disk with a bad spell. With `tries_again` a sync that fails is tried once more, and taken at its word."""

    def __init__(self, name: str, spell: Spell, *, tries_again: bool = False) -> None:
        super().__init__(name)
        self._spell, self._tries_again = spell, tries_again
        self._n_left = spell.n
        self.n_failures = 0

    def fails(self, syncing: Content | None = None) -> None:
        is_ours = (self._spell.fault is Fault.SYNC) == (syncing is not None)
        if not is_ours or self._n_left == 0 or self.n_operations < self._spell.begins:
            return
        self._n_left -= 1
        self.n_failures += 1
        if self._spell.fault is Fault.FULL:
            raise apsw.FullError("no room")
        if self._spell.fault is Fault.READ_ONLY:
            raise apsw.ReadOnlyError("read-only")
        if syncing is not None:
            syncing.since.clear()
            if self._tries_again:
                return
        raise apsw.IOError("the disk failed")
