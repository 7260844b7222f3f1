"""What a running study tells: where a person stands, what they are shown, and what became of an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.store.interaction_record import InteractionRecord
from sfumato.study.stimulus import Stimulus


@dataclass(frozen=True)
class Redirect:
    """The way back to the platform: an address to open or, with `fields`, to post a form to."""

    code: str
    url: str
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShownTrial:
    """A trial as a person may know it."""

    handle: str
    number: int
    practice: bool
    stimulus: Stimulus
    question: int = 0
    """Which of the study's questions is asked."""
    deeper: bool = False
    """Whether the deeper form opens after it."""


@dataclass(frozen=True, slots=True)
class ParticipantState:
    """Where a person stands: the stage they are at, how far they are, and the trials held for them."""

    stage: str
    answered: int
    wanted: int
    trials: Sequence[ShownTrial] = ()
    code: str | None = None
    wrong: Sequence[int] = ()
    attempts_left: int | None = None
    back: Redirect | None = None
    """The way back to the platform they came from, with the code it waits for."""


@dataclass(frozen=True, slots=True)
class SubmittedAnswer:
    """An answer as it came in: the body as text, its digest, and how long ago the person pressed submit."""

    key: str
    trial: str
    answer: Any
    record: InteractionRecord
    body: str
    digest: str
    age_ms: int = 0


@dataclass(frozen=True, slots=True)
class SubmitResult:
    """What became of an answer: stored now, stored before (`again`), or refused with `code`."""

    answer: str | None
    again: bool
    code: str | None
    standing: ParticipantState
    passed: bool | None = None
    """Of a practice answer, whether it lies where it should; None where the study does not say."""


@dataclass(frozen=True, slots=True)
class SessionStart:
    """Somebody at the door: what their order of classes is drawn from, their language, and the way back to the platform
    they came from for who does not consent."""

    seed: int
    language: str
    declined: Redirect | None = None


@dataclass(frozen=True, slots=True)
class NewParticipant:
    """A new person: the pseudonym in exports, and the token only they have."""

    pseudonym: str
    token: str
