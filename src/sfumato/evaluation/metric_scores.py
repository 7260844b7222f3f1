"""Scoring: every metric asked for, over all items and in every stratum."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from sfumato.evaluation.matched_labels import MatchedLabels, match_labels
from sfumato.evaluation.metric import Metric, estimated
from sfumato.evaluation.metrics import METRICS
from sfumato.evaluation.strata import Stratification, Stratum, strata_of
from sfumato.tables.bootstrap import Bootstrap, check_resampling
from sfumato.tables.errors import BadSetting, SfumatoWarning
from sfumato.tables.scores import ALL, Score, Scores
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.strategies import strategy_from_name

FEW_ITEMS = 30
"""Under so many items a bootstrap is not to be believed."""


def score(
    *,
    predicted: SoftLabels,
    people: SoftLabels,
    original: SoftLabels | None = None,
    metrics: Sequence[Metric] = (),
    strata: Sequence[Stratification | Stratum] = (),
    common: bool = False,
    level: float = 0.95,
    resamples: int = 1000,
    rng: np.random.Generator | None = None,
) -> Scores:
    """How near `predicted` comes to `people`: one row a metric and condition, each with its interval.

    Without `metrics`, all that can be had. Without `rng`, the same draws every time. Intervals are about which items
    were looked at; how much another training would differ they do not say (see `measure_runs`).
    """
    compared = match_labels(predicted=predicted, people=people, original=original, common=common)
    return scores_of(
        compared, metrics=metrics, strata=strata, level=level, resamples=resamples,
        rng=np.random.default_rng(0) if rng is None else rng,
    )  # fmt: skip


def scores_of(
    compared: MatchedLabels,
    *,
    metrics: Sequence[Metric] = (),
    strata: Sequence[Stratification | Stratum] = (),
    level: float = 0.95,
    resamples: int = 1000,
    rng: np.random.Generator,
) -> Scores:
    """The scores of predictions that are already beside people's labels."""
    check_resampling(level, resamples)
    asked = offered(compared, metrics)
    scores = _under(ALL, compared, asked, level=level, resamples=resamples, rng=rng)
    for stratum in strata_of(compared, strata):
        part = compared.take(stratum.rows)
        scores += _under(stratum.name, part, asked, level=level, resamples=resamples, rng=rng)
    return Scores.of(scores)


def offered(compared: MatchedLabels, metrics: Sequence[Metric]) -> list[Metric]:
    """The metrics asked for; where none is, all that can be had."""
    names = [each.name for each in metrics]
    doubled = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if doubled:
        raise BadSetting(
            f"found {doubled[0]} twice",
            expected="each metric once: a row in Scores is known by its metric's name",
            fix="score the other settings in another call",
            code="bad-setting",
        )
    return list(metrics) or [each for each in (member() for member in METRICS) if not each.missing(compared)]


def few_items(condition: str, n_items: int) -> str:
    """What is said of intervals over few items."""
    return f"{condition}: found {n_items} items, which is too few for an interval to be trusted"


def _under(
    condition: str,
    compared: MatchedLabels,
    metrics: Sequence[Metric],
    *,
    level: float,
    resamples: int,
    rng: np.random.Generator,
) -> list[Score]:
    """One condition: the same draws of its items for every metric."""
    if 0 < len(compared) < FEW_ITEMS:
        _warn(few_items(condition, len(compared)))
    resampling = Bootstrap.of(len(compared), level=level, draws=resamples, rng=rng) if len(compared) else None
    scores = []
    for metric in metrics:
        missing = "no items" if resampling is None else metric.missing(compared)
        if missing or resampling is None:
            if resampling is not None:
                _warn(f"{condition}: {metric.name} cannot be computed: {missing}")
            scores.append(Score(metric.name, condition, np.nan, np.nan, np.nan, 0, np.nan, f"none: {missing}"))
            continue
        found = estimated(metric, compared, resampling)
        between = found.interval
        scores.append(
            Score(
                metric.name, condition, found.value, between.low, between.high, found.n_items, found.floor, between.kind
            )
        )
    return scores


def metric_named(name: str, settings: dict[str, object] | None = None) -> Metric:
    """The metric called `name`, with `settings`."""
    return strategy_from_name("metric", METRICS, name, settings or {})  # type: ignore[no-any-return]


def _warn(sentence: str) -> None:
    warnings.warn(sentence, SfumatoWarning, stacklevel=5)
