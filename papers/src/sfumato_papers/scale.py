"""Scale: how much of a paper's work is done."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

Value = TypeVar("Value")


class Scale(StrEnum):
    """How large a rerun is. What a paper counts from its data is the same at every scale."""

    SMALL = "small"
    """Minutes on two cores: every path is walked, trainings are short."""
    CPU = "cpu"
    """Up to an hour on two cores."""
    FULL = "full"
    """The published protocol, which wants a graphics card."""

    def of(self, values: Mapping[Scale, Value]) -> Value:
        """The value for this scale."""
        return values[self]
