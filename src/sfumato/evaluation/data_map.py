"""Data maps: confidence and variability of every training item over epochs (Swayamdipta et al. 2020), and regions of
easy, ambiguous and hard items, by thresholds or by shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float, Int

from sfumato.evaluation.epoch_predictions import TrainingDynamics
from sfumato.tables.base_table import ColumnTable
from sfumato.tables.column_reader import read_columns
from sfumato.tables.errors import BadTable, unknown, warn
from sfumato.tables.files.table_file import Rows, read_rows
from sfumato.tables.setting_checks import at_least, bad_setting, between_0_and_1, share


class MapRegion(StrEnum):
    """The region of an item; `BETWEEN` is none of the other three."""

    EASY = "easy"
    AMBIGUOUS = "ambiguous"
    HARD = "hard"
    BETWEEN = "between"


REGIONS = tuple(MapRegion)
PerItem = Float[np.ndarray, "items"]
RegionIndex = Int[np.ndarray, "items"]
"""The index in `REGIONS` of every item's region."""


@runtime_checkable
class Regions(Protocol):
    """Assigns items to regions."""

    def cut(self, confidence: PerItem, variability: PerItem) -> RegionIndex:
        """The region of every item."""


@dataclass(frozen=True)
class Thresholds:
    """Ambiguous: variability of at least `variability`. Of the rest, easy: confidence of at least `easy`; hard: of at
    most `hard`.

    The regions of soft-digits; its thresholds were not published, these are ours.
    """

    easy: float = 0.75
    hard: float = 0.25
    variability: float = 0.2

    name: ClassVar[str] = "thresholds"

    def __post_init__(self) -> None:
        share("easy", self.easy)
        share("hard", self.hard)
        # The standard deviation of values between 0 and 1 is at most 0.5.
        between_0_and_1("variability", self.variability)
        if self.hard >= self.easy:
            raise bad_setting("hard", self.hard, f"a confidence below easy = {self.easy}")

    def cut(self, confidence: PerItem, variability: PerItem) -> RegionIndex:
        return _first_of(variability >= self.variability, confidence <= self.hard, confidence >= self.easy)


@dataclass(frozen=True)
class Shares:
    """Ambiguous: the `share` of items with the highest variability. Of the rest, hard: items among the `share` with the
    lowest confidence; easy: with the highest. Ties are on the same side (Swayamdipta et al. 2020: a third).

    These regions are relative: they do not show how many items are easy.
    """

    share: float = 1 / 3

    name: ClassVar[str] = "shares"

    def __post_init__(self) -> None:
        between_0_and_1("share", self.share)

    def cut(self, confidence: PerItem, variability: PerItem) -> RegionIndex:
        low, high = np.quantile(confidence, [self.share, 1 - self.share])
        most = np.quantile(variability, 1 - self.share)
        # If most items are equal, a boundary is a tie: the smallest and the largest values count as neither.
        varies = (variability >= most) & (variability > variability.min())
        return _first_of(varies, (confidence <= low) & (confidence < high), (confidence >= high) & (confidence > low))


def _first_of(ambiguous: np.ndarray, hard: np.ndarray, easy: np.ndarray) -> Int[np.ndarray, "items"]:
    place = [REGIONS.index(region) for region in (MapRegion.AMBIGUOUS, MapRegion.HARD, MapRegion.EASY)]
    return np.select([ambiguous, hard, easy], place, REGIONS.index(MapRegion.BETWEEN)).astype(np.int64)


NUMBERS = ("confidence", "variability", "correctness", "n_moments", "between_runs")


@dataclass(frozen=True, eq=False, repr=False)
class DataMap(ColumnTable):
    """One row per item, over its `n_moments` (epochs x runs).

    `confidence` is the mean probability of the gold class, `variability` its standard deviation, `correctness` how
    often the gold class was most probable. `between_runs` is the standard deviation of the means of runs: close to
    `variability` if predictions differ between runs but not within them.
    """

    items: pa.StringArray
    confidence: Float[np.ndarray, "items"]
    variability: Float[np.ndarray, "items"]
    correctness: Int[np.ndarray, "items"]
    n_moments: Int[np.ndarray, "items"]
    between_runs: Float[np.ndarray, "items"]
    region: Int[np.ndarray, "items"]
    """The index in `REGIONS`."""

    renamed: ClassVar[Mapping[str, str]] = {"items": "item"}

    @classmethod
    def read(cls, path: str | Path) -> DataMap:
        return cls.from_rows(read_rows(path))

    @classmethod
    def from_rows(cls, rows: Rows) -> DataMap:
        columns = read_columns(rows, ("item", "region"), NUMBERS)
        figures: dict[str, Any] = columns.numbers
        for name in ("correctness", "n_moments"):
            figures[name] = figures[name].astype(np.int64)
        regions = columns.texts["region"]
        for name in regions.names.to_pylist():
            if name not in REGIONS:
                raise unknown("region", name, [str(each) for each in REGIONS], where=rows.where(None, "region"))
        place = np.array([REGIONS.index(MapRegion(name)) for name in regions.names.to_pylist()], np.int64)
        return cls(columns.texts["item"].text(), **figures, region=place[regions.codes])

    def chunk(self, start: int, stop: int, *, wide: bool) -> pa.Table:
        table = super().chunk(start, stop, wide=wide)
        region = pa.array([str(REGIONS[k]) for k in self.region[start:stop]], pa.string())
        return table.set_column(table.num_columns - 1, "region", region)

    def count(self, region: MapRegion) -> int:
        """The number of items in `region`."""
        return int((self.region == REGIONS.index(region)).sum())


