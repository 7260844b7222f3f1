"""Measuring: every metric of every training under every condition, with the draws that pair them up."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Float

from sfumato.errors import BadTable, SfumatoWarning, Where
from sfumato.evaluate.compared import Compared, compare
from sfumato.evaluate.metric import Estimate, Metric
from sfumato.evaluate.run_folders import Trained
from sfumato.evaluate.scoring import FEW_ITEMS, offered
from sfumato.evaluate.strata import Stratification, Stratum, strata_of
from sfumato.resampling import Interval, Resampling, check_resampling
from sfumato.scores import ALL
from sfumato.soft_labels import SoftLabels

GROUPS = 50
"""Groups of items that are left out in turn, for a metric that is no function of sums."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Figures:
    """One metric under one condition, of every seed of one target and network."""

    target: str
    network: str
    metric: Metric
    condition: str
    seeds: tuple[int, ...]
    values: Float[np.ndarray, "seeds"]
    drawn: Float[np.ndarray, "seeds draws"]
    """The figure of every draw of items; the draws are the same for all seeds, targets and networks."""
    intervals: tuple[Interval, ...]
    """What the metric itself says of each seed."""
    is_exact: bool
    """Whether the draws are the figure's own, and not those of its linear part."""
    n_items: int
    floor: float
    missing: str = ""
    """Why there are no values, where there are none."""


@dataclass(frozen=True, eq=False)
class Measured:
    """All figures, in the order of targets, networks, conditions and metrics as they were given."""

    figures: tuple[Figures, ...]
    level: float
    over: str
    """What was drawn, in words."""

    def of(self, target: str, network: str, metric: str, condition: str) -> Figures | None:
        """The figures of one cell, if it was measured."""
        sought = (target, network, metric, condition)
        return next((f for f in self.figures if (f.target, f.network, f.metric.name, f.condition) == sought), None)

    @property
    def targets(self) -> list[str]:
        return list(dict.fromkeys(figure.target for figure in self.figures))

    @property
    def networks(self) -> list[str]:
        return list(dict.fromkeys(figure.network for figure in self.figures))


def measure_runs(
    runs: Sequence[Trained],
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
) -> Measured:
    """Every metric of every run, over all items and in every stratum.

    All runs are scored on the same items, in the same order, and meet the same draws of them: figures pair up by item
    and by seed. Where runs predict different items, those that all predict are taken, with a warning.

    A metric that makes its interval in a way of its own has no draws to be paired. `thorough` finds some by leaving
    out groups of items in turn, which takes some fifty times as long.
    """
    check_resampling(level, resamples)
    rng = np.random.default_rng(0) if rng is None else rng
    beside = compared_runs(runs, people=people, original=original, common=common)
    asked = offered(beside[0], metrics)
    conditions = [Stratum(ALL, np.arange(len(beside[0]))), *strata_of(beside[0], strata)]
    keys = list(dict.fromkeys((run.network, run.target) for run in runs))
    figures: list[Figures] = []
    over = "items"
    n_done = 0
    for stratum in conditions:
        if 0 < len(stratum) < FEW_ITEMS:
            _warn(f"{stratum.name}: found {len(stratum)} items, which is too few for an interval to be trusted")
        noting = _Noting.drawing(len(stratum), level=level, draws=resamples, rng=rng) if len(stratum) else None
        over = noting.over if noting and stratum.name == ALL else over
        parts = [each.take(stratum.rows) for each in beside]
        missing = {each.name: "no items" if noting is None else each.missing(parts[0]) for each in asked}
        for name, why in missing.items():
            if why and noting is not None:
                _warn(f"{stratum.name}: {name} cannot be computed: {why}")
        for network, target in keys:
            own = [i for i, run in enumerate(runs) if (run.network, run.target) == (network, target)]
            for metric in asked:
                seeds = tuple(runs[i].seed for i in own)
                if noting is None or missing[metric.name]:
                    found = [_Found(Estimate(np.nan, Interval(np.nan, np.nan, ""), 0), np.empty(0)) for _ in own]
                else:
                    found = [_found(metric, parts[i], noting, thorough) for i in own]
                figures.append(_figures(target, network, metric, stratum.name, seeds, found, missing[metric.name]))
                n_done += len(own)
                if on_progress:
                    on_progress(n_done, len(conditions) * len(asked) * len(runs))
    return Measured(tuple(figures), level, over)


