"""Study: what is asked, about which items, of whom. Read from `study.toml` by `sfumato.study`.

Plain frozen values: a study knows nothing of the web, of stores or of how its kind of question works.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

LANGUAGES = ("en", "fr", "de")
"""The languages there is a catalogue of sentences for (`web/texts`)."""
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
class Region:
    """A part of all distributions over the classes, where an answer must lie. Every condition that is given must hold.

    At least `at_least` of the mass on `classes` together; none on any of `none_on`; within `within` of `near`, by total
    variation.
    """

    classes: tuple[str, ...] = ()
    at_least: float = 0.0
    none_on: tuple[str, ...] = ()
    near: Mapping[str, float] = field(default_factory=dict)
    within: float = 1.0

    def has(self, belief: Mapping[str, float]) -> bool:
        """Whether the distribution `belief` lies in it; classes it does not name have no mass."""
        slack = 1e-9
        apart = sum(abs(belief.get(name, 0.0) - self.near.get(name, 0.0)) for name in {*belief, *self.near}) / 2
        return (
            (not self.classes or sum(belief.get(name, 0.0) for name in self.classes) >= self.at_least - slack)
            and all(belief.get(name, 0.0) <= slack for name in self.none_on)
            and (not self.near or apart <= self.within + slack)
        )


@dataclass(frozen=True)
class Check:
    """An item whose answer is known to lie in a region, shown among the others without a word: after `at` answers, or
    at a place of its own for everybody."""

    item: str
    region: Region
    at: int | None = None


@dataclass(frozen=True)
class Quality:
    """Live rules. Who fails `most_failed` checks or more is marked; with `stop` they are thanked, and shown nothing
    further. What they answered stays, and so does their pay: both are decided later, and apart. `rules` names a set of
    rules (`sfumato screen`) whose flags the researcher's page shows, or rules one by one, each with its settings."""

    most_failed: int = 2
    stop: bool = False
    rules: str | Mapping[str, Mapping[str, float]] = ""


@dataclass(frozen=True)
class PracticeItem:
    """An item everybody sees first; `feedback` (Markdown) is shown after the answer, and with a `region` whether the
    answer lies in it. It is asked about with the usual form, or with the deeper one."""

    item: str
    feedback: str = ""
    deeper: bool = False
    region: Region | None = None


@dataclass(frozen=True)
class ComprehensionQuestion:
    """A question about the instructions, with its right answer among the choices."""

    question: str
    choices: tuple[str, ...]
    answer: str


@dataclass(frozen=True)
class People:
    """How many answers from whom: `answers_per_item` people an item, `batches` times `batch_size` items a person.

    `repeats` of each batch's items are shown once more, to see how steady a person is: at the batch's end, or
    `repeat_distance` items after the first time. Where assignment is adaptive, `answers_per_item` is the most that an
    item gets.
    """

    entry: Entry = Entry.OPEN
    answers_per_item: int = 5
    batch_size: int = 25
    batches: int = 1
    repeats: int = 0
    repeat_distance: int = 0
    assignment: Assignment = Assignment.FEWEST


@dataclass(frozen=True)
class Adaptive:
    """Which item next, where assignment is adaptive: the one with the highest `index`
    (sfumato.planning.acquisition_index).

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
    """A richer form, asked where it is worth it.

    It opens after the usual one, about the same item, by one of three doors: the person says that they are not sure
    (`unsure`); the item is still uncertain, because at least the share `disagreement` of its answers, and of two or
    more, names another class than most do; or by chance, for the share `share` of answers. About `items` it is asked
    in any case. An adaptive study asks it outright, too, where that tells more a second: an answer is worth `votes`
    plain ones and takes `seconds`.
    """

    question: Question
    votes: float = 1.0
    seconds: float = 1.0
    items: tuple[str, ...] = ()
    unsure: bool = False
    share: float = 0.0
    disagreement: float | None = None

    @property
    def follows(self) -> bool:
        """Whether it opens after the usual form, by any of the doors."""
        return self.unsure or self.share > 0 or self.disagreement is not None


@dataclass(frozen=True)
class Arm:
    """One of several forms that are compared on the same items: each person is asked with one of them, by chance."""

    name: str
    question: Question


@dataclass(frozen=True)
class Limits:
    """`lease_minutes`: how long an item is held for someone who does nothing. `remind_after_minutes`: the gap after
    which the instructions come again. `comprehension_attempts`: how often the questions may be tried. `link_days`: how
    long a link holds after it was made or last used; 0 for ever."""

    lease_minutes: float = 10.0
    remind_after_minutes: float = 60.0
    comprehension_attempts: int = 3
    link_days: float = 30.0


@dataclass(frozen=True)
class Bonus:
    """What answers earn beside the base: up to `most` a person, by the rule named and its settings.

    Somebody whose answers score `floor` or less (0 to 1) earns nothing, who scores 1 earns `most`; in between it goes
    up in a straight line.
    """

    rule: str
    most: float
    floor: float = 0.0
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Pay:
    """What a batch pays, as told to people before they begin, and by what rule there is more."""

    amount: float
    currency: str
    minutes: float | None = None
    bonus: Bonus | None = None


@dataclass(frozen=True)
class Recruiting:
    """The platform people come from, by name, with its settings, and the codes it waits for: for who has finished, who
    was not let in, and who did not consent."""

    platform: str
    completed: str
    screened_out: str | None = None
    no_consent: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


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
    checks: tuple[Check, ...] = ()
    quality: Quality = Quality()
    comprehension: tuple[ComprehensionQuestion, ...] = ()
    people: People = People()
    adaptive: Adaptive = Adaptive()
    deeper: Deeper | None = None
    arms: tuple[Arm, ...] = ()
    """Forms that are compared; `question` is that of the first. Quotas are of each arm."""
    limits: Limits = Limits()
    pay: Pay | None = None
    recruiting: Recruiting | None = None
    languages: tuple[str, ...] = ("en",)
    """The languages its pages come in, the usual one first."""
    path: Path | None = None

    @property
    def questions(self) -> tuple[Question, ...]:
        """The usual question and the deeper one if there is one, or those of the arms; a trial says which of them it
        asks by its place."""
        if self.arms:
            return tuple(arm.question for arm in self.arms)
        return (self.question,) if self.deeper is None else (self.question, self.deeper.question)

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.classes)

    @cached_property
    def set_aside(self) -> frozenset[str]:
        """Items that everybody sees in practice or as a check, and nobody is asked to label."""
        return frozenset([each.item for each in self.practice] + [each.item for each in self.checks])
