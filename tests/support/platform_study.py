"""A study of pictures with a recruitment platform, and participants who arrive from it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from picture_study import write_picture_study
from site_client import AskedSite, Reply, Visit

from sfumato.recruitment.arrival import entry_key

CODES = {"completed": "DONE-1", "screened_out": "OUT-2", "no_consent": "NO-3"}
HIT = "3HIT0000000000000000000000PETS"
ENTRY = 'entry = "links"'


def write_platform_study(
    folder: Path, platform: str = "prolific", *, codes: dict[str, str] = CODES, more: str = ""
) -> Path:
    """Write the picture study with `[platform]`, for people with links or from the platform; `more` adds settings."""
    write_picture_study(folder, entry="links")
    lines = ["[platform]", f'name = "{platform}"', *(f'{name} = "{code}"' for name, code in codes.items()), more]
    file = folder / "study.toml"
    file.write_text(file.read_text() + "\n".join(lines) + "\n")
    return folder


def door(asked: AskedSite, platform: str = "prolific") -> str:
    """The path by which people arrive from the platform."""
    secret = asked.site.writer.run(lambda running: running.secret)
    return f"/from/{platform}/{entry_key(secret, platform)}"


def hex_id(name: str) -> str:
    """An id in Prolific's format."""
    return hashlib.sha256(name.encode()).hexdigest()[:24]


def worker_id(name: str) -> str:
    """A worker's id in Mechanical Turk's format."""
    return f"A{hex_id(name)[:13].upper()}"


def assignment_id(name: str) -> str:
    """The id of an assignment in Mechanical Turk's format."""
    return f"3{hex_id(name).upper()}ABCDE"


STUDY = hex_id("study1")


def prolific(person: str = hex_id("person1"), session: str = hex_id("session1"), study: str = STUDY) -> str:
    return urlencode({"PROLIFIC_PID": person, "STUDY_ID": study, "SESSION_ID": session})


def mturk(
    person: str = worker_id("worker1"),
    session: str = assignment_id("assignment1"),
    study: str = HIT,
    to: str = "https://www.mturk.com",
) -> str:
    query = {"assignmentId": session, "hitId": study, "turkSubmitTo": to}
    return urlencode(query | ({"workerId": person} if person else {}))


@dataclass
class Browser:
    """A browser that keeps cookies, so that an arrival can be followed by another one of the same person."""

    asked: AskedSite
    platform: str = "prolific"
    cookies: dict[str, str] = field(default_factory=dict)

    def comes(self, query: str, **headers: str) -> Reply:
        """Open the entry address."""
        sent = headers | ({"cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())} if self.cookies else {})
        reply = self.asked.client.get(f"{door(self.asked, self.platform)}?{query}", sent)
        for name, value in reply.headers:
            if name == "set-cookie":
                key, _, content = value.partition(";")[0].partition("=")
                self.cookies[key] = content.strip('"')
        return reply

    def arrives(self, query: str) -> Visit:
        """A participant who was admitted."""
        reply = self.comes(query)
        assert reply.status == 303, reply.body
        return Visit(self.asked.client, (reply.header("location") or "").removeprefix("/s/"))


def comes(asked: AskedSite, query: str, platform: str = "prolific", **headers: Any) -> Reply:
    """Somebody opens the entry address in a new browser."""
    return Browser(asked, platform).comes(query, **headers)


def arrives(asked: AskedSite, query: str, platform: str = "prolific") -> Visit:
    """A participant who was admitted, in a new browser."""
    return Browser(asked, platform).arrives(query)


def through(visit: Visit, *, until: int | None = None) -> Visit:
    """Consent, pass the comprehension check, and give all answers or at most `until` (including practice)."""
    visit.step("consent")
    visit.step("instructions")
    visit.comprehension(["yes", "2"])
    n = 0
    while (until is None or n < until) and (state := visit.state())["stage"] == "trials":
        body = visit.body({"class": "cat"}, trial=state["trials"][0]["trial"])
        assert visit.submit(body).status == 201
        n += 1
    return visit
