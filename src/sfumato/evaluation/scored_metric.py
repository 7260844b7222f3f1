"""One metric of one run: its value, and how much it depends on single items and people."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric import Estimate, LinearPart, Metric, clipped_estimate
from sfumato.evaluation.people_jackknife import LeftOutPeople, PeopleContributions, random_groups, value_of
from sfumato.evaluation.variance_components import FEWEST_ITEMS, Contributions, VarianceComponents
from sfumato.tables.bootstrap import Bootstrap, Interval

GROUPS = 50
"""Groups of items left out in turn, for a metric without a linear part."""


@dataclass(frozen=True, eq=False)
class ScoredMetric:
    """The estimate of a metric, and the contributions of items (in at most 2,000 random groups) and people; None with
    the reason in `untested` if they are not known."""

    estimate: Estimate
    items: Float[np.ndarray, "groups"] | None = None
    people: PeopleContributions | None = None
    untested: str = ""

    @property
    def components(self) -> VarianceComponents | None:
        """The variance of the value over items and people."""
        if self.items is None:
            return None
        people, answers, df = (
            (None, None, np.nan)
            if self.people is None
            else (self.people.people[None], _row(self.people.answers), self.people.df)
        )
        value = np.array([self.estimate.value])
        return VarianceComponents.of(Contributions(value, self.items[None], people, answers, df))

    def interval(self, level: float, bounds: tuple[float, float]) -> Interval:
        """The metric's own interval over items; if people are known, it is wider by as much as they add."""
        own, parts = self.estimate.interval, self.components
        if parts is None or np.isnan([parts.people, own.low, parts.error]).any():
            return own
        alone = VarianceComponents(parts.value, parts.items, parts.n_items)
        ratio = parts.half_width(level) / alone.half_width(level)
        low, high = (parts.value - ratio * (parts.value - end) for end in (own.low, own.high))
        return Interval(
            low, high, f"other items and other people: {own.kind}, widened by a jackknife over people"
        ).within(bounds)


@dataclass(frozen=True, eq=False)
class ScoredRun:
    """The predictions of one run with people's labels; several metrics share what is computed without people."""

    matched: MatchedLabels
    bootstrap: Bootstrap | None

    @cached_property
    def _left_out(self) -> LeftOutPeople | None:
        answers = self.matched.answers
        return LeftOutPeople(self.matched) if answers is not None and answers.n_people > 1 else None

    def score(self, metric: Metric) -> ScoredMetric:
        """The metric with its contributions."""
        assert self.bootstrap is not None
        found = clipped_estimate(metric, self.matched, self.bootstrap)
        if not np.isfinite(found.value):
            kind = found.interval.kind.removeprefix("none: ")
            return ScoredMetric(found, untested=kind)
        linear = found.own_linear or _left_out_items(metric, self.matched, self.bootstrap, found.value)
        if linear is None:
            return ScoredMetric(found, untested=found.untested or "undefined without some of the items")
        groups = random_groups(len(linear.blocks))
        n_groups = int(groups.max()) + 1
        items = np.bincount(groups, weights=linear.blocks) * (n_groups / len(linear.blocks))
        people = None if self._left_out is None else self._left_out.changes(metric, linear)
        few = f"{found.n_items} items are too few to compare models, which needs at least {FEWEST_ITEMS}"
        return ScoredMetric(found, items, people, few if found.n_items < FEWEST_ITEMS else found.untested)


def _left_out_items(metric: Metric, matched: MatchedLabels, bootstrap: Bootstrap, value: float) -> LinearPart | None:
    """The contributions of groups of items, which are left out in turn (Shao and Wu 1989)."""
    group = random_groups(bootstrap.n_blocks, GROUPS)
    left_out = []
    for k in range(int(group.max()) + 1):
        part = matched.take(np.flatnonzero(group[bootstrap.block] != k))
        left_out.append(value_of(metric, part))
    if not np.isfinite(left_out).all():
        return None
    changes = (len(left_out) - 1) * (np.mean(left_out) - np.array(left_out))
    return LinearPart(value, changes)


def _row(values: Float[np.ndarray, "n"] | None) -> Float[np.ndarray, "1 n"] | None:
    return None if values is None else values[None]
