"""The way back to the platform somebody came from, with the code that says how it ended for them.

Arriving from a platform: who comes, at which door, and how it is known that the platform really sent them.

The door is an address with a key of the study in it, which the platform alone is told; the platform puts the person's
id behind it. An id is one annotator however often and from how many windows it comes: their link follows from it and
from the study's secret. Whoever knows the key could still make up ids, so where there is a token for the platform's API
each is checked there; what was not checked is listed as such.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass

import sqlalchemy as sa

from sfumato.elicitation.participant_link import token_of
from sfumato.elicitation.participant_state import Redirect
from sfumato.elicitation.session import RunningStudy, hash_of, no_such_link
from sfumato.recruitment import platform_of
from sfumato.recruitment.platform import Arrival, Platform
from sfumato.recruitment.platform_api import PlatformClient, request_key
from sfumato.store import researcher_queries
from sfumato.store.queries import Row
from sfumato.study.study import Study
from sfumato.tables.errors import NotThere


def redirect_for(connection: sa.Connection, study: Study, annotator: int, outcome: str) -> Redirect | None:
    """How an annotator gets back to the platform after this outcome (`completed`, `screened_out` or `no_consent`).

    None for who came by a link, and where the platform has no code for it.
    """
    platform, recruiting = platform_of(study), study.recruiting
    if platform is None or recruiting is None:
        return None
    code = getattr(recruiting, outcome)
    row = researcher_queries.platform_id_of(connection, annotator)
    if not code or row is None or row["platform"] != platform.name:
        return None
    return platform.back(code, arrival_of(row))


def arrival_of(row: Row) -> Arrival:
    """The latest arrival that a row of `platform_ids` tells of."""
    refs = row["refs"]
    return Arrival(row["person"], refs.get("study", ""), refs.get("session", ""), refs.get("submit_to", ""))


N_KEY = 18


@dataclass(frozen=True)
class Unchecked:
    """Somebody the platform has not been asked about: who they are here and there, and the key to ask under."""

    annotator: int
    arrival: Arrival
    key: str


def entry_key(secret: str, platform: str) -> str:
    """The key in the address that people from `platform` come by."""
    said = hmac.digest(bytes.fromhex(secret), b"platform entry " + platform.encode(), hashlib.sha256)
    return base64.urlsafe_b64encode(said[:N_KEY]).decode()


def is_entry(work: RunningStudy, platform: Platform, key: str) -> bool:
    """Whether this is the study's own door for the platform."""
    return hmac.compare_digest(key.encode("utf-8", "replace"), entry_key(work.secret, platform.name).encode())


def arrived(work: RunningStudy, platform: Platform, key: str, arrival: Arrival, language: str | None = None) -> str:
    """Let somebody in whom the platform sent, and return their token: the same one each time they come."""
    if not is_entry(work, platform, key):
        raise no_such_link()
    if platform.study and arrival.study not in platform.study.split():
        raise NotThere(
            "found somebody sent by another study of the platform",
            expected="the study that [platform] names",
            fix="check the study's id on the platform and in the study file",
            code="not-from-platform",
        )
    token = token_of(work.secret, f"{platform.name} {arrival.person}")
    work.welcome(token, language, renewed=True)
    work.steer(
        lambda connection, study, now: researcher_queries.note_arrival(
            connection, study, hash_of(token), platform.name, arrival.person, refs_of(arrival), now
        )
    )
    return token


def refs_of(arrival: Arrival) -> dict[str, str]:
    """What is kept of an arrival beside the person's id."""
    return {"study": arrival.study, "session": arrival.session, "submit_to": arrival.submit_to}


def unchecked(work: RunningStudy, platform: Platform, token: str | None = None) -> list[Unchecked]:
    """Those the platform has not been asked about yet; with `token` that person alone."""
    rows = work.steer(lambda connection, study, _: researcher_queries.platform_ids(connection, study, platform.name))
    return [
        Unchecked(row["annotator"], arrival_of(row), request_key(work.secret, row["pseudonym"], check_reason(row)))
        for row in rows
        if "check" not in row["refs"] and (token is None or row["token_hash"] == hash_of(token))
    ]


def check_reason(row: Row) -> str:
    """Why the platform is asked: about this visit of theirs. A new visit is a new question."""
    return f"check {row['refs'].get('session', '')}"


def checked(caller: PlatformClient, asked: Unchecked) -> str:
    """What the platform says of somebody: `known` or `unknown`. An error where it cannot be reached: ask again."""
    return "known" if caller.knows(asked.arrival, asked.key) else "unknown"


def note_check(work: RunningStudy, asked: Unchecked, said: str) -> None:
    """Keep what the platform said, once: a second word about the same visit changes nothing."""
    work.steer(
        lambda connection, _study, now: researcher_queries.note_check(
            connection, asked.annotator, asked.arrival.session, said, now
        )
    )
