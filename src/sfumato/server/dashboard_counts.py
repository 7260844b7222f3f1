"""Counts of the dashboard: progress, histograms, annotators, arms and cost, as plain values ready for JSON.

Only new answers are read: answers are append-only and numbered in commit order. Does not need NumPy.
"""

from __future__ import annotations

import bisect
import math
import random
import statistics
from array import array
from collections import Counter, deque
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from sfumato.store import researcher_queries
from sfumato.study.study import Study

RATE_MINUTES = 15
TIMES_KEPT = 200_000
"""Times of answers kept for the histogram; if there are more, an even sample of this size."""
MOST_BARS = 24
STATES = ("working", "away", "finished", "withdrawn", "excluded")
AWAY_MS = 10 * 60_000
"""A participant without a request for this long counts as away."""

People = Sequence[sa.Row[Any]]
Quotas = Mapping[int, int]
NOBODY: frozenset[int] = frozenset()


@dataclass(slots=True)
class AnnotatorCounts:
    """Answers of one annotator without practice."""

    n_answers: int = 0
    n_labels: int = 0
    seconds: array[float] = field(default_factory=lambda: array("d"))


NO_ANSWERS = AnnotatorCounts()


class AnswerCounts:
    """Counts over the answers of one study; `read` brings them up to date. Times are in milliseconds."""

    def __init__(self, study: int) -> None:
        self._study = study
        self._last = 0
        self._n_times = 0
        self._rng = random.Random(0)
        self._arrived: deque[int] = deque()
        self.n_labels = 0
        self.labels_of_item: Counter[int] = Counter()
        self.annotators: dict[int, AnnotatorCounts] = {}
        self.seconds: list[float] = []
        """Times of answers that count as labels, sorted."""
        self.first_at: int | None = None
        """When the first label arrived."""

    @property
    def is_sample(self) -> bool:
        """Whether `seconds` is a sample of the answers."""
        return self._n_times > TIMES_KEPT

    def read(self, connection: sa.Connection) -> None:
        """Count the answers that have arrived since the last call."""
        for row in researcher_queries.answers_since(connection, self._study, self._last):
            self._last = row.id
            if row.purpose == "practice":
                continue
            annotator = self.annotators.setdefault(row.annotator, AnnotatorCounts())
            annotator.n_answers += 1
            annotator.seconds.append(row.seconds)
            if row.purpose == "label":
                annotator.n_labels += 1
                self._count_label(row.item, row.seconds, row.received_at)
        # Nearly sorted already, so this is fast.
        self.seconds.sort()

    def labels_per_hour(self, now: int) -> float:
        """Labels per hour over the last 15 minutes, or since the first label."""
        if self.first_at is None:
            return 0.0
        start = now - RATE_MINUTES * 60_000
        while self._arrived and self._arrived[0] <= start:
            self._arrived.popleft()
        minutes = min(RATE_MINUTES, max((now - self.first_at) / 60_000, 1.0))
        return 60 * len(self._arrived) / minutes

    def _count_label(self, item: int, seconds: float, received_at: int) -> None:
        self.n_labels += 1
        self.labels_of_item[item] += 1
        self._arrived.append(received_at)
        self.first_at = received_at if self.first_at is None else min(self.first_at, received_at)
        self._n_times += 1
        if self._n_times <= TIMES_KEPT:
            self.seconds.append(seconds)
        elif (place := self._rng.randrange(self._n_times)) < TIMES_KEPT:
            # Reservoir sampling (Vitter 1985): every answer has the same probability to be kept.
            self.seconds[place] = seconds


def progress(
    counts: AnswerCounts,
    quotas: Quotas,
    people: People,
    *,
    now: int,
    paused_at: int | None,
    n_arms: int = 1,
    done: Set[int] = NOBODY,
) -> dict[str, Any]:
    """Answers, items, people, answers per hour and time left at this speed. `quotas` are over all arms together; `done`
    are people with nothing left to answer, whose page did not tell them yet."""
    wanted = {item: quota for item, quota in quotas.items() if quota > 0}
    n_labels = counts.labels_of_item
    n_wanted = sum(wanted.values())
    counted = sum(min(n_labels[item], quota) for item, quota in wanted.items())
    rate = counts.labels_per_hour(now)
    states = [state_of(person, now, done) for person in people]
    return {
        "answers": counts.n_labels,
        "counted": counted,
        "wanted": n_wanted,
        "items": len(wanted),
        "items_done": sum(n_labels[item] >= quota for item, quota in wanted.items()),
        "answers_per_item": max(wanted.values(), default=0) // n_arms,
        "people": {"all": len(people)} | {state: states.count(state) for state in STATES},
        "pace": round(rate, 1),
        "left_seconds": round(3600 * (n_wanted - counted) / rate, -1) if rate and paused_at is None else None,
        "paused_at": paused_at,
    }


