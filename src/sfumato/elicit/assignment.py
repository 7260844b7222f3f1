"""Which item next: those with the fewest answers first, at random among equals, never past an item's quota.

Pure bookkeeping in memory: nothing here knows of databases, clocks or people's names. An item's `taken` counts the
answers it has and those being given now.
"""

from __future__ import annotations

import random
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

PROBES = 8
"""Random tries before a whole level is looked through for an item that a person has not seen."""


@dataclass(slots=True)
class Opening:
    """An item's quota, what is taken of it, and where it stands in the list of its level."""

    quota: int
    taken: int
    place: int = -1


class Openings:
    """Every item that can still take an answer, kept by how many it has taken, so that choosing one costs no search."""

    def __init__(self, items: Iterable[tuple[int, int, int]]) -> None:
        """From (item, quota, taken) of every item."""
        self._items: dict[int, Opening] = {}
        self._levels: dict[int, list[int]] = {}
        self.room = 0
        for item, quota, taken in items:
            self._items[item] = Opening(quota, taken)
            self._enter(item)

    def __contains__(self, item: int) -> bool:
        """Whether the item can take another answer."""
        opening = self._items.get(item)
        return opening is not None and opening.taken < opening.quota

    def taken(self, item: int) -> int:
        """Answers the item has, and those being given."""
        return self._items[item].taken

    def take(self, item: int) -> None:
        """One more answer is being given."""
        self._leave(item)
        self._items[item].taken += 1
        self._enter(item)

    def give_back(self, item: int) -> None:
        """An answer that was being given will not come."""
        self._leave(item)
        self._items[item].taken -= 1
        self._enter(item)

    def set_quota(self, item: int, quota: int) -> None:
        """Ask for more or fewer; what is taken stays taken. An item not known before begins with nothing taken."""
        if item in self._items:
            self._leave(item)
            self._items[item].quota = quota
        else:
            self._items[item] = Opening(quota, 0)
        self._enter(item)

    def choose(self, seen: Container[int], rng: random.Random) -> int | None:
        """An item with room that is not in `seen`, from those with the fewest answers; None if there is none."""
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

    def _enter(self, item: int) -> None:
        opening = self._items[item]
        if opening.taken < opening.quota:
            level = self._levels.setdefault(opening.taken, [])
            opening.place = len(level)
            level.append(item)
            self.room += opening.quota - opening.taken

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
        self.room -= opening.quota - opening.taken
