"""Every training target side by side: how near to people, and whether that can be told from the control.

Scores of one table of predictions, where there are no runs: what `sfumato evaluate --predicted` wrote.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.evaluation.comparison import Difference
from sfumato.reporting.blocks import Block, Column, Prose, ReportTable
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, intervals
from sfumato.reporting.model_scores import AGREE, DISAGREE, ModelScores
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import JOIN, between, evaluation_source, figure, interval_of, is_apart, told, worded
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.scores import ALL, RunScore, Scores

TITLE = "What each target taught the models"
RIGHT = ("accuracy", "second_best_accuracy", "accuracy_original")
DIFFERING = ("accuracy", "cross_entropy", "ece")
MOST_TESTS = 24
"""Of more comparisons than these, only those of three metrics are listed."""
MOST_ACROSS = 5
"""So many targets stand side by side in a table; more stand below each other."""
NEAR = ("cross_entropy", "kl_divergence", "brier")


def targets(models: ModelScores) -> Section | None:
    """Scores of every target with intervals over seeds and items, paired tests against the control, and the same apart
    for items on which people agree and do not."""
    if not models.scores:
        return None
    blocks: list[Block] = [Prose(tuple(_words(models)))]
    blocks += _charts(models)
    blocks += [_scores_listed(models)]
    if models.differences:
        blocks += [_differences_chart(models), _differences_listed(models)]
    if models.in_strata:
        blocks += _in_strata(models)
    return Section(TITLE, tuple(blocks))


def _words(models: ModelScores) -> list[str]:
    n_seeds, n_items = models.n_seeds, max(each.n_items for each in models.scores)
    said = [
        f"{len(models.targets)} target{'s' * (len(models.targets) != 1)} "
        f"({', '.join(f'`{each}`' for each in models.targets)}), {n_seeds} seed{'s' * (n_seeds != 1)} each, were "
        f"tested on {n_items:,} items that the networks had not learnt from. Everything is scored against how people "
        "judge these items. Targets of one seed began with the same weights and saw the same batches, so they are "
        "compared seed by seed and item by item."
    ]
    if n_seeds < 2:
        said.append("One seed says nothing of another training: intervals are about other items alone.")
    if models.control is not None and models.treated is not None:
        found = models.difference("cross_entropy", models.treated)
        if found is not None:
            said.append(f"By cross-entropy against people, {compared(found, models.level)}.")
    return said


def compared(difference: Difference, level: float) -> str:
    """Two targets by one metric, as a sentence without its end."""
    one, other = f"`{difference.target}`", f"`{difference.baseline}`"
    values = f"{figure(difference.value)} against {figure(difference.baseline_value)}"
    if is_apart(difference):
        return f"{one} is at {values} for {other}, a difference of {told(difference, level)}"
    return f"{one} and {other} cannot be told apart: {values}, a difference of {told(difference, level)}"


def _charts(models: ModelScores) -> list[Chart]:
    how = "The thin line is for another training (t over seeds), the thick one for other items."
    made = [
        ("right", "How often they choose as people do", f"Higher is better. {how}", RIGHT),
        ("near", "How near they come to people's distribution", f"Lower is better. {how}", NEAR),
    ]
    return [
        chart
        for name, title, caption, metrics in made
        if (chart := score_panels(models, name, title, caption, metrics)) is not None
    ]


def score_panels(models: ModelScores, name: str, title: str, caption: str, metrics: Sequence[str]) -> Chart | None:
    """A panel a metric, a row a target; None where none of the metrics was scored."""
    rows = [row for metric in metrics for row in models.of_metric(metric) if row.target in models.drawn()]
    rows = [row for row in rows if row.value == row.value]
    if not rows:
        return None
    return intervals(
        name,
        title=title,
        caption=caption + models.only_drawn(),
        data={"metric": [worded(row.metric) for row in rows], **score_columns(rows)},
        of="target",
        value=Field("value", "value", ".3~g"),
        panel="metric",
        low="low",
        high="high",
        inner_low="items_low",
        inner_high="items_high",
        told=(Field("items_low", "other items, from", ".3~g"), Field("items_high", "to", ".3~g")),
        source=evaluation_source(models.evidence, metrics_of(models), resamples=models.resamples),
    )


def metrics_of(models: ModelScores) -> list[str]:
    """The metrics scored over all items, in their order."""
    return list(dict.fromkeys(row.metric for row in models.scores))


def score_columns(rows: Sequence[RunScore]) -> dict[str, list[object]]:
    """Scores as the columns of a chart."""
    names = ("target", "value", "low", "high", "items_low", "items_high", "n_seeds", "n_items")
    return {name: [getattr(row, name) for row in rows] for name in names}


def _scores_listed(models: ModelScores) -> ReportTable:
    metrics = [metric for metric in metrics_of(models) if metric != "entropy_pearson"]
    cells = {(row.target, row.network, row.metric): row for row in models.scores}
    found = sorted({(row.target, row.network) for row in models.scores}, key=lambda each: models.targets.index(each[0]))
    several = len(models.networks) > 1
    named = [f"{target}, {network}" if several else target for target, network in found]
    if len(found) <= MOST_ACROSS:
        # Few targets stand side by side, where they are easily compared.
        columns = [Column("metric", tuple(worded(metric) for metric in metrics))]
        columns += [
            Column(name, tuple(_with_spread(cells.get((*each, metric))) for metric in metrics))
            for name, each in zip(named, found, strict=True)
        ]
    else:
        columns = [Column("target", tuple(named))]
        columns += [
            Column(worded(metric), tuple(_with_spread(cells.get((*each, metric))) for each in found))
            for metric in metrics
        ]
    return ReportTable(
        "scores",
        "Every target by every metric",
        f"Means over seeds, ± half the {models.level:.0%} t interval over seeds.",
        tuple(columns),
        evaluation_source(models.evidence, metrics_of(models), resamples=models.resamples),
    )


def _with_spread(score: RunScore | None) -> str | None:
    if score is None or score.value != score.value:
        return None
    return (
        figure(score.value)
        if score.low != score.low
        else f"{figure(score.value)}{JOIN}±{JOIN}{(score.high - score.low) / 2:.3f}"
    )


def _differences_chart(models: ModelScores) -> Chart:
    own = [each for each in models.differences if each.network == models.network and each.target in models.drawn()]
    order = {name: k for k, name in enumerate(models.drawn())}
    rows = [each for metric in DIFFERING for each in own if each.metric == metric]
    rows.sort(key=lambda each: (DIFFERING.index(each.metric), order[each.target]))
    ends = [interval_of(each) for each in rows]
    n_apart = sum(is_apart(each) for each in rows)
    return intervals(
        "differences",
        title=f"Differences from {models.control}",
        caption=f"Each target less {models.control}, seed by seed. Of {len(rows)} intervals, {n_apart} leave out 0 "
        f"(the dashed line). They are for another training on other items{_of_seeds_alone(rows)}.{models.only_drawn()}",
        data={
            "metric": [worded(each.metric) for each in rows],
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
        told=(Field("p_corrected", "p, corrected", ".3~g"),),
        source=evaluation_source(models.evidence, metrics_of(models), resamples=models.resamples),
    )


def _of_seeds_alone(rows: Sequence[Difference]) -> str:
    """Which metrics have no interval over items, as the end of a sentence."""
    names = dict.fromkeys(worded(each.metric) for each in rows if each.both_low != each.both_low)
    return f"; of {' and '.join(names)}, for another training alone" if names else ""


def _differences_listed(models: ModelScores) -> ReportTable:
    rows = [each for metric in metrics_of(models) for each in models.differences if each.metric == metric]
    rows = [each for each in rows if each.metric != "entropy_pearson" and each.difference == each.difference]
    left_out = ""
    if len(rows) > MOST_TESTS:
        rows = [each for each in rows if each.metric in DIFFERING]
        left_out = " Of the other metrics, the command below writes them too."
    several = len(models.networks) > 1
    correction = next((each.correction for each in rows), "none")
    ends = [interval_of(each) for each in rows]
    why = next((each.wilcoxon for each in rows if each.p_wilcoxon != each.p_wilcoxon and each.wilcoxon), "")
    tested = any(each.p_wilcoxon == each.p_wilcoxon for each in rows)
    few = f" Wilcoxon's test is left out: {why}." if why and not tested else ""
    return ReportTable(
        "tests",
        f"Paired tests against {models.control}",
        f"Student's t of the differences between trainings of the same seed; corrected by {correction} comparisons of "
        f"a metric. Told apart: better or worse at a corrected p below {1 - models.level:.2g}, and by an interval that "
        "leaves out 0; on these items, where that holds of other trainings alone. Intervals are for another training "
        f"on other items; marked *, for another training alone.{few}{left_out}",
        (
            Column("metric", tuple(worded(each.metric) for each in rows)),
            Column("target", tuple(f"{r.target}, {r.network}" if several else r.target for r in rows)),
            Column("difference", tuple(figure(each.difference, signed=True) for each in rows)),
            Column(
                f"{models.level:.0%} interval",
                tuple(
                    between(low, high, signed=True) + ("" if each.both_low == each.both_low else f"{JOIN}*")
                    for each, (low, high, _) in zip(rows, ends, strict=True)
                ),
            ),
            Column("p, corrected", tuple(_p(each.p_corrected) for each in rows)),
            *([Column("Wilcoxon", tuple(_p(each.p_wilcoxon) for each in rows))] if tested else []),
            Column("told apart", tuple(_told_apart(each) for each in rows)),
        ),
        evaluation_source(models.evidence, metrics_of(models), resamples=models.resamples),
    )


def _told_apart(difference: Difference) -> str:
    """What the test says of other trainings and the interval of other items too."""
    if not difference.verdict:
        return "no"
    return difference.verdict if is_apart(difference) else f"{difference.verdict}, on these items"


def _p(value: float) -> str | None:
    if value != value:
        return None
    return f"<{JOIN}.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def _in_strata(models: ModelScores) -> list[Block]:
    rows: list[RunScore] = []
    for metric in ("accuracy", "cross_entropy"):
        for stratum in (AGREE, DISAGREE):
            own = [row for row in models.in_strata if row.condition == stratum]
            rows += [row for row in models.of_metric(metric, scores=own) if row.target in models.drawn()]
    rows = [row for row in rows if row.value == row.value]
    if not rows:
        return []
    counts = {row.condition: row.n_items for row in rows}
    said = ", ".join(f"{name} about {n:,} items" for name, n in counts.items())
    chart = intervals(
        "strata",
        title="Where people agree, and where they do not",
        caption=f"The same scores apart: {said}. Disagree: not all gave the same class (human label variation). The "
        "thin line is for another training, the thick one for other items.",
        data={"panel": [f"{worded(row.metric)}: {row.condition}" for row in rows], **score_columns(rows)},
        of="target",
        value=Field("value", "value", ".3~g"),
        panel="panel",
        low="low",
        high="high",
        inner_low="items_low",
        inner_high="items_high",
        told=(Field("n_items", "items", ",d"),),
        source=evaluation_source(
            models.evidence, ("accuracy", "cross_entropy"), strata=True, resamples=models.resamples
        ),
    )
    return [Prose(tuple(_stratum_words(models))), chart]


def _stratum_words(models: ModelScores) -> list[str]:
    said = []
    for stratum in (DISAGREE, AGREE):
        own = (
            each
            for each in models.differences_in_strata
            if (each.condition, each.metric, each.target, each.network)
            == (stratum, "cross_entropy", models.treated, models.network)
        )
        found = next(own, None)
        if found is not None and found.difference == found.difference:
            said.append(f"Where {stratum}, by cross-entropy, {compared(found, models.level)}.")
    return said


SINGLE_TITLE = "How near predictions come to people"


def single_scores(evidence: ReportInputs) -> Section | None:
    """A table for every table of scores that is about one set of predictions; None where there is none."""
    tables = {name: each for name, each in evidence.scores.items() if isinstance(each, Scores) and len(each)}
    if not tables:
        return None
    said = (
        "Scores of predictions against how people judge. Intervals are about other items, not about another training; "
        "the floor is the best that any predictions could score on these items.",
    )
    return Section(SINGLE_TITLE, (Prose(said), *(_listed(evidence, name, table) for name, table in tables.items())))


def _listed(evidence: ReportInputs, name: str, scores: Scores) -> ReportTable:
    rows = [row for row in scores.rows() if row.value == row.value]
    return ReportTable(
        f"scores-of-{''.join(c if c.isalnum() else '-' for c in name)}",
        evidence.title_of(name),
        "One row a metric and condition.",
        (
            Column("metric", tuple(worded(row.metric) for row in rows)),
            Column("items", tuple("all" if row.condition == ALL else row.condition for row in rows)),
            Column("value", tuple(row.value for row in rows), 3),
            Column("interval", tuple(between(row.low, row.high) for row in rows)),
            Column("floor", tuple(None if row.floor != row.floor else row.floor for row in rows), 3),
            Column("how many", tuple(row.n_items for row in rows), 0),
        ),
        evidence.source("scores" if name == "scores" else f"scores/{name}"),
    )
