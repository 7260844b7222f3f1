"""Walking the path: every step run, or found to stand as it is."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import click

from sfumato.cli.demo.journal import FILE_NAME, Journal, Step
from sfumato.tables.errors import BadSetting, MissingExtra

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
