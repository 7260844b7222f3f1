"""Outcomes: every published figure next to ours, one a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.tables.base_table import Table, columns_of, rows_of
from sfumato.tables.files import read_rows
from sfumato_papers.finding import Statement
from sfumato_papers.paper import Part
from sfumato_papers.verdict import Verdict


@dataclass(frozen=True)
class Outcome:
    """One cell of a published table, or one sentence: as printed, as it came out here, and the verdict with its
    reason. `scaled_down` says in what our protocol is smaller."""

    paper: str
    place: str
    row: str
    column: str
    published: str
    ours: str
    value: float
    low: float
    high: float
    covers: str
    verdict: str
    why: str
    scaled_down: str
    how: str


@dataclass(frozen=True, eq=False, repr=False)
class Outcomes(Table):
    outcomes: tuple[Outcome, ...]

    classes = ()

    @classmethod
    def of(cls, paper: str, parts: Iterable[Part]) -> Outcomes:
        return cls(tuple(outcome for part in parts for outcome in _outcomes(paper, part)))

    @classmethod
    def read(cls, path: str | Path) -> Outcomes:
        return cls(rows_of(read_rows(path), Outcome))

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:  # noqa: ARG002
        return columns_of(self.outcomes[start:stop], Outcome)

    def __len__(self) -> int:
        return len(self.outcomes)

    def tally(self) -> Counter[Verdict]:
        return Counter(Verdict(each.verdict) for each in self.outcomes)


def _outcomes(paper: str, part: Part) -> Iterable[Outcome]:
    for finding, judged in zip(part.findings, part.judged, strict=True):
        if isinstance(finding, Statement):
            column, published, ours, value, low, high, covers = "", finding.says, finding.ours, *[np.nan] * 3, ""
        else:
            column, published = finding.column, str(finding.published or "")
            figure = finding.ours
            ours = "" if figure is None else f"{figure.value:.{finding.places}f}"
            value, low, high = (np.nan,) * 3 if figure is None else (figure.value, figure.low, figure.high)
            covers = "" if figure is None else figure.covers
        yield Outcome(
            paper, part.place, finding.row, column, published, ours, value, low, high, covers,
            judged.verdict.value, judged.why, part.scaled_down, finding.how,
        )  # fmt: skip
