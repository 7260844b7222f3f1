"""A journal of steps: what each was given and what it made, by content, so that nothing is made twice or trusted
unseen.

A step stands if it would be told the same by the same program, from inputs with the same content, and what it made is
still there with the content it had. That a file exists says nothing.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import msgspec

import sfumato
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
