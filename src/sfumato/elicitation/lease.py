"""Leases: who holds which item, until when, and what of each item's quota is still to be had.

Times are seconds on a clock that never jumps. Only trials for a label take from a quota and can lapse; practice and
repeats wait for their person.

Turns: which trials a person holds, how they come by them, and how what is not answered goes back to others.

Works on what is remembered of the study, and notes every change for the store. Not a second set of rules:
`RunningStudy` asks it, within the same group of requests.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sfumato.elicitation.assignment import ItemSelector, NextTrial, QuotaTable
from sfumato.elicitation.clock import Clock
from sfumato.elicitation.deeper_form import NOT_ASKED, PRACTICE, UNSURE, WORTH, DeeperDraw
from sfumato.elicitation.participant import Participant, Trial
from sfumato.elicitation.secure_random import SecureRandom
from sfumato.store.queries import PendingWrites
from sfumato.store.schema import ANSWERED, LAPSED, OPEN
from sfumato.study.study import Study

if TYPE_CHECKING:
    from sfumato.elicitation.study_state import StudyState

MOST_OVER = 1_000
"""How many ends of leases may be in line beyond twice those of trials that are held."""


class LeaseTable:
    """Every item's openings, and every trial that is being answered now. Where forms are compared each arm has openings
    of its own."""

    def __init__(self, *arms: Iterable[tuple[int, int, int]], guide: ItemSelector | None = None) -> None:
        """From (item, quota, taken) of every item, arm by arm; `taken` counts trials that are then `restore`d."""
        self._arms = [QuotaTable(items, guide) for items in arms] or [QuotaTable((), guide)]
        self._held: dict[int, Trial] = {}
        self._due: list[tuple[float, int]] = []
        """When leases end, as a heap. Trials that were answered stay in it until it is made anew."""

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self._held.values())

    def room(self, arm: int = 0) -> int:
        """Answers that could still be asked for, in an arm."""
        return self._arms[arm].room

    def of_arm(self, arm: int = 0) -> list[Trial]:
        """The trials that are being answered now, in an arm."""
        return [trial for trial in self._held.values() if len(self._arms) == 1 or trial.question == arm]

    def get(self, number: int) -> Trial | None:
        """The trial with this id, if it is held."""
        return self._held.get(number)

    def has_room(self, trial: Trial) -> bool:
        """Whether the trial could be held again."""
        return trial.purpose != "label" or trial.item in self._of(trial)

    def choose(self, seen: Collection[int], rng: random.Random, arm: int = 0) -> NextTrial | None:
        """What to ask next, in an arm."""
        pick = self._arms[arm].choose(seen, rng)
        return replace(pick, question=arm) if pick is not None and arm else pick

    def set_quota(self, item: int, quota: int) -> None:
        for openings in self._arms:
            openings.set_quota(item, quota)

    def _of(self, trial: Trial) -> QuotaTable:
        """The openings a trial takes from: those of its arm, whose form it asks with."""
        return self._arms[trial.question if len(self._arms) > 1 else 0]

    def hold(self, trial: Trial) -> None:
        """The trial is being answered."""
        if trial.purpose == "label":
            self._of(trial).take(trial.item)
            self.restore(trial)

    def restore(self, trial: Trial) -> None:
        """The trial was held before, and is counted as taken already."""
        self._held[trial.id] = trial
        heapq.heappush(self._due, (trial.expires, trial.id))
        if len(self._due) > 2 * len(self._held) + MOST_OVER:
            self._due = [(held.expires, held.id) for held in self]
            heapq.heapify(self._due)

    def answered(self, trial: Trial) -> None:
        """The trial's answer has come; what it took stays taken."""
        self._held.pop(trial.id, None)

    def give_back(self, trial: Trial) -> None:
        """The trial will not be answered now; its item may go to somebody else."""
        if self._held.pop(trial.id, None) is not None:
            self._of(trial).give_back(trial.item)

    def overdue(self, now: float) -> Iterator[Trial]:
        """Trials held too long; a renewed lease is put back in line."""
        while self._due and self._due[0][0] <= now:
            _, number = heapq.heappop(self._due)
            trial = self._held.get(number)
            if trial is None:
                continue
            if trial.expires > now:
                heapq.heappush(self._due, (trial.expires, number))
            else:
                yield trial


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
