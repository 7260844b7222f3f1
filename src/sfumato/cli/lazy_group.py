"""Groups of commands that are imported when first used, so that `--help` is fast.

Other distributions add commands by entry points of the group `sfumato.commands`: `reproduce` becomes
`sfumato reproduce`, `plan trial` becomes `sfumato plan trial`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any

import click

from sfumato.tables.errors import BadSetting, unknown

ENTRY_POINTS = "sfumato.commands"


def _checked(command: click.Command) -> click.Command:
    """The command, with an error for an option that is given twice, of which click would use the last one only."""
    if "make_parser" in vars(command):
        return command
    make_parser = command.make_parser

    def with_check(context: click.Context) -> Any:
        parser = make_parser(context)
        parse = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            values, rest, order = parse(args)
            for option in order:
                if not isinstance(option, click.Option) or option.multiple or option.is_flag or option.count:
                    continue
                if order.count(option) > 1:
                    found = f"{option.opts[-1]} {order.count(option)} times"
                    raise BadSetting(found, "each option once", "give it once", "repeated-option")
            return values, rest, order

        vars(parser)["parse_args"] = parse_args
        return parser

    vars(command)["make_parser"] = with_check
    return command


def _is_there(point: EntryPoint) -> bool:
    try:
        return find_spec(point.module) is not None
    except ModuleNotFoundError:
        return False


class LazyGroup(click.Group):
    """`members` gives module and help line of each command; `prefix` is what entry points of this group begin with.
    In a module of several commands, the command is named: `sfumato.cli.backup:backup`.

    `renamed` maps former names of commands to their new names: a former name only prints the new one.
    """

    def __init__(
        self,
        *args: Any,
        members: Mapping[str, tuple[str, str]],
        heading: str,
        prefix: str = "",
        renamed: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.members, self.heading, self.prefix, self.renamed = members, heading, prefix, renamed or {}

    @cached_property
    def added(self) -> dict[str, EntryPoint]:
        """The commands that other distributions add to this group; those whose module is not there are left out, as
        after an update without a new installation."""
        found = {point.name: point for point in entry_points(group=ENTRY_POINTS) if _is_there(point)}
        names = {name: name.removeprefix(self.prefix) for name in found if name.startswith(self.prefix)}
        return {short: found[name] for name, short in names.items() if " " not in short and short not in self.members}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [*self.members, *self.added]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        command: click.Command | None = None
        if cmd_name in self.members:
            module, _, name = self.members[cmd_name][0].partition(":")
            command = getattr(import_module(module), name or "command")
        elif cmd_name in self.added:
            command = self.added[cmd_name].load()
        return command if command is None else _checked(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        rows = [(name, line) for name, (_, line) in self.members.items()]
        rows += [(name, point.load().get_short_help_str(limit=100)) for name, point in self.added.items()]
        with formatter.section(self.heading):
            formatter.write_dl(rows)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] in self.renamed:
            path = ctx.command_path
            click.echo(f"{path} {args[0]} is now {path} {self.renamed[args[0]]}", err=True)
            sys.exit(2)
        if args and args[0] not in self.members and args[0] not in self.added:
            raise unknown("command", args[0], self.list_commands(ctx), fix=f"see {ctx.command_path} --help")
        return super().resolve_command(ctx, args)
