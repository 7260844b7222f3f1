"""The datasheet and its Markdown file.

The author writes between `<!-- yours: id -->` and `<!-- end: id -->`. The rest is replaced each time; a hash detects
text written elsewhere, so that it is never overwritten.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.reporting.share.datasheet import collection_facts, composition_facts
from sfumato.reporting.share.datasheet.datasheet_sources import DatasheetSources, KnownFacts, SourceFile
from sfumato.reporting.share.datasheet.questions import PARTS, QUESTIONS, DatasheetQuestion
from sfumato.reporting.share.markdown_escape import code, plain, quoted, table
from sfumato.tables.errors import CannotWrite, one_line
from sfumato.tables.files.atomic_write import atomic_write
from sfumato.tables.text_file import is_file, read_text

OPEN = "[TO FILL IN"
FACTS: Mapping[str, Callable[[DatasheetSources], KnownFacts]] = {
    "items": composition_facts.items,
    "classes": composition_facts.classes,
    "labels": composition_facts.meaning,
    "doubt": composition_facts.doubt,
    "answers-per-item": composition_facts.annotators_per_item,
    "missing": composition_facts.missing,
    "duplicates": composition_facts.duplicates,
    "asked": collection_facts.questions,
    "people": collection_facts.people,
    "pay": collection_facts.pay,
    "when": collection_facts.when,
    "agreement": collection_facts.agreement,
    "set-aside": collection_facts.excluded,
    "consent": collection_facts.consent,
    "steps": collection_facts.steps,
    "raw": collection_facts.raw,
    "software": collection_facts.software,
    "used": composition_facts.used,
    "unsuited": composition_facts.unsuited,
}
"""By question id; for other questions tables provide nothing."""


@dataclass(frozen=True)
class Answered:
    """A question with the facts from the tables and the author's text."""

    question: DatasheetQuestion
    facts: KnownFacts
    words: str = ""

    @property
    def is_open(self) -> bool:
        """Whether the author still has to answer."""
        if self.words:
            return OPEN in self.words
        return self.question.person or not self.facts or not self.facts.settled

    @property
    def to_fill_in(self) -> str:
        """The placeholder for the author's text; empty if none is needed."""
        return f"{OPEN}: {self.question.help}.]" if self.is_open and not self.words else ""


@dataclass(frozen=True)
class Datasheet:
    """All questions in order, the source files, and the command that writes the datasheet.

    `kept` are the author's answers to questions that no longer exist.
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
    title: str = "A labeled data set",
    file: str = "datasheet.md",
    words: Mapping[str, str] | None = None,
) -> Datasheet:
    """The datasheet of `sources`; `words` are the author's texts by question id, `file` is the name of the output."""
    words = words or {}
    facts = {name: found(sources) for name, found in FACTS.items()}
    answers = tuple(Answered(each, facts.get(each.id, KnownFacts()), words.get(each.id, "")) for each in QUESTIONS)
    known = {question.id for question in QUESTIONS}
    kept = {name: text for name, text in words.items() if name not in known}
    return Datasheet(title, answers, sources.files, sources.command(title, file), kept)


YOURS = re.compile(r"^<!-- yours: ([\w-]+) -->[ \t]*\n(.*?)^<!-- end: \1 -->[ \t]*$", re.MULTILINE | re.DOTALL)
LIST = re.compile(r"^<!-- open points -->.*?^<!-- end of open points -->[ \t]*$", re.MULTILINE | re.DOTALL)
SEAL = re.compile(r"^<!-- sfumato datasheet ([0-9a-f]{64}) -->[ \t]*$", re.MULTILINE)
PLACEHOLDER = re.compile(re.escape(OPEN) + r".*\]")
MAX_BYTES = 10_000_000


def markdown(sheet: Datasheet) -> str:
    """The datasheet as Markdown."""
    text = "\n".join(_lines(sheet)) + "\n"
    return f"{text}\n<!-- sfumato datasheet {_digest(text)} -->\n"


def write_markdown(sheet: Datasheet, path: Path) -> None:
    """Write the datasheet; an existing file is replaced when the new one is complete."""
    with atomic_write(path) as part:
        part.write_text(markdown(sheet), encoding="utf-8")


