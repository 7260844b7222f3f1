"""Report sections: training targets compared with paired tests, and scores of single prediction tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.evaluation.score_floor import BOUND
from sfumato.reporting.blocks import Block, Column, Prose, ReportTable, attributes
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.comparison import intervals
from sfumato.reporting.charts.encoding_field import Field
from sfumato.reporting.model_scores import AGREE, CORRELATIONS, DISAGREE, ModelScores
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import (
    JOIN,
    counted,
    excludes_zero,
    interval_text,
    metric_title,
    number_text,
    p_text,
    result_text,
    widest_interval,
)
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.scores import ALL, Difference, RunScore, Score, Scores

TITLE, OF_MODELS = "Comparison of training targets", "Comparison of models"
"""The section's title; the second if only predictions are known, and not how the models were trained."""
RIGHT = ("accuracy", "second_best_accuracy", "accuracy_original")
DIFFERING = ("accuracy", "cross_entropy", "ece")
MAX_TESTS = 24
"""If there are more comparisons, only those of three metrics are listed."""
MAX_ACROSS = 5
"""The most targets that are columns of a table; more are rows."""
NEAR = ("cross_entropy", "kl_divergence", "brier")
SCORE: dict[str, Any] = {
    "of": "target", "value": Field("value", "value", ".3~g"), "low": "low", "high": "high", "inner_low": "items_low",
    "inner_high": "items_high",
}  # fmt: skip
"""How a score is drawn: its value, the interval over seeds, and the interval over items."""
SCORE_COLUMNS = ("target", "value", "low", "high", "items_low", "items_high", "n_seeds", "n_items")
TWO_LINES = "The thin line is the interval over seeds (t), the thick line the interval over items (bootstrap)."


def targets_section(models: ModelScores) -> Section | None:
    """Scores of every target with intervals over seeds and items, paired tests against the control, and scores by
    agreement stratum."""
    if not models.scores:
        return None
    right, near = f"Higher is better. {TWO_LINES}", f"Lower is better. {TWO_LINES}"
    blocks: list[Block] = [Prose(tuple(_words(models)))]
    blocks += score_panels(models, "right", "Accuracy against people's labels", right, RIGHT)
    blocks += score_panels(models, "near", "Distance from people's labels", near, NEAR)
    blocks += [_scores_listed(models)]
    if models.differences:
        blocks += [_differences_chart(models), _differences_listed(models)]
    return Section(TITLE if models.is_of_targets else OF_MODELS, (*blocks, *_in_strata(models)))


def _seeds(models: ModelScores) -> str:
    """How many seeds the scores are means of."""
    numbers = sorted({each.n_seeds for each in models.scores})
    return counted(numbers[0], "seed") if len(numbers) == 1 else f"{numbers[0]} to {counted(numbers[-1], 'seed')}"


def _words(models: ModelScores) -> list[str]:
    n_seeds, n_items = max(each.n_seeds for each in models.scores), max(each.n_items for each in models.scores)
    names, items = ", ".join(f"`{each}`" for each in models.targets), counted(n_items, "item")
    scored = "All scores are against people's labels."
    # What is known of training is in the folders of runs; predictions alone do not say how they were made.
    sentences = [
        f"{counted(len(models.targets), 'target')} ({names}) with {_seeds(models)} per target were tested on "
        f"{items} that were not used for training. {scored} Runs with the same seed start with the same weights and "
        "see the same batches, so that targets are compared by seed and by item."
        if models.folders
        else f"Predictions of {counted(len(models.targets), 'model')} ({names}) are scored on {items}. {scored}"
    ]
    if n_seeds < 2:
        single = "seed" if models.is_of_targets else "prediction per model"
        sentences.append(f"With one {single}, intervals cover only the choice of items, not another training.")
    if models.n_unpaired:
        sentences.append(
            "Scores and comparisons are over the seeds that all targets of a network have, so that both are of the "
            f"same runs ({counted(models.n_unpaired, 'run')} with other seeds left out)."
        )
    return [*sentences, *models.compared("cross_entropy")]


def score_panels(models: ModelScores, name: str, title: str, caption: str, metrics: Sequence[str]) -> list[Chart]:
    """One panel per metric, one row per target; empty if none of the metrics was scored."""
    rows = [row for metric in metrics for row in models.of_metric(metric, shown=True)]
    if not rows:
        return []
    chart = intervals(
        name,
        title=title,
        caption=caption + models.subset_note(),
        data={"metric": [metric_title(row.metric) for row in rows], **attributes(rows, *SCORE_COLUMNS)},
        panel="metric",
        tooltip=(Field("items_low", "interval over items, from", ".3~g"), Field("items_high", "to", ".3~g")),
        source=models.source(),
        **SCORE,
    )
    return [chart]


