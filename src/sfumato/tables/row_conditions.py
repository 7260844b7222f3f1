"""Conditions on rows: `n_annotators>=5`, `class==cat`, `seconds<60`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool

from sfumato.tables.errors import BadSetting, show
from sfumato.tables.row_values import TEXT_NAMES, RowValues

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge, "<=": operator.le, "==": operator.eq, "!=": operator.ne, "=": operator.eq, ">": operator.gt,
    "<": operator.lt,
}  # fmt: skip
PATTERN = re.compile(r"(.+?)\s*(>=|<=|==|!=|=|>|<)\s*(.+)", re.DOTALL)


@dataclass(frozen=True)
class RowCondition:
    """A name, a comparison and a value: rows that fulfill it are kept."""

    name: str
    comparison: str
    value: str

    @classmethod
    def of(cls, text: str) -> RowCondition:
        """The condition that a text like `n_annotators>=5` describes."""
        found = PATTERN.fullmatch(text.strip()) if isinstance(text, str) else None
        if found is None:
            expected = f"NAME COMPARISON VALUE, with one of {' '.join(COMPARISONS)}"
            fix = 'write for example "n_annotators>=5" or "class==cat"'
            raise BadSetting(f"the condition {show(text)}", expected, fix, "bad-condition")
        name, comparison, value = found.groups()
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
        return cls(name.strip(), comparison, value[1:-1] if quoted else value)

    def __str__(self) -> str:
        return f"{self.name}{self.comparison}{self.value}"

    def fulfilled(self, values: RowValues) -> Bool[np.ndarray, "rows"]:
        """Which rows fulfill it; a row without a value does not."""
        compare = COMPARISONS[self.comparison]
        is_equality = compare in (operator.eq, operator.ne)
        if values.is_time(self.name):
            found = compare(values.of_rows(self.name).astype(str), self.value)
            return np.asarray(found & self.known(values), dtype=bool)
        number = _number(self.value)
        if is_equality and (number is None or not values.is_numeric(self.name)):
            return np.asarray(compare(values.of_rows(self.name), self.value), dtype=bool)
        if number is None or (not is_equality and self.name in TEXT_NAMES):
            expected = f"a number after {self.comparison}" if number is None else f"{self.name} with == or !="
            raise BadSetting(f"the condition {show(str(self))}", expected, "correct the condition", "bad-condition")
        with np.errstate(invalid="ignore"):
            found = np.asarray(compare(values.as_numbers(self.name), number))
        return np.asarray(found & self.known(values), dtype=bool)

    def known(self, values: RowValues) -> Bool[np.ndarray, "rows"]:
        """Which rows have a value."""
        found = values.of_rows(self.name)
        return ~np.isnan(found) if found.dtype.kind == "f" else np.asarray(found != "", dtype=bool)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
