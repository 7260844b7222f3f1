"""Report section: uncertainty within and between annotators, per item and per class."""

from __future__ import annotations

import numpy as np

from sfumato.reporting.blocks import Block, DataSource, Fact, Facts, Prose
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.distribution import stacked_bars
from sfumato.reporting.charts.encoding_field import Field
from sfumato.reporting.charts.scatter import sample_of, scatter
from sfumato.reporting.item_votes import ItemVotes
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import (
    NOT_IDENTIFIABLE,
    SHARE,
    dissent_sentence,
    intervals_sentence,
    mean_figure,
    mean_of,
    short_names,
    shorten,
)
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.doubt import Doubt
from sfumato.tables.mean_doubt import MeanDoubt, MeanFigure

TITLE = "Uncertainty"
WITHIN, BETWEEN = "within annotators", "between annotators"
MAX_POINTS = 1500
MAX_CLASSES = 24
LEAST = 1e-12


def uncertainty_section(evidence: ReportInputs) -> Section | None:
    """How often two people give different answers, within and between annotators, per item and per class; None without
    beliefs."""
    beliefs, mean = evidence.judged, evidence.mean_doubt
    if beliefs is None or mean is None:
        return None
    doubt, votes = beliefs.doubt(), ItemVotes.of(beliefs)
    facts = _facts(mean)
    blocks: list[Block] = [Facts(facts)] if facts else []
    blocks.append(Prose(tuple(_words(beliefs, mean, votes))))
    if mean.dissent is None:
        return Section(TITLE, tuple(blocks))
    if beliefs.soft is not None:
        blocks.append(doubt_scatter(evidence, doubt))
    blocks += doubt_by_class(evidence, beliefs, doubt)
    return Section(TITLE, tuple(blocks))


def _facts(mean: MeanDoubt) -> tuple[Fact, ...]:
    """The dissent and its parts, then entropies if there are enough answers."""

    def fact(figure: MeanFigure, name: str, note: str = "", *, nats: bool = False) -> Fact:
        shown = mean_figure(figure, mean.n_measured)
        value, _, interval = (shown.text(unit="nats") if nats else shown.percent()).partition(" (")
        return Fact(value, name, "; ".join(filter(None, (interval.removesuffix(")"), note))))

    facts = []
    if mean.dissent is not None:
        facts.append(fact(mean.dissent, "two people differ"))
    if mean.within is not None:
        facts.append(fact(mean.within, WITHIN))
    elif mean.dissent is not None:
        facts.append(Fact("unknown", WITHIN, "answers name one class"))
    if mean.between is not None:
        facts.append(fact(mean.between, BETWEEN))
    if mean.entropy is not None:
        facts.append(fact(mean.entropy.total, "mean entropy", f"{mean.entropy.method}, model-based", nats=True))
        if mean.entropy.between is not None:
            note = f"mutual information; {mean.entropy.method}"
            facts.append(fact(mean.entropy.between, f"entropy {BETWEEN}", note, nats=True))
    return tuple(facts)


def _words(beliefs: Beliefs, mean: MeanDoubt, votes: ItemVotes) -> list[str]:
    if mean.dissent is None:
        known = (
            ["Only uncertainty within annotators is known: two draws from one belief differ."] if mean.within else []
        )
        return [NOT_IDENTIFIABLE, *known]
    sentences = [dissent_sentence(mean), intervals_sentence(mean)]
    if beliefs.soft is None:
        sentences.append(
            "Annotators named one class without a confidence, so that all uncertainty appears as disagreement. "
            "Uncertainty within annotators cannot be measured with these answers."
        )
    else:
        sentences.append(
            "One class is drawn from each of two annotators' beliefs. How often the two differ is the sum of two "
            "parts: two draws from the same belief differ, because annotators are unsure (within), and annotators "
            "believe different things (between)."
        )
    some = votes.only_several()
    if some:
        sentences.append(f"The figures are of {some}: one answer cannot show disagreement.")
    if mean.entropy is None:
        sentences.append(
            f"With a median of {mean.median_answers:g} answers per item, the entropy of people's answers is not "
            "identifiable, so that it is not shown."
        )
    return sentences


