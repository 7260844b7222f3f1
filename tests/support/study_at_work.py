"""A study at work on a store, without the web: the writer, a clock that does as it is told, and people who answer."""

from __future__ import annotations

import contextlib
import hashlib
import json
import random
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import sqlalchemy as sa
from migrated_store import create_tables

from sfumato.elicitation.assignment import ItemSelector
from sfumato.elicitation.clock import Clock
from sfumato.elicitation.kinds import kinds_of
from sfumato.elicitation.participant_state import ParticipantState, ShownTrial, SubmitResult, SubmittedAnswer
from sfumato.elicitation.running_study import RunningStudy
from sfumato.elicitation.session import hash_of
from sfumato.store.database import writing_engine
from sfumato.store.interaction_record import InteractionRecord
from sfumato.store.location import StoreLocation
from sfumato.store.writer import Writer
from sfumato.study.stimulus import Stimulus
from sfumato.study.study import ItemSource, Limits, People, Question, Study, StudyClass

T = TypeVar("T")
DAY = 24 * 3600
LEASE = 600
"""Seconds an item is held for someone who does nothing, in `plain_study`."""


class HandClock(Clock):
    """A clock set by hand. `advance` moves time; `jump` only what the clock of the day shows, as an operator may."""

    def __init__(self) -> None:
        self._now, self._monotonic = 1_800_000_000_000, 5_000.0

    def now(self) -> int:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        self._now += round(1000 * seconds)
        self._monotonic += seconds

    def jump(self, seconds: float) -> None:
        self._now += round(1000 * seconds)


def plain_study(
    name: str = "pets", *, people: People | None = None, limits: Limits | None = None, **more: Any
) -> Study:
    """A study that asks whether items are cats or dogs; instructions only, no consent and no practice unless given."""
    return Study(
        name,
        "Cats and dogs",
        (StudyClass("cat"), StudyClass("dog")),
        ItemSource(),
        Question("choice"),
        people=people or People(answers_per_item=2, batch_size=4),
        limits=limits or Limits(lease_minutes=LEASE / 60),
        **more,
    )


def items_named(n: int, prefix: str = "i") -> list[Stimulus]:
    return [Stimulus(f"{prefix}{number}") for number in range(n)]


def sent(
    trial: str, chosen: str = "cat", key: str | None = None, *, elapsed_ms: float = 1500, age_ms: int = 0
) -> SubmittedAnswer:
    """An answer as the web hands it on."""
    key = key or str(uuid.uuid4())
    record = InteractionRecord(elapsed_ms=elapsed_ms)
    body = json.dumps({"key": key, "trial": trial, "answer": {"class": chosen}, "record": {"elapsed_ms": elapsed_ms}})
    return SubmittedAnswer(
        key, trial, {"class": chosen}, record, body, hashlib.sha256(body.encode()).hexdigest(), age_ms
    )


@dataclass
class Someone:
    """A person who takes part, by their token."""

    at: AtWork
    token: str
    pseudonym: str = ""

    @property
    def token_hash(self) -> str:
        return hash_of(self.token)

    def state(self) -> ParticipantState:
        return self.at.run(lambda running: running.sessions.state(self.token_hash))

    def consent(self) -> ParticipantState:
        return self.at.run(lambda running: running.sessions.consent(self.token_hash))

    def finish_instructions(self) -> ParticipantState:
        return self.at.run(lambda running: running.sessions.finish_instructions(self.token_hash))

    def comprehension(self, *given: str) -> ParticipantState:
        return self.at.run(lambda running: running.sessions.answer_comprehension(self.token_hash, given))

    def heartbeat(self) -> ParticipantState:
        return self.at.run(lambda running: running.sessions.heartbeat(self.token_hash))

    def withdraw(self) -> ParticipantState:
        return self.at.run(lambda running: running.sessions.withdraw(self.token_hash))

    def submit(self, answer: SubmittedAnswer) -> SubmitResult:
        return self.at.run(lambda running: running.sessions.submit(self.token_hash, answer))

    def first(self) -> ShownTrial:
        """The trial they look at."""
        return self.state().trials[0]

    def answer(self, chosen: str = "cat") -> ShownTrial:
        """Answer the trial they look at; returns it."""
        shown = self.first()
        assert self.submit(sent(shown.handle, chosen)).code is None
        return shown

    def answer_all(self, limit: int = 100) -> list[ShownTrial]:
        """Answer until nothing more is given; returns what was shown."""
        shown = []
        while len(shown) < limit and (state := self.state()).stage == "trials":
            shown.append(state.trials[0])
            assert self.submit(sent(state.trials[0].handle)).code is None
        return shown


@dataclass
class AtWork:
    """A writer at work. `study` and `stimuli` are what the study file says; `restarted` is a new process."""

    store: str
    study: Study = field(default_factory=plain_study)
    stimuli: Sequence[Stimulus] = field(default_factory=lambda: items_named(6))
    clock: HandClock = field(default_factory=HandClock)
    seed: int = 1
    running_type: type[RunningStudy] = RunningStudy
    selector: ItemSelector | None = None
    begun: list[AtWork] = field(default_factory=list, repr=False)
    """Every server begun from this one, to be stopped in the end."""

    def __post_init__(self) -> None:
        self.begun.append(self)
        place = StoreLocation.of(self.store)
        create_tables(place)
        self.engine = writing_engine(place)
        kinds, rng = kinds_of(self.study), random.Random(self.seed)
        self.running = self.running_type(self.study, kinds, self.stimuli, self.selector, self.clock, rng)
        self.writer = Writer(self.engine, self.running)

    def start(self) -> AtWork:
        self.writer.start()
        return self

    def stop(self) -> None:
        self.writer.stop()

    def restarted(self, **changed: Any) -> AtWork:
        """The same store served anew, perhaps with a study file that has changed."""
        self.stop()
        return self.beside(**changed)

    def beside(self, **changed: Any) -> AtWork:
        """Another server on the same store, at the same time."""
        return replace(self, **changed).start()

    def run(self, do: Callable[[RunningStudy], T]) -> T:
        return self.writer.run(do)

    def new(self, *, ready: bool = True) -> Someone:
        """Somebody who comes by the open door, and has read the instructions if `ready`."""
        link = self.run(lambda running: running.sessions.join())
        person = Someone(self, link.token, link.pseudonym)
        if ready:
            person.finish_instructions()
        return person

    def same(self, person: Someone) -> Someone:
        """The person with the same link at this server."""
        return replace(person, at=self)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the store says, by a connection of its own."""
        engine = sa.create_engine(StoreLocation.of(self.store).url, poolclass=sa.NullPool)
        with engine.connect() as connection:
            return [tuple(row) for row in connection.execute(sa.text(query))]

    def one(self, query: str) -> Any:
        return self.rows(query)[0][0]

    def answers_by_item(self) -> dict[str, int]:
        """Answers for a label that each item of the study has, those without any left out."""
        return dict(
            self.rows(
                "SELECT items.item, count(*) FROM answers JOIN items ON items.id = answers.item"
                f" WHERE answers.study = {self.running.number} AND purpose = 'label' GROUP BY items.item"
            )
        )


Serve = Callable[..., AtWork]
"""Starts a study on an empty store."""


@contextlib.contextmanager
def at_work(store: str, study: Study | None = None, stimuli: Sequence[Stimulus] | None = None) -> Iterator[AtWork]:
    """A study at work for the while."""
    given = {"study": study, "stimuli": stimuli}
    running = AtWork(store, **{name: value for name, value in given.items() if value is not None})
    try:
        yield running.start()
    finally:
        for each in running.begun:
            each.stop()
