"""Leases: who holds which item, until when, and what of each item's quota is still to be had.

Times are seconds on a clock that never jumps. Only trials for a label take from a quota and can lapse; practice and
repeats wait for their person.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from sfumato.elicitation.assignment import ItemSelector, NextTrial, QuotaTable
from sfumato.elicitation.participant import Trial

MOST_OVER = 1_000
"""How many ends of leases may be in line beyond twice those of trials that are held."""


class LeaseTable:
    """Every item's openings, and every trial that is being answered now. Where forms are compared each arm has openings
    of its own."""

    def __init__(self, *arms: Iterable[tuple[int, int, int]], guide: ItemSelector | None = None) -> None:
        """From (item, quota, taken) of every item, arm by arm; `taken` counts trials that are then `restore`d."""
        self._arms = [QuotaTable(items, guide) for items in arms] or [QuotaTable((), guide)]
        self._held: dict[int, Trial] = {}
        self._due: list[tuple[float, int]] = []
        """When leases end, as a heap. Trials that were answered stay in it until it is made anew."""

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self._held.values())

    def room(self, arm: int = 0) -> int:
        """Answers that could still be asked for, in an arm."""
        return self._arms[arm].room

    def of_arm(self, arm: int = 0) -> list[Trial]:
        """The trials that are being answered now, in an arm."""
        return [trial for trial in self._held.values() if len(self._arms) == 1 or trial.question == arm]

    def get(self, number: int) -> Trial | None:
        """The trial with this id, if it is held."""
        return self._held.get(number)

    def has_room(self, trial: Trial) -> bool:
        """Whether the trial could be held again."""
        return trial.purpose != "label" or trial.item in self._of(trial)

    def choose(self, seen: Collection[int], rng: random.Random, arm: int = 0) -> NextTrial | None:
        """What to ask next, in an arm."""
        pick = self._arms[arm].choose(seen, rng)
        return replace(pick, question=arm) if pick is not None and arm else pick

    def set_quota(self, item: int, quota: int) -> None:
        for openings in self._arms:
            openings.set_quota(item, quota)

    def _of(self, trial: Trial) -> QuotaTable:
        """The openings a trial takes from: those of its arm, whose form it asks with."""
        return self._arms[trial.question if len(self._arms) > 1 else 0]

    def hold(self, trial: Trial) -> None:
        """The trial is being answered."""
        if trial.purpose == "label":
            self._of(trial).take(trial.item)
            self.restore(trial)

    def restore(self, trial: Trial) -> None:
        """The trial was held before, and is counted as taken already."""
        self._held[trial.id] = trial
        heapq.heappush(self._due, (trial.expires, trial.id))
        if len(self._due) > 2 * len(self._held) + MOST_OVER:
            self._due = [(held.expires, held.id) for held in self]
            heapq.heapify(self._due)

    def answered(self, trial: Trial) -> None:
        """The trial's answer has come; what it took stays taken."""
        self._held.pop(trial.id, None)

    def give_back(self, trial: Trial) -> None:
        """The trial will not be answered now; its item may go to somebody else."""
        if self._held.pop(trial.id, None) is not None:
            self._of(trial).give_back(trial.item)

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
