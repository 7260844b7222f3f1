"""Options and checks that several commands share."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sfumato.tables.errors import BadSetting, CannotWrite, MissingExtra, missing_extra, no_rows, show

if TYPE_CHECKING:
    import numpy as np

    from sfumato.tables.beliefs import Beliefs
    from sfumato.tables.counts import Counts
    from sfumato.tables.files.file_type import FileKind

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
            fix = "check the terminal's encoding"
            raise BadSetting(show(value), "names in UTF-8", fix, "bad-classes") from error
        return tuple(part.replace("\0", ",").strip() for part in value.replace("\\,", "\0").split(","))


def output_option(help_text: str) -> Callable[[Function], Function]:
    """`-o FILE`, required."""
    return click.option("-o", "--output", type=PATH, required=True, help=help_text)


def any_estimand_option(command: Function) -> Function:
    """`--any-estimand`, for commands that need labels of how people judge."""
    text = "Use labels whatever they estimate, also those that do not estimate how people judge."
    return click.option("--any-estimand", is_flag=True, help=text)(command)


def same_rows_option(command: Function) -> Function:
    """`--same-rows`, for commands that match tables by item."""

    @wraps(command)
    def with_same_rows(*, same_rows: bool, **others: Any) -> Any:
        from sfumato.tables.row_numbers import same_rows as stated

        with stated(same_rows):
            return command(**others)

    text = "Files without ids list the same items in the same order: match their rows."
    return click.option("--same-rows", is_flag=True, help=text)(with_same_rows)  # type: ignore[return-value]


def input_options(command: Function) -> Function:
    """`--text`, `--items` and `--size`, which say how inputs are read; the command gets them as `reading`."""

    @wraps(command)
    def with_reading(*, text: tuple[str, ...], items: str | None, size: str | None, **others: Any) -> Any:
        from sfumato.tables.model_inputs import InputOptions

        return command(reading=InputOptions(text, items, size), **others)

    return plain_input_options(with_reading)  # type: ignore[return-value]


def plain_input_options(command: Function) -> Function:
    """The same options, which the command gets by their names."""
    options = (
        click.option("--text", type=NameList(), default=(), help="The column of a table that holds the text."),
        click.option("--items", metavar="FILE", help="Item ids, one per line; or the column of a table that has them."),
        click.option("--size", metavar="PIXELS", help="Resize the images of a folder: 32, or 32x48 (height x width)."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def store_option(command: Function) -> Function:
    """`--store`, for commands that use the store of a study."""
    default = "default: store/answers.sqlite next to the study"
    return click.option("--store", help=f"Where answers are stored: a file, or postgresql://... ({default}).")(command)


LOCAL_ADDRESS = "http://127.0.0.1:8000"
"""The address of a server that was started without options."""


def address_option(command: Function) -> Function:
    """`--address`, for commands that print links to a study's server; without a slash at the end."""
    about = "The address of the server."
    return click.option(
        "--address", default=LOCAL_ADDRESS, show_default=True, help=about, callback=lambda *given: web_address(given[2])
    )(command)


def web_address(text: str) -> str:
    """The address of a server without a slash at the end; raises if it has no scheme."""
    if not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?", text, re.IGNORECASE):
        host = re.sub(r"^[a-z]*:?//|[\s?#@].*", "", text, flags=re.IGNORECASE | re.DOTALL) or "study.example.org"
        scheme = "http" if host.startswith(("127.", "localhost", "[::1]")) else "https"
        expected = "an address that begins with https:// or http://"
        raise BadSetting(f"--address {show(text)}", expected, f"write --address {scheme}://{host}", "bad-address")
    return text.rstrip("/")


EXACT_TIMES_NOTES = ("with exact times: do not publish this file, others could find out who took part",)


def exact_times_option(command: Function) -> Function:
    """`--exact-times`, for commands that write answers for others."""
    about = "Write times as they are, with their dates. Do not publish such a file."
    return click.option("--exact-times", is_flag=True, help=about)(command)


@contextmanager
def server_packages() -> Iterator[None]:
    """Around imports of the store and the server: the error if their packages are not installed."""
    try:
        yield
    except ImportError as error:
        fix = 'pip install "sfumato[serve]" (and "sfumato[postgres]" for PostgreSQL)'
        raise MissingExtra(f"no {error.name or 'package'}", "the packages of the study server", fix) from error


