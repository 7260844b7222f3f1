"""Top two: the most probable class and its percentage, optionally a second, and impossible classes (CIFAR-10S)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.elicitation.kind import Belief, check_class, converted, plain_stimuli, refused
from sfumato.study.stimulus import Item, Stimulus
from sfumato.study.study import Framing, Study
from sfumato.tables import payloads

if TYPE_CHECKING:
    from numpy.random import Generator

RULED_OUT_BELOW = 0.005
"""A simulated annotator marks a class as impossible below this belief."""


@dataclass(frozen=True)
class TopTwoKind:
    """The five questions of CIFAR-10S (Collins, Bhatt and Weller 2022), in their order.

    The percentages may sum to less than 100: the rest belongs to the classes neither named nor ruled out. Refused are
    contradictions: one class named twice, a named class ruled out, a sum above 100, a second above the first.
    """

    name: ClassVar[str] = "top_two"
    version: ClassVar[int] = 1
    payload: ClassVar[Any] = payloads.TopTwoPayload
    meanings: ClassVar[Mapping[str, str]] = {
        "first": "the most probable class",
        "first_percent": "its probability in percent, as typed",
        "second": "the second most probable class; null if there is none",
        "second_percent": "its probability in percent, as typed; null without a second class",
        "impossible": "the classes marked as impossible",
    }

    def prompt(self, framing: Framing) -> str:
        if framing is Framing.OTHERS:
            return "Imagine that 100 people are asked what this is. What would they say?"
        return "What could this be, and how sure are you?"

    def stimuli(self, items: Sequence[Item], study: Study) -> list[Stimulus]:
        return plain_stimuli(items)

    def parse(self, raw: Any, stimulus: Stimulus, study: Study) -> payloads.TopTwoPayload:
        answer: payloads.TopTwoPayload = converted(raw, self.payload, self.name)
        check_class(answer.first, study, "first")
        first_percent = _percent(answer.first_percent, "first_percent")
        if first_percent == 0:
            raise refused("0 percent for the most probable class", "a percent above 0", "first_percent")
        _check_second(answer, first_percent, study)
        _check_impossible(answer, study)
        return answer

    def simulate(self, beliefs: Sequence[Belief], stimulus: Stimulus, study: Study, rng: Generator) -> dict[str, Any]:
        """The two most probable classes, in steps of five percent as people type them (ties at random)."""
        belief, names = beliefs[0], study.class_names
        ranked = sorted(range(len(belief)), key=lambda k: (-belief[k], rng.random()))
        first = ranked[0]
        first_percent = _typed(belief[first]) or max(1, round(100 * belief[first]))
        second = ranked[1] if len(ranked) > 1 else None
        second_percent = 0 if second is None else min(_typed(belief[second]), first_percent, 100 - first_percent)
        named = {first} if second_percent == 0 else {first, second}
        return {
            "first": names[first],
            "first_percent": first_percent,
            "second": names[second] if second is not None and second_percent else None,
            "second_percent": second_percent or None,
            "impossible": [names[k] for k in range(len(names)) if k not in named and belief[k] < RULED_OUT_BELOW],
        }


def _typed(probability: float) -> int:
    """The nearest multiple of five percent."""
    return 5 * round(20 * probability)


def _percent(value: float | None, field: str) -> float:
    if value is None:
        raise refused("no percent", "a percent from 0 to 100", field)
    if not 0 <= value <= 100:
        raise refused(f"{value:g} percent", "a percent from 0 to 100", field)
    return value


def _check_second(answer: payloads.TopTwoPayload, first_percent: float, study: Study) -> None:
    if answer.second is None:
        if answer.second_percent is not None:
            raise refused("a percent without a second class", "null without a second class", "second_percent")
        return
    check_class(answer.second, study, "second")
    if answer.second == answer.first:
        raise refused(f"{answer.second!r} as first and as second", "two different classes", "second")
    second_percent = _percent(answer.second_percent, "second_percent")
    if first_percent + second_percent > 100:
        found = f"{first_percent + second_percent:g} percent together"
        raise refused(found, "at most 100 percent for the two classes", "second_percent")
    if second_percent > first_percent:
        raise refused("a second class more probable than the first", "the more probable class first", "second_percent")


def _check_impossible(answer: payloads.TopTwoPayload, study: Study) -> None:
    for name in answer.impossible:
        check_class(name, study, "impossible")
        if name in (answer.first, answer.second):
            found = f"{name!r} named as possible and ruled out"
            raise refused(found, "no class both named and ruled out", "impossible")
    if len(set(answer.impossible)) < len(answer.impossible):
        raise refused("a class ruled out twice", "each class once", "impossible")
