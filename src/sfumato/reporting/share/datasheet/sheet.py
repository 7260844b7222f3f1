"""Datasheet: every question with what the tables know of it and what a person wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sfumato.reporting.share.datasheet.known_facts import FACTS
from sfumato.reporting.share.datasheet.questions import PARTS, QUESTIONS, DatasheetQuestion
from sfumato.reporting.share.datasheet.sources import DatasheetSources, SourceFile
from sfumato.reporting.share.datasheet.told import KnownFacts

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
