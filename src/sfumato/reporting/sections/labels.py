"""The labels: how much doubt they hold, how many answers stand behind them, and which items are disputed most."""

from __future__ import annotations

import math

import numpy as np

from sfumato.reporting.blocks import Block, Column, Fact, Facts, Prose, ReportTable
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, bars, histogram
from sfumato.reporting.gallery import Gallery
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import mean_of, median_of, share_of
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.reporting.sections.item_cards import counts_of, exhibits, numbers_of
from sfumato.tables.doubt import entropy
from sfumato.tables.soft_labels import SoftLabels

TITLE = "The labels"
THRESHOLDS = (
    (0.1, "one answer in fifty or so for another class"),
    (0.33, "one answer in ten for another class"),
    (0.56, "one answer in four for another class"),
    (math.log(2), "two classes equally likely"),
    (1.0, "more than two classes in play"),
)
"""Entropies in nats, and what has about so much."""
UNANIMOUS = 1e-9
N_DISPUTED = 12
FEW_BARS, MOST_BARS = 3, 30


def labelling(evidence: ReportInputs) -> Section | None:
    """The main labels' doubt, their answers, their intervals, and the most disputed items; None without labels."""
    labels = evidence.main_labels
    if labels is None or not len(labels):
        return None
    values = entropy(labels.probs)
    blocks: list[Block] = [Facts(_facts(labels, values)), Prose(tuple(_words(evidence, labels)))]
    blocks += [entropy_chart(evidence, labels), _above(evidence, values), *_answers(evidence, labels)]
    blocks += _intervals(evidence)
    if float(values.max()) > UNANIMOUS:
        blocks.append(disputed(evidence, labels))
    return Section(TITLE, tuple(blocks))


def _facts(labels: SoftLabels, values: np.ndarray) -> tuple[Fact, ...]:
    mean, sure = mean_of(values), share_of(int((values <= UNANIMOUS).sum()), len(labels))
    return (
        Fact(f"{len(labels):,}", "items"),
        Fact(f"{len(labels.classes)}", "classes"),
        Fact(f"{mean.value:.3f}", "mean entropy, nats", f"{mean.low:.3f} to {mean.high:.3f}"),
        Fact(f"{100 * sure.value:.1f}%", "without any doubt", f"{100 * sure.low:.1f}% to {100 * sure.high:.1f}%"),
    )


def _words(evidence: ReportInputs, labels: SoftLabels) -> list[str]:
    what = f"They say {labels.estimand}." if labels.estimand is not None else ""
    name = evidence.title_of(evidence.main_name)
    others = [evidence.title_of(each) for each in list(evidence.labels)[1:]]
    said = [
        f"A soft label is a distribution over the {len(labels.classes)} classes, one an item. This section is about "
        f"`{name}`. {what}".strip()
    ]
    if others:
        said.append(f"Also here, and compared further below: {', '.join(f'`{each}`' for each in others)}.")
    return said


def entropy_chart(evidence: ReportInputs, labels: SoftLabels) -> Chart:
    """How often which entropy occurs."""
    values = entropy(labels.probs)
    median, high = median_of(values), float(np.quantile(values, 0.9))
    most = math.log(len(labels.classes))
    return histogram(
        "entropy",
        title="How much doubt the labels hold",
        caption=f"The entropy of every label: half of the items lie below {median.figure(3, 'nats')}, one in ten above "
        f"{high:.2f}. It could be {most:.2f} at most.",
        data={"entropy": values},
        value=Field("entropy", "entropy, nats", ".2~f"),
        source=evidence.source(evidence.main_part),
    )


def _above(evidence: ReportInputs, values: np.ndarray) -> ReportTable:
    found = [(at, words, share_of(int((values > at + UNANIMOUS).sum()), len(values))) for at, words in THRESHOLDS]
    found = [row for row in found if row[0] < THRESHOLDS[0][0] + 1e-9 or row[2].value > 0] or found[:1]
    return ReportTable(
        "entropy-above",
        "How many items are in doubt",
        "The share of items whose entropy is above each of a few values, with its 95% interval.",
        (
            Column("entropy above", tuple(at for at, _, _ in found), 2),
            Column("items", tuple(round(each.value * each.n) for _, _, each in found), 0),
            Column("share", tuple(each.percent() for _, _, each in found)),
            Column("so much doubt is about", tuple(words for _, words, _ in found)),
        ),
        evidence.source(evidence.main_part),
    )


