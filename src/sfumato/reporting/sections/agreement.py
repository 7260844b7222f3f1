"""Report section: inter-annotator agreement and test-retest agreement."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from jaxtyping import Float

from sfumato.aggregation.adaptive_agreement import study_agreement
from sfumato.labeling.agreement.agreement_table import AgreementFigure, AgreementTable
from sfumato.labeling.agreement.item_answers import ItemAnswers
from sfumato.labeling.agreement.pairwise_distance import dissent_of_choices
from sfumato.reporting.blocks import Block, Column, DataSource, Prose, ReportTable
from sfumato.reporting.charts.comparison import dots
from sfumato.reporting.charts.encoding_field import Field
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import (
    LEVEL,
    SHARE,
    DisplayedEstimate,
    capitalized,
    counted,
    mean_of,
    short_names,
    shorten,
)
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.counts import Counts
from sfumato.tables.errors import warnings_off
from sfumato.tables.two_way import share_over_items

TITLE = "Agreement"
MEANINGS = {
    "alpha-nominal": "Krippendorff's alpha, most probable class: 0 (chance) to 1",
    "alpha-ordinal": "Krippendorff's alpha, ordered classes: near misses count less",
    "alpha-distributions": "Krippendorff's alpha, whole distributions: 0 (chance) to 1",
    "weighted-kappa": "Cohen's kappa with quadratic weights, ordered classes: mean over pairs of annotators",
    "total-variation": "mean distance between two annotators: 0 (same) to 1",
    "retest-same-class": "share of repeated answers with the same class",
    "retest-total-variation": "mean distance between repeated answers: 0 (same) to 1",
}
ORDINAL, NOMINAL = "alpha-ordinal", "alpha-nominal"
ALPHAS = (ORDINAL, NOMINAL)
"""The alpha that the text quotes: the first in the table. Only ordered classes have the first."""
RETEST = ("retest-same-class", "retest-total-variation")
MAX_CLASSES = 24


def agreement_section(evidence: ReportInputs) -> Section | None:
    """Agreement with intervals, agreement per class, and test-retest agreement if annotators saw items twice.

    None without beliefs, or if no item has two answers.
    """
    beliefs = evidence.judged
    if beliefs is None or not len(beliefs):
        return None
    counts = evidence.counts if evidence.judged_part == "counts" else None
    answers = ItemAnswers.of(beliefs, annotators_known=counts is None)
    found = figures_of(beliefs if counts is None else counts)
    is_retested = bool(answers.repeats.n_items)
    if not is_retested and evidence.repeated is not None:
        # Beliefs have the repeated answers only on request (`sfumato label --repeats`); the answers have them.
        found = with_retest(found, figures_of(evidence.repeated))
        is_retested = any(name in RETEST for name in found.measure)
    if not answers.first.n_items and not is_retested:
        return None
    blocks: list[Block] = [Prose(tuple(_words(evidence, answers, found))), _listed(evidence, found)]
    blocks += _widths(evidence, found)
    if answers.first.n_items:
        blocks += _by_class(evidence, beliefs, answers)
    return Section(TITLE, tuple(blocks))


def figures_of(people: Beliefs | Counts) -> AgreementTable:
    """The numbers of `sfumato agreement`. Warnings are off: the report states undefined values."""
    with warnings_off():
        return study_agreement(people)


def with_retest(found: AgreementTable, repeated: AgreementTable) -> AgreementTable:
    """`found` with the test-retest rows of `repeated`."""
    own = [row for row in _rows(found) if row.measure not in RETEST]
    return AgreementTable.of([*own, *(row for row in _rows(repeated) if row.measure in RETEST)])


def _rows(table: AgreementTable) -> list[AgreementFigure]:
    columns = (np.asarray(getattr(table, each.name)).tolist() for each in fields(AgreementFigure))
    return [AgreementFigure(*row) for row in zip(*columns, strict=True)]


def _words(evidence: ReportInputs, answers: ItemAnswers, found: AgreementTable) -> list[str]:
    sentences = []
    if answers.first.n_items:
        same = _same_choice(answers, found)
        sentences.append(
            f"Two annotators of the same item chose the same class in {same.percent()} of cases (mean over "
            f"{counted(same.n, 'item')})."
        )
    if (alpha := next((name for name in ALPHAS if name in found.measure), None)) is not None:
        sentences.append(_alpha_sentence(found, alpha))
    if "retest-same-class" in found.measure:
        i = found.measure.index("retest-same-class")
        sentences.append(
            f"Annotators who saw an item again chose the same class in {_estimate(found, i).percent(1)} of "
            f"{counted(int(found.n_answers[i]), 'repeated answer')}."
        )
    elif (n := n_repeats(evidence)) > 0:
        sentences.append(
            f"There are {counted(n, 'repeated answer')}, but test-retest agreement could not be computed from them."
        )
    elif evidence.judged_part == "counts":
        sentences.append("The counts do not show who voted, so that test-retest agreement is unknown.")
    elif evidence.annotations is None:
        sentences.append("The beliefs have no repeated answers, so that test-retest agreement is unknown.")
    else:
        sentences.append("No annotator saw an item twice, so that test-retest agreement is unknown.")
    if evidence.camps is not None and not np.isnan(evidence.camps.p_value):
        sentences.append(f"{capitalized(evidence.camps.sentence())}.")
    return sentences


def _alpha_sentence(found: AgreementTable, measure: str) -> str:
    """Krippendorff's alpha; of ordered classes the ordinal one, with the nominal one to compare."""
    i = found.measure.index(measure)
    if np.isnan(found.value[i]):
        return "Krippendorff's alpha is undefined, because every answer names the same class."
    value, scale = _estimate(found, i).text(3), "1 is full agreement, 0 is chance"
    if measure != ORDINAL:
        return f"Corrected for chance, Krippendorff's alpha is {value}; {scale}."
    also = ""
    if NOMINAL in found.measure:
        nominal = _estimate(found, found.measure.index(NOMINAL)).text(3)
        also = f" If the order of the classes is ignored, it is {nominal}."
    return f"Corrected for chance, Krippendorff's alpha for ordered classes is {value}; {scale}.{also}"


