"""Scores of predictions: every requested metric, over all items and per stratum. The function behind `sf.score`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.evaluation.matched_labels import MatchedLabels, match_labels
from sfumato.evaluation.metric import FEW_ITEMS, Metric, clipped_estimate, few_items_warning, missing_input
from sfumato.evaluation.metrics import METRICS, chosen_metrics
from sfumato.evaluation.strata import Stratification, Stratum, strata_of
from sfumato.tables.bootstrap import Bootstrap, check_resampling
from sfumato.tables.errors import warn
from sfumato.tables.scores import ALL, Score, Scores
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.strategies import strategy_from_name


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
    """Scores of `predicted` against `people`: one row per metric and condition, each with its interval.

    Without `metrics`, all metrics whose inputs are there. Without `rng`, the same draws every time. Intervals cover the
    choice of items, not the variation between trainings (see `measure_runs`).
    """
    matched = match_labels(predicted=predicted, people=people, original=original, common=common)
    return score_matched(
        matched, metrics=metrics, strata=strata, level=level, resamples=resamples,
        rng=np.random.default_rng(0) if rng is None else rng,
    )  # fmt: skip


def score_matched(
    matched: MatchedLabels,
    *,
    metrics: Sequence[Metric] = (),
    strata: Sequence[Stratification | Stratum] = (),
    level: float = 0.95,
    resamples: int = 1000,
    rng: np.random.Generator,
) -> Scores:
    """The scores of predictions that are already matched with people's labels."""
    check_resampling(level, resamples)
    chosen = chosen_metrics(matched, metrics)
    scores = _condition_scores(ALL, matched, chosen, level=level, resamples=resamples, rng=rng)
    for stratum in strata_of(matched, strata):
        part = matched.take(stratum.rows)
        scores += _condition_scores(stratum.name, part, chosen, level=level, resamples=resamples, rng=rng)
    return Scores.of(scores)


def _condition_scores(
    condition: str,
    matched: MatchedLabels,
    metrics: Sequence[Metric],
    *,
    level: float,
    resamples: int,
    rng: np.random.Generator,
) -> list[Score]:
    """The scores of one condition, all from the same draws of its items."""
    if 0 < len(matched) < FEW_ITEMS:
        warn(few_items_warning(condition, len(matched)))
    bootstrap = Bootstrap.of(len(matched), level=level, draws=resamples, rng=rng) if len(matched) else None
    scores = []
    for metric in metrics:
        missing = "no items" if bootstrap is None else missing_input(metric, matched)
        if missing or bootstrap is None:
            if bootstrap is not None:
                warn(f"{condition}: {metric.name} cannot be computed: {missing}")
            scores.append(Score(metric.name, condition, np.nan, np.nan, np.nan, 0, np.nan, f"none: {missing}"))
            continue
        found = clipped_estimate(metric, matched, bootstrap)
        interval = found.interval
        scores.append(
            Score(
                metric.name,
                condition,
                found.value,
                interval.low,
                interval.high,
                found.n_items,
                found.floor,
                interval.kind,
            )
        )
    return scores


def metric_from_name(name: str, settings: dict[str, object] | None = None) -> Metric:
    """The metric called `name`, with `settings`."""
    return strategy_from_name("metric", METRICS, name, settings or {})  # type: ignore[no-any-return]
