"""A running study without a web server: the writer, a manual clock, and participants who answer."""

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
from sfumato.elicitation.page_messages import ParticipantState, ShownTrial, SubmitResult, SubmittedAnswer
from sfumato.elicitation.participant_link import hash_of
from sfumato.elicitation.running_study import RunningStudy
from sfumato.store.database import writing_engine
from sfumato.store.interaction_record import InteractionRecord
from sfumato.store.location import StoreLocation
from sfumato.store.writer import Writer
from sfumato.study.stimulus import Stimulus
from sfumato.study.study import ItemSource, Limits, People, Question, Study, StudyClass

T = TypeVar("T")
DAY = 24 * 3600
LEASE = 600
"""The lease in `plain_study`, in seconds."""


class HandClock(Clock):
    """A manual clock. `advance` moves time; `jump` changes only the wall clock, as an operator can."""

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
    """A study with the classes cat and dog; by default with instructions, but without consent and practice."""
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
    """An answer as the web server passes it on."""
    key = key or str(uuid.uuid4())
    record = InteractionRecord(elapsed_ms=elapsed_ms)
    body = json.dumps({"key": key, "trial": trial, "answer": {"class": chosen}, "record": {"elapsed_ms": elapsed_ms}})
    return SubmittedAnswer(
        key, trial, {"class": chosen}, record, body, hashlib.sha256(body.encode()).hexdigest(), age_ms
    )


@dataclass
class StudyPerson:
    """A participant, identified by their token."""

    at: StudyInstance
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
        """The current trial."""
        return self.state().trials[0]

    def answer(self, chosen: str = "cat") -> ShownTrial:
        """Answer the current trial; returns it."""
        shown = self.first()
        assert self.submit(sent(shown.handle, chosen)).code is None
        return shown

    def answer_all(self, limit: int = 100) -> list[ShownTrial]:
        """Answer until there are no more trials; returns the trials."""
        shown = []
        while len(shown) < limit and (state := self.state()).stage == "trials":
            shown.append(state.trials[0])
            assert self.submit(sent(state.trials[0].handle)).code is None
        return shown


@dataclass
class StudyInstance:
    """A running study on a store. `study` and `stimuli` are the content of the study file."""

    store: str
    study: Study = field(default_factory=plain_study)
    stimuli: Sequence[Stimulus] = field(default_factory=lambda: items_named(6))
    clock: HandClock = field(default_factory=HandClock)
    seed: int = 1
    running_type: type[RunningStudy] = RunningStudy
    selector: ItemSelector | None = None
    begun: list[StudyInstance] = field(default_factory=list, repr=False)
    """All instances started from this one, to stop them at the end."""

    def __post_init__(self) -> None:
        self.begun.append(self)
        place = StoreLocation.of(self.store)
        create_tables(place)
        self.engine = writing_engine(place)
        kinds, rng = kinds_of(self.study), random.Random(self.seed)
        self.running = self.running_type(self.study, kinds, self.stimuli, self.selector, self.clock, rng)
        self.writer = Writer(self.engine, self.running)

    def start(self) -> StudyInstance:
        self.writer.start()
        return self

    def stop(self) -> None:
        self.writer.stop()

    def restarted(self, **changed: Any) -> StudyInstance:
        """A restart on the same store, optionally with a changed study."""
        self.stop()
        return self.second_instance(**changed)

    def second_instance(self, **changed: Any) -> StudyInstance:
        """A second instance on the same store at the same time."""
        return replace(self, **changed).start()

    def run(self, do: Callable[[RunningStudy], T]) -> T:
        return self.writer.run(do)

    def new(self, *, ready: bool = True) -> StudyPerson:
        """A new participant by the open link, who has read the instructions if `ready`."""
        link = self.run(lambda running: running.sessions.join())
        person = StudyPerson(self, link.token, link.pseudonym)
        if ready:
            person.finish_instructions()
        return person

    def same(self, person: StudyPerson) -> StudyPerson:
        """The same participant at this instance."""
        return replace(person, at=self)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query, read by a separate connection."""
        engine = sa.create_engine(StoreLocation.of(self.store).url, poolclass=sa.NullPool)
        with engine.connect() as connection:
            return [tuple(row) for row in connection.execute(sa.text(query))]

    def one(self, query: str) -> Any:
        return self.rows(query)[0][0]

    def answers_by_item(self) -> dict[str, int]:
        """The number of label answers per item, without items that have none."""
        return dict(
            self.rows(
                "SELECT items.item, count(*) FROM answers JOIN items ON items.id = answers.item"
                f" WHERE answers.study = {self.running.number} AND purpose = 'label' GROUP BY items.item"
            )
        )


Serve = Callable[..., StudyInstance]
"""A function that starts a study on an empty store."""


@contextlib.contextmanager
def running_instance(
    store: str, study: Study | None = None, stimuli: Sequence[Stimulus] | None = None
) -> Iterator[StudyInstance]:
    """A running study while the context is open."""
    given = {"study": study, "stimuli": stimuli}
    running = StudyInstance(store, **{name: value for name, value in given.items() if value is not None})
    try:
        yield running.start()
    finally:
        for each in running.begun:
            each.stop()
