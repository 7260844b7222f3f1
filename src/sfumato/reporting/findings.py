"""The findings of a report: a few sentences about people, models and the plan, computed from the data."""

from __future__ import annotations

from sfumato.reporting.model_scores import CORRELATIONS, ModelScores
from sfumato.reporting.phrases import (
    SHARE,
    THESE_PEOPLE,
    capitalized,
    comparison_sentence,
    counted,
    dissent_sentence,
    for_whom,
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
from sfumato.tables.soft_labels import SoftLabels

MAX_FINDINGS = 6
OUTCOMES = {
    "cross_entropy": ("are closer to {scored}", "are further from {scored}"),
    "accuracy": ("choose people's first choice more often", "choose people's first choice less often"),
    "ece": ("are better calibrated", "are worse calibrated"),
    "dissent_pearson": ("match people's uncertainty better", "match people's uncertainty less well"),
    "entropy_pearson": ("match people's uncertainty better", "match people's uncertainty less well"),
}
"""How a difference in a metric is described: if better, and if worse. `{scored}` is what models are scored against."""


def findings(evidence: ReportInputs, models: ModelScores | None) -> tuple[str, ...]:
    """At most six sentences: about people, about models compared with the control, and about the plan."""
    people = _about_people(evidence)
    compared: list[str] = []
    if models is not None and models.treatment is not None:
        uncertainty = next((each for each in CORRELATIONS if models.difference(each) is not None), "")
        metrics = [each for each in OUTCOMES if each == uncertainty or each not in CORRELATIONS]
        found = [models.difference(metric) for metric in metrics]
        whose = _models_of(models)
        compared = [finding(each, models.level, whose, models.scored) for each in found if each is not None]
        compared = [f"{compared[0]} Scores are against {models.against}.", *compared[1:]] if compared else []
    elif models is not None and models.scores:
        compared = [_single_target(models)]
    plan = [] if evidence.plan is None else [f"Next: {decision(evidence.plan)}"]
    room = MAX_FINDINGS - len(plan)
    return (*[*people[: max(room - len(compared), 1)], *compared][:room], *plan)


def _about_people(evidence: ReportInputs) -> list[str]:
    """What people did, from their votes; without votes only what the labels are."""
    votes, labels, original = evidence.votes, evidence.main_labels, evidence.original
    if votes is not None:
        mean = evidence.mean_doubt
        leading = [] if mean is None or mean.dissent is None else [dissent_sentence(mean, for_whom(mean))]
        intervals = f" These intervals are {THESE_PEOPLE}." if votes.several.any() else ""
        sentences = [*leading, f"{votes.disagreement()}{intervals}"]
        compared, first = votes.shares(), "people's first choice"
    elif labels is not None and len(labels):
        sentences, compared, first = [_about_labels(labels)], labels, "the most probable class"
    else:
        return []
    if original is not None and set(original.classes) <= set(compared.classes):
        found = changed_majority(compared, original)
        n, share = len(found.rows), share_of(len(found.rows), found.n_items)
        shown = f"{share.percent().removesuffix(')')}; {THESE_PEOPLE})"
        text = f"For {n:,} of {counted(share.n, 'item')}, {shown}, {first} differs from the original label."
        # Second, so that a report with many findings still has it.
        sentences = [*sentences[:1], text, *sentences[1:]] if share.n else sentences
    if evidence.camps is not None and evidence.camps.found:
        sentences.insert(1, f"{capitalized(evidence.camps.sentence())}.")
    return sentences


def _about_labels(labels: SoftLabels) -> str:
    """The labels alone: with smoothing or an estimate of the truth they do not show who disagreed."""
    most = mean_of(labels.probs.max(axis=1), SHARE)
    return (
        f"The most probable class has {most.percent()} of a label on average. How many people disagree is unknown: the "
        "report has labels, but not the votes (beliefs or counts)."
    )


def _models_of(models: ModelScores) -> str:
    """How models are named: by the target they were trained on, if their runs are there; else only predictions are."""
    return "models trained on" if models.folders else "predictions of"


def finding(difference: Difference, level: float, models: str, scored: str) -> str:
    """A difference between two targets as a sentence; `models` stands before their names, and `scored` is what they are
    scored against."""
    if difference.verdict not in ("better", "worse"):
        return comparison_sentence(difference, level)
    outcome = OUTCOMES[difference.metric][difference.verdict == "worse"].format(scored=scored)
    return (
        f"{capitalized(models)} `{difference.target}` {outcome} than {models} `{difference.baseline}`: "
        f"{metric_title(difference.metric)} {values_text(difference, level)}."
    )


def _single_target(models: ModelScores) -> str:
    """The scores of the only target."""
    rows = {row.metric: row for row in models.of_metric("accuracy") + models.of_metric("cross_entropy")}
    scores = [f"{metric_title(name)} {number_text(row.value)}" for name, row in rows.items() if row.value == row.value]
    reached = f"{capitalized(_models_of(models))} `{models.targets[0]}` reach {' and '.join(scores)}"
    return f"{reached} against {models.against}."
