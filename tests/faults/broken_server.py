"""`sfumato serve` with a fault put in on purpose, to see that the trials would find it.

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
from sfumato.server import http_protocol, pages, server
from sfumato.store import database, writer
from sfumato.tables.errors import SfumatoError

LATE_SECONDS = 0.1
MORE_A_REQUEST_SECONDS = 0.0003


def acknowledge_early() -> None:
    """Everybody hears of success a little before the commit."""
    careful = writer.Writer._group

    def hasty(self: writer.Writer, group: list[writer.WriteRequest], alone: bool = False) -> None:
        if alone:
            careful(self, group, alone)
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

    writer.Writer._group = hasty  # type: ignore[method-assign]


def forget_keys() -> None:
    """No receipts, no unique constraints, and a trial can be answered over and over."""
    enter = Participant._enter

    def stay_open(self: Participant, trial: Trial) -> None:
        enter(self, trial)
        self.trials[trial.handle] = trial

    def unconstrained(*_columns: str, name: str) -> sa.CheckConstraint:
        return sa.CheckConstraint("1 = 1", name=name)

    Participant._enter = stay_open  # type: ignore[method-assign]
    Participant.note = lambda *_: None  # type: ignore[method-assign]
    # The tables are made after this, by a migration that looks the class up when it runs.
    sa.UniqueConstraint = unconstrained  # type: ignore[misc, assignment]


def hold_nothing() -> None:
    """An item's count goes up when an answer comes, and not when it is asked for."""

    def hold(self: LeaseTable, trial: Trial) -> None:
        if trial.purpose == "label":
            self.restore(trial)

    def complete(self: LeaseTable, trial: Trial) -> None:
        if self._held.pop(trial.id, None) is not None:
            self._quotas(trial).take(trial.item)

    def release(self: LeaseTable, trial: Trial) -> None:
        self._held.pop(trial.id, None)

    LeaseTable.hold, LeaseTable.complete, LeaseTable.release = hold, complete, release  # type: ignore[method-assign]


def sync_seldom() -> None:
    """Commits are not waited for: the disk may have them, or not."""
    prepare = database._prepare_sqlite

    def hasty(connection: Any, record: object) -> None:
        prepare(connection, record)
        connection.execute("PRAGMA synchronous = NORMAL")

    database._prepare_sqlite = hasty


def ignore_commit_errors() -> None:
    """Whatever the disk says to a commit, people hear of success."""
    careful = writer.Writer._group

    def careless(self: writer.Writer, group: list[writer.WriteRequest], alone: bool = False) -> None:
        if alone:
            careful(self, group, alone)
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

    writer.Writer._group = careless  # type: ignore[method-assign]


def lease_by_wall_clock() -> None:
    """Leases end by the time of day, which somebody may set."""
    Clock.monotonic = lambda self: self.now() / 1000  # type: ignore[method-assign]
    Clock.steady = Clock.now  # type: ignore[method-assign]


def lock_nothing() -> None:
    """A second server may open the same file."""
    server.only_server = lambda _place: contextlib.nullcontext()


def keep_every_request() -> None:
    """Nothing that was ever asked is let go of."""
    kept: list[writer.WriteRequest] = []
    deliver = writer._deliver

    def hoard(group: list[writer.WriteRequest]) -> None:
        kept.extend(group)
        deliver(group)

    writer._deliver = hoard


def shed_nothing() -> None:
    """The queue has no end."""
    writer.MOST_WAITING = 10**9


def short_queue() -> None:
    """Hardly anybody may wait, and everybody has to: not broken, but as crowded as a test can make it."""
    writer.MOST_WAITING = 4
    _slow_down(lambda _: LATE_SECONDS)


def slow_machine() -> None:
    """Half as many requests per second: not broken, but too slow for thirty times the usual load."""
    _slow_down(lambda requests: MORE_A_REQUEST_SECONDS * len(requests))


def _slow_down(seconds: Callable[[list[writer.WriteRequest]], float]) -> None:
    """Each group takes so much longer."""
    group = writer.Writer._group

    def slowly(self: writer.Writer, requests: list[writer.WriteRequest], alone: bool = False) -> None:
        time.sleep(seconds(requests))
        group(self, requests, alone)

    writer.Writer._group = slowly  # type: ignore[method-assign]


def pictures_by_the_writer() -> None:
    """Pictures are made and sent by the one thread that stores answers."""
    picture = pages._trial_picture

    async def queued(do: Callable[..., Any], site: Any, *arguments: Any) -> Any:
        if do is not picture:
            return await run_in_threadpool(do, site, *arguments)
        return await site.writer.ask(lambda _: do(site, *arguments))

    pages.run_in_threadpool = queued  # type: ignore[assignment]


def endless_patience() -> None:
    """Whoever does not finish a request is waited for."""
    http_protocol.TIMEOUT_SECONDS = float("inf")


FAULTS: dict[str, Callable[[], Any]] = {
    "acknowledge-early": acknowledge_early,
    "forget-keys": forget_keys,
    "hold-nothing": hold_nothing,
    "sync-seldom": sync_seldom,
    "ignore-commit-errors": ignore_commit_errors,
    "lease-by-wall-clock": lease_by_wall_clock,
    "lock-nothing": lock_nothing,
    "keep-every-request": keep_every_request,
    "shed-nothing": shed_nothing,
    "short-queue": short_queue,
    "slow-machine": slow_machine,
    "pictures-by-the-writer": pictures_by_the_writer,
    "endless-patience": endless_patience,
}

if __name__ == "__main__":
    for name in sys.argv.pop(1).split(","):
        FAULTS[name]()
    main()
