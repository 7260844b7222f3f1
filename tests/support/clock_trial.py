"""Trial: the clock is set forward and back during answers. No lease may end early, and the order must be kept."""

from __future__ import annotations

import glob
import itertools
import os
import random
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from quota_trial import QuotaReport, quota_trial, write_quota_study
from study_instance import DAY, LEASE, HandClock, StudyInstance, items_named, plain_study, sent
from study_server import StudyServer

from sfumato.study.study import Limits, People

YEAR = 365 * DAY
PROGRAM = ("-m", "sfumato")
JUMPS = {
    "a day forward": DAY,
    "a day back": -DAY,
    "an hour back": -3600,
    "an hour forward (summer)": 3600,
    "a year back": -YEAR,
    "a year forward": YEAR,
}
LEAP_DAY = int(datetime(2028, 2, 28, 23, 59, 59, tzinfo=UTC).timestamp() * 1000)


class WallClock(HandClock):
    """A clock whose leases use the wall clock (control)."""

    def monotonic(self) -> float:
        return self.now() / 1000

    def steady(self) -> int:
        return self.now()


@dataclass
class ClockReport:
    """The result of a number of clock changes, each while two people hold trials."""

    jumps: int = 0
    lost_early: int = 0
    """Trials whose leases ended while the person was answering them."""
    kept_long: int = 0
    """Trials of a person who left that were not returned when the lease expired."""
    refused: int = 0
    disordered: int = 0
    """Answers whose numbers are not in the order of arrival."""

    @property
    def clean(self) -> bool:
        return not any((self.lost_early, self.kept_long, self.refused, self.disordered)) and self.jumps > 0

    def __str__(self) -> str:
        return (
            f"{self.jumps} jumps, {self.lost_early} leases lost early, {self.kept_long} kept too long, "
            f"{self.refused} answers refused, {self.disordered} out of order"
        )


def clock_trial(folder: Path, clock: type[HandClock] = HandClock, *, rounds: int = 2) -> ClockReport:
    """Run each jump `rounds` times, from an ordinary day and from the second before a 29 February."""
    report = ClockReport()
    for number, (jump, is_leap) in enumerate(itertools.product([*JUMPS.values()] * rounds, (False, True))):
        ours = clock()
        if is_leap:
            ours.jump((LEAP_DAY - ours.now()) / 1000)
        # With the wall clock, links would expire before the leases.
        days = 0 if issubclass(clock, WallClock) else Limits.link_days
        limits = Limits(lease_minutes=LEASE / 60, link_days=days)
        study = plain_study(people=People(answers_per_item=1, batch_size=2), limits=limits)
        at = StudyInstance(str(folder / f"{clock.__name__}{number}.sqlite"), study, items_named(3), ours).start()
        try:
            _run_jump(at, jump, report)
        finally:
            at.stop()
    return report


def _run_jump(at: StudyInstance, jump: float, report: ClockReport) -> None:
    """One person answers before and after the jump; another leaves, and the lease must return to the pool."""
    report.jumps += 1
    person, leaver = at.new(), at.new()
    person.answer()
    held, left = person.first().handle, leaver.first()
    at.clock.jump(jump)
    at.clock.advance(1)
    other = at.new()
    mine = [shown.handle for shown in person.state().trials]
    taken = {shown.stimulus.item for shown in other.state().trials}
    report.lost_early += held not in mine or left.stimulus.item in taken
    report.refused += person.submit(sent(held)).code is not None
    at.clock.advance(LEASE + 1)
    report.kept_long += left.stimulus.item not in {shown.stimulus.item for shown in at.new().state().trials}
    numbers = [row[0] for row in at.rows("SELECT number FROM answers ORDER BY id")]
    report.disordered += numbers != sorted(numbers)


# --- a server whose clock is changed with faketime ---


def faketime() -> Path | None:
    """The library that changes the time of a process; None if it is not installed."""
    found = sorted(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1"))
    return Path(found[-1]) if found else None


def skip_reason() -> str | None:
    return None if faketime() else "faketime is not installed"


def faketime_trial(
    folder: Path, *, seed: int, program: Sequence[str] = PROGRAM, n_people: int = 200, n_items: int = 500
) -> QuotaReport:
    """The quota trial with a server whose clock keeps jumping forward and back, by up to a year."""
    study = write_quota_study(folder / "study", 3, n_people=n_people, n_items=n_items)
    if tuple(program) != PROGRAM:
        with (study / "study.toml").open("a") as file:
            # As above: [limits] is the last table.
            file.write("link_days = 0\n")
    offset, store = folder / "offset", str(folder / "answers.sqlite")
    offset.write_text("+0")
    environment = [
        f"LD_PRELOAD={faketime()}",
        f"FAKETIME_TIMESTAMP_FILE={offset}",
        "FAKETIME_NO_CACHE=1",
        "FAKETIME_DONT_FAKE_MONOTONIC=1",
    ]
    with StudyServer(study, store=store, python="env", program=(*environment, sys.executable, *program)) as server:
        stopped = threading.Event()
        jumps = threading.Thread(target=_keep_jumping, args=(offset, random.Random(seed), stopped))
        jumps.start()
        try:
            return quota_trial(server, store, seed=seed, n_people=n_people, patience=60)
        finally:
            stopped.set()
            jumps.join()


def _keep_jumping(offset: Path, rng: random.Random, stopped: threading.Event) -> None:
    while not stopped.wait(rng.uniform(0.3, 0.9)):
        part = offset.with_name("part")
        part.write_text(f"{rng.choice([*JUMPS.values(), 0]):+d}")
        os.replace(part, offset)
