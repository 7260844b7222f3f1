"""Course: what a person is led through beside the items themselves. Practice first, checks and repeats in between."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from sfumato.elicitation.assignment import NextTrial
from sfumato.elicitation.participant import Participant
from sfumato.study.study import People

PLACES_KEPT = 10_000
"""People whose places of checks are kept at hand; they follow from the seed."""


@dataclass(frozen=True, eq=False)
class TrialSequence:
    """The plan everybody follows, by the ids of items.

    `practice` gives the question asked about each practice item, in the order they come; `checks` after how many
    answers each check is shown (None: at a place of its own for everybody, drawn by the person's seed). `n_items` is
    how many there are to label; where they are fewer than a batch, batches are shorter.
    """

    people: People
    practice: Mapping[int, int] = field(default_factory=dict)
    checks: Mapping[int, int | None] = field(default_factory=dict)
    n_items: int | None = None

    @property
    def n_wanted(self) -> int:
        """Answers wanted of a person, practice not counted."""
        return self._n_between + len(self.checks)

    @property
    def _n_labels(self) -> int:
        wanted = self.people.batches * self.people.batch_size
        return wanted if self.n_items is None else min(wanted, self.n_items)

    @property
    def _batch_size(self) -> int:
        return max(min(self.people.batch_size, self._n_labels), 1)

    @property
    def _n_repeats(self) -> int:
        """Repeats of a batch: as many as have room in one that is shorter."""
        wanted, room = self.people.repeats, self._batch_size - self.people.repeat_distance
        return wanted if self._batch_size == self.people.batch_size else max(min(wanted, room), 0)

    @property
    def _n_between(self) -> int:
        """A person's answers that checks lie between: items and repeats."""
        return self._n_labels + self._repeats_after(self._n_labels)

    def due(self, person: Participant) -> str | None:
        """The purpose of a person's next trial: practice first; then items, with a check or a repeat where its place
        is; None when they are through."""
        if not person.seen.issuperset(self.practice):
            return "practice"
        n_labels = person.begun("label")
        if self.check_due(person) is not None:
            return "check"
        if person.begun("repeat") < self._repeats_after(n_labels):
            return "repeat"
        return "label" if n_labels < self.people.batch_size * self.people.batches else None

    def check_due(self, person: Participant) -> int | None:
        """The check whose place has come, if there is one."""
        if not self.checks:
            return None
        n_begun = sum(person.begun(purpose) for purpose in ("label", "repeat", "check"))
        for place, item in self._places(person.seed):
            if place > n_begun:
                return None
            if item not in person.seen:
                return item
        return None

    def to_repeat(self, person: Participant, rng: random.Random) -> NextTrial | None:
        """An item to show again: the one that lies the set distance back, or, where none is set, one of the older half
        of the latest batch."""
        people, size = self.people, self._batch_size
        n_labels = person.begun("label")
        start = max(n_labels // size - 1, 0) * size
        if people.repeat_distance:
            at = max(n_labels - people.repeat_distance, 0)
            fresh = [item for item in reversed(person.labels[: at + 1]) if item not in person.repeated][:1]
        else:
            fresh = [item for item in person.labels[start:] if item not in person.repeated]
            fresh = fresh[: max(people.repeats, len(fresh) // 2)]
        if not fresh:
            return None
        item = rng.choice(fresh)
        return NextTrial(item, person.deeper.get(item, 0))

    def _repeats_after(self, n_labels: int) -> int:
        """How many repeats have their place before the label after `n_labels`."""
        people, size, repeats = self.people, self._batch_size, self._n_repeats
        n_batches, within = divmod(n_labels, size)
        if not repeats or not people.repeat_distance:
            return repeats * n_batches
        # Spread over what follows the distance: the first comes as soon as an item lies far enough back.
        room = max(size - people.repeat_distance, 0)
        places = [people.repeat_distance + (r * room) // repeats for r in range(repeats)]
        return repeats * n_batches + sum(min(place, size) <= within for place in places)

    def _places(self, seed: int) -> tuple[tuple[int, int], ...]:
        """Every check after how many answers it comes, in order."""
        return _drawn(tuple(self.checks.items()), self._n_between, seed)


@lru_cache(PLACES_KEPT)
def _drawn(checks: tuple[tuple[int, int | None], ...], n_between: int, seed: int) -> tuple[tuple[int, int], ...]:
    rng = random.Random(f"checks {seed}")
    # Never the very first, which nobody has got used to, nor after the last: a place between two of the other answers,
    # and on from there by one for each check that comes before it.
    drawn = sorted((rng.randrange(1, max(n_between, 2)), item) for item, at in checks if at is None)
    places = [(place + n_before, item) for n_before, (place, item) in enumerate(drawn)]
    return tuple(sorted(places + [(at, item) for item, at in checks if at is not None]))
