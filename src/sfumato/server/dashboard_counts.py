"""Tally: what the researcher's page counts, kept up by reading only the answers that are new.

Answers are append-only and numbered in the order of their commits, so what was counted once is never read again.

Figures of the researcher's page that need no more than counting: how far, how fast, who, and what it costs.

Plain values, ready to be sent; NumPy is not needed for them, so a machine that only serves has them, too.
"""

from __future__ import annotations

import bisect
import math
import random
import statistics
from array import array
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from sfumato.store import researcher_queries
from sfumato.study.study import Study

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


MOST_BARS = 24
STATES = ("working", "away", "finished", "withdrawn", "excluded")
AWAY_MS = 10 * 60_000
"""Who has not been seen for so long is not at work now."""


def progress(
    tally: AnswerCounts,
    quotas: Mapping[int, int],
    people: Sequence[sa.Row[Any]],
    *,
    now: int,
    paused_at: int | None,
    n_arms: int = 1,
) -> dict[str, Any]:
    """How far the study is, how fast it goes, and when it will be done if it goes on like this.

    `quotas` are over all arms together.
    """
    asked = {item: quota for item, quota in quotas.items() if quota > 0}
    n_of = tally.labels_of_item
    wanted = sum(asked.values())
    counted = sum(min(n_of[item], quota) for item, quota in asked.items())
    pace = tally.pace(now)
    states = [state_of(person, now) for person in people]
    return {
        "answers": tally.n_labels,
        "counted": counted,
        "wanted": wanted,
        "items": len(asked),
        "items_done": sum(n_of[item] >= quota for item, quota in asked.items()),
        "answers_per_item": max(asked.values(), default=0) // n_arms,
        "people": {"all": len(people)} | {state: states.count(state) for state in STATES},
        "pace": round(pace, 1),
        "left_seconds": round(3600 * (wanted - counted) / pace, -1) if pace and paused_at is None else None,
        "paused_at": paused_at,
    }


def answers_of_items(tally: AnswerCounts, quotas: Mapping[int, int]) -> list[dict[str, int]]:
    """How many of the items asked about have so many answers: bars `first..last`, `n` items each."""
    numbers = [tally.labels_of_item[item] for item, quota in quotas.items() if quota > 0]
    most = max([*numbers, *(quota for quota in quotas.values() if quota <= MOST_BARS)], default=0)
    width = math.ceil((most + 1) / MOST_BARS)
    bars = [{"first": first, "last": first + width - 1, "n": 0} for first in range(0, most + 1, width)]
    for number in numbers:
        bars[number // width]["n"] += 1
    return bars if numbers else []


def times(tally: AnswerCounts) -> dict[str, Any]:
    """How long answers take: the median, and bars of one round width up to where nearly all lie."""
    seconds = tally.seconds
    if not seconds:
        return {"n": 0, "median": None, "bars": [], "is_sample": False}
    width = _round_width(seconds[min(len(seconds) - 1, math.ceil(0.975 * len(seconds)) - 1)] / (MOST_BARS - 4))
    n_bars = min(math.floor(seconds[-1] / width) + 1, MOST_BARS)
    edges = [bisect.bisect_left(seconds, width * number) for number in range(n_bars)] + [len(seconds)]
    return {
        "n": len(seconds),
        "median": round(statistics.median(seconds), 2),
        "bars": [
            {
                "from": round(width * number, 6),
                "to": None if number == MOST_BARS - 1 else round(width * (number + 1), 6),
                "n": edges[number + 1] - edges[number],
            }
            for number in range(n_bars)
        ],
        "is_sample": tally.is_sample,
    }


def people_rows(tally: AnswerCounts, people: Sequence[sa.Row[Any]], *, now: int) -> list[dict[str, Any]]:
    """One row an annotator, by pseudonym alone."""
    rows = []
    for person in people:
        given = tally.given.get(person.id)
        median = given.median_seconds if given else None
        rows.append(
            {
                "name": person.pseudonym,
                "answers": given.n_answers if given else 0,
                "seconds": None if median is None else round(median, 2),
                "arm": person.arm,
                "seen_at": person.seen_at,
                "state": state_of(person, now),
            }
        )
    return rows


def arms(study: Study, tally: AnswerCounts, people: Sequence[sa.Row[Any]]) -> list[dict[str, Any]]:
    """The arms of a study that compares forms, in order: who was asked with each, what they gave, and how fast."""
    rows = []
    for number, arm in enumerate(study.arms):
        mine = [tally.given[each.id] for each in people if each.arm == number and each.id in tally.given]
        seconds = [second for given in mine for second in given.seconds]
        rows.append(
            {
                "name": arm.name,
                "kind": arm.question.kind,
                "people": sum(each.arm == number for each in people),
                "answers": sum(given.n_labels for given in mine),
                "median_seconds": round(statistics.median(seconds), 2) if seconds else None,
            }
        )
    return rows


def state_of(person: sa.Row[Any], now: int) -> str:
    """One of `STATES`."""
    if person.excluded_at is not None:
        return "excluded"
    if person.withdrawn_at is not None:
        return "withdrawn"
    if person.finished_at is not None:
        return "finished"
    return "working" if now - (person.seen_at or person.created_at) < AWAY_MS else "away"


def cost(
    study: Study, tally: AnswerCounts, quotas: Mapping[int, int], people: Sequence[sa.Row[Any]], *, now: int
) -> dict[str, Any] | None:
    """What the study costs so far and will cost, in batches paid; None where the study file names no pay.

    Who has finished has earned each batch they began; who is at it will have earned those they have begun. Who left, or
    has been away for long, has earned the part that they answered, if you pay it. To the end: every answer that nobody
    gave who finished or left is still to be paid for, in whole batches.
    """
    if study.pay is None:
        return None
    asked = [quota for quota in quotas.values() if quota > 0]
    size = max(min(study.people.batch_size, len(asked)), 1)
    finished = under_way = n_there = 0
    left = 0.0
    for person in people:
        n_labels = given.n_labels if (given := tally.given.get(person.id)) else 0
        if person.finished_at is None and state_of(person, now) == "working":
            under_way += math.ceil(n_labels / size)
            continue
        n_there += n_labels
        if person.finished_at is not None:
            finished += math.ceil(n_labels / size)
        else:
            left += n_labels / size
    still = math.ceil(max(sum(asked) - n_there, 0) / size)
    fee = _fee(study)
    whole = study.pay.amount * (1 + fee)
    return {
        "currency": study.pay.currency,
        "fee": fee,
        "so_far": round(whole * finished, 2),
        "under_way": round(whole * under_way, 2),
        "left": round(whole * left, 2),
        "to_the_end": round(whole * (finished + left + max(still, under_way)), 2),
    }


def _fee(study: Study) -> float:
    """The platform's share on top of what people get, where the study file names it; 0 where it does not."""
    named = study.recruiting.settings.get("fee", 0.0) if study.recruiting else 0.0
    return float(named) if isinstance(named, (int, float)) and not isinstance(named, bool) else 0.0


def _round_width(least: float) -> float:
    """The next of 1, 2, 5 times a power of ten, from `least` up."""
    if least <= 0.01:
        return 0.01
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least - 1e-12)
