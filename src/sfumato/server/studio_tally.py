"""Tally: what the researcher's page counts, kept up by reading only the answers that are new.

Answers are append-only and numbered in the order of their commits, so what was counted once is never read again.
"""

from __future__ import annotations

import random
import statistics
from array import array
from collections import Counter, deque
from dataclasses import dataclass, field

import sqlalchemy as sa

from sfumato.store import researcher_queries

PACE_MINUTES = 15
TIMES_KEPT = 200_000
"""Times of answers kept for the histogram; of more, an even sample of so many."""


@dataclass(slots=True)
class AnnotatorCounts:
    """What one annotator has given so far, practice left out."""

    n_answers: int = 0
    n_labels: int = 0
    seconds: array[float] = field(default_factory=lambda: array("d"))

    @property
    def median_seconds(self) -> float | None:
        return statistics.median(self.seconds) if self.seconds else None


class AnswerCounts:
    """Counts over the answers of one study; `read` brings it up to date. Times are in milliseconds."""

    def __init__(self, study: int) -> None:
        self._study = study
        self._last = 0
        self._n_times = 0
        self._rng = random.Random(0)
        self._arrived: deque[int] = deque()
        self.n_labels = 0
        self.labels_of_item: Counter[int] = Counter()
        self.given: dict[int, AnnotatorCounts] = {}
        self.seconds: list[float] = []
        """Times of answers for a label, in order of length."""
        self.first_at: int | None = None
        """When the first answer for a label arrived."""

    @property
    def is_sample(self) -> bool:
        """Whether `seconds` are of a sample of the answers."""
        return self._n_times > TIMES_KEPT

    def read(self, connection: sa.Connection) -> None:
        """Count what has come since."""
        for row in researcher_queries.answers_since(connection, self._study, self._last):
            self._last = row.id
            if row.purpose == "practice":
                continue
            person = self.given.setdefault(row.annotator, AnnotatorCounts())
            person.n_answers += 1
            person.seconds.append(row.seconds)
            if row.purpose == "label":
                person.n_labels += 1
                self._count(row.item, row.seconds, row.received_at)
        # Nearly in order already, so this is quick however many there are.
        self.seconds.sort()

    def pace(self, now: int) -> float:
        """Answers for a label an hour, over the last quarter of an hour, or since the first if that is less ago."""
        if self.first_at is None:
            return 0.0
        begins = now - PACE_MINUTES * 60_000
        while self._arrived and self._arrived[0] <= begins:
            self._arrived.popleft()
        minutes = min(PACE_MINUTES, max((now - self.first_at) / 60_000, 1.0))
        return 60 * len(self._arrived) / minutes

    def _count(self, item: int, seconds: float, received_at: int) -> None:
        self.n_labels += 1
        self.labels_of_item[item] += 1
        self._arrived.append(received_at)
        self.first_at = received_at if self.first_at is None else min(self.first_at, received_at)
        self._n_times += 1
        if self._n_times <= TIMES_KEPT:
            self.seconds.append(seconds)
        elif (place := self._rng.randrange(self._n_times)) < TIMES_KEPT:
            # A reservoir (Vitter 1985): every answer so far is in it with the same chance.
            self.seconds[place] = seconds
