"""Groups of commands that are imported when first asked for, so that help comes at once."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """`members` says of each command where it is and what it does; help needs no more."""

    def __init__(self, *args: Any, members: Mapping[str, tuple[str, str]], heading: str, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.members, self.heading = members, heading

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.members)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self.members:
            return None
        command: click.Command = import_module(self.members[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section(self.heading):
            formatter.write_dl([(name, line) for name, (_, line) in self.members.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in self.members:
            from sfumato.errors import unknown

            raise unknown("command", args[0], list(self.members), fix=f"see {ctx.command_path} --help")
        return super().resolve_command(ctx, args)
