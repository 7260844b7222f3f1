"""Measuring models: evidence -> Models, from run folders, or from tables that `sfumato evaluate` wrote."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.evaluation.comparison import Difference, compare_runs, scores_over_seeds
from sfumato.evaluation.metric import Metric
from sfumato.evaluation.metrics import (
    AURC,
    ECE,
    Accuracy,
    AccuracyOriginal,
    Brier,
    CrossEntropy,
    EntropyPearson,
    KLDivergence,
    RMSCalibration,
    SecondBestAccuracy,
)
from sfumato.evaluation.run_predictions import CLEAN, RunPredictions, read_runs
from sfumato.evaluation.run_scores import RunMeasurements, measure_runs
from sfumato.evaluation.strata import AgreementStrata
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.reporting.trained_models import AGREE, DISAGREE, ModelScores, control_among
from sfumato.tables.bootstrap import FEWEST_DRAWS
from sfumato.tables.errors import BadTable, SfumatoWarning
from sfumato.tables.scores import ALL, RunScore, RunScores
from sfumato.tables.soft_labels import SoftLabels

METRICS: tuple[Metric, ...] = (
    Accuracy(), SecondBestAccuracy(), CrossEntropy(), KLDivergence(), Brier(), ECE(), RMSCalibration(), AURC(),
    EntropyPearson(),
)  # fmt: skip
IN_STRATA: tuple[Metric, ...] = (Accuracy(), CrossEntropy())
"""Of items on which people agree and do not, under other conditions, and against other labels."""

ProgressCallback = Callable[[float, str], None]
"""Told what share is done, and what is being done."""


def untold(_share: float, _line: str) -> None:
    """Nobody is told."""


def models_of(
    evidence: ReportInputs, *, level: float = 0.95, resamples: int = 500, on_progress: ProgressCallback | None = None
) -> ModelScores | None:
    """The models in `evidence`: measured from its runs, else read from its tables of scores; None without both."""
    people = evidence.main_labels
    if evidence.runs is None or people is None:
        return _from_tables(evidence, level, resamples)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SfumatoWarning)
        found = _Measuring(evidence, people, level, resamples, on_progress or untold).models()
    notes = dict.fromkeys(str(each.message) for each in caught if issubclass(each.category, SfumatoWarning))
    return replace(found, notes=(*found.notes, *notes))


@dataclass(frozen=True, eq=False)
class _Measuring:
    evidence: ReportInputs
    people: SoftLabels
    level: float
    resamples: int
    on_progress: ProgressCallback

    def models(self) -> ModelScores:
        assert self.evidence.runs is not None
        self.on_progress(0.0, "reading runs")
        found = read_runs(self.evidence.runs)
        plain = [replace(run, condition="") for run in found if run.condition == ("" if _some_plain(found) else CLEAN)]
        changed = [run for run in found if run.condition] if _some_plain(found) else found
        original = _usable(self.evidence.original, plain)
        asked: tuple[Metric, ...] = (*METRICS, *((AccuracyOriginal(),) if original is not None else ()))
        parts = self._measured(plain, IN_STRATA, original, (0.1, 0.4, "scoring strata"), in_strata=True)
        beyond = [each for each in asked if each.name not in {metric.name for metric in IN_STRATA}]
        rest = self._measured(plain, beyond, original, (0.4, 0.8, "scoring all items"))
        whole = _merged(parts, rest, asked)
        for folder in (self.evidence.shifted, self.evidence.attacked):
            changed += read_runs(folder) if folder is not None else []
        control = control_among([run.target for run in plain])
        conditions, apart, notes = self._under_conditions(_once(changed), control)
        in_strata = [each for each in scores_over_seeds(parts).scores if each.condition != ALL]
        return ModelScores(
            self.evidence, tuple(plain), original, whole,
            scores_over_seeds(whole).scores, self._compared(whole, control),
            tuple(in_strata), self._compared(parts, control),
            conditions, apart, self.level, self.resamples, notes,
        )  # fmt: skip

    def _measured(
        self,
        runs: Sequence[RunPredictions],
        metrics: Sequence[Metric],
        original: SoftLabels | None,
        progress: tuple[float, float, str],
        *,
        in_strata: bool = False,
        resamples: int | None = None,
    ) -> RunMeasurements:
        start, end, line = progress
        return measure_runs(
            runs, people=self.people, original=original, metrics=metrics,
            strata=(AgreementStrata(),) if in_strata else (), common=True, level=self.level,
            resamples=resamples or self.resamples, rng=np.random.default_rng(0),
            on_progress=lambda done, of: self.on_progress(start + (end - start) * done / of, line),
        )  # fmt: skip

    def _compared(self, measured: RunMeasurements, control: str | None) -> tuple[Difference, ...]:
        if control is None or len(measured.targets) < 2:
            return ()
        return compare_runs(measured, baseline=control, rng=np.random.default_rng(0)).differences

    def _under_conditions(
        self, runs: Sequence[RunPredictions], control: str | None
    ) -> tuple[tuple[RunScore, ...], tuple[Difference, ...], tuple[str, ...]]:
        """Scores and differences under each condition, for another training: no other interval is shown, so few draws
        are made; and what was left out."""
        names = list(dict.fromkeys(run.condition for run in runs))
        scores: list[RunScore] = []
        apart: list[Difference] = []
        notes: list[str] = []
        for k, name in enumerate(names):
            own = [run for run in runs if run.condition == name]
            place = (0.8 + 0.2 * k / len(names), 0.8 + 0.2 * (k + 1) / len(names), f"scoring under {name}")
            try:
                found = self._measured(own, IN_STRATA, None, place, resamples=FEWEST_DRAWS)
            except BadTable as error:
                if error.code != "no-common-items":
                    raise
                notes.append(f"{name}: left out, for people judged none of its items")
                continue
            scores += scores_over_seeds(found).scores
            if control in found.targets:
                none = float("nan")
                apart += [replace(each, both_low=none, both_high=none) for each in self._compared(found, control)]
        return tuple(scores), tuple(apart), tuple(notes)


def _merged(one: RunMeasurements, other: RunMeasurements, metrics: Sequence[Metric]) -> RunMeasurements:
    """The figures over all items of two measurements of the same runs, in the order that one of both would have."""
    own = [each for each in (*one.figures, *other.figures) if each.stratum == ALL]
    cells = {(each.network, each.target, each.metric.name): each for each in own}
    members = dict.fromkeys((each.network, each.target) for each in own)
    figures = tuple(cells[(*member, metric.name)] for member in members for metric in metrics)
    return RunMeasurements(figures, one.level, one.over)


def _some_plain(runs: Sequence[RunPredictions]) -> bool:
    return any(not run.condition for run in runs)


def _once(runs: Sequence[RunPredictions]) -> list[RunPredictions]:
    """Each run and condition once: pictures as they are stand beside every way of changing them."""
    return list({(run.target, run.network, run.seed, run.condition): run for run in runs}.values())


def _usable(original: SoftLabels | None, runs: Sequence[RunPredictions]) -> SoftLabels | None:
    """Original labels, where they are sure of every item that is predicted, and of no other class."""
    if original is None:
        return None
    known = set(original.items.to_pylist())
    tested = {item for run in runs for item in run.predictions.items.to_pylist()}
    sure = bool((original.probs.max(axis=1) >= 1).all())
    return original if sure and tested <= known and set(original.classes) <= set(runs[0].predictions.classes) else None


def _from_tables(evidence: ReportInputs, level: float, resamples: int) -> ModelScores | None:
    """What tables of runs say; the first is taken."""
    table = next((each for each in evidence.scores.values() if isinstance(each, RunScores)), None)
    if table is None or not table.scores:
        return None
    rows = table.scores
    whole = ALL if any(row.condition == ALL for row in rows) else CLEAN
    differences = () if evidence.comparison is None else evidence.comparison.differences
    in_strata = tuple(row for row in rows if row.condition in (AGREE, DISAGREE))
    conditions = tuple(row for row in rows if row.condition not in (ALL, AGREE, DISAGREE) and ": " not in row.condition)
    return ModelScores(
        evidence, (), None, None,
        tuple(row for row in rows if row.condition == whole),
        tuple(row for row in differences if row.condition == whole),
        in_strata, tuple(row for row in differences if row.condition in (AGREE, DISAGREE)),
        conditions, tuple(row for row in differences if row.condition not in (whole, AGREE, DISAGREE)),
        level, resamples, (),
    )  # fmt: skip
