"""Scores of trained models, arranged for the sections of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sfumato.evaluation.epoch_predictions import RunFound, find_runs
from sfumato.evaluation.matched_labels import MatchedLabels
from sfumato.evaluation.run_predictions import RUN, RunPredictions, default_baseline, match_runs
from sfumato.reporting.blocks import DataSource
from sfumato.reporting.phrases import AT_LARGE, THESE_PEOPLE, comparison_sentence
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.errors import warnings_off
from sfumato.tables.scores import Difference, RunScore, RunScores
from sfumato.tables.soft_labels import SoftLabels

SOFT = "soft"
AGREE, DISAGREE = "people agree", "people disagree"
CORRELATIONS = ("dissent_pearson", "entropy_pearson")
"""The correlation of a model's uncertainty with people's: corrected for chance in the votes, and as it is."""
MAX_NAMED = 8
"""The most targets named in a chart; tables have all."""
MAX_COLORS = 6
"""The most targets drawn as lines: more colors are hard to distinguish."""


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
    n_unpaired: int = 0
    """Runs that are left out, because not all targets have their seed."""

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
        return default_baseline([each.target for each in self.scores])

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

    def of_metric(
        self, metric: str, scores: Sequence[RunScore] | None = None, *, shown: bool = False
    ) -> list[RunScore]:
        """The scores of one metric, of the network shown in charts, in the order of `targets`.

        With `shown`, only those that a chart can show: of its targets, and not NaN.
        """
        own = self.scores if scores is None else scores
        found = [each for each in own if each.metric == metric and each.network == self.network]
        if shown:
            found = [each for each in found if each.target in self.shown_targets() and each.value == each.value]
        return sorted(found, key=lambda each: self.targets.index(each.target))

    def difference(self, metric: str, differences: Sequence[Difference] | None = None) -> Difference | None:
        """The difference between treatment and control, of the network shown in charts; None if it is unknown."""
        own = self.differences if differences is None else differences
        wanted = (metric, self.treatment, self.network)
        found = (each for each in own if (each.metric, each.target, each.network) == wanted)
        return next((each for each in found if each.difference == each.difference), None)

    def compared(self, metric: str, differences: Sequence[Difference] | None = None, where: str = "") -> list[str]:
        """A sentence that compares treatment and control; none if their difference is unknown."""
        found = self.difference(metric, differences)
        return [] if found is None else [comparison_sentence(found, self.level, where)]

    @property
    def treatment(self) -> str | None:
        """The target that findings are about: `soft`, else that of the first label set (`soft@equal`), else the first
        other target by name. Never the best one, whose lead would partly be chance."""
        others = sorted(each for each in self.shown_targets() if each != self.control)
        if self.control is None or not others:
            return None
        of_sets = [each for each in others if each.startswith(f"{SOFT}@")]
        return SOFT if SOFT in others else (of_sets or others)[0]

    @cached_property
    def matched(self) -> dict[str, list[MatchedLabels]]:
        """The predictions of every shown run with people's labels, by target; all have the same items in the same
        order."""
        people = self.evidence.people_labels
        own = [run for run in self.runs if run.network == self.network and run.target in self.shown_targets()]
        if people is None or not own:
            return {}
        # Scoring has already warned about runs with different items.
        with warnings_off():
            found = match_runs(own, people=people, common=True, any_estimand=True)
        by_target: dict[str, list[MatchedLabels]] = {name: [] for name in self.shown_targets()}
        for run, labels in zip(own, found, strict=True):
            by_target[run.target].append(labels)
        return {name: each for name, each in by_target.items() if each}

    @cached_property
    def folders(self) -> list[RunFound]:
        """The run folders; empty if there are only tables of predictions."""
        place = self.evidence.runs
        return find_runs([place]) if place is not None and any(place.rglob(RUN)) else []

    @cached_property
    def is_of_targets(self) -> bool:
        """Whether training targets are compared: there are run folders, networks or several seeds, not only one table
        of predictions per model."""
        return bool(self.folders) or any(row.network or row.n_seeds > 1 for row in self.scores)

    @property
    def noun(self) -> str:
        """What is compared, in tables and charts: `target`, or `model` if only predictions are known."""
        return "target" if self.is_of_targets else "model"

    @property
    def covered(self) -> str:
        """What the intervals of scores cover, in words."""
        names = ["items"]
        if any(row.n_seeds > 1 for row in self.scores):
            names.insert(0, "seeds")
        if self.has_people:
            names.append("people")
        return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

    @property
    def has_people(self) -> bool:
        """Whether intervals of scores are over people too."""
        return any(row.se_people == row.se_people for row in self.scores)

    @property
    def table(self) -> str | None:
        """The name of the score table that was read; None if the report scored the models."""
        return next((name for name, each in self.evidence.scores.items() if isinstance(each, RunScores)), None)

    @property
    def scored(self) -> str:
        """What the models are scored against, in two or three words."""
        is_of_answers = self.has_people or (self.table is None and self.evidence.people_answers is not None)
        return "people's single answers" if is_of_answers else "people's labels"

    @property
    def against(self) -> str:
        """The same in full: whose answers, or which labels."""
        evidence = self.evidence
        if self.table is not None:
            return self.scored
        answers, labels = evidence.people_answers, evidence.people_labels
        origin = evidence.origins.get(evidence.people_part)
        file = f" in `{origin.file}`" if origin is not None and origin.file else ""
        if answers is not None:
            n = len(answers.annotator.names)
            return f"the single answers of {n:,} {'person' if n == 1 else 'people'}{file}"
        made = f" made by `{labels.made_by}`" if labels is not None and labels.made_by is not None else ""
        return f"people's labels{file}{made}"

    @property
    def crowd(self) -> str:
        """Which people the intervals of scores are for, and why, as a sentence."""
        if self.has_people:
            return f"Intervals are {AT_LARGE}: they are over other people too."
        why = ""
        if self.table is None and self.evidence.people_answers is None:
            why = ", because labels do not show who gave which answer"
        elif self.evidence.people_answers is not None and len(self.evidence.people_answers.annotator.names) == 1:
            why = ", because one person gave all answers"
        return f"Intervals are {THESE_PEOPLE}: the crowd is taken as fixed{why}."

    @property
    def mean(self) -> str:
        """How the values of several seeds are combined, as the start of a sentence; empty without seeds."""
        return "Means over seeds. " if any(row.n_seeds > 1 for row in self.scores) else ""

    def folders_with(self, file: str, target: str) -> list[Path]:
        """The folders of one target's runs, of the network shown in charts, that have this file."""
        own = (run.path for run in self.folders if (run.target, run.network) == (target, self.network))
        return [path for path in own if (path / file).is_file()]

    def subset_note(self, most: int = MAX_NAMED) -> str:
        """A sentence that names the targets shown, if not all are; and the network, if there are several."""
        n_shown = len(self.shown_targets(most))
        always = "the control, soft" if SOFT in self.targets else "the control"
        which = f"{always} and those with the lowest cross-entropy"
        subset = f"{n_shown} of {len(self.targets)} {self.noun}s are shown: {which}."
        network = f" The network is `{self.network}`." if len(self.networks) > 1 else ""
        return (f" {subset}" if n_shown < len(self.targets) else "") + network

    @property
    def metrics(self) -> list[str]:
        """The metrics scored over all items."""
        return list(dict.fromkeys(row.metric for row in self.scores))

    def source(
        self, metrics: Sequence[str] = (), *, strata: bool = False, resamples: int = 0, folder: str = "runs",
        against_original: bool = False,
    ) -> DataSource:  # fmt: skip
        """The score table that was read, else the command that computes it; all metrics unless some are given.

        `against_original`: the numbers are also scores against the original labels.
        """
        evidence = self.evidence
        runs, original = evidence.origins.get(folder), evidence.origins.get("original")
        table = self.table
        if table is not None and (folder == "runs" or runs is None):
            return evidence.source("scores" if table == "scores" else f"scores/{table}")
        people = evidence.origins.get(evidence.people_part)
        metrics = metrics or self.metrics
        against_original |= "accuracy_original" in metrics
        parts = [
            f"sfumato evaluate --runs {runs.file if runs else 'RUNS'} --people {people.file if people else 'PEOPLE'}",
            *([f"--original {original.file}"] if original is not None and against_original else []),
            f"--metrics {','.join(metrics)}",
            *(["--strata STRATA.csv"] if strata else []),
            f"--resamples {resamples or self.resamples} --common -o scores.csv --differences differences.csv",
        ]
        note = f"{self.mean}Items are resampled with seed 0."
        if evidence.people_answers is not None and evidence.excluded:
            note += " The answers are without those of the annotators that screening excluded."
        if strata:
            note += " STRATA.csv has the columns item and stratum: whether the votes of an item are all for one class."
        return DataSource(" ".join(parts), runs.file if runs else "", note)
