"""Report section: models trained on each type of label, scored against each type of label."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.evaluation.cross_label import (
    ORIGINAL,
    PEOPLE,
    CrossScore,
    cross_label,
    kinds_of_labels,
    label_sets_in,
    measure_against,
)
from sfumato.evaluation.gain_decomposition import Shift, mode_shift
from sfumato.evaluation.metrics.accuracy import Accuracy
from sfumato.evaluation.metrics.divergence import CrossEntropy
from sfumato.evaluation.run_metric_values import RunMeasurements
from sfumato.reporting.blocks import Block, Column, DataSource, Prose, ReportTable, attributes
from sfumato.reporting.charts import heat_map
from sfumato.reporting.charts.encoding_field import Field
from sfumato.reporting.model_scores import ModelScores
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import THESE_PEOPLE, capitalized, interval_text, metric_title, number_text
from sfumato.tables.bootstrap import FEWEST_DRAWS
from sfumato.tables.errors import warnings_off

TITLE = "Label sets compared"
NEEDED = ("hard", "majority", "soft")
KINDS = {
    "original": "the original labels",
    "majority": "the majority labels",
    "people": "people's soft labels",
    "class-level": "class-level labels",
}
"""The types of labels in words."""
PARTS = {"other classes": "changed classes", "doubt": "uncertainty", "both": "both"}
"""The parts of the gain from hard to soft labels in words."""


def cross_label_section(models: ModelScores) -> Section | None:
    """Every target against every type of label, and the parts of the gain: changed classes and uncertainty.

    None without runs, or with only one target.
    """
    people = models.evidence.people_labels
    if not models.runs or people is None or len(models.targets) < 2:
        return None
    runs = [run for run in models.runs if run.network == models.network and run.target in models.shown_targets()]
    kinds = kinds_of_labels(people, models.original)
    kinds |= label_sets_in(models.evidence.runs) if models.evidence.runs is not None else {}
    # Scoring has already warned about the runs.
    with warnings_off():
        measured = measure_against(
            runs, kinds, original=models.original,
            metrics=(Accuracy(), CrossEntropy()), common=True, level=models.level, resamples=FEWEST_DRAWS,
        )  # fmt: skip
    base = models.source(("accuracy", "cross_entropy"), resamples=FEWEST_DRAWS, against_original=True)
    source = DataSource(f"{base.command} --cross-label cross.csv", base.file, base.note)
    table = [row for row in cross_label(measured).scores if row.value == row.value]
    blocks: list[Block] = [Prose(tuple(_words(models, table)))]
    blocks += [_matrix(models, table, metric, source) for metric in ("accuracy", "cross_entropy")]
    if ORIGINAL in measured and set(NEEDED) <= set(models.shown_targets()):
        blocks += _mode_shift(measured, source)
    return Section(TITLE, tuple(blocks))


def _words(models: ModelScores, table: Sequence[CrossScore]) -> list[str]:
    rows = "training targets" if models.is_of_targets else "models"
    sentences = [
        f"Which {models.noun} is best depends on the labels used for scoring. Rows are {rows}, columns the labels that "
        f"predictions are scored against. Intervals are {THESE_PEOPLE}: labels do not show who gave which answer."
    ]
    best = []
    for kind in dict.fromkeys(row.against for row in table):
        own = [row for row in table if row.against == kind and row.metric == "cross_entropy"]
        if own:
            least = min(own, key=lambda row: row.value)
            best.append(f"`{least.target}` against {KINDS.get(kind, kind)} ({number_text(least.value)})")
    return [*sentences, f"The lowest cross-entropy: {', '.join(best)}."] if best else sentences


def _matrix(models: ModelScores, table: Sequence[CrossScore], metric: str, source: DataSource) -> Block:
    rows = [row for target in models.shown_targets() for row in table if (row.metric, row.target) == (metric, target)]
    better = "Higher" if metric == "accuracy" else "Lower"
    spread = ""
    if all(row.low == row.low for row in rows):
        widest = max(row.high - row.low for row in rows)
        spread = f" The {models.level:.0%} intervals are at most {number_text(widest)} wide."
    return heat_map(
        f"across-{metric.replace('_', '-')}",
        title=f"{capitalized(metric_title(metric))} against each type of label",
        caption=f"{better} is better; compare within a column.{spread}{models.subset_note()}",
        data=attributes(rows, "target", "against", "value", "low", "high"),
        x=Field("against", "scored against"),
        y=Field("target", "trained on" if models.is_of_targets else "model"),
        value=Field("value", metric_title(metric), ".3f"),
        written=True,
        tooltip=(Field("low", "from", ".3f"), Field("high", "to", ".3f")),
        source=source,
    )


def _mode_shift(measured: dict[str, RunMeasurements], source: DataSource) -> list[Block]:
    both = {name: measured[name] for name in (ORIGINAL, PEOPLE)}
    rows = [each for each in mode_shift(both).shifts if each.condition == "all"]
    return [
        Prose((_gain(rows),)),
        ReportTable(
            "mode-shift",
            "Gain from changed classes and from uncertainty",
            "From hard to majority only the class changes, from majority to soft only the uncertainty. Intervals are "
            "over seeds and items.",
            (
                Column("metric", tuple(metric_title(each.metric) for each in rows)),
                Column("scored against", tuple(KINDS.get(each.against, each.against) for each in rows)),
                Column("part", tuple(PARTS.get(each.part, each.part) for each in rows)),
                Column("difference", tuple(number_text(each.difference, signed=True) for each in rows)),
                Column("95% CI", tuple(interval_text(each.low, each.high, signed=True) for each in rows)),
                Column("share of both, %", tuple(100 * each.share for each in rows), 0),
            ),
            source,
        ),
    ]


def _gain(rows: Sequence[Shift]) -> str:
    own = {each.part: each for each in rows if each.metric == "cross_entropy" and each.against == PEOPLE}
    if "both" not in own:
        return "The gain from soft labels has two parts: changed classes, and uncertainty."
    whole, classes, uncertainty = (
        f"{number_text(each.difference, signed=True)} ({interval_text(each.low, each.high, signed=True)})"
        for each in (own["both"], own["other classes"], own["doubt"])
    )
    return (
        f"Against people's soft labels, cross-entropy changes by {whole} from `hard` to `soft`: {classes} because the "
        f"majority class differs from the original class, {uncertainty} because the uncertainty is kept."
    )
