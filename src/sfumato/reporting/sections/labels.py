"""Report section: the labels, their entropy, answers per label, intervals, and the items of highest entropy."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Bool

from sfumato.reporting.blocks import Block, Column, Fact, Facts, Prose, ReportTable
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.comparison import bars
from sfumato.reporting.charts.distribution import histogram
from sfumato.reporting.charts.encoding_field import Field
from sfumato.reporting.gallery import Gallery, card_columns, item_cards, vote_counts
from sfumato.reporting.item_votes import ROUNDING, measured_labels, rows_by_name
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import NOT_IDENTIFIABLE, counted, mean_of, median_of, share_of
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.doubt import entropy
from sfumato.tables.estimand import Estimand
from sfumato.tables.soft_labels import SoftLabels

TITLE = "Labels"
THRESHOLDS = (
    (0.1, "0.98 and 0.02"),
    (0.33, "0.90 and 0.10"),
    (0.56, "0.75 and 0.25"),
    (math.log(2), "0.50 and 0.50"),
    (1.0, "0.55, 0.25 and 0.20"),
)
"""Entropies in nats, each with a label of about that entropy."""
SHOWN = 0.005
"""The lowest entropy of an item in the gallery: lower ones are shown as 0.00."""
N_DISPUTED = 12
FEW_BARS, MAX_BARS = 3, 30


def labels_section(evidence: ReportInputs) -> Section | None:
    """Entropy, answers and intervals of the main labels, and the items of highest entropy; None without labels."""
    labels = evidence.main_labels
    if labels is None or not len(labels):
        return None
    values = entropy(labels.probs)[_described(labels)]
    if is_one_vote_each(evidence, labels):
        facts = _facts(evidence, labels, values)
        unknown = Fact("unknown", "mean entropy of the labels", "one answer per item")
        return Section(
            TITLE,
            (
                Facts((*facts[:2], unknown)),
                Prose((*_words(evidence, labels), NOT_IDENTIFIABLE)),
                *_answers(evidence, labels),
            ),
        )
    blocks: list[Block] = [Facts(_facts(evidence, labels, values)), Prose(tuple(_words(evidence, labels)))]
    blocks += [entropy_chart(evidence, labels), _above(evidence, labels, values), *_answers(evidence, labels)]
    blocks += _intervals(evidence)
    if float(values.max()) >= SHOWN:
        blocks.append(disputed(evidence, labels))
    return Section(TITLE, tuple(blocks))


def is_one_vote_each(evidence: ReportInputs, labels: SoftLabels) -> bool:
    """Whether no item has more than one vote, so that labels do not show how much people disagree."""
    judged, votes = evidence.judged, evidence.votes
    if judged is not None and votes is not None:
        return judged.hard is not None and not votes.several.any()
    n = labels.n_annotators
    return n is not None and bool(len(n)) and bool((n == 1).all()) and not measured_labels(labels).any()


def _described(labels: SoftLabels) -> Bool[np.ndarray, "items"]:
    """The labels that figures about entropy are of: all if none has two annotators."""
    measured = measured_labels(labels)
    return measured if measured.any() else np.ones(len(labels), bool)


def _only(labels: SoftLabels) -> str:
    """Which items the figures about entropy are of; empty if of all."""
    n = int(_described(labels).sum())
    return "" if n == len(labels) else f"of the {counted(n, 'item')} with at least two annotators"


def _facts(evidence: ReportInputs, labels: SoftLabels, values: np.ndarray) -> tuple[Fact, ...]:
    """Items, classes, entropy, and the share of unanimous items by their votes; without votes, of one-class labels."""
    only, of = _only(labels), ""
    mean, votes = mean_of(values, (0.0, math.log(max(len(labels.classes), 2)))), evidence.votes
    several = votes.several if votes is not None else np.zeros(0, bool)
    if votes is not None and several.any():
        sure, what = share_of(int((several & votes.unanimous).sum()), int(several.sum())), "unanimous items"
        of = (
            ""
            if several.sum() == len(labels)
            else f"of the {counted(int(several.sum()), 'item')} with at least two annotators"
        )
    else:
        one = labels.probs.max(axis=1) >= 1 - ROUNDING
        sure, what = share_of(int(one.sum()), len(labels)), "labels with one class"
    interval = f"{100 * sure.low:.1f}% to {100 * sure.high:.1f}%"
    return (
        Fact(f"{len(labels):,}", "items"),
        Fact(f"{len(labels.classes)}", "classes"),
        Fact(
            f"{mean.value:.3f}", "mean entropy of the labels, nats", "; ".join(filter(None, (mean.interval(3), only)))
        ),
        Fact(f"{100 * sure.value:.1f}%", what, "; ".join(filter(None, (interval, of)))),
    )


def _words(evidence: ReportInputs, labels: SoftLabels) -> list[str]:
    is_votes = evidence.judged is not None and evidence.judged.hard is not None
    mean = "the shares of the votes" if is_votes else "the mean of the beliefs"
    names = [f"`{evidence.title_of(each)}`" for each in evidence.labels] or [mean]
    text = f"A soft label is a distribution over the {len(labels.classes)} classes. This section describes {names[0]}."
    if labels.made_by is not None and evidence.labels:
        text += f" The labels were made by `{labels.made_by}`."
    if is_one_vote_each(evidence, labels):
        text += " Every item has one answer, so that a label shows how one person judges."
    elif labels.estimand is not None:
        text += f" The labels estimate {labels.estimand.meaning}."
    if labels.estimand is Estimand.TRUTH:
        text += " Their uncertainty is about the true class; it is not how much people disagree."
    compared = [f"Other labels, compared below: {', '.join(names[1:])}."] if len(names) > 1 else []
    return [text, *compared]


def entropy_chart(evidence: ReportInputs, labels: SoftLabels) -> Chart:
    """The distribution of the labels' entropy."""
    values, only = entropy(labels.probs)[_described(labels)], _only(labels)
    median, high = median_of(values), float(np.quantile(values, 0.9, method="inverted_cdf"))
    most = math.log(len(labels.classes))
    few = f" These are figures {only}: one vote cannot show disagreement." if only else ""
    return histogram(
        "entropy",
        title="Entropy of the labels",
        caption=f"The median is {median.text(3, 'nats')}; at least 90% of the items have {high:.2f} or less. The "
        f"largest possible value is {most:.2f}.{few}",
        data={"entropy": np.maximum(values, 0.0)},
        value=Field("entropy", "entropy, nats", ".2~f", domain=(0.0, max(float(values.max()), 0.1))),
        source=evidence.source(evidence.main_part),
    )


