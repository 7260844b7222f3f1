"""Creates strategies (aggregators, targets, metrics ...) from their names and settings.

`smoothing:share=0.2` on the command line and `{name = "smoothing", share = 0.2}` in TOML mean the same. Values are
converted to the types of the settings: texts with or without quotes, `true` and `false`, fractions (`4/255`), lists in
brackets. Does not import torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from fractions import Fraction
from functools import partial
from itertools import islice
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from sfumato.tables.errors import BadFile, BadSetting, ErrorLocation, UnknownName, listing, nearest, show, unknown
from sfumato.tables.option_words import is_command
from sfumato.tables.toml_file import parse_toml

OPENING, CLOSING, QUOTES = "[{", "]}", "'\""
MAX_BRACKETS = 100
"""Lists in a setting that is not TOML; a deeper value is taken as text."""


def strategy_from_name(
    family: str,
    members: tuple[Any, ...],
    name: str,
    settings: Mapping[str, Any],
    *,
    also_called: Mapping[str, str] | None = None,
) -> Any:
    """The member of `members` called `name`, with `settings`; errors list the known names and settings.

    `name` may have settings too, as text: `smooth:rate=0.2`. `also_called` has names of other tools, and what to use
    instead: they are suggested, not accepted.
    """
    text = StrategyText.of(name) if ":" in name else StrategyText(name, {})
    member = next((each for each in members if each.name == text.name), None)
    if member is None:
        instead = (also_called or {}).get(text.name.lower().replace("_", "-"), "")
        error = unknown(family, text.name, [each.name for each in members])
        raise UnknownName(error.found, error.expected, f"use {instead}", error.code) if instead else error
    typed = dict(text.typed(members))
    for setting, value in settings.items():
        if setting in typed:
            found = f"{setting} = {show(typed[setting])} in {show(name)}, and {setting} = {show(value)}"
            raise BadSetting(found, f"one {setting}", f"leave out --{setting.replace('_', '-')}")
        typed[setting] = value
    known = _known(member)
    for setting in typed:
        if setting not in known:
            raise _unknown_setting(setting, member, known, code="bad-setting")
    for each in fields(member):
        if each.default is MISSING and each.default_factory is MISSING and each.name not in typed:
            found = f"no {each.name} for {text.name}"
            setting = each.name.replace("_", "-")
            kinds = get_args(known[each.name]) or (known[each.name],)
            is_typed = any(kind in (int, float, str, bool) for kind in kinds)
            fix = f"write {text.name}:{setting}=..." if is_typed else f"give --{setting}"
            raise BadSetting(found, f"the setting {each.name}", fix)
    return member(**typed)


@dataclass(frozen=True)
class StrategyText:
    """The name of a strategy and its settings."""

    name: str
    settings: Mapping[str, Any]
    written: Mapping[str, str] = field(default_factory=dict, compare=False)
    """The settings as they were typed: settings that are texts have these values."""

    @classmethod
    def of(cls, value: object, where: ErrorLocation | None = None) -> StrategyText:
        """From text, `name:setting=value:setting=value`, or a table with `name`."""
        if isinstance(value, str):
            name, *parts = _parts(value, ":")
            pairs = [part.partition("=") for part in parts]
            if not name.strip() or any(not key.strip() or not equals for key, equals, _ in pairs):
                raise _bad_strategy(value, where)
            written = {key.strip().replace("-", "_"): text.strip() for key, _, text in pairs}
            if len(written) < len(pairs):
                raise BadSetting(show(value), "each setting once", "leave out one of the two", where=where)
            return cls(name.strip(), {key: _value(text) for key, text in written.items()}, written)
        if isinstance(value, Mapping) and isinstance(value.get("name"), str):
            settings = {key.replace("-", "_"): each for key, each in value.items() if key != "name"}
            return cls(value["name"].strip(), settings)
        raise _bad_strategy(value, where)

    def typed(self, members: Sequence[Any], where: ErrorLocation | None = None) -> Mapping[str, Any]:
        """The settings with the types of the one of `members` that has this name; unchanged if none has it."""
        member = next((each for each in members if each.name == self.name), None)
        if member is None:
            return self.settings
        return settings_for(member, self.settings, written=self.written, where=where)

    @property
    def text(self) -> str:
        """`smoothing:share=0.2`, with the settings in their order."""
        return ":".join([self.name, *(f"{key}={_shown(value)}" for key, value in self.settings.items())])


def split_choices(text: str) -> list[str]:
    """The parts of a list separated by commas outside brackets and quotes."""
    return [part.strip() for part in _parts(text, ",") if part.strip()]


def settings_for(
    member: Any,
    settings: Mapping[str, Any],
    *,
    written: Mapping[str, str] | None = None,
    leave_out: Sequence[str] = (),
    where: ErrorLocation | None = None,
) -> dict[str, Any]:
    """`settings` with the types of the dataclass `member`; errors name the nearest setting and the type."""
    known = {name: kind for name, kind in _known(member).items() if name not in leave_out}
    typed = {}
    for name, value in settings.items():
        if name not in known:
            raise _unknown_setting(name, member, known, where)
        found = _as(known[name], value)
        if found is REFUSED and written and name in written:
            found = _as(known[name], written[name])
        if found is REFUSED:
            raise _wrong_type(name, value, known[name], where)
        typed[name] = found
    return typed


def described(thing: Any) -> Any:
    """A strategy, or any dataclass, as JSON values: its name and all settings."""
    if is_dataclass(thing) and not isinstance(thing, type):
        name = getattr(thing, "name", None)
        named = {"name": name} if isinstance(name, str) else {}
        return named | {field.name: described(getattr(thing, field.name)) for field in fields(thing)}
    if isinstance(thing, Mapping):
        return {str(key): described(value) for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [described(each) for each in thing]
    if isinstance(thing, (str, int, float, bool, type(None))):
        return thing
    # Not the default repr: it contains the memory address.
    kind = type(thing)
    return repr(thing) if "__repr__" in vars(kind) else f"{kind.__module__}.{kind.__qualname__}"


def _parts(text: str, separator: str) -> Iterator[str]:
    """The parts of `text` between separators outside brackets and quotes."""
    depth, quote, start = 0, "", 0
    for i, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in QUOTES and (i == 0 or text[i - 1] in f"=,{OPENING}"):
            quote = character
        elif character in OPENING:
            depth += 1
        elif character in CLOSING:
            depth = max(depth - 1, 0)
        elif character == separator and not depth:
            yield text[start:i]
            start = i + 1
    yield text[start:]


def _value(text: str) -> Any:
    """The value in TOML syntax; in lists, texts need no quotes; or else the text itself."""
    try:
        return parse_toml(f"value = {text}", Path(), "a value")["value"]
    except BadFile:
        if text.startswith("[") and text.endswith("]") and text.count("[") <= MAX_BRACKETS:
            return [_value(part.strip()) for part in _parts(text[1:-1], ",") if part.strip()]
        return text


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "[" + ",".join(map(_shown, value)) + "]" if isinstance(value, list) else str(value)


REFUSED = object()


def _known(member: Any) -> dict[str, Any]:
    """The settings of a dataclass and their types."""
    try:
        types = get_type_hints(member)
    except NameError:
        # A type that is imported only for type checkers: values of any type are accepted.
        types = {}
    return {each.name: types.get(each.name, object) for each in fields(member) if each.init}


def _as(kind: Any, value: Any) -> Any:
    """`value` as the type `kind`, or REFUSED."""
    if isinstance(kind, UnionType):
        return next((found for each in get_args(kind) if (found := _as(each, value)) is not REFUSED), REFUSED)
    is_text, is_number = isinstance(value, str), isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind is float:
        return float(value) if is_number else _number(value) if is_text else REFUSED
    if kind is bool:
        word = {"true": True, "false": False}.get(value.lower(), REFUSED) if is_text else REFUSED
        return value if isinstance(value, bool) else word
    if kind is NoneType:
        return None if value is None or (is_text and value.lower() == "none") else REFUSED
    if get_origin(kind) is tuple:
        if not isinstance(value, (list, tuple)):
            return REFUSED
        inner = get_args(kind)[0]
        # Names in a list may look like numbers: classes=[0,1,2].
        read = _shown if inner is str else partial(_dataclass if is_dataclass(inner) else _as, inner)
        found = tuple(read(each) for each in value)
        return REFUSED if any(each is REFUSED for each in found) else found
    if not isinstance(kind, type):
        return value
    return value if isinstance(value, kind) and not (kind is int and isinstance(value, bool)) else REFUSED


def _dataclass(kind: Any, value: Any) -> Any:
    """A dataclass from a table, or from the list of its values in their order; REFUSED if it is neither."""
    types = _known(kind)
    if isinstance(value, list) and len(value) == len(_names_of_values(kind)):
        rest = iter(value)
        sizes = {name: len(_names_of_values(each)) if is_dataclass(each) else 0 for name, each in types.items()}
        value = {name: list(islice(rest, size)) if size else next(rest) for name, size in sizes.items()}
    if not isinstance(value, Mapping) or set(value) != set(types):
        return REFUSED
    found = {
        name: _dataclass(each, value[name]) if is_dataclass(each) else _as(each, value[name])
        for name, each in types.items()
    }
    return REFUSED if any(each is REFUSED for each in found.values()) else kind(**found)


def _names_of_values(kind: Any) -> list[str]:
    """The settings of a dataclass, with those of dataclasses inside it in their places."""
    parts = [_names_of_values(each) if is_dataclass(each) else [name] for name, each in _known(kind).items()]
    return [name for part in parts for name in part]


def _number(text: str) -> Any:
    """The number or fraction in `text`, or REFUSED."""
    try:
        return float(Fraction(text.replace(" ", "")))
    except (ValueError, ZeroDivisionError, OverflowError):
        return REFUSED


WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}


def _wrong_type(name: str, value: Any, kind: Any, where: ErrorLocation | None) -> BadSetting:
    """The error for a value that does not have the type of the setting."""
    option = name.replace("_", "-")
    kinds = [each for each in (get_args(kind) if isinstance(kind, UnionType) else (kind,)) if each is not NoneType]
    expected, fix = " or ".join(WORDS.get(each, "a table") for each in kinds), f"choose another {option}"
    if get_origin(kinds[0]) is tuple:
        inner = get_args(kinds[0])[0]
        each = f"[{','.join(_names_of_values(inner))}]" if is_dataclass(inner) else WORDS[inner].removeprefix("a ")
        expected, fix = f"a list, each {each}", f"write it in brackets: {option}=[...]"
    elif not set(kinds) <= set(WORDS):
        fix = f"give the file with the option --{option}" if is_command() else f"give the table: {name}=..."
    return BadSetting(f"{option} = {show(value)}", expected, fix, where=where)


def _unknown_setting(
    setting: str,
    member: Any,
    known: Mapping[str, Any],
    where: ErrorLocation | None = None,
    code: str = "unknown-setting",
) -> BadSetting:
    """The error for a setting that `member` does not have."""
    option, options = setting.replace("_", "-"), [each.replace("_", "-") for each in known]
    name = getattr(member, "name", member.__name__.lower())
    found, fix = (
        f"the setting {option} for {name}",
        f"{nearest(option, options)}leave {'it out' if code == 'unknown-setting' else f'out --{option}'}",
    )
    expected = f"settings of {name}: {listing(options) or 'it has none'}"
    return BadSetting(found, expected, fix, code, where)


def _bad_strategy(value: object, where: ErrorLocation | None) -> BadSetting:
    expected, fix = "a name, with its settings as name:setting=value", "write for example smoothing:share=0.2"
    return BadSetting(show(value), expected, fix, where=where)