def compared_runs(
    runs: Sequence[Trained], *, people: SoftLabels, original: SoftLabels | None = None, common: bool = False
) -> list[Compared]:
    """Every run beside people's labels: the same items in the same order, the same classes in the same order."""
    if not runs:
        raise BadTable(
            "found no runs", expected="at least one", fix="train some with sfumato learn first", code="no-runs"
        )
    kept = runs[0].predictions.items
    n_most = max(len(run.predictions) for run in runs)
    for run in runs[1:]:
        kept = kept.filter(pc.is_in(kept, value_set=run.predictions.items))
    if not len(kept):
        other = next(run for run in runs if not pc.any(pc.is_in(run.predictions.items, runs[0].predictions.items)))
        raise BadTable(
            f"found no item that all runs predict: {runs[0].name} and {other.name} share none",
            expected="runs that predict the same items",
            fix="score runs of different splits apart",
            code="no-common-items",
            where=_where(other),
        )
    if len(kept) < n_most:
        _warn(f"the runs predict different items: only the {len(kept):,} that all of them predict are scored")
    first = compare(predicted=_only(runs[0], kept), people=people, original=original, common=common)
    beside = [first]
    for run in runs[1:]:
        own = compare(predicted=run.predictions, people=people, common=True)
        rows = pc.index_in(first.items, value_set=own.items).to_numpy().astype(np.int64)
        columns = [own.classes.index(name) for name in first.classes]
        beside.append(replace(first, predicted=np.ascontiguousarray(own.predicted[rows][:, columns])))
    return beside


def _only(run: Trained, items: pa.StringArray) -> SoftLabels:
    table = run.predictions
    if len(items) == len(table):
        return table
    return replace(table, items=items, probs=table.probs[table.rows_of(items)], n_annotators=None)


# --- the draws of a metric ---


@dataclass(frozen=True, eq=False)
class _Noting(Resampling):
    """A resampling that remembers the figures it drew, and what the figure over all items was."""

    noted: list[tuple[float, np.ndarray]] = field(default_factory=list)

    @classmethod
    def drawing(cls, n_items: int, *, level: float, draws: int, rng: np.random.Generator) -> _Noting:
        made = Resampling.of(n_items, level=level, draws=draws, rng=rng)
        return cls(made.block, made.n_blocks, made.times_drawn, made.level)

    def drawn(
        self,
        sums: Float[np.ndarray, "blocks sums"],
        value: Callable[[Float[np.ndarray, "draws sums"]], Float[np.ndarray, "draws"]],
    ) -> Float[np.ndarray, "draws"]:
        values = super().drawn(sums, value)
        self.noted.append((float(value(sums.sum(axis=0, keepdims=True))[0]), values))
        return values


@dataclass(frozen=True, eq=False)
class _Found:
    estimate: Estimate
    drawn: Float[np.ndarray, "draws"]
    is_exact: bool = True


def _found(metric: Metric, compared: Compared, noting: _Noting, thorough: bool) -> _Found:
    """The figure and its draws: those its interval was made of, or else those of its linear part (NaN: none)."""
    noting.noted.clear()
    found = metric.estimate(compared, noting)
    if not np.isfinite(found.value) or noting.n_items < 2:
        return _Found(found, np.full(noting.draws, np.nan))
    for whole, drawn in noting.noted:
        if np.isclose(whole, found.value, rtol=1e-9, atol=1e-12):
            return _Found(found, drawn)
    # Draws of influence values, which are 0 on average.
    for whole, drawn in noting.noted:
        if abs(whole) < 1e-9:
            return _Found(found, found.value + drawn, is_exact=False)
    if not thorough:
        return _Found(found, np.full(noting.draws, np.nan), is_exact=False)
    return _Found(found, found.value + _jackknifed(metric, compared, noting, found.value), is_exact=False)


def _jackknifed(metric: Metric, compared: Compared, noting: _Noting, value: float) -> Float[np.ndarray, "draws"]:
    """How far drawn items move the figure, to first order: groups of them are left out in turn (Shao and Wu 1989).

    What a group adds is its mean influence, as strong as that of a single item of the group would be.
    """
    n_groups = min(GROUPS, noting.n_blocks)
    group = np.random.default_rng(0).permutation(noting.n_blocks) % n_groups
    size = np.bincount(group, minlength=n_groups)
    moved = np.empty(n_groups)
    for k in range(n_groups):
        part = compared.take(np.flatnonzero(group[noting.block] != k))
        once = Resampling(np.arange(len(part)), len(part), np.ones((1, len(part)), np.uint16), noting.level)
        moved[k] = value - metric.estimate(part, once).value
    influence = moved * (noting.n_blocks - size) / size
    influence -= np.average(influence, weights=size)
    times = noting.times_drawn.astype(np.float64) @ np.eye(n_groups)[group]
    return np.asarray(times @ (influence * np.sqrt(size)) / noting.n_blocks)


def _figures(
    target: str,
    network: str,
    metric: Metric,
    condition: str,
    seeds: tuple[int, ...],
    found: Sequence[_Found],
    missing: str,
) -> Figures:
    return Figures(
        target,
        network,
        metric,
        condition,
        seeds,
        values=np.array([each.estimate.value for each in found], np.float64),
        drawn=np.stack([each.drawn for each in found]),
        intervals=tuple(each.estimate.interval for each in found),
        is_exact=all(each.is_exact for each in found),
        n_items=max(each.estimate.n_items for each in found),
        floor=float(np.mean([each.estimate.floor for each in found])),
        missing=missing,
    )


def _where(run: Trained) -> Where:
    return Where(str(run.predictions.path) if run.predictions.path else None)


def _warn(sentence: str) -> None:
    warnings.warn(sentence, SfumatoWarning, stacklevel=4)
