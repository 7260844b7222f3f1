"""Datasheet: every question with what the tables know of it and what a person wrote.

A datasheet as Markdown that a person completes, and what they wrote, found again.

A person's words stand between `<!-- yours: id -->` and `<!-- end: id -->`. All else is written anew each time; a hash
of it tells whether somebody wrote there, too, so that nobody's words are lost in silence.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.reporting.share.datasheet.datasheet_sources import DatasheetSources, KnownFacts, SourceFile
from sfumato.reporting.share.datasheet.known_facts import FACTS
from sfumato.reporting.share.datasheet.questions import PARTS, QUESTIONS, DatasheetQuestion
from sfumato.reporting.share.markdown import code, plain, quoted, table
from sfumato.study.text_file import is_file, read_text
from sfumato.tables.errors import CannotWrite, ErrorLocation, one_line
from sfumato.tables.files.atomic_write import atomic_write

OPEN = "[TO FILL IN"


@dataclass(frozen=True)
class Answered:
    """A question, what is told of it, and a person's words (empty: none)."""

    question: DatasheetQuestion
    told: KnownFacts
    words: str = ""

    @property
    def is_open(self) -> bool:
        """Whether a person is still to say something."""
        if self.words:
            return OPEN in self.words
        return self.question.person or not self.told or not self.told.settled

    @property
    def to_fill_in(self) -> str:
        """What stands where a person is to write; empty where nobody needs to."""
        return f"{OPEN}: {self.question.help}.]" if self.is_open and not self.words else ""


@dataclass(frozen=True)
class Datasheet:
    """All questions in order, the files the numbers come from, and the command that writes them anew.

    `kept` are a person's answers to questions that are not asked any more: words are never dropped.
    """

    title: str
    answers: tuple[Answered, ...]
    files: tuple[SourceFile, ...] = ()
    command: str = ""
    kept: Mapping[str, str] = field(default_factory=dict)

    @property
    def open_points(self) -> tuple[DatasheetQuestion, ...]:
        return tuple(each.question for each in self.answers if each.is_open)

    def of(self, question_id: str) -> Answered:
        return next(each for each in self.answers if each.question.id == question_id)


def datasheet(
    sources: DatasheetSources,
    *,
    title: str = "A labelled set",
    file: str = "datasheet.md",
    words: Mapping[str, str] | None = None,
) -> Datasheet:
    """The datasheet of what is in `sources`; `words` are a person's answers, by the id of their question, and `file` is
    what it will be called."""
    words = words or {}
    answers = tuple(
        Answered(
            question, FACTS[question.id](sources) if question.id in FACTS else KnownFacts(), words.get(question.id, "")
        )
        for part in PARTS
        for question in part.questions
    )
    known = {question.id for question in QUESTIONS}
    kept = {name: text for name, text in words.items() if name not in known}
    return Datasheet(title, answers, sources.files, sources.command(title, file), kept)


YOURS = re.compile(r"^<!-- yours: ([\w-]+) -->[ \t]*\n(.*?)^<!-- end: \1 -->[ \t]*$", re.MULTILINE | re.DOTALL)
LIST = re.compile(r"^<!-- open points -->.*?^<!-- end of open points -->[ \t]*$", re.MULTILINE | re.DOTALL)
SEAL = re.compile(r"^<!-- sfumato datasheet ([0-9a-f]{64}) -->[ \t]*$", re.MULTILINE)
MAX_BYTES = 10_000_000


def markdown(sheet: Datasheet) -> str:
    """The datasheet as text."""
    text = "\n".join(_lines(sheet)) + "\n"
    return f"{text}\n<!-- sfumato datasheet {_digest(text)} -->\n"


def write_markdown(sheet: Datasheet, path: Path) -> None:
    """Write the datasheet; the one that stood there goes only when the new one is whole."""
    with atomic_write(path) as part:
        part.write_text(markdown(sheet), encoding="utf-8")