def _above(evidence: ReportInputs, labels: SoftLabels, values: np.ndarray) -> ReportTable:
    found = [(at, words, share_of(int((values > at + ROUNDING).sum()), len(values))) for at, words in THRESHOLDS]
    found = [row for row in found if row[0] < THRESHOLDS[0][0] + 1e-9 or row[2].value > 0] or found[:1]
    only = _only(labels)
    return ReportTable(
        "entropy-above",
        "Items by entropy",
        f"The share of items with an entropy above some values, with 95% intervals{only and ', ' + only}.",
        (
            Column("entropy above", tuple(at for at, _, _ in found), 2),
            Column("items", tuple(round(each.value * each.n) for _, _, each in found), 0),
            Column("share", tuple(each.percent() for _, _, each in found)),
            Column("a label with about this entropy", tuple(words for _, words, _ in found)),
        ),
        evidence.source(evidence.main_part),
    )


def _answers(evidence: ReportInputs, labels: SoftLabels) -> list[Block]:
    counts = labels.n_annotators
    if counts is None or not counts.any():
        return [Prose(("The number of annotators per label is unknown.",))]
    low, middle, high = int(counts.min()), float(np.median(counts)), int(counts.max())
    range_text = f"Each label is based on {low} to {high} annotators, with a median of {middle:g}."
    if low == high:
        return [Prose((f"Each label is based on {counted(low, 'annotator')}.",))]
    values, n_items = np.unique(counts, return_counts=True)
    if len(values) <= FEW_BARS:
        each = ", ".join(f"{n:,} items have {k}" for k, n in zip(values.tolist(), n_items.tolist(), strict=True))
        return [Prose((f"{range_text} In detail: {each}.",))]
    title, source = "Annotators per label", evidence.source(evidence.main_part)
    if len(values) > MAX_BARS:
        people, data = Field("people", "annotators", ",d"), {"people": counts}
        return [histogram("people-an-item", title=title, caption=range_text, data=data, value=people, source=source)]
    return [
        bars(
            "people-an-item",
            title=title,
            caption=range_text,
            data={"people": [str(each) for each in values], "items": n_items},
            of="people",
            value=Field("items", "items", ",d"),
            source=source,
        )
    ]


def _intervals(evidence: ReportInputs) -> list[Block]:
    """The width of the labels' intervals, if `sfumato aggregate --intervals` wrote them."""
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
            title="Precision of the labels",
            caption=f"The width of the {level}interval{kind} of the most probable class, for {len(items):,} items. The "
            f"median is {median_of(width).text(2)}.",
            data={"width": width},
            value=Field("width", "width of the interval", ".2~f", domain=(0.0, max(float(width.max()), 1e-9))),
            source=evidence.source("intervals"),
        )
    ]


def disputed(evidence: ReportInputs, labels: SoftLabels, n: int = N_DISPUTED) -> Gallery:
    """The items whose labels have the highest entropy."""
    values = entropy(labels.probs)
    rows = [int(row) for row in np.argsort(-values, kind="stable")[:n] if values[row] >= SHOWN]
    notes = [f"entropy {values[row]:.2f}" for row in rows]
    originals = _original_of(evidence, labels, rows)
    has_counts = vote_counts(evidence.votes, labels, rows) is not None
    counts = ", with the number of annotators who chose it" if has_counts else ""
    mark = " The original class is marked." if any(originals) else ""
    return Gallery(
        "disputed",
        f"The {len(rows)} items with the highest entropy" if len(rows) != 1 else "The item with the highest entropy",
        f"The labels with the highest entropy. Each bar is the probability of a class{counts}.{mark}",
        item_cards(evidence, labels, rows, notes, originals),
        card_columns(labels, rows),
        evidence.source(evidence.main_part),
    )


def _original_of(evidence: ReportInputs, labels: SoftLabels, rows: list[int]) -> list[str | None]:
    original = evidence.original
    if original is None:
        return [None] * len(rows)
    best = original.probs.argmax(axis=1)
    at = rows_by_name(labels.items.take(rows), original.items)
    return [None if row < 0 else original.classes[best[row]] for row in at]
