"""The scores of the models of a report: from the tables of `sfumato evaluate --runs`, or computed in the same way."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sfumato.evaluation.comparison import compare_runs, scores_over_seeds
from sfumato.evaluation.matched_labels import NEARLY_WHOLE, MatchedLabels
from sfumato.evaluation.metric import Metric
from sfumato.evaluation.metrics.accuracy import Accuracy, AccuracyOriginal, SecondBestAccuracy
from sfumato.evaluation.metrics.brier import Brier
from sfumato.evaluation.metrics.calibration_error import ECE, RMSCalibration
from sfumato.evaluation.metrics.dissent import FEWEST_VOTES, DissentPearson
from sfumato.evaluation.metrics.divergence import CrossEntropy, KLDivergence
from sfumato.evaluation.metrics.entropy import EntropyPearson
from sfumato.evaluation.metrics.selective import AURC
from sfumato.evaluation.people_jackknife import PeopleLabels
from sfumato.evaluation.run_metric_values import RunMeasurements
from sfumato.evaluation.run_predictions import CLEAN, RunPredictions, default_baseline, paired_runs, read_runs
from sfumato.evaluation.run_scores import measure_runs
from sfumato.evaluation.strata import Stratum
from sfumato.reporting.item_votes import ItemVotes, rows_by_name
from sfumato.reporting.model_scores import AGREE, DISAGREE, ModelScores
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.bootstrap import FEWEST_DRAWS
from sfumato.tables.errors import BadTable, SfumatoWarning, warn
from sfumato.tables.scores import ALL, Difference, RunScore, RunScores
from sfumato.tables.soft_labels import SoftLabels

METRICS: tuple[Metric, ...] = (
    Accuracy(), SecondBestAccuracy(), CrossEntropy(), KLDivergence(), Brier(), ECE(), RMSCalibration(), AURC(),
    EntropyPearson(),
)  # fmt: skip
STRATUM_METRICS: tuple[Metric, ...] = (Accuracy(), CrossEntropy())
"""Metrics by agreement stratum and under other conditions."""

ProgressCallback = Callable[[float, str], None]
"""Called with the share done and the current step."""


def no_progress(_share: float, _step: str) -> None:
    """Ignore progress."""


def score_models(
    evidence: ReportInputs, *, level: float = 0.95, resamples: int = 1000, on_progress: ProgressCallback = no_progress
) -> ModelScores | None:
    """The models in `evidence`: from its score tables, else from its runs; None without both."""
    people = evidence.people_labels
    plain: list[RunPredictions] = []
    changed: list[RunPredictions] = []
    table = next((each for each in evidence.scores.values() if isinstance(each, RunScores)), None)
    scores = [] if table is None else list(table.scores)
    differences: list[Difference] = []
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SfumatoWarning)
        if evidence.runs is not None and people is not None:
            on_progress(0.0, "reading runs")
            plain, changed = _read_all_runs(evidence)
        from_reading = [str(each.message) for each in caught if issubclass(each.category, SfumatoWarning)]
        original = _usable_original(evidence.original, plain)
        control = default_baseline([run.target for run in plain])
        n_read = len(plain)
        plain, changed = paired_runs(plain, control), paired_runs(changed, control)
        # Conditions that the tables do not have are scored.
        changed = [] if _conditions(scores) else changed
        if evidence.comparison is not None and scores:
            differences += _of_these_scores(evidence.comparison.differences, scores, notes)
        if people is not None and (plain or changed):
            strata = () if evidence.votes is None else (VoteStrata(evidence.votes),)
            scoring = _Scoring(evidence.people_answers or people, strata, level, resamples, on_progress, [], [], notes)
            if plain and (table is None or not differences):
                scoring.score_all_items(plain, original)
            if table is None:
                scores += scoring.scores
            if not differences:
                differences += _of_these_scores(scoring.differences, scores, [])
            scoring = replace(scoring, scores=scores, differences=differences)
            scoring.score_conditions(changed)
    for sentence in from_reading:
        warn(sentence)
    if not scores:
        return None
    notes += [str(each.message) for each in caught if issubclass(each.category, SfumatoWarning)]
    whole = ALL if any(row.condition == ALL for row in scores) else CLEAN
    names = (AGREE, DISAGREE)
    return ModelScores(
        evidence, tuple(plain), original,
        tuple(row for row in scores if row.condition == whole),
        tuple(row for row in differences if row.condition == whole),
        tuple(row for row in scores if row.condition in names),
        tuple(row for row in differences if row.condition in names),
        tuple(_conditions(scores)),
        tuple(row for row in differences if row.condition not in (whole, *names)),
        level, resamples, tuple(dict.fromkeys(notes)), n_read - len(plain),
    )  # fmt: skip


def _of_these_scores(
    differences: Sequence[Difference], scores: Sequence[RunScore], notes: list[str]
) -> list[Difference]:
    """The differences between just these scores. Others, of other seeds or items, could contradict the scores."""
    values = {(each.target, each.network, each.metric, each.condition): each.value for each in scores}

    def is_score(value: float, target: str, row: Difference) -> bool:
        known = values.get((target, row.network, row.metric, row.condition), np.nan)
        return bool(np.isclose(value, known, rtol=1e-6, atol=1e-9, equal_nan=True))

    found = [
        row
        for row in differences
        if is_score(row.value, row.target, row) and is_score(row.baseline_value, row.baseline, row)
    ]
    if n := len(differences) - len(found):
        notes.append(
            f"{n:,} of {len(differences):,} comparisons are left out, because they are of other seeds or items than "
            "the scores: write both tables with one `sfumato evaluate`"
        )
    return found


def _conditions(scores: Sequence[RunScore]) -> list[RunScore]:
    """The scores of changed or other items, without those of their strata."""
    own = (row for row in scores if row.condition not in (ALL, AGREE, DISAGREE))
    return [row for row in own if ": " not in row.condition]


def _read_all_runs(evidence: ReportInputs) -> tuple[list[RunPredictions], list[RunPredictions]]:
    """The runs on unchanged items, and the runs under conditions, each run and condition once."""
    assert evidence.runs is not None
    found = read_runs(evidence.runs)
    has_plain = any(not run.condition for run in found)
    plain = [replace(run, condition="") for run in found if run.condition == ("" if has_plain else CLEAN)]
    changed = [run for run in found if run.condition]
    for folder in (evidence.shifted, evidence.attacked):
        changed += read_runs(folder) if folder is not None else []
    once = {(run.target, run.network, run.seed, run.condition): run for run in changed}
    return plain, list(once.values())


@dataclass(frozen=True)
class _Scoring:
    """Scores runs as `sfumato evaluate --runs` does, and adds to the scores, differences and notes."""

    people: SoftLabels | Beliefs
    strata: tuple[VoteStrata, ...]
    """The items on which people agree and disagree; empty if the votes are unknown."""
    level: float
    resamples: int
    on_progress: ProgressCallback
    scores: list[RunScore]
    differences: list[Difference]
    notes: list[str]

    def score_all_items(self, runs: Sequence[RunPredictions], original: SoftLabels | None) -> None:
        """All metrics over all items, and two of them by stratum: items on which people agree, and disagree."""
        metrics = (*METRICS, *((AccuracyOriginal(),) if original is not None else ()))
        metrics += (DissentPearson(),) if _has_votes(PeopleLabels.of(self.people).labels) else ()
        others = [each for each in metrics if each.name not in {metric.name for metric in STRATUM_METRICS}]
        by_stratum = self._measure(
            runs, STRATUM_METRICS, original, self.resamples, (0.0, 0.4, "scoring strata"), by_stratum=True
        )
        rest = self._measure(runs, others, original, self.resamples, (0.4, 0.8, "scoring all items"))
        whole = [each for each in (*by_stratum.figures, *rest.figures) if each.stratum == ALL]
        names = [metric.name for metric in metrics]
        models = list(dict.fromkeys((each.network, each.target) for each in whole))
        whole.sort(key=lambda each: (models.index((each.network, each.target)), names.index(each.metric.name)))
        self._collect(replace(rest, figures=tuple(whole)))
        self._collect(by_stratum, without=ALL)

    def score_conditions(self, runs: Sequence[RunPredictions]) -> None:
        """Two metrics under each condition, with few resamples: they are only used for runs with one seed."""
        names = list(dict.fromkeys(run.condition for run in runs))
        for k, name in enumerate(names):
            own = [run for run in runs if run.condition == name]
            start, end = 0.8 + 0.2 * k / len(names), 0.8 + 0.2 * (k + 1) / len(names)
            try:
                measured = self._measure(own, STRATUM_METRICS, None, FEWEST_DRAWS, (start, end, f"scoring {name}"))
            except BadTable as error:
                if error.code != "no-common-items":
                    raise
                self.notes.append(f"{name}: left out, because people judged none of its items")
                continue
            self._collect(measured)

    def _measure(
        self,
        runs: Sequence[RunPredictions],
        metrics: Sequence[Metric],
        original: SoftLabels | None,
        resamples: int,
        progress: tuple[float, float, str],
        *,
        by_stratum: bool = False,
    ) -> RunMeasurements:
        start, end, step = progress
        return measure_runs(
            runs, people=self.people, original=original, metrics=metrics,
            strata=self.strata if by_stratum else (), common=True, level=self.level,
            resamples=resamples, rng=np.random.default_rng(0), any_estimand=True,
            on_progress=lambda done, of: self.on_progress(start + (end - start) * done / of, step),
        )  # fmt: skip

    def _collect(self, measured: RunMeasurements, *, without: str = "") -> None:
        """Add scores and differences from the control, without those of one condition."""
        self.scores.extend(each for each in scores_over_seeds(measured).scores if each.condition != without)
        found = compare_runs(measured).differences
        self.differences.extend(each for each in found if each.condition != without)


@dataclass(frozen=True, eq=False)
class VoteStrata:
    """The items on which people agree and disagree, by a direct count of votes; items of one annotator are in neither.

    Labels do not show this: smoothed ones have some probability on every class.
    """

    votes: ItemVotes

    name: ClassVar[str] = "agree"

    def strata(self, matched: MatchedLabels) -> list[Stratum]:
        at = rows_by_name(matched.items, self.votes.items)
        known = (at >= 0) & self.votes.several[at]
        agreed = self.votes.unanimous[at]
        found = [(AGREE, known & agreed), (DISAGREE, known & ~agreed)]
        return [Stratum(name, np.flatnonzero(rows), by_votes=True) for name, rows in found if rows.any()]


def _usable_original(original: SoftLabels | None, runs: Sequence[RunPredictions]) -> SoftLabels | None:
    """Original labels, if they are one-hot and have every predicted item and no other class."""
    if original is None or not runs:
        return None
    known = set(original.items.to_pylist())
    tested = {item for run in runs for item in run.predictions.items.to_pylist()}
    is_one_hot = bool((original.probs.max(axis=1) >= 1).all())
    is_complete = tested <= known and set(original.classes) <= set(runs[0].predictions.classes)
    return original if is_one_hot and is_complete else None


def _has_votes(people: SoftLabels) -> bool:
    """Whether most labels are shares of enough votes to correct a correlation for chance."""
    n = people.n_annotators
    if n is None or not len(n) or np.median(n) < FEWEST_VOTES:
        return False
    votes = people.probs * n[:, None]
    return bool(n.min() > 0 and np.abs(votes - np.rint(votes)).max() <= NEARLY_WHOLE)