def doubt_scatter(evidence: ReportInputs, doubt: Doubt) -> Chart:
    """Every item by the two parts of its dissent; a random sample if there are many."""
    known = np.flatnonzero(~np.isnan(doubt.dissent_between))
    rows = known[sample_of(len(known), MAX_POINTS)]
    n = len(known)
    unsure = int((doubt.dissent_within[known] > doubt.dissent_between[known]).sum())
    sample = f" {len(rows):,} of {n:,} items are shown, at random." if len(rows) < n else ""
    return scatter(
        "doubt-parts",
        title="Uncertainty per item, within and between annotators",
        caption=f"Right: annotators are unsure. Top: annotators disagree. For {unsure:,} of {n:,} items the part "
        f"within annotators is larger.{sample}",
        data={
            "item": doubt.items.take(rows).to_pylist(),
            "within": doubt.dissent_within[rows].round(5),
            "between": doubt.dissent_between[rows].round(5),
            "answers": doubt.n_answers[rows],
        },
        x=Field("within", "within annotators: two draws from one belief differ", ".0%", zero=True),
        y=Field("between", "between annotators", ".0%", zero=True),
        of="item",
        tooltip=(Field("answers", "answers", ",d"),),
        source=doubt_source(evidence),
    )


def doubt_source(evidence: ReportInputs) -> DataSource:
    command = "sfumato doubt {file} -o doubt.csv" if evidence.judged_part != "annotations" else ""
    return evidence.source(evidence.judged_part, command=command)


def doubt_by_class(evidence: ReportInputs, beliefs: Beliefs, doubt: Doubt) -> list[Chart]:
    """The mean dissent and its parts, by majority class."""
    votes = ItemVotes.of(beliefs)
    of_class, measured = votes.counts.argmax(axis=1), ~np.isnan(doubt.dissent)
    found = [(int(k), measured & (of_class == k)) for k in np.unique(of_class[measured])]
    found.sort(key=lambda row: -float(doubt.dissent[row[1]].mean()))
    if len(found) < 2 or float(np.nanmax(doubt.dissent)) < LEAST:
        return []
    some = f" Only {votes.only_several()} count." if not measured.all() else ""
    left = f" The {MAX_CLASSES} highest of {len(found)}." if len(found) > MAX_CLASSES else ""
    shown = found[:MAX_CLASSES]
    names = short_names([beliefs.classes[k] for k, _ in shown])
    highest, lowest = (mean_of(doubt.dissent[rows], SHARE) for _, rows in (shown[0], shown[-1]))
    both = [(WITHIN, doubt.dissent_within), (BETWEEN, doubt.dissent_between)]
    pieces = both if beliefs.soft is not None else [(BETWEEN, doubt.dissent)]
    return [
        stacked_bars(
            "doubt-by-class",
            title="Uncertainty per class",
            caption=f"How often two people give different answers about items of a majority class: from "
            f"{highest.percent()} for {shorten(beliefs.classes[shown[0][0]])} down to {lowest.percent()} "
            f"for {shorten(beliefs.classes[shown[-1][0]])}, with 95% intervals over items.{some}{left}",
            data={
                "class": [name for name in names for _ in pieces],
                "part": [part for _ in names for part, _ in pieces],
                "dissent": [float(values[rows].mean()) for _, rows in shown for _, values in pieces],
                "items": [int(rows.sum()) for _, rows in shown for _ in pieces],
            },
            of="class",
            value=Field("dissent", "two people differ", ".0%"),
            part="part",
            tooltip=(Field("items", "items", ",d"),),
            source=doubt_source(evidence),
        )
    ]