def _answers(evidence: ReportInputs, labels: SoftLabels) -> list[Block]:
    counts = labels.n_annotators
    if counts is None or not counts.any():
        return [Prose(("How many answers stand behind each label is not known.",))]
    low, middle, high = int(counts.min()), float(np.median(counts)), int(counts.max())
    said = f"Behind each label stand {low} to {high} people, {middle:g} at the median."
    if low == high:
        return [Prose((f"Behind each label stand {low} people.",))]
    values, n_items = np.unique(counts, return_counts=True)
    if len(values) <= FEW_BARS:
        each = ", ".join(f"{n:,} items have {k}" for k, n in zip(values.tolist(), n_items.tolist(), strict=True))
        return [Prose((f"{said} In detail: {each}.",))]
    if len(values) > MOST_BARS:
        return [
            histogram(
                "people-an-item", title="How many people stand behind a label", caption=said,
                data={"people": counts}, value=Field("people", "people", ",d"),
                source=evidence.source(evidence.main_part),
            )
        ]  # fmt: skip
    return [
        bars(
            "people-an-item",
            title="How many people stand behind a label",
            caption=said,
            data={"people": [str(each) for each in values], "items": n_items},
            of="people",
            value=Field("items", "items", ",d"),
            source=evidence.source(evidence.main_part),
        )
    ]


def _intervals(evidence: ReportInputs) -> list[Block]:
    """How wide the intervals of the labels are, where `sfumato aggregate --intervals` wrote them."""
    table = evidence.columns.get("intervals")
    if table is None or not {"item", "value", "low", "high"} <= set(table):
        return []
    value, low, high = (np.array(table[name], np.float64) for name in ("value", "low", "high"))
    items, row = np.unique(np.array(table["item"], object).astype(str), return_inverse=True)
    best = np.lexsort((-value, row))[np.r_[0, np.cumsum(np.bincount(row))[:-1]]]
    width = (high - low)[best]
    level = f"{float(table['level'][0]):.0%} " if "level" in table and table["level"][0] is not None else ""
    kind = f" ({table['kind'][0]})" if "kind" in table else ""
    return [
        histogram(
            "label-intervals",
            title="How exactly the labels are known",
            caption=f"The width of the {level}interval{kind} of each of {len(items):,} items' most probable class: "
            f"{median_of(width).figure(2)} at the median.",
            data={"width": width},
            value=Field(
                "width", "from the lower to the upper end", ".2~f", domain=(0.0, max(float(width.max()), 1e-9))
            ),
            source=evidence.source("intervals"),
        )
    ]


def disputed(evidence: ReportInputs, labels: SoftLabels, n: int = N_DISPUTED) -> Gallery:
    """The items whose labels have the highest entropy, as people saw them."""
    values = entropy(labels.probs)
    rows = [int(row) for row in np.argsort(-values, kind="stable")[:n] if values[row] > UNANIMOUS]
    notes = [f"entropy {values[row]:.2f}" for row in rows]
    came_with = _original_of(evidence, labels, rows)
    counted = counts_of(evidence.judged, labels, rows) is not None
    beside = ", with how many people put that class first" if counted else ""
    red = " The class an item came with is marked." if any(came_with) else ""
    return Gallery(
        "disputed",
        f"The {len(rows)} most disputed items" if len(rows) > 1 else "The most disputed item",
        f"The labels with the highest entropy. Each bar is a class's share of the label{beside}.{red}",
        exhibits(evidence, labels, rows, notes=notes, marked=came_with),
        numbers_of(labels, rows),
        evidence.source(evidence.main_part),
    )


def _original_of(evidence: ReportInputs, labels: SoftLabels, rows: list[int]) -> list[str | None]:
    original = evidence.original
    if original is None:
        return [None] * len(rows)
    place = {name: i for i, name in enumerate(original.items.to_pylist())}
    best = original.probs.argmax(axis=1)
    at = [place.get(labels.items[row].as_py()) for row in rows]
    return [None if i is None else original.classes[best[i]] for i in at]
