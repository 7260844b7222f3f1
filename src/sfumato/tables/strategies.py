"""Creates strategies (aggregators, targets, networks ...) from their names and settings.

`smoothing:share=0.2` on the command line and `{name = "smoothing", share = 0.2}` in TOML mean the same. Values are
checked against the types of the settings. Does not import torch.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any

from sfumato.tables.errors import BadSetting, ErrorLocation, listing, show, unknown


def strategy_from_name(family: str, members: tuple[Any, ...], name: str, settings: Mapping[str, Any]) -> Any:
    """The member of `members` called `name`, with `settings`; errors list the known names and settings."""
    member = next((each for each in members if each.name == name), None)
    if member is None:
        raise unknown(family, name, [each.name for each in members])
    known = {field.name: field for field in fields(member)}
    for setting in settings:
        if setting not in known:
            option = setting.replace("_", "-")
            expected = f"settings of {name}: {listing([n.replace('_', '-') for n in known]) or 'it has none'}"
            fix = f"leave out --{option}, or choose another {family}"
            raise BadSetting(f"the setting {option} for {name}", expected, fix)
    for setting, field in known.items():
        if field.default is MISSING and field.default_factory is MISSING and setting not in settings:
            found = f"no {setting} for {name}"
            raise BadSetting(found, f"the setting {setting}", f"give --{setting.replace('_', '-')}")
    return member(**settings)


AT_COMMA = re.compile(r",(?![^\[]*\])")
"""A comma outside brackets."""


@dataclass(frozen=True)
class StrategyText:
    """The name of a strategy and its settings."""

    name: str
    settings: Mapping[str, Any]

    @classmethod
    def of(cls, value: object, where: ErrorLocation | None = None) -> StrategyText:
        """From text, `name:setting=value:setting=value`, or a table with `name`."""
        if isinstance(value, str):
            name, *parts = value.split(":")
            pairs = [part.partition("=") for part in parts]
            bad = next(
                (part for part, (key, equals, _) in zip(parts, pairs, strict=True) if not key or not equals), None
            )
            if not name.strip() or bad is not None:
                raise _bad_strategy(value, where)
            settings = {key.strip(): _value(text.strip()) for key, _, text in pairs}
        elif isinstance(value, Mapping) and isinstance(value.get("name"), str):
            name, settings = value["name"], {key: each for key, each in value.items() if key != "name"}
        else:
            raise _bad_strategy(value, where)
        return cls(name.strip(), {key.replace("-", "_"): each for key, each in settings.items()})

    def typed(self, members: Sequence[Any], where: ErrorLocation | None = None) -> Mapping[str, Any]:
        """The settings with the types of the one of `members` that has this name; unchanged if none has it."""
        member = next((each for each in members if each.name == self.name), None)
        return self.settings if member is None else settings_for(member, self.settings, where=where)

    @property
    def text(self) -> str:
        """`smoothing:share=0.2`, with the settings in their order."""
        return ":".join([self.name, *(f"{key}={_shown(value)}" for key, value in self.settings.items())])


def split_choices(text: str) -> list[str]:
    """The parts of a list separated by commas outside brackets."""
    return [part.strip() for part in AT_COMMA.split(text) if part.strip()]


def settings_for(
    member: Any, settings: Mapping[str, Any], *, leave_out: Sequence[str] = (), where: ErrorLocation | None = None
) -> dict[str, Any]:
    """`settings` with the types of the dataclass `member`; errors name the nearest setting and the type."""
    known = {field.name: str(field.type) for field in fields(member) if field.name not in leave_out}
    typed = {}
    for name, value in settings.items():
        if name not in known:
            raise unknown("setting", name, list(known), where=where, fix="see docs/train.md for all settings")
        typed[name] = _as(known[name], name, value, where)
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


def _value(text: str) -> Any:
    """The value in TOML syntax, or else the text itself."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "[" + ",".join(map(_shown, value)) + "]" if isinstance(value, list) else str(value)


def _as(kinds: str, name: str, value: Any, where: ErrorLocation | None) -> Any:
    """`value` as one of the types in `kinds` ("int | None")."""
    for kind in kinds.split(" | "):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if kind == "float" and is_number:
            return float(value)
        if kind == "int" and is_number and isinstance(value, int):
            return value
        if (kind == "bool" and isinstance(value, bool)) or (kind == "str" and isinstance(value, str)):
            return value
        if kind.startswith("tuple[") and isinstance(value, list):
            inner = kind.removeprefix("tuple[").partition(",")[0].rstrip("]")
            return tuple(_as(inner, name, each, where) for each in value)
    expected = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a text"}
    allowed = " or ".join(expected.get(kind, f"a list ({kind})") for kind in kinds.split(" | ") if kind != "None")
    raise BadSetting(f"{name} = {show(value)}", allowed, f"choose another {name}", where=where)


def _bad_strategy(value: object, where: ErrorLocation | None) -> BadSetting:
    expected, fix = "a name, with its settings as name:setting=value", "write for example smoothing:share=0.2"
    return BadSetting(show(value), expected, fix, where=where)
