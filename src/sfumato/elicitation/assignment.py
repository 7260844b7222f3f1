"""Which item next: those with the fewest answers first, at random among equals, never past an item's quota; or, with a
guide, the one whose next answer the guide finds worth most.

Pure bookkeeping in memory: nothing here knows of databases, clocks or people's names. An item's `taken` counts the
answers it has and those being given now.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

PROBES = 8
"""Random tries before a whole level is looked through for an item that a person has not seen."""


@dataclass(slots=True)
class ItemQuota:
    """An item's quota, what is taken of it, and where it stands in the list of its level."""

    quota: int
    taken: int
    place: int = -1


@dataclass(frozen=True, slots=True)
class NextTrial:
    """What to ask next: the item, which of the study's questions, and with what probability it was chosen, where that
    is known (`is_audit`: drawn at random, whatever it is worth)."""

    item: int
    question: int = 0
    probability: float | None = None
    is_audit: bool = False


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    """`n` equal answers about an item: which question they answer, and what was said."""

    item: int
    question: int
    payload: Any
    n: int = 1


class ItemSelector(Protocol):
    """Knows what was answered, and says what to ask next. All it knows follows from what it is told."""

    def begin(
        self, items: Iterable[tuple[int, int, int]], names: Mapping[int, str], heard: Iterable[AnswerEvent]
    ) -> None:
        """Start anew from (item, quota, taken) of every item, their ids, and every answer for a label."""

    def changed(self, item: int, quota: int, taken: int) -> None:
        """An item's quota, or the answers it has and those being given, are now these."""

    def heard(self, answer: AnswerEvent) -> None:
        """One more answer."""

    def choose(self, seen: Collection[int], rng: random.Random) -> NextTrial | None:
        """What to ask next, not about an item in `seen`; None if nothing is worth asking."""

    @property
    def room(self) -> int:
        """About how many answers could still be asked for."""


class QuotaTable:
    """Every item that can still take an answer, kept by how many it has taken, so that choosing one costs no search."""

    def __init__(self, items: Iterable[tuple[int, int, int]], guide: ItemSelector | None = None) -> None:
        """From (item, quota, taken) of every item; a guide has been told of them already."""
        self._guide = guide
        self._items: dict[int, ItemQuota] = {}
        self._levels: dict[int, list[int]] = {}
        self._room = 0
        for item, quota, taken in items:
            self._items[item] = ItemQuota(quota, taken)
            self._enter(item)

    def __contains__(self, item: int) -> bool:
        """Whether the item can take another answer."""
        opening = self._items.get(item)
        return opening is not None and opening.taken < opening.quota

    @property
    def room(self) -> int:
        """Answers that could still be asked for."""
        return self._room if self._guide is None else self._guide.room

    def taken(self, item: int) -> int:
        """Answers the item has, and those being given."""
        return self._items[item].taken

    def take(self, item: int) -> None:
        """One more answer is being given."""
        self._leave(item)
        self._items[item].taken += 1
        self._enter(item)
        self._tell(item)

    def give_back(self, item: int) -> None:
        """An answer that was being given will not come."""
        self._leave(item)
        self._items[item].taken -= 1
        self._enter(item)
        self._tell(item)

    def set_quota(self, item: int, quota: int) -> None:
        """Ask for more or fewer; what is taken stays taken. An item not known before begins with nothing taken."""
        if item in self._items:
            self._leave(item)
            self._items[item].quota = quota
        else:
            self._items[item] = ItemQuota(quota, 0)
        self._enter(item)
        self._tell(item)

    def choose(self, seen: Collection[int], rng: random.Random) -> NextTrial | None:
        """An item with room that is not in `seen`, as the guide has it or from those with the fewest answers; None if
        there is none."""
        if self._guide is not None:
            return self._guide.choose(seen, rng)
        item = self._fewest(seen, rng)
        return None if item is None else NextTrial(item)

    def _fewest(self, seen: Collection[int], rng: random.Random) -> int | None:
        for level in sorted(self._levels):
            items = self._levels[level]
            for _ in range(PROBES):
                item = items[int(rng.random() * len(items))]
                if item not in seen:
                    return item
            unseen = [item for item in items if item not in seen]
            if unseen:
                return unseen[int(rng.random() * len(unseen))]
        return None

    def with_room(self) -> Iterator[int]:
        """Every item that can take another answer."""
        for items in self._levels.values():
            yield from items

    def _tell(self, item: int) -> None:
        if self._guide is not None:
            self._guide.changed(item, self._items[item].quota, self._items[item].taken)

    def _enter(self, item: int) -> None:
        opening = self._items[item]
        if opening.taken < opening.quota:
            level = self._levels.setdefault(opening.taken, [])
            opening.place = len(level)
            level.append(item)
            self._room += opening.quota - opening.taken

    def _leave(self, item: int) -> None:
        opening = self._items[item]
        if opening.taken >= opening.quota:
            return
        level = self._levels[opening.taken]
        last = level.pop()
        if last != item:
            level[opening.place] = last
            self._items[last].place = opening.place
        if not level:
            del self._levels[opening.taken]
        self._room -= opening.quota - opening.taken
