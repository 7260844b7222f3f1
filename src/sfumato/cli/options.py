"""Options that several commands share, and how settings reach a strategy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])

PATH = click.Path(path_type=Path)


class NameList(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """Names separated by commas: `cat,dog`. A comma inside a name is written `\\,`."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:  # noqa: ARG002
        if isinstance(value, tuple):
            return value
        return tuple(part.replace("\0", ",").strip() for part in value.replace("\\,", "\0").split(","))


def output_option(help_text: str) -> Callable[[Function], Function]:
    """`-o FILE`, required."""
    return click.option("-o", "--output", type=PATH, required=True, help=help_text)


def given(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings the user gave; those left alone keep the strategy's own default."""
    return {name: value for name, value in settings.items() if value not in (None, False, ())}
