"""Participants' requests: opening a link, consent, instructions, comprehension questions, trials, withdrawal.

Called through `RunningStudy.sessions`, in the one writing thread, so no request sees another one half done. Leases are
in `lease.py`, storing answers in `answer_intake.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfumato.elicitation.answer_intake import AnswerIntake
from sfumato.elicitation.page_messages import (
    NewParticipant,
    ParticipantState,
    Redirect,
    SessionStart,
    ShownTrial,
    SubmitResult,
    SubmittedAnswer,
)
from sfumato.elicitation.participant import CHECKING, REFUSED, UNVERIFIED, Participant, Trial
from sfumato.elicitation.participant_link import (
    LinkEnded,
    hash_of,
    is_signed,
    made_at,
    network_code,
    new_token,
    oldest_valid,
    owner_in,
    owner_tag,
)
from sfumato.store import queries
from sfumato.study.study import Entry
from sfumato.tables.errors import InvalidAnswer, NotNow, NotThere

if TYPE_CHECKING:
    from sfumato.elicitation.running_study import RunningStudy

SEEN_INTERVAL_MS = 30_000
"""Milliseconds between two updates of `seen_at`."""
CHECK_MS = 120_000
"""How long new participants wait for the platform to confirm them; then they begin, and are paid only after it does."""
DOOR = ("consent", "instructions", "comprehension")
"""The stages before the first trial."""


class StudyClosed(NotNow):
    """A new participant would get nothing to do: the study is `full` or `paused`."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        fix = "come back later" if reason == "paused" else "no more answers are needed"
        code = "study-paused" if reason == "paused" else "study-full"
        super().__init__(f"a study that is {reason}", "a study that takes new participants", fix, code)

    def __reduce__(self) -> tuple[type[StudyClosed], tuple[str]]:
        return StudyClosed, (self.reason,)


