"""Across labels: models that learnt from each kind of label, scored against each kind of label."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.evaluation.cross_label import ORIGINAL, PEOPLE, CrossScore, cross_label, kinds_of_labels, measure_against
from sfumato.evaluation.mode_shift import Shift, mode_shift
from sfumato.evaluation.run_scores import RunMeasurements
from sfumato.reporting.blocks import Block, Column, DataSource, Prose, ReportTable
from sfumato.reporting.charts import Field, heat_map
from sfumato.reporting.model_scores import IN_STRATA, ModelScores
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import between, evaluation_source, figure, worded
from sfumato.tables.bootstrap import FEWEST_DRAWS
from sfumato.tables.errors import SfumatoWarning

TITLE = "Other labels, other winners"
NEEDED = ("hard", "majority", "soft")
KINDS = {
    "original": "the original label",
    "majority": "people's first choice",
    "people": "how people judge",
    "class-level": "the mean of its class",
}


def cross_labels(models: ModelScores) -> Section | None:
    """Every target against every kind of label, and what of the gain is other classes and what is doubt.

    None without runs, or with one target only.
    """
    people = models.evidence.main_labels
    if not models.runs or people is None or len(models.targets) < 2:
        return None
    runs = [run for run in models.runs if run.network == models.network and run.target in models.drawn()]
    with warnings.catch_warnings():
        # What is wrong with the runs was said when they were scored.
        warnings.simplefilter("ignore", SfumatoWarning)
        kinds = kinds_of_labels(people, models.original)
        unmeasured = {name: table for name, table in kinds.items() if name != PEOPLE}
        others = measure_against(
            runs, unmeasured, original=models.original, metrics=IN_STRATA, common=True,
            level=models.level, resamples=FEWEST_DRAWS,
        )  # fmt: skip
    measured = {name: others[name] if name in others else _against_people(models) for name in kinds}
    base = evaluation_source(models.evidence, ("accuracy", "cross_entropy"), resamples=FEWEST_DRAWS)
    source = DataSource(f"{base.command} --cross-label cross.csv", base.file, base.note)
    table = [row for row in cross_label(measured).scores if row.value == row.value]
    blocks: list[Block] = [Prose(tuple(_words(table)))]
    blocks += [_matrix(models, table, metric, source) for metric in ("accuracy", "cross_entropy")]
    if ORIGINAL in measured and set(NEEDED) <= set(models.drawn()):
        blocks += _mode_shift(measured, source)
    return Section(TITLE, tuple(blocks))


def _against_people(models: ModelScores) -> RunMeasurements:
    """What was measured against people before, of the targets drawn and the metrics that suit any kind of label."""
    assert models.measured is not None
    metrics = {metric.name for metric in IN_STRATA}
    own = (each for each in models.measured.figures if each.network == models.network and each.metric.name in metrics)
    return replace(models.measured, figures=tuple(each for each in own if each.target in models.drawn()))


def _words(table: Sequence[CrossScore]) -> list[str]:
    said = [
        "What looks best depends on the label it is scored against. A row is what the networks learnt from, a column "
        "what their predictions for the test items are held against."
    ]
    best = []
    for kind in dict.fromkeys(row.against for row in table):
        own = [row for row in table if row.against == kind and row.metric == "cross_entropy"]
        if own:
            least = min(own, key=lambda row: row.value)
            best.append(f"`{least.target}` against {KINDS.get(kind, kind)} ({figure(least.value)})")
    return [*said, f"The lowest cross-entropy has {', '.join(best)}."] if best else said


def _matrix(models: ModelScores, table: Sequence[CrossScore], metric: str, source: DataSource) -> Block:
    rows = [row for target in models.drawn() for row in table if (row.metric, row.target) == (metric, target)]
    better = "Higher" if metric == "accuracy" else "Lower"
    half = max((row.high - row.low) / 2 for row in rows) if all(row.low == row.low for row in rows) else None
    spread = f" Half the {models.level:.0%} interval over seeds is at most {figure(half)}." if half is not None else ""
    return heat_map(
        f"across-{metric.replace('_', '-')}",
        title=f"{worded(metric)[:1].upper()}{worded(metric)[1:]} against each kind of label",
        caption=f"{better} is better; compare within a column.{spread}{models.only_drawn()}",
        data={
            "learnt": [row.target for row in rows],
            "against": [row.against for row in rows],
            "value": [row.value for row in rows],
            "low": [row.low for row in rows],
            "high": [row.high for row in rows],
        },
        x=Field("against", "scored against"),
        y=Field("learnt", "learnt from"),
        value=Field("value", worded(metric), ".3f"),
        written=True,
        told=(Field("low", "from", ".3f"), Field("high", "to", ".3f")),
        source=source,
    )


def _mode_shift(measured: dict[str, RunMeasurements], source: DataSource) -> list[Block]:
    both = {name: measured[name] for name in (ORIGINAL, PEOPLE)}
    rows = [each for each in mode_shift(both, rng=np.random.default_rng(0)).shifts if each.condition == "all"]
    return [
        Prose((_gain(rows),)),
        ReportTable(
            "mode-shift",
            "What other classes gain, and what doubt gains",
            "From hard to majority only the class changes, from majority to soft only the doubt. Intervals are over "
            "seeds.",
            (
                Column("metric", tuple(worded(each.metric) for each in rows)),
                Column("scored against", tuple(KINDS.get(each.against, each.against) for each in rows)),
                Column("part", tuple(each.part for each in rows)),
                Column("gain", tuple(figure(each.difference, signed=True) for each in rows)),
                Column("over seeds", tuple(between(each.low, each.high, signed=True) for each in rows)),
                Column("share of both, %", tuple(None if r.share != r.share else 100 * r.share for r in rows), 0),
            ),
            source,
        ),
    ]


def _gain(rows: Sequence[Shift]) -> str:
    own = {each.part: each for each in rows if each.metric == "cross_entropy" and each.against == PEOPLE}
    if "both" not in own:
        return "The gain from soft training has two parts: other classes than the original ones, and doubt."
    whole, classes, doubt = own["both"], own["other classes"], own["doubt"]
    return (
        f"Against how people judge, cross-entropy changes by {figure(whole.difference, signed=True)} "
        f"({between(whole.low, whole.high, signed=True)}) from `hard` to `soft`: "
        f"{figure(classes.difference, signed=True)} ({between(classes.low, classes.high, signed=True)}) because "
        f"people's first choice is another class than the original, {figure(doubt.difference, signed=True)} "
        f"({between(doubt.low, doubt.high, signed=True)}) because doubt is kept."
    )
