"""Leases of trials. Assigns trials to participants, renews and releases leases, and returns unanswered items to the
pool.

`LeaseTable` is the bookkeeping, in seconds on the monotonic clock; `LeaseBook` applies the study's rules and records
every change for the next commit. Only trials for a label count toward a quota and can expire; practice, checks and
repeats wait for their participant. Called from `session.py`, `answer_intake.py` and `running_study.py`.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sfumato.elicitation.assignment import ItemSelector, NextTrial, QuotaTable
from sfumato.elicitation.deeper_form_rule import NOT_ASKED, PRACTICE, UNSURE, WORTH, DeeperDraw
from sfumato.elicitation.participant import TRIAL_COLUMNS, Participant, Trial
from sfumato.store.schema import ANSWERED, LAPSED, OPEN

if TYPE_CHECKING:
    from sfumato.elicitation.running_study import RunningStudy

MAX_STALE = 1_000
"""Entries that the heap of expiry times may hold beyond twice the number of held trials."""


class LeaseTable:
    """The quotas of every item, and every trial that is being answered now. Compared forms (arms) have quotas of their
    own."""

    def __init__(self, *arms: Iterable[tuple[int, int, int]], selector: ItemSelector | None = None) -> None:
        """From (item, quota, taken) of every item, per arm; `taken` includes the trials that are then restored."""
        self._arms = [QuotaTable(items, selector) for items in arms] or [QuotaTable((), selector)]
        self._held: dict[int, Trial] = {}
        self._expiries: list[tuple[float, int]] = []
        """Expiry times as a heap. Answered trials stay in it until it is rebuilt."""
        self._by_network: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self._held.values())

    def room(self, arm: int = 0) -> int:
        """How many more answers an arm can take."""
        return self._arms[arm].room

    def of_arm(self, arm: int = 0) -> list[Trial]:
        """The trials that are being answered now, in an arm."""
        return [trial for trial in self._held.values() if len(self._arms) == 1 or trial.question == arm]

    def held_from(self, network: str) -> int:
        """How many trials are held by participants from this network who have not answered any item."""
        return self._by_network[network]

    def is_in_use(self, arm: int = 0) -> bool:
        """Whether a trial is being answered now, in an arm."""
        return bool(self._held) if len(self._arms) == 1 else any(self.of_arm(arm))

    def get(self, number: int) -> Trial | None:
        """The trial with this id, if it is held."""
        return self._held.get(number)

    def has_room(self, trial: Trial) -> bool:
        """Whether the trial could be held again."""
        return trial.purpose != "label" or trial.item in self._quotas(trial)

    def choose(self, seen: Collection[int], rng: random.Random, arm: int = 0) -> NextTrial | None:
        """The next item and question, in an arm."""
        chosen = self._arms[arm].choose(seen, rng)
        return replace(chosen, question=arm) if chosen is not None and arm else chosen

    def set_quota(self, item: int, quota: int) -> None:
        for quotas in self._arms:
            quotas.set_quota(item, quota)

    def _quotas(self, trial: Trial) -> QuotaTable:
        """The quotas a trial counts toward: those of its arm."""
        return self._arms[trial.question if len(self._arms) > 1 else 0]

    def hold(self, trial: Trial) -> None:
        """The trial is being answered."""
        if trial.purpose == "label":
            self._quotas(trial).take(trial.item)
            self.restore(trial)

    def restore(self, trial: Trial) -> None:
        """Hold a trial that is counted as taken already."""
        self._held[trial.id] = trial
        if trial.network:
            self._by_network[trial.network] += 1
        heapq.heappush(self._expiries, (trial.expires, trial.id))
        if len(self._expiries) > 2 * len(self._held) + MAX_STALE:
            self._expiries = [(held.expires, held.id) for held in self]
            heapq.heapify(self._expiries)

    def complete(self, trial: Trial) -> None:
        """The trial was answered; it stays counted."""
        self.forget_network(trial)
        self._held.pop(trial.id, None)

    def release(self, trial: Trial) -> None:
        """The trial will not be answered now; its item may go to another participant."""
        self.forget_network(trial)
        if self._held.pop(trial.id, None) is not None:
            self._quotas(trial).release(trial.item)

    def forget_network(self, trial: Trial) -> None:
        """The trial no longer counts for the network that holds it."""
        if trial.network and trial.id in self._held:
            self._by_network[trial.network] -= 1
            if not self._by_network[trial.network]:
                del self._by_network[trial.network]
        trial.network = ""

    def expired(self, now: float) -> Iterator[Trial]:
        """Trials whose lease has expired; renewed leases go back into the heap."""
        while self._expiries and self._expiries[0][0] <= now:
            _, number = heapq.heappop(self._expiries)
            trial = self._held.get(number)
            if trial is None:
                continue
            if trial.expires > now:
                heapq.heappush(self._expiries, (trial.expires, number))
            else:
                yield trial


LOOKAHEAD = 3
"""Trials leased to a participant at once: the current one and the next two, so that images load in time."""
IDLE_LEASES = 3
"""Lease lengths for which a participant can hold items without answering any. Then their leases are not renewed, and
they get one item again after they have held nothing for the length of a lease."""
NEWCOMER_SHARE = 4
"""Participants of one network who have not answered any item hold at most one in four of the open answers."""
MIN_NEWCOMER_TRIALS = 5
"""But they may hold this many in any study."""


class LeaseBook:
    """Assigns trials, and renews and releases leases, in a running study."""

    def __init__(self, running: RunningStudy) -> None:
        self._running = running
        self._study = running.study
        self._clock = running.clock
        self._seconds = 60.0 * running.study.limits.lease_minutes

    def fill_leases(self, participant: Participant) -> list[Trial]:
        """The participant's open trials in order, renewed, and filled up to the look-ahead."""
        self.renew(participant)
        held = list(participant.open.values())
        state = self._running.state
        # Near the end of a study nobody gets trials in reserve that others could answer now.
        ample = state.leases.room(participant.arm) >= LOOKAHEAD * max(1, len(state.leases))
        while not state.paused and len(held) < (LOOKAHEAD if ample else 1):
            trial = self._next(participant)
            if trial is None:
                break
            held.append(trial)
        return sorted(held, key=lambda trial: trial.number)

    def renew(self, participant: Participant) -> None:
        """Renew the participant's leases that are past half of their time, unless they have long not answered."""
        now = self._clock.monotonic()
        if self._is_idle(participant, now):
            return
        for trial in participant.open.values():
            if trial.expires - now < self._seconds / 2:
                trial.expires = now + self._seconds
                self._running.pending.set_trial(trial.id, expires_at=self._expires_at())

    def reacquire(self, participant: Participant, trial: Trial) -> bool:
        """Lease an expired trial again, if its item can still take an answer."""
        leases = self._running.state.leases
        if not leases.has_room(trial):
            return False
        participant.move(trial, OPEN)
        trial.expires = self._clock.monotonic() + self._seconds
        trial.network = self._network(participant)
        leases.hold(trial)
        self._running.pending.set_trial(trial.id, state=OPEN, expires_at=self._expires_at())
        return True

    def complete(self, participant: Participant, trial: Trial) -> None:
        """The trial was answered."""
        participant.move(trial, ANSWERED)
        participant.last_answer = self._clock.monotonic()
        leases = self._running.state.leases
        leases.complete(trial)
        if trial.purpose == "label":
            for other in participant.open.values():
                leases.forget_network(other)
        self._running.pending.set_trial(trial.id, state=ANSWERED)

    def release(self, trial: Trial) -> None:
        """Release a lease, so that the item can go to another participant."""
        state = self._running.state
        state.leases.release(trial)
        if participant := state.owner(trial):
            participant.move(trial, LAPSED)
        self._running.pending.set_trial(trial.id, state=LAPSED)

    def release_all(self, participant: Participant) -> None:
        """Release all leases of a participant."""
        for trial in list(participant.open.values()):
            self.release(trial)

    def release_expired(self) -> None:
        """Release all leases that have expired."""
        for trial in self._running.state.leases.expired(self._clock.monotonic()):
            self.release(trial)

    def may_get_more(self, participant: Participant) -> bool:
        """Whether this participant could still answer an item: others hold it, or they do not get it yet."""
        if self._running.state.leases.room(participant.arm) and self._is_held_back(participant):
            return True
        own = {trial.item for trial in participant.lapsed.values()}
        return any(
            trial.annotator != participant.id and (trial.item not in participant.seen or trial.item in own)
            for trial in self._running.state.leases.of_arm(participant.arm)
        )

    def set_deeper(self, trial: Trial, *, unsure: bool) -> None:
        """Record that the deeper form was answered in a trial that asked the usual one first."""
        trial.question = 1
        if unsure:
            trial.deeper, trial.deeper_probability = UNSURE, 1.0
        self._running.pending.set_trial(
            trial.id, question=trial.question, deeper=trial.deeper, deeper_probability=trial.deeper_probability
        )

    def _next(self, participant: Participant) -> Trial | None:
        """One more leased trial: an expired one of theirs, or a new one; None if none is due."""
        purpose = self._running.state.trial_sequence.next_purpose(participant)
        if purpose == "label" and self._is_held_back(participant):
            return None
        lapsed = [trial for trial in participant.lapsed.values() if trial.purpose == purpose]
        lapsed.sort(key=lambda trial: trial.number)
        if resumed := next((trial for trial in lapsed if self.reacquire(participant, trial)), None):
            return resumed
        chosen = self._choose(participant, purpose)
        return None if chosen is None or purpose is None else self._new_trial(participant, chosen, purpose)

    def _is_idle(self, participant: Participant, now: float) -> bool:
        """Whether a participant has held items for too long without answering any."""
        since = now - IDLE_LEASES * self._seconds
        return participant.last_answer <= since and any(
            trial.leased <= since
            for trial in (*participant.open.values(), *participant.lapsed.values())
            if trial.purpose == "label"
        )

    def _is_held_back(self, participant: Participant) -> bool:
        """Whether a participant gets no item now: idle, and not long enough without a lease; or one newcomer of many
        from the same network."""
        now = self._clock.monotonic()
        if self._is_idle(participant, now):
            held = (*participant.open.values(), *participant.lapsed.values())
            return any(now < trial.expires + self._seconds for trial in held if trial.purpose == "label")
        if not (network := self._network(participant)):
            return False
        leases = self._running.state.leases
        most = max(MIN_NEWCOMER_TRIALS, (leases.room(participant.arm) + len(leases)) // NEWCOMER_SHARE)
        return leases.held_from(network) >= most

    def _network(self, participant: Participant) -> str:
        """The network that a new lease counts for; empty if the participant has answered an item."""
        return "" if participant.labels else self._running.network

    def _choose(self, participant: Participant, purpose: str | None) -> NextTrial | None:
        state, rng = self._running.state, self._running.rng
        sequence = state.trial_sequence
        if purpose == "practice":
            practice = sequence.practice.items()
            due = next(((item, question) for item, question in practice if item not in participant.seen), None)
            return None if due is None else NextTrial(due[0], participant.arm or due[1])
        if purpose in ("check", "repeat") and self._running.selector is not None:
            # Not used: a reply that assigns a check or a repeat takes as long as the assignment of an item.
            state.leases.choose(participant.seen, rng, participant.arm)
        if purpose == "check":
            check = sequence.next_check(participant)
            return None if check is None else NextTrial(check, participant.arm)
        if purpose == "repeat":
            return sequence.next_repeat(participant, rng)
        return state.leases.choose(participant.seen, rng, participant.arm) if purpose == "label" else None

    def _draw_question(self, chosen: NextTrial, purpose: str) -> tuple[int, DeeperDraw]:
        """Which question a new trial asks first, and whether the deeper one follows."""
        deeper_form = self._running.state.deeper_form
        if purpose == "practice" and chosen.question and deeper_form.follows:
            return 0, DeeperDraw(PRACTICE)
        if chosen.question:
            is_asked = purpose == "label" and self._study.deeper is not None
            return chosen.question, DeeperDraw(WORTH, 1.0) if is_asked else NOT_ASKED
        return 0, deeper_form.draw(chosen.item, purpose, self._running.rng)

    def _new_trial(self, participant: Participant, chosen: NextTrial, purpose: str) -> Trial:
        running, state = self._running, self._running.state
        question, draw = self._draw_question(chosen, purpose)
        trial = Trial(
            id=state.new_id("trial"),
            handle=running.secure_random.handle(),
            annotator=participant.id,
            item=chosen.item,
            number=participant.n_trials + 1,
            purpose=purpose,
            state=OPEN,
            expires=self._clock.monotonic() + self._seconds,
            leased_at=self._clock.now(),
            question=question,
            probability=chosen.probability,
            audit=int(chosen.is_audit),
            deeper=draw.why,
            deeper_probability=draw.probability,
            leased=self._clock.monotonic(),
            network=self._network(participant) if purpose == "label" else "",
        )
        participant.add(trial)
        state.leases.hold(trial)
        row = {name: getattr(trial, name) for name in TRIAL_COLUMNS}
        running.pending.new_trials.append(row | {"expires_at": self._expires_at()})
        return trial

    def _expires_at(self) -> int:
        return self._clock.steady() + round(1000 * self._seconds)
