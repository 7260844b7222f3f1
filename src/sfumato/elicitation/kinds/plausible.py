"""Plausible: yes, unsure or no for every class (soft-digits)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.elicitation.kind import Belief, check_class, converted, plain_stimuli, refused
from sfumato.study.stimulus import Item, Stimulus
from sfumato.study.study import Framing, Study
from sfumato.tables import payloads
from sfumato.tables.errors import listing, show

if TYPE_CHECKING:
    from numpy.random import Generator

# Relative to the most probable class: at least half as probable is "yes", a tenth is "unsure".
YES, UNSURE = 0.5, 0.1


@dataclass(frozen=True)
class PlausibleKind:
    """Could it be this class? Yes, unsure or no, for every class (soft-digits).

    Quick and easy to explain, without numbers; it does not distinguish a likely class from a possible one.
    """

    name: ClassVar[str] = "plausible"
    version: ClassVar[int] = 1
    payload: ClassVar[Any] = payloads.Plausible
    meanings: ClassVar[Mapping[str, str]] = {"each class": "whether the item could be of this class: yes, unsure or no"}

    def prompt(self, framing: Framing) -> str:
        if framing is Framing.OTHERS:
            return "Imagine that 100 people look at this. Which options would some of them find possible?"
        return "Which options are possible?"

    def stimuli(self, items: Sequence[Item], study: Study) -> list[Stimulus]:
        return plain_stimuli(items)

    def parse(self, raw: Any, stimulus: Stimulus, study: Study) -> payloads.Plausible:
        answer = for_every_class(raw, study, self.name)
        for name, mark in answer.items():
            if mark not in ("yes", "unsure", "no"):
                raise refused(show(mark), "yes, unsure or no", name)
        return answer

    def simulate(self, beliefs: Sequence[Belief], stimulus: Stimulus, study: Study, rng: Generator) -> dict[str, Any]:
        belief = [float(p) for p in beliefs[0]]
        most = max(belief)
        answer = {}
        for name, p in zip(study.class_names, belief, strict=True):
            relative = p / most * math.exp(rng.normal(0, 0.25))
            answer[name] = "yes" if p == most or relative >= YES else "unsure" if relative >= UNSURE else "no"
        return answer


def for_every_class(raw: Any, study: Study, kind: str) -> dict[str, Any]:
    """`raw` in the order of the study's classes; `InvalidAnswer` unless it has exactly these classes."""
    answer = converted(raw, dict[str, Any], kind)
    for name in answer:
        check_class(name, study, name)
    missing = [name for name in study.class_names if name not in answer]
    if missing:
        raise refused(f"nothing about {listing(missing)}", "an answer for every class", missing[0])
    return {name: answer[name] for name in study.class_names}