def words_in(path: Path) -> dict[str, str]:
    """The author's texts in the datasheet at `path`, by question id; empty if there is no file.

    Raises if the file is not a datasheet, or has text outside the places for it.
    """
    if not is_file(path):
        return {}
    text = read_text(path, limit=MAX_BYTES, what="a datasheet").replace("\r\n", "\n")
    seals = SEAL.findall(text)
    if len(seals) != 1:
        raise _refused(path, "a file that is not a sfumato datasheet", "choose another name with -o", "not-a-datasheet")
    if _digest(text) != seals[0]:
        found = "changes outside the places for your text, which would be lost"
        fix = "write between the comment lines `yours` and `end`, restore the rest, or choose another -o"
        raise _refused(path, found, fix, "changed-datasheet")
    found_words = {name: words.strip("\n") for name, words in YOURS.findall(text)}
    return {
        name: words for name, words in found_words.items() if words.strip() and not PLACEHOLDER.fullmatch(words.strip())
    }


def _digest(text: str) -> str:
    """A hash of everything except the author's texts, the list of open points and white space."""
    ours = SEAL.sub("", LIST.sub("", YOURS.sub(lambda found: f"yours {found[1]}", text)))
    return hashlib.sha256("".join(ours.split()).encode()).hexdigest()


def _lines(sheet: Datasheet) -> Iterator[str]:
    yield f"# Datasheet: {plain(sheet.title)}"
    comment = '<!-- Write between the lines "yours" and "end". sfumato datasheet replaces everything else. -->'
    yield from ["", comment, ""]
    yield "The questions follow Gebru et al. (2021), *Datasheets for datasets*. Numbers come from the files listed at"
    yield f"the end; `{OPEN}: ...]` marks answers that only people can give."
    for part in PARTS:
        yield from ["", f"## {part.title}"]
        for question in part.questions:
            yield from _answer(sheet.of(question.id))
    if sheet.kept:
        yield from ["", "## Answers to questions that no longer exist"]
        for name, words in sheet.kept.items():
            yield from ["", *_place(name, words)]
    yield from ["", *_open_points(sheet), "", *_sources(sheet)]


def _answer(answered: Answered) -> Iterator[str]:
    facts = answered.facts
    yield from ["", f"### {answered.question.text}", ""]
    yield from (f"- {plain(point)}" for point in facts.points)
    if facts.quote:
        yield from ["", *quoted(facts.quote)]
    if facts.grid is not None:
        yield from ["", *table(facts.grid.heads, facts.grid.rows)]
    if facts:
        yield ""
    yield from _place(answered.question.id, answered.words or answered.to_fill_in)


def _place(name: str, words: str) -> list[str]:
    return [f"<!-- yours: {name} -->", *([words] if words else []), f"<!-- end: {name} -->"]


def _open_points(sheet: Datasheet) -> Iterator[str]:
    points = sheet.open_points
    yield from ["## Open points", "", "<!-- open points -->"]
    yield f"{len(points)} of {len(sheet.answers)} questions are open." if points else "None."
    if points:
        yield from ["", *(f"- [ ] {each.text} ({code(each.id)})" for each in points)]
    yield "<!-- end of open points -->"


def _sources(sheet: Datasheet) -> Iterator[str]:
    yield from ["## Sources", "", "This command writes the datasheet:", ""]
    yield from ["```", one_line(sheet.command), "```", ""]
    files = [(f"--{each.option}", code(each.name), f"{each.n_bytes:,}", code(each.sha256)) for each in sheet.files]
    yield from [*table(("option", "file", "bytes", "SHA-256"), files), ""]
    names = {each.option: each.name for each in sheet.files}
    rows = [
        (each.question.text, ", ".join(code(names.get(option, option)) for option in each.facts.files),
         code(each.facts.command) if each.facts.command else "as above")
        for each in sheet.answers
        if each.facts and each.facts.files
    ]  # fmt: skip
    yield from table(("question", "files", "command"), rows)


def _refused(path: Path, found: str, fix: str, code: str) -> CannotWrite:
    expected = "no file, or a datasheet that sfumato wrote, with your text in its places"
    return CannotWrite(f"{found}; the file is unchanged", expected, fix, code, path)
