"""Scores of training runs: every metric of every run under every condition, with paired bootstrap draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric import Estimate, Metric, clipped_estimate, missing_inputs, undefined
from sfumato.evaluation.metrics import chosen_metrics
from sfumato.evaluation.run_metric_values import RunMeasurements, SeedValues
from sfumato.evaluation.run_predictions import RunPredictions, check_some, match_runs
from sfumato.evaluation.strata import Stratification, Stratum, strata_of
from sfumato.tables.bootstrap import Bootstrap, check_resampling
from sfumato.tables.scores import ALL
from sfumato.tables.soft_labels import SoftLabels

GROUPS = 50
"""Groups of items left out in turn, for a metric that is not a function of sums."""

Progress = Callable[[int, int], None]


FEW_RUNS, FEW_PREDICTIONS = 4, 200_000


def are_single(runs: Sequence[RunPredictions]) -> bool:
    """Whether there is one prediction per target, network and condition, so that only items can be compared."""
    return len({(run.target, run.network, run.condition) for run in runs}) == len(runs)


def _is_quick(runs: Sequence[RunPredictions]) -> bool:
    """Whether `thorough` takes seconds, for few runs or where items are the only pairs."""
    n_predictions = sum(len(run.predictions) for run in runs)
    return n_predictions <= FEW_PREDICTIONS and (len(runs) <= FEW_RUNS or are_single(runs))


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
    thorough: bool | None = None,
    on_progress: Progress | None = None,
    any_estimand: bool = False,
) -> RunMeasurements:
    """Every metric of every run, under each condition of the runs, over all items and per stratum.

    All runs of a condition are scored on the same items and with the same draws, so values are paired by item and by
    seed. If runs predict different items, only the common ones are scored, with a warning.

    A metric with its own kind of interval has no draws to pair. `thorough` computes some by leaving out groups of
    items in turn, which takes about fifty times as long; by default this is done where it takes seconds: for few runs,
    or one prediction per target. `any_estimand` allows labels that are not people's.
    """
    check_resampling(level, resamples)
    check_some(runs)
    rng = np.random.default_rng(0) if rng is None else rng
    settings = _Settings(metrics, strata, level, resamples, rng, _is_quick(runs) if thorough is None else thorough)
    figures: list[SeedValues] = []
    over: list[str] = []
    n_before = 0
    for shift in dict.fromkeys(run.condition for run in runs):
        own = [run for run in runs if run.condition == shift]
        matched = match_runs(own, people=people, original=original, common=common, any_estimand=any_estimand)

        def progress(done: int, of: int, before: int = n_before, n_own: int = len(own)) -> None:
            if on_progress:
                on_progress(before * of // n_own + done, len(runs) * of // n_own)

        found = settings.measure(shift, own, matched, progress)
        figures += found.figures
        over.append(found.over)
        n_before += len(own)
    return RunMeasurements(tuple(figures), level, over[0])


@dataclass(frozen=True, eq=False)
class _Settings:
    """The metrics, strata and bootstrap settings, the same for every condition."""

    metrics: Sequence[Metric]
    strata: Sequence[Stratification | Stratum]
    level: float
    resamples: int
    rng: np.random.Generator
    thorough: bool

    def measure(
        self, shift: str, runs: Sequence[RunPredictions], matched: Sequence[MatchedLabels], on_progress: Progress
    ) -> RunMeasurements:
        """The values of the runs of one condition."""
        # The same draws under each condition, as far as the items are the same.
        rng = deepcopy(self.rng)
        chosen = chosen_metrics(matched[0], self.metrics)
        strata = [Stratum(ALL, np.arange(len(matched[0]))), *strata_of(matched[0], self.strata)]
        rows_of: dict[tuple[str, str], list[int]] = {}
        for i, run in enumerate(runs):
            rows_of.setdefault((run.network, run.target), []).append(i)
        figures: list[SeedValues] = []
        over = "items"
        n_done = 0
        for stratum in strata:
            n = len(stratum)
            bootstrap = Bootstrap.of(n, level=self.level, draws=self.resamples, rng=rng) if n else None
            over = bootstrap.over if bootstrap and stratum.name == ALL else over
            parts = [stratum.part(each) for each in matched]
            missing = missing_inputs(chosen, parts[0], stratum.name)
            for (network, target), own in rows_of.items():
                for metric in chosen:
                    why = missing[metric.name]
                    found = [
                        _Found(undefined(why, 0), np.empty(0))
                        if bootstrap is None or why
                        else _found(metric, parts[i], bootstrap, self.thorough)
                        for i in own
                    ]
                    figures.append(
                        SeedValues(
                            target,
                            network,
                            metric,
                            shift,
                            stratum.name,
                            seeds=tuple(runs[i].seed for i in own),
                            values=np.array([each.estimate.value for each in found], np.float64),
                            drawn=np.stack([each.drawn for each in found]),
                            intervals=tuple(each.estimate.interval for each in found),
                            is_exact=all(each.is_exact for each in found),
                            n_items=max(each.estimate.n_items for each in found),
                            floor=float(np.mean([each.estimate.floor for each in found])),
                            floor_note=found[0].estimate.floor_note,
                            missing=why,
                        )
                    )
                    n_done += len(own)
                    on_progress(n_done, len(strata) * len(chosen) * len(runs))
        return RunMeasurements(tuple(figures), self.level, over)


@dataclass(frozen=True, eq=False)
class _Found:
    estimate: Estimate
    drawn: Float[np.ndarray, "draws"]
    is_exact: bool = True


def _found(metric: Metric, matched: MatchedLabels, bootstrap: Bootstrap, thorough: bool) -> _Found:
    """The value and its draws: the metric's own, or with `thorough` those of its linear part (NaN: none)."""
    found = clipped_estimate(metric, matched, bootstrap)
    own = found.own_drawn
    if own is not None:
        return _Found(found, own.draws, is_exact=not own.is_linear)
    if not thorough or not np.isfinite(found.value) or bootstrap.n_items < 2:
        return _Found(found, np.full(bootstrap.draws, np.nan), is_exact=False)
    return _Found(found, found.value + _jackknifed(metric, matched, bootstrap, found.value), is_exact=False)


def _value(metric: Metric, matched: MatchedLabels, level: float) -> float:
    alone: Callable[[MatchedLabels], float] | None = getattr(metric, "value", None)
    if alone is not None:
        return alone(matched)
    n = len(matched)
    return metric.estimate(matched, Bootstrap(np.arange(n), n, np.ones((1, n), np.uint16), level)).value


def _jackknifed(
    metric: Metric, matched: MatchedLabels, bootstrap: Bootstrap, value: float
) -> Float[np.ndarray, "draws"]:
    """How much each draw changes the value, to first order: groups of items are left out in turn (Shao and Wu 1989)."""
    n_groups = min(GROUPS, bootstrap.n_blocks)
    group = np.random.default_rng(0).permutation(bootstrap.n_blocks) % n_groups
    size = np.bincount(group, minlength=n_groups)
    parts = (matched.take(np.flatnonzero(group[bootstrap.block] != k)) for k in range(n_groups))
    moved = value - np.array([_value(metric, part, bootstrap.level) for part in parts])
    influence = moved * (bootstrap.n_blocks - size) / size
    influence -= np.average(influence, weights=size)
    times = bootstrap.times_drawn.astype(np.float64) @ np.eye(n_groups)[group]
    return np.asarray(times @ (influence * np.sqrt(size)) / bootstrap.n_blocks)
