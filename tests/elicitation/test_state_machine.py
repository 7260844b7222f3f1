"""A running study compared with a model of a hundred lines, by random steps of many participants.

`SFUMATO_EXAMPLES` sets how many runs of fifty steps; the ones of every day are always the same.
"""

from __future__ import annotations

import itertools
import os
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from study_instance import HandClock, plain_study, sent

from sfumato.elicitation.answer_intake import AnswerIntake
from sfumato.elicitation.kinds import kinds_of
from sfumato.elicitation.lease import IDLE_LEASES, LeaseBook, LeaseTable
from sfumato.elicitation.page_messages import ParticipantState, SubmitResult, SubmittedAnswer
from sfumato.elicitation.running_study import RunningStudy
from sfumato.elicitation.session import ParticipantSessions, hash_of
from sfumato.store import queries
from sfumato.store.database import writing_engine
from sfumato.store.interaction_record import InteractionRecord
from sfumato.store.location import StoreLocation
from sfumato.store.schema import ANSWERED, LAPSED, OPEN, answers, items, refused, trials
from sfumato.store.writer import Writer, WriteRequest
from sfumato.study.stimulus import Stimulus
from sfumato.study.study import Deeper, Limits, People, PracticeItem, Question, Study
from sfumato.tables.errors import InvalidAnswer, NotThere, StoreDown

LEASE = 60
MOST_AT_ONCE = 3
ITEMS = tuple(f"i{number}" for number in range(3))
KINDS_OF_PEOPLE = (
    People(answers_per_item=1, batch_size=1),
    People(answers_per_item=1, batch_size=2),
    People(answers_per_item=2, batch_size=2, batches=2, repeats=1),
    People(answers_per_item=2, batch_size=3, repeats=2),
)
STUDY = plain_study(
    limits=Limits(lease_minutes=LEASE / 60, remind_after_minutes=1e9),
    practice=(PracticeItem("practice"),),
)
WHO, WHICH = st.integers(0, 4), st.integers(0, 20)


# --- the model: what must hold, said as plainly as can be ---


@dataclass
class Asked:
    """A trial somebody was given."""

    item: str
    purpose: str
    expires: float
    state: int = OPEN
    leased: float = 0.0


