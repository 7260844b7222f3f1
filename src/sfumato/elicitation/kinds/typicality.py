"""Typicality: how typical an item is of its given class, 0 to 1 (CIFAR-10T)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from sfumato.elicitation.kind import Belief, check_whole_number, converted, nearest_on_scale, on_scale, refused
from sfumato.study.stimulus import Item, Stimulus
from sfumato.study.study import Framing, Study
from sfumato.tables import payloads
from sfumato.tables.errors import BadSetting, listing, show

if TYPE_CHECKING:
    from numpy.random import Generator


class TypicalityInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the form sends; the class is part of the question."""

    typicality: payloads.Share


@dataclass(frozen=True)
class TypicalityKind:
    """How typical is it of its given class? A row of `steps` buttons from 0 to 1 (CIFAR-10T).

    The cheapest question; it measures how uncertain an item is, but not between which classes.
    """

    steps: int = 11

    name: ClassVar[str] = "typicality"
    version: ClassVar[int] = 1
    payload: ClassVar[Any] = payloads.TypicalityPayload
    meanings: ClassVar[Mapping[str, str]] = {
        "class": "the class named in the question",
        "typicality": "how typical the item is of that class, from 0 (not at all) to 1 (perfectly)",
    }

    def __post_init__(self) -> None:
        # Ten digit keys and one more; more buttons would have no keys and no room on a phone.
        check_whole_number("steps", self.steps, 2, 11)

    def prompt(self, framing: Framing) -> str:
        if framing is Framing.OTHERS:
            return "Imagine that 100 people look at this. How typical would they find this example?"
        return "How typical is this example?"

    def stimuli(self, items: Sequence[Item], study: Study) -> list[Stimulus]:
        without = [item.id for item in items if item.given is None]
        if without:
            found = f"no class for {len(without):,} of {len(items):,} items: {listing(without, 3)}"
            expected = "the class of every item, since typicality asks how typical an item is of it"
            fix = "put each image into a folder named as its class, or add a column class to the CSV"
            raise BadSetting(found, expected, fix, "items-without-class")
        for item in items:
            if item.given not in study.class_names:
                found = f"the item {show(item.id)} of the class {show(item.given)}"
                expected = f"one of the study's classes: {listing(study.class_names)}"
                fix = "rename the folder or the entry of the column class, or add the class to the study"
                raise BadSetting(found, expected, fix, "items-of-unknown-class")
        return [Stimulus(item.id, context={"class": item.given}) for item in items]

    def parse(self, raw: Any, stimulus: Stimulus, study: Study) -> payloads.TypicalityPayload:
        sent = converted(raw, TypicalityInput, self.name)
        if not on_scale(sent.typicality, self.steps - 1):
            raise refused(f"{sent.typicality:g}", f"one of {self.steps} steps from 0 to 1", "typicality")
        return payloads.TypicalityPayload(given=stimulus.context["class"], typicality=sent.typicality)

    def simulate(self, beliefs: Sequence[Belief], stimulus: Stimulus, study: Study, rng: Generator) -> dict[str, Any]:
        belief = [float(p) for p in beliefs[0]]
        of_class = belief[study.class_names.index(stimulus.context["class"])] / max(belief)
        return {"typicality": nearest_on_scale(of_class + rng.normal(0, 0.07), self.steps - 1)}
