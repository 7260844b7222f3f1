"""The protocol of question kinds, and helpers that several kinds use.

A kind is a module in `kinds/` (this protocol) and a folder of the same name with `form.html`, `form.js` and `form.css`
(the page). It is listed once, in `KINDS` (`elicitation/kinds/__init__.py`). Kinds do not import NumPy or Arrow, so that
the server does not load them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import msgspec

from sfumato.study.stimulus import Item, Stimulus
from sfumato.tables.errors import BadSetting, ErrorLocation, InvalidAnswer, show

if TYPE_CHECKING:
    from numpy.random import Generator

    from sfumato.study.study import Framing, Study


Belief = Sequence[float]
"""An annotator's distribution over the classes."""


@runtime_checkable
class Kind(Protocol):
    """A kind of question. Its settings are the fields of a frozen dataclass, set in `[question]` of the study file."""

    name: ClassVar[str]
    version: ClassVar[int]
    payload: ClassVar[Any]
    """The type of its payload (`sfumato.tables.payloads`)."""
    meanings: ClassVar[Mapping[str, str]]
    """What each field of the payload means, for the codebook."""

    def prompt(self, framing: Framing) -> str:
        """The sentence above the form."""

    def stimuli(self, items: Sequence[Item], study: Study) -> list[Stimulus]:
        """The stimuli for these items; raises `BadSetting` if the items lack what the kind needs."""

    def parse(self, raw: Any, stimulus: Stimulus, study: Study) -> Any:
        """The payload for what the browser sent; raises `InvalidAnswer` naming the field."""

    def simulate(self, beliefs: Sequence[Belief], stimulus: Stimulus, study: Study, rng: Generator) -> dict[str, Any]:
        """What the browser of an annotator with these beliefs (one per shown item, over the classes) would send."""


def folder_of(kind: Kind | type[Kind]) -> Path:
    """The folder with the kind's `form.html` and `form.js`."""
    return Path(__file__).parent / "kinds" / kind.name


def label_of(kind: Kind | type[Kind]) -> str:
    """The kind as written in tables: `tokens/1`."""
    return f"{kind.name}/{kind.version}"


def plain_stimuli(items: Sequence[Item]) -> list[Stimulus]:
    """One stimulus per item, without other items or context."""
    return [Stimulus(item.id) for item in items]


def converted(raw: Any, payload: Any, kind: str) -> Any:
    """`raw` (plain JSON values) as a value of the type `payload`, or `InvalidAnswer` naming the field."""
    try:
        return msgspec.convert(raw, payload)
    except msgspec.ValidationError as error:
        reason, _, at = str(error).partition(" - at `")
        # For missing and unknown fields msgspec gives the name in the reason, not in the path.
        within = at.replace("key` in `", "").rstrip("`").lstrip("$.")
        field = within or next(iter(_FIELD_NAMED.findall(reason)), "answer")
        raise refused(reason[:1].lower() + reason[1:], f"a {kind} answer", field) from None


_FIELD_NAMED = re.compile(r"field `([^`]+)`")


def refused(found: str, expected: str, field: str | None) -> InvalidAnswer:
    """The error for an answer with an invalid `field`."""
    fix = "answer the question again; if this happens again, contact the researcher"
    return InvalidAnswer(found, expected, fix, where=ErrorLocation(column=field))


def check_class(name: str, study: Study, field: str) -> None:
    """Raise unless `name` is one of the study's classes."""
    if name not in study.class_names:
        raise refused(f"the class {show(name)}", f"one of {', '.join(study.class_names)}", field)


def check_flag(kind: str, name: str, value: object) -> None:
    """Raise `BadSetting` unless the setting `name` is true or false."""
    if not isinstance(value, bool):
        raise BadSetting(f"{name} = {value!r}", "true or false", f"set {name} to true or false for {kind}")


def on_scale(value: float, n_steps: int) -> bool:
    """Whether `value` is one of the `n_steps` + 1 values of a scale from 0 to 1."""
    return 0 <= value <= 1 and abs(value * n_steps - round(value * n_steps)) < 1e-6


def nearest_on_scale(value: float, n_steps: int) -> float:
    """The value on the scale nearest to `value`."""
    return round(min(max(value, 0.0), 1.0) * n_steps) / n_steps


def check_whole_number(name: str, value: Any, low: int, high: int) -> None:
    """Raise unless the setting `name` is a whole number from `low` to `high`."""
    if type(value) is not int or not low <= value <= high:
        raise BadSetting(f"{name} = {value!r}", f"a whole number from {low:,} to {high:,}", f"choose another {name}")
