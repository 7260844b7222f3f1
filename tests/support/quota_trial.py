"""The quota trial: many people at once, some who leave, some with two tabs, some who doze off, and who got what."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa
from crowd import STORED, impatient, new_answer
from study_server import StudyServer, write_texts_study

from sfumato.elicitation.session import hash_of
from sfumato.server.browser_client import BrowserClient, State
from sfumato.store.database import reading_engine
from sfumato.store.location import StoreLocation

LEASE_SECONDS = 2.0
MEAN_THOUGHT_SECONDS = 0.15
POLL_SECONDS = 0.2
SPARE = 1.3
"""How much more those who stay could answer than is asked for: the last items need somebody who has not seen them."""

SEEN = sa.text("SELECT p.token_hash, t.item FROM trials t JOIN annotators p ON p.id = t.annotator")
COUNTS = sa.text(
    "SELECT i.id, i.quota, COUNT(a.id) AS n FROM items i"
    " LEFT JOIN answers a ON a.item = i.id AND a.purpose = 'label' GROUP BY i.id, i.quota"
)
PAIRS = sa.text("SELECT item, annotator, purpose FROM answers")
HELD = sa.text("SELECT DISTINCT p.token_hash FROM trials t JOIN annotators p ON p.id = t.annotator WHERE t.state = 0")


@dataclass(frozen=True)
class QuotaReport:
    """What a quota trial found: all 0, but for `answers`, `refused_late`, `already_answered` and the times."""

    answers: int
    over_quota: int
    """Answers beyond what their items ask for."""
    refused_after_valid_lease: int
    """Answers given to others though they came within the time the trial was held for."""
    same_annotator_twice: int
    starved: int
    """People sent home, or kept waiting to the end, though an item they had not seen had room."""
    not_at_quota: int
    """Items with more or fewer answers than asked for when everybody had gone."""
    unacknowledged: int
    """Answers acknowledged and not stored, or the other way round."""
    refused_late: int
    """Answers given to others after their time was up."""
    already_answered: int
    """Answers to a trial that the other tab had answered."""
    return_seconds: float
    """The longest that an item stayed with somebody who had left."""
    seconds: float

    @property
    def clean(self) -> bool:
        return not any(
            (
                self.over_quota,
                self.refused_after_valid_lease,
                self.same_annotator_twice,
                self.starved,
                self.not_at_quota,
                self.unacknowledged,
            )
        )

    def __str__(self) -> str:
        return (
            f"{self.answers:,} answers, {self.over_quota} over quota, "
            f"{self.refused_after_valid_lease} refused after a valid lease, "
            f"{self.same_annotator_twice} same annotator twice, {self.starved} starved, "
            f"{self.not_at_quota} items not at quota, {self.unacknowledged} unacknowledged "
            f"({self.refused_late} refused late, {self.already_answered} answered in the other tab), "
            f"return within {self.return_seconds:.2f} s"
        )


def write_quota_study(
    folder: Path, quota: int, *, n_people: int = 200, n_items: int = 500, assignment: str = "fewest"
) -> Path:
    """A study that `n_people`, less the tenth that leaves, can just bring to its end."""
    batch_size = math.ceil(SPARE * quota * n_items / (0.9 * n_people))
    return write_texts_study(
        folder,
        n_items,
        answers_per_item=quota,
        batch_size=batch_size,
        lease_minutes=LEASE_SECONDS / 60,
        assignment=assignment,
    )


def quota_trial(
    server: StudyServer, store: str, *, seed: int, n_people: int = 200, n_kills: int = 0, patience: float = 120.0
) -> QuotaReport:
    """Send `n_people` through the study of the running `server` at once: a tenth leave, a twentieth have two tabs open,
    and a twentieth doze off beyond their lease. The server is killed and started again `n_kills` times meanwhile."""
    begun = time.monotonic()
    trip = _Trip(server, store, seed, n_people, begun + patience)
    asyncio.run(trip.run(n_kills))
    server.kill()
    return trip.report(time.monotonic() - begun)


@dataclass(slots=True, eq=False)
class _Someone:
    """One person: what they mean to do, and what happened to them. Times are on the monotonic clock."""

    rng: random.Random
    leaves_after: int | None
    n_tabs: int
    dozes_at: int | None
    token: str = ""
    n_sent: int = 0
    has_done_all: bool = False
    """Whether they answered as much as one person is asked to."""
    gone_at: float | None = None
    given_at: dict[str, float] = field(default_factory=dict)
    """When each trial was first asked for: the server began to hold it no earlier."""
    held_at: dict[str, float] = field(default_factory=dict)
    """When they last turned to the server and heard that the trial is theirs."""

    @property
    def token_hash(self) -> str:
        return hash_of(self.token)


class _Trip:
    """One run of the trial."""

    def __init__(self, server: StudyServer, store: str, seed: int, n_people: int, ends_at: float) -> None:
        self._server, self._store, self._ends_at = server, store, ends_at
        self._people = [self._someone(i, n_people, seed) for i in range(n_people)]
        self._stored: list[str] = []
        self._refusals: Counter[str] = Counter()
        self._kept_until: dict[str, float] = {}
        self._at_work = True

    def _someone(self, i: int, n_people: int, seed: int) -> _Someone:
        rng = random.Random(f"{seed}/{i}")
        leaves = i < n_people // 10
        dozes = n_people // 10 <= i < n_people // 10 + n_people // 20
        n_tabs = 2 if n_people - n_people // 20 <= i else 1
        return _Someone(rng, rng.randrange(6) if leaves else None, n_tabs, rng.randrange(1, 5) if dozes else None)

    async def run(self, n_kills: int) -> None:
        async with asyncio.TaskGroup() as tasks:
            watch = tasks.create_task(self._watch())
            kills = tasks.create_task(self._kills(n_kills))
            await asyncio.gather(*(self._take_part(person) for person in self._people))
            self._at_work = False
            kills.cancel()
            await watch

    async def _take_part(self, person: _Someone) -> None:
        async with BrowserClient(self._server.url, sleep=impatient) as visitor:
            person.token = await visitor.join()
            await visitor.step("instructions")
            await asyncio.gather(*(self._tab(person, visitor) for _ in range(person.n_tabs)))

    async def _tab(self, person: _Someone, visitor: BrowserClient) -> None:
        """Answer until there is nothing more to answer, or it is time to leave."""
        state = await self._asked(person, visitor)
        while state["stage"] in ("trials", "empty") and time.monotonic() < self._ends_at:
            if person.leaves_after is not None and person.n_sent >= person.leaves_after:
                person.gone_at = time.monotonic()
                return
            if state["stage"] == "empty":
                await asyncio.sleep(POLL_SECONDS * (0.5 + person.rng.random()))
                state = await self._asked(person, visitor)
                continue
            dozes = person.n_sent == person.dozes_at
            thought = LEASE_SECONDS * 1.5 if dozes else min(person.rng.expovariate(1 / MEAN_THOUGHT_SECONDS), 0.8)
            await asyncio.sleep(thought)
            state = await self._answered(person, visitor, state["trials"][0]["trial"])
        person.has_done_all |= state["answered"] >= state["wanted"]

    async def _asked(self, person: _Someone, visitor: BrowserClient) -> State:
        asked_at = time.monotonic()
        state = await visitor.step("trials")
        self._note(person, state, asked_at)
        return state

    async def _answered(self, person: _Someone, visitor: BrowserClient, trial: str) -> State:
        asked_at, held_at = time.monotonic(), person.held_at[trial]
        reply = await visitor.submit_body(new_answer(person.token, trial, person.rng).body)
        heard_at = time.monotonic()
        person.n_sent += 1
        if reply.status in STORED:
            self._stored.append(reply.body["answer"])
        elif reply.body.get("code") == "given-to-others":
            # A trial is held for a whole lease from when it is given, and for half of one from each sign of life.
            held_until = max(person.given_at[trial] + LEASE_SECONDS, held_at + LEASE_SECONDS / 2)
            self._refusals["valid" if heard_at < held_until else "late"] += 1
        else:
            self._refusals[reply.body.get("code", str(reply.status))] += 1
        state: State = reply.body["state"]
        self._note(person, state, asked_at)
        return state

    def _note(self, person: _Someone, state: State, asked_at: float) -> None:
        for trial in state.get("trials", ()):
            person.given_at.setdefault(trial["trial"], asked_at)
            person.held_at[trial["trial"]] = asked_at

    async def _kills(self, n_kills: int) -> None:
        for _ in range(n_kills):
            n_stored = len(self._stored)
            while len(self._stored) < n_stored + len(self._people):
                await asyncio.sleep(0.01)
            await asyncio.to_thread(self._server.kill)
            await asyncio.to_thread(self._server.start)

    async def _watch(self) -> None:
        """See in the store when what people held who left has come back."""
        engine = reading_engine(StoreLocation.of(self._store))
        try:
            while self._at_work:
                await asyncio.sleep(0.05)
                looked_at = time.monotonic()
                leavers = [person for person in self._people if person.gone_at is not None]
                with engine.connect() as connection:
                    holding = set(connection.execute(HELD).scalars())
                for person in leavers:
                    if person.token_hash in holding:
                        self._kept_until[person.token] = looked_at
        finally:
            engine.dispose()

    def report(self, seconds: float) -> QuotaReport:
        """Hold the store against what people were told."""
        engine = sa.create_engine(StoreLocation.of(self._store).url)
        try:
            with engine.connect() as connection:
                counts = connection.execute(COUNTS).all()
                pairs = connection.execute(PAIRS).all()
                handles = set(connection.execute(sa.text("SELECT handle FROM answers")).scalars())
                seen = {(row.token_hash, row.item) for row in connection.execute(SEEN)}
                held = set(connection.execute(HELD).scalars())
        finally:
            engine.dispose()
        with_room = [row.id for row in counts if row.n < row.quota]
        return QuotaReport(
            answers=len(pairs),
            over_quota=sum(max(row.n - row.quota, 0) for row in counts),
            refused_after_valid_lease=self._refusals["valid"],
            same_annotator_twice=len(pairs) - len(set(pairs)),
            starved=sum(self._is_starved(person, with_room, seen) for person in self._people),
            not_at_quota=sum(row.n != row.quota for row in counts),
            unacknowledged=len(handles ^ set(self._stored)),
            refused_late=self._refusals["late"],
            already_answered=self._refusals["already-answered"],
            return_seconds=max((self._return_seconds(person, held) for person in self._people), default=0.0),
            seconds=seconds,
        )

    def _is_starved(self, person: _Someone, with_room: list[int], seen: set[tuple[str, int]]) -> bool:
        if person.gone_at is not None or person.has_done_all:
            return False
        return any((person.token_hash, item) not in seen for item in with_room)

    def _return_seconds(self, person: _Someone, held: set[str]) -> float:
        """How long what they held was surely still theirs after they had left, however seldom we looked."""
        if person.gone_at is None:
            return 0.0
        return (
            math.inf
            if person.token_hash in held
            else self._kept_until.get(person.token, person.gone_at) - person.gone_at
        )