def data_map(
    dynamics: Sequence[TrainingDynamics], *, last: int | None = None, regions: Regions | None = None
) -> DataMap:
    """The map of items over all epochs, or the `last` ones, of every run; soft-digits uses the last 5 of 6 seeds.

    Every epoch of every run has the same weight. Runs may be trained on different items, as folds are: each item uses
    the runs trained on it.
    """
    if not dynamics:
        raise BadTable("no runs", "at least one", "give a run", "no-runs")
    runs = list(dynamics) if last is None else _last(dynamics, last)
    names: pa.StringArray = pa.concat_arrays([run.item.names for run in runs]).unique()
    row_of = [pc.index_in(run.item.names, value_set=names).to_numpy().astype(np.int64) for run in runs]
    _check_related(runs)
    n, means, squares, correct = (np.zeros((len(runs), len(names))) for _ in range(4))
    for r, run in enumerate(runs):
        row = row_of[r][run.item.codes]
        n[r] = np.bincount(row, minlength=len(names))
        if n[r].max() > len(run.epochs):
            fix = "check how the file was made"
            raise BadTable("an item twice in an epoch", "an item and epoch once", fix, "doubled-item", run.path)
        sums = np.bincount(row, weights=run.value, minlength=len(names))
        means[r] = np.divide(sums, n[r], out=np.zeros(len(names)), where=n[r] > 0)
        squares[r] = np.bincount(row, weights=(run.value - means[r][row]) ** 2, minlength=len(names))
        correct[r] = np.bincount(row, weights=run.correct, minlength=len(names))
    n_moments = n.sum(axis=0)
    if (n_moments < 2).any():
        item = names[int(np.argmax(n_moments < 2))].as_py()
        found = f"one moment of item {item!r} ({int((n_moments < 2).sum()):,} items have no more)"
        expected = "at least two epochs or two runs, to measure variability"
        raise BadTable(found, expected, "train longer, or with more seeds", "one-epoch", runs[0].path)
    confidence = (n * means).sum(axis=0) / n_moments
    between = (n * (means - confidence) ** 2).sum(axis=0) / n_moments
    variability = np.sqrt(squares.sum(axis=0) / n_moments + between)
    return DataMap(
        names, confidence, variability, correct.sum(axis=0).astype(np.int64), n_moments.astype(np.int64),
        np.sqrt(between), (regions or Thresholds()).cut(confidence, variability),
    )  # fmt: skip


def _last(runs: Sequence[TrainingDynamics], n_epochs: int) -> list[TrainingDynamics]:
    at_least("last", n_epochs, 1)
    short = [run for run in runs if len(run.epochs) < n_epochs]
    if short:
        n_found = len(short[0].epochs)
        others = f"; {len(short)} runs have too few" if len(short) > 1 else ""
        epochs = f"{n_found} epoch{'s' * (n_found != 1)}"
        warn(f"{short[0].path}: found {epochs} instead of the last {n_epochs}; all are used{others}")
    return [run.last(n_epochs) for run in runs]


def _check_related(runs: Sequence[TrainingDynamics]) -> None:
    """Raise if a run shares no item with any other run; for two runs only warn, they may be folds."""
    for run in runs if len(runs) > 1 else ():
        others = pa.concat_arrays([other.item.names for other in runs if other is not run])
        if not pc.any(pc.is_in(run.item.names, value_set=others)).as_py():
            if len(runs) == 2:
                warn("found two runs with no item in common: treated as two folds of one set")
                return
            first = run.item.names[0].as_py()
            found, expected = f"items that no other run was trained on, the first {first!r}", "runs over the same items"
            raise BadTable(found, expected, "map runs over other items separately", "other-items", run.path)
