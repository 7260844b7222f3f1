"""Leases: who holds which item, until when, and what of each item's quota is still to be had.

Times are seconds on a clock that never jumps. Only trials for a label take from a quota and can lapse; practice and
repeats wait for their person.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Collection, Iterable, Iterator

from sfumato.elicit.assignment import Guide, Openings, Pick
from sfumato.elicit.person import Trial


class Leases:
    """Every item's openings, and every trial that is being answered now."""

    def __init__(self, items: Iterable[tuple[int, int, int]] = (), guide: Guide | None = None) -> None:
        """From (item, quota, taken) of every item; `taken` counts trials that are then `restore`d."""
        self._openings = Openings(items, guide)
        self._held: dict[int, Trial] = {}
        self._due: list[tuple[float, int]] = []

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self._held.values())

    @property
    def room(self) -> int:
        """Answers that could still be asked for."""
        return self._openings.room

    def get(self, number: int) -> Trial | None:
        """The trial with this id, if it is held."""
        return self._held.get(number)

    def has_room(self, trial: Trial) -> bool:
        """Whether the trial could be held again."""
        return trial.purpose != "label" or trial.item in self._openings

    def choose(self, seen: Collection[int], rng: random.Random) -> Pick | None:
        """What to ask next."""
        return self._openings.choose(seen, rng)

    def set_quota(self, item: int, quota: int) -> None:
        self._openings.set_quota(item, quota)

    def hold(self, trial: Trial) -> None:
        """The trial is being answered."""
        if trial.purpose == "label":
            self._openings.take(trial.item)
            self.restore(trial)

    def restore(self, trial: Trial) -> None:
        """The trial was held before, and is counted as taken already."""
        self._held[trial.id] = trial
        heapq.heappush(self._due, (trial.expires, trial.id))

    def answered(self, trial: Trial) -> None:
        """The trial's answer has come; what it took stays taken."""
        self._held.pop(trial.id, None)

    def give_back(self, trial: Trial) -> None:
        """The trial will not be answered now; its item may go to somebody else."""
        if self._held.pop(trial.id, None) is not None:
            self._openings.give_back(trial.item)

    def overdue(self, now: float) -> Iterator[Trial]:
        """Trials held too long; a renewed lease is put back in line."""
        while self._due and self._due[0][0] <= now:
            _, number = heapq.heappop(self._due)
            trial = self._held.get(number)
            if trial is None:
                continue
            if trial.expires > now:
                heapq.heappush(self._due, (trial.expires, number))
            else:
                yield trial
