"""Tokens: distribute N tokens over the classes, and say whether others are possible. The default kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.elicitation.kind import (
    Belief,
    check_class,
    check_flag,
    check_whole_number,
    converted,
    plain_stimuli,
    refused,
)
from sfumato.study.stimulus import Item, Stimulus
from sfumato.study.study import Framing, Study
from sfumato.tables import payloads

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True)
class TokensKind:
    """`tokens` tokens, all of them placed; ten are precise enough (91% of typed percentages are multiples of five).

    With `drag`, dragging from one class to the track of another splits the tokens of the two there.
    """

    tokens: int = 10
    drag: bool = False

    name: ClassVar[str] = "tokens"
    version: ClassVar[int] = 1
    payload: ClassVar[Any] = payloads.TokensPayload
    meanings: ClassVar[Mapping[str, str]] = {
        "tokens": "number of tokens per class; classes that are not listed have none",
        "others": "true if the annotator marked that classes without a token are possible too",
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
        """How many of 100 people a token means, if that is a whole number above one; otherwise 0."""
        people, rest = divmod(100, self.tokens)
        return {"n": people if not rest and people > 1 else 0}

    def stimuli(self, items: Sequence[Item], study: Study) -> list[Stimulus]:
        return plain_stimuli(items)

    def parse(self, raw: Any, stimulus: Stimulus, study: Study) -> payloads.TokensPayload:
        answer: payloads.TokensPayload = converted(raw, self.payload, self.name)
        for name in answer.tokens:
            check_class(name, study, "tokens")
        placed = sum(answer.tokens.values())
        if placed != self.tokens:
            raise refused(f"{placed:,} tokens placed", f"{self.tokens} tokens placed in all", "tokens")
        return answer

    def simulate(self, beliefs: Sequence[Belief], stimulus: Stimulus, study: Study, rng: Generator) -> dict[str, Any]:
        """The tokens nearest to the belief (largest remainders; ties at random).

        "Others" is marked with a probability that grows with the belief in classes without a token.
        """
        wanted = [p * self.tokens for p in beliefs[0]]
        # Slightly more than the share, so that 0.7 of ten gives seven and not six.
        placed = [int(share + 1e-9) for share in wanted]
        by_remainder = sorted(range(len(wanted)), key=lambda k: (placed[k] - wanted[k], rng.random()))
        for k in by_remainder[: self.tokens - sum(placed)]:
            placed[k] += 1
        left = sum(share for share, n in zip(wanted, placed, strict=True) if n == 0)
        tokens = {name: n for name, n in zip(study.class_names, placed, strict=True) if n}
        return {"tokens": tokens, "others": bool(rng.random() < left)}
