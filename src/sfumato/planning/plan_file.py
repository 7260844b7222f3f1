"""The Plan: what to ask about which items, how often, with the expected error and cost, as a JSON file. `sfumato plan`
writes it; `serve` and `simulate` read it. These types are its whole format: every field is required, and no others are
allowed."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from sfumato.planning.answer_value import INDICES
from sfumato.planning.goals import Goal
from sfumato.tables.errors import BadFile, ErrorLocation, listing, show, unknown
from sfumato.tables.files.atomic_write import atomic_write
from sfumato.tables.files.file_type import JSON, kind_of
from sfumato.tables.files.json import read_document
from sfumato.tables.payloads import PAYLOAD_KINDS
from sfumato.tables.printed_text import PrintedResult

NotNegative = Annotated[float, msgspec.Meta(ge=0)]
Positive = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Text = Annotated[str, msgspec.Meta(min_length=1)]


class PlanPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a plan: frozen, and read strictly."""


class PlanDeeper(PlanPart, frozen=True, kw_only=True):
    """The richer form for some items: an answer is worth `votes`, and takes paid `seconds`."""

    kind: Text
    votes: Positive
    seconds: NotNegative


class PlanQuestion(PlanPart, frozen=True, kw_only=True):
    """The kind of question, and the paid seconds per answer, including the rest of the session."""

    kind: Text
    deeper: PlanDeeper | None
    seconds: NotNegative


class Fewest(PlanPart, frozen=True, kw_only=True, tag_field="assignment", tag="fewest"):
    """Equally many answers for every item: items with the fewest are next, until all have `each`."""

    each: Count

    @property
    def assignment(self) -> str:
        return "fewest"

    @property
    def on_average(self) -> float:
        """Answers per item."""
        return float(self.each)


class PlanAdaptive(PlanPart, frozen=True, kw_only=True, tag_field="assignment", tag="adaptive"):
    """The next answer goes to the item with the highest value by `index`, between `fewest` and `most` answers per item.

    An item is finished once its remaining risk is at most `threshold` (`target` in the file), or one class is `lead`
    answers ahead, whichever is given. A share `audit` of the items gets two more answers, which test the model.
    `on_average` is the expected number of answers per item, and the limit of a study with a budget.
    """

    index: Text
    fewest: Annotated[int, msgspec.Meta(ge=0)]
    most: Count
    threshold: Positive | None = msgspec.field(name="target")
    lead: Count | None
    audit: Share
    on_average: Positive

    @property
    def assignment(self) -> str:
        return "adaptive"


class Expected(PlanPart, frozen=True, kw_only=True):
    """The expected error by `measure`, mean over the items, and its 95% interval (None if assumed)."""

    measure: Text
    value: NotNegative
    low: NotNegative | None
    high: NotNegative | None
    source: Text = msgspec.field(name="from")


class Cost(PlanPart, frozen=True, kw_only=True):
    """Money, answers, paid hours, people, and the money per answer."""

    money: NotNegative
    currency: Text
    answers: Count
    hours: NotNegative
    people: Count
    an_answer: NotNegative


class Budget(PlanPart, frozen=True, kw_only=True):
    """What can be spent: money, or with the unit `answers` a number of answers."""

    amount: Positive
    unit: Text


class Point(PlanPart, frozen=True, kw_only=True):
    """One point of the curve: answers per item, their expected error, and the total cost."""

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
    """A value that the plan depends on, and its source."""

    what: Text
    value: str
    source: Text


class PilotFile(PlanPart, frozen=True, kw_only=True):
    """The file that the plan was made from."""

    file: Text
    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class PlanProvenance(PlanPart, frozen=True, kw_only=True):
    """The provenance of the plan: version of sfumato, time, command, seed, and pilot."""

    version: Text
    at: Annotated[datetime, msgspec.Meta(tz=True)]
    command: str
    seed: int | None
    pilot: PilotFile | None


VERSION = 1
FIX = "make the plan again, or correct the field"