def _same_choice(answers: ItemAnswers, found: AgreementTable) -> DisplayedEstimate:
    """How often two annotators choose the same class: for votes 1 minus the total variation in the table."""
    if answers.first.hard is not None and "total-variation" in found.measure:
        differ = _estimate(found, found.measure.index("total-variation"))
        return DisplayedEstimate(1 - differ.value, 1 - differ.high, 1 - differ.low, differ.n)
    apart = share_over_items(dissent_of_choices(answers.first), level=LEVEL)
    between = apart.or_over_items()
    return DisplayedEstimate(1 - apart.value, 1 - between.high, 1 - between.low, answers.first.n_items)


def n_repeats(evidence: ReportInputs) -> int:
    """The number of answers that were asked for a second time."""
    answers = evidence.annotations
    return 0 if answers is None else int(answers.purpose.among({"repeat"}).sum())


def _estimate(found: AgreementTable, row: int) -> DisplayedEstimate:
    value, low, high = (float(each[row]) for each in (found.value, found.low, found.high))
    return DisplayedEstimate(value, low, high, int(found.n_items[row]))


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
            Column("annotators", tuple(found.n_annotators), 0),
            Column("answers", tuple(found.n_answers), 0),
            Column("measure", tuple(f"`{name}`" for name in found.measure)),
        ),
        _source(evidence),
    )


def _source(evidence: ReportInputs) -> DataSource:
    command = "sfumato agreement {file}" if evidence.judged_part != "annotations" else ""
    return evidence.source(evidence.judged_part, command=command)


def _widths(evidence: ReportInputs, found: AgreementTable) -> list[Block]:
    """Where the width of the intervals over annotators and items comes from; nothing if there are none."""
    rows = np.flatnonzero(~np.isnan(found.share_items)).tolist()
    if not rows:
        return []

    def shown(values: Float[np.ndarray, "measures"]) -> tuple[float, ...]:
        return tuple(float(values[i]) for i in rows)

    def share(values: Float[np.ndarray, "measures"]) -> tuple[str, ...]:
        return tuple(f"{values[i]:.0%}" for i in rows)

    return [
        ReportTable(
            "agreement-precision",
            "Precision of the agreement coefficients",
            "Half of the interval for other items and another crowd of annotators, as many as here; for other items "
            "and the same annotators; and as expected with twice the items or twice the annotators. On the right, the "
            "parts of the variance due to items, annotators and single answers.",
            (
                Column("coefficient", tuple(MEANINGS.get(found.measure[i], found.measure[i]) for i in rows)),
                Column("another crowd", shown((found.high - found.low) / 2), 3),
                Column("same annotators", shown(found.half_same_annotators), 3),
                Column("twice the items", shown(found.half_twice_items), 3),
                Column("twice the annotators", shown(found.half_twice_annotators), 3),
                Column("items", share(found.share_items)),
                Column("annotators", share(found.share_annotators)),
                Column("answers", share(found.share_answers)),
            ),
            _source(evidence),
        )
    ]


def _by_class(evidence: ReportInputs, beliefs: Beliefs, answers: ItemAnswers) -> list[Block]:
    """The share of pairs that agree, by the majority class of the item."""
    first = answers.first
    same = same_class(answers)
    cell = first.item.astype(np.int64) * first.n_classes + first.chosen()
    counts = np.bincount(cell, minlength=first.n_items * first.n_classes).reshape(first.n_items, first.n_classes)
    of_class = counts.argmax(axis=1)
    found = [(k, mean_of(same[of_class == k], SHARE)) for k in np.unique(of_class)]
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
                "high": [each.high for _, each in rows],
                "items": [each.n for _, each in rows],
            },
            of="class",
            value=Field("agreement", "share of pairs that agree", ".0%"),
            low="low",
            high="high",
            tooltip=(Field("items", "items", ",d"),),
            source=evidence.source(evidence.judged_part, note="Items are grouped by majority class."),
        )
    ]
