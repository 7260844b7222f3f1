"""A study that is being answered, as the one writing thread sees it.

`store/writer.py` calls `begin`, runs a group of requests, calls `end`, commits, and calls `committed`; after a failure
it calls `forget`. Participants' requests are in `session.py`, researchers' in `researcher_actions.py`. Every change is
collected in `PendingWrites` and counts once the group is committed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from sfumato.elicitation.assignment import ItemSelector
from sfumato.elicitation.clock import Clock
from sfumato.elicitation.kind import Kind
from sfumato.elicitation.lease import LeaseBook
from sfumato.elicitation.page_messages import Redirect
from sfumato.elicitation.secure_random import SecureRandom
from sfumato.elicitation.session import ParticipantSessions
from sfumato.elicitation.study_registration import register, stimulus_key
from sfumato.elicitation.study_state import CheckJudge, StudyState
from sfumato.store import queries
from sfumato.store.changes import PendingWrites, flush
from sfumato.study.stimulus import Stimulus
from sfumato.study.study import Study

RedirectFor = Callable[[sa.Connection, Study, int, str], Redirect | None]


@dataclass
class RunningStudy:
    """One study with its state in memory. `begin` and `end` enclose each group of requests."""

    study: Study
    kinds: Sequence[Kind]
    """The kind of each of the study's questions."""
    stimuli: Sequence[Stimulus]
    selector: ItemSelector | None = None
    """Chooses the next item in an adaptive study."""
    clock: Clock = field(default_factory=Clock)
    rng: random.Random = field(default_factory=SecureRandom)
    """The generator for choosing items."""
    secure_random: SecureRandom = field(default_factory=SecureRandom)
    """The generator for names and codes, which must be unpredictable where real people take part."""
    check_judge: CheckJudge | None = None
    """Decides whether a check was passed, in a study that has any."""
    redirect_for: RedirectFor | None = None
    """Finds the redirect to a participant's platform, in a study that has one."""
    number: int = -1
    """The study's id in the store, once it is registered."""

    def __post_init__(self) -> None:
        self.pending = PendingWrites()
        self.lease_book = LeaseBook(self)
        self.sessions = ParticipantSessions(self)
        self.network = ""
        """The network of the current request; empty if its leases are not limited."""
        self.transaction: sa.Connection
        """The connection of the current group; `connection` writes pending changes first."""
        self._version = -1
        self._has_written = False
        self._state: StudyState | None = None

    # --- groups of requests ---

    def begin(self, connection: sa.Connection) -> None:
        """Start a group of requests with the in-memory state up to date."""
        self.transaction = connection
        self.network = ""
        self._has_written = False
        if self.number < 0:
            self.number = register(connection, self.study, self.kinds, self.stimuli, self.clock.now())
        if connection.dialect.name != "sqlite":
            version = queries.lock_study(connection, self.number)
            if version != self._version:
                self.forget()
                self._version = version
        if self._state is None:
            self._state = StudyState(
                connection,
                self.study,
                self.number,
                now=self.clock.steady(),
                monotonic=self.clock.monotonic(),
                selector=self.selector,
                check_judge=self.check_judge,
            )
        self._n_answers = self._state.n_answers
        self.lease_book.release_expired()
        # Participants who are not in memory may be read from the store in this group, with their expired leases.
        self.connection()

    def end(self) -> None:
        """Write what the group changed; the caller commits."""
        self.connection()
        state = self.state
        columns: dict[str, Any] = {}
        if state.n_answers != self._n_answers:
            # The last hash of the chain of answers, and the number of answers.
            columns |= {"head": state.head, "n_answers": state.n_answers}
        if self._has_written and self.transaction.dialect.name != "sqlite":
            # Signals the change to other servers; the row lock on the study keeps them out until the commit.
            self._version += 1
            columns["version"] = self._version
        if columns:
            queries.set_study(self.transaction, self.number, **columns)

    def committed(self) -> None:
        """The group is committed."""
        self.state.trim()

    def forget(self) -> None:
        """Drop the in-memory state; the next group reads the store again."""
        self.pending.clear()
        self._state = None

    def connection(self) -> sa.Connection:
        """The connection, after writing all pending changes of this group."""
        if self.pending:
            flush(self.transaction, self.pending)
            self.pending.clear()
            self._has_written = True
        return self.transaction

    @property
    def state(self) -> StudyState:
        assert self._state is not None, "a request outside of begin and end"
        return self._state

    @property
    def secret(self) -> str:
        """The key that signs the study's links."""
        return self.state.secret

    def requested_from(self, network: str) -> ParticipantSessions:
        """The sessions, for a request from this network (`lease.py` limits what newcomers of one network hold)."""
        self.network = network
        return self.sessions

    # --- researchers' requests ---

    def pause(self, paused: bool) -> None:
        """Assign no new trials until resumed; answers are still accepted."""
        self.state.paused = paused
        self._has_written = True
        queries.set_paused(self.transaction, self.number, self.clock.now() if paused else None)

    def set_quota(self, quota: int) -> None:
        """Change the number of answers per item."""
        in_file = {stimulus_key(stimulus) for stimulus in self.stimuli}
        state = self.state
        numbers = [
            number
            for number, stimulus in state.stimuli.items()
            if stimulus_key(stimulus) in in_file and number not in state.trial_sequence.special_items
        ]
        self._has_written = True
        queries.set_quota(self.transaction, quota, numbers)
        for number in numbers:
            state.leases.set_quota(number, quota)

    def action(self) -> tuple[sa.Connection, int, int]:
        """For an action of a researcher or a platform: the connection, the study's id and the time."""
        self._has_written = True
        return self.connection(), self.number, self.clock.now()
