"""The state of a running study in memory, so that storing an answer needs no queries.

Read from the store when a server starts, and again whenever the store may differ: after a failed group, or when another
server of the same PostgreSQL database has written.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any, Protocol

import msgspec
import sqlalchemy as sa

from sfumato.elicitation.assignment import AnswerEvent, ItemSelector
from sfumato.elicitation.deeper_form_rule import DeeperFormRule
from sfumato.elicitation.kind import label_of
from sfumato.elicitation.kinds import kinds_of
from sfumato.elicitation.lease import LeaseTable
from sfumato.elicitation.participant import TRIAL_COLUMNS, AnswerReceipt, Participant, Trial
from sfumato.elicitation.trial_sequence import TrialSequence
from sfumato.store import queries
from sfumato.store.schema import Row
from sfumato.store.verification import chain_hash
from sfumato.study.stimulus import Stimulus
from sfumato.study.study import Region, Study
from sfumato.tables.errors import SfumatoError


class CheckJudge(Protocol):
    """Decides whether an answer passes a check; implemented by `labeling.attention_checks`, which reads answers."""

    def passes(self, region: Region, question: int, payload: Any) -> bool:
        """Whether an answer (plain JSON values) to one of the study's questions is in the region."""


MAX_PARTICIPANTS = 10_000
"""Participants kept in memory; the one seen longest ago is dropped first, and read again when they come back."""
MAX_FINISHED = 200
"""How many of them may have finished."""


