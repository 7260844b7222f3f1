"""A journal of steps: what each was given and what it made, by content, so that nothing is made twice or trusted
unseen.

A step stands if it would be told the same by the same program, from inputs with the same content, and what it made is
still there with the content it had. That a file exists says nothing.

Walking the path: every step run, or found to stand as it is.
"""

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
"""How names of files end that a store keeps while it is open: they are no content."""


@dataclass(frozen=True)
class Step:
    """A command, and the files and folders it reads and makes, from the demo's folder, which is `{folder}` in it."""

    name: str
    command: str
    reads: tuple[str, ...]
    makes: tuple[str, ...]

    @property
    def log(self) -> str:
        """Where what the command prints is kept."""
        return f"logs/{self.name}.txt"

    def line(self, folder: str) -> str:
        """The command as one types it."""
        return self.command.replace("{folder}", folder)


class Note(msgspec.Struct, frozen=True):
    """What is known of a step that was done."""

    command: str
    program: str
    read: dict[str, str]
    made: dict[str, str]
    said: str


@dataclass(frozen=True)
class Journal:
    """The notes of a folder, by the name of their step. Kept in `demo.json`, written whole after every step."""

    folder: Path
    notes: Mapping[str, Note] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Journal:
        """The journal of `folder`; empty where there is none, or none that can be read."""
        try:
            text = (folder / FILE_NAME).read_bytes()
            return cls(folder, msgspec.json.decode(text, type=dict[str, Note]))
        except (OSError, msgspec.DecodeError):
            return cls(folder)

    def stands(self, step: Step) -> bool:
        """Whether the step was done, and doing it again would change nothing."""
        note = self.notes.get(step.name)
        return note is not None and note == self._note(step, note.said)

    def with_step(self, step: Step, said: str) -> Journal:
        """The journal with the step noted as done, written to its file."""
        noted = replace(self, notes={**self.notes, step.name: self._note(step, said)})
        with atomic_write(self.folder / FILE_NAME) as part:
            part.write_bytes(msgspec.json.format(msgspec.json.encode(noted.notes), indent=1))
        return noted

    def clear(self, step: Step) -> None:
        """Take away whatever the step makes: before it is done anew, and where it did not come to its end."""
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
    """SHA-256 of a file, or of the names and contents of all files in a folder; empty where there is nothing."""
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
    """SHA-256 of our own source: another program may say something else."""
    root = Path(sfumato.__file__).parent
    whole = hashlib.sha256(sfumato.__version__.encode())
    for each in sorted(root.rglob("*.py")):
        whole.update(each.read_bytes())
    return whole.hexdigest()


PACKAGES = ("sklearn", "torch", "safetensors", "starlette", "uvicorn", "sqlalchemy", "PIL", "altair", "vl_convert")


@dataclass(frozen=True)
class Walked:
    """A step that is done: what it said of itself, the seconds it took (wall and CPU), and whether it stood."""

    said: str
    seconds: float
    cpu_seconds: float
    stood: bool


def check_installed() -> None:
    """Raise unless every package is there that a step needs."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"found no {', '.join(missing)}",
            expected="what the whole path needs: a server, networks, charts, and scikit-learn's digits",
            fix='pip install "sfumato[demo]"',
            code="missing-extra",
        )


def begin(folder: Path) -> Journal:
    """The journal of `folder`, which is made if need be; an error where it holds something that is not the demo's."""
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / FILE_NAME).is_file())):
        raise BadSetting(
            f"found {'a folder' if folder.is_dir() else 'a file'} that is not the demo's: {folder}",
            expected="a new or empty folder, or one of an earlier demo",
            fix="give another with -o, or take this one away",
            code="not-a-demo",
        )
    # From here on the folder is the demo's, wherever it is stopped.
    for part in ("labels", "scores", "logs"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    journal = Journal.read(folder)
    if not (folder / FILE_NAME).exists():
        (folder / FILE_NAME).write_text("{}", "utf-8")
    return journal


def walk(step: Step, journal: Journal) -> tuple[Journal, Walked]:
    """Do the step unless it stands; the journal with it."""
    if journal.stands(step):
        return journal, Walked(journal.notes[step.name].said, 0.0, 0.0, stood=True)
    journal.clear(step)
    line = step.line(shlex.quote(str(journal.folder)))
    began, cpu_began = time.perf_counter(), _cpu_seconds()
    try:
        with _kept() as printed:
            run(line)
        (journal.folder / step.log).write_text(f"$ {line}\n{printed.getvalue()}", "utf-8")
    except BaseException:
        journal.clear(step)
        raise
    seconds, cpu = time.perf_counter() - began, _cpu_seconds() - cpu_began
    said = _said(printed.getvalue(), journal.folder)
    return journal.with_step(step, said), Walked(said, seconds, cpu, stood=False)


def run(line: str) -> None:
    """Run a command as it is typed, in this process: `sfumato ...`, or `python -m` a module of ours."""
    words = shlex.split(line)
    if words[0] == "python":
        import_module(words[2]).main.main(args=words[3:], prog_name=words[2], standalone_mode=False)
        return
    from sfumato.cli import group

    group.main(args=words[1:], prog_name="sfumato", standalone_mode=False)


@contextlib.contextmanager
def _kept() -> Iterator[io.StringIO]:
    """What is printed, kept instead of shown; shown after all if it ends in an error."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            yield printed
    except click.Abort:
        raise
    except Exception:
        click.echo(printed.getvalue(), nl=False)
        raise


def _said(printed: str, folder: Path) -> str:
    """The line in which a command says what it made, without the folder."""
    begins = (f"{folder}/", f"{folder}: ")
    lines = [line for line in printed.splitlines() if line.startswith(begins)] or printed.splitlines()[-1:]
    return lines[0].removeprefix(begins[0]).removeprefix(begins[1]).strip() if lines else ""


def _cpu_seconds() -> float:
    """CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
