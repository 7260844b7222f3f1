"""Trial: the disk fails for a while during answers, refused answers are sent again, and then the power is cut."""

from __future__ import annotations

import contextlib
import random
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from failing_disk import FailingDisk, FailurePeriod, Fault
from power_cut import Disk, engine_on
from power_cut_trial import CHECKPOINTS, copy_store, handles_of, in_memory, running_study, write_store
from study_instance import sent

from sfumato.elicitation.page_messages import SubmitResult, SubmittedAnswer
from sfumato.elicitation.participant_link import hash_of
from sfumato.store import writer as writing
from sfumato.store.writer import Writer
from sfumato.tables.errors import StoreDown

N_ANSWERS = 8
LONGEST_PERIOD = 8
MAX_ATTEMPTS = 60
EXPECTED_CODES = {
    Fault.FULL: "storage-full",
    Fault.SYNC: "store-down",
    Fault.WRITE: "store-down",
    Fault.READ_ONLY: "store-down",
}


@dataclass
class FailingReport:
    """The result of a number of failure periods."""

    periods: int = 0
    failures: int = 0
    """Writes and syncs that failed."""
    refused: int = 0
    """Requests that were refused because of it."""
    acknowledged: int = 0
    lost: int = 0
    corrupt: int = 0
    stuck: int = 0
    """Servers that did not recover by themselves."""
    codes: set[str] = field(default_factory=set)
    misnamed: int = 0
    """Refusals with the wrong error code."""

    @property
    def clean(self) -> bool:
        wrong = (self.lost, self.corrupt, self.stuck, self.misnamed)
        return not any(wrong) and self.refused > 0 and self.acknowledged == self.periods * N_ANSWERS

    def __str__(self) -> str:
        return (
            f"{self.periods} failure periods, {self.failures:,} failed operations, {self.refused:,} requests refused, "
            f"{self.acknowledged:,} acknowledged, {self.lost} lost, {self.corrupt} corrupt, {self.stuck} stuck"
        )


def failing_disk_trial(
    n_periods: int,
    *,
    seed: int,
    faults: tuple[Fault, ...] = tuple(Fault),
    retries_sync: bool = False,
    checks: bool = True,
    until: float | None = None,
) -> FailingReport:
    """Run `n_periods` failure periods, cycling through `faults`.

    Controls: `retries_sync` repeats a failed sync; without `checks` the writer skips the check after a failure.
    """
    report, rng = FailingReport(), random.Random(seed)
    with in_memory() as place, _writer_settings(checks):
        first = place / "first.sqlite"
        write_store(first)
        whole = Disk(uuid.uuid4().hex)
        _send_answers(whole, copy_store(first, place / "whole"), 1000, FailingReport(), "")
        for number in range(n_periods):
            if until is not None and time.monotonic() > until:
                break
            fault = faults[number % len(faults)]
            period = FailurePeriod(fault, rng.randrange(6, whole.n_operations), rng.randrange(1, LONGEST_PERIOD))
            disk = FailingDisk(uuid.uuid4().hex, period, retries_sync=retries_sync)
            _run_period(disk, EXPECTED_CODES[fault], copy_store(first, place / "period"), rng, report)
    return report


def _run_period(disk: FailingDisk, expected_code: str, file: Path, rng: random.Random, report: FailingReport) -> None:
    acknowledged = _send_answers(disk, file, rng.choice(CHECKPOINTS), report, expected_code)
    found = file.parent / "found"
    found.mkdir()
    disk.write_remains(rng, found)
    report.periods += 1
    report.failures += disk.n_failures
    report.acknowledged += len(acknowledged)
    handles = handles_of(found / file.name)
    if handles is None:
        report.corrupt += 1
    else:
        report.lost += len(set(acknowledged) - handles)


def _send_answers(disk: Disk, file: Path, every: int, report: FailingReport, expected_code: str) -> list[str]:
    """Send each answer until it is acknowledged, then cut the power; returns the handles."""
    writer = Writer(engine_on(disk, file, checkpoint_every=every), running_study())
    person = _Person(writer, report, expected_code)
    try:
        person.retry(writer.start)
        token = person.retry(lambda: writer.run(lambda running: running.sessions.join())).token
        state = person.retry(lambda: writer.run(lambda running: running.sessions.finish_instructions(hash_of(token))))
        acknowledged = []
        for _ in range(N_ANSWERS):
            outcome = person.send(token, sent(state.trials[0].handle))
            acknowledged.append(str(outcome.answer))
            state = outcome.state
        return acknowledged
    except TimeoutError:
        report.stuck += 1
        return []
    finally:
        disk.is_over = True
        with contextlib.suppress(Exception):
            writer.stop()


@dataclass
class _Person:
    writer: Writer
    report: FailingReport
    expected_code: str

    def send(self, token: str, answer: SubmittedAnswer) -> SubmitResult:
        return self.retry(lambda: self.writer.run(lambda running: running.sessions.submit(hash_of(token), answer)))

    def retry(self, do):  # type: ignore[no-untyped-def]
        """Repeat a call until it succeeds; `TimeoutError` after `MAX_ATTEMPTS`."""
        for _ in range(MAX_ATTEMPTS):
            try:
                return do()
            except StoreDown as error:
                self.report.refused += 1
                self.report.codes.add(error.code)
                self.report.misnamed += error.code != self.expected_code
        raise TimeoutError


@contextlib.contextmanager
def _writer_settings(checks: bool) -> Iterator[None]:
    """Retry a failed store without a pause; without `checks`, do not check it first."""
    pause, check_whole = writing.PAUSE_SECONDS, writing.check_whole
    writing.PAUSE_SECONDS = 0.0
    if not checks:
        writing.check_whole = lambda _engine: None  # type: ignore[assignment]
    try:
        yield
    finally:
        writing.PAUSE_SECONDS, writing.check_whole = pause, check_whole
