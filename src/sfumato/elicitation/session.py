"""Fieldwork: the rules of a running study. Who comes in, where they stand, what they are shown (`turns.py`), and what
becomes of their answers (`intake.py`).

All of it happens in the one thread that writes (`writer.py`), between `begin` and `end` of a group of requests, so no
two requests ever see each other half done. What is decided goes into `PendingWrites`; it counts once the group is
committed.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import sqlalchemy as sa

from sfumato.elicitation.answer_intake import AnswerIntake
from sfumato.elicitation.assignment import ItemSelector
from sfumato.elicitation.clock import Clock
from sfumato.elicitation.kind import Kind
from sfumato.elicitation.lease import LeaseBook
from sfumato.elicitation.participant import Participant, Trial
from sfumato.elicitation.participant_link import LinkEnded, is_signed, made_at, new_token, oldest_that_holds
from sfumato.elicitation.participant_state import (
    NewParticipant,
    ParticipantState,
    Redirect,
    SessionStart,
    ShownTrial,
    SubmitResult,
    SubmittedAnswer,
)
from sfumato.elicitation.registration import identity, register
from sfumato.elicitation.secure_random import SecureRandom
from sfumato.elicitation.study_state import CheckJudge, StudyState
from sfumato.store import queries
from sfumato.study.stimulus import Stimulus
from sfumato.study.study import Entry, Study
from sfumato.tables.errors import InvalidAnswer, NotNow, NotThere

T = TypeVar("T")
RedirectFor = Callable[[sa.Connection, Study, int, str], Redirect | None]
SEEN_AT_LEAST_EVERY = 30_000
"""Milliseconds between two notes of when a person was last seen."""


def hash_of(token: str) -> str:
    """The hash under which a token is kept; the token itself is nowhere."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


