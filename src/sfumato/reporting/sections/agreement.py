"""How far people agree with each other, and with themselves."""

from __future__ import annotations

import warnings

import numpy as np
from jaxtyping import Float

from sfumato.labeling.agreement import AgreementTable, agreement
from sfumato.labeling.agreement.item_answers import ItemAnswers
from sfumato.labeling.agreement.krippendorff_alpha import disagreeing_pairs
from sfumato.reporting.blocks import Block, Column, Prose, ReportTable
from sfumato.reporting.charts import Field, dots
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import mean_of, short_names, shortened
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.errors import SfumatoWarning

TITLE = "How far people agree"
MEANINGS = {
    "alpha-nominal": "agreement on the most probable class, from 0 (as by chance) to 1",
    "alpha-ordinal": "the same for classes in an order: near misses count less",
    "alpha-distributions": "agreement of whole beliefs, from 0 (as by chance) to 1",
    "total-variation": "how far two people are apart on an item, from 0 (the same) to 1",
    "retest-same-class": "share of repeated answers that keep the class",
    "retest-total-variation": "how far repeated answers move, from 0 (not at all) to 1",
}
MOST_CLASSES = 24


def agreeing(evidence: ReportInputs) -> Section | None:
    """Figures of agreement with intervals, agreement class by class, and test-retest where people saw items twice.

    None without beliefs, or where no item has two answers.
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
    """As `sfumato agreement` has them, with the same seed; what is undefined the report says itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)
        return agreement(beliefs, rng=np.random.default_rng(0))


def _words(answers: ItemAnswers, found: AgreementTable) -> list[str]:
    said = []
    same = mean_of(same_class(answers)) if answers.first.n_items else None
    if same is not None:
        said.append(
            f"Two different people who answered about the same item put the same class first in {same.percent()} of "
            f"cases, the mean over {same.n:,} items."
        )
    if "alpha-nominal" in found.measure:
        i = found.measure.index("alpha-nominal")
        said.append(
            "What would be expected by chance is not known, for every answer names the same class."
            if np.isnan(found.value[i])
            else f"Beyond what chance would give, that is Krippendorff's alpha of {found.value[i]:.3f} "
            f"({found.low[i]:.3f} to {found.high[i]:.3f}); 1 would be full agreement, 0 agreement as by chance."
        )
    if "retest-same-class" in found.measure:
        i = found.measure.index("retest-same-class")
        with_others = f" With others they agreed in {same.percent()}." if same is not None else ""
        said.append(
            f"People who saw an item again kept their class in {100 * found.value[i]:.1f}% "
            f"({100 * found.low[i]:.1f}% to {100 * found.high[i]:.1f}%) of {found.n_answers[i]:,} repeated answers."
            f"{with_others} What people cannot repeat themselves, no two of them can be expected to agree on."
        )
    else:
        said.append("Nobody answered about the same item twice, so that nothing is known of how steady people are.")
    return said


def same_class(answers: ItemAnswers) -> Float[np.ndarray, "items"]:
    """The share of pairs of people who put the same class first, an item."""
    first = answers.first
    pairs = first.per_item * (first.per_item - 1.0)
    return np.asarray(1 - disagreeing_pairs(first.item, first.chosen(), first.per_item, first.n_classes) / pairs)


def _listed(evidence: ReportInputs, found: AgreementTable) -> ReportTable:
    kinds = "; ".join(dict.fromkeys(found.interval))
    return ReportTable(
        "agreement",
        "Figures of agreement",
        f"Each with its 95% interval ({kinds}).",
        (
            Column("figure", tuple(MEANINGS.get(name, name) for name in found.measure)),
            Column("value", tuple(_or_none(each) for each in found.value.tolist()), 3),
            Column("from", tuple(_or_none(each) for each in found.low.tolist()), 3),
            Column("to", tuple(_or_none(each) for each in found.high.tolist()), 3),
            Column("items", tuple(found.n_items.tolist()), 0),
            Column("answers", tuple(found.n_answers.tolist()), 0),
            Column("measure", tuple(f"`{name}`" for name in found.measure)),
        ),
        evidence.source("beliefs", command="sfumato agreement {file} --seed 0"),
    )


def _by_class(evidence: ReportInputs, beliefs: Beliefs, answers: ItemAnswers) -> list[Block]:
    """The share of pairs that agree, by the class that most people put first."""
    first = answers.first
    same = same_class(answers)
    cell = first.item.astype(np.int64) * first.n_classes + first.chosen()
    counts = np.bincount(cell, minlength=first.n_items * first.n_classes).reshape(first.n_items, first.n_classes)
    of_class = counts.argmax(axis=1)
    found = [(k, mean_of(same[of_class == k])) for k in np.unique(of_class)]
    rows = sorted(((beliefs.classes[k], each) for k, each in found), key=lambda row: row[1].value)
    if len(rows) < 2:
        return []
    left = f" The {MOST_CLASSES} lowest of {len(rows)}." if len(rows) > MOST_CLASSES else ""
    rows = rows[:MOST_CLASSES]
    lowest, highest = rows[0], rows[-1]
    names = short_names([name for name, _ in rows])
    return [
        dots(
            "agreement-by-class",
            title="Agreement, class by class",
            caption=f"How often two people put the same class first, by the class most put first: from "
            f"{lowest[1].percent(1)} for {shortened(lowest[0])} to {highest[1].percent(1)} for "
            f"{shortened(highest[0])}.{left} Lines are 95% intervals over items.",
            data={
                "class": names,
                "agreement": [each.value for _, each in rows],
                "low": [each.low for _, each in rows],
                "high": [min(each.high, 1.0) if each.high == each.high else None for _, each in rows],
                "items": [each.n for _, each in rows],
            },
            of="class",
            value=Field("agreement", "share of pairs that agree", ".0%"),
            low="low",
            high="high",
            told=(Field("items", "items", ",d"),),
            source=evidence.source("beliefs", note="Items by the class that most people put first."),
        )
    ]


def _or_none(value: float) -> float | None:
    return None if value != value else value
