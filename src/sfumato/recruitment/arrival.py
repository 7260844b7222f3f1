"""Arrival from a recruitment platform, and the redirect back to it with a completion code.

The entry address contains a key of the study that only the platform gets; the platform appends the participant's id. A
platform id is one annotator, however often it arrives: their token follows from it and from the study's secret. A
person who knows the key could still invent ids, so with a token for the platform's API every id is checked there;
unchecked ids are listed as such.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from sfumato.elicitation.page_messages import Redirect
from sfumato.elicitation.participant_link import token_of
from sfumato.elicitation.running_study import RunningStudy
from sfumato.elicitation.session import hash_of, no_such_link
from sfumato.elicitation.study_registration import study_secret
from sfumato.recruitment import platform_of
from sfumato.recruitment.platform import Arrival, Platform
from sfumato.recruitment.platform_api import PlatformClient, request_key
from sfumato.store import researcher_queries
from sfumato.store.schema import Row
from sfumato.study.study import Study
from sfumato.tables.errors import BadSetting, NotThere

N_KEY = 18


def redirect_for(connection: sa.Connection, study: Study, annotator: int, outcome: str) -> Redirect | None:
    """The redirect for an annotator with this outcome (`completed`, `screened_out` or `no_consent`).

    None for annotators who came by a link, and where the platform has no code for the outcome.
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
    """The latest arrival in a row of `platform_ids`."""
    refs = row["refs"]
    return Arrival(row["person"], refs.get("study", ""), refs.get("session", ""), refs.get("submit_to", ""))


@dataclass(frozen=True)
class UncheckedArrival:
    """A participant whose platform id was not checked yet, and the key for the request."""

    annotator: int
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


def admit(running: RunningStudy, platform: Platform, key: str, arrival: Arrival, language: str | None = None) -> str:
    """Admit a participant sent by the platform, and return their token, which is always the same."""
    if not is_entry_key(running, platform, key):
        raise no_such_link()
    if platform.study and arrival.study not in platform.study.split():
        expected, fix = "the study that [platform] names", "check the study's id on the platform and in the study file"
        raise NotThere("a participant from another study of the platform", expected, fix, "not-from-platform")
    token = token_of(running.secret, f"{platform.name} {arrival.person}")
    running.sessions.open_link(token, language, renewed=True)
    refs = {"study": arrival.study, "session": arrival.session, "submit_to": arrival.submit_to}
    connection, study, now = running.action()
    researcher_queries.add_arrival(connection, study, hash_of(token), platform.name, arrival.person, refs, now)
    return token


def unchecked_arrivals(running: RunningStudy, platform: Platform, token: str | None = None) -> list[UncheckedArrival]:
    """Participants whose platform id was not checked yet; with `token` only that one."""
    connection, study, _ = running.action()
    found = []
    for row in researcher_queries.platform_ids(connection, study, platform.name):
        if "check" not in row["refs"] and (token is None or row["token_hash"] == hash_of(token)):
            arrival = arrival_of(row)
            key = request_key(running.secret, row["pseudonym"], f"check {arrival.session}")
            found.append(UncheckedArrival(row["annotator"], arrival, key))
    return found


def check_arrival(client: PlatformClient, unchecked: UncheckedArrival) -> str:
    """Ask the platform about a participant: `known` or `unknown`; an error if it cannot be reached."""
    return "known" if client.knows(unchecked.arrival, unchecked.key) else "unknown"


def store_check(running: RunningStudy, unchecked: UncheckedArrival, result: str) -> None:
    """Store the platform's answer, once per visit."""
    connection, _, now = running.action()
    researcher_queries.add_platform_check(connection, unchecked.annotator, unchecked.arrival.session, result, now)
