"""Values that pass between a running study and the server: a submitted answer, its result, a participant's state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec

from sfumato.store.interaction_record import InteractionRecord
from sfumato.study.stimulus import Stimulus

ShortText = Annotated[str, msgspec.Meta(min_length=1, max_length=100, pattern=r"^[!-~]*$")]


@dataclass(frozen=True)
class Redirect:
    """The return to the platform: an address to open or, with `fields`, to post a form to."""

    code: str
    url: str
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShownTrial:
    """The part of a trial that its participant may know."""

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
    """A participant's stage and progress, and the trials leased to them."""

    stage: str
    answered: int
    wanted: int
    trials: Sequence[ShownTrial] = ()
    code: str | None = None
    failed: bool = False
    """Whether comprehension questions were just answered wrongly; not which ones, or one could try until all are
    right."""
    attempts_left: int | None = None
    back: Redirect | None = None
    """The return to the platform they came from, with the completion code it expects."""


class Submission(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An answer to a trial under a key of its own, and how it came about."""

    key: ShortText
    trial: ShortText
    answer: dict[str, Any]
    record: InteractionRecord


class SubmittedAnswer(Submission, frozen=True):
    """A submission as received: the body as text, its digest, and how long ago the participant pressed submit."""

    body: str
    digest: str
    age_ms: int = 0


@dataclass(slots=True)
class SubmitResult:
    """What happened to an answer: stored now as `answer`, stored before (`again`), or refused with `code`."""

    answer: str | None
    code: str | None = None
    again: bool = False
    passed: bool | None = None
    """For a practice answer, whether it is in the required region; None where the study sets no region."""
    state: ParticipantState = field(init=False)
    """The participant's state after the answer, set by `session.py`."""


@dataclass(frozen=True, slots=True)
class SessionStart:
    """What the study page needs when a link is opened: the seed of the class order, the language, and the redirect for
    participants who do not consent."""

    seed: int
    language: str
    declined: Redirect | None = None


@dataclass(frozen=True, slots=True)
class NewParticipant:
    """A new participant: the pseudonym in exports, and the token that only they have."""

    pseudonym: str
    token: str
