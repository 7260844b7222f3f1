"""Mixture: the share of each of two classes in a mixed image, and the confidence (human-in-the-loop mixup)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, cycle
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from sfumato.elicitation.kind import Belief, check_flag, check_whole_number, converted
from sfumato.study.stimulus import Item, Stimulus
from sfumato.study.study import Framing, Study
from sfumato.tables import payloads
from sfumato.tables.errors import BadSetting

if TYPE_CHECKING:
    from numpy.random import Generator


class MixtureInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the form sends; the two classes are part of the question."""

    share: payloads.Share
    confidence: payloads.Share


@dataclass(frozen=True)
class MixtureKind:
    """The share of the first of two named classes, and the confidence in it, both 0 to 1.

    Items with the columns `first` and `second` are images that are already mixed. Otherwise `pairs` images are mixed
    here, each from two items of different classes, with `shares` (of the first item) in turn. The pairs depend only on
    the name of the study, so that they stay the same after a restart. With `drag`, the split can be dragged.
    """

    pairs: int = 100
    shares: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9)
    drag: bool = False

    name: ClassVar[str] = "mixture"
    version: ClassVar[int] = 1
    payload: ClassVar[Any] = payloads.MixturePayload
    meanings: ClassVar[Mapping[str, str]] = {
        "classes": "the two classes named in the question, the one whose share was asked for first",
        "share": "the share of the first class in the image, 0 to 1",
        "confidence": "confidence in that share, 0 to 1",
    }

    def __post_init__(self) -> None:
        check_whole_number("pairs", self.pairs, 1, 1_000_000)
        check_flag(self.name, "drag", self.drag)
        numbers = isinstance(self.shares, (list, tuple)) and all(type(s) in (int, float) for s in self.shares)
        if not numbers or not self.shares or not all(0 <= s <= 1 for s in self.shares):
            raise BadSetting(f"shares = {self.shares!r}", "a list of shares from 0 to 1", "choose other shares")
        object.__setattr__(self, "shares", tuple(self.shares))

    def prompt(self, framing: Framing) -> str:
        if framing is Framing.OTHERS:
            return "Two things are mixed in this picture. Imagine 100 people: how much of each would they see?"
        return "Two things are mixed in this picture. How much of each do you see?"

    def stimuli(self, items: Sequence[Item], study: Study) -> list[Stimulus]:
        if items and all("first" in item.columns and "second" in item.columns for item in items):
            return [_premixed(item, study) for item in items]
        by_id = {item.id: _class_of(item, study) for item in items}
        of_class = Counter(by_id.values())
        n_possible = (len(by_id) ** 2 - sum(n * n for n in of_class.values())) // 2
        if n_possible < self.pairs:
            found = f"items for {n_possible:,} pairs of different classes"
            fix = "add items of other classes, or set fewer pairs" if n_possible else "add items of another class"
            raise BadSetting(found, f"enough for pairs = {self.pairs:,}", fix)
        drawn = _drawn_pairs(by_id, self.pairs, n_possible, random.Random(study.name))
        return [
            Stimulus(f"{a}+{b}@{share}", context={"classes": [by_id[a], by_id[b]], "mix": float(share), "of": [a, b]})
            for (a, b), share in zip(drawn, cycle(self.shares), strict=False)
        ]

    def parse(self, raw: Any, stimulus: Stimulus, study: Study) -> payloads.MixturePayload:
        sent = converted(raw, MixtureInput, self.name)
        first, second = stimulus.context["classes"]
        return payloads.MixturePayload(classes=(first, second), share=sent.share, confidence=sent.confidence)

    def simulate(self, beliefs: Sequence[Belief], stimulus: Stimulus, study: Study, rng: Generator) -> dict[str, Any]:
        """The share of the first of the two classes, with their total belief as confidence; in tenths."""
        first, second = (beliefs[0][study.class_names.index(name)] for name in stimulus.context["classes"])
        both = first + second
        share = first / both if both > 0 else stimulus.context.get("mix", 0.5)
        return {"share": round(10 * share) / 10, "confidence": round(10 * min(both, 1.0)) / 10}


def _premixed(item: Item, study: Study) -> Stimulus:
    pair = [item.columns["first"], item.columns["second"]]
    unknown = [name for name in pair if name not in study.class_names]
    if unknown or pair[0] == pair[1]:
        found = f"item {item.id!r} with first {pair[0]!r} and second {pair[1]!r}"
        raise BadSetting(found, "two different classes of the study", "correct the columns first and second")
    return Stimulus(item.id, context={"classes": pair})


def _class_of(item: Item, study: Study) -> str:
    if item.picture is None and item.row is None:
        found = f"item {item.id!r} without an image"
        raise BadSetting(found, "images, which can be mixed", "ask another kind of question")
    if item.given is None or item.given not in study.class_names:
        found = f"item {item.id!r} with the class {item.given!r}"
        expected = "a class of the study for every item, or the columns first and second"
        raise BadSetting(found, expected, "sort the images into one folder per class, or add a column class")
    return item.given


def _drawn_pairs(by_id: Mapping[str, str], n_pairs: int, n_possible: int, rng: random.Random) -> list[tuple[str, str]]:
    """`n_pairs` different pairs of items of different classes, each in random order."""
    ids = sorted(by_id)
    if 2 * n_pairs >= n_possible:
        every = [pair for pair in combinations(ids, 2) if by_id[pair[0]] != by_id[pair[1]]]
        return [(a, b) if rng.random() < 0.5 else (b, a) for a, b in rng.sample(every, n_pairs)]
    drawn: dict[frozenset[str], tuple[str, str]] = {}
    while len(drawn) < n_pairs:
        a, b = rng.choice(ids), rng.choice(ids)
        if by_id[a] != by_id[b]:
            drawn.setdefault(frozenset((a, b)), (a, b))
    return list(drawn.values())
