"""Steering: what a researcher does to a running study, each deed noted with who did it.

Requests to the writer like any other: `writer.ask(lambda work: extended(work, 5, who))`.

Erasing a person: who they are on a platform is forgotten, their link is dead; what they said stays, or is left out.

Answers are chained one to the other and never change, so that nobody can change them unseen; they stay in the store
even where they are left out of every export. No form of ours takes free text, so there is none to remove.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.elicitation.session import RunningStudy
from sfumato.store import researcher_queries
from sfumato.study.study import Assignment
from sfumato.tables.errors import BadSetting, InvalidAnswer, NotNow, NotThere, show


def log_event(work: RunningStudy, who: str, what: str, about: Mapping[str, Any] | None = None) -> None:
    """Note what was done to the study: a login, a refusal, an export."""
    work.steer(
        lambda connection, study, now: researcher_queries.note_happening(
            connection, study, at=now, who=who, what=what, about=about or {}
        )
    )


def paused(work: RunningStudy, pause: bool, who: str) -> None:
    """Pause the study, or let it go on; what is so already stays as it is, and is not noted."""
    if pause == (work.steer(lambda connection, study, _: researcher_queries.paused_at(connection, study)) is not None):
        return
    work.pause(pause)
    log_event(work, who, "paused" if pause else "resumed")


def extended(work: RunningStudy, quota: int, who: str) -> None:
    """Ask for more answers an item. Never for fewer: people may be answering by the number there was."""
    if work.study.people.assignment is Assignment.ADAPTIVE:
        raise NotNow(
            "found an adaptive study, which asks as long as its target says",
            expected="a study with the same number of answers for every item",
            fix="change answers_per_item or target in the study file, and start the server again",
            code="adaptive-study",
        )
    now = work.steer(lambda connection, study, _: researcher_queries.largest_quota(connection, study))
    if quota <= now:
        raise InvalidAnswer(
            f"found {quota} answers an item",
            expected=f"more than the {now} there are to be now",
            fix="choose a higher number; for fewer, change the study file and start the server again",
            code="not-more",
        )
    work.set_quota(quota)
    log_event(work, who, "extended", {"from": now, "to": quota, "file": work.study.people.answers_per_item})


def password_set(work: RunningStudy, hashed: str, who: str) -> None:
    """Set the researcher's password, given as its hash."""
    work.steer(lambda connection, study, _: researcher_queries.set_password(connection, study, hashed))
    log_event(work, who, "password set")


def erased(
    work: RunningStudy, who: str, *, pseudonym: str | None = None, platform_id: str | None = None, answers: bool = False
) -> str:
    """Erase the person with this pseudonym or platform id; returns the pseudonym. `who` is noted as having done it.

    With `answers` their answers are left out of every export from now on; somebody erased before can still be.
    """
    if (pseudonym is None) == (platform_id is None):
        raise BadSetting(
            "found neither or both of a pseudonym and a platform id",
            expected="one of them",
            fix="name the person as they are called here, or with --platform-id as they are called there",
            code="bad-setting",
        )
    row = work.steer(
        lambda connection, study, _: researcher_queries.find_annotator(connection, study, pseudonym, platform_id)
    )
    if row is None:
        # An id somebody asks about is not repeated, here as little as anywhere.
        raise NotThere(
            f"found nobody {f'called {show(pseudonym)}' if pseudonym else 'with this platform id'}",
            expected="somebody who takes part in this study",
            fix="sfumato study reconcile lists the pseudonyms; an id is forgotten once it was erased",
            code="unknown-person",
        )
    if row["erased_at"] is None:
        work.erase(row["token_hash"], answers=answers)
    elif answers and row["left_out_at"] is None:
        work.steer(lambda connection, _study, now: researcher_queries.leave_out(connection, row["id"], now))
    else:
        return str(row["pseudonym"])
    work.steer(lambda connection, _study, _now: researcher_queries.forget_platform_id(connection, row["id"]))
    about = {"annotator": row["pseudonym"], "answers": "left out" if answers else "kept"}
    work.steer(
        lambda connection, study, now: researcher_queries.note_happening(
            connection, study, at=now, who=who, what="erased", about=about
        )
    )
    return str(row["pseudonym"])
