"""What a researcher does to a running study: pause, extend, set the credentials, erase a participant. Each is logged.

Requests to the writer like any other: `writer.ask(lambda running: extend(running, 5, who))`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from sfumato.store import queries, researcher_queries
from sfumato.store.erasure import ERASED, Expired, erase_records, erasing, expired
from sfumato.study.study import Assignment
from sfumato.tables.errors import BadSetting, InvalidAnswer, NotNow, NotThere, listing, show

if TYPE_CHECKING:
    from sfumato.elicitation.running_study import RunningStudy
    from sfumato.store.credentials import Credentials, SecondFactor


def log_event(running: RunningStudy, who: str, what: str, about: Mapping[str, Any] | None = None) -> None:
    """Add an event to the study's log: a login, a refusal, an export."""
    connection, study, now = running.action()
    researcher_queries.add_event(connection, study, at=now, who=who, what=what, about=about or {})


def set_paused(running: RunningStudy, pause: bool, who: str) -> None:
    """Pause or resume the study; nothing is changed or logged if it already is in that state."""
    connection, study, _ = running.action()
    if pause != (researcher_queries.paused_at(connection, study) is not None):
        running.pause(pause)
        log_event(running, who, "paused" if pause else "resumed")


def extend(running: RunningStudy, quota: int, who: str) -> None:
    """Raise the number of answers per item. It cannot be lowered: participants may be answering already."""
    if running.study.people.assignment is Assignment.ADAPTIVE:
        found = "an adaptive study, which stops at its target"
        fix = "change answers_per_item or target in the study file, and start the server again"
        raise NotNow(found, "a study with the same number of answers for every item", fix, "adaptive-study")
    connection, study, _ = running.action()
    now = researcher_queries.largest_quota(connection, study)
    if quota <= now:
        fix = "choose a higher number; for fewer, change the study file and start the server again"
        raise InvalidAnswer(f"{quota} answers per item", f"more than the present {now}", fix, "not-more")
    running.set_quota(quota)
    log_event(running, who, "extended", {"from": now, "to": quota, "file": running.study.people.answers_per_item})


def set_aside(running: RunningStudy, excluded: Sequence[str], who: str) -> int:
    """Answers of these annotators (pseudonyms) no longer count toward quotas, so that their items are asked about
    again; returns how many answers are asked for again. The list replaces an earlier one. Nothing is deleted: exports
    still have the answers, and nobody is stopped."""
    connection, study, _ = running.action()
    unknown = sorted(set(excluded) - researcher_queries.pseudonyms(connection, study))
    if unknown:
        fix = "screen the answers that sfumato export wrote for this study"
        raise NotThere(
            f"no participant called {listing(unknown, 3)}", "participants of this study", fix, "unknown-person"
        )
    before = sum(queries.taken(connection, study).values())
    log_event(running, who, queries.SET_ASIDE, {"annotators": sorted(set(excluded))})
    running.reload()
    return before - sum(queries.taken(connection, study).values())


def set_password(running: RunningStudy, hashed: str, who: str) -> None:
    """Set the researcher's password, given as its hash; the second factor stays as it is."""
    connection, study, _ = running.action()
    known = researcher_queries.credentials_of(connection, study)
    researcher_queries.set_credentials(connection, study, replace(known, password=hashed))
    log_event(running, who, "password set")


def set_second_factor(running: RunningStudy, factor: SecondFactor | None, who: str) -> None:
    """Set or remove the second factor of logins by password."""
    connection, study, _ = running.action()
    known = researcher_queries.credentials_of(connection, study)
    if factor is not None:
        check_has_password(known)
    researcher_queries.set_credentials(connection, study, replace(known, second_factor=factor))
    log_event(running, who, "second factor set" if factor else "second factor removed")


def check_has_password(known: Credentials) -> None:
    """Raise if there is no password, to which a second factor could be added."""
    if known.password is None:
        fix = "set one first: sfumato serve STUDY --password"
        raise NotNow("no password", "a password, to which the code is added", fix, "no-password")


def use_code(running: RunningStudy, code: str) -> bool:
    """Whether the code of the second factor is valid; it cannot be used again. True if there is no second factor."""
    connection, study, now = running.action()
    known = researcher_queries.credentials_of(connection, study)
    if known.second_factor is None:
        return True
    after = known.second_factor.after(code, now / 1000)
    if after is not None:
        researcher_queries.set_credentials(connection, study, replace(known, second_factor=after))
    return after is not None


def erase_participant(
    running: RunningStudy,
    who: str,
    *,
    pseudonym: str | None = None,
    platform_id: str | None = None,
    answers: bool = False,
) -> str:
    """Delete the platform id of a participant, invalidate their link, and erase their records and exact times; returns
    the pseudonym. `who` is logged.

    Answers are chained by hashes and stay in the store; with `answers` they are left out of every export from now on,
    also for a participant erased before. No form has free text, so there is none to remove.
    """
    if (pseudonym is None) == (platform_id is None):
        fix = "give the participant's pseudonym, or --platform-id with their id on the platform"
        raise BadSetting("neither or both of a pseudonym and a platform id", "one of them", fix)
    connection, study, now = running.action()
    row = researcher_queries.find_annotator(connection, study, pseudonym, platform_id)
    if row is None:
        # The platform id is not repeated in the message.
        found = f"no participant {f'called {show(pseudonym)}' if pseudonym else 'with this platform id'}"
        fix = "sfumato study reconcile lists the pseudonyms; the platform id of an erased participant is not known"
        raise NotThere(found, "a participant of this study", fix, "unknown-person")
    if row["erased_at"] is None:
        _erase_id(running, row, who, answers=answers)
        _erase_records(running, [row], who)
    elif answers and row["left_out_at"] is None:
        researcher_queries.leave_out(connection, row["id"], now)
        _log_erased(running, row, who, answers=True)
    return str(row["pseudonym"])


def expired_of(running: RunningStudy) -> Expired:
    """The participants whose ids or records are past the date that [privacy] of the study sets."""
    connection, study, now = running.action()
    return expired(connection, study, running.study.privacy, now)


def erase_expired(running: RunningStudy, who: str) -> Expired:
    """Erase all ids and records that are past their date; returns what was erased."""
    found = expired_of(running)
    for row in found.ids:
        _erase_id(running, row, who)
    _erase_records(running, found.records, who)
    return found


def _erase_id(running: RunningStudy, row: Mapping[str, Any], who: str, *, answers: bool = False) -> None:
    running.sessions.erase(row["token_hash"], answers=answers)
    researcher_queries.forget_platform_id(running.connection(), row["id"])
    _log_erased(running, row, who, answers=answers)


def _log_erased(running: RunningStudy, row: Mapping[str, Any], who: str, *, answers: bool) -> None:
    log_event(running, who, "erased", {"annotator": row["pseudonym"], "answers": "left out" if answers else "kept"})


def _erase_records(running: RunningStudy, rows: Sequence[dict[str, Any]], who: str) -> None:
    connection, study, _ = running.action()
    with erasing(connection):
        for row in rows:
            about = erase_records(connection, study, row)
            if about is not None:
                log_event(running, who, ERASED, about)
