"""Who was set aside and why, and what changes if they are kept."""

from __future__ import annotations

from collections import Counter

import numpy as np

from sfumato.labeling.agreement import AgreementTable
from sfumato.labeling.agreement.item_answers import ItemAnswers
from sfumato.reporting.blocks import Block, Column, Fact, Facts, Prose, ReportTable
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import share_of
from sfumato.reporting.report_inputs import ReportInputs, Screened
from sfumato.reporting.sections.agreement import MEANINGS, figures_of
from sfumato.reporting.sections.item_cards import first_choices
from sfumato.tables.beliefs import Beliefs

TITLE = "Who was set aside, and why"
RULES = {
    "checks_passed": "passed too few attention checks",
    "repeats_changed": "changed the class too often when an item came again",
    "median_seconds": "answered too fast",
    "longest_run": "gave the same answer too many times in a row",
}
"""What the rules of `sfumato screen` mean; others stand by their names."""


def setting_aside(evidence: ReportInputs) -> Section | None:
    """Counts a rule, and agreement with and without those set aside; None without a screening table."""
    screened = evidence.screening
    if screened is None:
        return None
    n, aside = len(screened.annotators), len(screened.names_set_aside)
    share = share_of(aside, n)
    facts = [Fact(f"{n:,}", "people looked at"), Fact(f"{aside:,}", "set aside", share.percent())]
    n_answers = _answers_of(evidence, screened)
    if n_answers is not None:
        facts.append(Fact(f"{n_answers[0]:,}", "answers of theirs", share_of(*n_answers).percent()))
    blocks: list[Block] = [Facts(tuple(facts))]
    if not aside:
        blocks.append(Prose((f"Nobody offended against a rule: all {n:,} people's answers are used.",)))
        return Section(TITLE, tuple(blocks))
    return Section(TITLE, (*blocks, *_why(evidence, screened), *_what_changes(evidence)))


def _answers_of(evidence: ReportInputs, screened: Screened) -> tuple[int, int] | None:
    table = evidence.annotations if evidence.annotations is not None else evidence.beliefs
    if table is None:
        return None
    aside = set(screened.names_set_aside)
    is_aside = np.array([name in aside for name in table.annotator.names.to_pylist()], dtype=bool)
    return int(is_aside[table.annotator.codes].sum()), len(table)


def _why(evidence: ReportInputs, screened: Screened) -> list[Block]:
    counts = Counter(rule for rules in screened.reasons for rule in rules)
    several = sum(len(rules) > 1 for rules in screened.reasons)
    n = len(screened.annotators)
    shares = [share_of(k, n) for _, k in counts.most_common()]
    caption = "Everybody is listed under every rule they offended against"
    caption += f"; {several:,} offended against more than one." if several else "; nobody against more than one."
    return [
        ReportTable(
            "rules",
            "For which reasons",
            caption,
            (
                Column(
                    "they", tuple(RULES.get(rule, "offended against this rule") for rule, _ in counts.most_common())
                ),
                Column("people", tuple(k for _, k in counts.most_common()), 0),
                Column("of all", tuple(each.percent() for each in shares)),
                Column("rule", tuple(f"`{rule}`" for rule, _ in counts.most_common())),
            ),
            evidence.source("screening", command="sfumato screen annotations.parquet -o {file}"),
        )
    ]


def _what_changes(evidence: ReportInputs) -> list[Block]:
    beliefs, judged = evidence.beliefs, evidence.judged
    if beliefs is None or judged is None or len(judged) == len(beliefs):
        why = "there are no beliefs here" if beliefs is None else "what was made of the answers leaves them out already"
        return [Prose((f"What their answers would change cannot be said: {why}.",))]
    if not len(judged):
        return [Prose(("Everybody who answered was set aside: nothing is left to compare with.",))]
    kept, everybody = _figures(judged), _figures(beliefs)
    if kept is None or everybody is None:
        return [Prose(("No item was answered by two people, so that agreement cannot be compared.",))]
    shared = [name for name in kept.measure if name in everybody.measure]
    rows = [(name, kept.measure.index(name), everybody.measure.index(name)) for name in shared]
    listed = ReportTable(
        "kept",
        "What changes if they are kept",
        _changed(judged, beliefs),
        (
            Column("figure", tuple(MEANINGS.get(name, name) for name in shared)),
            Column("without them", tuple(_said(kept, i) for _, i, _ in rows)),
            Column("with them", tuple(_said(everybody, j) for _, _, j in rows)),
            Column(
                "difference", tuple(round(float(everybody.value[j] - kept.value[i]), 4) + 0.0 for _, i, j in rows), 4
            ),
            Column("measure", tuple(f"`{name}`" for name in shared)),
        ),
        evidence.source("beliefs", command="sfumato agreement {file}", note="Intervals: bootstrap over items, 95%."),
    )
    return [listed]


def _figures(beliefs: Beliefs) -> AgreementTable | None:
    if not ItemAnswers.of(beliefs).first.n_items:
        return None
    return figures_of(beliefs)


def _said(figures: AgreementTable, row: int) -> str:
    if np.isnan(figures.value[row]):
        return "undefined"
    return f"{figures.value[row]:.3f} ({figures.low[row]:.3f} to {figures.high[row]:.3f})"


def _changed(judged: Beliefs, everybody: Beliefs) -> str:
    """On how many items the class that most people put first is another with everybody kept."""
    with_all, without = first_choices(everybody), first_choices(judged)
    place = {name: i for i, name in enumerate(judged.item.names.to_pylist())}
    rows = np.array([place.get(name, -1) for name in everybody.item.names.to_pylist()])
    # A tie that is only broken the other way is no change.
    both = rows >= 0
    both[both] = without[rows[both]].sum(axis=1) > 0
    one, other = with_all[both], without[rows[both]]
    first, then = one == one.max(axis=1, keepdims=True), other == other.max(axis=1, keepdims=True)
    n = int((~(first & then).any(axis=1)).sum())
    share = share_of(n, int(both.sum()))
    return (
        f"The class that most people put first would be another on {n:,} of {share.n:,} items, {share.percent()}. "
        "Agreement with and without them, each with its 95% interval:"
    )
