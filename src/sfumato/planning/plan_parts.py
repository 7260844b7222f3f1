"""The parts of a Plan, one type an object of its file. Every field must be there, and no other may be."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec

NotNegative = Annotated[float, msgspec.Meta(ge=0)]
Positive = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Text = Annotated[str, msgspec.Meta(min_length=1)]


class PlanPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a plan: frozen, and read strictly."""


class PlanDeeper(PlanPart, frozen=True, kw_only=True):
    """The richer form that some items are asked about with: an answer is worth `votes`, and takes paid `seconds`."""

    kind: Text
    votes: Positive
    seconds: NotNegative


class PlanQuestion(PlanPart, frozen=True, kw_only=True):
    """What is asked: the kind of question, and the paid seconds an answer takes, the whole session shared out."""

    kind: Text
    deeper: PlanDeeper | None
    seconds: NotNegative


class Fewest(PlanPart, frozen=True, kw_only=True, tag_field="assignment", tag="fewest"):
    """As many answers for every item: the items with the fewest are asked about next, until all have `each`."""

    each: Count

    @property
    def assignment(self) -> str:
        return "fewest"

    @property
    def on_average(self) -> float:
        """Answers an item."""
        return float(self.each)


class PlanAdaptive(PlanPart, frozen=True, kw_only=True, tag_field="assignment", tag="adaptive"):
    """The next answer goes where `index` says it is worth most, between `fewest` and `most` answers an item.

    An item is finished once the risk that is left of it is `target`, or one class is `lead` answers ahead, whichever of
    them is given. A share `audit` of the answers goes to open items at random. `on_average` is what all of this is
    expected to come to an item; it is also where a study with money for no more stops.
    """

    index: Text
    fewest: Annotated[int, msgspec.Meta(ge=0)]
    most: Count
    target: Positive | None
    lead: Count | None
    audit: Share
    on_average: Positive

    @property
    def assignment(self) -> str:
        return "adaptive"


class Expected(PlanPart, frozen=True, kw_only=True):
    """The error to expect, by `measure`, on average over the items, and its 95% interval; None where it is assumed."""

    measure: Text
    value: NotNegative
    low: NotNegative | None
    high: NotNegative | None
    source: Text = msgspec.field(name="from")


class Cost(PlanPart, frozen=True, kw_only=True):
    """What it takes: money, answers, paid hours, people, and the money of one answer."""

    money: NotNegative
    currency: Text
    answers: Count
    hours: NotNegative
    people: Count
    an_answer: NotNegative


class Budget(PlanPart, frozen=True, kw_only=True):
    """What there was to spend: money, or with the unit `answers` answers."""

    amount: Positive
    unit: Text


class Point(PlanPart, frozen=True, kw_only=True):
    """One point of the curve that was read: answers an item, the error to expect of them, and what all would cost."""

    answers: Positive
    value: NotNegative
    low: NotNegative | None
    high: NotNegative | None
    money: NotNegative


class Alternative(PlanPart, frozen=True, kw_only=True):
    """Another plan that came close, and why it was not chosen."""

    what: Text
    kind: Text
    assignment: Literal["fewest", "adaptive"]
    each: Positive
    n_items: Count
    value: NotNegative
    low: NotNegative | None
    high: NotNegative | None
    money: NotNegative
    why_not: Text


class Assumption(PlanPart, frozen=True, kw_only=True):
    """A figure that the plan rests on, and where it comes from."""

    what: Text
    value: str
    source: Text


class PilotFile(PlanPart, frozen=True, kw_only=True):
    """The file that the plan was made from."""

    file: Text
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class Made(PlanPart, frozen=True, kw_only=True):
    """How the plan came about: the version of sfumato, when, by which command, with which seed, from which pilot."""

    version: Text
    at: Annotated[datetime, msgspec.Meta(tz=True)]
    command: str
    seed: int | None
    pilot: PilotFile | None
