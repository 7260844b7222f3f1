"""Trained models: the figures of runs, measured once for all sections that show them.

Measuring models: evidence -> Models, from run folders, or from tables that `sfumato evaluate` wrote.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.evaluation.comparison import Difference, compare_runs, scores_over_seeds
from sfumato.evaluation.matched_labels import MatchedLabels, match_runs
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
from sfumato.evaluation.run_predictions import CLEAN, RUN, RunPredictions, read_runs
from sfumato.evaluation.run_scores import RunMeasurements, measure_runs
from sfumato.evaluation.strata import AgreementStrata
from sfumato.evaluation.training_dynamics import RunFound, find_runs
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.bootstrap import FEWEST_DRAWS
from sfumato.tables.errors import BadTable, SfumatoWarning
from sfumato.tables.scores import ALL, RunScore, RunScores
from sfumato.tables.soft_labels import SoftLabels

CONTROL, SOFT = "hard", "soft"
AGREE, DISAGREE = "people agree", "people disagree"
MOST_NAMED = 8
"""So many targets are named in a chart; tables have all."""
MOST_COLOURS = 6
"""So many targets are drawn as lines: more colours cannot be told apart."""


@dataclass(frozen=True, eq=False)
class ModelScores:
    """Runs of one study and their figures: all items, items on which people agree and disagree, other conditions.

    Scores are means over seeds; differences are from `control`. What was read from tables that `sfumato evaluate`
    wrote has no `runs`. `notes` is what a reader should be warned of. Charts are of `network`, tables of all.
    """

    evidence: ReportInputs
    runs: tuple[RunPredictions, ...]
    original: SoftLabels | None
    measured: RunMeasurements | None
    scores: tuple[RunScore, ...]
    differences: tuple[Difference, ...]
    in_strata: tuple[RunScore, ...]
    differences_in_strata: tuple[Difference, ...]
    conditions: tuple[RunScore, ...]
    differences_under: tuple[Difference, ...]
    level: float
    resamples: int
    notes: tuple[str, ...]

    @cached_property
    def targets(self) -> list[str]:
        """All targets, the control first, the others from the lowest cross-entropy up."""
        names = list(dict.fromkeys(each.target for each in self.scores))
        own = (each for each in self.scores if (each.metric, each.network) == ("cross_entropy", self.network))
        values = {each.target: each.value for each in own if each.value == each.value}
        return sorted(names, key=lambda name: (name != self.control, values.get(name, float("inf"))))

    @property
    def control(self) -> str | None:
        """What targets are compared with: `hard`, else the first; None where there is only one."""
        return control_among([each.target for each in self.scores])

    @property
    def network(self) -> str:
        """The network that charts are of: the one with the most targets."""
        names = [each.network for each in self.scores if each.metric == self.scores[0].metric]
        return max(dict.fromkeys(names), key=names.count) if names else ""

    @property
    def networks(self) -> list[str]:
        return list(dict.fromkeys(each.network for each in self.scores))

    def drawn(self, most: int = MOST_NAMED) -> list[str]:
        """The targets of the network in charts: all, or the control, `soft` and those with the lowest cross-entropy."""
        trained = {each.target for each in self.scores if each.network == self.network}
        own = [each for each in self.targets if each in trained]
        first = [each for each in (self.control, SOFT) if each in own]
        kept = {*first, *[each for each in own if each not in first][: most - len(first)]}
        return [each for each in own if each in kept]

    def of_metric(self, metric: str, *, scores: Sequence[RunScore] | None = None) -> list[RunScore]:
        """The scores of the network in charts, of one metric, in the order of `targets`."""
        own = self.scores if scores is None else scores
        found = [each for each in own if each.metric == metric and each.network == self.network]
        return sorted(found, key=lambda each: self.targets.index(each.target))

    def difference(self, metric: str, target: str) -> Difference | None:
        """How far `target` is from the control, of the network in charts, over all items."""
        own = (each for each in self.differences if each.network == self.network)
        return next((each for each in own if (each.metric, each.target) == (metric, target)), None)

    @property
    def treated(self) -> str | None:
        """The target that findings are about: `soft`, else the first by name beside the control. Never the best one,
        whose lead would in part be luck."""
        others = sorted(each for each in self.drawn() if each != self.control)
        if self.control is None or not others:
            return None
        return SOFT if SOFT in others else others[0]

    @cached_property
    def beside(self) -> dict[str, list[MatchedLabels]]:
        """Every training of the targets drawn beside people's labels, by target: the same items in the same order."""
        people = self.evidence.main_labels
        own = [run for run in self.runs if run.network == self.network and run.target in self.drawn()]
        if people is None or not own:
            return {}
        with warnings.catch_warnings():
            # That runs predict different items was said when they were scored.
            warnings.simplefilter("ignore", SfumatoWarning)
            found = match_runs(own, people=people, common=True)
        by_target: dict[str, list[MatchedLabels]] = {name: [] for name in self.drawn()}
        for run, matched in zip(own, found, strict=True):
            by_target[run.target].append(matched)
        return {name: each for name, each in by_target.items() if each}

    @cached_property
    def folders(self) -> list[RunFound]:
        """The folders of the runs; none where there is only a table of predictions a target."""
        place = self.evidence.runs
        return find_runs([place]) if place is not None and any(place.rglob(RUN)) else []

    @property
    def n_seeds(self) -> int:
        return max((each.n_seeds for each in self.scores), default=0)

    def only_drawn(self, most: int = MOST_NAMED) -> str:
        """What is said where not all targets are drawn; empty where they are, and one network."""
        left = len(self.targets) - len(self.drawn(most))
        always = "the control, soft" if SOFT in self.targets else "the control"
        said = f" Of {len(self.targets)} targets, {len(self.drawn(most))} are drawn: {always} and those "
        said += "with the lowest cross-entropy."
        other = f" The network is `{self.network}`." if len(self.networks) > 1 else ""
        return (said if left > 0 else "") + other


def control_among(targets: Sequence[str]) -> str | None:
    """What the others are compared with: `hard`, else the first."""
    names = list(dict.fromkeys(targets))
    if len(names) < 2:
        return None
    return CONTROL if CONTROL in names else names[0]


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
