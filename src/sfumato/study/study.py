"""The parts of a study as frozen values, with the limits that `study_file` checks when it reads `study.toml`.

Independent of the server, the store and the question types.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

from sfumato.tables.class_order import OrderedClasses

MAX_TEXT = 100_000
LANGUAGES = ("en", "fr", "de")
"""The languages with a translation of the participants' pages."""
ABOUT_ONE_ITEM = ("choice", "top_two", "plausible", "sliders", "tokens")
"""The question types whose answer is a distribution over the classes of one item."""


@dataclass(frozen=True)
class Range:
    """The smallest and largest number that a key of `study.toml` may have; `whole` allows integers only."""

    low: float
    high: float
    whole: bool = False


@dataclass(frozen=True)
class Length:
    """The most characters that a text in `study.toml` may have; `lines` allows several lines."""

    most: int
    lines: bool = False


Share = Annotated[float, Range(0, 1)]
Seconds = Annotated[float, Range(0.01, 86_400)]
Money = Annotated[float, Range(0, 1_000_000)]


class Framing(StrEnum):
    """Whose view is asked for."""

    OWN = "own"
    OTHERS = "others"


class Upscale(StrEnum):
    """How small pictures are enlarged: smoothly as in CIFAR-10H and CIFAR-10S, in blocks, or not at all."""

    LANCZOS = "lanczos"
    NEAREST = "nearest"
    NONE = "none"


class Assignment(StrEnum):
    """Which item is assigned next: the one with the fewest answers, or the one whose answer is worth most."""

    FEWEST = "fewest"
    ADAPTIVE = "adaptive"


class Entry(StrEnum):
    """Who may take part: anyone who opens the page, or only people with a personal link."""

    OPEN = "open"
    LINKS = "links"


@dataclass(frozen=True)
class StudyClass:
    """A class; `key` is its keyboard shortcut, `example` a picture shown in the instructions."""

    name: str
    key: str | None = None
    example: Path | None = None


