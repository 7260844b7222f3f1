"""Storing answers: each one once, for its own trial, and never beyond its item's quota.

A repeated request gets the result of the first one. Answers that come too late are stored separately as refused, up to
a limit per participant; after a withdrawal nothing is stored. Called only from `session.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from sfumato.elicitation.assignment import AnswerEvent
from sfumato.elicitation.kind import label_of
from sfumato.elicitation.page_messages import SubmitResult, SubmittedAnswer
from sfumato.elicitation.participant import AnswerReceipt, Participant, Trial
from sfumato.store import queries
from sfumato.store.interaction_record import InteractionRecord
from sfumato.store.schema import LAPSED
from sfumato.tables.errors import InvalidAnswer, NotThere, show

if TYPE_CHECKING:
    from sfumato.elicitation.running_study import RunningStudy

MAX_REFUSED, MAX_REFUSED_BYTES = 50, 64 * 1024
"""Refused answers of one participant that are stored. An honest page sends a few, of some kilobytes in all."""


class AnswerIntake:
    """Validates and stores the answers of a running study."""

    def __init__(self, running: RunningStudy) -> None:
        self._running = running
        self._study = running.study
        self._leases = running.lease_book

    def receive(self, participant: Participant, submitted: SubmittedAnswer) -> SubmitResult:
        """Store an answer, or return what happened to it before."""
        running = self._running
        if hash(submitted.key) in participant.sent and (receipt := self._receipt(participant, submitted.key)):
            return _again(receipt, submitted)
        if participant.withdrawn_at is not None:
            # Whatever the age of the answer is said to be: the page sends what it has before it withdraws.
            return SubmitResult(None, "withdrawn")
        trial = participant.trials.get(submitted.trial)
        if trial is None:
            number = self._answered_trial(participant, submitted.trial)
            return self._refuse(participant, number, submitted, "already-answered")
        question = self._question(trial, submitted.record)
        payload = running.kinds[question].parse(submitted.answer, running.state.stimuli[trial.item], self._study)
        if trial.state == LAPSED and not self._leases.reacquire(participant, trial):
            return self._refuse(participant, trial.id, submitted, "given-to-others")
        return self._store(participant, trial, submitted, payload)

    def _question(self, trial: Trial, record: InteractionRecord) -> int:
        """The question an answer is for: that of its trial, or the deeper one that opened after it."""
        deeper = self._study.deeper
        is_drawn = trial.question == 0 and trial.deeper is not None and deeper is not None
        if not record.opened:
            if is_drawn:
                raise _not_as_asked("the choice alone", "the deeper form as well")
            return trial.question
        fits = is_drawn if record.opened == "asked" else deeper is not None and deeper.unsure and trial.question == 0
        if not fits or (record.first is None) != (record.opened == "unsure"):
            raise _not_as_asked(f"the deeper form, opened by {show(record.opened)}", "the form that was asked")
        if record.first is not None:
            self._running.kinds[0].parse(record.first, self._running.state.stimuli[trial.item], self._study)
        return 1

    def _store(self, participant: Participant, trial: Trial, submitted: SubmittedAnswer, payload: Any) -> SubmitResult:
        running, state, record = self._running, self._running.state, submitted.record
        now = running.clock.now()
        # Whatever the browser's clock says, an answer is never earlier than its trial.
        submitted_at = max(now - submitted.age_ms, trial.leased_at)
        taken_ms = self._time_taken(participant, trial, record.elapsed_ms)
        trial.answer = running.secure_random.handle()
        if record.opened:
            self._leases.set_deeper(trial, unsure=record.opened == "unsure")
        self._leases.complete(participant, trial)
        participant.note(submitted.key, AnswerReceipt(submitted.digest, trial.answer))
        self._notify_selectors(trial, record, payload)
        row = {
            "id": state.new_id("answer"),
            "study": running.number,
            "annotator": participant.id,
            "item": trial.item,
            "trial": trial.id,
            "number": trial.number,
            "purpose": trial.purpose,
            "kind": label_of(running.kinds[trial.question]),
            "payload": msgspec.json.encode(payload).decode(),
            "started_at": submitted_at - round(taken_ms),
            "submitted_at": submitted_at,
            "received_at": now,
            "seconds": min(record.seconds(), taken_ms / 1000),
            "key": submitted.key,
            "digest": submitted.digest,
            "handle": trial.answer,
            "record": msgspec.json.encode(record).decode(),
        }
        running.pending.new_answers.append(row | {"chain": state.chain(row)})
        return self._judge(participant, trial, payload)

    def _time_taken(self, participant: Participant, trial: Trial, claimed_ms: float) -> float:
        """The milliseconds that an answer can have taken by the server's clock: at most what the browser claims.

        A participant looks at one trial at a time, and at none before it was assigned. So the claimed times of their
        answers must fit one after another between assignment and receipt. Each is placed as early as possible: the
        times of an honest browser always fit, also when answers given offline arrive together. The claim itself stays
        in the record.
        """
        if self._running.trusts_times:
            return claimed_ms
        begins = max(trial.leased, participant.busy_until)
        taken_ms = min(claimed_ms, max(1000 * (self._running.clock.monotonic() - begins), 0.0))
        participant.busy_until = begins + taken_ms / 1000
        return taken_ms

    def _notify_selectors(self, trial: Trial, record: InteractionRecord, payload: Any) -> None:
        """Pass the answer to the rules that choose the next item and the next form. Checks and repeats count for
        nothing there, but take as long, so that response times do not tell them."""
        selector, deeper_form = self._running.selector, self._running.state.deeper_form
        is_label = trial.purpose == "label"
        if selector is not None and trial.purpose != "practice":
            given = msgspec.to_builtins(payload)
            event = AnswerEvent(trial.item, trial.question, given, int(is_label), is_audit=bool(trial.audit))
            selector.add_answer(event)
        if is_label and deeper_form.follows and (record.opened or trial.question == 0):
            first = record.first if record.opened else msgspec.to_builtins(payload)
            deeper_form.add_choice(trial.item, first["class"] if first else None)

    def _judge(self, participant: Participant, trial: Trial, payload: Any) -> SubmitResult:
        """Count a failed check; report whether a practice answer is in its region."""
        state = self._running.state
        if trial.purpose == "practice":
            if trial.item in state.regions:
                return SubmitResult(trial.answer, passed=state.passes(trial, msgspec.to_builtins(payload)))
            return SubmitResult(trial.answer)
        participant.failed += state.failed_check(trial, msgspec.to_builtins(payload))
        return SubmitResult(trial.answer)

    def _refuse(self, participant: Participant, trial: int, submitted: SubmittedAnswer, code: str) -> SubmitResult:
        """Refuse an answer, but store it among the refused ones, as long as there are few."""
        running = self._running
        size = participant.n_refused_bytes + len(submitted.body)
        if participant.n_refused >= MAX_REFUSED or size > MAX_REFUSED_BYTES:
            # Sent again, it is refused for the same reason.
            return SubmitResult(None, code)
        participant.n_refused, participant.n_refused_bytes = participant.n_refused + 1, size
        participant.note(submitted.key, AnswerReceipt(submitted.digest, None, code))
        running.pending.new_refused.append(
            {
                "id": running.state.new_id("refused"),
                "study": running.number,
                "annotator": participant.id,
                "trial": trial,
                "code": code,
                "body": submitted.body,
                "received_at": running.clock.now(),
                "key": submitted.key,
                "digest": submitted.digest,
            }
        )
        return SubmitResult(None, code)

    def _receipt(self, participant: Participant, key: str) -> AnswerReceipt | None:
        """What happened to the answer sent under `key`, if there was one."""
        if key in participant.receipts:
            return participant.receipts[key]
        row = queries.sent_under(self._running.connection(), participant.id, key)
        return None if row is None else AnswerReceipt(row["digest"], row["handle"], row["code"])

    def _answered_trial(self, participant: Participant, handle: str) -> int:
        """The id of a participant's trial that is over."""
        row = queries.trial_with(self._running.connection(), participant.id, handle)
        if row is None:
            raise NotThere(f"the trial {show(handle)}", "a trial of yours", "reload the page", code="unknown-trial")
        return int(row["id"])


def _again(receipt: AnswerReceipt, submitted: SubmittedAnswer) -> SubmitResult:
    if receipt.digest != submitted.digest:
        found = "another answer under a key that was used before"
        raise InvalidAnswer(found, "the same answer, or a new key", "answer the question again", "key-reused")
    return SubmitResult(receipt.answer, receipt.code, again=True)


def _not_as_asked(found: str, expected: str) -> InvalidAnswer:
    fix = "answer the question again; if this happens again, contact the researcher"
    return InvalidAnswer(found, expected, fix, "not-as-asked")
