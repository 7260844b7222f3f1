"""A simulated disk that fails for a while: no space, failing writes and syncs, or a read-only file system.

After a failed sync the pending pages are dropped, as in real systems: the cache shows the pages as written, counts them
as clean, and never writes them again. A second sync then succeeds without storing them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import apsw
from power_cut import Content, Disk


class Fault(Enum):
    """The kind of failure."""

    SYNC = "sync"
    WRITE = "write"
    FULL = "full"
    READ_ONLY = "read-only"


@dataclass(frozen=True)
class FailurePeriod:
    """A failure period: from operation `begins` on, `n` operations of this kind fail."""

    fault: Fault
    begins: int
    n: int


class FailingDisk(Disk):
    """A disk with a failure period. With `retries_sync` a failed sync is repeated, and its success is believed."""

    def __init__(self, name: str, period: FailurePeriod, *, retries_sync: bool = False) -> None:
        super().__init__(name)
        self._period, self._retries_sync = period, retries_sync
        self._n_left = period.n
        self.n_failures = 0

    def fails(self, syncing: Content | None = None) -> None:
        is_ours = (self._period.fault is Fault.SYNC) == (syncing is not None)
        if not is_ours or self._n_left == 0 or self.n_operations < self._period.begins:
            return
        self._n_left -= 1
        self.n_failures += 1
        if self._period.fault is Fault.FULL:
            raise apsw.FullError("no space")
        if self._period.fault is Fault.READ_ONLY:
            raise apsw.ReadOnlyError("read-only")
        if syncing is not None:
            syncing.since.clear()
            if self._retries_sync:
                return
        raise apsw.IOError("the disk failed")
