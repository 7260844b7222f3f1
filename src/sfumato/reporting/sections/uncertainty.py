"""What the doubt is made of: people who are unsure, and people who disagree."""

from __future__ import annotations

import numpy as np

from sfumato.reporting.blocks import Block, Fact, Facts, Prose
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, parts, scatter
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import mean_of, short_names, shortened
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.reporting.sections.item_cards import first_choices
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.doubt import Doubt

TITLE = "What the doubt is made of"
WITHIN, BETWEEN = "within people", "between people"
MOST_POINTS = 1500
MOST_CLASSES = 24
LEAST = 1e-12


def doubting(evidence: ReportInputs) -> Section | None:
    """Doubt within and between people, item by item and class by class; None without beliefs."""
    beliefs = evidence.judged
    if beliefs is None or not len(beliefs):
        return None
    doubt = beliefs.doubt()
    blocks: list[Block] = [_facts(doubt), Prose(tuple(_words(beliefs, doubt)))]
    if beliefs.soft is not None:
        blocks.append(doubt_scatter(evidence, doubt))
    blocks += doubt_by_class(evidence, beliefs, doubt)
    return Section(TITLE, tuple(blocks))


def _facts(doubt: Doubt) -> Facts:
    total, within, between = (mean_of(each) for each in (doubt.total, doubt.within, doubt.between))
    share = within.value / total.value if total.value > LEAST else float("nan")
    of = f"{share:.0%} of it" if share == share else "there is no doubt at all"
    rest = f"; {1 - share:.0%} of it" if share == share else ""
    return Facts((
        Fact(f"{total.value:.3f}", "mean doubt, nats", f"{total.low:.3f} to {total.high:.3f}"),
        Fact(f"{within.value:.3f}", WITHIN, f"{within.low:.3f} to {within.high:.3f}; {of}"),
        Fact(f"{between.value:.3f}", BETWEEN, f"{between.low:.3f} to {between.high:.3f}{rest}"),
    ))  # fmt: skip


def _words(beliefs: Beliefs, doubt: Doubt) -> list[str]:
    most = float(np.log(len(beliefs.classes)))
    said = [
        "Doubt about an item is the entropy of what people say of it together. It has two parts that add up: people "
        "who are unsure themselves (within), and people who are sure of different classes (between). It is measured in "
        f"nats: 0 where all are sure of one class, 0.69 where two classes are equally likely, {most:.2f} where all "
        f"{len(beliefs.classes)} are."
    ]
    if beliefs.soft is None:
        said.append(
            "Everybody named one class without saying how sure they were, so that all doubt shows as disagreement: "
            "how much of it people felt themselves cannot be told from these answers."
        )
    few = np.median(doubt.n_answers)
    if few < 10:
        said.append(
            f"With {few:.0f} answers an item at the median, the part between people is estimated from few and too low "
            "on the whole: people who were not asked would have disagreed as well."
        )
    return said


def doubt_scatter(evidence: ReportInputs, doubt: Doubt) -> Chart:
    """Every item by its two parts of doubt; some items by lot, where there are many."""
    n = len(doubt)
    rows = np.arange(n)
    if n > MOST_POINTS:
        rows = np.sort(np.random.default_rng(0).choice(n, MOST_POINTS, replace=False))
    unsure = int((doubt.within > doubt.between).sum())
    drawn = f" {len(rows):,} of {n:,} items are drawn, by lot." if len(rows) < n else ""
    return scatter(
        "doubt-parts",
        title="Each item's doubt, in two parts",
        caption=f"To the right, items that people are unsure of themselves; upwards, items that split them. On "
        f"{unsure:,} of {n:,} items the doubt within people is the larger part.{drawn}",
        data={
            "item": [doubt.items[int(row)].as_py() for row in rows],
            "within": doubt.within[rows].round(5),
            "between": doubt.between[rows].round(5),
            "answers": doubt.n_answers[rows],
        },
        x=Field("within", "within people, nats", ".2f", zero=True),
        y=Field("between", "between people, nats", ".2f", zero=True),
        of="item",
        told=(Field("answers", "answers", ",d"),),
        source=evidence.source("beliefs", command="sfumato doubt {file} -o doubt.csv"),
    )


def doubt_by_class(evidence: ReportInputs, beliefs: Beliefs, doubt: Doubt) -> list[Chart]:
    """The mean parts of doubt, by the class that most people put first."""
    of_class = first_choices(beliefs).argmax(axis=1)
    found = [(int(k), of_class == k) for k in np.unique(of_class)]
    found.sort(key=lambda row: -float(doubt.total[row[1]].mean()))
    if len(found) < 2:
        return []
    left = f" The {MOST_CLASSES} highest of {len(found)}." if len(found) > MOST_CLASSES else ""
    shown = found[:MOST_CLASSES]
    names = short_names([beliefs.classes[k] for k, _ in shown])
    highest, lowest = mean_of(doubt.total[shown[0][1]]), mean_of(doubt.total[shown[-1][1]])
    both = [(WITHIN, doubt.within), (BETWEEN, doubt.between)]
    pieces = both if beliefs.soft is not None else both[1:]
    return [
        parts(
            "doubt-by-class",
            title="Doubt, class by class",
            caption=f"Mean doubt of items by the class most people put first: from {highest.figure(2, 'nats')} "
            f"for {shortened(beliefs.classes[shown[0][0]])} down to {lowest.figure(2, 'nats')} "
            f"for {shortened(beliefs.classes[shown[-1][0]])}.{left}",
            data={
                "class": [name for name in names for _ in pieces],
                "part": [part for _ in names for part, _ in pieces],
                "nats": [float(values[rows].mean()) for _, rows in shown for _, values in pieces],
                "items": [int(rows.sum()) for _, rows in shown for _ in pieces],
            },
            of="class",
            value=Field("nats", "mean doubt, nats", ".2f"),
            part="part",
            told=(Field("items", "items", ",d"),),
            source=evidence.source("beliefs", command="sfumato doubt {file} -o doubt.csv"),
        )
    ]
