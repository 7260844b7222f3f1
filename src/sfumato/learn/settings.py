"""Checks of settings that several families of strategies share."""

from __future__ import annotations

from sfumato.errors import BadSetting


def above_0(name: str, value: float) -> float:
    """`value`, or an error unless it is a finite number above 0."""
    if not 0 < value < float("inf"):
        raise bad_setting(name, value, "a finite number above 0")
    return value


def not_negative(name: str, value: float) -> float:
    """`value`, or an error unless it is a finite number from 0 up."""
    if not 0 <= value < float("inf"):
        raise bad_setting(name, value, "a finite number, 0 or more")
    return value


def bad_setting(name: str, value: object, expected: str) -> BadSetting:
    return BadSetting(f"found {name} = {value}", expected=expected, fix=f"choose another {name}", code="bad-setting")