@dataclass
class Taker:
    """Somebody who takes part."""

    token_hash: str
    people: People
    asked: dict[str, Asked] = field(default_factory=dict)
    sent: dict[str, tuple[SubmittedAnswer, str | None, str | None]] = field(default_factory=dict)
    """By key: what was sent, the id it was stored under, the code it was refused with."""
    withdrawn: bool = False
    code: str | None = None
    last_answer: float = -1e9

    def begun(self) -> Counter[str]:
        return Counter(each.purpose for each in self.asked.values() if each.state != LAPSED)

    def of(self, purpose: str, *states: int) -> list[str]:
        """Items given for a purpose, in these states (in any, if none is said)."""
        found = self.asked.values()
        return [
            each.item
            for each in found
            if each.purpose == purpose and each.state in (states or (OPEN, ANSWERED, LAPSED))
        ]

    def due(self) -> str | None:
        begun = self.begun()
        if not begun["practice"]:
            return "practice"
        if begun["repeat"] < self.people.repeats * (begun["label"] // self.people.batch_size):
            return "repeat"
        return "label" if begun["label"] < self.people.batch_size * self.people.batches else None


@dataclass
class Model:
    """Everything that is known of a study."""

    quota: int
    now: float = 0.0
    paused: bool = False
    people: list[Taker] = field(default_factory=list)

    def taken(self) -> Counter[str]:
        return Counter(item for person in self.people for item in person.of("label", OPEN, ANSWERED))

    def has_room(self, item: str) -> bool:
        return self.taken()[item] < self.quota

    def lapse(self) -> None:
        """What was held too long goes back."""
        for person in self.people:
            for each in person.asked.values():
                if each.state == OPEN and each.purpose == "label" and each.expires <= self.now:
                    each.state = LAPSED

    def is_idle(self, person: Taker) -> bool:
        """Whether somebody has held items for three leases without answering any."""
        since = self.now - IDLE_LEASES * LEASE
        waiting = [each for each in person.asked.values() if each.purpose == "label" and each.state != ANSWERED]
        return person.last_answer <= since and any(each.leased <= since for each in waiting)

    def is_held_back(self, person: Taker) -> bool:
        """Whether somebody idle held something a lease ago or later."""
        waiting = [each for each in person.asked.values() if each.purpose == "label" and each.state != ANSWERED]
        return self.is_idle(person) and any(self.now < each.expires + LEASE for each in waiting)

    def choices(self, person: Taker) -> list[str]:
        """Items the person could be given for their next trial: what lapsed first, else those with fewest answers."""
        due = person.due()
        if due == "label" and self.is_held_back(person):
            return []
        back = [item for item in person.of("label", LAPSED) if self.has_room(item)]
        if back and due == "label":
            return back
        if due == "practice":
            return ["practice"]
        if due == "repeat":
            return [item for item in person.of("label", ANSWERED) if item not in person.of("repeat")]
        fresh = [item for item in ITEMS if self.has_room(item) and item not in person.of("label")] if due else []
        fewest = min((self.taken()[item] for item in fresh), default=0)
        return [item for item in fresh if self.taken()[item] == fewest]

    def check(self, person: Taker, state: ParticipantState) -> None:
        """Check the state a participant gets, and add their new trials to the model."""
        if person.withdrawn:
            assert (state.stage, state.trials) == ("withdrawn", ())
            return
        shown = {each.handle: each for each in state.trials}
        before = {handle for handle, each in person.asked.items() if each.state == OPEN}
        assert before <= set(shown), "what is held stays held"
        is_idle = self.is_idle(person)
        for handle in before:
            if not is_idle and person.asked[handle].expires - self.now < LEASE / 2:
                person.asked[handle].expires = self.now + LEASE
        assert not (self.paused and set(shown) - before), "nothing new while paused"
        pending = [each for each in state.trials if each.handle not in before]
        while pending:
            # What lapsed and what is new may come in turns, each allowed at its own.
            due, choices = person.due(), self.choices(person)
            each = next((each for each in pending if each.stimulus.item in choices), None)
            assert each is not None, f"{[each.stimulus.item for each in pending]} given, {choices} are for them"
            assert due is not None
            pending.remove(each)
            asked = person.asked.setdefault(each.handle, Asked(each.stimulus.item, due, 0.0, LAPSED, self.now))
            assert (asked.item, asked.purpose, asked.state) == (each.stimulus.item, due, LAPSED)
            assert (each.practice, each.number) == (due == "practice", 1 + list(person.asked).index(each.handle))
            asked.state, asked.expires = OPEN, self.now + LEASE
        assert len(shown) <= MOST_AT_ONCE
        assert [each.number for each in state.trials] == sorted(each.number for each in state.trials)
        assert state.answered == len(person.of("label", ANSWERED)) + len(person.of("repeat", ANSWERED))
        assert state.stage == self.stage(person, bool(shown))
        if state.stage == "finished":
            assert state.code
            assert person.code in (None, state.code)
            person.code = state.code

    def stage(self, person: Taker, has_trials: bool) -> str:
        if has_trials:
            return "trials"
        if self.paused:
            return "paused"
        assert not self.choices(person), "something could be given"
        mine = set(person.of("label")) - set(person.of("label", LAPSED))
        held = {item for other in self.people if other is not person for item in other.of("label", OPEN)}
        later = self.is_held_back(person) and any(map(self.has_room, ITEMS))
        return "empty" if person.due() and (held - mine or later) else "finished"


# --- the machine: the same steps by the real thing and by the model ---


class Steps(RuleBasedStateMachine):
    """Random steps. `engine` is a store that many runs share, each with a study of its own."""

    engine: sa.Engine
    study: Study = STUDY
    running_type: type[RunningStudy] = RunningStudy
    numbers = itertools.count(1)

    @initialize(seed=st.integers(0, 3), people=st.sampled_from(KINDS_OF_PEOPLE))
    def begin(self, seed: int, people: People) -> None:
        self.name, self.seed, self.people = f"study-{next(self.numbers)}", seed, people
        self.model, self.clock = Model(people.answers_per_item), HandClock()
        self.start()
        self.register()
        self.register()

    def start(self) -> None:
        study = replace(self.study, name=self.name, people=replace(self.people, answers_per_item=self.model.quota))
        stimuli = [Stimulus(item) for item in ("practice", *ITEMS)]
        self.running = self.running_type(study, kinds_of(study), stimuli, None, self.clock, random.Random(self.seed))
        self.writer = Writer(self.engine, self.running)
        self.ask(lambda running: None)

    def ask(self, do: Callable[[RunningStudy], object]) -> object:
        """Run one request as a group, as the writer's thread does."""
        self.model.lapse()
        request = WriteRequest(do, None)
        self.writer._group([request])
        if request.error is not None:
            raise request.error
        return request.result

    def someone(self, who: int) -> Taker:
        return self.model.people[who % len(self.model.people)]

    def given(self, handle: str, chosen: str = "cat", key: str | None = None) -> SubmittedAnswer:
        """An answer as the page would send it."""
        return sent(handle, chosen, key)

    def submit(self, person: Taker, answer: SubmittedAnswer) -> SubmitResult:
        return self.ask(lambda running: running.sessions.submit(person.token_hash, answer))

    @rule()
    @precondition(lambda self: len(self.model.people) < 5)
    def register(self) -> None:
        person = Taker(hash_of(self.ask(lambda running: running.sessions.join()).token), self.people)
        self.model.people.append(person)
        self.model.check(person, self.ask(lambda running: running.sessions.finish_instructions(person.token_hash)))

    @rule(who=WHO, pulse=st.booleans())
    def next(self, who: int, pulse: bool) -> None:
        person = self.someone(who)
        ask = ParticipantSessions.heartbeat if pulse else ParticipantSessions.state
        self.model.check(person, self.ask(lambda running: ask(running.sessions, person.token_hash)))

    @rule(who=WHO, which=WHICH, chosen=st.sampled_from(["cat", "dog"]))
    def answer(self, who: int, which: int, chosen: str) -> None:
        """Answer any trial one ever had: held, lapsed or answered before."""
        person = self.someone(who)
        if person.withdrawn or not person.asked:
            return
        handle, asked = list(person.asked.items())[which % len(person.asked)]
        answer = self.given(handle, chosen)
        outcome = self.submit(person, answer)
        if asked.state == ANSWERED:
            code = "already-answered"
        elif asked.state == LAPSED and not self.model.has_room(asked.item):
            code = "given-to-others"
        else:
            code, asked.state = None, ANSWERED
            person.last_answer = self.model.now
        assert (outcome.code, outcome.again, outcome.answer is None) == (code, False, code is not None)
        person.sent[answer.key] = (answer, outcome.answer, code)
        self.model.check(person, outcome.state)

    @rule(who=WHO, chosen=st.sampled_from(["cat", "dog"]))
    def answer_current(self, who: int, chosen: str) -> None:
        held = [number for number, each in enumerate(self.someone(who).asked.values()) if each.state == OPEN]
        if held:
            self.answer(who, held[0], chosen)

    @rule(who=WHO, which=WHICH)
    def retry(self, who: int, which: int) -> None:
        person = self.someone(who)
        if person.sent:
            answer, stored, code = list(person.sent.values())[which % len(person.sent)]
            outcome = self.submit(person, answer)
            assert (outcome.answer, outcome.code, outcome.again) == (stored, code, True)
            self.model.check(person, outcome.state)

    @rule(who=WHO, which=WHICH)
    def other_body(self, who: int, which: int) -> None:
        person = self.someone(who)
        if person.sent:
            answer, *_ = list(person.sent.values())[which % len(person.sent)]
            other = "dog" if answer.answer.get("class") == "cat" else "cat"
            with pytest.raises(InvalidAnswer) as caught:
                self.submit(person, sent(answer.trial, other, answer.key))
            assert caught.value.code == "key-reused"

    @rule(who=WHO, other=WHO, which=WHICH)
    def answer_of_another(self, who: int, other: int, which: int) -> None:
        person, other_person = self.someone(who), self.someone(other)
        if person is not other_person and other_person.asked and not person.withdrawn:
            with pytest.raises(NotThere):
                self.submit(person, self.given(list(other_person.asked)[which % len(other_person.asked)]))

    @rule(who=WHO, which=WHICH)
    def no_answer(self, who: int, which: int) -> None:
        person = self.someone(who)
        if (open_ := [handle for handle, each in person.asked.items() if each.state == OPEN]) and not person.withdrawn:
            self.model.lapse()
            with pytest.raises(InvalidAnswer):
                self.submit(person, self.given(open_[which % len(open_)], "bird"))

    @rule(seconds=st.sampled_from([1, LEASE // 2 + 1, LEASE - 1, LEASE, 5 * LEASE]))
    def expire(self, seconds: int) -> None:
        self.clock.advance(seconds)
        self.model.now += seconds

    @rule(paused=st.booleans())
    def pause_or_resume(self, paused: bool) -> None:
        self.ask(lambda running: running.pause(paused))
        self.model.paused = paused

    @rule(who=WHO)
    @precondition(lambda self: sum(not person.withdrawn for person in self.model.people) > 2)
    def withdraw(self, who: int) -> None:
        person = self.someone(who)
        state = self.ask(lambda running: running.sessions.withdraw(person.token_hash))
        person.withdrawn = True
        for each in person.asked.values():
            each.state = LAPSED if each.state == OPEN else each.state
        self.model.check(person, state)

    @rule(quota=st.integers(1, 3))
    def change_quota(self, quota: int) -> None:
        self.ask(lambda running: running.set_quota(quota))
        self.model.quota = quota

    @rule(seconds=st.sampled_from([0, LEASE - 1, LEASE]), who=WHO)
    def restart(self, seconds: int, who: int) -> None:
        """The server restarts; a participant is the first to come back, perhaps too late."""
        self.start()
        self.expire(seconds)
        self.next(who, False)

    @rule(who=WHO, which=WHICH)
    def fail(self, who: int, which: int) -> None:
        """A request that breaks half-way leaves nothing behind."""
        # Who has just been seen has nothing to renew: a lease that a failed request renews may stay renewed.
        self.next(who, False)
        person = self.someone(who)

        given = [self.given(handle) for handle in list(person.asked)[which:]]

        def breaks(running: RunningStudy) -> None:
            running.sessions.state(person.token_hash)
            for answer in given:
                running.sessions.submit(person.token_hash, answer)
            raise ZeroDivisionError

        with pytest.raises(StoreDown):
            self.ask(breaks)

    @invariant()
    def the_store_says_the_same(self) -> None:
        # After a failure nothing is known until the next request, which also ends what has run out.
        if not hasattr(self, "running") or self.running._state is None:
            return
        with self.engine.begin() as connection:
            names = {
                number: stimulus.item
                for number, (stimulus, _) in queries.stimuli(connection, self.running.number).items()
            }
            taken: Counter[str] = Counter()
            for (item, _), n in queries.taken(connection, self.running.number).items():
                taken[names[item]] += n
        assert taken == self.model.taken()
        assert self.running.state.leases.room() == sum(max(self.model.quota - taken.get(item, 0), 0) for item in ITEMS)

    def teardown(self) -> None:
        if not hasattr(self, "running"):
            return
        stored = sa.select(answers.c.key, answers.c.handle, items.c.item, answers.c.purpose).join(items)
        aside = sa.select(refused.c.key, refused.c.code)
        with self.engine.begin() as connection:
            found = {tuple(row) for row in connection.execute(stored.where(answers.c.study == self.running.number))}
            kept = {tuple(row) for row in connection.execute(aside.where(refused.c.study == self.running.number))}
        sent_ = [(person, *each) for person in self.model.people for each in person.sent.values()]
        taken = [(answer, id_, person.asked[answer.trial]) for person, answer, id_, code in sent_ if code is None]
        assert found == {(answer.key, id_, asked.item, asked.purpose) for answer, id_, asked in taken}
        assert kept == {(answer.key, code) for _, answer, _, code in sent_ if code is not None}


class DeeperSteps(Steps):
    """The same steps where a deeper form opens after the choice, by each of its doors."""

    study = replace(STUDY, deeper=Deeper(Question("tokens"), unsure=True, share=0.4, disagreement=0.5))

    def given(self, handle: str, chosen: str = "cat", key: str | None = None) -> SubmittedAnswer:
        asked = sa.select(trials.c.question, trials.c.deeper, trials.c.number).where(trials.c.handle == handle)
        with self.engine.connect() as connection:
            question, deeper, number = connection.execute(asked).one()
        plain = sent(handle, chosen, key)
        if question == 1:
            record = plain.record
        elif deeper is not None:
            record = InteractionRecord(elapsed_ms=1500, opened="asked", first={"class": chosen})
        elif number % 3 == 0:
            record = InteractionRecord(elapsed_ms=1500, opened="unsure")
        else:
            return plain
        answer = {"tokens": {chosen: 10}, "others": False}
        # Another body than that of the choice alone, and so another digest.
        return msgspec.structs.replace(plain, answer=answer, record=record, digest=plain.digest[::-1])

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "running"):
            said = sa.select(answers.c.kind, trials.c.question, trials.c.deeper).join(trials)
            with self.engine.begin() as connection:
                for kind, question, why in connection.execute(said.where(answers.c.study == self.running.number)):
                    # One answer a trial, in the form that the trial says was answered last.
                    assert (kind, question == 1) in (("tokens/1", True), ("choice/1", False))
                    assert question == 1 or why is None


class LapsesUnwritten(RunningStudy):
    """A running study with a bug: a participant read from the store in the group of their expiry keeps the lease."""

    _begins = False

    def begin(self, connection: sa.Connection) -> None:
        self._begins = True
        try:
            super().begin(connection)
        finally:
            self._begins = False

    def connection(self) -> sa.Connection:
        return self.transaction if self._begins else super().connection()


BUDGET = settings(
    max_examples=int(os.environ.get("SFUMATO_EXAMPLES", "80")),
    stateful_step_count=50,
    deadline=None,
    report_multiple_bugs=False,
    database=None,
    derandomize="SFUMATO_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def engine() -> Iterator[sa.Engine]:
    """A store in memory where there is room for it: nothing here is about the disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        engine = writing_engine(StoreLocation.of(Path(folder) / "answers.sqlite"))
        yield engine
        engine.dispose()


def run(engine: sa.Engine, running_type: type[RunningStudy], budget: settings, steps: type[Steps] = Steps) -> None:
    run_state_machine_as_test(type("Run", (steps,), {"engine": engine, "running_type": running_type}), settings=budget)


def test_the_study_does_as_the_model(engine: sa.Engine) -> None:
    run(engine, RunningStudy, BUDGET)


FEW = settings(BUDGET, max_examples=60, phases=[Phase.generate])


def test_a_study_with_a_deeper_form_does_as_the_same_model(engine: sa.Engine) -> None:
    run(engine, RunningStudy, settings(BUDGET, max_examples=max(BUDGET.max_examples // 2, 1)), DeeperSteps)


def test_a_form_that_is_not_noted_is_found(engine: sa.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LeaseBook, "set_deeper", lambda self, trial, *, unsure: setattr(trial, "question", 1))
    with pytest.raises(AssertionError):
        run(engine, RunningStudy, FEW, DeeperSteps)


def test_a_lapse_that_is_not_written_is_found(engine: sa.Engine) -> None:
    with pytest.raises(AssertionError):
        run(engine, LapsesUnwritten, FEW)


def test_a_key_that_is_forgotten_is_found(engine: sa.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AnswerIntake, "_receipt", lambda *_: None)
    with pytest.raises(AssertionError):
        run(engine, RunningStudy, FEW)


def test_a_lease_not_given_back_is_found(engine: sa.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LeaseTable, "release", lambda self, trial: None)
    with pytest.raises(AssertionError):
        run(engine, RunningStudy, FEW)
