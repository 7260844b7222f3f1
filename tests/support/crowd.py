"""Simulated clients that keep answering during faults, and record what they sent and the replies."""

from __future__ import annotations

import asyncio
import hashlib
import random
import time
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import msgspec
from study_server import write_texts_study

from sfumato.elicitation.participant_link import hash_of
from sfumato.server.browser_client import BrowserClient, NoReply, Refused, State

STORED = (200, 201)
LONGEST_WAIT_SECONDS = 0.15


@dataclass(slots=True, eq=False)
class SentAnswer:
    """An answer as a client sent it, and all replies. `ids` are the ids in the acknowledgments."""

    token_hash: str
    key: str
    trial: str
    tokens: dict[str, int]
    body: bytes
    statuses: list[int] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.body).hexdigest()

    @property
    def acknowledged(self) -> bool:
        return any(status in STORED for status in self.statuses)


async def short_sleep(seconds: float, longest: float = LONGEST_WAIT_SECONDS) -> None:
    """A shortened pause, so that a restarted server gets its load at once."""
    await asyncio.sleep(min(seconds, longest))


def new_answer(token: str, trial: str, rng: random.Random) -> SentAnswer:
    """A random answer to a trial of three classes asked by ten tokens."""
    cats = rng.randrange(11)
    dogs = rng.randrange(11 - cats)
    placed = {"cat": cats, "dog": dogs, "ship": 10 - cats - dogs}
    tokens = {name: n for name, n in placed.items() if n}
    key = str(UUID(int=rng.getrandbits(128), version=4))
    record = {"elapsed_ms": rng.randrange(500, 9000), "pointer": "mouse", "order": list(placed)}
    content = {"key": key, "trial": trial, "answer": {"tokens": tokens, "others": False}, "record": record}
    return SentAnswer(hash_of(token), key, trial, tokens, msgspec.json.encode(content))


def write_crowd_study(folder: Path, n_answers: int = 30_000) -> Path:
    """A study that needs at least `n_answers` answers."""
    n_items = max(n_answers // 8, 1)
    return write_texts_study(folder, n_items, answers_per_item=8, batch_size=min(n_items, 10_000))


class Crowd:
    """`n_clients` simulated people. Each answer is sent `copies` times at once, and each copy is repeated until the
    server replies.

    A client waits at most `patience` seconds per answer; a client that fails starts again as a new person.
    """

    def __init__(self, url: str, n_clients: int, seed: int, *, copies: int = 1, patience: float = 60.0) -> None:
        self.sent: list[SentAnswer] = []
        self.n_acknowledged = 0
        self.n_failed_clients = 0
        """Clients that were rejected or timed out."""
        self._url, self._copies, self._patience = url, copies, patience
        self._visitors: list[BrowserClient] = []
        self._rngs = [random.Random(f"{seed}/{client}") for client in range(n_clients)]
        self._stopping = False

    @property
    def n_retries(self) -> int:
        return sum(visitor.n_retries for visitor in self._visitors)

    async def run(self) -> None:
        """Answer until `stop` is called, then complete what is in progress."""
        await asyncio.gather(*(self._client(rng) for rng in self._rngs))

    def stop(self) -> None:
        self._stopping = True

    async def wait_for_answers(self, seconds: float, n: int = 1) -> float:
        """Wait until `n` more answers are acknowledged, each within `seconds`; returns the seconds it took."""
        goal, begun = self.n_acknowledged + n, time.monotonic()
        n_heard, heard_at = self.n_acknowledged, begun
        while self.n_acknowledged < goal:
            if self.n_acknowledged > n_heard:
                n_heard, heard_at = self.n_acknowledged, time.monotonic()
            if time.monotonic() - heard_at > seconds:
                raise TimeoutError(f"no answer was acknowledged for {seconds:g} s")
            await asyncio.sleep(0.005)
        return time.monotonic() - begun

    async def _pause(self, seconds: float) -> None:
        # Copies together retry no more often than single senders, so that the server has time to start.
        await short_sleep(seconds, LONGEST_WAIT_SECONDS * self._copies)

    async def _client(self, rng: random.Random) -> None:
        has_items = True
        while has_items and not self._stopping:
            async with BrowserClient(self._url, deadline=self._patience, sleep=self._pause) as visitor:
                self._visitors.append(visitor)
                try:
                    has_items = await self._person(visitor, rng)
                except (NoReply, Refused):
                    self.n_failed_clients += 1

    async def _person(self, visitor: BrowserClient, rng: random.Random) -> bool:
        """Take part as a new person; returns whether there were items to answer."""
        token = await visitor.join()
        state = await visitor.step("instructions")
        has_items = state["stage"] == "trials"
        while not self._stopping and state["stage"] == "trials":
            answer = new_answer(token, state["trials"][0]["trial"], rng)
            self.sent.append(answer)
            state = await self._send(visitor, answer)
        return has_items

    async def _send(self, visitor: BrowserClient, answer: SentAnswer) -> State:
        copies = [visitor.submit_body(answer.body) for _ in range(self._copies)]
        state: State | None = None
        for copy in asyncio.as_completed(copies):
            reply = await copy
            self.n_acknowledged += reply.status in STORED and not answer.acknowledged
            answer.statuses.append(reply.status)
            if reply.status in STORED:
                answer.ids.add(reply.body["answer"])
            state = reply.body.get("state") or state
        return state or await visitor.state()
