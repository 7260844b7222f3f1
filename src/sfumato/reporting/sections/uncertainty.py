"""Report section: uncertainty within and between annotators, per item and per class."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool

from sfumato.reporting.blocks import Block, DataSource, Fact, Facts, Prose
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts.distribution import stacked_bars
from sfumato.reporting.charts.encoding_field import Field
from sfumato.reporting.charts.scatter import sample_of, scatter
from sfumato.reporting.item_votes import ItemVotes, measured_items
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import mean_of, short_names, shorten
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.tables.beliefs import Beliefs
from sfumato.tables.doubt import Doubt

TITLE = "Uncertainty"
WITHIN, BETWEEN = "within annotators", "between annotators"
MAX_POINTS = 1500
MAX_CLASSES = 24
LEAST = 1e-12


def uncertainty_section(evidence: ReportInputs) -> Section | None:
    """Uncertainty within and between annotators, per item and per class; None without beliefs."""
    beliefs = evidence.judged
    if beliefs is None or not len(beliefs):
        return None
    doubt, votes = beliefs.doubt(), ItemVotes.of(beliefs)
    measured = measured_items(beliefs, votes)
    if not measured.any():
        text = "No item has votes of two annotators, so that uncertainty cannot be measured."
        return Section(TITLE, (Prose((text,)),))
    blocks: list[Block] = [_facts(beliefs, doubt, measured), Prose(tuple(_words(beliefs, doubt, votes)))]
    if beliefs.soft is not None:
        blocks.append(doubt_scatter(evidence, doubt))
    blocks += doubt_by_class(evidence, beliefs, doubt)
    return Section(TITLE, tuple(blocks))


def nats(beliefs: Beliefs) -> tuple[float, float]:
    """The bounds of an entropy over the classes."""
    return 0.0, float(np.log(max(len(beliefs.classes), 2)))


def _facts(beliefs: Beliefs, doubt: Doubt, measured: Bool[np.ndarray, "items"]) -> Facts:
    bounds, parts = nats(beliefs), (doubt.total, doubt.within, doubt.between)
    total, within, between = (mean_of(each[measured], bounds) for each in parts)
    entropy = Fact(f"{total.value:.3f}", "mean entropy, nats", total.interval(3))
    if beliefs.hard is not None:
        return Facts((entropy, Fact("unknown", WITHIN, "answers name one class")))
    share = within.value / total.value if total.value > LEAST else float("nan")
    of, rest = (f"{each:.0%} of the total" if each == each else "" for each in (share, 1 - share))
    return Facts((
        entropy,
        Fact(f"{within.value:.3f}", WITHIN, "; ".join(filter(None, (within.interval(3), of)))),
        Fact(f"{between.value:.3f}", BETWEEN, "; ".join(filter(None, (between.interval(3), rest)))),
    ))  # fmt: skip


def _words(beliefs: Beliefs, doubt: Doubt, votes: ItemVotes) -> list[str]:
    k = len(beliefs.classes)
    every = f", {np.log(k):.2f} if all {k} are" if k > 2 else ""
    sentences = [
        "The uncertainty of an item is the entropy of its mean belief. It is the sum of two parts: annotators who are "
        "unsure (within), and annotators who are sure of different classes (between). The unit is nats: 0 if all are "
        f"sure of one class, 0.69 if two classes are equally likely{every}."
    ]
    if beliefs.soft is None:
        sentences.append(
            "Annotators named one class without a confidence, so that all uncertainty appears as disagreement. "
            "Uncertainty within annotators cannot be measured with these answers."
        )
    some = votes.only_several()
    if not votes.several.any():
        sentences.append("No item has two annotators, so that disagreement between annotators cannot be measured.")
        return sentences
    if some and beliefs.hard is not None:
        sentences.append(f"The figures are of {some}: one vote cannot show disagreement.")
    elif some:
        sentences.append(f"Disagreement is known for {some}; for the others the part between annotators counts as 0.")
    few = np.median(doubt.n_answers[measured_items(beliefs, votes)])
    if few < 10:
        sentences.append(
            f"With a median of {few:g} answers per item, the estimate of the part between annotators is biased low."
        )
    return sentences


def doubt_scatter(evidence: ReportInputs, doubt: Doubt) -> Chart:
    """Every item by the two parts of its uncertainty; a random sample if there are many."""
    n = len(doubt)
    rows = sample_of(n, MAX_POINTS)
    unsure = int((doubt.within > doubt.between).sum())
    sample = f" {len(rows):,} of {n:,} items are shown, at random." if len(rows) < n else ""
    return scatter(
        "doubt-parts",
        title="Uncertainty per item, within and between annotators",
        caption=f"Right: annotators are unsure. Top: annotators disagree. For {unsure:,} of {n:,} items the part "
        f"within annotators is larger.{sample}",
        data={
            "item": doubt.items.take(rows).to_pylist(),
            "within": doubt.within[rows].round(5),
            "between": doubt.between[rows].round(5),
            "answers": doubt.n_answers[rows],
        },
        x=Field("within", "within annotators, nats", ".2f", zero=True),
        y=Field("between", "between annotators, nats", ".2f", zero=True),
        of="item",
        tooltip=(Field("answers", "answers", ",d"),),
        source=doubt_source(evidence),
    )


def doubt_source(evidence: ReportInputs) -> DataSource:
    command = "sfumato doubt {file} -o doubt.csv" if evidence.judged_part != "annotations" else ""
    return evidence.source(evidence.judged_part, command=command)


def doubt_by_class(evidence: ReportInputs, beliefs: Beliefs, doubt: Doubt) -> list[Chart]:
    """The mean parts of the uncertainty, by majority class."""
    votes = ItemVotes.of(beliefs)
    of_class, measured = votes.counts.argmax(axis=1), measured_items(beliefs, votes)
    found = [(int(k), measured & (of_class == k)) for k in np.unique(of_class[measured])]
    found.sort(key=lambda row: -float(doubt.total[row[1]].mean()))
    if len(found) < 2 or float(doubt.total.max()) < LEAST:
        return []
    some = f" Only {votes.only_several()} count." if not measured.all() else ""
    left = f" The {MAX_CLASSES} highest of {len(found)}." if len(found) > MAX_CLASSES else ""
    shown = found[:MAX_CLASSES]
    names = short_names([beliefs.classes[k] for k, _ in shown])
    highest, lowest = (mean_of(doubt.total[rows], nats(beliefs)) for _, rows in (shown[0], shown[-1]))
    both = [(WITHIN, doubt.within), (BETWEEN, doubt.between)]
    pieces = both if beliefs.soft is not None else both[1:]
    return [
        stacked_bars(
            "doubt-by-class",
            title="Uncertainty per class",
            caption=f"Mean uncertainty of items by majority class: from {highest.text(2, 'nats')} "
            f"for {shorten(beliefs.classes[shown[0][0]])} down to {lowest.text(2, 'nats')} "
            f"for {shorten(beliefs.classes[shown[-1][0]])}.{some}{left}",
            data={
                "class": [name for name in names for _ in pieces],
                "part": [part for _ in names for part, _ in pieces],
                "nats": [float(values[rows].mean()) for _, rows in shown for _, values in pieces],
                "items": [int(rows.sum()) for _, rows in shown for _ in pieces],
            },
            of="class",
            value=Field("nats", "mean entropy, nats", ".2f"),
            part="part",
            tooltip=(Field("items", "items", ",d"),),
            source=doubt_source(evidence),
        )
    ]
