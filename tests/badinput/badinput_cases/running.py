"""Runs a case as a user would, and lists everything about the outcome that is not as it must be."""

from __future__ import annotations

import atexit
import csv
import hashlib
import json
import math
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from badinput_cases.case import Case

PROGRAM = Path(sys.executable).parent / "sfumato"
STANDING_BY = Path(__file__).with_name("standing_by.py")
OLD_OUTPUT = b"the file that stood here before\n"
ERROR_FORM = re.compile(r"error\[(?P<code>[a-z0-9-]+)\] \S.*; expected \S.*; fix: \S.*")
# Whatever moves a cursor, rings a bell or turns the reading direction: C0 but tab and newline, DEL, C1, bidi controls.
UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class Limits:
    """What a command on bad input may cost: CPU time, because machines are shared, and peak memory.

    It should be 2 s on a quiet machine. The same command takes up to twice the CPU time on a busy one.
    """

    cpu_seconds: float = 4.0
    peak_mb: float = 500.0
    killed_after_seconds: float = 120.0


@dataclass(frozen=True)
class Outcome:
    """What a command did: its exit code, what it said, what it cost, and what became of the folder."""

    exit_code: int
    stdout: str
    stderr: str
    cpu_seconds: float
    wall_seconds: float
    peak_mb: float
    before: Mapping[str, str]
    after: Mapping[str, str]
    folder: Path


def run(case: Case, tmp_path: Path, *, options: tuple[str, ...] = (), limits: Limits | None = None) -> Outcome:
    """Make the files of `case` in a new folder under `tmp_path` and run its command there.

    In every second case (by its name) an older output stands in the folder already.
    """
    folder = tmp_path / "outer" / "folder"
    folder.mkdir(parents=True)
    case.make(folder)
    output = folder / case.output
    if zlib.crc32(case.name.encode()) % 2 and output.parent == folder and case.output not in case.files:
        output.write_bytes(OLD_OUTPUT)
    before = _contents(tmp_path / "outer")
    out, err = tmp_path / "stdout", tmp_path / "stderr"
    # A process that is killed at once may not have made them.
    out.touch()
    err.touch()
    seconds = (limits or Limits()).killed_after_seconds
    request = {
        "folder": str(folder), "out": str(out), "err": str(err), "seconds": seconds,
        "arguments": [os.fsdecode(each) for each in (*options, *case.command)],
    }  # fmt: skip
    measured = _standing_by().carried_out(request)
    return Outcome(
        stdout=out.read_bytes().decode("utf-8", "surrogateescape"),
        stderr=err.read_bytes().decode("utf-8", "surrogateescape"),
        before=before,
        after=_contents(tmp_path / "outer"),
        folder=folder,
        **measured,
    )


def by_the_program(case: Case, tmp_path: Path) -> tuple[int, str, str]:
    """What the installed program says to `case`: its exit code, stdout and stderr. Slow, and what users run."""
    folder = tmp_path / "outer" / "folder"
    folder.mkdir(parents=True)
    case.make(folder)
    done = subprocess.run(
        [PROGRAM, *case.command], cwd=folder, env=_environment(), capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV"))}
    return kept | {"LC_ALL": "C.UTF-8"}


class StandingBy:
    """The program that runs commands, started once for all cases."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(STANDING_BY)],
            env=_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        atexit.register(self.end)

    def carried_out(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        reply: dict[str, Any] = json.loads(self._process.stdout.readline())
        return reply

    def end(self) -> None:
        """Close its input: it ends by itself."""
        with self._process:
            pass


@cache
def _standing_by() -> StandingBy:
    return StandingBy()


def faults(case: Case, outcome: Outcome, limits: Limits | None = None) -> list[str]:
    """Everything in which `outcome` is not what `case` asks for; nothing when all is well."""
    limits = limits or Limits()
    found = []
    if outcome.cpu_seconds > limits.cpu_seconds:
        found.append(f"took {outcome.cpu_seconds:.2f} s of CPU time, allowed are {limits.cpu_seconds}")
    if outcome.peak_mb > limits.peak_mb:
        found.append(f"took {outcome.peak_mb:.0f} MB of memory, allowed are {limits.peak_mb}")
    if "Traceback" in outcome.stderr:
        found.append(f"ended in a traceback: {outcome.stderr.strip().splitlines()[-1][:200]}")
    for stream in ("stdout", "stderr"):
        if unsafe := UNSAFE.findall(getattr(outcome, stream)):
            found.append(f"wrote control characters to {stream}: {unsafe[:5]!r}")
    found += _refusal_faults(case, outcome) if case.code else _acceptance_faults(case, outcome)
    return found


def _refusal_faults(case: Case, outcome: Outcome) -> list[str]:
    found = []
    if outcome.exit_code != 2:
        found.append(f"exit code {outcome.exit_code} where 2 was due")
    message = outcome.stderr
    form = ERROR_FORM.fullmatch(message.removesuffix("\n"))
    if form is None:
        found.append(f"no single line `error[code] ...; expected ...; fix: ...`: {message[:300]!r}")
    elif form["code"] != case.code:
        found.append(f"error code {form['code']} where {case.code} was due: {message[:300]!r}")
    found += [f"{fragment!r} missing from {message[:300]!r}" for fragment in case.says if fragment not in message]
    changed = {
        name for name in {*outcome.before, *outcome.after} if outcome.before.get(name) != outcome.after.get(name)
    }
    if changed:
        found.append(f"files made, changed or removed although refused: {sorted(changed)}")
    return found


def _acceptance_faults(case: Case, outcome: Outcome) -> list[str]:
    if outcome.exit_code != 0:
        return [f"exit code {outcome.exit_code} where 0 was due: {outcome.stderr[:300]!r}"]
    found = []
    warnings = [line for line in outcome.stderr.splitlines() if line.startswith("warning: ")]
    if case.warns:
        found += [f"{part!r} missing from the warnings {warnings}" for part in case.says if part not in str(warnings)]
    if len(outcome.stderr.splitlines()) > len(warnings) or (warnings and not case.warns):
        found.append(f"said on stderr: {outcome.stderr[:300]!r}")
    made = {name for name in outcome.after if name not in outcome.before} - {f"folder/{case.output}"}
    if made:
        found.append(f"files made beside the output: {sorted(made)}")
    columns = columns_of(outcome.folder / case.output)
    for name, values in case.holds.items():
        if not _same(columns.get(name), values):
            found.append(f"column {name} holds {str(columns.get(name))[:200]} where {str(values)[:200]} was due")
    return found


def columns_of(path: Path) -> dict[str, list[Any]]:
    """The columns of a written table, read by others' programs: pyarrow for Parquet, the csv module for CSV."""
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pydict()
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return {name: [row[i] for row in rows] for i, name in enumerate(header)}


def _same(found: Any, due: Any) -> bool:
    if isinstance(due, list):
        return isinstance(found, list) and len(found) == len(due) and all(map(_same, found, due))
    if isinstance(due, float):
        return isinstance(found, float) and math.isclose(found, due, rel_tol=0, abs_tol=1e-12)
    return type(found) is type(due) and found == due


def _contents(folder: Path) -> dict[str, str]:
    """Every file under `folder` with a digest of its bytes; what is no file, with its kind."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no file"
        for path in folder.rglob("*")
    }
