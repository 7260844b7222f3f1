"""Report section: the trained models on corrupted images, under attacks, and on other data sets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from sfumato.evaluation.run_predictions import CLEAN, order_of
from sfumato.reporting.blocks import Block, Column, Prose, ReportTable, attributes
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import curve
from sfumato.reporting.charts.encoding_field import Field
from sfumato.reporting.model_scores import MAX_COLORS, ModelScores
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import capitalized, interval_text, metric_title, number_text
from sfumato.tables.scores import RunScore

TITLE = "Robustness"
SEVERITY = re.compile(r"(?P<kind>[\w-]+)/(?P<severity>\d+)")
ATTACK = re.compile(r"(?P<kind>[\w-]+) eps=(?P<eps>[\d./]+) targets=(?P<of>\w+)(?: step (?P<step>\d+))?")
MAX_KINDS = 6


@dataclass(frozen=True)
class ConditionScore:
    """A score under a corruption or attack of some kind and strength."""

    kind: str
    amount: float
    score: RunScore
    is_attack: bool = False


def robustness_section(models: ModelScores) -> Section | None:
    """Curves over severity and attack strength, and a table of other data sets; None without conditions."""
    own = [each for each in models.condition_scores if each.network == models.network]
    own = [each for each in own if each.target in models.shown_targets()]
    if not own:
        return None
    plain = [each for each in own if each.condition == CLEAN] or list(models.scores)
    matches = [(SEVERITY.fullmatch(score.condition), score) for score in own]
    corrupted = [ConditionScore(found["kind"], float(found["severity"]), score) for found, score in matches if found]
    attacked = _attacked(own)
    known = {id(each.score) for each in corrupted}
    others = [s for s in own if s.condition != CLEAN and id(s) not in known and ATTACK.fullmatch(s.condition) is None]
    blocks: list[Block] = [Prose(tuple(_words(models, [*corrupted, *attacked])))]
    blocks += _curves(models, corrupted, plain, "severity", "shifted")
    blocks += _curves(models, attacked, plain, "eps", "attacked")
    if others:
        blocks.append(_other_sets(models, others, plain))
    return Section(TITLE, tuple(blocks))


def _attacked(scores: Sequence[RunScore]) -> list[ConditionScore]:
    """Attacks by strength; for an attack with several steps, only the last."""
    last: dict[tuple[str, float, str, str], tuple[int, ConditionScore]] = {}
    for score in scores:
        found = ATTACK.fullmatch(score.condition)
        if found is None:
            continue
        eps, step = float(Fraction(found["eps"])) * 255, int(found["step"] or 0)
        kind = f"{found['kind']} against the {found['of']} label"
        key = (kind, eps, score.target, score.metric)
        if key not in last or step >= last[key][0]:
            last[key] = (step, ConditionScore(kind, eps, score, is_attack=True))
    return [each for _, each in last.values()]


def _words(models: ModelScores, changed: Sequence[ConditionScore]) -> list[str]:
    sentences = [
        "The networks were trained on unchanged images and tested on changed ones. At 0 are the unchanged images. "
        f"Bands and intervals are over {models.covered}."
    ]
    for is_attack, what in ((False, "corruption"), (True, "attack")):
        own = [each for each in changed if each.score.metric == "accuracy" and each.is_attack == is_attack]
        own = [each for each in own if each.score.target == (models.control or models.targets[0])]
        if not own:
            continue
        worst = min(own, key=lambda each: each.score.value).score
        before = next(row.value for row in models.of_metric("accuracy") if row.target == worst.target)
        sentences.append(
            f"The strongest {what} for `{worst.target}` is {worst.condition}: accuracy {number_text(worst.value)} "
            f"({interval_text(worst.low, worst.high)}), compared with {number_text(before)} on unchanged images."
        )
        apart = [each for each in models.condition_differences if each.condition == worst.condition]
        sentences[-1] = " ".join([sentences[-1], *models.compared("accuracy", apart, " under this condition")])
    return sentences


def _curves(
    models: ModelScores, changed: Sequence[ConditionScore], plain: Sequence[RunScore], amount: str, part: str
) -> list[Chart]:
    kinds = sorted(dict.fromkeys(each.kind for each in changed), key=order_of)[:MAX_KINDS]
    targets = models.shown_targets(MAX_COLORS)
    x = Field(amount, {"severity": "severity", "eps": "strength, in levels of 255"}[amount], ",~g")
    charts = []
    for metric, better in (("accuracy", "Higher is better"), ("cross_entropy", "Lower is better")):
        rows: list[ConditionScore] = []
        for kind, target in product(kinds, targets):
            before = [row for row in plain if (row.target, row.metric) == (target, metric)][:1]
            own = [
                each for each in changed if (each.kind, each.score.target, each.score.metric) == (kind, target, metric)
            ]
            rows += [ConditionScore(kind, 0.0, row) for row in before] + sorted(own, key=lambda each: each.amount)
        if not rows:
            continue
        charts.append(
            curve(
                f"{part}-{metric.replace('_', '-')}",
                title=f"{capitalized(metric_title(metric))} by {x.title.partition(',')[0]}",
                caption=f"{better}. The band is the {models.level:.0%} interval over {models.covered}."
                f"{models.subset_note(MAX_COLORS)}",
                data={
                    **attributes(rows, "kind"),
                    amount: [each.amount for each in rows],
                    models.noun: [each.score.target for each in rows],
                    **attributes([each.score for each in rows], "value", "low", "high"),
                },
                x=x,
                y=Field("value", metric_title(metric), ".3~g"),
                low="low",
                high="high",
                series=models.noun,
                panel="kind" if len(kinds) > 1 else None,
                source=models.source((metric,), resamples=100, folder=part),
            )
        )
    return charts


def _other_sets(models: ModelScores, others: Sequence[RunScore], plain: Sequence[RunScore]) -> ReportTable:
    """Other data sets: one row per target and set, with the score on the original test items."""
    before = {(each.target, each.metric): each.value for each in plain}
    rows = [each for each in others if each.value == each.value]
    return ReportTable(
        "elsewhere",
        "Other data sets",
        f"Scores under each condition, compared with the original test items, with intervals over {models.covered}.",
        (
            Column("condition", tuple(each.condition for each in rows)),
            Column(models.noun, tuple(each.target for each in rows)),
            Column("metric", tuple(metric_title(each.metric) for each in rows)),
            Column("original test items", tuple(before.get((each.target, each.metric)) for each in rows), 3),
            Column("this condition", tuple(each.value for each in rows), 3),
            Column("interval", tuple(interval_text(each.low, each.high) for each in rows)),
            Column("items", tuple(each.n_items for each in rows), 0),
        ),
        models.source(("accuracy", "cross_entropy"), resamples=100, folder="shifted"),
    )