def _scores_listed(models: ModelScores) -> ReportTable:
    """All scores: few targets as columns, which are easier to compare, else as rows."""
    metrics = [metric for metric in models.metrics if metric not in CORRELATIONS]
    cells = {(row.target, row.network, row.metric): row for row in models.scores}
    found = sorted({(row.target, row.network) for row in models.scores}, key=lambda each: models.targets.index(each[0]))
    texts = [[_with_spread(cells.get((*each, metric))) for metric in metrics] for each in found]
    named = [_model_name(models, *each) for each in found]
    titles = [metric_title(metric) for metric in metrics]
    if len(found) <= MAX_ACROSS:
        columns = [
            Column("metric", tuple(titles)),
            *(Column(*each) for each in zip(named, map(tuple, texts), strict=True)),
        ]
    else:
        columns = [
            Column("target", tuple(named)),
            *(Column(*each) for each in zip(titles, zip(*texts, strict=True), strict=True)),
        ]
    n_seeds = max(each.n_seeds for each in models.scores)
    caption = f"Means over {_seeds(models)}, with {models.level:.0%} t intervals over seeds."
    return ReportTable(
        "scores",
        "All targets and metrics" if models.is_of_targets else "All models and metrics",
        caption if n_seeds > 1 else "Scores over all items; the figures show intervals over items.",
        tuple(columns),
        models.source(),
    )


def _model_name(models: ModelScores, target: str, network: str) -> str:
    return f"{target}, {network}" if len(models.networks) > 1 else target


def _with_spread(score: RunScore | None) -> str | None:
    if score is None or score.value != score.value:
        return None
    spread = "" if score.low != score.low else f" ({interval_text(score.low, score.high)})"
    return number_text(score.value) + spread


def _differences_chart(models: ModelScores) -> Chart:
    shown = models.shown_targets()
    rows = [each for each in models.differences if each.network == models.network and each.target in shown]
    rows = [each for each in rows if each.metric in DIFFERING]
    rows.sort(key=lambda each: (DIFFERING.index(each.metric), shown.index(each.target)))
    ends = [widest_interval(each) for each in rows]
    n_apart = sum(excludes_zero(each) for each in rows)
    seeds_only = dict.fromkeys(metric_title(each.metric) for each in rows if each.both_low != each.both_low)
    alone = f"; for {' and '.join(seeds_only)} only seeds" if seeds_only else ""
    by_item = all(each.n_seeds == 1 for each in rows)
    paired, cover = ("item", "items, not another training") if by_item else ("seed", f"seeds and items{alone}")
    return intervals(
        "differences",
        title=f"Differences from {models.control}",
        caption=f"Each target minus {models.control}, paired by {paired}. {n_apart} of {len(rows)} intervals exclude 0 "
        f"(the dashed line). Intervals cover {cover}.{models.subset_note()}",
        data={
            "metric": [metric_title(each.metric) for each in rows],
            **attributes(rows, "target", "difference"),
            "low": [low for low, _, _ in ends],
            "high": [high for _, high, _ in ends],
            **attributes(rows, "p_corrected"),
        },
        of="target",
        value=Field("difference", "difference", ".3~g"),
        panel="metric",
        low="low",
        high="high",
        zero_line=True,
        tooltip=(Field("p_corrected", "corrected p", ".3~g"),),
        source=models.source(),
    )


