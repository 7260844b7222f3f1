"""Report sections: training targets compared with paired tests, and scores of single prediction tables."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.evaluation.score_floor import BOUND
from sfumato.reporting.blocks import Block, Column, Prose, ReportTable, attributes
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.comparison import intervals
from sfumato.reporting.charts.encoding_field import Field
from sfumato.reporting.model_scores import AGREE, CORRELATIONS, DISAGREE, ModelScores
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import (
    counted,
    interval_text,
    metric_title,
    number_text,
    p_text,
    result_text,
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
VALUE = Field("value", "value", ".3~g")
SCORE_COLUMNS = ("value", "low", "high", "n_seeds", "n_items")


def lines_text(models: ModelScores) -> str:
    """What the lines in charts of scores are."""
    return f"Lines are {models.level:.0%} intervals over {models.covered}."


def targets_section(models: ModelScores) -> Section | None:
    """Scores of every target with intervals, tests against the control, and scores by agreement stratum."""
    if not models.scores:
        return None
    right, near = f"Higher is better. {lines_text(models)}", f"Lower is better. {lines_text(models)}"
    blocks: list[Block] = [Prose(tuple(_words(models)))]
    blocks += score_panels(models, "right", f"Accuracy against {models.scored}", right, RIGHT)
    blocks += score_panels(models, "near", f"Distance from {models.scored}", near, NEAR)
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
    scored = f"All scores are against {models.against}. {models.crowd}"
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
        sentences.append(f"With one {single}, intervals are over {models.covered}, and not over another training.")
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
        data={
            "metric": [metric_title(row.metric) for row in rows],
            models.noun: [row.target for row in rows],
            **attributes(rows, *SCORE_COLUMNS),
        },
        panel="metric",
        of=models.noun,
        value=VALUE,
        low="low",
        high="high",
        source=models.source(),
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
            Column(models.noun, tuple(named)),
            *(Column(*each) for each in zip(titles, zip(*texts, strict=True), strict=True)),
        ]
    n_seeds = max(each.n_seeds for each in models.scores)
    means = f"Means over {_seeds(models)}" if n_seeds > 1 else "Scores over all items"
    return ReportTable(
        "scores",
        "All targets and metrics" if models.is_of_targets else "All models and metrics",
        f"{means}, with {models.level:.0%} intervals over {models.covered}.",
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
    n_apart = sum(bool(each.verdict) for each in rows)
    return intervals(
        "differences",
        title=f"Differences from {models.control}",
        caption=f"Each {models.noun} minus {models.control}, on the same items. {n_apart} of {len(rows)} intervals "
        f"exclude 0 (the dashed line). {_tests_text(models, rows)}{models.subset_note()}",
        data={
            "metric": [metric_title(each.metric) for each in rows],
            models.noun: [each.target for each in rows],
            **attributes(rows, "difference", "low", "high", "p_corrected"),
        },
        of=models.noun,
        value=Field("difference", "difference", ".3~g"),
        panel="metric",
        low="low",
        high="high",
        zero_line=True,
        tooltip=(Field("p_corrected", "corrected p", ".3~g"),),
        source=models.source(),
    )


def _tests_text(models: ModelScores, rows: Sequence[Difference]) -> str:
    """What intervals and p values of differences cover, and how they are corrected."""
    tested = [each for each in rows if each.is_tested]
    if not tested:
        return "No difference was tested."
    names = list(dict.fromkeys(each.covers.partition(":")[0] for each in tested))
    numbers = sorted({each.correction for each in tested})
    how = "not corrected" if numbers == ["none"] else f"corrected by {' and '.join(numbers)} comparisons per metric"
    how = how.replace("over 1 comparisons", "over 1 comparison")
    people = "" if "other people" in names[0] else " They hold for these people: the crowd is taken as fixed."
    return f"Intervals ({models.level:.0%}) and p cover {' or '.join(names)}, {how}.{people}"


def _differences_listed(models: ModelScores) -> ReportTable:
    rows = [each for metric in models.metrics for each in models.differences if each.metric == metric]
    rows = [each for each in rows if each.metric not in CORRELATIONS and each.difference == each.difference]
    left_out = ""
    if len(rows) > MAX_TESTS:
        rows = [each for each in rows if each.metric in DIFFERING]
        left_out = " The command below writes all metrics."
    return ReportTable(
        "tests",
        f"Tests against {models.control}",
        f"{_tests_text(models, rows)} A result is better or worse if the interval excludes 0. Otherwise there is no "
        "evidence of a difference; detectable is the smallest difference that would have been found with a probability "
        f"of 80%.{left_out}",
        (
            Column("metric", tuple(metric_title(each.metric) for each in rows)),
            Column(models.noun, tuple(_model_name(models, each.target, each.network) for each in rows)),
            Column("difference", tuple(number_text(each.difference, signed=True) for each in rows)),
            Column(f"{models.level:.0%} CI", tuple(interval_text(each.low, each.high, signed=True) for each in rows)),
            Column("corrected p", tuple(_p(each.p_corrected) for each in rows)),
            Column("result", tuple(result_text(each) for each in rows)),
        ),
        models.source(),
    )


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
        caption=f"Strata: {strata}. People disagree if not all chose the same class. {lines_text(models)}",
        data={
            "panel": [f"{metric_title(row.metric)}: {row.condition}" for row in rows],
            models.noun: [row.target for row in rows],
            **attributes(rows, *SCORE_COLUMNS),
        },
        panel="panel",
        of=models.noun,
        value=VALUE,
        low="low",
        high="high",
        tooltip=(Field("n_items", "items", ",d"),),
        source=models.source(("accuracy", "cross_entropy"), strata=True),
    )
    return [Prose(tuple(sentences)), chart]


SINGLE_TITLE = "Scores of predictions"


def single_scores_section(evidence: ReportInputs) -> Section | None:
    """One table per score table of a single set of predictions; None without such tables."""
    tables = {name: each for name, each in evidence.scores.items() if isinstance(each, Scores) and len(each)}
    if not tables:
        return None
    text = (
        "Scores of predictions against labels. Intervals do not cover another training. The floor is "
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
