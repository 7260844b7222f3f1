"""Similarity: how similar two items are, 0 to 6."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec

from sfumato.elicitation.kind import Belief, check_whole_number, converted, nearest_on_scale
from sfumato.study.stimulus import Item, Stimulus
from sfumato.study.study import Framing, Study
from sfumato.tables import payloads
from sfumato.tables.errors import BadSetting, show

if TYPE_CHECKING:
    from numpy.random import Generator

HIGHEST = 6
MOST_PAIRS = 2_000
"""Default number of pairs."""


class SimilarityInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the form sends; the other item is part of the question."""

    rating: Annotated[int, msgspec.Meta(ge=0, le=HIGHEST)]


@dataclass(frozen=True)
class SimilarityKind:
    """How similar are these two? Seven buttons from 0 to 6.

    The pairs are those of the column `other` of the items' CSV. Without it at most `pairs` are drawn (if not set, all
    up to 2,000), every item about equally often, and always the same for the same study.
    """

    pairs: int | None = None

    name: ClassVar[str] = "similarity"
    version: ClassVar[int] = 1
    payload: ClassVar[Any] = payloads.SimilarityPayload
    meanings: ClassVar[Mapping[str, str]] = {
        "other": "the item shown next to this one",
        "rating": "how similar the two are, from 0 (not at all) to 6 (nearly the same)",
    }

    def __post_init__(self) -> None:
        if self.pairs is not None:
            check_whole_number("pairs", self.pairs, 1, 1_000_000)

    def prompt(self, framing: Framing) -> str:
        if framing is Framing.OTHERS:
            return "Imagine that 100 people compare these two. How similar would they find them?"
        return "How similar are these two?"

    def stimuli(self, items: Sequence[Item], study: Study) -> list[Stimulus]:
        if any(item.columns.get("other") for item in items):
            return companions(items, ("other",))
        if len(items) < 2:
            found = f"{len(items)} items"
            raise BadSetting(found, "at least 2, to compare", "add items, or choose another kind", "too-few-items")
        rng = random.Random(study.name)
        ids = rng.sample([item.id for item in items], len(items))
        return [Stimulus(ids[one], (ids[other],)) for one, other in self._drawn(len(ids), rng)]

    def parse(self, raw: Any, stimulus: Stimulus, study: Study) -> payloads.SimilarityPayload:
        sent = converted(raw, SimilarityInput, self.name)
        return payloads.SimilarityPayload(other=stimulus.others[0], rating=sent.rating)

    def simulate(self, beliefs: Sequence[Belief], stimulus: Stimulus, study: Study, rng: Generator) -> dict[str, Any]:
        similarity = 1 - total_variation(beliefs[0], beliefs[1])
        return {"rating": round(HIGHEST * nearest_on_scale(similarity + rng.normal(0, 0.08), HIGHEST))}

    def _drawn(self, n: int, rng: random.Random) -> list[tuple[int, int]]:
        """Pairs of positions: with the items in a ring, each round pairs every item with the one at a fixed distance.

        A round shows every item once on the left and once on the right, and no pair is in two rounds.
        """
        wanted = min(self.pairs or MOST_PAIRS, n * (n - 1) // 2)
        drawn: list[tuple[int, int]] = []
        for distance in rng.sample(range(1, n // 2 + 1), n // 2):
            if len(drawn) >= wanted:
                break
            # At half the ring every pair would come twice.
            n_pairs = n // 2 if 2 * distance == n else n
            drawn += [(one, (one + distance) % n) for one in range(n_pairs)]
        return drawn[:wanted]


def companions(items: Sequence[Item], columns: tuple[str, ...]) -> list[Stimulus]:
    """A stimulus for each item with companions in `columns`; items without are only shown with others."""
    known = {item.id for item in items}
    stimuli = []
    for item in items:
        others = tuple(item.columns.get(column, "") for column in columns)
        if not any(others):
            continue
        for column, other in zip(columns, others, strict=True):
            if other not in known or other == item.id or others.count(other) > 1:
                found = f"{column} = {show(other)} for the item {show(item.id)}"
                expected = "the id of another item of this study, different in each column"
                raise BadSetting(found, expected, f"correct the column {column}, or add that item", "bad-companion")
        stimuli.append(Stimulus(item.id, others))
    return stimuli


def total_variation(one: Sequence[float], other: Sequence[float]) -> float:
    """Half the sum of the differences of two distributions: 0 for equal ones, 1 for disjoint ones."""
    return sum(abs(float(p) - float(q)) for p, q in zip(one, other, strict=True)) / 2
