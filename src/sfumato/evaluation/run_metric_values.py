"""The values of every metric for every run and condition, from which scores and comparisons are made."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.metric import Metric
from sfumato.evaluation.run_predictions import joined
from sfumato.evaluation.variance_components import Contributions
from sfumato.tables.bootstrap import Interval


@dataclass(frozen=True, eq=False)
class SeedValues:
    """One metric under one shift and in one stratum, for every seed of one target and network."""

    target: str
    network: str
    metric: Metric
    shift: str
    """The condition of the runs, empty if they have none."""
    stratum: str
    seeds: tuple[int, ...]
    values: Float[np.ndarray, "seeds"]
    contributions: Contributions | None
    """How much the values depend on single items and people; None if that is not known."""
    intervals: tuple[Interval, ...]
    """The metric's own interval of each seed."""
    n_items: int
    floor: float
    floor_note: str = ""
    missing: str = ""
    """Why there are no values, if there are none."""
    untested: str = ""
    """Why the values are not compared, if they are not."""
    label_set: str = ""
    """The label set that the target is trained on, if known."""

    @property
    def condition(self) -> str:
        """Shift and stratum, as in a table of scores."""
        return joined(self.shift, self.stratum)


@dataclass(frozen=True, eq=False)
class RunMeasurements:
    """All values, in the order of shifts, strata, networks, targets and metrics."""

    figures: tuple[SeedValues, ...]
    level: float
    n_people: int = 0
    """The people whose answers the labels are the mean of; 0 if they are not known."""

    def of(self, target: str, network: str, metric: str, condition: str) -> SeedValues | None:
        """The values of one cell, if it was measured."""
        return self._by_cell.get((target, network, metric, condition))

    @cached_property
    def _by_cell(self) -> dict[tuple[str, str, str, str], SeedValues]:
        return {(each.target, each.network, each.metric.name, each.condition): each for each in self.figures}

    @property
    def targets(self) -> list[str]:
        return list(dict.fromkeys(figure.target for figure in self.figures))

    @property
    def networks(self) -> list[str]:
        return list(dict.fromkeys(figure.network for figure in self.figures))

    @property
    def shifts(self) -> list[str]:
        return list(dict.fromkeys(figure.shift for figure in self.figures))
