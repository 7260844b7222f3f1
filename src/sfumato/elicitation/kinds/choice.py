"""Choice: one class, as in CIFAR-10H; the choices of many annotators form the soft label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.elicitation.kind import Belief, check_class, check_flag, converted, plain_stimuli
from sfumato.study.stimulus import Item, Stimulus
from sfumato.study.study import Framing, Study
from sfumato.tables import payloads

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True)
class ChoiceKind:
    """One class. With `submit_at_once` a class key or a click submits the answer, which cannot be undone."""

    submit_at_once: bool = False

    name: ClassVar[str] = "choice"
    version: ClassVar[int] = 1
    payload: ClassVar[Any] = payloads.ChoicePayload
    meanings: ClassVar[Mapping[str, str]] = {"class": "the class chosen"}

    def __post_init__(self) -> None:
        check_flag(self.name, "submit_at_once", self.submit_at_once)

    def prompt(self, framing: Framing) -> str:
        if framing is Framing.OTHERS:
            return "Imagine that 100 people are asked what this is. Which option would most of them choose?"
        return "Which option is most likely?"

    def stimuli(self, items: Sequence[Item], study: Study) -> list[Stimulus]:
        return plain_stimuli(items)

    def parse(self, raw: Any, stimulus: Stimulus, study: Study) -> payloads.ChoicePayload:
        answer: payloads.ChoicePayload = converted(raw, self.payload, self.name)
        check_class(answer.chosen, study, "class")
        return answer

    def simulate(self, beliefs: Sequence[Belief], stimulus: Stimulus, study: Study, rng: Generator) -> dict[str, Any]:
        """The most probable class; ties at random."""
        belief = beliefs[0]
        highest = max(belief)
        best = [name for name, p in zip(study.class_names, belief, strict=True) if p == highest]
        return {"class": best[int(rng.integers(len(best)))]}
