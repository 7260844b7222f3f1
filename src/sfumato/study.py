"""Study: what is asked, about which items, of whom. Read from `study.toml` by `sfumato.study_file`.

Plain frozen values: a study knows nothing of the web, of stores or of how its kind of question works.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

ABOUT_ONE_ITEM = ("choice", "top_two", "plausible", "sliders", "tokens")
"""The kinds whose answers say of one item how likely each class is."""


class Framing(StrEnum):
    """Whose view is asked for."""

    OWN = "own"
    OTHERS = "others"


class Upscale(StrEnum):
    """How a small picture is made larger: smoothly as in CIFAR-10H and CIFAR-10S, in blocks, or not at all."""

    LANCZOS = "lanczos"
    NEAREST = "nearest"
    NONE = "none"


class Assignment(StrEnum):
    """Who is asked about what: the item with the fewest answers, or the one where an answer is worth most."""

    FEWEST = "fewest"
    ADAPTIVE = "adaptive"


class Entry(StrEnum):
    """Who may take part: anyone who opens the page, or only who was given a link."""

    OPEN = "open"
    LINKS = "links"


@dataclass(frozen=True)
class StudyClass:
    """A class people choose from; `key` is its shortcut, `example` a picture of it shown in the instructions."""

    name: str
    key: str | None = None
    example: Path | None = None


@dataclass(frozen=True)
class ItemSource:
    """Where the items come from: a folder of images, a CSV of texts or of image paths, or an npz. One of the three."""

    folder: Path | None = None
    csv: Path | None = None
    npz: Path | None = None
    upscale: Upscale = Upscale.LANCZOS
    size: int = 160


@dataclass(frozen=True)
class Question:
    """How it is asked: the kind by name with its settings, whose view, and the sentence above the form if not ours."""

    kind: str = "tokens"
    framing: Framing = Framing.OWN
    prompt: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PracticeItem:
    """An item everybody sees first; `feedback` (Markdown) is shown after the answer. It is asked about with the usual
    form, or with the deeper one."""

    item: str
    feedback: str = ""
    deeper: bool = False


@dataclass(frozen=True)
class ComprehensionQuestion:
    """A question about the instructions, with its right answer among the choices."""

    question: str
    choices: tuple[str, ...]
    answer: str


@dataclass(frozen=True)
class People:
    """How many answers from whom: `answers_per_item` people an item, `batches` times `batch_size` items a person.

    `repeats` of each batch's items are shown once more at its end, to see how steady a person is. Where assignment is
    adaptive, `answers_per_item` is the most that an item gets.
    """

    entry: Entry = Entry.OPEN
    answers_per_item: int = 5
    batch_size: int = 25
    batches: int = 1
    repeats: int = 0
    assignment: Assignment = Assignment.FEWEST


@dataclass(frozen=True)
class Adaptive:
    """Which item next, where assignment is adaptive: the one with the highest `index` (sfumato.plan.indices).

    An item is finished once the error that `index` takes down is expected to be below `target`, or once a class is
    `lead` answers ahead, and never before `fewest` answers; the study once it has `answers` in all. The share `audit`
    of choices is drawn evenly from all open items. `seconds` is what an answer takes, for weighing it against a deeper
    form.
    """

    index: str = "kl"
    target: float | None = None
    lead: int | None = None
    fewest: int = 2
    answers: int | None = None
    audit: float = 0.05
    seconds: float = 1.0


@dataclass(frozen=True)
class Deeper:
    """A richer form that an adaptive study asks where that tells more a second: an answer is worth `votes` plain ones
    and takes `seconds`. About `items` it is asked in any case."""

    question: Question
    votes: float
    seconds: float
    items: tuple[str, ...] = ()


@dataclass(frozen=True)
class Limits:
    """`lease_minutes`: how long an item is held for someone who does nothing. `remind_after_minutes`: the gap after
    which the instructions come again. `comprehension_attempts`: how often the questions may be tried."""

    lease_minutes: float = 10.0
    remind_after_minutes: float = 60.0
    comprehension_attempts: int = 3


@dataclass(frozen=True)
class Pay:
    """What a batch pays, as told to people before they begin."""

    amount: float
    currency: str
    minutes: float | None = None


@dataclass(frozen=True)
class Study:
    """A whole study. `name` is its short name in a store (letters, digits, dashes), `path` its file."""

    name: str
    title: str
    classes: tuple[StudyClass, ...]
    items: ItemSource
    question: Question = Question()
    instructions: str = ""
    consent: str = ""
    practice: tuple[PracticeItem, ...] = ()
    comprehension: tuple[ComprehensionQuestion, ...] = ()
    people: People = People()
    adaptive: Adaptive = Adaptive()
    deeper: Deeper | None = None
    limits: Limits = Limits()
    pay: Pay | None = None
    path: Path | None = None

    @property
    def questions(self) -> tuple[Question, ...]:
        """The usual question, and the deeper one if there is one; a trial says which of them it asks by its place."""
        return (self.question,) if self.deeper is None else (self.question, self.deeper.question)

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.classes)
