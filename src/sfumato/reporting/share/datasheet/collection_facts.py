"""What the tables know of how answers came about: how people were asked, who they were, how far they agree."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.elicitation.kind import label_of
from sfumato.elicitation.kinds import kinds_of
from sfumato.reporting.share.datasheet.datasheet_sources import (
    DatasheetSources,
    FactTable,
    KnownFacts,
    interval,
    spread,
)
from sfumato.reporting.share.markdown import code
from sfumato.study.study import Framing

SHOWN_REASONS = 20


def asked(sources: DatasheetSources) -> KnownFacts:
    """The kind of question, its prompt and framing, and the instructions as people read them."""
    study, answers = sources.study, sources.annotations
    points = []
    if answers is not None:
        counts = np.bincount(answers.kind.codes, minlength=len(answers.kind.names))
        for name, n in zip(answers.kind.names.to_pylist(), counts.tolist(), strict=True):
            points.append(f"{n:,} answers to questions of the kind {code(name)}.")
    if study is None:
        return KnownFacts(tuple(points), files=("annotations",) if points else (), settled=False)
    for kind, question in zip(kinds_of(study), study.questions, strict=True):
        view = "their own view" if question.framing is Framing.OWN else "what others would say"
        prompt = " ".join((question.prompt or kind.prompt(question.framing)).split())
        points.append(f"{code(label_of(kind))} asks for {view}: “{prompt}”")
        settings = ", ".join(f"{name} = {value}" for name, value in question.settings.items())
        if settings:
            points.append(f"Its settings: {settings}.")
    rules = study.people
    points.append(
        f"{rules.answers_per_item} answers an item asked for, {rules.batch_size} items a batch, "
        f"{rules.batches} batch{'es' * (rules.batches != 1)} a person, {rules.repeats} repeats a batch; "
        f"assignment {rules.assignment.value}."
    )
    if study.practice or study.comprehension:
        points.append(
            f"{len(study.practice)} practice items and {len(study.comprehension)} comprehension questions came first."
        )
    points.append("The instructions, as people read them:" if study.instructions else "There were no instructions.")
    files = ("study", *(["annotations"] if answers is not None else []))
    return KnownFacts(tuple(points), quote=study.instructions, files=files)


def people(sources: DatasheetSources) -> KnownFacts:
    """How many people, how many answers each."""
    table = sources.annotations if sources.annotations is not None else sources.beliefs
    if table is None:
        return KnownFacts()
    each = np.bincount(table.annotator.codes, minlength=len(table.annotator.names))
    points = [
        f"{len(each):,} annotators gave {len(table):,} answers about {len(table.item.names):,} items.",
        f"Answers each: {spread(each)}.",
    ]
    if sources.annotations is not None:
        purposes = sources.annotations.purpose
        counts = np.bincount(purposes.codes, minlength=len(purposes.names))
        said = ", ".join(f"{n:,} {code(name)}" for name, n in zip(purposes.names.to_pylist(), counts, strict=True))
        points.append(f"Shown for: {said}.")
    return KnownFacts(tuple(points), files=("annotations" if sources.annotations is not None else "beliefs",))


def pay(sources: DatasheetSources) -> KnownFacts:
    """What the study file says a batch pays, and what that is an hour."""
    if sources.study is None or sources.study.pay is None:
        return KnownFacts()
    paid, rules = sources.study.pay, sources.study.people
    points = [f"{paid.amount:g} {paid.currency} a batch of {rules.batch_size + rules.repeats} answers."]
    if paid.minutes:
        points.append(
            f"Told to take {paid.minutes:g} minutes: {60 * paid.amount / paid.minutes:.2f} {paid.currency} an hour."
        )
    files = ["study"]
    seconds = _seconds(sources)
    if len(seconds):
        files.append("annotations")
        batch = float(np.median(seconds)) * (rules.batch_size + rules.repeats)
        points.append(
            f"At the median time on an answer, {np.median(seconds):.1f} s, a batch takes {batch / 60:.1f} minutes of "
            f"answering: {3600 * paid.amount / batch:.2f} {paid.currency} an hour, instructions and pauses not counted."
        )
    return KnownFacts(tuple(points), files=tuple(files))


def when(sources: DatasheetSources) -> KnownFacts:
    """The first and last day, and how long an answer took."""
    answers = sources.annotations
    if answers is None:
        return KnownFacts()
    ends = [_day_range(column) for column in (answers.started_at, answers.submitted_at)]
    days = [each for pair in ends if pair is not None for each in pair]
    points = []
    if days:
        first, last = min(days), max(days)
        points.append(f"On {first} (UTC)." if first == last else f"From {first} to {last} (UTC).")
    seconds = _seconds(sources)
    if len(seconds):
        low, middle, high = np.quantile(seconds, (0.1, 0.5, 0.9))
        points.append(
            f"Time on an answer: median {middle:.1f} s, middle four fifths {low:.1f} to {high:.1f} s, "
            f"{seconds.sum() / 3600:,.1f} hours in all."
        )
    return KnownFacts(tuple(points), files=("annotations",), settled=bool(days))


def agreement(sources: DatasheetSources) -> KnownFacts:
    """Every measure of agreement that applies, with its interval."""
    if sources.beliefs is None:
        return KnownFacts()
    found = sources.agreement
    assert found is not None
    if not len(found):
        return KnownFacts(("No item was judged by two people: there is nothing to compare.",), files=("beliefs",))
    rows = tuple(
        (
            code(found.measure[i]),
            "undefined" if np.isnan(found.value[i]) else f"{found.value[i]:.3f}",
            interval(found.low[i], found.high[i], 3),
            f"{found.n_items[i]:,}",
            f"{found.n_answers[i]:,}",
        )
        for i in range(len(found))
    )
    points = ("Alpha is 1 where all agree and 0 where agreement is by chance; total variation is 0 where all agree.",
              f"Intervals: {'; '.join(dict.fromkeys(found.interval))}.")  # fmt: skip
    command = f"sfumato agreement {shlex.quote(sources.name_of('beliefs'))}"
    return KnownFacts(
        points,
        FactTable(("measure", "value", "interval", "items", "answers"), rows),
        files=("beliefs",),
        command=command,
    )


def set_aside(sources: DatasheetSources) -> KnownFacts:
    """Who was set aside, by reason; never by name."""
    found = sources.screening
    if found is None:
        return KnownFacts()
    points = [f"{len(found.set_aside):,} of {found.n_people:,} annotators were set aside."]
    files = ["screening"]
    if sources.beliefs is not None:
        files.append("beliefs")
        there = set(sources.beliefs.annotator.names.to_pylist()) & set(found.set_aside)
        points.append(
            f"{len(there):,} of them are among the beliefs all the same."
            if there
            else "None of them is among the beliefs."
        )
    most = sorted(found.reasons.items(), key=lambda pair: -pair[1])[:SHOWN_REASONS]
    grid = FactTable(("reason", "annotators"), tuple((code(reason), f"{n:,}") for reason, n in most)) if most else None
    return KnownFacts(tuple(points), grid, files=tuple(files))


def consent(sources: DatasheetSources) -> KnownFacts:
    """What people agreed to, as they read it."""
    if sources.study is None or not sources.study.consent:
        return KnownFacts()
    return KnownFacts(("Before the first item people agreed to this:",), quote=sources.study.consent, files=("study",))


def _seconds(sources: DatasheetSources) -> np.ndarray:
    if sources.annotations is None:
        return np.empty(0)
    seconds = sources.annotations.seconds
    return np.asarray(seconds[~np.isnan(seconds)])


def _day_range(times: pa.ChunkedArray) -> tuple[str, str] | None:
    found = pc.min_max(times.cast(pa.int64()))
    low, high = found["min"].as_py(), found["max"].as_py()
    return None if low is None else (_day(low), _day(high))


def _day(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).date().isoformat()
