"""Measuring: every metric of every training under every condition, with the draws that pair them up."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.matched_labels import MatchedLabels, check_some, compared_runs
from sfumato.evaluation.metric import Estimate, Metric, estimated, undefined
from sfumato.evaluation.metric_scores import FEW_ITEMS, few_items, offered
from sfumato.evaluation.run_predictions import RunPredictions, joined
from sfumato.evaluation.strata import Stratification, Stratum, strata_of
from sfumato.tables.bootstrap import Bootstrap, Interval, check_resampling
from sfumato.tables.errors import SfumatoWarning
from sfumato.tables.scores import ALL
from sfumato.tables.soft_labels import SoftLabels

GROUPS = 50
"""Groups of items that are left out in turn, for a metric that is no function of sums."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class SeedValues:
    """One metric under one shift and in one stratum, of every seed of one target and network."""

    target: str
    network: str
    metric: Metric
    shift: str
    """The condition of the runs, empty where they have none."""
    stratum: str
    seeds: tuple[int, ...]
    values: Float[np.ndarray, "seeds"]
    drawn: Float[np.ndarray, "seeds draws"]
    """The figure of every draw of items, NaN where the metric has no draws; the same draws for all seeds, targets and
    networks."""
    intervals: tuple[Interval, ...]
    """What the metric itself says of each seed."""
    is_exact: bool
    """Whether the draws are the figure's own, and not those of its linear part."""
    n_items: int
    floor: float
    missing: str = ""
    """Why there are no values, where there are none."""

    @property
    def condition(self) -> str:
        """Shift and stratum, as they stand in a table of scores."""
        return joined(self.shift, self.stratum)


@dataclass(frozen=True, eq=False)
class RunMeasurements:
    """All figures, in the order of shifts, strata, networks, targets and metrics as they were given."""

    figures: tuple[SeedValues, ...]
    level: float
    over: str
    """What was drawn, in words."""

    def of(self, target: str, network: str, metric: str, condition: str) -> SeedValues | None:
        """The figures of one cell, if it was measured."""
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


