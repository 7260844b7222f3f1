"""Scores of predictions against people's labels, one row per metric and condition."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float, Int

from sfumato.tables.base_table import ColumnTable, RecordTable
from sfumato.tables.columns import numbers
from sfumato.tables.errors import BadTable
from sfumato.tables.files.table_file import Rows, check_columns, read_rows
from sfumato.tables.printed_text import difference_lines, run_score_lines, score_lines

ALL = "all"
"""The condition of a score over all items."""


@dataclass(frozen=True)
class Score:
    """One metric under one condition.

    `floor` is a score to compare the value with, NaN if there is none; `floor_note` says what it is (a bound, the
    sampling error of votes, what chance adds), or why there is none. `covers` says what the interval from `low` to
    `high` covers, or why there is none.
    """

    metric: str
    condition: str
    value: float
    low: float
    high: float
    n_items: int
    floor: float
    covers: str
    floor_note: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Scores(ColumnTable):
    """One row per metric and condition; NaN if it could not be computed."""

    metric: tuple[str, ...]
    condition: tuple[str, ...]
    value: Float[np.ndarray, "scores"]
    low: Float[np.ndarray, "scores"]
    high: Float[np.ndarray, "scores"]
    n_items: Int[np.ndarray, "scores"]
    floor: Float[np.ndarray, "scores"]
    covers: tuple[str, ...]
    floor_note: tuple[str, ...]

    @classmethod
    def read(cls, path: str | Path) -> Scores:
        """Scores from a Parquet or CSV file; `floor`, `covers` and `floor_note` may be missing."""
        return cls.from_rows(read_rows(path))

    @classmethod
    def from_rows(cls, rows: Rows) -> Scores:
        check_columns(rows, ("metric", "condition", "value", "low", "high", "n_items"))
        read: list[Score] = []
        for chunk in rows.chunks:
            start = len(read)
            texts = [
                [str(value or "") for value in chunk.column(name).to_pylist()] if name in chunk.column_names else None
                for name in ("metric", "condition", "covers", "floor_note")
            ]
            values = [
                _numbers(rows, name, chunk.column(name), start)
                if name in chunk.column_names
                else np.full(len(chunk), np.nan)
                for name in ("value", "low", "high", "n_items", "floor")
            ]
            for i in range(len(chunk)):
                metric, condition, covers, note = (column[i] if column else "" for column in texts)
                value, low, high, n_items, floor = (float(column[i]) for column in values)
                read.append(Score(metric, condition, value, low, high, int(n_items), floor, covers, note))
        return cls.of(read)

    def lines(self) -> list[str]:
        return score_lines(self.rows())

    def rows(self) -> list[Score]:
        """The rows as `Score` objects."""
        return [
            Score(*each)
            for each in zip(
                self.metric, self.condition, self.value.tolist(), self.low.tolist(), self.high.tolist(),
                self.n_items.tolist(), self.floor.tolist(), self.covers, self.floor_note, strict=True,
            )
        ]  # fmt: skip

    def value_of(self, metric: str, condition: str = ALL) -> float:
        """The value of one metric under one condition; an error if it is missing."""
        for score in self.rows():
            if (score.metric, score.condition) == (metric, condition):
                return score.value
        fix = f"choose from {', '.join(dict.fromkeys(self.metric))} and {', '.join(dict.fromkeys(self.condition))}"
        raise BadTable(f"no {metric} under {condition!r}", "a metric and condition of this table", fix, "missing-score")


@dataclass(frozen=True)
class RunScore:
    """One metric under one condition for one target: the mean over `n_seeds` runs.

    `covers` says what the interval from `low` to `high` covers (another training, other items, other people), or why
    there is none. `se_seeds`, `se_items` and `se_people` are the standard errors over each alone, NaN if not known.
    """

    target: str
    network: str
    n_seeds: int
    metric: str
    condition: str
    value: float
    low: float
    high: float
    n_items: int
    floor: float
    covers: str
    se_seeds: float = float("nan")
    se_items: float = float("nan")
    se_people: float = float("nan")
    floor_note: str = ""
    label_set: str = ""
    """The label set that the target is trained on, if known."""


@dataclass(frozen=True, eq=False, repr=False)
class RunScores(RecordTable):
    """One row per target, network, metric and condition; no column `label_set` if none is known."""

    scores: tuple[RunScore, ...]

    record = RunScore

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:
        columns = super().chunk(start, stop, wide=wide)
        return columns if any(score.label_set for score in self.scores) else columns.drop_columns(["label_set"])

    def lines(self) -> list[str]:
        return run_score_lines(self.scores)


def _numbers(rows: Rows, name: str, column: pa.ChunkedArray, start: int) -> Float[np.ndarray, "rows"]:
    """A column of numbers, some missing; `value` may also be infinite."""
    if name != "value":
        return numbers(rows, name, column, start, optional=name != "n_items")
    spelled = column.cast(pa.string())
    infinite = [{"inf": np.inf, "-inf": -np.inf}.get(text) for text in spelled.to_pylist()]
    where = pa.array([each is not None for each in infinite])
    finite = numbers(rows, name, pc.if_else(where, pa.scalar(None, pa.string()), spelled), start, optional=True)
    return np.array([read if each is None else each for each, read in zip(infinite, finite.tolist(), strict=True)])


@dataclass(frozen=True)
class Difference:
    """One metric under one condition: `target` minus `baseline`, the mean over seeds.

    The interval from `low` to `high`, `p` and `verdict` are of one test, over seeds, items and people, as far as they
    are known; `covers` says which, or why there is no test. `p_corrected` and the interval are corrected for multiple
    comparisons, so that the interval excludes 0 exactly if `verdict` is better, worse or differs. It is empty if there
    is no evidence of a difference; `detectable` is the smallest difference that the test would have found with a
    probability of 0.8. `se_seeds`, `se_items` and `se_people` are the standard errors over each alone.
    """

    target: str
    baseline: str
    network: str
    n_seeds: int
    metric: str
    condition: str
    value: float
    baseline_value: float
    difference: float
    low: float
    high: float
    n_items: int
    covers: str
    p: float
    p_corrected: float
    correction: str
    verdict: str
    detectable: float = float("nan")
    se_seeds: float = float("nan")
    se_items: float = float("nan")
    se_people: float = float("nan")

    @property
    def is_tested(self) -> bool:
        """Whether there is an interval and a p value."""
        return self.p == self.p


@dataclass(frozen=True, eq=False, repr=False)
class Differences(RecordTable):
    """One row per target, network, metric and condition."""

    differences: tuple[Difference, ...]

    record = Difference

    def lines(self) -> list[str]:
        return difference_lines(self.differences)