class ParticipantSessions:
    """The visits of all participants of a running study."""

    def __init__(self, running: RunningStudy) -> None:
        self._running = running
        self._study = running.study
        self._clock = running.clock
        self._leases = running.lease_book
        self._intake = AnswerIntake(running)

    # --- requests ---

    def join(self) -> NewParticipant:
        """Add a participant to a study with open entry."""
        if self._study.people.entry is not Entry.OPEN:
            fix = "open the study by that link, or ask the researcher for one"
            raise NotNow("no link", "the personal link you were given", fix, "links-only")
        self.check_open()
        return self.add_participant(new_token(self._running.secret))

    def closed(self) -> str | None:
        """Why a new participant would get nothing to do: `paused` or `full`; None if the study is open."""
        state = self._running.state
        return "paused" if state.paused else "full" if state.is_full() else None

    def check_open(self) -> None:
        """Raise `StudyClosed` unless a new participant would get something to do."""
        if reason := self.closed():
            raise StudyClosed(reason)

    def open_link(self, token: str, language: str | None = None, network: str = "") -> SessionStart:
        """Start or resume the session of a link; the participant is added when the link is first opened.

        Participants keep the language of their first visit, as long as the study has it. Of the `network` of that
        visit a keyed hash is stored, so that several accounts of one person can be found.
        """
        participant = self._find(hash_of(token))
        if participant is None:
            if not is_signed(token, self._running.secret):
                raise no_such_link()
            if self._is_expired(made_at(token)):
                raise LinkEnded
            if owner := owner_in(token):
                self._add_link_of_owner(owner, token)
            else:
                self.check_open()
                self.add_participant(token)
            participant = self._participant(hash_of(token))
        elif self._has_ended(participant):
            raise LinkEnded
        self._see(participant)
        if participant.network is None and network:
            self._set(participant, network=network_code(self._running.secret, network))
        if participant.language not in self._study.languages:
            known = language in self._study.languages
            self._set(participant, language=language if known else self._study.languages[0])
        declined = self._redirect(participant, "no_consent")
        return SessionStart(participant.seed, participant.language or self._study.languages[0], declined)

    def state(self, token_hash: str) -> ParticipantState:
        """The participant's state, with trials leased to them if they are at that stage."""
        return self._state(self._present(token_hash))

    def seed(self, token_hash: str) -> int:
        """The seed of a participant's order of classes."""
        return self._present(token_hash).seed

    def consent(self, token_hash: str) -> ParticipantState:
        return self._complete_stage(token_hash, "consent", "consented_at")

    def finish_instructions(self, token_hash: str) -> ParticipantState:
        return self._complete_stage(token_hash, "instructions", "instructed_at")

    def answer_comprehension(self, token_hash: str, answers: Sequence[str]) -> ParticipantState:
        """Check the answers about the instructions; participants who fail too often are excluded."""
        participant = self._present(token_hash)
        if self._stage(participant) != "comprehension":
            return self._state(participant)
        questions = self._study.comprehension
        if len(answers) != len(questions):
            found = f"{len(answers)} answers"
            raise InvalidAnswer(found, f"one for each of the {len(questions)} questions", "answer every question")
        pairs = zip(answers, questions, strict=True)
        failed = any(answer != question.answer for answer, question in pairs)
        self._set(participant, attempts=participant.attempts + 1)
        if not failed:
            self._set(participant, passed_at=self._clock.now())
        elif participant.attempts >= self._study.limits.comprehension_attempts:
            self._set(participant, excluded_at=self._clock.now())
        return self._state(participant, failed=failed)

    def heartbeat(self, token_hash: str) -> ParticipantState:
        """The participant is still there: renew their leases."""
        participant = self._present(token_hash)
        self._leases.renew(participant)
        return self._state(participant)

    def withdraw(self, token_hash: str) -> ParticipantState:
        """The participant stops. Their leases are released; their answers stay."""
        participant = self._participant(token_hash)
        if participant.withdrawn_at is None:
            self._set(participant, withdrawn_at=self._clock.now())
            self._leases.release_all(participant)
        return self._state(participant)

    def submit(self, token_hash: str, submitted: SubmittedAnswer) -> SubmitResult:
        """Store an answer (`answer_intake.py`), even on an expired link: its trial was assigned while the link was
        valid."""
        participant = self._participant(token_hash)
        if participant.entry == REFUSED:
            fix = "open the study from the platform again"
            raise NotNow("a participant the platform does not know", "one that it sent", fix, "not-from-platform")
        n_failed = participant.failed
        result = self._intake.receive(participant, submitted)
        if participant.failed > n_failed:
            self._exclude_after_failed_checks(participant)
        result.state = self._state(participant)
        return result

    def erase(self, token_hash: str, *, answers: bool) -> None:
        """Invalidate a participant's link and delete their completion code (`researcher_actions.py`); with `answers`,
        exports leave theirs out."""
        participant = self._participant(token_hash)
        now = self._clock.now()
        self._leases.release_all(participant)
        left_out_at = now if answers else participant.left_out_at
        self._set(participant, erased_at=now, left_out_at=left_out_at, code=None, network=None)
        if answers:
            self._running.reload()

    # --- participants from a platform (`recruitment/arrival.py`) ---

    def add_participant(self, token: str, **columns: Any) -> NewParticipant:
        """Add a participant with a new link."""
        running, state = self._running, self._running.state
        # Letters and digits that are hard to confuse.
        pseudonym = "A" + "".join(running.secure_random.choices("bcdfghjkmnpqrstvwxz23456789", k=10))
        row = queries.blank_annotator() | {
            "id": state.new_id("annotator"),
            "study": running.number,
            "pseudonym": pseudonym,
            "token_hash": hash_of(token),
            "seed": running.secure_random.getrandbits(31),
            "created_at": self._clock.now(),
            "seen_at": self._clock.steady(),
            "attempts": 0,
            "arm": state.new_arm(running.rng),
            **columns,
        }
        running.pending.new_annotators.append(row)
        state.keep(Participant.of(row))
        return NewParticipant(pseudonym, token)

    def add_link(self, annotator: int, token: str) -> None:
        """Add a further link of a participant."""
        running = self._running
        queries.add_link(running.connection(), running.number, annotator, hash_of(token), self._clock.now())

    def welcome(self, token_hash: str) -> Participant:
        """The participant of a link that a platform has just sent again, so that an expired link is valid."""
        participant = self._participant(token_hash)
        self._see(participant)
        return participant

    def set_entry(self, token_hash: str, entry: str) -> None:
        """Note whether the platform knows a participant. The answers of one it does not know count for nothing."""
        participant = self._participant(token_hash)
        is_refused, was_refused = entry == REFUSED, participant.entry == REFUSED
        self._set(participant, entry=entry)
        if is_refused:
            self._leases.release_all(participant)
        if is_refused != was_refused:
            self._set(participant, left_out_at=self._clock.now() if is_refused else None)
            self._running.reload()

    # --- stages ---

    def _stage(self, participant: Participant) -> str:
        """The participant's stage, before trials are considered."""
        gates = (
            ("withdrawn", participant.withdrawn_at is not None),
            ("excluded", participant.excluded_at is not None),
            ("refused", participant.entry == REFUSED),
            ("checking", participant.entry == CHECKING),
            ("full", participant.full_at is not None),
            ("consent", bool(self._study.consent) and participant.consented_at is None),
            ("instructions", participant.instructed_at is None),
            ("comprehension", bool(self._study.comprehension) and participant.passed_at is None),
        )
        return next((stage for stage, stops_here in gates if stops_here), "trials")

    def _state(self, participant: Participant, *, failed: bool = False) -> ParticipantState:
        state = self._running.state
        sequence = state.trial_sequence
        answered = sum(participant.answered[purpose] for purpose in ("label", "repeat", "check"))
        wanted = sequence.n_wanted
        if self._has_ended(participant):
            # `seen_at` is not updated: a late answer does not make the link valid again.
            return ParticipantState("ended", answered, wanted)
        self._see(participant)
        if participant.entry == CHECKING and self._clock.now() - participant.created_at >= CHECK_MS:
            # The platform does not reply: nobody is kept out, and nobody is paid before it does.
            self._set(participant, entry=UNVERIFIED)
        stage = self._stage(participant)
        if stage in DOOR and not participant.answered["label"]:
            if state.paused:
                return ParticipantState("paused", answered, wanted)
            if state.leases.room(participant.arm) <= 0:
                stage = "full" if state.is_full(participant.arm) else "empty"
        if stage == "comprehension":
            left = self._study.limits.comprehension_attempts - participant.attempts
            return ParticipantState(stage, answered, wanted, failed=failed, attempts_left=left)
        if stage == "excluded":
            # Before the first item for wrong answers about the instructions, later for failed checks.
            is_check = participant.passed_at is not None or not self._study.comprehension
            back = self._redirect(participant, "failed_checks" if is_check else "screened_out")
            return ParticipantState(stage, answered, wanted, back=back)
        if stage == "full":
            return self._full(participant, answered, wanted)
        if stage != "trials":
            return ParticipantState(stage, answered, wanted)
        leased = self._leases.fill_leases(participant)
        if leased:
            return ParticipantState(stage, answered, wanted, tuple(map(self._shown, leased)))
        if state.paused:
            return ParticipantState("paused", answered, wanted)
        if sequence.next_purpose(participant) and self._leases.may_get_more(participant):
            return ParticipantState("empty", answered, wanted)
        if not participant.answered["label"]:
            return self._full(participant, answered, wanted)
        back = self._redirect(participant, "completed")
        if participant.finished_at is None:
            code = back.code if back else self._running.secure_random.randbytes(4).hex().upper()
            self._set(participant, finished_at=self._clock.now(), code=code)
        state.mark_finished(participant)
        return ParticipantState("finished", answered, wanted, code=participant.code, back=back)

    def _full(self, participant: Participant, answered: int, wanted: int) -> ParticipantState:
        """No item was left for a participant: no completion code and no pay. Final once a platform takes them back."""
        back = self._redirect(participant, "full")
        if back is not None and participant.full_at is None:
            self._set(participant, full_at=self._clock.now())
        return ParticipantState("full", answered, wanted, back=back)

    def _complete_stage(self, token_hash: str, stage: str, column: str) -> ParticipantState:
        participant = self._present(token_hash)
        if self._stage(participant) == stage:
            self._set(participant, **{column: self._clock.now()})
        return self._state(participant)

    def _exclude_after_failed_checks(self, participant: Participant) -> None:
        """Exclude a participant who failed too many checks, if the study says so. Their answers stay."""
        quality = self._study.quality
        if quality.stop and participant.failed >= quality.most_failed and participant.excluded_at is None:
            self._set(participant, excluded_at=self._clock.now())
            self._leases.release_all(participant)

    def _see(self, participant: Participant) -> None:
        """Update `seen_at`; after a long absence the instructions are shown again."""
        now = self._clock.steady()
        since = now - (participant.seen_at or now)
        is_long = since > 60_000 * self._study.limits.remind_after_minutes
        if is_long and participant.instructed_at and not participant.finished_at:
            self._set(participant, instructed_at=None)
        if participant.seen_at is None or since > SEEN_INTERVAL_MS:
            self._set(participant, seen_at=now)

    # --- participants ---

    def _add_link_of_owner(self, tag: bytes, token: str) -> None:
        """Add a link that the researcher made for a participant, when it is first opened."""
        running = self._running
        found = queries.pseudonyms(running.connection(), running.number)
        owner = next((number for number, name in found if owner_tag(name, running.secret) == tag), None)
        if owner is None:
            raise no_such_link()
        self.add_link(owner, token)
        self.welcome(hash_of(token))

    def _participant(self, token_hash: str) -> Participant:
        participant = self._find(token_hash)
        if participant is None:
            raise no_such_link()
        return participant

    def _present(self, token_hash: str) -> Participant:
        """The participant of a link that has not expired."""
        participant = self._participant(token_hash)
        if self._has_ended(participant):
            raise LinkEnded
        return participant

    def _find(self, token_hash: str) -> Participant | None:
        """The participant of a link; an erased participant gets the same error as an unknown link."""
        running = self._running
        participant = running.state.participant(
            running.transaction, token_hash, self._clock.steady(), self._clock.monotonic()
        )
        if participant is not None and participant.erased_at is not None:
            raise no_such_link()
        return participant

    def _has_ended(self, participant: Participant) -> bool:
        """Whether a participant was away for longer than links are valid."""
        return self._is_expired(participant.created_at if participant.seen_at is None else participant.seen_at)

    def _is_expired(self, since: int | None) -> bool:
        return since is not None and since < oldest_valid(self._study.limits.link_days, self._clock.steady())

    def _redirect(self, participant: Participant, outcome: str) -> Redirect | None:
        running = self._running
        if running.redirect_for is None:
            return None
        return running.redirect_for(running.connection(), self._study, participant.id, outcome)

    def _set(self, participant: Participant, **values: Any) -> None:
        for name, value in values.items():
            setattr(participant, name, value)
        self._running.pending.set_annotator(participant.id, **values)

    def _shown(self, trial: Trial) -> ShownTrial:
        stimulus = self._running.state.stimuli[trial.item]
        follows = trial.deeper is not None and trial.question == 0 and self._study.deeper is not None
        return ShownTrial(trial.handle, trial.number, trial.purpose == "practice", stimulus, trial.question, follows)


def no_such_link() -> NotThere:
    """The error for an unknown token."""
    fix = "check that the address is complete, or ask for a new link"
    return NotThere("a link that is not known here", "the whole link you were given", fix, "unknown-link")
