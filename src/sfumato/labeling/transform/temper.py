"""Temperature: sharper or flatter, the order of classes kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.labeling.transform.rows import Distributions, with_probs
from sfumato.tables.errors import BadSetting


@dataclass(frozen=True)
class Temper:
    """`p ** (1 / temperature)`, normalised: above 1 flatter, below 1 sharper. A class with no mass gets none."""

    temperature: float = 1.0

    name: ClassVar[str] = "temper"

    def __post_init__(self) -> None:
        if not (self.temperature > 0 and np.isfinite(self.temperature)):
            raise BadSetting(
                f"found temperature = {self.temperature}",
                expected="a finite number above 0",
                fix="choose another",
                code="bad-setting",
            )

    def apply(self, table: Distributions) -> Distributions:
        probs = table.probs
        # Dividing by the largest first keeps very low temperatures from underflowing to a row of zeros.
        powered = (probs / probs.max(axis=1, keepdims=True)) ** (1 / self.temperature)
        return with_probs(table, powered / powered.sum(axis=1, keepdims=True))
