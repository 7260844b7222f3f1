"""Which item comes next: one with the fewest answers, at random among equals, never beyond an item's quota; or the
choice of an `ItemSelector`.

Bookkeeping in memory only, without databases or clocks. An item's `taken` counts its answers and the trials that are
being answered now.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

PROBES = 8
"""Random tries before a whole level is searched for an item that a participant has not seen."""


@dataclass(slots=True)
class ItemQuota:
    """An item's quota, how much of it is taken, and the item's position in the list of its level."""

    quota: int
    taken: int
    position: int = -1


@dataclass(frozen=True, slots=True)
class NextTrial:
    """The next item, which of the study's questions, and the probability of the choice, where that is known.

    An audit is a vote about a random item, finished or not, that does not decide what is asked later."""

    item: int
    question: int = 0
    probability: float | None = None
    is_audit: bool = False


@dataclass(frozen=True, slots=True)
class AnswerEvent:
    """`n` equal answers about an item."""

    item: int
    question: int
    payload: Any
    n: int = 1
    is_audit: bool = False


class ItemSelector(Protocol):
    """Chooses the next item from the answers so far."""

    def begin(
        self,
        items: Iterable[tuple[int, int, int]],
        names: Mapping[int, str],
        answers: Iterable[AnswerEvent],
        secret: str = "",
    ) -> None:
        """Start again from (item, quota, taken) of every item, their names, and every answer for a label. What is
        drawn once for the study follows from its `secret` (hexadecimal)."""

    def set_item(self, item: int, quota: int, taken: int) -> None:
        """Update an item's quota and how much of it is taken."""

    def add_answer(self, answer: AnswerEvent) -> None:
        """Add one answer. One with `n = 0` counts for no item (a check or a repeat), and must take as long."""

    def choose(self, seen: Collection[int], rng: random.Random) -> NextTrial | None:
        """The next item, not one in `seen`; None if nothing is worth asking."""

    @property
    def room(self) -> int:
        """About how many more answers could be collected."""


class QuotaTable:
    """Items by how many answers they have taken, so that choosing one needs no search."""

    def __init__(self, items: Iterable[tuple[int, int, int]], selector: ItemSelector | None = None) -> None:
        """From (item, quota, taken) of every item; a selector already has them."""
        self._selector = selector
        self._items: dict[int, ItemQuota] = {}
        self._levels: dict[int, list[int]] = {}
        self._room = 0
        for item, quota, taken in items:
            self._items[item] = ItemQuota(quota, taken)
            self._enter(item)

    def __contains__(self, item: int) -> bool:
        """Whether the item can take another answer."""
        entry = self._items.get(item)
        return entry is not None and entry.taken < entry.quota

    @property
    def room(self) -> int:
        """How many more answers could be collected."""
        return self._room if self._selector is None else self._selector.room

    def taken(self, item: int) -> int:
        """Answers of the item, and trials being answered."""
        return self._items[item].taken

    def take(self, item: int) -> None:
        """Count a trial that is being answered."""
        self._leave(item)
        self._items[item].taken += 1
        self._enter(item)
        self._update_selector(item)

    def release(self, item: int) -> None:
        """Uncount a trial that will not be answered."""
        self._leave(item)
        self._items[item].taken -= 1
        self._enter(item)
        self._update_selector(item)

    def set_quota(self, item: int, quota: int) -> None:
        """Change an item's quota; `taken` stays. A new item starts with nothing taken."""
        if item in self._items:
            self._leave(item)
            self._items[item].quota = quota
        else:
            self._items[item] = ItemQuota(quota, 0)
        self._enter(item)
        self._update_selector(item)

    def choose(self, seen: Collection[int], rng: random.Random) -> NextTrial | None:
        """An item with room that is not in `seen`, by the selector or from those with the fewest answers."""
        if self._selector is not None:
            return self._selector.choose(seen, rng)
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

    def _update_selector(self, item: int) -> None:
        if self._selector is not None:
            self._selector.set_item(item, self._items[item].quota, self._items[item].taken)

    def _enter(self, item: int) -> None:
        entry = self._items[item]
        if entry.taken < entry.quota:
            level = self._levels.setdefault(entry.taken, [])
            entry.position = len(level)
            level.append(item)
            self._room += entry.quota - entry.taken

    def _leave(self, item: int) -> None:
        entry = self._items[item]
        if entry.taken >= entry.quota:
            return
        level = self._levels[entry.taken]
        last = level.pop()
        if last != item:
            level[entry.position] = last
            self._items[last].position = entry.position
        if not level:
            del self._levels[entry.taken]
        self._room -= entry.quota - entry.taken