def answers_of_items(counts: AnswerCounts, quotas: Quotas) -> list[dict[str, int]]:
    """Histogram of answers per item: bars `first..last` with `n` items each."""
    numbers = [counts.labels_of_item[item] for item, quota in quotas.items() if quota > 0]
    most = max([*numbers, *(quota for quota in quotas.values() if quota <= MOST_BARS)], default=0)
    width = math.ceil((most + 1) / MOST_BARS)
    bars = [{"first": first, "last": first + width - 1, "n": 0} for first in range(0, most + 1, width)]
    for number in numbers:
        bars[number // width]["n"] += 1
    return bars if numbers else []


def times(counts: AnswerCounts) -> dict[str, Any]:
    """Time per answer: the median, and a histogram up to the 97.5% quantile."""
    seconds = counts.seconds
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
        "is_sample": counts.is_sample,
    }


def people_rows(counts: AnswerCounts, people: People, *, now: int, done: Set[int] = NOBODY) -> list[dict[str, Any]]:
    """One row per annotator, identified by pseudonym only."""
    return [
        {
            "name": person.pseudonym,
            "answers": counts.annotators.get(person.id, NO_ANSWERS).n_answers,
            "seconds": _median(counts.annotators.get(person.id, NO_ANSWERS).seconds),
            "arm": person.arm,
            "seen_at": person.seen_at,
            "state": state_of(person, now, done),
        }
        for person in people
    ]


def arms(study: Study, counts: AnswerCounts, people: People) -> list[dict[str, Any]]:
    """People, answers and median time per arm."""
    rows = []
    for number, arm in enumerate(study.arms):
        members = [each.id for each in people if each.arm == number]
        found = [counts.annotators[each] for each in members if each in counts.annotators]
        rows.append(
            {
                "name": arm.name,
                "kind": arm.question.kind,
                "people": len(members),
                "answers": sum(each.n_labels for each in found),
                "median_seconds": _median([second for each in found for second in each.seconds]),
            }
        )
    return rows


def state_of(person: sa.Row[Any], now: int, done: Set[int] = NOBODY) -> str:
    """One of `STATES`."""
    if person.excluded_at is not None:
        return "excluded"
    if person.withdrawn_at is not None:
        return "withdrawn"
    if person.finished_at is not None or person.id in done:
        return "finished"
    return "working" if now - (person.seen_at or person.created_at) < AWAY_MS else "away"


def cost(
    study: Study, counts: AnswerCounts, quotas: Quotas, people: People, *, now: int, done: Set[int] = NOBODY
) -> dict[str, Any] | None:
    """Cost so far and in total, in paid batches; None if the study file has no [pay].

    People who finished have earned each batch they began; active people are counted as if they finish theirs. People
    who left or are away count in proportion to their answers. The total adds the answers that are not yet given by
    people who finished or left, in whole batches.
    """
    if study.pay is None:
        return None
    wanted = [quota for quota in quotas.values() if quota > 0]
    finished = pending = left = 0.0
    n_given = 0
    for person in people:
        n_labels = counts.annotators.get(person.id, NO_ANSWERS).n_labels
        is_finished = person.finished_at is not None or state_of(person, now, done) == "finished"
        is_working = not is_finished and state_of(person, now) == "working"
        counts_as_finished = is_working or is_finished
        batches = study.people.paid_batches(n_labels, finished=counts_as_finished, n_items=len(wanted))
        if is_working:
            pending += batches
            continue
        n_given += n_labels
        if is_finished:
            finished += batches
        else:
            left += batches
    remaining = study.people.paid_batches(max(sum(wanted) - n_given, 0), finished=True, n_items=len(wanted))
    fee = study.fee
    price = study.pay.amount * (1 + fee)
    return {
        "currency": study.pay.currency,
        "fee": fee,
        "so_far": round(price * finished, 2),
        "under_way": round(price * pending, 2),
        "left": round(price * left, 2),
        "to_the_end": round(price * (finished + left + max(remaining, pending)), 2),
    }


def _median(seconds: Sequence[float]) -> float | None:
    return round(statistics.median(seconds), 2) if seconds else None


def _round_width(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is at least `least`."""
    if least <= 0.01:
        return 0.01
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least - 1e-12)
