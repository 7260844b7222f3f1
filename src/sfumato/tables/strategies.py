"""Names at the border become objects once, here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from sfumato.tables.errors import BadSetting, listing, unknown


def strategy_from_name(family: str, members: tuple[Any, ...], name: str, settings: Mapping[str, Any]) -> Any:
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
