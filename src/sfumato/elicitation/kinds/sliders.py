"""Sliders: how well each class fits, 0 to 1 (CIFAR-10DS)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.elicitation.kind import Belief, check_whole_number, nearest_on_scale, on_scale, plain_stimuli, refused
from sfumato.elicitation.kinds.plausible import for_every_class
from sfumato.study.stimulus import Item, Stimulus
from sfumato.study.study import Framing, Study
from sfumato.tables import payloads
from sfumato.tables.errors import BadSetting, show

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True)
class SlidersKind:
    """How well does each class fit, from 0 to 1 in steps of `step` percent (CIFAR-10DS; Sucholutsky et al. 2023).

    There is no fixed total, so that several classes can fit well, or none. Sliders have no start position, because
    that would bias answers toward it.
    """

    step: int = 5

    name: ClassVar[str] = "sliders"
    version: ClassVar[int] = 1
    payload: ClassVar[Any] = payloads.Sliders
    meanings: ClassVar[Mapping[str, str]] = {
        "each class": "how well this class fits the item, from 0 (not at all) to 1 (perfectly)"
    }

    def __post_init__(self) -> None:
        check_whole_number("step", self.step, 1, 50)
        if 100 % self.step:
            found = f"step = {self.step}"
            raise BadSetting(found, "a divisor of 100, so that the scale ends at 100 %", "choose 1, 2, 5 or 10")

    @property
    def n_steps(self) -> int:
        """Number of steps of a slider."""
        return 100 // self.step

    def prompt(self, framing: Framing) -> str:
        if framing is Framing.OTHERS:
            return "Imagine that 100 people look at this. How well would each option fit in their opinion?"
        return "How well does each option fit?"

    def stimuli(self, items: Sequence[Item], study: Study) -> list[Stimulus]:
        return plain_stimuli(items)

    def parse(self, raw: Any, stimulus: Stimulus, study: Study) -> payloads.Sliders:
        answer = for_every_class(raw, study, self.name)
        return {name: self._share(value, name) for name, value in answer.items()}

    def simulate(self, beliefs: Sequence[Belief], stimulus: Stimulus, study: Study, rng: Generator) -> dict[str, Any]:
        belief = [float(p) for p in beliefs[0]]
        most = max(belief)
        # Very improbable classes stay at 0; the others get some noise.
        return {
            name: nearest_on_scale(p / most + rng.normal(0, 0.05), self.n_steps) if p >= 0.02 * most else 0.0
            for name, p in zip(study.class_names, belief, strict=True)
        }

    def _share(self, value: Any, name: str) -> float:
        if type(value) in (int, float) and on_scale(value, self.n_steps):
            return float(value)
        raise refused(show(value), f"a share from 0 to 1 in steps of {self.step / 100:g}", name)