@dataclass
class RunningStudy:
    """A study at work. `begin` and `end` bracket each group of requests; everything else is a request."""

    study: Study
    kinds: Sequence[Kind]
    """The kind of each of the study's questions."""
    stimuli: Sequence[Stimulus]
    guide: ItemSelector | None = None
    """Who says what to ask next, in an adaptive study."""
    clock: Clock = field(default_factory=Clock)
    rng: random.Random = field(default_factory=SecureRandom)
    """What items are chosen by."""
    chance: SecureRandom = field(default_factory=SecureRandom)
    """What names and codes are drawn by: not to be foreseen wherever real people take part."""
    judge: CheckJudge | None = None
    """Who says whether a check was passed, in a study that has any."""
    way_back: RedirectFor | None = None
    """How somebody gets back to the platform they came from, in a study that has one."""
    number: int = -1
    """The study's id in the store, once it is registered."""

    def __post_init__(self) -> None:
        self._changes = queries.PendingWrites()
        self._version = -1
        self._has_written = False
        self._known: StudyState | None = None

    # --- groups of requests ---

    def begin(self, connection: sa.Connection) -> None:
        """Start a group: know what the store knows."""
        self._connection = connection
        self._has_written = False
        if self.number < 0:
            self.number = register(connection, self.study, self.kinds, self.stimuli, self.clock.now())
        if connection.dialect.name != "sqlite":
            version = queries.lock_study(connection, self.number)
            if version != self._version:
                self.forget()
                self._version = version
        if self._known is None:
            now, at = self.clock.steady(), self.clock.monotonic()
            self._known = StudyState(
                connection, self.study, self.number, now=now, at=at, guide=self.guide, judge=self.judge
            )
            self._turns = LeaseBook(self.study, self._known, self._changes, self.clock, self.rng, self.chance)
            self._intake = AnswerIntake(
                self.study,
                self.number,
                self.kinds,
                self._known,
                self._turns,
                self._changes,
                self.clock,
                self.chance,
                self.guide,
                self._written,
            )
        self._n_answers = self._memory.n_answers
        self._turns.lapse()
        # Holders who are not at hand may be read from the store in this very group: it must know that they lapsed.
        self._written()

    def end(self) -> None:
        """Write what the group changed; the caller commits."""
        self._written()
        memory = self._memory
        noted: dict[str, Any] = {}
        if memory.n_answers != self._n_answers:
            # The last link of the chain of answers, and how many there are.
            noted |= {"head": memory.head, "n_answers": memory.n_answers}
        if self._has_written and self._connection.dialect.name != "sqlite":
            # Tells other servers that something changed; none of them can come between, for the study is locked.
            self._version += 1
            noted["version"] = self._version
        if noted:
            queries.set_study(self._connection, self.number, **noted)

    def committed(self) -> None:
        """The group is safe."""
        self._memory.trim()

    def forget(self) -> None:
        """Let go of everything that is only in memory; the next group reads the store anew."""
        self._changes.clear()
        self._known = None

    def _written(self) -> sa.Connection:
        """The connection, with everything decided so far in this group visible to it."""
        if self._changes:
            queries.flush(self._connection, self._changes)
            self._changes.clear()
            self._has_written = True
        return self._connection

    @property
    def _memory(self) -> StudyState:
        assert self._known is not None, "a request outside of begin and end"
        return self._known

    @property
    def secret(self) -> str:
        """What the links of the study are signed with."""
        return self._memory.secret

    # --- requests ---

    def join(self) -> NewParticipant:
        """A new person who came by the open door."""
        if self.study.people.entry is not Entry.OPEN:
            raise NotNow(
                "found no link",
                expected="the personal link you were given",
                fix="open the study by that link, or ask the researcher for one",
                code="links-only",
            )
        return self._admit(new_token(self._memory.secret))

    def welcome(self, token: str, language: str | None = None, *, renewed: bool = False) -> SessionStart:
        """Whoever opens a link: the person it belongs to, new if nobody opened it before.

        They read the language they first came with, as long as the study has it. `renewed` says that a platform has
        just sent them, so that a link which had ended holds again.
        """
        person = self._found(hash_of(token))
        if person is None:
            if not is_signed(token, self._memory.secret):
                raise no_such_link()
            if self._is_over(made_at(token)):
                raise LinkEnded
            self._admit(token)
            person = self._person(hash_of(token))
        elif self._has_ended(person) and not renewed:
            raise LinkEnded
        self._see(person)
        if person.language not in self.study.languages:
            self._set(person, language=language if language in self.study.languages else self.study.languages[0])
        declined = self._back(person, "no_consent")
        return SessionStart(person.seed, person.language or self.study.languages[0], declined)

    def _admit(self, token: str) -> NewParticipant:
        link = NewParticipant(self._pseudonym(), token)
        row = queries.blank_annotator() | {
            "id": self._memory.new_id("annotator"),
            "study": self.number,
            "pseudonym": link.pseudonym,
            "token_hash": hash_of(link.token),
            "seed": self.chance.getrandbits(31),
            "created_at": self.clock.now(),
            "seen_at": self.clock.steady(),
            "attempts": 0,
            "arm": self._memory.new_arm(self.rng),
        }
        self._changes.new_annotators.append(row)
        self._memory.keep(Participant.of(row))
        return link

    def standing(self, token_hash: str) -> ParticipantState:
        """Where the person stands, with trials held for them if they are at that stage."""
        return self._standing(self._present(token_hash))

    def seed(self, token_hash: str) -> int:
        """What a person's order of classes is drawn from."""
        return self._present(token_hash).seed

    def consent(self, token_hash: str) -> ParticipantState:
        return self._step(token_hash, "consent", "consented_at")

    def instructed(self, token_hash: str) -> ParticipantState:
        return self._step(token_hash, "instructions", "instructed_at")

    def comprehension(self, token_hash: str, given: Sequence[str]) -> ParticipantState:
        """Check the answers about the instructions; who fails too often is thanked and not shown the study."""
        person = self._present(token_hash)
        if self._stage(person) != "comprehension":
            return self._standing(person)
        questions = self.study.comprehension
        if len(given) != len(questions):
            raise InvalidAnswer(
                f"found {len(given)} answers",
                expected=f"one for each of the {len(questions)} questions",
                fix="answer every question",
                code="invalid-answer",
            )
        wrong = [i for i, (said, asked) in enumerate(zip(given, questions, strict=True)) if said != asked.answer]
        self._set(person, attempts=person.attempts + 1)
        if not wrong:
            self._set(person, passed_at=self.clock.now())
        elif person.attempts >= self.study.limits.comprehension_attempts:
            self._set(person, excluded_at=self.clock.now())
        return self._standing(person, wrong)

    def pulse(self, token_hash: str) -> ParticipantState:
        """The person is there: what they hold stays theirs."""
        person = self._present(token_hash)
        self._turns.renew(person)
        return self._standing(person)

    def withdraw(self, token_hash: str) -> ParticipantState:
        """The person stops. What they hold goes back; what they answered stays."""
        person = self._person(token_hash)
        if person.withdrawn_at is None:
            self._set(person, withdrawn_at=self.clock.now())
            self._turns.give_back_all(person)
        return self._standing(person)

    def erase(self, token_hash: str, *, answers: bool) -> None:
        """Forget who a person is (`erasing.py`): their link is dead, and with `answers` no export has theirs."""
        person = self._person(token_hash)
        self._turns.give_back_all(person)
        self._set(person, erased_at=self.clock.now(), left_out_at=self.clock.now() if answers else person.left_out_at)

    def submit(self, token_hash: str, sent: SubmittedAnswer) -> SubmitResult:
        """Take an answer (`intake.py`). A link that has ended is no reason to refuse it: its trial was given out while
        the link held."""
        person = self._person(token_hash)
        became = self._intake.receive(person, sent)
        if became.failed_check:
            self._stop_who_fails(person)
        return SubmitResult(became.answer, became.again, became.code, self._standing(person), became.passed)

    def _stop_who_fails(self, person: Participant) -> None:
        """Who fails too many checks is thanked, where the study says so. Their answers stay."""
        quality = self.study.quality
        if quality.stop and person.failed >= quality.most_failed and person.excluded_at is None:
            self._set(person, excluded_at=self.clock.now())
            self._turns.give_back_all(person)

    def pause(self, paused: bool) -> None:
        """Give out nothing new until told otherwise; answers are taken all the same."""
        self._memory.paused = paused
        self._has_written = True
        queries.set_paused(self._connection, self.number, self.clock.now() if paused else None)

    def set_quota(self, quota: int) -> None:
        """Ask for another number of answers an item."""
        asked = {identity(stimulus) for stimulus in self.stimuli}
        numbers = [
            number
            for number, stimulus in self._memory.stimuli.items()
            if identity(stimulus) in asked and number not in self._memory.aside
        ]
        self._has_written = True
        queries.set_quota(self._connection, quota, numbers)
        for number in numbers:
            self._memory.leases.set_quota(number, quota)

    def steer(self, do: Callable[[sa.Connection, int, int], T]) -> T:
        """Do something to the study itself (`steering.py`): told the connection, the study's id and the time."""
        self._has_written = True
        return do(self._written(), self.number, self.clock.now())

    # --- stages ---

    def _stage(self, person: Participant) -> str:
        """The stage a person is at, before trials are looked at."""
        gates = (
            ("withdrawn", person.withdrawn_at is not None),
            ("excluded", person.excluded_at is not None),
            ("consent", bool(self.study.consent) and person.consented_at is None),
            ("instructions", person.instructed_at is None),
            ("comprehension", bool(self.study.comprehension) and person.passed_at is None),
        )
        return next((stage for stage, stops_here in gates if stops_here), "trials")

    def _standing(self, person: Participant, wrong: Sequence[int] = ()) -> ParticipantState:
        course = self._memory.course
        answered = sum(person.answered[purpose] for purpose in ("label", "repeat", "check"))
        wanted = course.n_wanted
        if self._has_ended(person):
            # Not noted as seen: what still comes in does not make the link hold again.
            return ParticipantState("ended", answered, wanted)
        self._see(person)
        stage = self._stage(person)
        if stage == "comprehension":
            left = self.study.limits.comprehension_attempts - person.attempts
            return ParticipantState(stage, answered, wanted, wrong=wrong, attempts_left=left)
        if stage == "excluded":
            return ParticipantState(stage, answered, wanted, back=self._back(person, "screened_out"))
        if stage != "trials":
            return ParticipantState(stage, answered, wanted)
        held = self._turns.hold(person)
        if held:
            return ParticipantState(stage, answered, wanted, tuple(map(self._shown, held)))
        if self._memory.paused:
            return ParticipantState("paused", answered, wanted)
        if course.due(person) and self._turns.may_come_back(person):
            return ParticipantState("empty", answered, wanted)
        back = self._back(person, "completed")
        if person.finished_at is None:
            code = back.code if back else self.chance.randbytes(4).hex().upper()
            self._set(person, finished_at=self.clock.now(), code=code)
        self._memory.finished(person)
        return ParticipantState("finished", answered, wanted, code=person.code, back=back)

    def _step(self, token_hash: str, stage: str, column: str) -> ParticipantState:
        person = self._present(token_hash)
        if self._stage(person) == stage:
            self._set(person, **{column: self.clock.now()})
        return self._standing(person)

    def _see(self, person: Participant) -> None:
        """Note that the person is here; after a long gap the instructions come again, and not when a clock is set."""
        now = self.clock.steady()
        since = now - (person.seen_at or now)
        if since > 60_000 * self.study.limits.remind_after_minutes and person.instructed_at and not person.finished_at:
            self._set(person, instructed_at=None)
        if person.seen_at is None or since > SEEN_AT_LEAST_EVERY:
            self._set(person, seen_at=now)

    # --- small parts ---

    def _person(self, token_hash: str) -> Participant:
        person = self._found(token_hash)
        if person is None:
            raise no_such_link()
        return person

    def _present(self, token_hash: str) -> Participant:
        """Who a link belongs to that still holds."""
        person = self._person(token_hash)
        if self._has_ended(person):
            raise LinkEnded
        return person

    def _has_ended(self, person: Participant) -> bool:
        """Whether a person was away for longer than links hold."""
        return self._is_over(person.created_at if person.seen_at is None else person.seen_at)

    def _is_over(self, since: int | None) -> bool:
        return since is not None and since < oldest_that_holds(self.study.limits.link_days, self.clock.steady())

    def _found(self, token_hash: str) -> Participant | None:
        """Who a link belongs to; of who was erased it says no more than of who never was."""
        person = self._memory.person(self._connection, token_hash, self.clock.steady(), self.clock.monotonic())
        if person is not None and person.erased_at is not None:
            raise no_such_link()
        return person

    def _back(self, person: Participant, outcome: str) -> Redirect | None:
        return self.way_back(self._written(), self.study, person.id, outcome) if self.way_back else None

    def _set(self, person: Participant, **values: Any) -> None:
        for name, value in values.items():
            setattr(person, name, value)
        self._changes.set_annotator(person.id, **values)

    def _pseudonym(self) -> str:
        """A name that says nothing: A and ten letters and digits that are hard to mistake for one another."""
        return "A" + "".join(self.chance.choices("bcdfghjkmnpqrstvwxz23456789", k=10))

    def _shown(self, trial: Trial) -> ShownTrial:
        stimulus = self._memory.stimuli[trial.item]
        follows = trial.deeper is not None and trial.question == 0 and self.study.deeper is not None
        return ShownTrial(trial.handle, trial.number, trial.purpose == "practice", stimulus, trial.question, follows)


def no_such_link() -> NotThere:
    """The error for a token nobody has."""
    return NotThere(
        "found a link that is not known here",
        expected="the whole link you were given",
        fix="check that the address is complete, or ask for a new link",
        code="unknown-link",
    )
