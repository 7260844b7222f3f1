"""Turns: which trials a person holds, how they come by them, and how what is not answered goes back to others.

Works on what is remembered of the study, and notes every change for the store. Not a second set of rules:
`RunningStudy` asks it, within the same group of requests.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from sfumato.elicitation.assignment import NextTrial
from sfumato.elicitation.clock import Clock
from sfumato.elicitation.deeper_form import NOT_ASKED, PRACTICE, UNSURE, WORTH, DeeperDraw
from sfumato.elicitation.memory import StudyState
from sfumato.elicitation.participant import Participant, Trial
from sfumato.elicitation.secure_random import SecureRandom
from sfumato.store.queries import PendingWrites
from sfumato.store.schema import ANSWERED, LAPSED, OPEN
from sfumato.study.study import Study

LOOKAHEAD = 3
"""Trials held for a person at once: the one they look at, and the next, so that pictures are there in time."""
COLUMNS = (
    "id", "annotator", "item", "number", "purpose", "handle", "state", "leased_at", "question", "probability", "audit",
    "deeper", "deeper_probability",
)  # fmt: skip


@dataclass
class LeaseBook:
    """Hands out trials, renews and takes back leases, for one study."""

    study: Study
    memory: StudyState
    changes: PendingWrites
    clock: Clock
    rng: random.Random
    chance: SecureRandom

    @property
    def _lease(self) -> float:
        return 60.0 * self.study.limits.lease_minutes

    def hold(self, person: Participant) -> list[Trial]:
        """The person's open trials in order, renewed, and filled up to what may be held at once."""
        self.renew(person)
        held = list(person.open.values())
        # Near the end of a study nobody keeps a reserve that others could answer now.
        ample = self.memory.leases.room(person.arm) >= LOOKAHEAD * max(1, len(self.memory.leases))
        while not self.memory.paused and len(held) < (LOOKAHEAD if ample else 1):
            trial = self._next(person)
            if trial is None:
                break
            held.append(trial)
        return sorted(held, key=lambda trial: trial.number)

    def renew(self, person: Participant) -> None:
        """The person is there: what they hold stays theirs."""
        now = self.clock.monotonic()
        for trial in person.open.values():
            if trial.expires - now < self._lease / 2:
                trial.expires = now + self._lease
                self.changes.set_trial(trial.id, expires_at=self._expires_at())

    def take_up(self, person: Participant, trial: Trial) -> bool:
        """Hold a lapsed trial again, if its item can still take an answer."""
        if not self.memory.leases.has_room(trial):
            return False
        person.move(trial, OPEN)
        trial.expires = self.clock.monotonic() + self._lease
        self.memory.leases.hold(trial)
        self.changes.set_trial(trial.id, state=OPEN, expires_at=self._expires_at())
        return True

    def answered(self, person: Participant, trial: Trial) -> None:
        """The trial's answer has come."""
        person.move(trial, ANSWERED)
        self.memory.leases.answered(trial)
        self.changes.set_trial(trial.id, state=ANSWERED)

    def give_back(self, trial: Trial) -> None:
        """The trial will not be answered now; somebody else may have its item."""
        self.memory.leases.give_back(trial)
        if person := self.memory.owner(trial):
            person.move(trial, LAPSED)
        self.changes.set_trial(trial.id, state=LAPSED)

    def give_back_all(self, person: Participant) -> None:
        """Let go of all that a person holds."""
        for trial in list(person.open.values()):
            self.give_back(trial)

    def lapse(self) -> None:
        """Give back whatever has been held too long."""
        for trial in self.memory.leases.overdue(self.clock.monotonic()):
            self.give_back(trial)

    def may_come_back(self, person: Participant) -> bool:
        """Whether somebody else holds an item that this person could still be asked about."""
        theirs = {trial.item for trial in person.lapsed.values()}
        return any(
            trial.annotator != person.id and (trial.item not in person.seen or trial.item in theirs)
            for trial in self.memory.leases.of_arm(person.arm)
        )

    def _next(self, person: Participant) -> Trial | None:
        """One more trial for the person, held: one of theirs that had lapsed, or a new one; None if none is due."""
        purpose = self.memory.course.due(person)
        lapsed = [trial for trial in person.lapsed.values() if trial.purpose == purpose]
        if resumed := next((trial for trial in lapsed if self.take_up(person, trial)), None):
            return resumed
        pick = self._pick_for(person, purpose)
        return None if pick is None or purpose is None else self._new(person, pick, purpose)

    def _pick_for(self, person: Participant, purpose: str | None) -> NextTrial | None:
        course = self.memory.course
        if purpose == "practice":
            practice = course.practice.items()
            due = next(((item, question) for item, question in practice if item not in person.seen), None)
            return None if due is None else NextTrial(due[0], person.arm or due[1])
        if purpose == "check":
            check = course.check_due(person)
            return None if check is None else NextTrial(check, person.arm)
        if purpose == "repeat":
            return course.to_repeat(person, self.rng)
        return self.memory.leases.choose(person.seen, self.rng, person.arm) if purpose == "label" else None

    def deepened(self, trial: Trial, *, unsure: bool) -> None:
        """The deeper form has been answered in a trial that asked the usual one first."""
        trial.question = 1
        if unsure:
            trial.deeper, trial.deeper_probability = UNSURE, 1.0
        self.changes.set_trial(
            trial.id, question=trial.question, deeper=trial.deeper, deeper_probability=trial.deeper_probability
        )

    def _drawn(self, pick: NextTrial, purpose: str) -> tuple[int, DeeperDraw]:
        """Which question a new trial asks first, and whether the deeper one follows."""
        depth = self.memory.depth
        if purpose == "practice" and pick.question and depth.follows:
            return 0, DeeperDraw(PRACTICE)
        if pick.question:
            is_asked = purpose == "label" and self.study.deeper is not None
            return pick.question, DeeperDraw(WORTH, 1.0) if is_asked else NOT_ASKED
        return 0, depth.drawn(pick.item, purpose, self.rng)

    def _new(self, person: Participant, pick: NextTrial, purpose: str) -> Trial:
        question, drawn = self._drawn(pick, purpose)
        trial = Trial(
            id=self.memory.new_id("trial"),
            handle=self.chance.handle(),
            annotator=person.id,
            item=pick.item,
            number=person.n_trials + 1,
            purpose=purpose,
            state=OPEN,
            expires=self.clock.monotonic() + self._lease,
            leased_at=self.clock.now(),
            question=question,
            probability=pick.probability,
            audit=int(pick.is_audit),
            deeper=drawn.why,
            deeper_probability=drawn.probability,
        )
        person.add(trial)
        self.memory.leases.hold(trial)
        self.changes.new_trials.append(
            {name: getattr(trial, name) for name in COLUMNS} | {"expires_at": self._expires_at()}
        )
        return trial

    def _expires_at(self) -> int:
        return self.clock.steady() + round(1000 * self._lease)
