"""Report section: the questions, the annotators, the time per answer and the cost."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from sfumato.elicitation.kinds import kind_asked
from sfumato.reporting.blocks import Block, Column, DataSource, Fact, Facts, Prose, ReportTable
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import curve
from sfumato.reporting.charts.distribution import histogram
from sfumato.reporting.charts.encoding_field import Field
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import POSITIVE, DisplayedEstimate, counted, mean_of, median_of, short_names
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.study.study import Framing, Pay, Question, Study
from sfumato.tables.annotations import Annotations
from sfumato.tables.counts import Counts
from sfumato.tables.errors import SfumatoError

TITLE = "Study and participants"
MAX_POINTS = 12
"""Points of the curve over a session."""
FEWEST = 20
"""The fewest answers with known times that are reported."""
SHOWN = 0.99
"""The share of times shown in the histogram; the longest are pauses."""
PURPOSES = {"label": "label", "check": "attention check", "repeat": "repeat, for test-retest agreement"}


def collection_section(evidence: ReportInputs) -> Section | None:
    """The questions, annotators, answers, times and cost; None without study, answers, beliefs and counts."""
    tables = (evidence.study, evidence.annotations, evidence.beliefs, evidence.counts)
    if all(table is None for table in tables):
        return None
    facts, answers = _facts(evidence), evidence.annotations
    blocks: list[Block] = [*([Facts(facts)] if facts else []), Prose(tuple(_words(evidence)))]
    if answers is not None:
        blocks += [*_kinds(evidence, answers), *_times(evidence, answers)]
    return Section(TITLE, tuple(blocks))


def _facts(evidence: ReportInputs) -> tuple[Fact, ...]:
    answers = evidence.annotations
    table = answers if answers is not None else evidence.beliefs
    if table is None:
        return () if evidence.counts is None else _vote_facts(evidence.counts)
    # Checks and repeats are answers too, but not answers per labeled item.
    labeled = table if answers is None else answers.for_purposes("label")
    each = np.unique(table.annotator.codes, return_counts=True)[1]
    n_items, n_people, median = len(np.unique(labeled.item.codes)), len(each), int(np.median(each)) if len(each) else 0
    facts = [
        Fact(f"{n_items:,}", "items", f"{len(labeled) / n_items:.1f} answers per item" if n_items else ""),
        Fact(f"{n_people:,}", "annotators", f"median {counted(median, 'answer')} per annotator"),
        Fact(f"{len(table):,}", "answers", _purposes(answers)),
    ]
    seconds = _seconds(evidence.annotations)
    if len(seconds) >= FEWEST:
        took = median_of(seconds)
        facts.append(Fact(f"{took.value:.1f} s", "per answer", f"median; {took.low:.1f} to {took.high:.1f}"))
    if evidence.study is not None and evidence.study.pay is not None and answers is not None:
        facts.append(_cost(evidence.study, evidence.study.pay, answers))
    return tuple(facts)


def _vote_facts(counts: Counts) -> tuple[Fact, ...]:
    n_votes = counts.n_votes
    per_item = Fact(f"{len(counts):,}", "items", f"{n_votes.mean():.1f} votes per item" if len(counts) else "")
    return per_item, Fact(f"{int(n_votes.sum()):,}", "votes")


def _purposes(answers: Annotations | None) -> str:
    """`360 for labels, 45 repeats`, if there are checks or repeats."""
    if answers is None:
        return ""
    counts = {name: int(answers.purpose.among({name}).sum()) for name in ("label", "check", "repeat")}
    if counts["label"] == len(answers):
        return ""
    others = [counted(counts[name], name) for name in ("check", "repeat") if counts[name]]
    return ", ".join([f"{counts['label']:,} for labels", *others])


def batches_of(study: Study, answers: Annotations, *, finished: bool = False) -> float:
    """The batches paid for the answers, by the rule of the dashboard: in proportion, or if everybody `finished`, those
    that were begun. A deeper question about the same item does not count again."""
    labels = answers.for_purposes("label")
    trials = np.unique(labels.item.codes.astype(np.int64) * len(labels.annotator.names) + labels.annotator.codes)
    each = np.bincount(trials % max(len(labels.annotator.names), 1)).tolist()
    return sum(study.people.paid_batches(n, finished=finished) for n in each)


def _cost(study: Study, pay: Pay, answers: Annotations) -> Fact:
    """The cost of the answers; a range where it depends on whether people finished, which the answers do not say."""
    low, high = (batches_of(study, answers, finished=finished) for finished in (False, True))
    price = pay.amount * (1 + study.fee)
    whole = f"{low:,.1f}" == f"{high:,.1f}"
    cost = f"{price * high:,.2f}" if whole else f"{price * low:,.2f} to {price * high:,.2f}"
    n_batches = f"{high:,.1f}" if whole else f"{low:,.1f} to {high:,.1f}"
    how = f"{n_batches} batches at {pay.currency} {pay.amount:,.2f}, with their checks and repeats"
    how += "" if whole else "; batches that were begun, in proportion or in full"
    how += f"; with a fee of {100 * study.fee:.3g}%" if study.fee else "; without fees"
    return Fact(f"{pay.currency} {cost}", "estimated cost", how + (", without bonuses" if pay.bonus else ""))


def _words(evidence: ReportInputs) -> list[str]:
    study, sentences = evidence.study, []
    if study is not None:
        for i, question in enumerate(study.questions):
            framing = "what others would say" if question.framing is Framing.OTHERS else "their own view"
            opening = "For some items, a deeper question followed:" if i else "People were asked"
            sentences.append(f"{opening} “{prompt_of(question)}” (question type `{question.kind}`, {framing}).")
    tables = (evidence.main_labels, evidence.beliefs, evidence.counts, evidence.annotations)
    classes = [each.classes for each in tables if each is not None] if study is None else [study.class_names]
    if classes:
        sentences.append(f"There are {len(classes[0])} classes: {', '.join(short_names(classes[0]))}.")
    if study is not None:
        people = study.people
        sentences.append(
            f"The study collects at most {people.answers_per_item} answers per item, in batches of "
            f"{people.batch_size} items" + (f" plus {people.repeats} repeats." if people.repeats else ".")
        )
        sentences += _paid(study, evidence.annotations)
    if evidence.annotations is None and evidence.beliefs is None and evidence.counts is not None:
        sentences.append("Only the votes per item and class are available; annotators and times are unknown.")
    elif study is None and evidence.annotations is None:
        sentences.append("The answers are not available, only the beliefs computed from them; times are unknown.")
    return sentences


def prompt_of(question: Question) -> str:
    """The sentence shown above the form."""
    try:
        return question.prompt or kind_asked(question).prompt(question.framing)
    except SfumatoError:
        return question.kind


def _paid(study: Study, answers: Annotations | None) -> list[str]:
    pay = study.pay
    if pay is None:
        return []
    people = study.people
    more = f" and {counted(people.repeats, 'repeat')}" if people.repeats else ""
    paid = f"A batch of {counted(people.batch_size, 'item')}{more} paid {pay.currency} {pay.amount:,.2f}"
    if pay.minutes:
        hourly = f"{pay.currency} {60 * pay.amount / pay.minutes:,.2f} per hour"
        paid += f" for an announced {pay.minutes:g} minutes ({hourly})"
    seconds = _seconds(answers)
    n_batches = 0.0 if answers is None else batches_of(study, answers)
    took = mean_of(seconds, POSITIVE)
    if answers is None or len(seconds) < FEWEST or not n_batches or not took.value > 0:
        return [f"{paid}."]
    size = len(answers) / n_batches
    mean, low, high = (3600 * pay.amount / (size * each) for each in (took.value, took.high, took.low))
    wage = DisplayedEstimate(mean, low, high, took.n)
    return [
        f"{paid}. At the mean time of {took.text(unit='s')} per answer and {size:.1f} answers per batch, including "
        f"checks and repeats, this is {pay.currency} {wage.text(2)} per hour, without instructions and pauses."
    ]


def _kinds(evidence: ReportInputs, answers: Annotations) -> list[Block]:
    """Answers per question type and purpose; empty if there is one of each."""
    kinds, purposes = answers.kind.names.to_pylist(), answers.purpose.names.to_pylist()
    cells = [
        (kind, purpose, int(((answers.kind.codes == i) & (answers.purpose.codes == j)).sum()))
        for i, kind in enumerate(kinds)
        for j, purpose in enumerate(purposes)
    ]
    cells = [each for each in cells if each[2]]
    if len(cells) < 2:
        return []
    return [
        ReportTable(
            "forms",
            "Answers by question type and purpose",
            "The question type with its version, and the purpose of the answer.",
            (
                Column("question type", tuple(f"`{kind}`" for kind, _, _ in cells)),
                Column("purpose", tuple(PURPOSES.get(purpose, purpose) for _, purpose, _ in cells)),
                Column("answers", tuple(n for _, _, n in cells), 0),
            ),
            evidence.source("annotations"),
        )
    ]


def _times(evidence: ReportInputs, answers: Annotations) -> list[Block]:
    seconds = answers.seconds
    known = np.isfinite(seconds)
    if int(known.sum()) < FEWEST:
        return [Prose(("Times per answer are unknown.",))]
    source = evidence.source("annotations", note=f"Times of {int(known.sum()):,} of {len(answers):,} answers.")
    return [_histogram(seconds[known], source), *_session(answers, known, source)]


def _histogram(seconds: Float[np.ndarray, "answers"], source: DataSource) -> Chart:
    median, (low, high) = median_of(seconds), np.quantile(seconds, [0.1, 0.9])
    most = float(np.quantile(seconds, SHOWN))
    beyond = int((seconds > most).sum())
    left = f" The {beyond:,} longest answers, above {most:,.0f} s, are not shown." if beyond else ""
    return histogram(
        "seconds",
        title="Time per answer",
        caption=f"The median is {median.text(1, 's')}; 80% of the answers took between "
        f"{low:.1f} and {high:.1f} s.{left}",
        data={"seconds": seconds[seconds <= most]},
        value=Field("seconds", "seconds", ",.1~f"),
        source=source,
    )


def _session(answers: Annotations, known: Bool[np.ndarray, "rows"], source: DataSource) -> list[Chart]:
    """The median time by position in the session, if trials are numbered."""
    trial = answers.trial.to_numpy().astype(np.float64)
    rows = known & np.isfinite(trial)
    if int(rows.sum()) < FEWEST * 2:
        return []
    place, seconds = trial[rows], answers.seconds[rows]
    edges = np.unique(np.quantile(place, np.linspace(0, 1, MAX_POINTS + 1)))
    group = np.clip(np.searchsorted(edges, place, side="right") - 1, 0, max(len(edges) - 2, 0))
    found = [(float(place[group == g].mean()), median_of(seconds[group == g])) for g in np.unique(group)]
    if len(found) < 3:
        return []
    first, last = found[0][1], found[-1][1]
    return [
        curve(
            "session",
            title="Time per answer over a session",
            caption=f"Median time by position in the session: {first.text(1, 's')} for the first answers, "
            f"{last.text(1, 's')} for the last. People who answer more items may be faster from the start. The band is "
            "the 95% interval.",
            data={
                "trial": [at for at, _ in found],
                "seconds": [each.value for _, each in found],
                "low": [each.low for _, each in found],
                "high": [each.high for _, each in found],
                "answers": [each.n for _, each in found],
            },
            x=Field("trial", "position in the session", ",.0f"),
            y=Field("seconds", "median seconds", ",.1~f", zero=True),
            low="low",
            high="high",
            tooltip=(Field("answers", "answers", ",d"),),
            source=source,
        )
    ]


def _seconds(answers: Annotations | None) -> Float[np.ndarray, "answers"]:
    if answers is None:
        return np.empty(0)
    return np.asarray(answers.seconds[np.isfinite(answers.seconds)])
