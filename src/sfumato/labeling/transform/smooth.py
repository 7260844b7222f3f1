"""Label smoothing: some mass for every class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.labeling.transform.rows import Distributions, with_probs
from sfumato.tables.settings import share


@dataclass(frozen=True)
class Smooth:
    """`(1 - rate) p + rate / K` (Szegedy et al. 2016): the same doubt for every item, whatever it shows.

    The control that any claim about people's doubt has to beat.
    """

    rate: float = 0.1

    name: ClassVar[str] = "smooth"

    def __post_init__(self) -> None:
        share("rate", self.rate)

    def apply(self, table: Distributions) -> Distributions:
        return with_probs(table, (1 - self.rate) * table.probs + self.rate / len(table.classes))
