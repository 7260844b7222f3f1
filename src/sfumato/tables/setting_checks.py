"""Checks of settings: each returns the value, or raises an error with the allowed range."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real

from sfumato.tables.errors import BadSetting, ErrorLocation, listing, show


def share(name: str, value: float) -> float:
    """`value`, or an error unless it lies in 0..1."""
    if not 0 <= value <= 1:
        raise bad_setting(name, value, "a share from 0 to 1")
    return value


def between_0_and_1(name: str, value: float) -> float:
    """`value`, or an error unless it lies above 0 and below 1."""
    if not 0 < value < 1:
        raise bad_setting(name, value, "a share between 0 and 1")
    return value


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


def at_least(name: str, value: int, least: int) -> int:
    """`value`, or an error unless it is a whole number, `least` or more."""
    if not is_whole(value) or value < least:
        raise bad_setting(name, value, f"a whole number, {least} or more")
    return value


def is_whole(value: object) -> bool:
    """Whether it is a whole number, Python's or NumPy's; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def number(name: str, value: object) -> float:
    """`value`, or an error unless it is a number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise bad_setting(name, value, "a number, without quotes or units")
    return float(value)


def one_of(name: str, value: object, known: Sequence[object]) -> None:
    """An error unless `value` is one of `known`, and of its type."""
    if not any(value == each and type(value) is type(each) for each in known):
        raise bad_setting(name, value, f"one of {listing([str(each) for each in known])}")


def bad_setting(
    name: str, value: object, expected: str, fix: str = "", where: ErrorLocation | None = None
) -> BadSetting:
    """A setting whose value is not allowed: `found name = value`."""
    text = show(value) if isinstance(value, str) else value
    return BadSetting(f"{name} = {text}", expected, fix or f"choose another {name}", where=where)
