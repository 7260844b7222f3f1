"""Facts about collection and processing: questions, annotators, pay, times, agreement, exclusions, raw answers."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato import __version__
from sfumato.elicitation.kind import label_of
from sfumato.elicitation.kinds import kinds_of
from sfumato.labeling.agreement import agreement as measured
from sfumato.reporting.phrases import counted
from sfumato.reporting.sections.collection import batches_of
from sfumato.reporting.share.datasheet.datasheet_sources import (
    DatasheetSources,
    FactTable,
    KnownFacts,
    interval,
    spread,
)
from sfumato.reporting.share.markdown_escape import code
from sfumato.study.study import Framing
from sfumato.tables.shifted_times import are_shifted
from sfumato.tables.text_columns import CodedText

SHOWN_REASONS = 20


def questions(sources: DatasheetSources) -> KnownFacts:
    """Question types, prompts and framing, and the instructions as shown."""
    study, answers = sources.study, sources.annotations
    points = []
    if answers is not None:
        points = [f"{n:,} answers to questions of type {code(name)}." for name, n in _counts(answers.kind)]
    if study is None:
        return KnownFacts(tuple(points), files=("annotations",) if points else (), settled=False)
    for kind, question in zip(kinds_of(study), study.questions, strict=True):
        view = "their own view" if question.framing is Framing.OWN else "what others would say"
        prompt = " ".join((question.prompt or kind.prompt(question.framing)).split())
        points.append(f"{code(label_of(kind))} asks for {view}: “{prompt}”")
        settings = ", ".join(f"{name} = {value}" for name, value in question.settings.items())
        if settings:
            points.append(f"Settings: {settings}.")
    rules = study.people
    points.append(
        f"{rules.answers_per_item} answers per item, {rules.batch_size} items per batch, {rules.batches} "
        f"batch{'es' * (rules.batches != 1)} per annotator, {rules.repeats} repeats per batch; assignment "
        f"{rules.assignment.value}."
    )
    if study.practice or study.comprehension:
        n_practice, n_comprehension = len(study.practice), len(study.comprehension)
        points.append(f"Before: {n_practice} practice items and {n_comprehension} comprehension questions.")
    points.append("The instructions as shown:" if study.instructions else "There were no instructions.")
    files = ("study", *(["annotations"] if answers is not None else []))
    return KnownFacts(tuple(points), quote=study.instructions, files=files)


def people(sources: DatasheetSources) -> KnownFacts:
    """The number of annotators, and their answers."""
    table = sources.annotations if sources.annotations is not None else sources.beliefs
    if table is None:
        return _unknown_people(sources)
    each = np.bincount(table.annotator.codes, minlength=len(table.annotator.names))
    points = [
        f"{len(each):,} annotators gave {len(table):,} answers about {len(table.item.names):,} items.",
        f"Answers per annotator: {spread(each)}.",
    ]
    if sources.annotations is not None:
        purposes = ", ".join(f"{n:,} {code(name)}" for name, n in _counts(sources.annotations.purpose))
        points.append(f"Purposes: {purposes}.")
    return KnownFacts(tuple(points), files=("annotations" if sources.annotations is not None else "beliefs",))


def _unknown_people(sources: DatasheetSources) -> KnownFacts:
    """The number of votes, if there are only counts."""
    if sources.counts is None:
        return KnownFacts()
    n = int(sources.counts.n_votes.sum())
    point = f"{n:,} votes about {len(sources.counts):,} items. Which annotator gave which is not recorded."
    return KnownFacts((point,), files=(sources.people_option,), settled=False)


def pay(sources: DatasheetSources) -> KnownFacts:
    """The pay per batch and per hour."""
    if sources.study is None or sources.study.pay is None:
        return KnownFacts()
    paid, rules = sources.study.pay, sources.study.people
    repeats = f" and {counted(rules.repeats, 'repeat')}" if rules.repeats else ""
    points = [f"{paid.amount:g} {paid.currency} per batch of {counted(rules.batch_size, 'item')}{repeats}."]
    if paid.minutes:
        hourly = 60 * paid.amount / paid.minutes
        points.append(f"Announced as {paid.minutes:g} minutes: {hourly:.2f} {paid.currency} per hour.")
    files = ["study"]
    seconds = _seconds(sources)
    n_batches = 0.0 if sources.annotations is None else batches_of(sources.study, sources.annotations)
    if sources.annotations is not None and len(seconds) and n_batches and float(np.median(seconds)) > 0:
        files.append("annotations")
        batch = float(np.median(seconds)) * len(sources.annotations) / n_batches
        points.append(
            f"At the median time of {np.median(seconds):.1f} s per answer, a batch with its checks and repeats takes "
            f"{batch / 60:.1f} minutes: {3600 * paid.amount / batch:.2f} {paid.currency} per hour, without "
            "instructions and pauses."
        )
    return KnownFacts(tuple(points), files=tuple(files))


def when(sources: DatasheetSources) -> KnownFacts:
    """The first and last day, and the time per answer; no days if the times have no dates."""
    answers = sources.annotations
    if answers is None:
        return KnownFacts()
    columns = [each.cast(pa.int64()) for each in (answers.started_at, answers.submitted_at)]
    ends = [end.as_py() for column in columns for end in (pc.min(column), pc.max(column))]
    times = [] if are_shifted(answers) else [each for each in ends if each is not None]
    points = []
    if times:
        first, last = (datetime.fromtimestamp(each / 1000, UTC).date() for each in (min(times), max(times)))
        points.append(f"On {first} (UTC)." if first == last else f"From {first} to {last} (UTC).")
    seconds = _seconds(sources)
    if len(seconds):
        low, middle, high = np.quantile(seconds, (0.1, 0.5, 0.9))
        points.append(
            f"Time per answer: median {middle:.1f} s, middle 80% {low:.1f} to {high:.1f} s, "
            f"{seconds.sum() / 3600:,.1f} hours in total."
        )
    return KnownFacts(tuple(points), files=("annotations",), settled=bool(times))


def agreement(sources: DatasheetSources) -> KnownFacts:
    """All agreement measures that apply, with intervals."""
    if sources.people is None:
        return KnownFacts()
    option = sources.people_option
    found = measured(sources.people)
    if not len(found):
        return KnownFacts(("No item has answers from two annotators.",), files=(option,))
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
    grid = FactTable(("measure", "value", "interval", "items", "answers"), rows)
    scales = "Alpha is 1 for full agreement and 0 for chance; total variation is 0 for full agreement."
    kinds = f"Intervals: {'; '.join(dict.fromkeys(found.interval))}."
    command = f"sfumato agreement {shlex.quote(sources.name_of(option))}"
    return KnownFacts((scales, kinds), grid, files=(option,), command=command)


def excluded(sources: DatasheetSources) -> KnownFacts:
    """The number of excluded annotators by reason, without names."""
    found = sources.screening
    if found is None:
        return KnownFacts()
    points = [f"{len(found.excluded):,} of {len(found.annotators):,} annotators were excluded."]
    files = ["screening"]
    if sources.beliefs is not None:
        files.append("beliefs")
        there = set(sources.beliefs.annotator.names.to_pylist()) & set(found.excluded)
        points.append(
            f"{len(there):,} of them are still in the beliefs." if there else "None of them is in the beliefs."
        )
    most = found.most_common_reasons()[:SHOWN_REASONS]
    grid = FactTable(("reason", "annotators"), tuple((code(reason), f"{n:,}") for reason, n in most)) if most else None
    return KnownFacts(tuple(points), grid, files=tuple(files))


def consent(sources: DatasheetSources) -> KnownFacts:
    """The consent text as shown."""
    if sources.study is None or not sources.study.consent:
        return KnownFacts()
    return KnownFacts(("Before the first item people agreed to:",), quote=sources.study.consent, files=("study",))


def steps(sources: DatasheetSources) -> KnownFacts:
    """Numbers of answers, beliefs and labels."""
    answers, beliefs, points = sources.annotations, sources.beliefs, []
    if answers is not None and beliefs is not None:
        points.append(f"{len(answers):,} answers gave {len(beliefs):,} beliefs.")
        left = len(answers.annotator.names) - len(beliefs.annotator.names)
        if left > 0:
            points.append(f"{left:,} annotators with answers are not in the beliefs.")
    if beliefs is not None:
        n_items, n_labels = len(beliefs.item.names), len(sources.labels)
        points.append(f"{len(beliefs):,} beliefs about {n_items:,} items, and {n_labels:,} labels.")
        kind = "hard votes" if beliefs.hard is not None else "distributions, one per answer"
        points.append(f"Beliefs are {kind}.")
    given = [name for name, table in (("annotations", answers), ("beliefs", beliefs)) if table is not None]
    if beliefs is None and sources.counts is not None:
        given.append(sources.people_option)
        n, n_items = int(sources.counts.n_votes.sum()), len(sources.counts)
        points.append(f"{n:,} votes, counted per class for {n_items:,} items, and {len(sources.labels):,} labels.")
    files = tuple(dict.fromkeys((*given, "labels"))) if points else ()
    return KnownFacts(tuple(points), files=files, settled=False)


def raw(sources: DatasheetSources) -> KnownFacts:
    """The file of the raw answers."""
    if sources.annotations is None:
        return KnownFacts()
    return KnownFacts((f"Yes: {code(sources.name_of('annotations'))}, every answer as given.",), files=("annotations",))


def software(sources: DatasheetSources) -> KnownFacts:  # noqa: ARG001
    """The version of sfumato."""
    return KnownFacts((f"This datasheet: sfumato {__version__}.",))


def _counts(column: CodedText) -> list[tuple[str, int]]:
    """Every name in a column with its number of rows."""
    counts = np.bincount(column.codes, minlength=len(column.names))
    return list(zip(column.names.to_pylist(), counts.tolist(), strict=True))


def _seconds(sources: DatasheetSources) -> np.ndarray:
    if sources.annotations is None:
        return np.empty(0)
    seconds = sources.annotations.seconds
    return np.asarray(seconds[~np.isnan(seconds)])
