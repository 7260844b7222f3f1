"""Similarity: how alike two items are, 0 to 6."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec

from sfumato.elicitation.kind import check_whole_number, converted, nearest_on_scale
from sfumato.study.stimulus import Item, Stimulus
from sfumato.study.study import Framing, Study
from sfumato.tables import payloads
from sfumato.tables.errors import BadSetting, show

if TYPE_CHECKING:
    import numpy as np

HIGHEST = 6
MOST_PAIRS = 2_000
"""Pairs asked about where nobody says how many."""


class SimilarityInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the form sends: the other item is the question's, not the answer's."""

    rating: Annotated[int, msgspec.Meta(ge=0, le=HIGHEST)]


@dataclass(frozen=True)
class SimilarityKind:
    """How similar are these two? Seven buttons from 0 to 6.

    The pairs are those of the column `other` of the items' CSV. Without one they are drawn: at most `pairs` of them
    (all there are up to 2,000, if not set), every item about equally often, the same ones for the same study.
    """

    pairs: int | None = None

    name: ClassVar[str] = "similarity"
    version: ClassVar[int] = 1
    payload: ClassVar[Any] = payloads.SimilarityPayload
    meanings: ClassVar[Mapping[str, str]] = {
        "other": "the item shown beside this one",
        "rating": "how alike the two are, from 0 (nothing alike) to 6 (nearly the same)",
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
            raise BadSetting(
                f"found {len(items)} items",
                expected="at least 2, to compare",
                fix="add items, or choose another kind",
                code="too-few-items",
            )
        rng = random.Random(study.name)
        ids = rng.sample([item.id for item in items], len(items))
        return [Stimulus(ids[one], (ids[other],)) for one, other in self._drawn(len(ids), rng)]

    def parse(self, raw: Any, stimulus: Stimulus, study: Study) -> payloads.SimilarityPayload:  # noqa: ARG002
        sent = converted(raw, SimilarityInput, self.name)
        return payloads.SimilarityPayload(other=stimulus.others[0], rating=sent.rating)

    def simulate(
        self,
        beliefs: Sequence[Sequence[float]],
        stimulus: Stimulus,  # noqa: ARG002
        study: Study,  # noqa: ARG002
        rng: np.random.Generator,
    ) -> dict[str, Any]:
        alike = 1 - total_variation(beliefs[0], beliefs[1])
        return {"rating": round(HIGHEST * nearest_on_scale(alike + rng.normal(0, 0.08), HIGHEST))}

    def _drawn(self, n: int, rng: random.Random) -> list[tuple[int, int]]:
        """Pairs of positions: the items stand in a ring, and each round pairs everyone with whom stands so far on.

        A round shows every item once on the left and once on the right, and no two rounds have a pair in common.
        """
        wanted = min(self.pairs or MOST_PAIRS, n * (n - 1) // 2)
        drawn: list[tuple[int, int]] = []
        for distance in rng.sample(range(1, n // 2 + 1), n // 2):
            if len(drawn) >= wanted:
                break
            # Half way round, every pair would come twice.
            n_pairs = n // 2 if 2 * distance == n else n
            drawn += [(one, (one + distance) % n) for one in range(n_pairs)]
        return drawn[:wanted]


def companions(items: Sequence[Item], columns: tuple[str, ...]) -> list[Stimulus]:
    """A stimulus for each item that names others in `columns` (those with none there are only shown with others)."""
    known = {item.id for item in items}
    stimuli = []
    for item in items:
        others = tuple(item.columns.get(column, "") for column in columns)
        if not any(others):
            continue
        for column, other in zip(columns, others, strict=True):
            if other not in known or other == item.id or others.count(other) > 1:
                raise BadSetting(
                    f"found {column} = {show(other)} for the item {show(item.id)}",
                    expected="the id of an item of this study, another one in each column",
                    fix=f"correct the column {column}, or add that item",
                    code="bad-companion",
                )
        stimuli.append(Stimulus(item.id, others))
    return stimuli


def total_variation(one: Sequence[float], other: Sequence[float]) -> float:
    """Half the sum of the differences of two distributions: 0 for equal ones, 1 for disjoint ones."""
    return sum(abs(float(p) - float(q)) for p, q in zip(one, other, strict=True)) / 2