def given(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that the user gave; for the others the strategy has defaults."""
    return {name: value for name, value in settings.items() if value is not None and value is not False}


def typed_command(context: click.Context, name: str) -> str:
    """The command line of the command `name`, with the options that were given in a fixed order."""
    words = name.split()
    for parameter in context.command.params:
        if context.get_parameter_source(parameter.name or "") is not click.core.ParameterSource.COMMANDLINE:
            continue
        value = context.params[parameter.name or ""]
        flag = [] if isinstance(parameter, click.Argument) else [parameter.opts[0]]
        if isinstance(value, bool):
            words += flag if value else [parameter.secondary_opts[-1]]
        elif parameter.multiple:
            words += [word for each in value for word in (*flag, str(each))]
        else:
            words += [*flag, ",".join(value) if isinstance(value, tuple) else str(value)]
    return shlex.join(words)


def check_outputs(*sources: Path | None, kinds: Sequence[FileKind] = (), **outputs: Path | None) -> None:
    """Raise unless every output can be written, to a file that is neither a source nor another output.

    `kinds` are the file types of `output` if it is no table.
    """
    seen = {source.absolute(): "" for source in sources if source}
    for option, path in outputs.items():
        if path is None:
            continue
        from sfumato.tables.files.atomic_write import check_place
        from sfumato.tables.files.file_type import TABLE_KINDS, kind_of

        kind_of(path, tuple(kinds) if kinds and option == "output" else TABLE_KINDS, to_write=True)
        place = check_place(path).absolute()
        if place in seen:
            other = f"--{seen[place]}" if seen[place] else "the source"
            found = f"the same file, {show(path.name)}, for {other} and --{option}"
            raise BadSetting(found, "different files", f"choose another file for --{option}")
        seen[place] = option


def check_not_negative(option: str, value: int) -> None:
    """Raise if a count is negative."""
    if value < 0:
        raise BadSetting(f"--{option} {value}", "0 or more", f"choose another --{option}")


def seeded(seed: int) -> np.random.Generator:
    """The random numbers of `--seed`."""
    check_not_negative("seed", seed)
    import numpy as np

    return np.random.default_rng(seed)


def check_one_given(fix: str = "give one of them", **options: object) -> None:
    """Raise unless exactly one of the options was given."""
    n_given = sum(value not in (None, ()) for value in options.values())
    if n_given != 1:
        names = [f"--{name}" for name in options]
        found = f"both {' and '.join(names)}" if n_given else f"neither {' nor '.join(names)}"
        raise BadSetting(found, "one of them", fix)


def read_votes(
    path: Path, classes: tuple[str, ...] = (), *, repeats: bool = False, ordered: bool = False
) -> Beliefs | Counts:
    """Votes, beliefs or counts in a file, as `sf.read` reads it; answers that count become beliefs."""
    from sfumato.api_arguments import read_file, votes_of
    from sfumato.cli.output import say
    from sfumato.tables.annotations import Annotations

    table = read_file(path, classes, are_votes=True)
    refuse_empty(table, path)
    if ordered:
        table = put_in_order(table, classes)
    if isinstance(table, Annotations):
        n_read, table = len(table), table.counted(repeats=repeats)
        if n := n_read - len(table):
            say(f"{n:,} of {n_read:,} answers not counted ({'checks' if repeats else 'checks or repeats'})")
    return votes_of(table, repeats=repeats)


def put_in_order(table: Any, classes: Sequence[str] = ()) -> Any:
    """`table` with ordered classes, for `--ordered`; prints the scale."""
    from sfumato.cli.output import say
    from sfumato.tables.class_order import in_order, scale_text

    ordered = in_order(table, classes)
    say(f"ordered classes: {scale_text(ordered.classes)}")
    return ordered


ordered_option = click.option(
    "--ordered", is_flag=True, help="The classes are a scale, from the lowest to the highest; for a CSV."
)
classes_option = click.option(
    "--classes", type=NameList(), default=(), help="The classes in order, if the file does not name them: cat,dog."
)
repeats_option = click.option(
    "--repeats", is_flag=True, help="Also count repeated answers in Annotations; by default only purpose 'label'."
)


def refuse_empty(table: Any, path: Path) -> None:
    """Raise if the table has no rows."""
    if not len(table):
        raise no_rows(where=path)


def check_folder(output: Path) -> None:
    """An error unless runs can be written to the folder, which is created with the first run."""
    from sfumato.tables.files.atomic_write import check_place

    check_place(output)
    if output.exists() and not output.is_dir():
        expected, fix = "a folder, or a name for a new one", "choose another place with -o"
        raise CannotWrite("a file", expected, fix, "not-a-folder", output)


def check_torch_installed(purpose: str = "to train networks") -> None:
    """Raise unless the packages for training are installed."""
    for package in ("torch", "safetensors"):
        if find_spec(package) is None:
            raise missing_extra(package, purpose, "train")
