"""Report sections: training targets compared with paired tests, and scores of single prediction tables."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.reporting.blocks import Block, Column, Prose, ReportTable
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.comparison import intervals
from sfumato.reporting.charts.field import Field
from sfumato.reporting.model_scores import AGREE, DISAGREE, ModelScores
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import (
    JOIN,
    difference_text,
    evaluation_source,
    excludes_zero,
    interval_text,
    metric_title,
    number_text,
    widest_interval,
)
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.scores import ALL, Difference, RunScore, Scores

TITLE = "Comparison of training targets"
RIGHT = ("accuracy", "second_best_accuracy", "accuracy_original")
DIFFERING = ("accuracy", "cross_entropy", "ece")
MAX_TESTS = 24
"""If there are more comparisons, only those of three metrics are listed."""
MAX_ACROSS = 5
"""The most targets that are columns of a table; more are rows."""
NEAR = ("cross_entropy", "kl_divergence", "brier")
TWO_LINES = "The thin line is the interval over seeds (t), the thick line the interval over items (bootstrap)."


def targets_section(models: ModelScores) -> Section | None:
    """Scores of every target with intervals over seeds and items, paired tests against the control, and scores by
    agreement stratum."""
    if not models.scores:
        return None
    blocks: list[Block] = [Prose(tuple(_words(models)))]
    blocks += _charts(models)
    blocks += [_scores_listed(models)]
    if models.differences:
        blocks += [_differences_chart(models), _differences_listed(models)]
    if models.stratum_scores:
        blocks += _in_strata(models)
    return Section(TITLE, tuple(blocks))


def _words(models: ModelScores) -> list[str]:
    n_targets, n_seeds = len(models.targets), models.n_seeds
    n_items = max(each.n_items for each in models.scores)
    sentences = [
        f"{n_targets} target{'s' * (n_targets != 1)} ({', '.join(f'`{each}`' for each in models.targets)}) with "
        f"{n_seeds} seed{'s' * (n_seeds != 1)} per target were tested on {n_items:,} items that were not used for "
        "training. All scores are against people's labels. Runs with the same seed start with the same weights and see "
        "the same batches, so that targets are compared by seed and by item."
    ]
    if n_seeds < 2:
        sentences.append("With one seed, intervals cover only the choice of items, not another training.")
    if models.control is not None and models.treatment is not None:
        found = models.difference("cross_entropy", models.treatment)
        if found is not None:
            sentences.append(comparison_sentence(found, models.level))
    return sentences


def comparison_sentence(difference: Difference, level: float, where: str = "") -> str:
    """Two targets compared by one metric; `where` states a subset of items or a condition."""
    target, control = f"`{difference.target}`", f"`{difference.baseline}`"
    metric = metric_title(difference.metric)
    values = f"{number_text(difference.value)} and {number_text(difference.baseline_value)}"
    result = f"{values}, {difference_text(difference, level)}"
    if excludes_zero(difference):
        return f"{metric[:1].upper()}{metric[1:]} of {target} and {control}{where}: {result}."
    return f"No significant difference in {metric} between {target} and {control}{where}: {result}."


def _charts(models: ModelScores) -> list[Chart]:
    made = [
        ("right", "Accuracy against people's labels", f"Higher is better. {TWO_LINES}", RIGHT),
        ("near", "Distance from people's labels", f"Lower is better. {TWO_LINES}", NEAR),
    ]
    return [
        chart
        for name, title, caption, metrics in made
        if (chart := score_panels(models, name, title, caption, metrics)) is not None
    ]


def score_panels(models: ModelScores, name: str, title: str, caption: str, metrics: Sequence[str]) -> Chart | None:
    """One panel per metric, one row per target; None if none of the metrics was scored."""
    rows = [row for metric in metrics for row in models.of_metric(metric) if row.target in models.shown_targets()]
    rows = [row for row in rows if row.value == row.value]
    if not rows:
        return None
    return intervals(
        name,
        title=title,
        caption=caption + models.subset_note(),
        data={"metric": [metric_title(row.metric) for row in rows], **score_columns(rows)},
        of="target",
        value=Field("value", "value", ".3~g"),
        panel="metric",
        low="low",
        high="high",
        inner_low="items_low",
        inner_high="items_high",
        tooltip=(Field("items_low", "interval over items, from", ".3~g"), Field("items_high", "to", ".3~g")),
        source=evaluation_source(models.evidence, metrics_of(models), resamples=models.resamples),
    )


def metrics_of(models: ModelScores) -> list[str]:
    """The metrics scored over all items."""
    return list(dict.fromkeys(row.metric for row in models.scores))


def score_columns(rows: Sequence[RunScore]) -> dict[str, list[object]]:
    """Scores as chart columns."""
    names = ("target", "value", "low", "high", "items_low", "items_high", "n_seeds", "n_items")
    return {name: [getattr(row, name) for row in rows] for name in names}


def _scores_listed(models: ModelScores) -> ReportTable:
    metrics = [metric for metric in metrics_of(models) if metric != "entropy_pearson"]
    cells = {(row.target, row.network, row.metric): row for row in models.scores}
    found = sorted({(row.target, row.network) for row in models.scores}, key=lambda each: models.targets.index(each[0]))
    several = len(models.networks) > 1
    named = [f"{target}, {network}" if several else target for target, network in found]
    if len(found) <= MAX_ACROSS:
        # Few targets are columns, which are easier to compare.
        columns = [Column("metric", tuple(metric_title(metric) for metric in metrics))]
        columns += [
            Column(name, tuple(_with_spread(cells.get((*each, metric))) for metric in metrics))
            for name, each in zip(named, found, strict=True)
        ]
    else:
        columns = [Column("target", tuple(named))]
        columns += [
            Column(metric_title(metric), tuple(_with_spread(cells.get((*each, metric))) for each in found))
            for metric in metrics
        ]
    return ReportTable(
        "scores",
        "All targets and metrics",
        f"Means over seeds ± half the {models.level:.0%} t interval over seeds.",
        tuple(columns),
        evaluation_source(models.evidence, metrics_of(models), resamples=models.resamples),
    )


def _with_spread(score: RunScore | None) -> str | None:
    if score is None or score.value != score.value:
        return None
    return (
        number_text(score.value)
        if score.low != score.low
        else f"{number_text(score.value)}{JOIN}±{JOIN}{(score.high - score.low) / 2:.3f}"
    )


def _differences_chart(models: ModelScores) -> Chart:
    own = [
        each for each in models.differences if each.network == models.network and each.target in models.shown_targets()
    ]
    order = {name: k for k, name in enumerate(models.shown_targets())}
    rows = [each for metric in DIFFERING for each in own if each.metric == metric]
    rows.sort(key=lambda each: (DIFFERING.index(each.metric), order[each.target]))
    ends = [widest_interval(each) for each in rows]
    n_apart = sum(excludes_zero(each) for each in rows)
    return intervals(
        "differences",
        title=f"Differences from {models.control}",
        caption=f"Each target minus {models.control}, paired by seed. {n_apart} of {len(rows)} intervals exclude 0 "
        f"(the dashed line). Intervals cover seeds and items{_of_seeds_alone(rows)}.{models.subset_note()}",
        data={
            "metric": [metric_title(each.metric) for each in rows],
            "target": [each.target for each in rows],
            "difference": [each.difference for each in rows],
            "low": [low for low, _, _ in ends],
            "high": [high for _, high, _ in ends],
            "p_corrected": [each.p_corrected for each in rows],
        },
        of="target",
        value=Field("difference", "difference", ".3~g"),
        panel="metric",
        low="low",
        high="high",
        zero_line=True,
        tooltip=(Field("p_corrected", "corrected p", ".3~g"),),
        source=evaluation_source(models.evidence, metrics_of(models), resamples=models.resamples),
    )


def _of_seeds_alone(rows: Sequence[Difference]) -> str:
    """The metrics without an interval over items, as the end of a sentence."""
    names = dict.fromkeys(metric_title(each.metric) for each in rows if each.both_low != each.both_low)
    return f"; for {' and '.join(names)} only seeds" if names else ""


def _differences_listed(models: ModelScores) -> ReportTable:
    rows = [each for metric in metrics_of(models) for each in models.differences if each.metric == metric]
    rows = [each for each in rows if each.metric != "entropy_pearson" and each.difference == each.difference]
    left_out = ""
    if len(rows) > MAX_TESTS:
        rows = [each for each in rows if each.metric in DIFFERING]
        left_out = " The command below writes all metrics."
    several = len(models.networks) > 1
    correction = next((each.correction for each in rows), "none")
    ends = [widest_interval(each) for each in rows]
    why = next((each.wilcoxon for each in rows if each.p_wilcoxon != each.p_wilcoxon and each.wilcoxon), "")
    tested = any(each.p_wilcoxon == each.p_wilcoxon for each in rows)
    few = f" Wilcoxon's test is omitted: {why}." if why and not tested else ""
    return ReportTable(
        "tests",
        f"Paired tests against {models.control}",
        f"Paired t-test over seeds, corrected by {correction} comparisons per metric. A result is better or worse if "
        f'the corrected p is below {1 - models.level:.2g} and the interval excludes 0; "on these items" if only the '
        f"first holds. Intervals cover seeds and items; those marked * cover only seeds.{few}{left_out}",
        (
            Column("metric", tuple(metric_title(each.metric) for each in rows)),
            Column("target", tuple(f"{r.target}, {r.network}" if several else r.target for r in rows)),
            Column("difference", tuple(number_text(each.difference, signed=True) for each in rows)),
            Column(
                f"{models.level:.0%} CI",
                tuple(
                    interval_text(low, high, signed=True) + ("" if each.both_low == each.both_low else f"{JOIN}*")
                    for each, (low, high, _) in zip(rows, ends, strict=True)
                ),
            ),
            Column("corrected p", tuple(_p(each.p_corrected) for each in rows)),
            *([Column("Wilcoxon p", tuple(_p(each.p_wilcoxon) for each in rows))] if tested else []),
            Column("result", tuple(_result(each) for each in rows)),
        ),
        evaluation_source(models.evidence, metrics_of(models), resamples=models.resamples),
    )


def _result(difference: Difference) -> str:
    """The verdict of the test over seeds, limited to these items if the interval over items contains 0."""
    if not difference.verdict:
        return "no difference shown"
    return difference.verdict if excludes_zero(difference) else f"{difference.verdict}, on these items"


def _p(value: float) -> str | None:
    if value != value:
        return None
    return f"<{JOIN}0.001" if value < 0.001 else f"{value:.3f}"


def _in_strata(models: ModelScores) -> list[Block]:
    rows: list[RunScore] = []
    for metric in ("accuracy", "cross_entropy"):
        for stratum in (AGREE, DISAGREE):
            own = [row for row in models.stratum_scores if row.condition == stratum]
            rows += [row for row in models.of_metric(metric, scores=own) if row.target in models.shown_targets()]
    rows = [row for row in rows if row.value == row.value]
    if not rows:
        return []
    counts = {row.condition: row.n_items for row in rows}
    strata = ", ".join(f"{name} about {n:,} items" for name, n in counts.items())
    chart = intervals(
        "strata",
        title="Scores by agreement between people",
        caption=f"Strata: {strata}. People disagree if not all chose the same class. {TWO_LINES}",
        data={"panel": [f"{metric_title(row.metric)}: {row.condition}" for row in rows], **score_columns(rows)},
        of="target",
        value=Field("value", "value", ".3~g"),
        panel="panel",
        low="low",
        high="high",
        inner_low="items_low",
        inner_high="items_high",
        tooltip=(Field("n_items", "items", ",d"),),
        source=evaluation_source(
            models.evidence, ("accuracy", "cross_entropy"), strata=True, resamples=models.resamples
        ),
    )
    return [Prose(tuple(_stratum_words(models))), chart]


def _stratum_words(models: ModelScores) -> list[str]:
    sentences = []
    for stratum in (DISAGREE, AGREE):
        own = (
            each
            for each in models.stratum_differences
            if (each.condition, each.metric, each.target, each.network)
            == (stratum, "cross_entropy", models.treatment, models.network)
        )
        found = next(own, None)
        if found is not None and found.difference == found.difference:
            sentences.append(comparison_sentence(found, models.level, f" where {stratum}"))
    return sentences


SINGLE_TITLE = "Scores of predictions"


def single_scores_section(evidence: ReportInputs) -> Section | None:
    """One table per score table of a single set of predictions; None without such tables."""
    tables = {name: each for name, each in evidence.scores.items() if isinstance(each, Scores) and len(each)}
    if not tables:
        return None
    text = (
        "Scores of predictions against people's labels. Intervals cover the choice of items, not another training; the "
        "floor is the best possible score for these items."
    )
    return Section(SINGLE_TITLE, (Prose((text,)), *(_listed(evidence, name, table) for name, table in tables.items())))


def _listed(evidence: ReportInputs, name: str, scores: Scores) -> ReportTable:
    rows = [row for row in scores.rows() if row.value == row.value]
    return ReportTable(
        f"scores-of-{''.join(c if c.isalnum() else '-' for c in name)}",
        evidence.title_of(name),
        "One row per metric and condition.",
        (
            Column("metric", tuple(metric_title(row.metric) for row in rows)),
            Column("items", tuple("all" if row.condition == ALL else row.condition for row in rows)),
            Column("value", tuple(row.value for row in rows), 3),
            Column("interval", tuple(interval_text(row.low, row.high) for row in rows)),
            Column("floor", tuple(None if row.floor != row.floor else row.floor for row in rows), 3),
            Column("number of items", tuple(row.n_items for row in rows), 0),
        ),
        evidence.source("scores" if name == "scores" else f"scores/{name}"),
    )
