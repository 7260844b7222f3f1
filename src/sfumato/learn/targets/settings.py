"""Checks of settings that several targets have."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sfumato.errors import BadSetting, listing, show


def one_of(name: str, value: str, choices: Sequence[str]) -> str:
    """`value`, or an error unless it is one of `choices`."""
    if value not in choices:
        raise BadSetting(
            f"found {name} = {show(value)}",
            expected=f"one of {listing(choices)}",
            fix=f"choose another {name}",
            code="bad-setting",
        )
    return value


def temperature(value: float) -> float:
    """`value`, or an error unless it is a finite number above 0."""
    if not (value > 0 and math.isfinite(value)):
        raise BadSetting(
            f"found temperature = {value}",
            expected="a finite number above 0",
            fix="choose another temperature",
            code="bad-setting",
        )
    return value
