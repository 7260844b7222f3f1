"""Arrival from a recruitment platform, and the redirect back to it with a completion code.

The entry address contains a key of the study, and the platform appends the participant's id. Every participant can see
both in their address bar, so neither opens a session: a platform id is one annotator with a random link, which only the
browser of the first visit has (by a key in a cookie). From another browser the same id gets in only with the platform's
signature, or by that link.

Ids could also be invented. A signed arrival, or the platform's API, confirms them before they begin (`entry` of a
participant); those that were not confirmed are not paid before reconciliation finds them in the platform's list.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa

from sfumato.elicitation.page_messages import Redirect
from sfumato.elicitation.participant import CHECKING, KNOWN, REFUSED, SIGNED, UNVERIFIED, Participant
from sfumato.elicitation.participant_link import hash_of, hash_of_person, new_browser_key, token_of_key
from sfumato.elicitation.running_study import RunningStudy
from sfumato.elicitation.session import no_such_link
from sfumato.elicitation.study_registration import study_secret
from sfumato.recruitment import platform_of
from sfumato.recruitment.platform import Arrival, Platform
from sfumato.recruitment.platform_api import PlatformClient, request_key
from sfumato.store import queries, researcher_queries
from sfumato.store.schema import Row
from sfumato.study.study import Study
from sfumato.tables.errors import BadSetting, NotNow, NotThere

N_KEY = 18


def redirect_for(connection: sa.Connection, study: Study, annotator: int, outcome: str) -> Redirect | None:
    """The redirect for an annotator with this outcome, one of `Recruiting.OUTCOMES`.

    None for annotators who came by a link, and where the platform has no code for the outcome.
    """
    platform, recruiting = platform_of(study), study.recruiting
    if platform is None or recruiting is None:
        return None
    code = recruiting.code_for(outcome)
    row = researcher_queries.platform_id_of(connection, annotator)
    if not code or row is None or row["platform"] != platform.name:
        return None
    return platform.back(code, arrival_of(row))


def arrival_of(row: Row) -> Arrival:
    """The latest arrival in a row of `platform_ids`."""
    refs = row["refs"]
    return Arrival(row["person"], refs.get("study", ""), refs.get("session", ""), refs.get("submit_to", ""))


class OtherBrowser(NotNow):
    """A known platform id, from a browser that does not have its link."""

    def __init__(self) -> None:
        fix = "open the study with the link you saved, or in the browser you began with, or ask the researcher"
        super().__init__("an id that has begun the study in another browser", "that browser", fix, "other-browser")

    def __reduce__(self) -> tuple[type[OtherBrowser], tuple[()]]:
        return OtherBrowser, ()


class OtherStudy(NotThere):
    """An arrival from another study of the platform than the study file names."""

    def __init__(self) -> None:
        expected, fix = "the study that [platform] names", "check the study's id on the platform and in the study file"
        super().__init__("a participant from another study of the platform", expected, fix, "not-from-platform")

    def __reduce__(self) -> tuple[type[OtherStudy], tuple[()]]:
        return OtherStudy, ()


@dataclass(frozen=True)
class Admission:
    """The link of an admitted participant, and the key that their browser keeps in a cookie."""

    token: str
    browser_key: str = field(repr=False)


@dataclass(frozen=True)
class UncheckedArrival:
    """A participant whose platform id was not checked yet, and the key for the request."""

    annotator: int
    token_hash: str
    arrival: Arrival
    key: str


def entry_key(secret: str, platform: str) -> str:
    """The key in the entry address for participants from `platform`."""
    digest = hmac.digest(bytes.fromhex(secret), b"platform entry " + platform.encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(digest[:N_KEY]).decode()


def entry_address(study: Study, address: str, store: str | Path | None = None) -> str:
    """The study's entry address for its platform, with the platform's own placeholders for ids.

    `address` is where participants reach the server. The study may be running, but does not have to.
    """
    platform = platform_of(study)
    if platform is None:
        found = "a study without [platform]"
        fix = "add [platform] to the study file; for participants without one, sfumato study links makes links"
        raise BadSetting(found, "the platform that participants come from", fix, "no-platform", study.path)
    url = f"{address.rstrip('/')}/from/{platform.name}/{entry_key(study_secret(study, store), platform.name)}"
    return f"{url}?{platform.asks}" if platform.asks else url


def is_entry_key(running: RunningStudy, platform: Platform, key: str) -> bool:
    """Whether this is the study's entry key for the platform."""
    return hmac.compare_digest(key.encode("utf-8", "replace"), entry_key(running.secret, platform.name).encode())


