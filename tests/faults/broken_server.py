"""`sfumato serve` with a deliberate fault, to check that the trials detect it.

python broken_server.py FAULT[,FAULT ...] serve STUDY ...
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from starlette.concurrency import run_in_threadpool

from sfumato.cli import main
from sfumato.elicitation.clock import Clock
from sfumato.elicitation.lease import LeaseTable
from sfumato.elicitation.participant import Participant, Trial
from sfumato.server import pages, server, uvicorn_protocol
from sfumato.store import database, writer
from sfumato.tables.errors import SfumatoError

LATE_SECONDS = 0.1
DELAY_PER_REQUEST_SECONDS = 0.0003


def acknowledge_early() -> None:
    """Answers are acknowledged shortly before the commit."""
    original = writer.Writer._group

    def changed(self: writer.Writer, group: list[writer.WriteRequest], alone: bool = False) -> None:
        if alone:
            original(self, group, alone)
            return
        with self._engine.begin() as connection:
            self._work.begin(connection)
            for request in group:
                try:
                    request.result = request.do(self._work)
                except SfumatoError as error:
                    request.error = error
            self._work.end()
            writer._deliver(group)
            time.sleep(LATE_SECONDS)
        self._work.committed()

    writer.Writer._group = changed  # type: ignore[method-assign]


def ignore_keys() -> None:
    """No receipts and no unique constraints; a trial can be answered repeatedly."""
    enter = Participant._enter

    def stay_open(self: Participant, trial: Trial) -> None:
        enter(self, trial)
        self.trials[trial.handle] = trial

    def unconstrained(*_columns: str, name: str) -> sa.CheckConstraint:
        return sa.CheckConstraint("1 = 1", name=name)

    Participant._enter = stay_open  # type: ignore[method-assign]
    Participant.note = lambda *_: None  # type: ignore[method-assign]
    # The tables are created later, by a migration that looks the class up when it runs.
    sa.UniqueConstraint = unconstrained  # type: ignore[misc, assignment]


def no_leases() -> None:
    """An item counts against its quota only when it is answered, not when it is assigned."""

    def hold(self: LeaseTable, trial: Trial) -> None:
        if trial.purpose == "label":
            self.restore(trial)

    def complete(self: LeaseTable, trial: Trial) -> None:
        if self._held.pop(trial.id, None) is not None:
            self._quotas(trial).take(trial.item)

    def release(self: LeaseTable, trial: Trial) -> None:
        self._held.pop(trial.id, None)

    LeaseTable.hold, LeaseTable.complete, LeaseTable.release = hold, complete, release  # type: ignore[method-assign]


def sync_normal() -> None:
    """PRAGMA synchronous = NORMAL: a commit may not be on disk yet."""
    prepare = database._prepare_sqlite

    def changed(connection: Any, record: object) -> None:
        prepare(connection, record)
        connection.execute("PRAGMA synchronous = NORMAL")

    database._prepare_sqlite = changed


def ignore_commit_errors() -> None:
    """Answers are acknowledged even if the commit fails."""
    original = writer.Writer._group

    def changed(self: writer.Writer, group: list[writer.WriteRequest], alone: bool = False) -> None:
        if alone:
            original(self, group, alone)
            return
        try:
            with self._engine.begin() as connection:
                self._work.begin(connection)
                for request in group:
                    try:
                        request.result = request.do(self._work)
                    except SfumatoError as error:
                        request.error = error
                self._work.end()
        except sa.exc.DBAPIError:
            pass
        self._work.committed()

    writer.Writer._group = changed  # type: ignore[method-assign]


def lease_by_wall_clock() -> None:
    """Leases use the wall clock, which can be changed."""
    Clock.monotonic = lambda self: self.now() / 1000  # type: ignore[method-assign]
    Clock.steady = Clock.now  # type: ignore[method-assign]


def no_lock() -> None:
    """A second server can open the same file."""
    server.only_server = lambda _place: contextlib.nullcontext()


def memory_leak() -> None:
    """Every request is kept in memory."""
    leaked: list[writer.WriteRequest] = []
    deliver = writer._deliver

    def changed(group: list[writer.WriteRequest]) -> None:
        leaked.extend(group)
        deliver(group)

    writer._deliver = changed


def unbounded_queue() -> None:
    """The queue of requests has no limit."""
    writer.MOST_WAITING = 10**9


def short_queue() -> None:
    """A queue of four requests and slow commits: not a fault, but overload that is easy to reach in a test."""
    writer.MOST_WAITING = 4
    _slow_down(lambda _: LATE_SECONDS)


def slow_machine() -> None:
    """About half as many requests per second: not a fault, but too slow for thirty times the usual load."""
    _slow_down(lambda requests: DELAY_PER_REQUEST_SECONDS * len(requests))


def _slow_down(seconds: Callable[[list[writer.WriteRequest]], float]) -> None:
    """Delay each group of requests."""
    group = writer.Writer._group

    def slowly(self: writer.Writer, requests: list[writer.WriteRequest], alone: bool = False) -> None:
        time.sleep(seconds(requests))
        group(self, requests, alone)

    writer.Writer._group = slowly  # type: ignore[method-assign]


def pictures_in_writer() -> None:
    """Pictures are rendered by the thread that stores answers."""
    picture = pages._trial_picture

    async def queued(do: Callable[..., Any], site: Any, *arguments: Any) -> Any:
        if do is not picture:
            return await run_in_threadpool(do, site, *arguments)
        return await site.writer.ask(lambda _: do(site, *arguments))

    pages.run_in_threadpool = queued  # type: ignore[assignment]


def no_timeouts() -> None:
    """Unfinished requests never time out."""
    uvicorn_protocol.TIMEOUT_SECONDS = float("inf")


FAULTS: dict[str, Callable[[], Any]] = {
    "acknowledge-early": acknowledge_early,
    "ignore-keys": ignore_keys,
    "no-leases": no_leases,
    "sync-normal": sync_normal,
    "ignore-commit-errors": ignore_commit_errors,
    "lease-by-wall-clock": lease_by_wall_clock,
    "no-lock": no_lock,
    "memory-leak": memory_leak,
    "unbounded-queue": unbounded_queue,
    "short-queue": short_queue,
    "slow-machine": slow_machine,
    "pictures-in-writer": pictures_in_writer,
    "no-timeouts": no_timeouts,
}

if __name__ == "__main__":
    for name in sys.argv.pop(1).split(","):
        FAULTS[name]()
    main()
