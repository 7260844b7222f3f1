"""One participant as a running study keeps them in memory.

Rebuilt from the store when they come back. Changes here do not reach the store by themselves: `session.py` and
`lease.py` record them in `PendingWrites` too.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from sfumato.store.schema import ANSWERED, LAPSED, OPEN

MAX_RECEIPTS = 8


@dataclass(slots=True, eq=False)
class Trial:
    """One question for one participant. `expires` is on the monotonic clock, `leased_at` when it was first assigned
    (ms); `answer` is the handle of its answer."""

    id: int
    handle: str
    annotator: int
    item: int
    number: int
    purpose: str
    state: int
    expires: float
    leased_at: int = 0
    answer: str | None = None
    question: int = 0
    """Which of the study's questions it asks."""
    probability: float | None = None
    audit: int = 0
    deeper: str | None = None
    """Why the deeper form opens in it (`deeper_form_rule.py`); None where it does not."""
    deeper_probability: float | None = None
    leased: float = 0.0
    """When it was first assigned, on the monotonic clock."""
    network: str = ""
    """The network that holds it, for a participant who has not answered any item."""


TRIAL_COLUMNS = (
    "id", "annotator", "item", "number", "purpose", "handle", "state", "leased_at", "question", "probability", "audit",
    "deeper", "deeper_probability",
)  # fmt: skip
"""The columns of a trial's row that are its attributes."""


@dataclass(frozen=True, slots=True)
class AnswerReceipt:
    """What happened to an answer sent under a key: stored as `answer`, or refused for the reason `code`."""

    digest: str
    answer: str | None
    code: str | None = None


@dataclass(slots=True, eq=False)
class Participant:
    """An annotator: columns of their row, their trials, and the answers sent under each key."""

    id: int
    token_hash: str
    seed: int
    created_at: int = 0
    seen_at: int | None = None
    consented_at: int | None = None
    instructed_at: int | None = None
    passed_at: int | None = None
    attempts: int = 0
    excluded_at: int | None = None
    withdrawn_at: int | None = None
    finished_at: int | None = None
    code: str | None = None
    language: str | None = None
    erased_at: int | None = None
    left_out_at: int | None = None
    arm: int = 0
    """Which of the compared forms they answer."""
    trials: dict[str, Trial] = field(default_factory=dict)
    """Trials that can still be answered, by handle; the others are in the store."""
    n_trials: int = 0
    receipts: dict[str, AnswerReceipt] = field(default_factory=dict)
    """The latest receipts by key; the others are in the store."""
    sent: set[int] = field(default_factory=set)
    """Hashes of every key they used."""
    seen: set[int] = field(default_factory=set)
    """Items shown for a label, for practice or as a check."""
    open: dict[int, Trial] = field(default_factory=dict)
    lapsed: dict[int, Trial] = field(default_factory=dict)
    answered: Counter[str] = field(default_factory=Counter)
    """Answers by purpose."""
    labels: list[int] = field(default_factory=list)
    """Items answered for a label, in order."""
    deeper: dict[int, int] = field(default_factory=dict)
    """The question by item, where it was not the usual one."""
    repeated: set[int] = field(default_factory=set)
    failed: int = 0
    """Checks they failed."""
    last_answer: float = -math.inf
    """When they last answered, on the monotonic clock."""
    n_refused: int = 0
    """Refused answers that are stored, and the size of their bodies."""
    n_refused_bytes: int = 0

    @classmethod
    def of(cls, row: dict[str, Any]) -> Participant:
        """From their row in the store."""
        return cls(**{name: row[name] for name in COLUMNS})

    def add(self, trial: Trial) -> None:
        """Add a trial in any state."""
        self.n_trials += 1
        (self.repeated if trial.purpose == "repeat" else self.seen).add(trial.item)
        self._enter(trial)

    def move(self, trial: Trial, state: int) -> None:
        """Change the state of one of their trials."""
        self.open.pop(trial.id, None)
        self.lapsed.pop(trial.id, None)
        trial.state = state
        self._enter(trial)

    def _enter(self, trial: Trial) -> None:
        if trial.state == OPEN:
            self.open[trial.id] = self.trials[trial.handle] = trial
        elif trial.state == LAPSED:
            self.lapsed[trial.id] = self.trials[trial.handle] = trial
        elif trial.state == ANSWERED:
            self.trials.pop(trial.handle, None)
            self.answered[trial.purpose] += 1
            if trial.purpose == "label":
                self.labels.append(trial.item)
                if trial.question:
                    self.deeper[trial.item] = trial.question

    def note(self, key: str, receipt: AnswerReceipt) -> None:
        """Remember what happened to an answer."""
        self.sent.add(hash(key))
        self.receipts[key] = receipt
        if len(self.receipts) > MAX_RECEIPTS:
            del self.receipts[next(iter(self.receipts))]

    def n_begun(self, purpose: str) -> int:
        """Trials answered or open for this purpose."""
        return self.answered[purpose] + sum(trial.purpose == purpose for trial in self.open.values())


COLUMNS = (
    "id", "token_hash", "seed", "created_at", "seen_at", "consented_at", "instructed_at", "passed_at", "attempts",
    "excluded_at", "withdrawn_at", "finished_at", "code", "language", "erased_at", "left_out_at", "arm",
)  # fmt: skip
