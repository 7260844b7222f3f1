"""The order of a participant's trials: practice first, then items with checks and repeats in between."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from sfumato.elicitation.assignment import NextTrial
from sfumato.elicitation.participant import Participant
from sfumato.study.study import People

CACHED_SEEDS = 10_000
"""Participants whose check positions are cached; they follow from the seed."""


@dataclass(frozen=True, eq=False)
class TrialSequence:
    """The rules of the order, which are the same for all participants; items are given by their ids in the store.

    `practice` has the question for each practice item, in order; `checks` the number of answers before each check
    (None: a position per participant, drawn from their seed), of which each participant gets `checks_per_person` (None:
    all), drawn from their seed too. `n_items` is the number of items to label; where it is below the batch size,
    batches are shorter.
    """

    people: People
    practice: Mapping[int, int] = field(default_factory=dict)
    checks: Mapping[int, int | None] = field(default_factory=dict)
    n_items: int | None = None
    checks_per_person: int | None = None

    @property
    def special_items(self) -> set[int]:
        """Items that are used only for practice or checks."""
        return {*self.practice, *self.checks}

    @property
    def n_wanted(self) -> int:
        """Answers wanted per participant, without practice."""
        return self._n_between + self._n_checks

    @property
    def _n_checks(self) -> int:
        return len(self.checks) if self.checks_per_person is None else min(self.checks_per_person, len(self.checks))

    @property
    def _n_labels(self) -> int:
        wanted = self.people.batches * self.people.batch_size
        return wanted if self.n_items is None else min(wanted, self.n_items)

    @property
    def _batch_size(self) -> int:
        return max(min(self.people.batch_size, self._n_labels), 1)

    @property
    def _n_repeats(self) -> int:
        """Repeats per batch; a shorter batch has as many as fit."""
        wanted, room = self.people.repeats, self._batch_size - self.people.repeat_distance
        return wanted if self._batch_size == self.people.batch_size else max(min(wanted, room), 0)

    @property
    def _n_between(self) -> int:
        """Answers per participant that checks are placed between: items and repeats."""
        return self._n_labels + self._repeats_after(self._n_labels)

    def next_purpose(self, participant: Participant) -> str | None:
        """The purpose of a participant's next trial; None when they have done all."""
        if not participant.seen.issuperset(self.practice):
            return "practice"
        if self.practice and any(trial.purpose == "practice" for trial in participant.open.values()):
            # Nothing that counts before practice is over: nobody practices after, or instead of, the real thing.
            return None
        n_labels = participant.n_begun("label")
        if self.next_check(participant) is not None:
            return "check"
        if participant.n_begun("repeat") < self._repeats_after(n_labels):
            return "repeat"
        return "label" if n_labels < self.people.batch_size * self.people.batches else None

    def next_check(self, participant: Participant) -> int | None:
        """The check that is due now, if there is one."""
        if not self.checks:
            return None
        n_begun = sum(participant.n_begun(purpose) for purpose in ("label", "repeat", "check"))
        checks = tuple(self.checks.items())
        for position, item in _check_positions(checks, self._n_checks, self._n_between, participant.seed):
            if position > n_begun:
                return None
            if item not in participant.seen:
                return item
        return None

    def next_repeat(self, participant: Participant, rng: random.Random) -> NextTrial | None:
        """An item to show again: the one at the set distance or, where none is set, one of the older half of the latest
        batch."""
        people, size = self.people, self._batch_size
        n_labels = participant.n_begun("label")
        start = max(n_labels // size - 1, 0) * size
        if people.repeat_distance:
            at = max(n_labels - people.repeat_distance, 0)
            fresh = [item for item in reversed(participant.labels[: at + 1]) if item not in participant.repeated][:1]
        else:
            fresh = [item for item in participant.labels[start:] if item not in participant.repeated]
            fresh = fresh[: max(people.repeats, len(fresh) // 2)]
        if not fresh:
            return None
        item = rng.choice(fresh)
        return NextTrial(item, participant.deeper.get(item, 0))

    def _repeats_after(self, n_labels: int) -> int:
        """How many repeats come before the label after `n_labels`."""
        people, size, repeats = self.people, self._batch_size, self._n_repeats
        n_batches, within = divmod(n_labels, size)
        if not repeats or not people.repeat_distance:
            return repeats * n_batches
        # Spread over the rest of the batch: the first comes as soon as an item is far enough back.
        room = max(size - people.repeat_distance, 0)
        positions = [people.repeat_distance + (r * room) // repeats for r in range(repeats)]
        return repeats * n_batches + sum(min(position, size) <= within for position in positions)


@lru_cache(CACHED_SEEDS)
def _check_positions(
    checks: tuple[tuple[int, int | None], ...], n_checks: int, n_between: int, seed: int
) -> tuple[tuple[int, int], ...]:
    """The number of answers before each check of a participant, in order."""
    rng = random.Random(f"checks {seed}")
    if n_checks < len(checks):
        checks = tuple(rng.sample(checks, n_checks))
    # Never the very first trial nor after the last: a position between two other answers, shifted by one for each
    # check that comes before it.
    drawn = sorted((rng.randrange(1, max(n_between, 2)), item) for item, at in checks if at is None)
    positions = [(position + n_before, item) for n_before, (position, item) in enumerate(drawn)]
    return tuple(sorted(positions + [(at, item) for item, at in checks if at is not None]))
