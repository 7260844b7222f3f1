"""Scales: shares from 0 to 1 in equal steps, as rows of buttons and sliders give them."""

from __future__ import annotations

from typing import Any

from sfumato.tables.errors import BadSetting


def on_scale(value: float, n_steps: int) -> bool:
    """Whether `value` is one of the `n_steps` + 1 shares that a scale of so many steps can give."""
    return 0 <= value <= 1 and abs(value * n_steps - round(value * n_steps)) < 1e-6


def nearest_on_scale(value: float, n_steps: int) -> float:
    """The share on the scale nearest to `value`: its ends for what lies beyond them."""
    return round(min(max(value, 0.0), 1.0) * n_steps) / n_steps


def check_whole_number(name: str, value: Any, low: int, high: int) -> None:
    """Raise unless the setting `name` is a whole number from `low` to `high`."""
    if type(value) is not int or not low <= value <= high:
        raise BadSetting(
            f"found {name} = {value!r}",
            expected=f"a whole number from {low:,} to {high:,}",
            fix=f"choose another {name}",
            code="bad-setting",
        )
