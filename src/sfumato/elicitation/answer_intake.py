"""The intake of answers: each is stored once, for the trial it belongs to and never past its item's quota; what comes
again hears what the first one heard, and what comes too late is kept aside.

Not a second set of rules: `RunningStudy` asks it, within the same group of requests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import sqlalchemy as sa

from sfumato.elicitation.assignment import AnswerEvent, ItemSelector
from sfumato.elicitation.clock import Clock
from sfumato.elicitation.kind import Kind, label_of
from sfumato.elicitation.lease import LeaseBook
from sfumato.elicitation.participant import AnswerReceipt, Participant, Trial
from sfumato.elicitation.participant_state import SubmittedAnswer
from sfumato.elicitation.secure_random import SecureRandom
from sfumato.elicitation.study_state import StudyState
from sfumato.store import queries
from sfumato.store.interaction_record import InteractionRecord
from sfumato.store.schema import LAPSED
from sfumato.study.study import Study
from sfumato.tables.errors import InvalidAnswer, NotThere, show


@dataclass(frozen=True, slots=True)
class IntakeResult:
    """What became of an answer: stored now under the name `answer`, stored before (`again`), or refused with `code`."""

    answer: str | None
    code: str | None = None
    again: bool = False
    passed: bool | None = None
    """Of a practice answer, whether it lies where it should; None where the study does not say."""
    failed_check: bool = False


@dataclass
class AnswerIntake:
    """Takes the answers of one study."""

    study: Study
    number: int
    """The study's id in the store."""
    kinds: Sequence[Kind]
    memory: StudyState
    turns: LeaseBook
    changes: queries.PendingWrites
    clock: Clock
    chance: SecureRandom
    guide: ItemSelector | None
    written: Callable[[], sa.Connection]
    """The connection, with everything decided so far in this group visible to it."""

    def receive(self, person: Participant, sent: SubmittedAnswer) -> IntakeResult:
        """Take an answer, or say what became of it before."""
        if hash(sent.key) in person.sent and (receipt := self._receipt(person, sent.key)):
            return _again(receipt, sent)
        trial = person.trials.get(sent.trial)
        if trial is None:
            return self._keep_aside(person, self._answered_trial(person, sent.trial), sent, "already-answered")
        question = self._question(trial, sent.record)
        payload = self.kinds[question].parse(sent.answer, self.memory.stimuli[trial.item], self.study)
        if person.withdrawn_at is not None and self.clock.now() - sent.age_ms >= person.withdrawn_at:
            return self._keep_aside(person, trial.id, sent, "withdrawn")
        if trial.state == LAPSED and not self.turns.take_up(person, trial):
            return self._keep_aside(person, trial.id, sent, "given-to-others")
        return self._store(person, trial, sent, payload)

    def _question(self, trial: Trial, record: InteractionRecord) -> int:
        """Which question an answer is to: that of its trial, or the deeper one that opened after it."""
        deeper = self.study.deeper
        is_drawn = trial.question == 0 and trial.deeper is not None and deeper is not None
        if not record.opened:
            if is_drawn:
                raise _not_as_asked("the choice alone", "the deeper form as well")
            return trial.question
        fits = is_drawn if record.opened == "asked" else deeper is not None and deeper.unsure and trial.question == 0
        if not fits or (record.first is None) != (record.opened == "unsure"):
            raise _not_as_asked(f"the deeper form, opened by {show(record.opened)}", "the form that was asked")
        if record.first is not None:
            self.kinds[0].parse(record.first, self.memory.stimuli[trial.item], self.study)
        return 1

    def _store(self, person: Participant, trial: Trial, sent: SubmittedAnswer, payload: Any) -> IntakeResult:
        now = self.clock.now()
        # Whatever the browser's clock says, nobody answers what they have not been given.
        submitted = max(now - sent.age_ms, trial.leased_at)
        trial.answer = self.chance.handle()
        if sent.record.opened:
            self.turns.deepened(trial, unsure=sent.record.opened == "unsure")
        self.turns.answered(person, trial)
        person.note(sent.key, AnswerReceipt(sent.digest, trial.answer))
        if trial.purpose == "label":
            self._tell(trial, sent.record, payload)
        row = {
            "id": self.memory.new_id("answer"),
            "study": self.number,
            "annotator": person.id,
            "item": trial.item,
            "trial": trial.id,
            "number": trial.number,
            "purpose": trial.purpose,
            "kind": label_of(self.kinds[trial.question]),
            "payload": msgspec.json.encode(payload).decode(),
            "started_at": submitted - round(sent.record.elapsed_ms),
            "submitted_at": submitted,
            "received_at": now,
            "seconds": sent.record.seconds(),
            "key": sent.key,
            "digest": sent.digest,
            "handle": trial.answer,
            "record": msgspec.json.encode(sent.record).decode(),
        }
        self.changes.new_answers.append(row | {"chain": self.memory.chain(row)})
        return self._judged(person, trial, payload)

    def _tell(self, trial: Trial, record: InteractionRecord, payload: Any) -> None:
        """Let those who decide what is asked next know what was said."""
        if self.guide is not None:
            self.guide.heard(AnswerEvent(trial.item, trial.question, msgspec.to_builtins(payload)))
        if self.memory.depth.follows and (record.opened or trial.question == 0):
            first = record.first if record.opened else msgspec.to_builtins(payload)
            self.memory.depth.heard(trial.item, first["class"] if first else None)

    def _judged(self, person: Participant, trial: Trial, payload: Any) -> IntakeResult:
        """An answer that was stored, held against where it should lie."""
        if trial.purpose == "check":
            failed = not self.memory.passed(trial, msgspec.to_builtins(payload))
            person.failed += failed
            return IntakeResult(trial.answer, failed_check=failed)
        if trial.purpose == "practice" and trial.item in self.memory.regions:
            return IntakeResult(trial.answer, passed=self.memory.passed(trial, msgspec.to_builtins(payload)))
        return IntakeResult(trial.answer)

    def _keep_aside(self, person: Participant, trial: int, sent: SubmittedAnswer, code: str) -> IntakeResult:
        """Refuse an answer, but keep it where the researcher can find it."""
        person.note(sent.key, AnswerReceipt(sent.digest, None, code))
        self.changes.new_refused.append(
            {
                "id": self.memory.new_id("refused"),
                "study": self.number,
                "annotator": person.id,
                "trial": trial,
                "code": code,
                "body": sent.body,
                "received_at": self.clock.now(),
                "key": sent.key,
                "digest": sent.digest,
            }
        )
        return IntakeResult(None, code)

    def _receipt(self, person: Participant, key: str) -> AnswerReceipt | None:
        """What became of the answer sent under `key`, if one was."""
        if key in person.receipts:
            return person.receipts[key]
        row = queries.sent_under(self.written(), person.id, key)
        return None if row is None else AnswerReceipt(row["digest"], row["handle"], row["code"])

    def _answered_trial(self, person: Participant, handle: str) -> int:
        """The id of a trial of theirs that is over."""
        row = queries.trial_with(self.written(), person.id, handle)
        if row is None:
            raise _no_such_trial(handle)
        return int(row["id"])


def _again(receipt: AnswerReceipt, sent: SubmittedAnswer) -> IntakeResult:
    if receipt.digest != sent.digest:
        raise InvalidAnswer(
            "found another answer under a key that was used before",
            expected="the same answer, or a new key",
            fix="answer the question again",
            code="key-reused",
        )
    return IntakeResult(receipt.answer, receipt.code, again=True)


def _not_as_asked(found: str, expected: str) -> InvalidAnswer:
    return InvalidAnswer(
        f"found {found}",
        expected=expected,
        fix="answer the question again; if it comes back, tell the researcher",
        code="not-as-asked",
    )


def _no_such_trial(handle: str) -> NotThere:
    return NotThere(
        f"found the trial {show(handle)}",
        expected="a trial of yours",
        fix="reload the page",
        code="unknown-trial",
    )