@dataclass(frozen=True)
class ItemSource:
    """The source of the items: a folder of images, a CSV of texts or image paths, an npz file, or texts in a Parquet,
    JSON Lines, TSV or CSV file (`texts`), in the column or field `text`. Paths in a CSV must be in `roots`, by default
    the folder of the CSV."""

    folder: Path | None = None
    csv: Path | None = None
    npz: Path | None = None
    texts: Path | None = None
    text: Annotated[str | None, Length(MAX_TEXT)] = None
    upscale: Upscale = Upscale.LANCZOS
    size: Annotated[int, Range(16, 1600, whole=True)] = 160
    roots: tuple[Path, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Question:
    """A question type with its settings, whose view is asked for, and a prompt if not the default one."""

    kind: Annotated[str, Length(MAX_TEXT)] = "tokens"
    framing: Framing = Framing.OWN
    prompt: Annotated[str | None, Length(1000, lines=True)] = None
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Region:
    """A set of distributions over the classes. All given conditions must hold: at least `at_least` of the mass on
    `classes` together; none on any class of `none_on`; total variation to `near` at most `within`."""

    classes: tuple[str, ...] = ()
    at_least: float = 0.0
    none_on: tuple[str, ...] = ()
    near: Mapping[str, float] = field(default_factory=dict)
    within: float = 1.0

    def has(self, belief: Mapping[str, float]) -> bool:
        """Whether the distribution `belief` is in the region; classes that it does not name have no mass."""
        tolerance = 1e-9
        distance = sum(abs(belief.get(name, 0.0) - self.near.get(name, 0.0)) for name in {*belief, *self.near}) / 2
        return (
            (not self.classes or sum(belief.get(name, 0.0) for name in self.classes) >= self.at_least - tolerance)
            and all(belief.get(name, 0.0) <= tolerance for name in self.none_on)
            and (not self.near or distance <= self.within + tolerance)
        )


@dataclass(frozen=True)
class Check:
    """An attention check: an item whose answer must be in a region, shown unmarked among the others, after `at` answers
    or at a random position per participant."""

    item: str
    region: Region
    at: int | None = None


@dataclass(frozen=True)
class Quality:
    """Live quality rules. Each participant sees `checks_per_person` of the checks, drawn at random (None: all).
    Participants who fail `most_failed` checks are marked; with `stop` their session ends. Their
    answers and pay are kept: both are decided later. `rules` names a set of screening rules (`sfumato screen`)
    whose flags the dashboard shows, or single rules with their settings."""

    most_failed: Annotated[int, Range(1, 1000, whole=True)] = 2
    stop: bool = False
    rules: str | Mapping[str, Mapping[str, float]] = ""
    checks_per_person: int | None = None


@dataclass(frozen=True)
class PracticeItem:
    """An item that every participant sees first, with the usual or the deeper form. After the answer comes `feedback`
    (Markdown), and with a `region` whether the answer is in it."""

    item: str
    feedback: Annotated[str, Length(MAX_TEXT, lines=True)] = ""
    deeper: bool = False
    region: Region | None = None


@dataclass(frozen=True)
class ComprehensionQuestion:
    """A question about the instructions; `answer` is the correct one of the choices."""

    question: Annotated[str, Length(1000, lines=True)]
    choices: tuple[str, ...]
    answer: str


@dataclass(frozen=True)
class People:
    """Numbers of answers: `answers_per_item` (the maximum if adaptive), and `batches` of `batch_size` per participant.

    `repeats` items of each batch are shown a second time, to measure test-retest reliability: at the end of the batch,
    or `repeat_distance` items after the first time.
    """

    entry: Entry = Entry.OPEN
    answers_per_item: Annotated[int, Range(1, 10_000, whole=True)] = 5
    batch_size: Annotated[int, Range(1, 10_000, whole=True)] = 25
    batches: Annotated[int, Range(1, 1000, whole=True)] = 1
    repeats: int = 0
    repeat_distance: int = 0
    assignment: Assignment = Assignment.FEWEST

    def paid_batches(self, n_labels: int, *, finished: bool, n_items: int | None = None) -> float:
        """The batches that a participant with `n_labels` answers for labels is paid for.

        Checks and repeats are part of their batch and not paid again. A participant who finished is paid every batch
        they began, even if no items were left to fill it; others in proportion. A study of fewer than `batch_size`
        items (`n_items`) has shorter batches at the same pay.
        """
        size = max(self.batch_size if n_items is None else min(self.batch_size, n_items), 1)
        return math.ceil(n_labels / size) if finished else n_labels / size

    def most_batches(self, n_items: int) -> int:
        """The number of batches that are paid to a participant with every answer, in a study of `n_items` items."""
        n_labels = min(self.batches * self.batch_size, n_items)
        return max(int(self.paid_batches(n_labels, finished=True)), 1)


@dataclass(frozen=True)
class Adaptive:
    """Adaptive assignment: the next item is the one with the highest `index` (sfumato.planning.answer_value).

    An item is finished when the expected error measured by `index` is below `target`, or when a class is `lead` answers
    ahead, and never before `fewest` answers; the study is finished after `answers` in total. A share `audit` of all
    items, drawn at random, gets two more answers that decide nothing and test the model. `seconds` is the time per
    answer, to compare it with the deeper form.
    """

    index: Annotated[str, Length(40)] = "kl"
    target: Annotated[float | None, Range(1e-9, 100)] = None
    lead: Annotated[int | None, Range(1, 10_000, whole=True)] = None
    fewest: int = 2
    answers: Annotated[int | None, Range(1, 1_000_000_000, whole=True)] = None
    audit: Share = 0.1
    seconds: Seconds = 1.0


@dataclass(frozen=True)
class Deeper:
    """A more detailed form for some answers.

    It opens after the usual form, about the same item, when the participant is not sure (`unsure`), when the item has
    two or more answers and at least a share `disagreement` of them differs from the majority, or at random for a
    `share` of the answers. It is always used for `items`. An adaptive study also uses it directly where it gives more
    information per second: one answer is worth `votes` usual answers and takes `seconds`.
    """

    question: Question
    votes: Annotated[float, Range(0.001, 1000)] = 1.0
    seconds: Seconds = 1.0
    items: tuple[str, ...] = ()
    unsure: bool = False
    share: Share = 0.0
    disagreement: Annotated[float | None, Range(0.01, 1)] = None

    @property
    def follows(self) -> bool:
        """Whether it can open after the usual form."""
        return self.unsure or self.share > 0 or self.disagreement is not None


@dataclass(frozen=True)
class Arm:
    """One of several forms that are compared on the same items: each participant gets one of them at random."""

    name: str
    question: Question


@dataclass(frozen=True)
class Limits:
    """`lease_minutes`: how long an item stays reserved for an inactive participant. `remind_after_minutes`: the break
    after which the instructions are shown again. `comprehension_attempts`: how often the comprehension questions may be
    tried. `link_days`: how long a link works after it was made or last used; 0 for no limit."""

    lease_minutes: Annotated[float, Range(0.01, 10_080)] = 10.0
    remind_after_minutes: Annotated[float, Range(0.01, 525_600)] = 60.0
    comprehension_attempts: Annotated[int, Range(1, 100, whole=True)] = 3
    link_days: Annotated[float, Range(0, 36_500)] = 30.0


@dataclass(frozen=True)
class Privacy:
    """How many days after a participant was last active `sfumato study forget --expired` erases their platform id and
    link (`keep_ids_days`), and the records of their inputs and exact times (`keep_records_days`); None for no limit."""

    keep_ids_days: Annotated[int | None, Range(1, 36_500, whole=True)] = None
    keep_records_days: Annotated[int | None, Range(1, 36_500, whole=True)] = None


@dataclass(frozen=True)
class Bonus:
    """Bonus per participant, by a rule with its settings: 0 for a score of `floor` or less, `most` for a score of 1,
    linear in between."""

    rule: Annotated[str, Length(40)]
    most: Money
    floor: Annotated[float, Range(0, 0.999)] = 0.0
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Pay:
    """Pay and expected minutes per batch, as stated to participants before they begin, and the bonus."""

    amount: Money
    currency: Annotated[str, Length(12)]
    minutes: Annotated[float | None, Range(0.1, 10_080)] = None
    bonus: Bonus | None = None


@dataclass(frozen=True)
class Recruiting:
    """The recruitment platform with its settings, and its completion codes: participants finished, were screened out,
    did not consent, came to a full study, or failed too many checks."""

    platform: str
    completed: str
    screened_out: str | None = None
    no_consent: str | None = None
    full: str | None = None
    failed_checks: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    OUTCOMES: ClassVar[tuple[str, ...]] = ("completed", "screened_out", "no_consent", "full", "failed_checks")

    def code_for(self, outcome: str) -> str | None:
        """The code for one of `OUTCOMES`. Full studies and failed checks default to the code of screened out."""
        own: str | None = getattr(self, outcome)
        return own or (self.screened_out if outcome in ("full", "failed_checks") else None)


@dataclass(frozen=True)
class Study:
    """A study. `name` identifies it in a store (letters, digits, dashes); `path` is its file."""

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
    """Forms that are compared; `question` is that of the first arm. Quotas are per arm."""
    limits: Limits = Limits()
    privacy: Privacy = Privacy()
    pay: Pay | None = None
    recruiting: Recruiting | None = None
    languages: tuple[str, ...] = ("en",)
    """The languages of its pages, the default first."""
    ordered: bool = False
    """Whether the classes are on a scale: forms show them in this order to everybody."""
    path: Path | None = None

    @property
    def questions(self) -> tuple[Question, ...]:
        """The usual question and the deeper one, or those of the arms; a trial refers to one by its index."""
        if self.arms:
            return tuple(arm.question for arm in self.arms)
        return (self.question,) if self.deeper is None else (self.question, self.deeper.question)

    @property
    def fee(self) -> float:
        """The platform's fee as a share of the pay; 0 if the study file does not state it."""
        fee = self.recruiting.settings.get("fee", 0.0) if self.recruiting else 0.0
        return float(fee) if isinstance(fee, (int, float)) and not isinstance(fee, bool) else 0.0

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        names = tuple(each.name for each in self.classes)
        return OrderedClasses(names) if self.ordered else names

    @cached_property
    def special_items(self) -> frozenset[str]:
        """Items used only for practice or checks, and not labeled."""
        return frozenset([each.item for each in self.practice] + [each.item for each in self.checks])

    @property
    def n_checks_per_person(self) -> int:
        """The number of checks that each participant sees."""
        drawn = self.quality.checks_per_person
        return len(self.checks) if drawn is None else drawn
