"""A study of pictures with a recruitment platform, and participants who arrive from it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

from picture_study import write_picture_study
from site_client import AskedSite, Reply, Visit

from sfumato.recruitment.arrival import entry_key

CODES = {"completed": "DONE-1", "screened_out": "OUT-2", "no_consent": "NO-3"}
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


def prolific(person: str = "person1", session: str = "session1", study: str = "study1") -> str:
    return urlencode({"PROLIFIC_PID": person, "STUDY_ID": study, "SESSION_ID": session})


def mturk(
    person: str = "WORKER1", session: str = "ASSIGNMENT1", study: str = "HIT1", to: str = "https://www.mturk.com"
) -> str:
    query = {"assignmentId": session, "hitId": study, "turkSubmitTo": to}
    return urlencode(query | ({"workerId": person} if person else {}))


def comes(asked: AskedSite, query: str, platform: str = "prolific") -> Reply:
    return asked.client.get(f"{door(asked, platform)}?{query}")


def arrives(asked: AskedSite, query: str, platform: str = "prolific") -> Visit:
    """A participant who was admitted."""
    reply = comes(asked, query, platform)
    assert reply.status == 303, reply.body
    return Visit(asked.client, (reply.header("location") or "").removeprefix("/s/"))


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