class StudyState:
    """The items, leases and participants of one study."""

    def __init__(
        self,
        connection: sa.Connection,
        study: Study,
        number: int,
        *,
        now: int,
        monotonic: float,
        selector: ItemSelector | None = None,
        check_judge: CheckJudge | None = None,
    ) -> None:
        """`now` is in milliseconds, `monotonic` in seconds on the clock of leases. The selector gets all answers."""
        self._check_judge = check_judge
        known = queries.stimuli(connection, number)
        taken = queries.taken(connection, number)
        first = {stimulus.item: item for item, (stimulus, _) in reversed(known.items())}
        row = queries.study_row(connection, study.name)
        self.number = number
        self.stimuli: dict[int, Stimulus] = {item: stimulus for item, (stimulus, _) in known.items()}
        self.trial_sequence = TrialSequence(
            study.people,
            {first[each.item]: int(each.deeper) for each in study.practice if each.item in first},
            {first[each.item]: each.at for each in study.checks if each.item in first},
            sum(quota > 0 and stimulus.item not in study.special_items for stimulus, quota in known.values()) or None,
            study.quality.checks_per_person,
        )
        regions = [(each.item, each.region) for each in study.checks]
        regions += [(each.item, each.region) for each in study.practice if each.region is not None]
        self.regions = {first[item]: region for item, region in regions if item in first}
        """The region an answer must be in, for each check and for practice items that have one."""
        self._check_regions = [each.region for each in study.checks]
        assert row is not None, "a study is registered before its state is read"
        self.paused = row["paused_at"] is not None
        self.secret: str = row["secret"]
        self.head: str = row["head"]
        """The hash of the last answer."""
        self.n_answers: int = row["n_answers"]
        self._next_ids = queries.next_ids(connection, number)
        n_forms = max(len(study.questions), 1)
        # Arms have separate quotas; the deeper form of an adaptive study shares those of the usual one.
        forms = [(arm,) for arm in range(n_forms)] if study.arms else [tuple(range(n_forms))]
        quotas = [
            [(item, quota, sum(taken.get((item, form), 0) for form in each)) for item, (_, quota) in known.items()]
            for each in forms
        ]
        if selector is not None:
            names = {item: stimulus.item for item, (stimulus, _) in known.items()}
            selector.begin(quotas[0], names, _answer_events(connection, study, number), self.secret)
        self.leases = LeaseTable(*quotas, selector=selector)
        listed = () if study.deeper is None else study.deeper.items
        self.deeper_form = DeeperFormRule(study.deeper, [first[each] for each in listed if each in first])
        if study.deeper is not None and study.deeper.disagreement is not None:
            for item, chosen in queries.first_chosen(connection, number):
                self.deeper_form.add_choice(item, chosen)
        self._n_in_arm = queries.people_in_arms(connection, number) if study.arms else {}
        self._n_arms = len(study.arms)
        self._lease_seconds = 60.0 * study.limits.lease_minutes
        self._participants: dict[str, Participant] = {}
        self._by_id: dict[int, Participant] = {}
        self._finished: dict[str, None] = {}
        self._first_links: dict[str, str] = {}
        """The hash of the first link, under which a participant is kept, by that of each further one."""
        for trial in queries.open_trials(connection, number):
            if trial["purpose"] == "label":
                self.leases.restore(self._trial(trial, now, monotonic))

    def participant(self, connection: sa.Connection, token_hash: str, now: int, monotonic: float) -> Participant | None:
        """The participant of a link with everything they did; None if the link is new."""
        participant = self._participants.pop(self._first_links.get(token_hash, token_hash), None)
        if participant is None:
            row = queries.annotator_by_token(connection, self.number, token_hash)
            if row is None:
                return None
            if row["token_hash"] != token_hash:
                self._first_links[token_hash] = row["token_hash"]
                participant = self._participants.pop(row["token_hash"], None)
            participant = participant or self._restored(connection, Participant.of(row), now, monotonic)
        # Inserted last, so that the first in the dictionary was seen longest ago.
        self.keep(participant)
        return participant

    def keep(self, participant: Participant) -> None:
        """Keep a participant in memory."""
        self._participants[participant.token_hash] = participant
        self._by_id[participant.id] = participant

    def owner(self, trial: Trial) -> Participant | None:
        """The participant of a trial, if they are in memory."""
        return self._by_id.get(trial.annotator)

    def new_id(self, table: str) -> int:
        """An id for a new row of `table`."""
        number = self._next_ids[table]
        self._next_ids[table] = number + 1
        return number

    def chain(self, row: Row) -> str:
        """The chain hash of a new answer, which becomes the last one."""
        self.head = chain_hash(self.head, row)
        self.n_answers += 1
        return self.head

    def passes(self, trial: Trial, payload: Any) -> bool:
        """Whether an answer is in the region of its item; true where the study has no (or no longer a) region."""
        region = self.regions.get(trial.item)
        if region is None or self._check_judge is None:
            return True
        return self._check_judge.passes(region, trial.question, payload)

    def failed_check(self, trial: Trial, payload: Any) -> bool:
        """Whether this is an answer to a check and not in its region. Every other answer is compared with a region of
        the study too, without effect: otherwise the reply to a check would take longer than others."""
        if not self._check_regions or self._check_judge is None:
            return False
        if trial.purpose == "check" and trial.item in self.regions:
            return not self._check_judge.passes(self.regions[trial.item], trial.question, payload)
        # An answer that cannot be compared is still an answer.
        with contextlib.suppress(SfumatoError):
            self._check_judge.passes(self._check_regions[0], trial.question, payload)
        return False

    def new_arm(self, rng: random.Random) -> int:
        """The arm of a new participant: random among those with the fewest participants that are not full."""
        if not self._n_arms:
            return 0
        arms = [arm for arm in range(self._n_arms) if not self.is_full(arm)] or list(range(self._n_arms))
        fewest = min(self._n_in_arm.get(arm, 0) for arm in arms)
        arm = rng.choice([arm for arm in arms if self._n_in_arm.get(arm, 0) == fewest])
        self._n_in_arm[arm] = fewest + 1
        return arm

    def is_full(self, arm: int | None = None) -> bool:
        """Whether every item has its answers, in an arm or in all; an item that is being answered has not yet."""
        arms = range(max(self._n_arms, 1)) if arm is None else (arm,)
        return not any(self.leases.room(each) > 0 or self.leases.is_in_use(each) for each in arms)

    def trim(self) -> None:
        """Drop participants when there are too many in memory; only between groups, when all is written."""
        while len(self._participants) > MAX_PARTICIPANTS:
            self._drop(next(iter(self._participants)))
        while len(self._finished) > MAX_FINISHED:
            self._drop(next(iter(self._finished)))
        if len(self._first_links) > MAX_PARTICIPANTS:
            self._first_links.clear()

    def mark_finished(self, participant: Participant) -> None:
        """Note that a participant has finished, so that `trim` may drop them early."""
        self._finished[participant.token_hash] = None

    def _drop(self, token_hash: str) -> None:
        self._finished.pop(token_hash, None)
        if (dropped := self._participants.pop(token_hash, None)) is not None:
            del self._by_id[dropped.id]

    def _restored(self, connection: sa.Connection, participant: Participant, now: int, monotonic: float) -> Participant:
        for row in queries.trials_of(connection, participant.id):
            participant.add(self.leases.get(row["id"]) or self._trial(row, now, monotonic))
            if row["key"] is not None:
                answered = monotonic - max(now - row["received_at"], 0) / 1000
                participant.last_answer = max(participant.last_answer, answered)
                participant.note(row["key"], AnswerReceipt(row["digest"], row["answer"]))
                participant.busy_until = participant.last_answer
        if self.regions:
            for row in queries.checks_of(connection, participant.id):
                trial = self._trial(row, now, monotonic)
                participant.failed += not self.passes(trial, msgspec.json.decode(row["payload"]))
        for row in queries.refused_of(connection, participant.id):
            participant.note(row["key"], AnswerReceipt(row["digest"], None, row["code"]))
            participant.n_refused += 1
            participant.n_refused_bytes += row["size"]
        return participant

    def _trial(self, row: Row, now: int, monotonic: float) -> Trial:
        # The rest of the lease by the system clock, and at most a whole lease: that clock may have jumped.
        left = min((row["expires_at"] - now) / 1000, self._lease_seconds)
        leased = monotonic - max(now - row["leased_at"], 0) / 1000
        columns = {name: row[name] for name in TRIAL_COLUMNS}
        return Trial(expires=monotonic + left, answer=row.get("answer"), leased=leased, **columns)


def _answer_events(connection: sa.Connection, study: Study, number: int) -> Iterator[AnswerEvent]:
    """Every answer for a label, equal ones counted together."""
    questions = {label_of(kind): place for place, kind in enumerate(kinds_of(study))}
    for row in queries.answer_rows(connection, number):
        if row["kind"] in questions:
            payload = msgspec.json.decode(row["payload"])
            yield AnswerEvent(row["item"], questions[row["kind"]], payload, row["n"], bool(row["audit"]))
