"""Tokens: place N tokens over the classes, and say whether others are possible. The default kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.elicitation.kind import check_class, check_flag, check_whole_number, converted, plain_stimuli, refused
from sfumato.study.stimulus import Item, Stimulus
from sfumato.study.study import Framing, Study
from sfumato.tables import payloads

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class TokensKind:
    """`tokens` tokens, all of them placed; ten lose little (91% of typed percents are multiples of five).

    With `drag`, pressing on one class and letting go over the track of another splits what the two hold there.
    """

    tokens: int = 10
    drag: bool = False

    name: ClassVar[str] = "tokens"
    version: ClassVar[int] = 1
    payload: ClassVar[Any] = payloads.TokensPayload
    meanings: ClassVar[Mapping[str, str]] = {
        "tokens": "how many tokens lie on each class; classes that are not named have none",
        "others": "true when the person marked that classes without a token are possible too; false when unmarked",
    }

    def __post_init__(self) -> None:
        check_whole_number("tokens", self.tokens, 2, 100)
        check_flag(self.name, "drag", self.drag)

    def prompt(self, framing: Framing) -> str:
        if framing is Framing.OWN:
            return f"How likely is each option? Distribute the {self.tokens} points."
        people, rest = divmod(100, self.tokens)
        each = f" Each point means {people} of them." if not rest and people > 1 else ""
        return f"Imagine that 100 people are asked what this is. How many would choose each option?{each}"

    @property
    def in_prompt(self) -> Mapping[str, int]:
        """How many of 100 people a token stands for, where that is a whole number above one; 0 otherwise."""
        people, rest = divmod(100, self.tokens)
        return {"n": people if not rest and people > 1 else 0}

    def stimuli(self, items: Sequence[Item], study: Study) -> list[Stimulus]:  # noqa: ARG002
        return plain_stimuli(items)

    def parse(self, raw: Any, stimulus: Stimulus, study: Study) -> payloads.TokensPayload:  # noqa: ARG002
        answer: payloads.TokensPayload = converted(raw, self.payload, self.name)
        for name in answer.tokens:
            check_class(name, study, "tokens")
        placed = sum(answer.tokens.values())
        if placed != self.tokens:
            raise refused(f"{placed:,} tokens placed", f"{self.tokens} tokens placed in all", "tokens")
        return answer

    def simulate(
        self,
        beliefs: Sequence[Sequence[float]],
        stimulus: Stimulus,  # noqa: ARG002
        study: Study,
        rng: np.random.Generator,
    ) -> dict[str, Any]:
        """The tokens nearest to the belief (largest remainders; among equals, any).

        Others are marked the more readily the more belief lies on classes without a token: surely from one token up.
        """
        wanted = [p * self.tokens for p in beliefs[0]]
        # A whisker more than the share, so that .7 of ten is seven and not six and a remainder.
        placed = [int(share + 1e-9) for share in wanted]
        by_remainder = sorted(range(len(wanted)), key=lambda k: (placed[k] - wanted[k], rng.random()))
        for k in by_remainder[: self.tokens - sum(placed)]:
            placed[k] += 1
        left = sum(share for share, n in zip(wanted, placed, strict=True) if n == 0)
        tokens = {name: n for name, n in zip(study.class_names, placed, strict=True) if n}
        return {"tokens": tokens, "others": bool(rng.random() < left)}