def person_hash(running: RunningStudy, platform: Platform, arrival: Arrival) -> str:
    """A keyed hash of the participant's platform id."""
    return hash_of_person(running.secret, f"{platform.name} {arrival.person}")


def admit(
    running: RunningStudy,
    platform: Platform,
    key: str,
    arrival: Arrival,
    *,
    held: str | None = None,
    signed: bool = False,
    checks: bool = False,
) -> Admission:
    """Admit a participant sent by the platform.

    `held` is the key that their browser has from an earlier visit. `signed` says that the platform signed this
    arrival, `checks` that its API will be asked about them. Raises `StudyClosed` for new participants of a full or
    paused study, and `OtherBrowser` for a known id without proof.
    """
    if not is_entry_key(running, platform, key):
        raise no_such_link()
    if platform.study and arrival.study not in platform.study.split():
        raise OtherStudy
    sessions, hashed = running.sessions, person_hash(running, platform, arrival)
    known = queries.annotator_by_person(running.connection(), running.number, hashed)
    browser_key = _browser_key(running, known, held, signed=signed)
    token = token_of_key(running.secret, browser_key)
    if known is None:
        sessions.check_open()
        entry = SIGNED if signed else CHECKING if checks else UNVERIFIED
        sessions.add_participant(token, person_hash=hashed, entry=entry)
    participant = sessions.welcome(hash_of(token))
    if signed and participant.entry != SIGNED:
        sessions.set_entry(hash_of(token), SIGNED)
    refs = {"study": arrival.study, "session": arrival.session, "submit_to": arrival.submit_to}
    connection, study, now = running.action()
    ids = (platform.name, arrival.person)
    researcher_queries.add_arrival(connection, study, participant.id, ids, refs, now, ended=_has_ended(participant))
    return Admission(token, browser_key)


def _browser_key(running: RunningStudy, known: Row | None, held: str | None, *, signed: bool) -> str:
    """The key that the browser has or may get. A new participant gets a new one, whatever the browser sends."""
    new = new_browser_key()
    if known is None:
        return new
    if known["erased_at"] is not None:
        fix = "each person can take part once"
        raise NotNow("a participant whose data was erased", "somebody who has not taken part", fix, "took-part")
    if held is not None:
        own = hash_of(token_of_key(running.secret, held))
        owner = queries.annotator_by_token(running.transaction, running.number, own)
        if owner is not None and owner["id"] == known["id"]:
            return held
    # Nobody has seen the page yet (it sets the language): the first reply was lost, or two tabs opened at once.
    if not signed and known["language"] is not None:
        raise OtherBrowser
    running.sessions.add_link(known["id"], token_of_key(running.secret, new))
    return new


def _has_ended(participant: Participant) -> bool:
    """Whether a participant has a final outcome, so that a later visit does not replace the one it belongs to."""
    ends = (participant.finished_at, participant.excluded_at, participant.withdrawn_at, participant.full_at)
    return any(each is not None for each in ends)


def unchecked_arrivals(running: RunningStudy, token: str) -> list[UncheckedArrival]:
    """The participant of this link, if their latest visit was not checked yet."""
    connection, study, _ = running.action()
    owner = queries.annotator_by_token(connection, study, hash_of(token))
    row = researcher_queries.platform_id_of(connection, owner["id"]) if owner else None
    if owner is None or row is None or row["refs"].get("check") in ("known", SIGNED) or owner["entry"] == SIGNED:
        return []
    arrival = arrival_of(row)
    key = request_key(running.secret, owner["pseudonym"], f"check {arrival.session}")
    return [UncheckedArrival(owner["id"], owner["token_hash"], arrival, key)]


def check_arrival(client: PlatformClient, unchecked: UncheckedArrival) -> str:
    """Ask the platform about a participant: `known` or `unknown`; an error if it cannot be reached."""
    return "known" if client.knows(unchecked.arrival, unchecked.key) else "unknown"


def store_check(running: RunningStudy, unchecked: UncheckedArrival, result: str) -> None:
    """Store the platform's reply, once per visit; a participant it does not know is refused."""
    connection, _, now = running.action()
    is_latest = researcher_queries.add_platform_check(
        connection, unchecked.annotator, unchecked.arrival.session, result, now
    )
    owner = queries.annotator_by_token(connection, running.number, unchecked.token_hash)
    if owner is None or owner["erased_at"] is not None or owner["entry"] in (KNOWN, SIGNED):
        return
    if result == "known" or is_latest:
        running.sessions.set_entry(unchecked.token_hash, KNOWN if result == "known" else REFUSED)
