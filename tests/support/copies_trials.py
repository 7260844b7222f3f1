"""Trials of exports and backups that are made under load."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import sqlalchemy as sa
from crowd import Crowd
from peak_memory import most_bytes
from study_server import StudyServer

from sfumato.store.backup import backup
from sfumato.store.location import StoreLocation
from sfumato.store.verification import verify
from sfumato.tables.errors import SfumatoError

WAIT_SECONDS = 60.0
IN_ORDER = sa.text(
    "SELECT i.item, p.pseudonym FROM answers a JOIN items i ON i.id = a.item JOIN annotators p ON p.id = a.annotator"
    " ORDER BY a.id"
)
Copy = Callable[[str, Path], None]


@dataclass
class CopiesReport:
    """The result of checking the copies."""

    copies: int = 0
    answers: int = 0
    """Answers in the largest copy."""
    missing: int = 0
    """Answers acknowledged before a copy was started and missing in it."""
    damaged: int = 0
    """Copies that cannot be opened or are not intact; exports that are not one consistent snapshot."""
    seconds: float = 0.0
    """Seconds of the slowest copy."""
    megabytes: float = 0.0
    """Peak memory of a copy, if it ran in a separate process."""

    @property
    def clean(self) -> bool:
        return self.missing == self.damaged == 0 and self.answers > 0

    def __str__(self) -> str:
        memory = f", {self.megabytes:.0f} MB of memory" if self.megabytes else ""
        return (
            f"{self.copies} copies of up to {self.answers:,} answers, {self.missing} answers missing, "
            f"{self.damaged} damaged, slowest {self.seconds:.1f} s{memory}"
        )


# --- backups ---


def backup_trial(
    server: StudyServer,
    store: str,
    folder: Path,
    n_copies: int,
    *,
    seed: int,
    copy: Copy | None = None,
    n_clients: int = 16,
) -> CopiesReport:
    """Make backups of the running `server`'s store under load, and check each."""
    report = CopiesReport()
    asyncio.run(_backups(server, store, folder, n_copies, seed, copy or _backup, n_clients, report))
    return report


def _backup(store: str, output: Path) -> None:
    backup(StoreLocation.of(store), output)


def copy_file_only(store: str, output: Path) -> None:
    """Copy only the database file, without its -wal (control)."""
    # In a separate process: opening and closing the file here would release its locks.
    subprocess.run(["cp", store, str(output)], check=True)


async def _backups(
    server: StudyServer,
    store: str,
    folder: Path,
    n_copies: int,
    seed: int,
    copy: Copy,
    n_clients: int,
    report: CopiesReport,
) -> None:
    crowd = Crowd(server.url, n_clients, seed)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(crowd.run())
        try:
            for number in range(n_copies):
                await crowd.wait_for_answers(WAIT_SECONDS)
                known = {id for answer in list(crowd.sent) for id in answer.ids}
                output, begun = folder / f"copy{number}.sqlite", time.monotonic()
                await asyncio.to_thread(copy, store, output)
                report.seconds = max(report.seconds, time.monotonic() - begun)
                await asyncio.to_thread(_check_copy, output, known, report)
                output.unlink()
        finally:
            crowd.stop()


def _check_copy(output: Path, known: set[str], report: CopiesReport) -> None:
    report.copies += 1
    try:
        connection = sqlite3.connect(output)
        try:
            (integrity,) = connection.execute("PRAGMA integrity_check").fetchone()
            handles = {row[0] for row in connection.execute("SELECT handle FROM answers")}
        finally:
            connection.close()
        faults = [fault for study in verify(StoreLocation.of(output)) for fault in study.faults]
    except (sqlite3.Error, SfumatoError):
        report.damaged += 1
        report.missing += len(known)
        return
    report.damaged += integrity != "ok" or bool(faults)
    report.missing += len(known - handles)
    report.answers = max(report.answers, len(handles))


# --- exports ---


def export_trial(
    server: StudyServer, study: Path, store: str, folder: Path, n_exports: int, *, seed: int, at_once: bool = True
) -> CopiesReport:
    """Export under load, in separate processes. Annotations and records must be one snapshot: the first answers, and
    no others. Without `at_once` (control) the two files are exported one after the other."""
    report = CopiesReport()
    lengths: list[tuple[int, int]] = []
    keys: list[list[tuple[str, str]]] = []
    asyncio.run(_exports(server, study, store, folder, n_exports, seed, at_once, report, lengths, keys))
    server.kill()
    engine = sa.create_engine(StoreLocation.of(store).url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        in_order = [(row.item, row.pseudonym) for row in connection.execute(IN_ORDER)]
    for (n_annotations, n_records), found in zip(lengths, keys, strict=True):
        report.damaged += n_annotations != n_records or sorted(found) != sorted(in_order[: len(found)])
    report.answers = max((n for n, _ in lengths), default=0)
    return report


async def _exports(
    server: StudyServer,
    study: Path,
    store: str,
    folder: Path,
    n_exports: int,
    seed: int,
    at_once: bool,
    report: CopiesReport,
    lengths: list[tuple[int, int]],
    keys: list[list[tuple[str, str]]],
) -> None:
    crowd = Crowd(server.url, 8, seed)
    table, records = folder / "answers.parquet", folder / "records.parquet"
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(crowd.run())
        try:
            for _ in range(n_exports):
                await crowd.wait_for_answers(WAIT_SECONDS)
                acknowledged, begun = crowd.n_acknowledged, time.monotonic()
                arguments = [str(study), "--store", store, "-o", str(table)]
                if at_once:
                    await asyncio.to_thread(_export, [*arguments, "--records", str(records)], report)
                else:
                    await asyncio.to_thread(_export, arguments, report)
                    await crowd.wait_for_answers(WAIT_SECONDS)
                    other = [*arguments[:-1], str(folder / "other.parquet"), "--records", str(records)]
                    await asyncio.to_thread(_export, other, report)
                report.copies += 1
                report.seconds = max(report.seconds, time.monotonic() - begun)
                rows = pq.read_table(table, columns=["item", "annotator"])
                found = list(zip(*(rows[name].to_pylist() for name in ("item", "annotator")), strict=True))
                report.missing += max(acknowledged - len(found), 0)
                lengths.append((len(found), pq.read_metadata(records).num_rows))
                keys.append(found)
        finally:
            crowd.stop()


def _export(arguments: list[str], report: CopiesReport) -> None:
    """Run `sfumato export` in a separate process and record its peak memory."""
    used = most_bytes([sys.executable, "-m", "sfumato", "export", *arguments])
    report.megabytes = max(report.megabytes, used / 1e6)
