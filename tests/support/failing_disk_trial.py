"""The trial: people answer while the disk fails for a while, send again what was refused, and then the power goes."""

from __future__ import annotations

import contextlib
import random
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from failing_disk import FailingDisk, Fault, Spell
from power_cut import Disk, engine_on
from power_cut_trial import CHECKPOINTS, begun, copied, handles_of, in_memory, running_study
from study_at_work import sent

from sfumato.elicitation.participant_state import SubmitResult, SubmittedAnswer
from sfumato.elicitation.session import hash_of
from sfumato.store import writer as writing
from sfumato.store.writer import Writer
from sfumato.tables.errors import StoreDown

N_ANSWERS = 8
LONGEST_SPELL = 8
MOST_TRIES = 60
SAYS = {Fault.FULL: "storage-full", Fault.SYNC: "store-down", Fault.WRITE: "store-down", Fault.READ_ONLY: "store-down"}


@dataclass
class FailingReport:
    """What came of so many bad spells."""

    spells: int = 0
    failures: int = 0
    """Writes and syncs that failed."""
    refused: int = 0
    """Requests that heard of it."""
    acknowledged: int = 0
    lost: int = 0
    corrupt: int = 0
    stuck: int = 0
    """Servers that did not go on by themselves."""
    codes: set[str] = field(default_factory=set)
    misnamed: int = 0
    """Refusals that did not say what was the matter."""

    @property
    def clean(self) -> bool:
        wrong = (self.lost, self.corrupt, self.stuck, self.misnamed)
        return not any(wrong) and self.refused > 0 and self.acknowledged == self.spells * N_ANSWERS

    def __str__(self) -> str:
        return (
            f"{self.spells} bad spells, {self.failures:,} failures, {self.refused:,} requests refused, "
            f"{self.acknowledged:,} acknowledged, {self.lost} lost, {self.corrupt} corrupt, {self.stuck} stuck"
        )


def failing_disk_trial(
    n_spells: int,
    *,
    seed: int,
    faults: tuple[Fault, ...] = tuple(Fault),
    tries_again: bool = False,
    looks: bool = True,
    until: float | None = None,
) -> FailingReport:
    """So many bad spells of each of `faults` in turn.

    To be found out: a disk that `tries_again`, and a writer that does not look at the store after a failure.
    """
    report, rng = FailingReport(), random.Random(seed)
    with in_memory() as place, _as_told(looks):
        first = place / "first.sqlite"
        begun(first)
        whole = Disk(uuid.uuid4().hex)
        _answered(whole, copied(first, place / "whole"), 1000, FailingReport(), "")
        for number in range(n_spells):
            if until is not None and time.monotonic() > until:
                break
            fault = faults[number % len(faults)]
            spell = Spell(fault, rng.randrange(6, whole.n_operations), rng.randrange(1, LONGEST_SPELL))
            disk = FailingDisk(uuid.uuid4().hex, spell, tries_again=tries_again)
            _one_spell(disk, SAYS[fault], copied(first, place / "spell"), rng, report)
    return report


def _one_spell(disk: FailingDisk, says: str, file: Path, rng: random.Random, report: FailingReport) -> None:
    acknowledged = _answered(disk, file, rng.choice(CHECKPOINTS), report, says)
    found = file.parent / "found"
    found.mkdir()
    disk.found(rng, found)
    report.spells += 1
    report.failures += disk.n_failures
    report.acknowledged += len(acknowledged)
    handles = handles_of(found / file.name)
    if handles is None:
        report.corrupt += 1
    else:
        report.lost += len(set(acknowledged) - handles)


def _answered(disk: Disk, file: Path, every: int, report: FailingReport, says: str) -> list[str]:
    """The handles of the answers that were acknowledged, each sent again until it was; then the power goes."""
    writer = Writer(engine_on(disk, file, checkpoint_every=every), running_study())
    person = _Person(writer, report, says)
    try:
        person.insist(writer.start)
        token = person.insist(lambda: writer.run(lambda running: running.sessions.join())).token
        state = person.insist(lambda: writer.run(lambda running: running.sessions.finish_instructions(hash_of(token))))
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
    says: str

    def send(self, token: str, answer: SubmittedAnswer) -> SubmitResult:
        return self.insist(lambda: self.writer.run(lambda running: running.sessions.submit(hash_of(token), answer)))

    def insist(self, do):  # type: ignore[no-untyped-def]
        """Do it again until it is done; whoever does not come back within so many tries never will."""
        for _ in range(MOST_TRIES):
            try:
                return do()
            except StoreDown as error:
                self.report.refused += 1
                self.report.codes.add(error.code)
                self.report.misnamed += error.code != self.says
        raise TimeoutError


@contextlib.contextmanager
def _as_told(looks: bool) -> Iterator[None]:
    """A store that failed is tried again at once: the disk here does not get better by waiting."""
    pause, check_whole = writing.PAUSE_SECONDS, writing.check_whole
    writing.PAUSE_SECONDS = 0.0
    if not looks:
        writing.check_whole = lambda _engine: None  # type: ignore[assignment]
    try:
        yield
    finally:
        writing.PAUSE_SECONDS, writing.check_whole = pause, check_whole
