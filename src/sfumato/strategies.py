"""Names at the border become objects once, here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from sfumato.errors import BadSetting, listing, unknown


def strategy_named(family: str, members: tuple[Any, ...], name: str, settings: Mapping[str, Any]) -> Any:
    """The member of `members` called `name`, made with `settings`; errors list the names and the settings there are."""
    member = next((each for each in members if each.name == name), None)
    if member is None:
        raise unknown(family, name, [each.name for each in members])
    known = {field.name: field for field in fields(member)}
    for setting in settings:
        if setting not in known:
            raise BadSetting(
                f"found the setting {setting.replace('_', '-')} for {name}",
                expected=f"settings of {name}: {listing([n.replace('_', '-') for n in known]) or 'it has none'}",
                fix=f"leave out --{setting.replace('_', '-')}, or choose another {family}",
                code="bad-setting",
            )
    for setting, field in known.items():
        if field.default is MISSING and field.default_factory is MISSING and setting not in settings:
            raise BadSetting(
                f"found no {setting} for {name}",
                expected=f"the setting {setting}",
                fix=f"give --{setting.replace('_', '-')}",
                code="bad-setting",
            )
    return member(**settings)


def share(name: str, value: float) -> float:
    """`value`, or an error unless it lies in 0..1."""
    if not 0 <= value <= 1:
        raise BadSetting(
            f"found {name} = {value}",
            expected="a share from 0 to 1",
            fix=f"choose another {name}",
            code="bad-setting",
        )
    return value


def between_0_and_1(name: str, value: float) -> float:
    """`value`, or an error unless it lies above 0 and below 1."""
    if not 0 < value < 1:
        raise BadSetting(
            f"found {name} = {value}",
            expected="a share between 0 and 1",
            fix=f"choose another {name}",
            code="bad-setting",
        )
    return value
