"""Report section: excluded annotators, the reasons, and the effect on agreement."""

from __future__ import annotations

import numpy as np

from sfumato.labeling.agreement.agreement_table import AgreementTable
from sfumato.labeling.agreement.item_answers import ItemAnswers
from sfumato.labeling.screening import Screened
from sfumato.reporting.blocks import Block, Column, Fact, Facts, Prose, ReportTable
from sfumato.reporting.item_votes import ItemVotes, rows_by_name
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import share_of
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.reporting.sections.agreement import MEANINGS, figures_of
from sfumato.tables.beliefs import Beliefs

TITLE = "Excluded annotators"
RULES = {
    "checks_passed": "too few attention checks passed",
    "repeats_changed": "class changed too often for repeated items",
    "median_seconds": "answers too fast",
    "longest_run": "same answer too many times in a row",
}
"""The rules of `sfumato screen` in words; other rules are shown by name."""


def screening_section(evidence: ReportInputs) -> Section | None:
    """Exclusions per rule, and agreement with and without the excluded annotators; None without a screening table."""
    screened = evidence.screening
    if screened is None:
        return None
    n, n_excluded = len(screened.annotators), len(screened.excluded)
    facts = [
        Fact(f"{n:,}", "annotators screened"),
        Fact(f"{n_excluded:,}", "excluded", share_of(n_excluded, n).percent()),
    ]
    table = evidence.annotations if evidence.annotations is not None else evidence.beliefs
    if table is not None:
        n_answers = int(table.annotator.among(set(screened.excluded)).sum())
        facts.append(Fact(f"{n_answers:,}", "answers excluded", share_of(n_answers, len(table)).percent()))
    if not n_excluded:
        text = f"No annotator was excluded: the answers of all {n:,} are used."
        return Section(TITLE, (Facts(tuple(facts)), Prose((text,))))
    return Section(TITLE, (Facts(tuple(facts)), _reasons(evidence, screened), _effect(evidence)))


def _reasons(evidence: ReportInputs, screened: Screened) -> ReportTable:
    rows = screened.most_common_reasons()
    several = sum(len(rules) > 1 for rules in screened.reasons)
    n = len(screened.annotators)
    return ReportTable(
        "rules",
        "Reasons for exclusion",
        f"An annotator counts for every rule that applies; more than one applies to {several:,}.",
        (
            Column("reason", tuple(RULES.get(rule, rule.replace("_", " ")) for rule, _ in rows)),
            Column("annotators", tuple(k for _, k in rows), 0),
            Column("share", tuple(share_of(k, n).percent() for _, k in rows)),
            Column("rule", tuple(f"`{rule}`" for rule, _ in rows)),
        ),
        evidence.source("screening", command="sfumato screen annotations.parquet -o {file}"),
    )


def _effect(evidence: ReportInputs) -> Block:
    """Agreement with and without the excluded annotators."""
    beliefs, judged = evidence.beliefs, evidence.judged
    if beliefs is None or judged is None or len(judged) == len(beliefs):
        reason = "there are no beliefs" if beliefs is None else "the beliefs do not contain them"
        return Prose((f"The effect of the exclusion is unknown: {reason}.",))
    if not len(judged):
        return Prose(("All annotators were excluded: nothing is left to compare with.",))
    if not all(ItemAnswers.of(each).first.n_items for each in (judged, beliefs)):
        return Prose(("No item has answers from two annotators, so that agreement cannot be compared.",))
    kept, everybody = figures_of(judged), figures_of(beliefs)
    shared = [name for name in kept.measure if name in everybody.measure]
    rows = [(name, kept.measure.index(name), everybody.measure.index(name)) for name in shared]
    return ReportTable(
        "kept",
        "Effect of the exclusion",
        _changed_majorities(judged, beliefs),
        (
            Column("coefficient", tuple(MEANINGS.get(name, name) for name in shared)),
            Column("without them", tuple(_with_interval(kept, i) for _, i, _ in rows)),
            Column("with them", tuple(_with_interval(everybody, j) for _, _, j in rows)),
            Column(
                "difference", tuple(round(float(everybody.value[j] - kept.value[i]), 4) + 0.0 for _, i, j in rows), 4
            ),
            Column("measure", tuple(f"`{name}`" for name in shared)),
        ),
        evidence.source("beliefs", command="sfumato agreement {file}", note="95% intervals over annotators and items."),
    )


def _with_interval(figures: AgreementTable, row: int) -> str:
    if np.isnan(figures.value[row]):
        return "undefined"
    if np.isnan(figures.low[row]):
        return f"{figures.value[row]:.3f}"
    return f"{figures.value[row]:.3f} ({figures.low[row]:.3f} to {figures.high[row]:.3f})"


def _changed_majorities(judged: Beliefs, everybody: Beliefs) -> str:
    """A sentence about the items whose majority class changes if nobody is excluded."""
    with_all, without = ItemVotes.of(everybody).counts, ItemVotes.of(judged).counts
    rows = rows_by_name(everybody.item.names, judged.item.names)
    # A tie that is broken differently is not a change.
    both = rows >= 0
    both[both] = without[rows[both]].sum(axis=1) > 0
    one, other = with_all[both], without[rows[both]]
    first, then = one == one.max(axis=1, keepdims=True), other == other.max(axis=1, keepdims=True)
    n = int((~(first & then).any(axis=1)).sum())
    share = share_of(n, int(both.sum()))
    return (
        f"With the excluded annotators, the majority class would change for {n:,} of {share.n:,} items, "
        f"{share.percent()}. Agreement with and without them, with 95% intervals:"
    )
