"""Scores of training runs: every metric of every run under every condition, with paired bootstrap draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric import Metric, missing_inputs, undefined
from sfumato.evaluation.metrics import chosen_metrics
from sfumato.evaluation.people_jackknife import PeopleLabels
from sfumato.evaluation.run_metric_values import RunMeasurements, SeedValues
from sfumato.evaluation.run_predictions import RunPredictions, check_some, match_runs
from sfumato.evaluation.scored_metric import ScoredMetric, ScoredRun
from sfumato.evaluation.strata import Stratification, Stratum, strata_of
from sfumato.evaluation.variance_components import Contributions
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.bootstrap import Bootstrap, check_resampling
from sfumato.tables.scores import ALL
from sfumato.tables.soft_labels import SoftLabels

Progress = Callable[[int, int], None]


def are_single(runs: Sequence[RunPredictions]) -> bool:
    """Whether there is one prediction per target, network and condition, so that only items can be compared."""
    return len({(run.target, run.network, run.condition) for run in runs}) == len(runs)


def measure_runs(
    runs: Sequence[RunPredictions],
    *,
    people: SoftLabels | Beliefs,
    original: SoftLabels | None = None,
    metrics: Sequence[Metric] = (),
    strata: Sequence[Stratification | Stratum] = (),
    common: bool = False,
    level: float = 0.95,
    resamples: int = 1000,
    rng: np.random.Generator | None = None,
    on_progress: Progress | None = None,
    any_estimand: bool = False,
) -> RunMeasurements:
    """Every metric of every run, under each condition of the runs, over all items and per stratum.

    All runs of a condition are scored on the same items, so values are paired by item and by seed. If runs predict
    different items, only the common ones are scored, with a warning.

    If `people` are single answers, labels are their mean, and it is measured how much the values depend on single
    people. `any_estimand` allows labels that are not people's.
    """
    check_resampling(level, resamples)
    check_some(runs)
    rng = np.random.default_rng(0) if rng is None else rng
    settings = _Settings(metrics, strata, level, resamples, rng)
    judged = PeopleLabels.of(people)
    figures: list[SeedValues] = []
    n_before = n_people = 0
    for shift in dict.fromkeys(run.condition for run in runs):
        own = [run for run in runs if run.condition == shift]
        found = match_runs(own, people=judged.labels, original=original, common=common, any_estimand=any_estimand)
        matched = judged.attach(found)
        n_people = max(n_people, matched[0].answers.n_people if matched[0].answers else 0)

        def progress(done: int, of: int, before: int = n_before, n_own: int = len(own)) -> None:
            if on_progress:
                on_progress(before * of // n_own + done, len(runs) * of // n_own)

        figures += settings.measure(shift, own, matched, progress)
        n_before += len(own)
    return RunMeasurements(tuple(figures), level, n_people)


@dataclass(frozen=True, eq=False)
class _Settings:
    """The metrics, strata and bootstrap settings, the same for every condition."""

    metrics: Sequence[Metric]
    strata: Sequence[Stratification | Stratum]
    level: float
    resamples: int
    rng: np.random.Generator

    def measure(
        self, shift: str, runs: Sequence[RunPredictions], matched: Sequence[MatchedLabels], on_progress: Progress
    ) -> list[SeedValues]:
        """The values of the runs of one condition."""
        # The same draws under each condition, as far as the items are the same.
        rng = deepcopy(self.rng)
        chosen = chosen_metrics(matched[0], self.metrics)
        strata = [Stratum(ALL, np.arange(len(matched[0]))), *strata_of(matched[0], self.strata)]
        rows_of: dict[tuple[str, str], list[int]] = {}
        for i, run in enumerate(runs):
            rows_of.setdefault((run.network, run.target), []).append(i)
        figures: list[SeedValues] = []
        n_done = 0
        for stratum in strata:
            n = len(stratum)
            bootstrap = Bootstrap.of(n, level=self.level, draws=self.resamples, rng=rng) if n else None
            parts = [stratum.part(each) for each in matched]
            missing = missing_inputs(chosen, parts[0], stratum.name)
            for (network, target), own in rows_of.items():
                scored = [ScoredRun(parts[i], bootstrap) for i in own]
                for metric in chosen:
                    seeds = tuple(runs[i].seed for i in own)
                    names = {"target": target, "network": network, "shift": shift, "stratum": stratum.name}
                    names["label_set"] = runs[own[0]].label_set
                    figures.append(_seed_values(scored, metric, missing[metric.name], self.level, seeds=seeds, **names))
                    n_done += len(own)
                    on_progress(n_done, len(strata) * len(chosen) * len(runs))
        return figures


def _seed_values(scored: Sequence[ScoredRun], metric: Metric, why: str, level: float, **names: Any) -> SeedValues:
    """The values of one metric for the runs of one target and network; `why` there are none, if there are none."""
    found = [
        ScoredMetric(undefined(why, 0)) if why or each.bootstrap is None else each.score(metric) for each in scored
    ]
    return SeedValues(
        metric=metric,
        values=np.array([each.estimate.value for each in found], np.float64),
        contributions=_stacked(found),
        intervals=tuple(each.interval(level, metric.bounds) for each in found),
        n_items=max(each.estimate.n_items for each in found),
        floor=float(np.mean([each.estimate.floor for each in found])),
        floor_note=found[0].estimate.floor_note,
        missing=why,
        untested=next((each.untested for each in found if each.untested), ""),
        **names,
    )


def _stacked(found: Sequence[ScoredMetric]) -> Contributions | None:
    if any(each.items is None for each in found) or len({len(each.items) for each in found}) > 1:  # type: ignore[arg-type]
        return None
    values = np.array([each.estimate.value for each in found])
    items = np.stack([each.items for each in found if each.items is not None])
    people = [each.people for each in found if each.people is not None]
    if len(people) < len(found):
        return Contributions(values, items)
    answers = [each.answers for each in people if each.answers is not None]
    return Contributions(
        values, items, np.stack([each.people for each in people]),
        np.stack(answers) if len(answers) == len(found) else None, min(each.df for each in people),
    )  # fmt: skip
