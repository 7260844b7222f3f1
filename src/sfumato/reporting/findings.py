"""The findings of a report: a few sentences about people, models and the plan, computed from the data."""

from __future__ import annotations

from sfumato.evaluation.strata import ROUNDING
from sfumato.reporting.model_scores import ModelScores
from sfumato.reporting.phrases import (
    comparison_sentence,
    excludes_zero,
    mean_of,
    metric_title,
    number_text,
    share_of,
    values_text,
)
from sfumato.reporting.plan_page import decision
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.reporting.sections.label_changes import changed_majority
from sfumato.tables.scores import Difference

MAX_FINDINGS = 6
OUTCOMES = {
    "cross_entropy": ("are closer to people's labels", "are further from people's labels"),
    "accuracy": ("choose people's first choice more often", "choose people's first choice less often"),
    "ece": ("are better calibrated", "are worse calibrated"),
    "entropy_pearson": ("match people's uncertainty better", "match people's uncertainty less well"),
}
"""How a difference in a metric is described: if better, and if worse."""
HIGH_IS_BETTER = ("accuracy", "entropy_pearson")


def findings(evidence: ReportInputs, models: ModelScores | None) -> tuple[str, ...]:
    """At most six sentences: about people, about models compared with the control, and about the plan."""
    people = _about_people(evidence)
    compared: list[str] = []
    if models is not None and models.treatment is not None:
        found = [models.difference(metric) for metric in OUTCOMES]
        compared = [finding(each, models.level) for each in found if each is not None]
    elif models is not None and models.scores:
        compared = [_single_target(models)]
    plan = [] if evidence.plan is None else [f"Next: {decision(evidence.plan)}"]
    room = MAX_FINDINGS - len(plan)
    return (*[*people[: max(room - len(compared), 1)], *compared][:room], *plan)


def _about_people(evidence: ReportInputs) -> list[str]:
    labels = evidence.main_labels
    if labels is None or not len(labels):
        return []
    most = labels.probs.max(axis=1)
    disputed = int((most < 1 - ROUNDING).sum())
    sentences = [
        f"People disagree about {disputed:,} of {len(labels):,} items: {share_of(disputed, len(labels)).percent()}. "
        f"The majority class has {mean_of(most).percent()} of the answers on average."
    ]
    original = evidence.original
    if original is not None and set(original.classes) <= set(labels.classes):
        found = changed_majority(labels, original)
        n, share = len(found.rows), share_of(len(found.rows), found.n_items)
        text = (
            f"For {n:,} of {share.n:,} items, {share.percent()}, people's first choice differs from the original label."
        )
        sentences += [text] if share.n else []
    return sentences


def finding(difference: Difference, level: float) -> str:
    """A difference between two targets as a sentence."""
    if not excludes_zero(difference):
        return comparison_sentence(difference, level)
    is_worse = (difference.difference > 0) != (difference.metric in HIGH_IS_BETTER)
    return (
        f"Models trained on `{difference.target}` {OUTCOMES[difference.metric][is_worse]} than models trained on "
        f"`{difference.baseline}`: {metric_title(difference.metric)} {values_text(difference, level)}."
    )


def _single_target(models: ModelScores) -> str:
    """The scores of the only target."""
    rows = {row.metric: row for row in models.of_metric("accuracy") + models.of_metric("cross_entropy")}
    scores = [f"{metric_title(name)} {number_text(row.value)}" for name, row in rows.items() if row.value == row.value]
    return f"Models trained on `{models.targets[0]}` reach {' and '.join(scores)} against people's labels."