def measure_runs(
    runs: Sequence[RunPredictions],
    *,
    people: SoftLabels,
    original: SoftLabels | None = None,
    metrics: Sequence[Metric] = (),
    strata: Sequence[Stratification | Stratum] = (),
    common: bool = False,
    level: float = 0.95,
    resamples: int = 1000,
    rng: np.random.Generator | None = None,
    thorough: bool = False,
    on_progress: Progress | None = None,
) -> RunMeasurements:
    """Every metric of every run, under each condition that runs have, over all items and in every stratum.

    All runs of a condition are scored on the same items, in the same order, and meet the same draws of them: figures
    pair up by item and by seed. Where they predict different items, those that all predict are taken, with a warning.

    A metric that makes its interval in a way of its own has no draws to be paired. `thorough` finds some by leaving
    out groups of items in turn, which takes some fifty times as long.
    """
    check_resampling(level, resamples)
    check_some(runs)
    rng = np.random.default_rng(0) if rng is None else rng
    measuring = _Measuring(metrics, strata, level, resamples, rng, thorough)
    figures: list[SeedValues] = []
    over: list[str] = []
    n_before = 0
    for shift in dict.fromkeys(run.condition for run in runs):
        own = [run for run in runs if run.condition == shift]
        beside = compared_runs(own, people=people, original=original, common=common)

        def progress(done: int, of: int, before: int = n_before, n_own: int = len(own)) -> None:
            if on_progress:
                on_progress(before * of // n_own + done, len(runs) * of // n_own)

        found = measuring.under(shift, own, beside, progress)
        figures += found.figures
        over.append(found.over)
        n_before += len(own)
    return RunMeasurements(tuple(figures), level, over[0])


@dataclass(frozen=True, eq=False)
class _Measuring:
    """What is asked of every condition."""

    metrics: Sequence[Metric]
    strata: Sequence[Stratification | Stratum]
    level: float
    resamples: int
    rng: np.random.Generator
    thorough: bool

    def under(
        self, shift: str, runs: Sequence[RunPredictions], beside: Sequence[MatchedLabels], on_progress: Progress
    ) -> RunMeasurements:
        """The figures of runs of one condition."""
        # The same draws under each condition, as far as the items are the same.
        rng = deepcopy(self.rng)
        asked = offered(beside[0], self.metrics)
        strata = [Stratum(ALL, np.arange(len(beside[0]))), *strata_of(beside[0], self.strata)]
        together: dict[tuple[str, str], list[int]] = {}
        for i, run in enumerate(runs):
            together.setdefault((run.network, run.target), []).append(i)
        figures: list[SeedValues] = []
        over = "items"
        n_done = 0
        for stratum in strata:
            n = len(stratum)
            resampling = Bootstrap.of(n, level=self.level, draws=self.resamples, rng=rng) if n else None
            over = resampling.over if resampling and stratum.name == ALL else over
            parts = [each.take(stratum.rows) for each in beside]
            missing = {each.name: each.missing(parts[0]) if n else "no items" for each in asked}
            _warn_of(stratum, missing)
            for (network, target), own in together.items():
                for metric in asked:
                    why = missing[metric.name]
                    found = [
                        _Found(undefined(why, 0), np.empty(0))
                        if resampling is None or why
                        else _found(metric, parts[i], resampling, self.thorough)
                        for i in own
                    ]
                    seeds = tuple(runs[i].seed for i in own)
                    figures.append(_figures(target, network, metric, shift, stratum.name, seeds, found, why))
                    n_done += len(own)
                    on_progress(n_done, len(strata) * len(asked) * len(runs))
        return RunMeasurements(tuple(figures), self.level, over)


def _warn_of(stratum: Stratum, missing: Mapping[str, str]) -> None:
    """What is wrong with a stratum; that it is empty was said before."""
    if 0 < len(stratum) < FEW_ITEMS:
        _warn(few_items(stratum.name, len(stratum)))
    for name, why in missing.items():
        if why and len(stratum):
            _warn(f"{stratum.name}: {name} cannot be computed: {why}")


# --- the draws of a metric ---


@dataclass(frozen=True, eq=False)
class _Found:
    estimate: Estimate
    drawn: Float[np.ndarray, "draws"]
    is_exact: bool = True


def _found(metric: Metric, compared: MatchedLabels, resampling: Bootstrap, thorough: bool) -> _Found:
    """The figure and its draws: the metric's own, or with `thorough` those of its linear part (NaN: none)."""
    found = estimated(metric, compared, resampling)
    own = found.own_drawn
    if own is not None:
        return _Found(found, own.draws, is_exact=not own.is_linear)
    if not thorough or not np.isfinite(found.value) or resampling.n_items < 2:
        return _Found(found, np.full(resampling.draws, np.nan), is_exact=False)
    return _Found(found, found.value + _jackknifed(metric, compared, resampling, found.value), is_exact=False)


def _jackknifed(
    metric: Metric, compared: MatchedLabels, resampling: Bootstrap, value: float
) -> Float[np.ndarray, "draws"]:
    """How far drawn items move the figure, to first order: groups of them are left out in turn (Shao and Wu 1989).

    What a group adds is its mean influence, as strong as that of a single item of the group would be.
    """
    n_groups = min(GROUPS, resampling.n_blocks)
    group = np.random.default_rng(0).permutation(resampling.n_blocks) % n_groups
    size = np.bincount(group, minlength=n_groups)
    moved = np.empty(n_groups)
    for k in range(n_groups):
        part = compared.take(np.flatnonzero(group[resampling.block] != k))
        once = Bootstrap(np.arange(len(part)), len(part), np.ones((1, len(part)), np.uint16), resampling.level)
        moved[k] = value - metric.estimate(part, once).value
    influence = moved * (resampling.n_blocks - size) / size
    influence -= np.average(influence, weights=size)
    times = resampling.times_drawn.astype(np.float64) @ np.eye(n_groups)[group]
    return np.asarray(times @ (influence * np.sqrt(size)) / resampling.n_blocks)


def _figures(
    target: str,
    network: str,
    metric: Metric,
    shift: str,
    stratum: str,
    seeds: tuple[int, ...],
    found: Sequence[_Found],
    missing: str,
) -> SeedValues:
    return SeedValues(
        target,
        network,
        metric,
        shift,
        stratum,
        seeds,
        values=np.array([each.estimate.value for each in found], np.float64),
        drawn=np.stack([each.drawn for each in found]),
        intervals=tuple(each.estimate.interval for each in found),
        is_exact=all(each.is_exact for each in found),
        n_items=max(each.estimate.n_items for each in found),
        floor=float(np.mean([each.estimate.floor for each in found])),
        missing=missing,
    )


def _warn(sentence: str) -> None:
    warnings.warn(sentence, SfumatoWarning, stacklevel=4)
