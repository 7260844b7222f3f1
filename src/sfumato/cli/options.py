"""Options and checks that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import click

from sfumato.tables.errors import BadSetting, BadTable, CannotWrite, MissingExtra, show

Function = TypeVar("Function", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)


class NameList(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """Names separated by commas: `cat,dog`. A comma inside a name is written `\\,`."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:  # noqa: ARG002
        if isinstance(value, tuple):
            return value
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise BadSetting(
                f"{show(value)}", "names in UTF-8", "check the terminal's encoding", "bad-classes"
            ) from error
        return tuple(part.replace("\0", ",").strip() for part in value.replace("\\,", "\0").split(","))


def output_option(help_text: str) -> Callable[[Function], Function]:
    """`-o FILE`, required."""
    return click.option("-o", "--output", type=PATH, required=True, help=help_text)


def given(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that the user gave; for the others the strategy has defaults."""
    return {name: value for name, value in settings.items() if value is not None and value is not False}


def check_outputs(source: Path, **outputs: Path | None) -> None:
    """Raise unless every output can be written, to a file that is neither the source nor another output."""
    seen: dict[Path, str] = {source.absolute(): ""}
    for option, path in outputs.items():
        if path is None:
            continue
        from sfumato.tables.files.atomic_write import check_place
        from sfumato.tables.files.file_type import TABLE_KINDS, kind_of

        kind_of(path, TABLE_KINDS)
        place = check_place(path).absolute()
        if place in seen:
            other = f"--{seen[place]}" if seen[place] else "the source"
            raise BadSetting(
                f"the same file, {show(path.name)}, for {other} and --{option}",
                "different files",
                f"choose another file for --{option}",
            )
        seen[place] = option


def check_not_negative(option: str, value: int) -> None:
    """Raise if a count is negative."""
    if value < 0:
        raise BadSetting(f"--{option} {value}", "0 or more", f"choose another --{option}")


def refuse_empty(table: Any, path: Path) -> None:
    """Raise if the table has no rows."""
    if not len(table):
        raise BadTable("no rows", "at least one row", "check how the file was made", "no-rows", where=path)


def check_folder(output: Path) -> None:
    """An error unless runs can be written to the folder, which is created with the first run."""
    from sfumato.tables.files.atomic_write import check_place

    check_place(output)
    if output.exists() and not output.is_dir():
        raise CannotWrite(
            "a file", "a folder, or a name for a new one", "choose another place with -o", "not-a-folder", where=output
        )


def check_torch_installed() -> None:
    """Raise unless the packages for training are installed."""
    for package in ("torch", "safetensors"):
        if find_spec(package) is None:
            raise MissingExtra(f"no {package}", f"{package}, to train networks", 'pip install "sfumato[train]"')
