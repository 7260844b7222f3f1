"""`make faults`: every fault trial in its full form, one table at the end.

    python tests/faults/run.py [--minutes 60] [--only kill,quota] [--kills 200] [--seeds 20]

Each trial gets its share of the time; one that runs out of it says how far it came. Ends with 1 if anything was
found or cut short.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "support"))

from crowd import write_crowd_study  # noqa: E402
from database_kill_trial import backend_kill_trial, postmaster_kill_trial  # noqa: E402
from kill_trial import KillReport, kill_trial  # noqa: E402
from platform_trial import platform_trial, summed  # noqa: E402
from postgres_cluster import Cluster, cluster  # noqa: E402
from quota_trial import LEASE_SECONDS, QuotaReport, quota_trial, write_quota_study  # noqa: E402
from resume_trial import resume_trial  # noqa: E402
from study_server import StudyServer  # noqa: E402

STATE_MACHINE = HERE.parent / "elicit" / "test_state_machine.py"
N_EXAMPLES = 20_000
ANSWERS_A_KILL = 1_000
"""More than a crowd gives between two kills."""
RECOVERY_SECONDS = 10
N_RESUME_KILLS = 20
CUT_SHORT = "**cut short, the time was up:** "
"""Before what a trial found that did not come to its end."""


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    trial: str
    asked: str
    found: str
    passed: bool
    seconds: float = 0.0


class Trials:
    """The trials there are. Each is given the time on the monotonic clock at which it should come to its end."""

    def __init__(self, folder: Path, postgres: Cluster, n_kills: int, n_seeds: int) -> None:
        self._folder, self._postgres = folder, postgres
        self._n_kills, self._n_seeds = n_kills, n_seeds
        self._n_stores = 0

    def kill_sqlite(self, until: float) -> Row:
        return self._kill(self._file(), self._n_kills, until)

    def kill_postgresql(self, until: float) -> Row:
        return self._kill(self._postgres.new_database(), self._n_kills, until)

    def copies_sqlite(self, until: float) -> Row:
        return self._kill(self._file(), 15, until, copies=5)

    def copies_postgresql(self, until: float) -> Row:
        return self._kill(self._postgres.new_database(), 15, until, copies=5)

    def backend(self, until: float) -> Row:
        store, n_kills = self._postgres.new_database(), self._n_database_kills()
        with self._server(store, n_kills) as server:
            report = backend_kill_trial(server, store, n_kills, seed=1, until=until)
        in_time = report.recovery_seconds <= RECOVERY_SECONDS
        return Row(
            "",
            f"{n_kills} kills of a backend, 0 lost, back in 10 s",
            _found(report, report.crowd.kills, n_kills),
            report.clean and in_time,
        )

    def postmaster(self, until: float) -> Row:
        store, n_kills = self._postgres.new_database(), self._n_database_kills()
        with self._server(store, n_kills) as server:
            report = postmaster_kill_trial(server, self._postgres, store, n_kills, seed=2, until=until)
        in_time = report.recovery_seconds <= RECOVERY_SECONDS
        return Row(
            "", f"{n_kills} kills of the postmaster, 0 lost, back in 10 s", str(report), report.clean and in_time
        )

    def quota_3(self, until: float) -> Row:
        return self._quota(3, self._file, until)

    def quota_10(self, until: float) -> Row:
        return self._quota(10, self._file, until)

    def quota_3_postgresql(self, until: float) -> Row:
        return self._quota(3, self._postgres.new_database, until)

    def quota_3_kills(self, until: float) -> Row:
        return self._quota(3, self._file, until, n_kills=4)

    def state_machine(self, until: float) -> Row:
        asked = f"{N_EXAMPLES:,} examples agree with the model"
        if not STATE_MACHINE.exists():
            return Row("", asked, f"{STATE_MACHINE.name} is not there", False)
        command = [sys.executable, "-m", "pytest", "-q", "-x", str(STATE_MACHINE)]
        environment = os.environ | {"SFUMATO_EXAMPLES": str(N_EXAMPLES)}
        with subprocess.Popen(
            command, env=environment, cwd=HERE.parents[1], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            try:
                said, _ = process.communicate(timeout=max(until - time.monotonic(), 1.0))
            except subprocess.TimeoutExpired:
                # Asked kindly, so that what the tests have started is ended too.
                process.send_signal(signal.SIGINT)
                process.communicate()
                return Row("", asked, f"{CUT_SHORT}nothing found", True)
        if process.returncode:
            print(said)
        return Row("", asked, said.strip().splitlines()[-1] if said.strip() else "nothing said", not process.returncode)

    def resume(self, until: float) -> Row:
        """Trainings killed and taken up, each job at one thread and at two; and two that forget, to be found out."""
        cases = [(job, threads) for job in ("conv", "ffn") for threads in (1, 2)]
        reports = []
        for i, (job, threads) in enumerate(cases):
            now = time.monotonic()
            ends_at = now + max(until - now, 0) / (len(cases) - i)
            place = self._new_folder()
            reports.append(resume_trial(job, place, N_RESUME_KILLS, seed=i, threads=threads, until=ends_at))
        forgetful = [
            resume_trial("conv", self._new_folder(), 2, seed=9, fault=fault)
            for fault in ("restart-draws", "forget-optimiser")
        ]
        n_done, n_asked = sum(report.kills for report in reports), N_RESUME_KILLS * len(cases)
        found_out = sum(bool(report.different) for report in forgetful)
        said = f"{'; '.join(map(str, reports))}; {found_out} of {len(forgetful)} that forget found out"
        return Row(
            "",
            f"{N_RESUME_KILLS} kills of each training, at 1 and at 2 threads, also during a save: the same to the bit",
            _found(said, n_done, n_asked),
            all(report.clean and report.during_a_save for report in reports) and found_out == len(forgetful),
        )

    def platforms(self, until: float) -> Row:
        """Each platform's API failing, repeating itself and answering out of order; and one without keys."""
        reports = []
        for seed in range(self._n_seeds):
            if reports and time.monotonic() > until:
                break
            reports.append(platform_trial(("prolific", "mturk")[seed % 2], n_people=48, seed=seed))
        found = summed(reports)
        without_keys = platform_trial("prolific", n_people=8, keys=False)
        return Row(
            "",
            f"{self._n_seeds} seeds, 48 people: every request once a person and reason, every mismatch told",
            f"{_found(found, len(reports), self._n_seeds)}; without keys {without_keys.paid_twice} paid twice",
            found.passed and without_keys.paid_twice > 0,
        )

    def controls(self, until: float) -> Row:
        """Servers with a fault put in: each trial must find its own."""
        found = {
            "lost": self._broken_kill("acknowledge-early", n_kills=5, copies=1, patience=4.0).lost,
            "doubled": self._broken_kill("forget-keys", n_kills=2, copies=2, patience=5.0).doubled,
            "over quota": self._broken_quota().over_quota,
        }
        said = ", ".join(f"{n} {what}" for what, n in found.items())
        return Row("", "broken servers are found out: each > 0", said, all(found.values()))

    # --- parts ---

    def _kill(self, store: str, n_kills: int, until: float, copies: int = 1) -> Row:
        with self._server(store, n_kills) as server:
            report = kill_trial(server, store, n_kills, seed=n_kills, copies=copies, until=until)
        asked = f"{n_kills} kills under 32 clients" + (f", {copies} copies of each answer" if copies > 1 else "")
        return Row("", f"{asked}, 0 lost, 0 doubled", _found(report, report.kills, n_kills), report.clean)

    def _quota(self, quota: int, new_store: Callable[[], str], until: float, n_kills: int = 0) -> Row:
        reports: list[QuotaReport] = []
        for seed in range(self._n_seeds):
            if reports and time.monotonic() > until:
                break
            store = new_store()
            with self._serving(write_quota_study(self._new_folder(), quota), store) as server:
                reports.append(quota_trial(server, store, seed=seed, n_kills=n_kills))
        returned = max(report.return_seconds for report in reports)
        bad = next((report for report in reports if not report.clean), None)
        found = f"seed {reports.index(bad)}: {bad}" if bad else f"{len(reports)} seeds clean"
        late = sum(report.refused_late for report in reports)
        # A server that is down gives nothing back.
        in_time = returned <= 2 * LEASE_SECONDS or n_kills > 0
        return Row(
            "",
            f"{self._n_seeds} seeds, 200 people, 500 items x {quota}" + (f", {n_kills} kills each" if n_kills else ""),
            f"{_found(found, len(reports), self._n_seeds)}; {sum(report.answers for report in reports):,} answers, "
            f"{late} refused late, leases of leavers back within {returned:.2f} s",
            bad is None and in_time,
        )

    def _broken_kill(self, fault: str, *, n_kills: int, copies: int, patience: float) -> KillReport:
        store = self._file()
        with self._serving(write_crowd_study(self._new_folder()), store, fault) as server:
            return kill_trial(server, store, n_kills, seed=1, copies=copies, patience=patience)

    def _broken_quota(self) -> QuotaReport:
        store = self._file()
        with self._serving(write_quota_study(self._new_folder(), 3), store, "hold-nothing") as server:
            return quota_trial(server, store, seed=1, patience=30)

    def _n_database_kills(self) -> int:
        return max(1, self._n_kills // 4)

    def _server(self, store: str, n_kills: int) -> contextlib.AbstractContextManager[StudyServer]:
        return self._serving(write_crowd_study(self._new_folder(), max(30_000, ANSWERS_A_KILL * n_kills)), store)

    @contextlib.contextmanager
    def _serving(self, study: Path, store: str, fault: str | None = None) -> Iterator[StudyServer]:
        program = (str(HERE / "broken_server.py"), fault) if fault else ("-m", "sfumato")
        with StudyServer(study, store=store, program=program) as server:
            yield server

    def _new_folder(self) -> Path:
        self._n_stores += 1
        return self._folder / f"study{self._n_stores}"

    def _file(self) -> str:
        return str(self._new_folder() / "answers.sqlite")


SHARES = {
    "kill_sqlite": 8,
    "kill_postgresql": 9,
    "copies_sqlite": 2,
    "copies_postgresql": 2,
    "backend": 4,
    "postmaster": 6,
    "quota_3": 5,
    "quota_10": 8,
    "quota_3_postgresql": 5,
    "quota_3_kills": 4,
    "resume": 3,
    "platforms": 2,
    "controls": 1,
    "state_machine": 10,
}
"""Each trial's share of the time, in the order they are run; what one leaves over goes to those after it."""


def _found(report: object, n_done: int, n_asked: int) -> str:
    return f"{CUT_SHORT if n_done < n_asked else ''}{report}"


def run(only: list[str], minutes: float, n_kills: int, n_seeds: int) -> list[Row]:
    """Run the trials whose names begin with one of `only`; all if there are none."""
    names = [name for name in SHARES if not only or any(name.startswith(each) for each in only)]
    ends_at = time.monotonic() + 60 * minutes
    rows = []
    with tempfile.TemporaryDirectory(prefix="sfumato-faults-") as folder, cluster() as postgres:
        trials = Trials(Path(folder), postgres, n_kills, n_seeds)
        for i, name in enumerate(names):
            begun = time.monotonic()
            share = SHARES[name] / sum(SHARES[later] for later in names[i:])
            row = getattr(trials, name)(begun + max(ends_at - begun, 0) * share)
            # What was cut short has not shown what was asked, however clean it was so far.
            passed = row.passed and CUT_SHORT not in row.found
            row = Row(name.replace("_", " "), row.asked, row.found, passed, time.monotonic() - begun)
            print(f"{row.trial}: {'ok' if passed else 'NOT MET'}, {row.found} ({row.seconds:.0f} s)", flush=True)
            rows.append(row)
    return rows


def table(rows: list[Row]) -> str:
    """The rows as Markdown."""
    lines = ["| trial | asked | found | seconds |", "|---|---|---|---|"]
    lines += [
        f"| {row.trial} | {row.asked} | {'' if row.passed else '**not met** '}{row.found} | {row.seconds:.0f} |"
        for row in rows
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60, help="how long all of it may take")
    parser.add_argument("--only", default="", help=f"names or beginnings, with commas: {', '.join(SHARES)}")
    parser.add_argument("--kills", type=int, default=200, help="kills of the server; a fourth as many of PostgreSQL")
    parser.add_argument("--seeds", type=int, default=20, help="seeds of each quota trial")
    asked = parser.parse_args()
    only = [name.strip() for name in asked.only.split(",") if name.strip()]
    if unknown := [name for name in only if not any(each.startswith(name) for each in SHARES)]:
        parser.error(f"no trial begins with {', '.join(unknown)}; there are {', '.join(SHARES)}")
    rows = run(only, asked.minutes, asked.kills, asked.seeds)
    print("\n" + table(rows))
    return 0 if all(row.passed for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