def words_in(path: Path) -> dict[str, str]:
    """What a person wrote in the datasheet at `path`, by the id of the question; nothing where there is no file.

    A file that is no datasheet, and one in which somebody wrote outside the places for it, is an error.
    """
    if not is_file(path):
        return {}
    text = read_text(path, limit=MAX_BYTES, what="a datasheet").replace("\r\n", "\n")
    seals = SEAL.findall(text)
    if len(seals) != 1:
        raise _refused(
            path, "found a file that is no datasheet of ours", "choose another name with -o", "not-a-datasheet"
        )
    if _digest(text) != seals[0]:
        found = "found changes outside the places for your words, which would be lost"
        fix = "write between the comment lines `yours` and `end`, put the rest back as it was, or choose another -o"
        raise _refused(path, found, fix, "changed-datasheet")
    found_words = {name: words.strip("\n") for name, words in YOURS.findall(text)}
    return {name: words for name, words in found_words.items() if words.strip() and not _is_placeholder(words)}


def _is_placeholder(words: str) -> bool:
    stripped = words.strip()
    return stripped.startswith(OPEN) and stripped.endswith("]") and "\n" not in stripped


def _digest(text: str) -> str:
    """A hash of all that is not a person's to change: their words, the list of open points and white space apart."""
    ours = SEAL.sub("", LIST.sub("", YOURS.sub(lambda found: f"yours {found[1]}", text)))
    return hashlib.sha256("".join(ours.split()).encode()).hexdigest()


def _lines(sheet: Datasheet) -> Iterator[str]:
    yield f"# Datasheet: {plain(sheet.title)}"
    yield from [
        "",
        '<!-- Write between the lines "yours" and "end". All else is written anew by sfumato datasheet. -->',
        "",
    ]
    yield "The questions follow Gebru et al. (2021), *Datasheets for datasets*. Numbers come from the files listed at"
    yield f"the end; `{OPEN}: ...]` marks what only a person can say."
    for part in PARTS:
        yield from ["", f"## {part.title}"]
        for question in part.questions:
            yield from _answer(sheet.of(question.id))
    if sheet.kept:
        yield from ["", "## Answers to questions that are not asked any more"]
        for name, words in sheet.kept.items():
            yield from ["", *_place(name, words)]
    yield from ["", *_open_points(sheet), "", *_origins(sheet)]


def _answer(answered: Answered) -> Iterator[str]:
    told = answered.told
    yield from ["", f"### {answered.question.text}", ""]
    yield from (f"- {plain(point)}" for point in told.points)
    if told.quote:
        yield from ["", *quoted(told.quote)]
    if told.grid is not None:
        yield from ["", *table(told.grid.heads, told.grid.rows)]
    if told:
        yield ""
    yield from _place(answered.question.id, answered.words or answered.to_fill_in)


def _place(name: str, words: str) -> list[str]:
    return [f"<!-- yours: {name} -->", *([words] if words else []), f"<!-- end: {name} -->"]


def _open_points(sheet: Datasheet) -> Iterator[str]:
    points = sheet.open_points
    yield from ["## Open points", "", "<!-- open points -->"]
    yield f"{len(points)} of {len(sheet.answers)} questions still need a person." if points else "None."
    if points:
        yield from ["", *(f"- [ ] {each.text} ({code(each.id)})" for each in points)]
    yield "<!-- end of open points -->"


def _origins(sheet: Datasheet) -> Iterator[str]:
    yield from [
        "## Where these numbers come from",
        "",
        "All of it anew:",
        "",
        "```",
        one_line(sheet.command),
        "```",
        "",
    ]
    files = [(f"--{each.option}", code(each.name), f"{each.n_bytes:,}", code(each.sha256)) for each in sheet.files]
    yield from [*table(("given as", "file", "bytes", "SHA-256"), files), ""]
    named = {each.option: each.name for each in sheet.files}
    rows = [
        (each.question.text, ", ".join(code(named.get(option, option)) for option in each.told.files),
         code(each.told.command) if each.told.command else "as above")
        for each in sheet.answers
        if each.told and each.told.files
    ]  # fmt: skip
    yield from table(("numbers under", "from", "shown again by"), rows)


def _refused(path: Path, found: str, fix: str, code: str) -> CannotWrite:
    expected = "no file, or a datasheet that sfumato wrote, with your words in their places"
    return CannotWrite(
        f"{found}; the file is unchanged", expected=expected, fix=fix, code=code, where=ErrorLocation(str(path))
    )
