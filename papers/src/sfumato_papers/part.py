"""Part: a table, figure or section of a paper, run again.

Scale: how much of a paper's work is done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TypeVar

from sfumato.reporting.chart import Chart
from sfumato_papers.finding import Finding, Statement
from sfumato_papers.verdict import Judged, Verdict, judge

BEYOND = "Beyond the paper"
"""The place of what is in no paper."""


@dataclass(frozen=True, eq=False)
class Part:
    """What one table, figure or section of a paper says, next to what came out here.

    `place` is where a reader of the paper looks for it (`Table 1`). `scaled_down` says in what the protocol is smaller
    than the paper's (network, epochs, seeds, items), and is empty where it is the paper's own, or the figures are
    counted from the released data.
    """

    place: str
    title: str
    findings: tuple[Finding | Statement, ...]
    about: str = ""
    """How it was done here, in Markdown: what a reader must know to believe it."""
    scaled_down: str = ""
    charts: tuple[Chart, ...] = ()
    after: str = ""
    """What came out, in Markdown; for what no verdict says."""

    def __post_init__(self) -> None:
        cells = Counter((each.row, getattr(each, "column", "")) for each in self.findings)
        twice = [cell for cell, n in cells.items() if n > 1]
        assert not twice, f"{self.place}: {twice[0]} stands twice"

    @cached_property
    def judged(self) -> tuple[Judged, ...]:
        """The verdict on every finding, in their order."""
        return tuple(judge(each, scaled_down=bool(self.scaled_down)) for each in self.findings)

    def tally(self) -> Counter[Verdict]:
        return Counter(each.verdict for each in self.judged)


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
