"""Report section: inter-annotator agreement and test-retest agreement."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from sfumato.labeling.agreement import agreement as measure_agreement
from sfumato.labeling.agreement.item_answers import ItemAnswers
from sfumato.labeling.agreement.measure_protocol import AgreementTable
from sfumato.reporting.blocks import Block, Column, Prose, ReportTable
from sfumato.reporting.charts.comparison import dots
from sfumato.reporting.charts.encoding_field import Field
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import mean_of, short_names, shorten
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import warnings_off

TITLE = "Agreement"
MEANINGS = {
    "alpha-nominal": "Krippendorff's alpha, most probable class: 0 (chance) to 1",
    "alpha-ordinal": "Krippendorff's alpha, ordered classes: near misses count less",
    "alpha-distributions": "Krippendorff's alpha, whole distributions: 0 (chance) to 1",
    "total-variation": "mean distance between two annotators: 0 (same) to 1",
    "retest-same-class": "share of repeated answers with the same class",
    "retest-total-variation": "mean distance between repeated answers: 0 (same) to 1",
}
MAX_CLASSES = 24


def agreement_section(evidence: ReportInputs) -> Section | None:
    """Agreement with intervals, agreement per class, and test-retest agreement if annotators saw items twice.

    None without beliefs, or if no item has two answers.
    """
    beliefs = evidence.judged
    if beliefs is None or not len(beliefs):
        return None
    answers = ItemAnswers.of(beliefs)
    if not answers.first.n_items and not answers.repeats.n_items:
        return None
    found = figures_of(beliefs)
    blocks: list[Block] = [Prose(tuple(_words(answers, found))), _listed(evidence, found)]
    if answers.first.n_items:
        blocks += _by_class(evidence, beliefs, answers)
    return Section(TITLE, tuple(blocks))


def figures_of(beliefs: Beliefs) -> AgreementTable:
    """The numbers of `sfumato agreement`, with the same seed. Warnings are off: the report states undefined values."""
    with warnings_off():
        return measure_agreement(beliefs, rng=np.random.default_rng(0))


def _words(answers: ItemAnswers, found: AgreementTable) -> list[str]:
    sentences = []
    if answers.first.n_items:
        same = mean_of(same_class(answers))
        sentences.append(
            f"Two annotators of the same item chose the same class in {same.percent()} of cases (mean over {same.n:,} "
            "items)."
        )
    if "alpha-nominal" in found.measure:
        i = found.measure.index("alpha-nominal")
        sentences.append(
            "Krippendorff's alpha is undefined, because every answer names the same class."
            if np.isnan(found.value[i])
            else f"Corrected for chance, Krippendorff's alpha is {found.value[i]:.3f} ({found.low[i]:.3f} to "
            f"{found.high[i]:.3f}); 1 is full agreement, 0 is chance."
        )
    if "retest-same-class" in found.measure:
        i = found.measure.index("retest-same-class")
        sentences.append(
            f"Annotators who saw an item again chose the same class in {100 * found.value[i]:.1f}% "
            f"({100 * found.low[i]:.1f}% to {100 * found.high[i]:.1f}%) of {found.n_answers[i]:,} repeated answers. "
            "This is an upper limit for the agreement between annotators."
        )
    else:
        sentences.append("No annotator saw an item twice, so that test-retest agreement is unknown.")
    return sentences


def same_class(answers: ItemAnswers) -> Float[np.ndarray, "items"]:
    """The share of pairs of annotators with the same most probable class, per item."""
    first = answers.first
    pairs = first.per_item * (first.per_item - 1.0)
    return np.asarray(1 - first.disagreeing_pairs() / pairs)


def _listed(evidence: ReportInputs, found: AgreementTable) -> ReportTable:
    kinds = "; ".join(dict.fromkeys(found.interval))
    return ReportTable(
        "agreement",
        "Agreement coefficients",
        f"With 95% intervals ({kinds}).",
        (
            Column("coefficient", tuple(MEANINGS.get(name, name) for name in found.measure)),
            Column("value", tuple(found.value), 3),
            Column("from", tuple(found.low), 3),
            Column("to", tuple(found.high), 3),
            Column("items", tuple(found.n_items), 0),
            Column("answers", tuple(found.n_answers), 0),
            Column("measure", tuple(f"`{name}`" for name in found.measure)),
        ),
        evidence.source("beliefs", command="sfumato agreement {file} --seed 0"),
    )


def _by_class(evidence: ReportInputs, beliefs: Beliefs, answers: ItemAnswers) -> list[Block]:
    """The share of pairs that agree, by the majority class of the item."""
    first = answers.first
    same = same_class(answers)
    cell = first.item.astype(np.int64) * first.n_classes + first.chosen()
    counts = np.bincount(cell, minlength=first.n_items * first.n_classes).reshape(first.n_items, first.n_classes)
    of_class = counts.argmax(axis=1)
    found = [(k, mean_of(same[of_class == k])) for k in np.unique(of_class)]
    rows = sorted(((beliefs.classes[k], each) for k, each in found), key=lambda row: row[1].value)
    if len(rows) < 2:
        return []
    left = f" The {MAX_CLASSES} lowest of {len(rows)}." if len(rows) > MAX_CLASSES else ""
    rows = rows[:MAX_CLASSES]
    (low_name, lowest), (high_name, highest) = rows[0], rows[-1]
    return [
        dots(
            "agreement-by-class",
            title="Agreement per class",
            caption="How often two annotators choose the same class, by the majority class of the item: from "
            f"{lowest.percent(1)} for {shorten(low_name)} to {highest.percent(1)} for {shorten(high_name)}.{left} "
            "Lines are 95% intervals over items.",
            data={
                "class": short_names([name for name, _ in rows]),
                "agreement": [each.value for _, each in rows],
                "low": [each.low for _, each in rows],
                "high": [min(each.high, 1.0) if each.high == each.high else None for _, each in rows],
                "items": [each.n for _, each in rows],
            },
            of="class",
            value=Field("agreement", "share of pairs that agree", ".0%"),
            low="low",
            high="high",
            tooltip=(Field("items", "items", ",d"),),
            source=evidence.source("beliefs", note="Items are grouped by majority class."),
        )
    ]
