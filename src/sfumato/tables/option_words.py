"""Options in messages: `--leave-out Usage` on the command line is `leave_out=["Usage"]` in Python."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from types import FrameType

FLAGS = frozenset(
    {
        "allow-drift", "annotator-level", "any-estimand", "as-released", "average-repeats", "calibrate", "common",
        "logits", "only-first", "ordered", "repeats", "same-rows", "skip-bad-percents",
        "zero-is-uniform",
    }
)  # fmt: skip
"""Options without a value; in Python they are True."""
COMMAND = re.compile(r"`?sfumato [a-z][^;`)]*")
"""A command in a message: it is the same in Python."""
VALUE = r"""tab\b|'[^']*'|"[^"]*"|[A-Z]{2,}\b|[0-9][^\s,;)]*|[^\s,;)]*[=,][^\s;)]*[^\s;,).]"""
OPTION = re.compile(rf"(?<![\w-])--([a-z][a-z-]*[a-z])(?: ({VALUE}))?")


def is_command() -> bool:
    """Whether a command of sfumato called this, and not a program that uses the functions."""
    caller: FrameType | None = sys._getframe(1)
    while caller is not None and not caller.f_globals.get("__name__", "").startswith(("sfumato.cli", "sfumato_papers")):
        caller = caller.f_back
    return caller is not None


def worded(text: str) -> str:
    """The text for its reader: in Python every option is the argument of that name, outside of commands."""
    if "--" not in text or is_command():
        return text
    parts, at = [], 0
    for command in COMMAND.finditer(text):
        parts += [OPTION.sub(_as_argument, text[at : command.start()]), command[0]]
        at = command.end()
    return "".join([*parts, OPTION.sub(_as_argument, text[at:])])


def option(name: str, values: Sequence[str] | str) -> str:
    """An option with its value or values, as the reader of a message gives it: `option("leave_out", ["Usage"])`."""
    if not is_command():
        return f"{name}={json.dumps(values if isinstance(values, str) else list(values), ensure_ascii=False)}"
    text = values if isinstance(values, str) else ",".join(each.replace(",", "\\,") for each in values)
    quoted = f'"{text}"' if any(c.isspace() for c in text) else text
    return f"--{name.replace('_', '-')} {quoted}"


def _as_argument(match: re.Match[str]) -> str:
    """`leave_out=["a", "b"]` for `--leave-out a,b`."""
    name, value = match[1].replace("-", "_"), match[2]
    if value is None:
        return f"{name}=True" if match[1] in FLAGS else f"{name}="
    if value.isupper() or re.fullmatch(r"[0-9.]+", value) or value[0] in "'\"":
        return f"{name}={value}"
    if "," in value and "=" not in value:
        return f"{name}={json.dumps(value.split(','), ensure_ascii=False)}"
    return f"{name}={json.dumps(value, ensure_ascii=False)}"