class Plan(PlanPart, frozen=True, kw_only=True):
    """What to ask, how often, about which items, and the expected result.

    `items` is `"all"`, or the ids of the items; `deeper_items` are asked about with the deeper form first.
    docs/plan-methods.md explains every field.
    """

    sfumato_plan: Literal[1] = 1
    goal: Goal
    classes: Annotated[tuple[str, ...], msgspec.Meta(min_length=2)]
    question: PlanQuestion
    items: Literal["all"] | tuple[str, ...]
    n_items: Count
    deeper_items: tuple[str, ...]
    answers: Fewest | PlanAdaptive
    expected: Expected
    cost: Cost
    budget: Budget | None
    curve: tuple[Point, ...]
    alternatives: tuple[Alternative, ...]
    would_change: tuple[str, ...]
    assumptions: tuple[Assumption, ...]
    made: PlanProvenance

    def __repr__(self) -> str:
        asked = f"{self.cost.answers:,} {self.question.kind} answers about {self.n_items:,} items"
        cost = f"{self.cost.money:,.2f} {self.cost.currency}"
        error = f"expected {self.expected.measure} {self.expected.value:.3g}"
        return f"<Plan: {asked}, {len(self.classes)} classes; {error}; cost {cost}>"

    def lines(self) -> list[str]:
        """The plan as text: the decision, the curve, and the reasons."""
        # Imported by name when used: the text depends on the plan.
        return import_module("sfumato.planning.plan_text").plan_lines(self)  # type: ignore[no-any-return]

    __str__ = PrintedResult.__str__
    _repr_html_ = PrintedResult._repr_html_

    @classmethod
    def read(cls, path: str | Path) -> Plan:
        """The plan in a file, every field checked; an error names the first wrong field."""
        place = Path(path)
        return cls.of(read_document(place), file=str(place))

    @classmethod
    def of(cls, document: Any, *, file: str | None = None) -> Plan:
        """The plan from plain JSON values, every field checked."""
        _check_version(document, file)
        try:
            plan: Plan = msgspec.convert(document, cls)
        except msgspec.ValidationError as error:
            raise _not_as_typed(str(error), file) from error
        plan.check(file=file)
        return plan

    def check(self, *, file: str | None = None) -> None:
        """Raise unless the fields fit each other."""
        _check_name("kind", self.question.kind, PAYLOAD_KINDS, "question.kind", file)
        if self.question.deeper is not None:
            _check_name("kind", self.question.deeper.kind, PAYLOAD_KINDS, "question.deeper.kind", file)
        _check_distinct(self.classes, "classes", file)
        _check_distinct(self.deeper_items, "deeper_items", file)
        if self.items != "all":
            _check_distinct(self.items, "items", file)
            if len(self.items) != self.n_items:
                raise _bad(f"{len(self.items):,} items and n_items = {self.n_items:,}", "n_items", file)
            if others := sorted(set(self.deeper_items) - set(self.items)):
                raise _bad(f"{listing(others, 3)}, which are not among the items", "deeper_items", file)
        if self.deeper_items and self.question.deeper is None:
            raise _bad(f"{len(self.deeper_items):,} deeper items and no deeper form", "question.deeper", file)
        if isinstance(self.answers, PlanAdaptive):
            _check_adaptive(self.answers, file)
        low, high = self.expected.low or 0.0, self.expected.high
        if not low <= self.expected.value <= (float("inf") if high is None else high):
            raise _bad("a value outside its own interval", "expected.value", file)

    def write(self, path: str | Path) -> None:
        """Write the plan as JSON; an existing file is replaced only once the new one is complete."""
        place = Path(path)
        kind_of(place, (JSON,), to_write=True)
        # What is written must be readable: run the same checks on the text.
        text = msgspec.json.format(msgspec.json.encode(self), indent=2)
        Plan.of(msgspec.json.decode(text))
        with atomic_write(place) as part:
            part.write_bytes(gzip.compress(text, mtime=0) if place.name.lower().endswith(".gz") else text + b"\n")


def _check_version(document: Any, file: str | None) -> None:
    found = document.get("sfumato_plan") if isinstance(document, dict) else None
    expected, where = f'an object with "sfumato_plan": {VERSION}', ErrorLocation(file, column="sfumato_plan")
    if found is None:
        fix = "give the file that sfumato plan wrote"
        raise BadFile("a document that is not a plan", expected, fix, "no-plan", where)
    if found != VERSION or isinstance(found, bool):
        fix = "make the plan again with this version of sfumato"
        raise BadFile(f"version {show(found)} of the plan file", expected, fix, "wrong-version", where)


def _check_name(what: str, name: str, known: Sequence[Any], field: str, file: str | None) -> None:
    names = [each.name for each in known]
    if name not in names:
        raise unknown(what, name, names, ErrorLocation(file, column=field), FIX)


def _check_adaptive(answers: PlanAdaptive, file: str | None) -> None:
    _check_name("index", answers.index, INDICES, "answers.index", file)
    if answers.fewest > answers.most:
        raise _bad(f"fewest = {answers.fewest} and most = {answers.most}", "answers.fewest", file)
    if not answers.fewest <= answers.on_average <= answers.most:
        found = f"{answers.on_average:g} answers, outside of {answers.fewest} to {answers.most}"
        raise _bad(found, "answers.on_average", file)


def _check_distinct(names: Sequence[str], field: str, file: str | None) -> None:
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise _bad(f"{show(twice)} twice", field, file)


def _not_as_typed(message: str, file: str | None) -> BadFile:
    """The error for a message of msgspec, such as ``Expected `int`, got `str` - at `$.n_items` ``."""
    problem, _, field = message.partition(" - at ")
    expected, got, found = problem.partition(", got ")
    field = field.strip("`").removeprefix("$").removeprefix(".")
    if got:
        return _bad(f"{found}", field, file, expected=expected.removeprefix("Expected "))
    if problem.startswith("Expected "):
        return _bad("another value", field, file, expected=problem.removeprefix("Expected "))
    return _bad(f"{problem[:1].lower()}{problem[1:]}", field, file)


def _bad(found: str, field: str, file: str | None, expected: str = "") -> BadFile:
    return BadFile(
        found,
        expected or f"a plan file, version {VERSION}, as docs/plan-methods.md describes it",
        FIX,
        "bad-plan",
        ErrorLocation(file, column=field or None),
    )
