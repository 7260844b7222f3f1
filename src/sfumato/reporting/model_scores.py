"""Scores of trained models, arranged for the sections of a report.

`score_models` takes the tables that `sfumato evaluate --runs` wrote. Runs without such tables are scored once, with the
same functions and settings, and arranged in the same way.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.evaluation.comparison import compare_runs, scores_over_seeds
from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.metric import Metric
from sfumato.evaluation.metrics.accuracy import Accuracy, AccuracyOriginal, SecondBestAccuracy
from sfumato.evaluation.metrics.brier import Brier
from sfumato.evaluation.metrics.calibration_error import ECE, RMSCalibration
from sfumato.evaluation.metrics.divergence import CrossEntropy, KLDivergence
from sfumato.evaluation.metrics.entropy import EntropyPearson
from sfumato.evaluation.metrics.selective import AURC
from sfumato.evaluation.run_measurements import RunMeasurements
from sfumato.evaluation.run_predictions import CLEAN, RUN, RunPredictions, match_runs, read_runs
from sfumato.evaluation.run_scores import measure_runs
from sfumato.evaluation.strata import AgreementStrata
from sfumato.evaluation.training_dynamics import RunFound, find_runs
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.bootstrap import FEWEST_DRAWS
from sfumato.tables.errors import BadTable, SfumatoWarning
from sfumato.tables.scores import ALL, Difference, RunScore, RunScores
from sfumato.tables.soft_labels import SoftLabels

CONTROL, SOFT = "hard", "soft"
AGREE, DISAGREE = "people agree", "people disagree"
MAX_NAMED = 8
"""The most targets named in a chart; tables have all."""
MAX_COLORS = 6
"""The most targets drawn as lines: more colors are hard to distinguish."""
METRICS: tuple[Metric, ...] = (
    Accuracy(), SecondBestAccuracy(), CrossEntropy(), KLDivergence(), Brier(), ECE(), RMSCalibration(), AURC(),
    EntropyPearson(),
)  # fmt: skip
STRATUM_METRICS: tuple[Metric, ...] = (Accuracy(), CrossEntropy())
"""Metrics by agreement stratum, under other conditions, and against other labels."""

ProgressCallback = Callable[[float, str], None]
"""Called with the share done and the current step."""


@dataclass(frozen=True, eq=False)
class ModelScores:
    """The scores of one study's runs: over all items, by agreement stratum, and under other conditions.

    Scores are means over seeds; differences are from `control`. `runs` is empty if only score tables are given. `notes`
    are warnings for the reader. Charts show `network`, tables show all networks.
    """

    evidence: ReportInputs
    runs: tuple[RunPredictions, ...]
    original: SoftLabels | None
    scores: tuple[RunScore, ...]
    differences: tuple[Difference, ...]
    stratum_scores: tuple[RunScore, ...]
    stratum_differences: tuple[Difference, ...]
    condition_scores: tuple[RunScore, ...]
    condition_differences: tuple[Difference, ...]
    level: float
    resamples: int
    notes: tuple[str, ...]

    @cached_property
    def targets(self) -> list[str]:
        """All targets, the control first, then by increasing cross-entropy."""
        names = list(dict.fromkeys(each.target for each in self.scores))
        own = (each for each in self.scores if (each.metric, each.network) == ("cross_entropy", self.network))
        values = {each.target: each.value for each in own if each.value == each.value}
        return sorted(names, key=lambda name: (name != self.control, values.get(name, float("inf"))))

    @property
    def control(self) -> str | None:
        """The target that others are compared with: `hard`, else the first; None if there is only one."""
        return control_of([each.target for each in self.scores])

    @property
    def network(self) -> str:
        """The network shown in charts: the one with the most targets."""
        names = [each.network for each in self.scores if each.metric == self.scores[0].metric]
        return max(dict.fromkeys(names), key=names.count) if names else ""

    @property
    def networks(self) -> list[str]:
        return list(dict.fromkeys(each.network for each in self.scores))

    def shown_targets(self, most: int = MAX_NAMED) -> list[str]:
        """The targets shown in charts: all, or the control, `soft` and those with the lowest cross-entropy."""
        trained = {each.target for each in self.scores if each.network == self.network}
        own = [each for each in self.targets if each in trained]
        first = [each for each in (self.control, SOFT) if each in own]
        kept = {*first, *[each for each in own if each not in first][: most - len(first)]}
        return [each for each in own if each in kept]

    def of_metric(self, metric: str, *, scores: Sequence[RunScore] | None = None) -> list[RunScore]:
        """The scores of one metric, of the network shown in charts, in the order of `targets`."""
        own = self.scores if scores is None else scores
        found = [each for each in own if each.metric == metric and each.network == self.network]
        return sorted(found, key=lambda each: self.targets.index(each.target))

    def difference(self, metric: str, target: str) -> Difference | None:
        """The difference between `target` and the control over all items, of the network shown in charts."""
        own = (each for each in self.differences if each.network == self.network)
        return next((each for each in own if (each.metric, each.target) == (metric, target)), None)

    @property
    def treatment(self) -> str | None:
        """The target that findings are about: `soft`, else the first other target by name. Never the best one, whose
        lead would partly be chance."""
        others = sorted(each for each in self.shown_targets() if each != self.control)
        if self.control is None or not others:
            return None
        return SOFT if SOFT in others else others[0]

    @cached_property
    def matched(self) -> dict[str, list[MatchedLabels]]:
        """The predictions of every shown run with people's labels, by target; all have the same items in the same
        order."""
        people = self.evidence.main_labels
        own = [run for run in self.runs if run.network == self.network and run.target in self.shown_targets()]
        if people is None or not own:
            return {}
        with warnings.catch_warnings():
            # Scoring has already warned about runs with different items.
            warnings.simplefilter("ignore", SfumatoWarning)
            found = match_runs(own, people=people, common=True)
        by_target: dict[str, list[MatchedLabels]] = {name: [] for name in self.shown_targets()}
        for run, labels in zip(own, found, strict=True):
            by_target[run.target].append(labels)
        return {name: each for name, each in by_target.items() if each}

    @cached_property
    def folders(self) -> list[RunFound]:
        """The run folders; empty if there are only tables of predictions."""
        place = self.evidence.runs
        return find_runs([place]) if place is not None and any(place.rglob(RUN)) else []

    @property
    def n_seeds(self) -> int:
        return max((each.n_seeds for each in self.scores), default=0)

    def subset_note(self, most: int = MAX_NAMED) -> str:
        """A sentence that names the targets shown, if not all are; and the network, if there are several."""
        n_shown = len(self.shown_targets(most))
        always = "the control, soft" if SOFT in self.targets else "the control"
        subset = f" {n_shown} of {len(self.targets)} targets are shown: {always} and those with the lowest "
        subset += "cross-entropy."
        network = f" The network is `{self.network}`." if len(self.networks) > 1 else ""
        return (subset if n_shown < len(self.targets) else "") + network


def control_of(targets: Sequence[str]) -> str | None:
    """The target that others are compared with: `hard`, else the first; None if there is only one."""
    names = list(dict.fromkeys(targets))
    if len(names) < 2:
        return None
    return CONTROL if CONTROL in names else names[0]


def no_progress(_share: float, _step: str) -> None:
    """Ignore progress."""


def score_models(
    evidence: ReportInputs, *, level: float = 0.95, resamples: int = 500, on_progress: ProgressCallback | None = None
) -> ModelScores | None:
    """The models in `evidence`: from its score tables, else from its runs; None without both."""
    on_progress = on_progress or no_progress
    people = evidence.main_labels
    plain: list[RunPredictions] = []
    changed: list[RunPredictions] = []
    if evidence.runs is not None and people is not None:
        on_progress(0.0, "reading runs")
        plain, changed = _read_all_runs(evidence)
    original = _usable_original(evidence.original, plain)
    table = next((each for each in evidence.scores.values() if isinstance(each, RunScores)), None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SfumatoWarning)
        if table is not None:
            scores = list(table.scores)
            differences = [] if evidence.comparison is None else list(evidence.comparison.differences)
            # Conditions that the tables do not have are scored below.
            changed = [] if _conditions(scores) else changed
        else:
            scores, differences = [], []
        if people is not None and (plain or changed):
            scoring = _Scoring(people, control_of([run.target for run in plain]), level, resamples, on_progress)
            if table is None:
                scoring.score_all_items(plain, original)
            scoring.score_conditions(changed)
            scores += scoring.scores
            differences += scoring.differences
            notes = scoring.notes
        else:
            notes = []
    if not scores:
        return None
    notes += [str(each.message) for each in caught if issubclass(each.category, SfumatoWarning)]
    return _arranged(evidence, plain, original, scores, differences, level, resamples, tuple(dict.fromkeys(notes)))


def _arranged(
    evidence: ReportInputs,
    runs: Sequence[RunPredictions],
    original: SoftLabels | None,
    scores: Sequence[RunScore],
    differences: Sequence[Difference],
    level: float,
    resamples: int,
    notes: tuple[str, ...],
) -> ModelScores:
    whole = ALL if any(row.condition == ALL for row in scores) else CLEAN
    strata = (AGREE, DISAGREE)
    return ModelScores(
        evidence, tuple(runs), original,
        tuple(row for row in scores if row.condition == whole),
        tuple(row for row in differences if row.condition == whole),
        tuple(row for row in scores if row.condition in strata),
        tuple(row for row in differences if row.condition in strata),
        tuple(_conditions(scores)),
        tuple(row for row in differences if row.condition not in (whole, *strata)),
        level, resamples, notes,
    )  # fmt: skip


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


class _Scoring:
    """Scores runs as `sfumato evaluate --runs` does, and collects rows, differences and notes."""

    def __init__(
        self, people: SoftLabels, control: str | None, level: float, resamples: int, on_progress: ProgressCallback
    ) -> None:
        self.people = people
        self.control = control
        self.level = level
        self.resamples = resamples
        self.on_progress = on_progress
        self.scores: list[RunScore] = []
        self.differences: list[Difference] = []
        self.notes: list[str] = []

    def score_all_items(self, runs: Sequence[RunPredictions], original: SoftLabels | None) -> None:
        """All metrics over all items, and two of them by stratum: items on which people agree, and disagree."""
        metrics = (*METRICS, *((AccuracyOriginal(),) if original is not None else ()))
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
        """Two metrics under each condition. Only intervals over seeds are shown, so that few resamples are enough."""
        names = list(dict.fromkeys(run.condition for run in runs))
        for k, name in enumerate(names):
            own = [run for run in runs if run.condition == name]
            start, end = 0.8 + 0.2 * k / len(names), 0.8 + 0.2 * (k + 1) / len(names)
            n_before = len(self.differences)
            try:
                measured = self._measure(own, STRATUM_METRICS, None, FEWEST_DRAWS, (start, end, f"scoring {name}"))
            except BadTable as error:
                if error.code != "no-common-items":
                    raise
                self.notes.append(f"{name}: left out, because people judged none of its items")
                continue
            self._collect(measured)
            none = float("nan")
            over_seeds = [replace(each, both_low=none, both_high=none) for each in self.differences[n_before:]]
            self.differences[n_before:] = over_seeds

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
            strata=(AgreementStrata(),) if by_stratum else (), common=True, level=self.level,
            resamples=resamples, rng=np.random.default_rng(0),
            on_progress=lambda done, of: self.on_progress(start + (end - start) * done / of, step),
        )  # fmt: skip

    def _collect(self, measured: RunMeasurements, *, without: str = "") -> None:
        """Add scores and differences from the control, without those of one condition."""
        self.scores += [each for each in scores_over_seeds(measured).scores if each.condition != without]
        if self.control in measured.targets and len(measured.targets) > 1:
            found = compare_runs(measured, baseline=self.control, rng=np.random.default_rng(0)).differences
            self.differences += [each for each in found if each.condition != without]


def _usable_original(original: SoftLabels | None, runs: Sequence[RunPredictions]) -> SoftLabels | None:
    """Original labels, if they are one-hot and have every predicted item and no other class."""
    if original is None or not runs:
        return None
    known = set(original.items.to_pylist())
    tested = {item for run in runs for item in run.predictions.items.to_pylist()}
    is_one_hot = bool((original.probs.max(axis=1) >= 1).all())
    is_complete = tested <= known and set(original.classes) <= set(runs[0].predictions.classes)
    return original if is_one_hot and is_complete else None