def _differences_listed(models: ModelScores) -> ReportTable:
    rows = [each for metric in models.metrics for each in models.differences if each.metric == metric]
    rows = [each for each in rows if each.metric not in CORRELATIONS and each.difference == each.difference]
    left_out = ""
    if len(rows) > MAX_TESTS:
        rows = [each for each in rows if each.metric in DIFFERING]
        left_out = " The command below writes all metrics."
    correction = next((each.correction for each in rows), "none")
    why = next((each.wilcoxon for each in rows if each.p_wilcoxon != each.p_wilcoxon and each.wilcoxon), "")
    tested = any(each.p_wilcoxon == each.p_wilcoxon for each in rows)
    by_item = all(each.n_seeds == 1 for each in rows)
    few = f" Wilcoxon's test is omitted: {why}." if why and not tested and not by_item else ""
    cover = "items, not another training" if by_item else "seeds and items; those marked * cover only seeds"
    compared = "comparison" if correction.endswith(" over 1") else "comparisons"
    limited = "" if by_item else ', and only "on these items" if the interval contains 0'
    return ReportTable(
        "tests",
        f"Paired tests against {models.control}",
        f"Paired test over {'items' if by_item else 'seeds (t)'}, corrected by {correction} {compared} per metric. A "
        f"result is better or worse if the corrected p is below {1 - models.level:.2g}{limited}. Intervals cover "
        f"{cover}.{few}{left_out}",
        (
            Column("metric", tuple(metric_title(each.metric) for each in rows)),
            Column("target", tuple(_model_name(models, each.target, each.network) for each in rows)),
            Column("difference", tuple(number_text(each.difference, signed=True) for each in rows)),
            Column(f"{models.level:.0%} CI", tuple(_interval(each) for each in rows)),
            Column("corrected p", tuple(_p(each.p_corrected) for each in rows)),
            *([Column("Wilcoxon p", tuple(_p(each.p_wilcoxon) for each in rows))] if tested else []),
            Column("result", tuple(result_text(each) for each in rows)),
        ),
        models.source(),
    )


def _interval(difference: Difference) -> str:
    """The widest interval, marked if it covers only seeds."""
    low, high, _ = widest_interval(difference)
    only_seeds = difference.both_low != difference.both_low and difference.low == difference.low
    return interval_text(low, high, signed=True) + (f"{JOIN}*" if only_seeds else "")


def _p(value: float) -> str | None:
    return None if value != value else p_text(value)


def _in_strata(models: ModelScores) -> list[Block]:
    """Scores on the items about which people agree, and disagree; empty if there are none."""
    rows: list[RunScore] = []
    for metric in ("accuracy", "cross_entropy"):
        for stratum in (AGREE, DISAGREE):
            own = [row for row in models.stratum_scores if row.condition == stratum]
            rows += models.of_metric(metric, own, shown=True)
    if not rows:
        return []
    sizes = {row.condition: row.n_items for row in rows}
    strata = ", ".join(f"{name} about {counted(n, 'item')}" for name, n in sizes.items())
    sentences = []
    for stratum in (DISAGREE, AGREE):
        own_differences = [each for each in models.stratum_differences if each.condition == stratum]
        sentences += models.compared("cross_entropy", own_differences, f" where {stratum}")
    chart = intervals(
        "strata",
        title="Scores by agreement between people",
        caption=f"Strata: {strata}. People disagree if not all chose the same class. {TWO_LINES}",
        data={
            "panel": [f"{metric_title(row.metric)}: {row.condition}" for row in rows],
            **attributes(rows, *SCORE_COLUMNS),
        },
        panel="panel",
        tooltip=(Field("n_items", "items", ",d"),),
        source=models.source(("accuracy", "cross_entropy"), strata=True),
        **SCORE,
    )
    return [Prose(tuple(sentences)), chart]


SINGLE_TITLE = "Scores of predictions"


def single_scores_section(evidence: ReportInputs) -> Section | None:
    """One table per score table of a single set of predictions; None without such tables."""
    tables = {name: each for name, each in evidence.scores.items() if isinstance(each, Scores) and len(each)}
    if not tables:
        return None
    text = (
        "Scores of predictions against labels. Intervals cover the choice of items, not another training. The floor is "
        "a score to compare the value with; scores can be better than it unless it is said to be a bound."
    )
    notes = _floor_notes([row for table in tables.values() for row in table.rows()])
    return Section(
        SINGLE_TITLE, (Prose((text, *notes)), *(_listed(evidence, name, table) for name, table in tables.items()))
    )


def _floor_notes(rows: Sequence[Score]) -> list[str]:
    """What the floors are: one sentence per kind, with its metrics."""
    metrics: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.floor == row.floor:
            note = row.floor_note or "its meaning is not in the file"
            note = f"a bound, {note}" if note == BOUND else note
            metrics.setdefault(note, {})[metric_title(row.metric)] = None
    return [f"Floor of {', '.join(names)}: {note}." for note, names in metrics.items()]


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
            Column("floor", tuple(row.floor for row in rows), 3),
            Column("number of items", tuple(row.n_items for row in rows), 0),
        ),
        evidence.source("scores" if name == "scores" else f"scores/{name}"),
    )
