"""Findings: what this data shows, in a few sentences that it decides itself."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from sfumato.evaluation.comparison import Difference
from sfumato.evaluation.strata import ROUNDING
from sfumato.reporting.model_scores import ModelScores
from sfumato.reporting.phrases import figure, is_apart, mean_of, share_of, told, worded
from sfumato.reporting.plan_page import decision
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.soft_labels import SoftLabels

MOST = 6
ABOUT = {
    "cross_entropy": ("come nearer to how people judge", "are further from how people judge"),
    "accuracy": ("choose people's first choice more often", "choose people's first choice less often"),
    "ece": ("are better calibrated", "are worse calibrated"),
    "entropy_pearson": ("doubt more nearly what people doubt", "doubt less nearly what people doubt"),
}
"""How a difference is said, by metric: for the better, and for the worse."""
HIGH_IS_BETTER = ("accuracy", "entropy_pearson")


def findings(evidence: ReportInputs, models: ModelScores | None) -> tuple[str, ...]:
    """Three to six sentences, where there is so much to say: of people, of models against a control, of the plan."""
    said = [*_of_people(evidence)]
    compared = [] if models is None else _of_models(models)
    plan = [] if evidence.plan is None else [f"Next: {decision(evidence.plan)}"]
    room = MOST - len(plan)
    return (*[*said[: max(room - len(compared), 1)], *compared][:room], *plan)


def _of_people(evidence: ReportInputs) -> list[str]:
    labels = evidence.main_labels
    if labels is None or not len(labels):
        return []
    doubted = int((labels.probs.max(axis=1) < 1 - ROUNDING).sum())
    said = [
        f"People disagree about {doubted:,} of {len(labels):,} items: {share_of(doubted, len(labels)).percent()}. "
        f"{_typical(labels)}"
    ]
    if evidence.original is not None and (other := _differing(labels, evidence.original)) is not None:
        said.append(other)
    return said


def _typical(labels: SoftLabels) -> str:
    return (
        f"The class most of them choose has {mean_of(labels.probs.max(axis=1)).percent()} of their answers on average."
    )


def _differing(labels: SoftLabels, original: SoftLabels) -> str | None:
    """How often people's first choice is another class than the item came with."""
    place = pc.index_in(labels.items, value_set=original.items).fill_null(-1).to_numpy().astype(np.int64)
    rows = np.flatnonzero(place >= 0)
    if not len(rows) or not set(original.classes) <= set(labels.classes):
        return None
    columns = [labels.classes.index(name) for name in original.classes]
    theirs = np.array(columns)[original.probs[place[rows]].argmax(axis=1)]
    ours = labels.probs[rows]
    other = int((ours[np.arange(len(rows)), theirs] < ours.max(axis=1) - ROUNDING).sum())
    return (
        f"For {other:,} of {len(rows):,} items, {share_of(other, len(rows)).percent()}, people's first choice is "
        "another class than the original label."
    )


def _of_models(models: ModelScores) -> list[str]:
    if models.treated is None:
        return [_alone(models)] if models.scores else []
    found = [models.difference(metric, models.treated) for metric in ABOUT]
    return [said(each, models.level) for each in found if each is not None and each.difference == each.difference]


def said(difference: Difference, level: float) -> str:
    """A difference between two targets as a finding; where its interval holds 0, that they cannot be told apart."""
    better, worse = ABOUT[difference.metric]
    metric = worded(difference.metric)
    one, other = f"`{difference.target}`", f"`{difference.baseline}`"
    values = f"{figure(difference.value)} against {figure(difference.baseline_value)}"
    apart = f"a difference of {told(difference, level)}"
    if not is_apart(difference):
        return f"By {metric}, models that learnt {one} and {other} cannot be told apart: {values}, {apart}."
    gains = (difference.difference > 0) == (difference.metric in HIGH_IS_BETTER)
    how = better if gains else worse
    return f"Models that learnt {one} {how} than those that learnt {other}: {metric} {values}, {apart}."


def _alone(models: ModelScores) -> str:
    """One target only: its scores, for there is nothing to compare them with."""
    rows = {row.metric: row for row in models.of_metric("accuracy") + models.of_metric("cross_entropy")}
    parts = [f"{worded(name)} {figure(row.value)}" for name, row in rows.items() if row.value == row.value]
    return f"Models that learnt `{models.targets[0]}` reach {' and '.join(parts)} against people; no other was trained."
