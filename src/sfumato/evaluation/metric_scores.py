"""Scores of predictions: every requested metric, over all items and per stratum. The function behind `sf.score`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.evaluation.matched_labels import MatchedLabels, match_labels
from sfumato.evaluation.metric import Metric, clipped_estimate, missing_inputs, undefined
from sfumato.evaluation.metrics import METRICS, chosen_metrics
from sfumato.evaluation.people_jackknife import PeopleLabels
from sfumato.evaluation.scored_metric import ScoredRun
from sfumato.evaluation.strata import Stratification, Stratum, strata_of
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.bootstrap import Bootstrap, check_resampling
from sfumato.tables.scores import ALL, Score, Scores
from sfumato.tables.soft_labels import SoftLabels
from sfumato.tables.strategies import strategy_from_name


def score(
    *,
    predicted: SoftLabels,
    people: SoftLabels | Beliefs,
    original: SoftLabels | None = None,
    metrics: Sequence[Metric] = (),
    strata: Sequence[Stratification | Stratum] = (),
    common: bool = False,
    level: float = 0.95,
    resamples: int = 1000,
    rng: np.random.Generator | None = None,
    any_estimand: bool = False,
) -> Scores:
    """Scores of `predicted` against `people`: one row per metric and condition, each with its interval.

    Without `metrics`, all metrics whose inputs are there. Without `rng`, the same draws every time. Intervals cover the
    choice of items, not the variation between trainings (see `measure_runs`). If `people` are single answers, labels
    are their mean, and the intervals also cover the choice of people. `any_estimand` allows labels that are not
    people's.
    """
    judged = PeopleLabels.of(people)
    found = match_labels(
        predicted=predicted, people=judged.labels, original=original, common=common, any_estimand=any_estimand
    )
    (matched,) = judged.attach([found])
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
    scores: list[Score] = []
    for stratum in [Stratum(ALL, np.arange(len(matched))), *strata_of(matched, strata)]:
        part = matched if stratum.name == ALL else stratum.part(matched)
        missing = missing_inputs(chosen, part, stratum.name)
        # All scores of a condition are from the same draws of its items.
        bootstrap = Bootstrap.of(len(part), level=level, draws=resamples, rng=rng) if len(part) else None
        run = ScoredRun(part, bootstrap)
        for metric in chosen:
            why = missing[metric.name]
            if why or bootstrap is None:
                found, between = undefined(why, 0), None
            elif part.answers is None:
                found, between = clipped_estimate(metric, part, bootstrap), None
            else:
                scored = run.score(metric)
                found, between = scored.estimate, scored.interval(level, metric.bounds)
            between = between or found.interval
            floor = (found.floor, between.kind, found.floor_note)
            scores.append(
                Score(metric.name, stratum.name, found.value, between.low, between.high, found.n_items, *floor)
            )
    return Scores.of(scores)


ALSO_CALLED = {
    "log-loss": "cross_entropy", "nll": "cross_entropy", "kl": "kl_divergence", "js": "jsd", "tvd": "total_variation",
    "emd": "wasserstein:ordered=true", "wasserstein-distance": "wasserstein:ordered=true", "acc": "accuracy",
    "auroc": "failure_auroc", "auc": "failure_auroc", "calibration": "ece",
    "kappa": "accuracy; agreement between annotators is measured by sfumato agreement",
}  # fmt: skip
"""Other tools' names of metrics."""


def metric_from_name(name: str, settings: dict[str, object] | None = None) -> Metric:
    """The metric called `name` (`ece`, or with settings `ece:bins=10`); hyphens and underscores are the same."""
    bare, colon, rest = name.partition(":")
    text = bare.replace("-", "_") + colon + rest
    return strategy_from_name("metric", METRICS, text, settings or {}, also_called=ALSO_CALLED)  # type: ignore[no-any-return]
