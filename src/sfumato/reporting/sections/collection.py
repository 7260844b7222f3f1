"""What was asked, of whom, and at what cost."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from sfumato.reporting.blocks import Block, Column, DataSource, Fact, Facts, Prose, ReportTable
from sfumato.reporting.chart import Chart
from sfumato.reporting.charts import Field, curve, histogram
from sfumato.reporting.page import Section
from sfumato.reporting.phrases import DisplayedEstimate, mean_of, median_of, short_names
from sfumato.reporting.report_inputs import ReportInputs
from sfumato.study.study import Framing, Question, Study
from sfumato.tables.annotations import Annotations
from sfumato.tables.errors import SfumatoError

TITLE = "What was asked, and of whom"
MOST_POINTS = 12
"""Points of the curve over a session."""
FEWEST = 20
"""Answers below which nothing is said of times."""
SHOWN = 0.99
"""The share of times that a histogram shows; the longest are pauses."""
PURPOSES = {"label": "for labels", "check": "to check attention", "repeat": "repeated, to see how steady people are"}


def asking(evidence: ReportInputs) -> Section | None:
    """The question, the people, their answers, how long these took and what they cost; None without study, answers
    and beliefs."""
    if evidence.study is None and evidence.annotations is None and evidence.beliefs is None:
        return None
    blocks: list[Block] = [Facts(_facts(evidence)), Prose(tuple(_words(evidence)))]
    answers = evidence.annotations
    if answers is not None:
        blocks += [*_kinds(evidence, answers), *_times(evidence, answers)]
    return Section(TITLE, tuple(each for each in blocks if not (isinstance(each, Facts) and not each.facts)))


def _facts(evidence: ReportInputs) -> tuple[Fact, ...]:
    table = evidence.annotations if evidence.annotations is not None else evidence.beliefs
    if table is None:
        return ()
    n_items, n_people = _n_distinct(table.item.codes), _n_distinct(table.annotator.codes)
    each = np.bincount(table.annotator.codes)
    each = each[each > 0]
    facts = [
        Fact(f"{n_items:,}", "items", f"{len(table) / n_items:.1f} answers each" if n_items else ""),
        Fact(f"{n_people:,}", "people", f"{np.median(each):,.0f} answers each, at the median" if n_people else ""),
        Fact(f"{len(table):,}", "answers"),
    ]
    seconds = _seconds(evidence.annotations)
    if len(seconds) >= FEWEST:
        median = median_of(seconds)
        facts.append(Fact(f"{median.value:.1f} s", "an answer", f"median; {_between(median)}"))
    cost = _cost(evidence)
    if cost is not None:
        facts.append(Fact(f"{cost[1]} {cost[0]:,.2f}", "estimated cost", cost[2]))
    return tuple(facts)


def _words(evidence: ReportInputs) -> list[str]:
    study, said = evidence.study, []
    if study is not None:
        for i, question in enumerate(study.questions):
            whose = "what others would say" if question.framing is Framing.OTHERS else "their own view"
            again = "Where that told more, the question was" if i else "People were asked"
            said.append(f"{again} “{prompt_of(question)}” in the form `{question.kind}`, for {whose}.")
    classes = evidence.study.class_names if evidence.study is not None else evidence.classes
    if classes:
        said.append(f"They could choose among {len(classes)} classes: {', '.join(short_names(classes))}.")
    if study is not None:
        people = study.people
        said.append(
            f"The study was set to {people.answers_per_item} answers an item at most, in batches of "
            f"{people.batch_size} items" + (f" with {people.repeats} shown again." if people.repeats else ".")
        )
        said += _paid(study, evidence.annotations)
    if study is None and evidence.annotations is None:
        said.append("The answers themselves are not here, only what was made of them; how long they took is not known.")
    return said


def prompt_of(question: Question) -> str:
    """The sentence that stood above the form."""
    if question.prompt:
        return question.prompt
    from sfumato.elicitation.kinds import kind_asked

    try:
        return kind_asked(question).prompt(question.framing)
    except SfumatoError:
        return question.kind


def _paid(study: Study, answers: Annotations | None) -> list[str]:
    pay = study.pay
    if pay is None:
        return []
    size = study.people.batch_size + study.people.repeats
    said = f"A batch of {size} answers paid {pay.currency} {pay.amount:,.2f}"
    if pay.minutes:
        announced = f"{pay.currency} {60 * pay.amount / pay.minutes:,.2f} an hour"
        said += f" for what was announced as {pay.minutes:g} minutes, that is {announced}"
    seconds = _seconds(answers)
    if len(seconds) < FEWEST:
        return [f"{said}."]
    took = mean_of(seconds)
    hourly = [3600 * pay.amount / (size * each) for each in (took.value, took.high, took.low)]
    wage = DisplayedEstimate(hourly[0], hourly[1], hourly[2], took.n)
    return [
        f"{said}. At the mean time an answer took, {took.figure(unit='s')}, that was "
        f"{pay.currency} {wage.figure(2)} for an hour of answering; reading instructions and pauses come on top."
    ]


def _cost(evidence: ReportInputs) -> tuple[float, str, str] | None:
    """What the answers cost, in which currency, and how that was reckoned."""
    if evidence.study is None or evidence.study.pay is None or evidence.annotations is None:
        return None
    pay, people = evidence.study.pay, evidence.study.people
    size = people.batch_size + people.repeats
    n_batches = len(evidence.annotations) / size
    return (
        pay.amount * n_batches,
        pay.currency,
        f"{n_batches:,.1f} batches at {pay.currency} {pay.amount:,.2f}, no fees",
    )


def _kinds(evidence: ReportInputs, answers: Annotations) -> list[Block]:
    """How often each form was used for each purpose; nothing where there was one of each."""
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
            "Which answers were given for what",
            "The form of the question with its version, and why it was shown.",
            (
                Column("form", tuple(f"`{kind}`" for kind, _, _ in cells)),
                Column("shown", tuple(PURPOSES.get(purpose, purpose) for _, purpose, _ in cells)),
                Column("answers", tuple(n for _, _, n in cells), 0),
            ),
            evidence.source("annotations"),
        )
    ]


def _times(evidence: ReportInputs, answers: Annotations) -> list[Block]:
    seconds = answers.seconds
    known = np.isfinite(seconds)
    if int(known.sum()) < FEWEST:
        return [Prose(("How long answers took is not in this data.",))]
    source = evidence.source("annotations", note=f"Times of {int(known.sum()):,} of {len(answers):,} answers.")
    return [_histogram(seconds[known], source), *_session(answers, known, source)]


def _histogram(seconds: Float[np.ndarray, "answers"], source: DataSource) -> Chart:
    median, (low, high) = median_of(seconds), np.quantile(seconds, [0.1, 0.9])
    most = float(np.quantile(seconds, SHOWN))
    beyond = int((seconds > most).sum())
    left = f" The longest {beyond:,} answers, above {most:,.0f} s, are not drawn." if beyond else ""
    return histogram(
        "seconds",
        title="How long an answer took",
        caption=f"Half of the answers took less than {median.figure(1, 's')}; four in five took between "
        f"{low:.1f} and {high:.1f} s.{left}",
        data={"seconds": seconds[seconds <= most]},
        value=Field("seconds", "seconds", ",.1~f"),
        source=source,
    )


def _session(answers: Annotations, known: Bool[np.ndarray, "rows"], source: DataSource) -> list[Chart]:
    """The median time over a person's session, where trials are numbered."""
    trial = answers.trial.to_numpy().astype(np.float64)
    rows = known & np.isfinite(trial)
    if int(rows.sum()) < FEWEST * 2:
        return []
    place, seconds = trial[rows], answers.seconds[rows]
    edges = np.unique(np.quantile(place, np.linspace(0, 1, MOST_POINTS + 1)))
    group = np.clip(np.searchsorted(edges, place, side="right") - 1, 0, max(len(edges) - 2, 0))
    found = [(float(place[group == g].mean()), median_of(seconds[group == g])) for g in np.unique(group)]
    if len(found) < 3:
        return []
    first, last = found[0][1], found[-1][1]
    return [
        curve(
            "session",
            title="Over a person's session",
            caption=f"The median time of an answer, by its place in a person's session: "
            f"{first.figure(1, 's')} for the first ones, {last.figure(1, 's')} for the last ones. "
            "Who stays longest may be quicker from the start; the band is the 95% interval.",
            data={
                "trial": [at for at, _ in found],
                "seconds": [each.value for _, each in found],
                "low": [each.low for _, each in found],
                "high": [each.high for _, each in found],
                "answers": [each.n for _, each in found],
            },
            x=Field("trial", "place of the answer in the session", ",.0f"),
            y=Field("seconds", "median seconds", ",.1~f", zero=True),
            low="low",
            high="high",
            told=(Field("answers", "answers", ",d"),),
            source=source,
        )
    ]


def _seconds(answers: Annotations | None) -> Float[np.ndarray, "answers"]:
    if answers is None:
        return np.empty(0)
    return np.asarray(answers.seconds[np.isfinite(answers.seconds)])


def _between(estimate: DisplayedEstimate) -> str:
    return f"{estimate.low:.1f} to {estimate.high:.1f}"


def _n_distinct(codes: np.ndarray) -> int:
    return len(np.unique(codes))
