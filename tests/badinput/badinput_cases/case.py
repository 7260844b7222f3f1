"""A case: files, a command, and what must come of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Content = bytes | Callable[[Path], None]
"""What a file holds: its bytes, or a function that makes it at a path."""


@dataclass(frozen=True)
class Case:
    """Bad or odd input, the command that meets it, and the outcome that is right.

    `code` names the error of a refusal; None means accepted. `says` must stand in the message (or, where `warns`,
    in the warning). `holds` gives columns of the output, value by value. Paths are relative to a folder of the case.
    """

    name: str
    files: Mapping[str, Content]
    command: tuple[str | bytes, ...]
    code: str | None
    says: tuple[str, ...] = ()
    warns: bool = False
    holds: Mapping[str, list[Any]] = field(default_factory=dict)
    output: str = "out.parquet"

    @property
    def source(self) -> str:
        """The first file, which is the one the case is about."""
        return next(iter(self.files))

    def make(self, folder: Path) -> None:
        """Write the files of the case into `folder`."""
        for name, content in self.files.items():
            path = folder / name
            if isinstance(content, bytes):
                path.write_bytes(content)
            else:
                content(path)


def refused(
    name: str, files: Mapping[str, Content], command: tuple[str | bytes, ...], code: str, *says: str, **more: Any
) -> Case:
    """A case whose command must end with the error `code`, saying every fragment of `says`."""
    return Case(name, files, command, code, says, **more)


def accepted(
    name: str,
    files: Mapping[str, Content],
    command: tuple[str | bytes, ...],
    holds: Mapping[str, list[Any]],
    **more: Any,
) -> Case:
    """A case whose command must succeed in silence and write the columns `holds`."""
    return Case(name, files, command, None, holds=holds, **more)


def warned(
    name: str,
    files: Mapping[str, Content],
    command: tuple[str | bytes, ...],
    holds: Mapping[str, list[Any]],
    *says: str,
) -> Case:
    """A case whose command must succeed, write the columns `holds` and warn with every fragment of `says`."""
    return Case(name, files, command, None, says, warns=True, holds=holds)
