"""Trained models: the figures of runs, measured once for all sections that show them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sfumato.evaluation.comparison import Difference
from sfumato.evaluation.matched_labels import MatchedLabels, compared_runs
from sfumato.evaluation.run_predictions import RUN, RunPredictions
from sfumato.evaluation.run_scores import RunMeasurements
from sfumato.evaluation.training_dynamics import RunFound, find_runs
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.errors import SfumatoWarning
from sfumato.tables.scores import RunScore
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
            found = compared_runs(own, people=people, common=True)
        by_target: dict[str, list[MatchedLabels]] = {name: [] for name in self.drawn()}
        for run, compared in zip(own, found, strict=True):
            by_target[run.target].append(compared)
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
