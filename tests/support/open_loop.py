"""Open-loop load: simulated people who answer on a schedule, even if the last reply is late."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from crowd import SentAnswer, new_answer

from sfumato.server.browser_client import BrowserClient, State
from sfumato.server.client_connection import Reply

JOINING_AT_ONCE = 64


@dataclass
class Waits:
    """The scheduled time of each answer, and the seconds until it was acknowledged."""

    due: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def ms(self, percent: float, first: float = 0.0, last: float = 1.0) -> float:
        """A percentile of the latency in milliseconds, for all answers or a part of the time."""
        due, seconds = np.array(self.due), np.array(self.seconds)
        begun, taken = due.min(), np.ptp(due)
        chosen = seconds[(due >= begun + first * taken) & (due <= begun + last * taken)]
        return float(1000 * np.percentile(chosen, percent))

    def __add__(self, other: Waits) -> Waits:
        return Waits(self.due + other.due, self.seconds + other.seconds)


@dataclass
class Replies:
    """Counts of replies by status (0: none) and whether they had Retry-After, and their latencies."""

    counts: Counter[tuple[int, bool]] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    @property
    def n_refused(self) -> int:
        """Replies 429 and 503 with Retry-After."""
        return sum(
            n for (status, has_retry_after), n in self.counts.items() if status in (429, 503) and has_retry_after
        )

    @property
    def n_errors(self) -> int:
        """All other replies except acknowledgments."""
        return sum(self.counts.values()) - self.counts[201, False] - self.counts[200, False] - self.n_refused


class Listener(BrowserClient):
    """A client that records every reply."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.replies = Replies()

    async def _attempt(self, request: bytes, ends_at: float | None) -> Reply:
        begun = time.perf_counter()
        try:
            reply = await super()._attempt(request, ends_at)
        except OSError:
            self.replies.counts[0, False] += 1
            raise
        self.replies.counts[reply.status, reply.retry_after is not None] += 1
        self.replies.seconds.append(time.perf_counter() - begun)
        return reply


class People:
    """Simulated annotators at their first trials, who answer on a schedule.

    `replies` are the replies to their answers. With `keeps`, `sent` keeps the answers to compare them with the store.
    """

    def __init__(self, url: str, seed: int = 1, keeps: bool = True) -> None:
        self.sent: list[SentAnswer] = []
        self.n_acknowledged = 0
        self.replies = Replies()
        self._url, self._rng, self._keeps = url, random.Random(seed), keeps
        self._people: list[tuple[Listener, State]] = []
        self._leave_after: dict[int, int] = {}

    async def join(self, n: int) -> None:
        """Let `n` more people join."""
        gate = asyncio.Semaphore(JOINING_AT_ONCE)

        async def one() -> None:
            async with gate:
                self._people.append(await self._join_one())

        await asyncio.gather(*(one() for _ in range(n)))

    def will_leave(self, within: int) -> None:
        """Let each person leave after a random number of answers below `within`, so that they do not all finish and
        get replaced at the same time."""
        self._leave_after = {number: self._rng.randrange(within) for number in range(len(self._people))}

    async def _join_one(self) -> tuple[Listener, State]:
        visitor = Listener(self._url)
        await visitor.join()
        state = await visitor.step("instructions")
        visitor.replies = self.replies
        return visitor, state

    async def answer(self, per_second: float, seconds: float) -> Waits:
        """Send answers at a constant rate for `seconds`, from each person in turn. Returns when all are acknowledged.

        A late reply delays the person's next answer, and this delay counts. New people replace those who have finished.
        """
        waits, begun = Waits(), time.perf_counter() + 0.1
        every = len(self._people) / per_second

        async def answers(number: int) -> None:
            due = begun + number / per_second
            while due < begun + seconds and (late := time.perf_counter() - begun) < seconds:
                if due - begun > late:
                    await asyncio.sleep(due - begun - late)
                await self._submit(number)
                waits.due.append(due)
                waits.seconds.append(time.perf_counter() - due)
                due += every

        await asyncio.gather(*map(answers, range(len(self._people))))
        return waits

    async def _submit(self, number: int) -> None:
        visitor, state = self._people[number]
        left = self._leave_after.get(number, 1)
        if state["stage"] != "trials" or left == 0:
            self._leave_after.pop(number, None)
            visitor.close()
            visitor, state = await self._join_one()
        answer = new_answer(visitor.token or "", state["trials"][0]["trial"], self._rng)
        reply = await visitor.submit_body(answer.body)
        assert reply.status in (200, 201), reply.content
        answer.statuses.append(reply.status)
        answer.ids.add(reply.body["answer"])
        self.n_acknowledged += 1
        if self._keeps:
            self.sent.append(answer)
        self._people[number] = visitor, reply.body["state"]
        if number in self._leave_after:
            self._leave_after[number] -= 1

    def leave(self) -> None:
        for visitor, _ in self._people:
            visitor.close()
