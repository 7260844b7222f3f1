"""The quota trial: many people at once; some leave, some have two tabs open, and some exceed their leases."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa
from crowd import STORED, new_answer, short_sleep
from study_server import StudyServer, write_texts_study

from sfumato.elicitation.participant_link import hash_of
from sfumato.server.browser_client import BrowserClient, State
from sfumato.store.database import reading_engine
from sfumato.store.location import StoreLocation

LEASE_SECONDS = 2.0
MEAN_THOUGHT_SECONDS = 0.15
POLL_SECONDS = 0.2
SPARE = 1.3
"""How many more answers people can give than are needed, because the last items need people who have not seen them."""

SEEN = sa.text("SELECT p.token_hash, t.item FROM trials t JOIN annotators p ON p.id = t.annotator")
COUNTS = sa.text(
    "SELECT i.id, i.quota, COUNT(a.id) AS n FROM items i"
    " LEFT JOIN answers a ON a.item = i.id AND a.purpose = 'label' GROUP BY i.id, i.quota"
)
PAIRS = sa.text("SELECT item, annotator, purpose FROM answers")
HELD = sa.text("SELECT DISTINCT p.token_hash FROM trials t JOIN annotators p ON p.id = t.annotator WHERE t.state = 0")


@dataclass(frozen=True)
class QuotaReport:
    """The result of a quota trial. All counts must be 0 except `answers`, `refused_late` and `already_answered`."""

    answers: int
    over_quota: int
    """Answers above the quotas of their items."""
    refused_after_valid_lease: int
    """Answers refused as given to others although the lease was valid."""
    same_annotator_twice: int
    starved: int
    """People who got no item although one they had not seen needed answers."""
    not_at_quota: int
    """Items that are not at their quota at the end."""
    unacknowledged: int
    """Answers acknowledged but not stored, or stored but not acknowledged."""
    refused_late: int
    """Answers refused as given to others after the lease had expired."""
    already_answered: int
    """Answers to a trial that was already answered in the other tab."""
    return_seconds: float
    """The longest time that an item was held for a person who had left."""
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
            f"{self.same_annotator_twice} same annotator twice, {self.starved} without an item, "
            f"{self.not_at_quota} items not at quota, {self.unacknowledged} unacknowledged "
            f"({self.refused_late} refused late, {self.already_answered} answered in the other tab), "
            f"leases returned within {self.return_seconds:.2f} s"
        )


def write_quota_study(
    folder: Path, quota: int, *, n_people: int = 200, n_items: int = 500, assignment: str = "fewest"
) -> Path:
    """A study that `n_people`, without the tenth that leaves, can just complete."""
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
    """Send `n_people` through the study at once: 10% leave, 5% have two tabs open, and 5% once exceed their lease. The
    running `server` is killed and restarted `n_kills` times."""
    begun = time.monotonic()
    quota_run = _QuotaRun(server, store, seed, n_people, begun + patience)
    asyncio.run(quota_run.run(n_kills))
    server.kill()
    return quota_run.report(time.monotonic() - begun)


@dataclass(slots=True, eq=False)
class _Person:
    """One person: their behavior and what happened. Times are on the monotonic clock."""

    rng: random.Random
    leaves_after: int | None
    n_tabs: int
    pauses_at: int | None
    token: str = ""
    n_sent: int = 0
    is_finished: bool = False
    """Whether they answered a full batch."""
    left_at: float | None = None
    given_at: dict[str, float] = field(default_factory=dict)
    """When each trial was first requested; its lease starts no earlier."""
    held_at: dict[str, float] = field(default_factory=dict)
    """When they last contacted the server and the trial was theirs."""

    @property
    def token_hash(self) -> str:
        return hash_of(self.token)


class _QuotaRun:
    """One run of the trial."""

    def __init__(self, server: StudyServer, store: str, seed: int, n_people: int, ends_at: float) -> None:
        self._server, self._store, self._ends_at = server, store, ends_at
        self._people = [self._person(i, n_people, seed) for i in range(n_people)]
        self._stored: list[str] = []
        self._refusals: Counter[str] = Counter()
        self._kept_until: dict[str, float] = {}
        self._is_running = True

    def _person(self, i: int, n_people: int, seed: int) -> _Person:
        rng = random.Random(f"{seed}/{i}")
        leaves = i < n_people // 10
        pauses = n_people // 10 <= i < n_people // 10 + n_people // 20
        n_tabs = 2 if n_people - n_people // 20 <= i else 1
        return _Person(rng, rng.randrange(6) if leaves else None, n_tabs, rng.randrange(1, 5) if pauses else None)

    async def run(self, n_kills: int) -> None:
        async with asyncio.TaskGroup() as tasks:
            watch = tasks.create_task(self._watch())
            kills = tasks.create_task(self._kills(n_kills))
            await asyncio.gather(*(self._take_part(person) for person in self._people))
            self._is_running = False
            kills.cancel()
            await watch

    async def _take_part(self, person: _Person) -> None:
        async with BrowserClient(self._server.url, sleep=short_sleep) as visitor:
            person.token = await visitor.join()
            await visitor.step("instructions")
            await asyncio.gather(*(self._tab(person, visitor) for _ in range(person.n_tabs)))

    async def _tab(self, person: _Person, visitor: BrowserClient) -> None:
        """Answer until there are no more items, or until the person leaves."""
        state = await self._request(person, visitor)
        while state["stage"] in ("trials", "empty") and time.monotonic() < self._ends_at:
            if person.leaves_after is not None and person.n_sent >= person.leaves_after:
                person.left_at = time.monotonic()
                return
            if state["stage"] == "empty":
                await asyncio.sleep(POLL_SECONDS * (0.5 + person.rng.random()))
                state = await self._request(person, visitor)
                continue
            pauses = person.n_sent == person.pauses_at
            thought = LEASE_SECONDS * 1.5 if pauses else min(person.rng.expovariate(1 / MEAN_THOUGHT_SECONDS), 0.8)
            await asyncio.sleep(thought)
            state = await self._submit(person, visitor, state["trials"][0]["trial"])
        person.is_finished |= state["answered"] >= state["wanted"]

    async def _request(self, person: _Person, visitor: BrowserClient) -> State:
        requested_at = time.monotonic()
        state = await visitor.step("trials")
        self._note(person, state, requested_at)
        return state

    async def _submit(self, person: _Person, visitor: BrowserClient, trial: str) -> State:
        requested_at, held_at = time.monotonic(), person.held_at[trial]
        reply = await visitor.submit_body(new_answer(person.token, trial, person.rng).body)
        replied_at = time.monotonic()
        person.n_sent += 1
        if reply.status in STORED:
            self._stored.append(reply.body["answer"])
        elif reply.body.get("code") == "given-to-others":
            # A lease lasts its full time from the assignment, and at least half of it from each later request.
            held_until = max(person.given_at[trial] + LEASE_SECONDS, held_at + LEASE_SECONDS / 2)
            self._refusals["valid" if replied_at < held_until else "late"] += 1
        else:
            self._refusals[reply.body.get("code", str(reply.status))] += 1
        state: State = reply.body["state"]
        self._note(person, state, requested_at)
        return state

    def _note(self, person: _Person, state: State, requested_at: float) -> None:
        for trial in state.get("trials", ()):
            person.given_at.setdefault(trial["trial"], requested_at)
            person.held_at[trial["trial"]] = requested_at

    async def _kills(self, n_kills: int) -> None:
        for _ in range(n_kills):
            n_stored = len(self._stored)
            while len(self._stored) < n_stored + len(self._people):
                await asyncio.sleep(0.01)
            await asyncio.to_thread(self._server.kill)
            await asyncio.to_thread(self._server.start)

    async def _watch(self) -> None:
        """Watch in the store when the leases of people who left are returned."""
        engine = reading_engine(StoreLocation.of(self._store))
        try:
            while self._is_running:
                await asyncio.sleep(0.05)
                checked_at = time.monotonic()
                leavers = [person for person in self._people if person.left_at is not None]
                with engine.connect() as connection:
                    holding = set(connection.execute(HELD).scalars())
                for person in leavers:
                    if person.token_hash in holding:
                        self._kept_until[person.token] = checked_at
        finally:
            engine.dispose()

    def report(self, seconds: float) -> QuotaReport:
        """Compare the store with the replies."""
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
        below_quota = [row.id for row in counts if row.n < row.quota]
        return QuotaReport(
            answers=len(pairs),
            over_quota=sum(max(row.n - row.quota, 0) for row in counts),
            refused_after_valid_lease=self._refusals["valid"],
            same_annotator_twice=len(pairs) - len(set(pairs)),
            starved=sum(self._is_starved(person, below_quota, seen) for person in self._people),
            not_at_quota=sum(row.n != row.quota for row in counts),
            unacknowledged=len(handles ^ set(self._stored)),
            refused_late=self._refusals["late"],
            already_answered=self._refusals["already-answered"],
            return_seconds=max((self._return_seconds(person, held) for person in self._people), default=0.0),
            seconds=seconds,
        )

    def _is_starved(self, person: _Person, below_quota: list[int], seen: set[tuple[str, int]]) -> bool:
        if person.left_at is not None or person.is_finished:
            return False
        return any((person.token_hash, item) not in seen for item in below_quota)

    def _return_seconds(self, person: _Person, held: set[str]) -> float:
        """A lower bound for the time that their lease was held after they had left."""
        if person.left_at is None:
            return 0.0
        return (
            math.inf
            if person.token_hash in held
            else self._kept_until.get(person.token, person.left_at) - person.left_at
        )
