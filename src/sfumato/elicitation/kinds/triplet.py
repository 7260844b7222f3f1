"""Triplet: is an item closer to a or to b?"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec

from sfumato.elicitation.kind import Belief, check_whole_number, converted
from sfumato.elicitation.kinds.similarity import companions, total_variation
from sfumato.study.stimulus import Item, Stimulus
from sfumato.study.study import Framing, Study
from sfumato.tables import payloads
from sfumato.tables.errors import BadSetting

if TYPE_CHECKING:
    from numpy.random import Generator


class TripletInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the form sends; a and b are those of the question, on whichever side they were shown."""

    closer: Literal["a", "b"]


@dataclass(frozen=True)
class TripletKind:
    """Which of two is closer to the item? Easier to judge than a rating, and independent of how people use a scale.

    The two are those of the columns `a` and `b` of the items' CSV. Without these at most `triplets` are drawn, every
    item about equally often in each place, and always the same for the same study.
    """

    triplets: int = 1_000

    name: ClassVar[str] = "triplet"
    version: ClassVar[int] = 1
    payload: ClassVar[Any] = payloads.TripletPayload
    meanings: ClassVar[Mapping[str, str]] = {
        "a": "one of the two items shown below this one",
        "b": "the other of the two; which of them was on the left is in the record of the trial",
        "closer": "which of the two is more like this item: a or b",
    }

    def __post_init__(self) -> None:
        check_whole_number("triplets", self.triplets, 1, 1_000_000)

    def prompt(self, framing: Framing) -> str:
        if framing is Framing.OTHERS:
            return (
                "Imagine that 100 people compare these. "
                "Which of the two below would most of them find more similar to the one above?"
            )
        return "Which of the two below is more similar to the one above?"

    def stimuli(self, items: Sequence[Item], study: Study) -> list[Stimulus]:
        if any(item.columns.get("a") or item.columns.get("b") for item in items):
            return companions(items, ("a", "b"))
        n = len(items)
        if n < 3:
            expected = "at least 3, one to compare with two others"
            raise BadSetting(f"{n} items", expected, "add items, or choose another kind", "too-few-items")
        rng = random.Random(study.name)
        ids = rng.sample([item.id for item in items], n)
        return [Stimulus(ids[x], (ids[a], ids[b])) for x, a, b in self._drawn(n, rng)]

    def parse(self, raw: Any, stimulus: Stimulus, study: Study) -> payloads.TripletPayload:
        sent = converted(raw, TripletInput, self.name)
        a, b = stimulus.others
        return payloads.TripletPayload(a=a, b=b, closer=sent.closer)

    def simulate(self, beliefs: Sequence[Belief], stimulus: Stimulus, study: Study, rng: Generator) -> dict[str, Any]:
        x, a, b = beliefs
        # Near ties are random: a difference of 0.1 is noticed with probability 0.88.
        lead = (total_variation(x, b) - total_variation(x, a)) / 0.05
        return {"closer": "a" if rng.random() < 1 / (1 + math.exp(-lead)) else "b"}

    def _drawn(self, n: int, rng: random.Random) -> list[tuple[int, int, int]]:
        """Triplets of positions: in a ring of items, each round combines every item with two at fixed distances.

        A round shows every item once in each place, and no triplet is in two rounds.
        """
        n_rounds = math.comb(n - 1, 2)
        drawn: list[tuple[int, int, int]] = []
        for number in rng.sample(range(n_rounds), min(n_rounds, math.ceil(self.triplets / n))):
            distances = list(_numbered_pair(number))
            rng.shuffle(distances)
            drawn += [(x, (x + distances[0]) % n, (x + distances[1]) % n) for x in range(n)]
        return drawn[: self.triplets]


def _numbered_pair(number: int) -> tuple[int, int]:
    """The pair with index `number` in (1, 2), (1, 3), (2, 3), (1, 4), (2, 4), ..."""
    larger = (1 + math.isqrt(8 * number + 1)) // 2
    return number - math.comb(larger, 2) + 1, larger + 1
