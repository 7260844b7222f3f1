"""Runs the steps of the demo, and records hashes of their inputs and outputs so that unchanged steps are reused."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shlex
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import click
import msgspec

import sfumato
from sfumato.tables.errors import BadSetting, MissingExtra
from sfumato.tables.files.atomic_write import atomic_write

FILE_NAME = "demo.json"
PASSING = (".lock", "-wal", "-shm", "-journal")
"""Endings of temporary store files, which are not hashed."""


@dataclass(frozen=True)
class Step:
    """A command with the files and folders it reads and makes, relative to the demo's folder (`{folder}`)."""

    name: str
    command: str
    reads: tuple[str, ...]
    makes: tuple[str, ...]

    @property
    def log(self) -> str:
        """The file of the command's output."""
        return f"logs/{self.name}.txt"

    def line(self, folder: str) -> str:
        """The command as typed."""
        return self.command.replace("{folder}", folder)


class Note(msgspec.Struct, frozen=True):
    """The record of a finished step: its command, and hashes of the program, inputs and outputs."""

    command: str
    program: str
    read: dict[str, str]
    made: dict[str, str]
    said: str


@dataclass(frozen=True)
class Journal:
    """The notes of all finished steps of a folder, kept in `demo.json`."""

    folder: Path
    notes: Mapping[str, Note] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Journal:
        """The journal of `folder`; empty if there is none or it cannot be read."""
        try:
            text = (folder / FILE_NAME).read_bytes()
            return cls(folder, msgspec.json.decode(text, type=dict[str, Note]))
        except (OSError, msgspec.DecodeError):
            return cls(folder)

    def is_done(self, step: Step) -> bool:
        """Whether the step is done and its command, program, inputs and outputs are unchanged."""
        note = self.notes.get(step.name)
        return note is not None and note == self._note(step, note.said)

    def with_step(self, step: Step, said: str) -> Journal:
        """The journal with the step added, written to its file."""
        noted = replace(self, notes={**self.notes, step.name: self._note(step, said)})
        with atomic_write(self.folder / FILE_NAME) as part:
            part.write_bytes(msgspec.json.format(msgspec.json.encode(noted.notes), indent=1))
        return noted

    def clear(self, step: Step) -> None:
        """Delete the outputs of the step, before it runs and if it fails."""
        for name in (*step.makes, step.log):
            path = self.folder / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def _note(self, step: Step, said: str) -> Note:
        made = (*step.makes, step.log)
        return Note(
            step.command,
            program_hash(),
            {name: content_hash(self.folder / name) for name in step.reads},
            {name: content_hash(self.folder / name) for name in made},
            said,
        )


def content_hash(path: Path) -> str:
    """SHA-256 of a file, or of the names and contents of all files in a folder; empty if neither exists."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    if not path.is_dir():
        return ""
    whole = hashlib.sha256()
    for each in sorted(path.rglob("*")):
        if each.is_file() and not each.name.endswith(PASSING):
            whole.update(f"{each.relative_to(path).as_posix()}\0{content_hash(each)}\n".encode())
    return whole.hexdigest()


@lru_cache(1)
def program_hash() -> str:
    """SHA-256 of the source of sfumato, so that a new version repeats all steps."""
    root = Path(sfumato.__file__).parent
    whole = hashlib.sha256(sfumato.__version__.encode())
    for each in sorted(root.rglob("*.py")):
        whole.update(each.read_bytes())
    return whole.hexdigest()


PACKAGES = ("sklearn", "torch", "safetensors", "starlette", "uvicorn", "sqlalchemy", "PIL", "altair", "vl_convert")


@dataclass(frozen=True)
class StepResult:
    """A finished step: the last line of its output, its time, and whether it was reused."""

    summary: str
    seconds: float
    cpu_seconds: float
    is_reused: bool


def check_installed() -> None:
    """Raise if a package that a step needs is missing."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        expected = "all packages of the demo: server, training, charts, scikit-learn"
        raise MissingExtra(f"no {', '.join(missing)}", expected, 'pip install "sfumato[demo]"')


def begin(folder: Path) -> Journal:
    """The journal of `folder`, which is created if needed. Raises if the folder contains other files."""
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / FILE_NAME).is_file())):
        found = f"{'a folder' if folder.is_dir() else 'a file'} that the demo did not create: {folder}"
        expected = "a new or empty folder, or one of an earlier demo"
        raise BadSetting(found, expected, "choose another with -o, or remove this one", "not-a-demo")
    # From here on the folder belongs to the demo, even if it is interrupted.
    for part in ("labels", "scores", "logs"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    journal = Journal.read(folder)
    if not (folder / FILE_NAME).exists():
        (folder / FILE_NAME).write_text("{}", "utf-8")
    return journal


def run_step(step: Step, journal: Journal) -> tuple[Journal, StepResult]:
    """Run the step unless it is done; returns the journal with it."""
    if journal.is_done(step):
        return journal, StepResult(journal.notes[step.name].said, 0.0, 0.0, is_reused=True)
    journal.clear(step)
    line = step.line(shlex.quote(str(journal.folder)))
    began, cpu_began = time.perf_counter(), _cpu_seconds()
    try:
        with _captured() as printed:
            run(line)
        (journal.folder / step.log).write_text(f"$ {line}\n{printed.getvalue()}", "utf-8")
    except BaseException:
        journal.clear(step)
        raise
    seconds, cpu = time.perf_counter() - began, _cpu_seconds() - cpu_began
    summary = _summary(printed.getvalue(), journal.folder)
    return journal.with_step(step, summary), StepResult(summary, seconds, cpu, is_reused=False)


def run(line: str) -> None:
    """Run a command in this process: `sfumato ...`, or `python -m` with a module of sfumato."""
    words = shlex.split(line)
    if words[0] == "python":
        import_module(words[2]).main.main(args=words[3:], prog_name=words[2], standalone_mode=False)
        return
    from sfumato.cli import group

    group.main(args=words[1:], prog_name="sfumato", standalone_mode=False)


@contextlib.contextmanager
def _captured() -> Iterator[io.StringIO]:
    """Capture what is printed; print it if there is an error."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            yield printed
    except click.Abort:
        raise
    except Exception:
        click.echo(printed.getvalue(), nl=False)
        raise


def _summary(printed: str, folder: Path) -> str:
    """The line in which a command states its output, without the folder."""
    begins = (f"{folder}/", f"{folder}: ")
    lines = [line for line in printed.splitlines() if line.startswith(begins)] or printed.splitlines()[-1:]
    return lines[0].removeprefix(begins[0]).removeprefix(begins[1]).strip() if lines else ""


def _cpu_seconds() -> float:
    """CPU seconds of this process and its finished children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
