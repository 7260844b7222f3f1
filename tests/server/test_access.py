"""Who may do what: the person with the token, what is theirs and nothing else; nobody learns of anybody else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from picture_study import SECRETS, write_picture_study
from researcher import Researcher, UnlimitedAttempts
from site_client import AskedSite, Reply, Visit, asked_site
from starlette.routing import Mount, Route

from sfumato.elicitation.kinds import KINDS
from sfumato.elicitation.new_study import begin_study
from sfumato.elicitation.participant_link import is_signed, new_secret, new_token
from sfumato.elicitation.researcher_actions import set_password, set_paused
from sfumato.elicitation.study_registration import new_links
from sfumato.recruitment.arrival import entry_key
from sfumato.server.app import routes
from sfumato.server.dashboard_access import Dashboard
from sfumato.server.passwords import hash_password
from sfumato.server.rate_limit import SlidingWindow
from sfumato.server.researcher_sessions import Session

ROLES = ("nobody", "person", "another person", "who has left", "researcher", "logged out")
ACCESS = {
    # What a link opens. Another person has a link of their own, and asks for the trial of the first.
    ("POST", "/s/{token}/api/answers"): (404, 201, 404, 409, 404, 404),
    ("POST", "/s/{token}/api/state"): (404, 200, 200, 200, 404, 404),
    ("POST", "/s/{token}/api/consent"): (404, 200, 200, 200, 404, 404),
    ("POST", "/s/{token}/api/instructions"): (404, 200, 200, 200, 404, 404),
    ("POST", "/s/{token}/api/trials"): (404, 200, 200, 200, 404, 404),
    ("POST", "/s/{token}/api/pulse"): (404, 200, 200, 200, 404, 404),
    ("POST", "/s/{token}/api/withdraw"): (404, 200, 200, 200, 404, 404),
    ("POST", "/s/{token}/api/comprehension"): (404, 200, 200, 200, 404, 404),
    ("GET", "/s/{token}/pictures/{trial}/{n}"): (404, 200, 404, 200, 404, 404),
    ("GET", "/s/{token}/examples/{index}"): (404, 200, 200, 200, 404, 404),
    ("GET", "/s/{token}"): (404, 200, 200, 200, 404, 404),
    # What the researcher's session opens; the link and the password that begin one are theirs alone.
    ("GET", "/studio"): (401, 401, 401, 401, 200, 401),
    ("GET", "/studio/enter/{key}"): (200,) * 6,
    ("POST", "/studio/enter/{key}"): (404, 404, 404, 404, 303, 404),
    ("POST", "/studio/login"): (401, 401, 401, 401, 200, 401),
    ("POST", "/studio/logout"): (401, 401, 401, 401, 200, 401),
    ("GET", "/studio/state"): (401, 401, 401, 401, 200, 401),
    ("GET", "/studio/events"): (401, 401, 401, 401, 200, 401),
    ("GET", "/studio/pictures/{number}"): (401, 401, 401, 401, 200, 401),
    ("POST", "/studio/pause"): (401, 401, 401, 401, 200, 401),
    ("POST", "/studio/resume"): (401, 401, 401, 401, 200, 401),
    ("POST", "/studio/extend"): (401, 401, 401, 401, 200, 401),
    ("POST", "/studio/downloads"): (401, 401, 401, 401, 201, 401),
    ("GET", "/studio/downloads/{handle}"): (401, 401, 401, 401, 200, 401),
    # Public routes. The entry for a platform has a key that only the platform knows.
    ("GET", "/"): (200,) * 6,
    ("POST", "/join"): (303,) * 6,
    ("GET", "/from/{platform}/{entry}"): (404, 404, 404, 404, 303, 404),
    ("GET", "/health"): (200,) * 6,
    ("GET", "/static/kinds/{kind}/{file}"): (200,) * 6,
    ("GET", "/static"): (200,) * 6,
}
"""Every route and the status for each role. A new route needs a line here."""
PERSONAL = [route for route in ACCESS if route[1].startswith("/s/")]
BODIES = {
    "answers": {"key": "k", "trial": "t", "answer": {"class": "cat"}, "record": {"elapsed_ms": 1}},
    "comprehension": {"answers": ["yes", "2"]},
}
PASSWORD = "four geese on a lake"
STATE = {"stage", "answered", "wanted", "batch_size", "trials", "failed", "attempts_left", "code"}
TRIAL = {"trial", "number", "practice", "question", "deeper", "feedback", "judged", "pictures", "texts", "told"}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedSite]:
    with asked_site(write_picture_study(tmp_path_factory.mktemp("pets"))) as opened:
        yield opened


def use(asked: AskedSite, route: tuple[str, str], token: str, trial: str = "t") -> Reply:
    method, path = route
    target = path.format(token=token, trial=trial, n=0, index=0)
    body = BODIES.get(path.rpartition("/")[2], {})
    if path.endswith("/answers"):
        body = body | {"trial": trial}
    return asked.client.post(target, body) if method == "POST" else asked.client.get(target)


def methods_and_paths() -> set[tuple[str, str]]:
    found = set()
    for route in routes():
        path = re.sub(r":\w+\}", "}", route.path).replace("{platform}/{key}", "{platform}/{entry}")
        methods = {"GET"} if isinstance(route, Mount) else (route.methods or set()) - {"HEAD"}
        assert isinstance(route, (Route, Mount))
        found |= {(method, path) for method in methods}
    return found


def test_every_route_is_listed_with_its_permissions() -> None:
    assert methods_and_paths() == set(ACCESS)


def test_whatever_is_personal_lies_under_the_token() -> None:
    """Of what not everybody may do, all lies under a link, under the researcher's session, or behind a key."""
    for (_, path), statuses in ACCESS.items():
        assert len(statuses) == len(ROLES)
        if len(set(statuses)) > 1:
            assert path.startswith(("/s/{token}", "/studio", "/from/{platform}/{entry}")), path


class Roles:
    """Who asks: what they have of the link, the session and the keys that a route may want."""

    def __init__(self, asked: AskedSite) -> None:
        self._asked = asked
        asked.site.dashboard.attempts = UnlimitedAttempts()
        asked.site.dashboard.downloads.rate = SlidingWindow("downloads", 10_000)
        kept = hash_password(PASSWORD)
        asked.site.writer.run(lambda running: set_password(running, kept, "test"))
        self._quota = 1000

    def ask(self, role: str, method: str, path: str) -> int:
        """The status for this role; the objects of the route exist."""
        asked = self._asked
        asked.site.writer.run(lambda running: set_paused(running, False, "test"))
        owner = asked.ready()
        trial = owner.trial()["trial"]
        researcher = Researcher.by_link(asked)
        handle = ""
        if "{handle}" in path:
            handle = researcher.post("/studio/downloads", {"what": "annotations"}).json["path"].rpartition("/")[2]
        is_researcher = role == "researcher"
        values = {
            "token": new_token(new_secret()),
            "trial": trial,
            "n": 0,
            "index": 0,
            "kind": "choice",
            "file": "form.js",
            "number": asked.stored("items")[0]["id"],
            "handle": handle,
            "platform": "prolific",
            "key": asked.site.dashboard.new_link().rpartition("/")[2] if is_researcher else "A" * 32,
            "entry": "A" * 24,
        }
        if is_researcher:
            # They know the address they have put in at the platform.
            values["entry"] = asked.site.writer.run(lambda running: entry_key(running.secret, "prolific"))
        if role in ("person", "who has left"):
            values["token"] = owner.token
        if role == "another person":
            values["token"] = asked.ready().token
        if role == "who has left":
            owner.step("withdraw")
        if role == "logged out":
            assert researcher.post("/studio/logout").status == 200
        cookie = {"cookie": researcher.cookie} if role in ("researcher", "logged out") else {}
        target = path.format(**values) + {"/static": "/style.css"}.get(path, "")
        if path.startswith("/from/"):
            target += f"?PROLIFIC_PID={'5f1e' * 6}&STUDY_ID={'6a2b' * 6}&SESSION_ID={'7c3d' * 6}"
        if method == "POST":
            return asked.client.post(target, self._body(path, trial, is_researcher), cookie).status
        # A stream would not end; asked for its head alone it is let in or not all the same.
        return asked.client.send("HEAD" if path.endswith("/events") else "GET", target, headers=cookie).status

    def _body(self, path: str, trial: str, is_researcher: bool) -> dict[str, Any]:
        self._quota += 1
        bodies = {
            "/studio/login": {"password": PASSWORD if is_researcher else "wrong guess"},
            "/studio/extend": {"answers_per_item": self._quota},
            "/studio/downloads": {"what": "annotations"},
        }
        body = bodies.get(path) or BODIES.get(path.rpartition("/")[2], {})
        return body | {"trial": trial} if path.endswith("/answers") else body


@pytest.fixture(scope="module")
def roles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roles]:
    folder = write_picture_study(tmp_path_factory.mktemp("roles"))
    file = folder / "study.toml"
    file.write_text(f'{file.read_text()}[platform]\nname = "prolific"\ncompleted = "C0DE"\n')
    with asked_site(folder) as opened:
        yield Roles(opened)


@pytest.mark.parametrize("route", ACCESS, ids=lambda route: f"{route[0]} {route[1]}")
def test_every_route_tells_every_role_what_the_table_says(roles: Roles, route: tuple[str, str]) -> None:
    assert tuple(roles.ask(role, *route) for role in ROLES) == ACCESS[route]


def test_a_door_left_open_is_found(roles: Roles, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without the guard of the researcher's page, and with links of any signature, the table no longer holds.
    monkeypatch.setattr(Dashboard, "session_of", lambda *_, **__: Session("link", 0.0, 0.0))
    monkeypatch.setattr("sfumato.elicitation.session.is_signed", lambda *_: True)
    open_doors = [("GET", "/studio/state"), ("POST", "/studio/pause"), ("GET", "/s/{token}")]
    for route in open_doors:
        assert tuple(roles.ask(role, *route) for role in ROLES) != ACCESS[route], route


def test_anyone_may_use_what_is_for_anyone(asked: AskedSite) -> None:
    for (method, path), statuses in ACCESS.items():
        if len(set(statuses)) == 1:
            target = path.format(kind="choice", file="form.js", key="A") + ("/style.css" if path == "/static" else "")
            assert asked.client.send(method, target).status in (200, 303), path


@pytest.mark.parametrize("route", PERSONAL, ids=lambda route: route[1].removeprefix("/s/{token}") or "page")
def test_only_the_token_opens_what_is_personal(
    asked: AskedSite, tmp_path_factory: pytest.TempPathFactory, route: tuple[str, str]
) -> None:
    token = asked.join().token
    changed = token[:-1] + ("A" if token[-1] != "A" else "B")
    another_study = new_token(new_secret())
    before = asked.rows()
    for wrong in (
        changed,
        token[:-1],
        token.swapcase(),
        another_study,
        "A" * 32,
        "x",
        "%00",
        "%ff%fe",
        "..",
        token + "A",
    ):
        assert use(asked, route, wrong).status == 404, wrong
    assert use(asked, route, "").status in (404, 405)
    assert asked.rows() == before


def test_a_token_of_another_study_in_the_same_store_is_unknown(asked: AskedSite, tmp_path: Path) -> None:
    other = write_picture_study(tmp_path / "other", name="pets-2")
    store = asked.study.path.parent / "store" / "shared.sqlite"  # type: ignore[union-attr]
    with asked_site(asked.study, store) as first:
        person = first.ready()
        trial = person.trial()["trial"]
    with asked_site(other, store) as second:
        before = second.rows()
        for route in PERSONAL:
            assert use(second, route, person.token, trial).status == 404, route
        assert second.rows() == before
        own = second.ready()
        assert use(second, ("GET", "/s/{token}/pictures/{trial}/{n}"), own.token, trial).status == 404
        assert own.submit(own.body({"class": "cat"}, trial=trial)).status == 404


def test_all_spellings_of_a_link_are_one_person(asked: AskedSite) -> None:
    # Base64 has more than one way to write the same bytes; a link has one.
    tokens = new_links(asked.study, 200)
    token = next(each for each in tokens if "-" in each)
    assert asked.client.get(f"/s/{token}").status == 200
    n_people = len(asked.stored("annotators"))
    spellings = [f"{token}=", f"{token}==", f"{token}====", f"{token}%3D", token.replace("-", "+"), f"{token}%0A"]
    assert [asked.client.get(f"/s/{each}").status for each in spellings] == [404] * len(spellings)
    assert asked.client.get(f"/s/{token}").status == 200
    assert len(asked.stored("annotators")) == n_people


@pytest.mark.parametrize("made_at", [None, 1_800_000_000_000])
def test_every_changed_character_of_a_token_is_noticed(made_at: int | None) -> None:
    secret = new_secret()
    token = new_token(secret, made_at)
    assert is_signed(token, secret)
    for i in range(len(token)):
        for character in ("A", "z", "-", "_", "0"):
            if character != token[i]:
                assert not is_signed(token[:i] + character + token[i + 1 :], secret)
    assert not is_signed(token, new_secret())
    assert not any(is_signed(wrong, secret) for wrong in ("", "é" * 32, token + token, token[:28], "\ud800"))


def test_a_link_opened_twice_is_the_same_person(asked: AskedSite) -> None:
    (token,) = new_links(asked.study, 1)
    before = len(asked.stored("annotators"))
    first, second = (asked.client.get(f"/s/{token}").body for _ in range(2))
    assert first == second
    assert len(asked.stored("annotators")) == before + 1


def test_another_persons_trial_is_neither_shown_nor_answered(asked: AskedSite) -> None:
    anna, bert = asked.ready(), asked.ready()
    trial = anna.trial()["trial"]
    assert bert.trial()["trial"] != trial
    before = asked.rows()
    assert asked.client.get(f"{bert.base}/pictures/{trial}/0").status == 404
    reply = bert.submit(bert.body({"class": "cat"}, trial=trial))
    assert (reply.status, reply.json["code"]) == (404, "unknown-trial")
    # An answer that is no answer says no more: nobody learns that the trial exists.
    assert bert.submit(bert.body({"class": "nonsense"}, trial=trial)).status == 404
    assert asked.rows() == before
    assert asked.client.get(f"{anna.base}/pictures/{trial}/0").status == 200
    assert anna.submit(anna.body({"class": "cat"}, trial=trial)).status == 201


@pytest.mark.parametrize("n", ["1", "99", "-1", "x", "1.0", "", "0/0", "00000000000000000000001", "9" * 5000])
def test_pictures_are_those_of_the_trial(asked: AskedSite, n: str) -> None:
    person = asked.ready()
    reply = asked.client.get(f"{person.base}/pictures/{person.trial()['trial']}/{n}")
    assert reply.status in (404, 414), reply.body[:200]
    assert reply.raised is None


def test_another_persons_answer_key_is_free(asked: AskedSite) -> None:
    anna, bert = asked.ready(), asked.ready()
    assert anna.submit(anna.body({"class": "cat"}, key="same")).status == 201
    assert bert.submit(bert.body({"class": "dog"}, key="same")).status == 201


def check_state(state: dict[str, Any], token: str) -> None:
    """Nothing in a State but what the contract lists."""
    assert set(state) <= STATE
    for name in ("answered", "wanted", "batch_size"):
        assert type(state[name]) is int
    assert type(state.get("failed", False)) is bool
    for trial in state.get("trials", ()):
        assert set(trial) == TRIAL
        assert re.fullmatch(r"[\w-]{24}", trial["trial"])
        assert type(trial["number"]) is int
        assert all(type(trial[name]) is bool for name in ("practice", "deeper", "judged"))
        assert trial["practice"] or not trial["judged"]  # nobody learns which items are checks
        assert set(trial["told"]) <= {"class", "classes"}
        for n, picture in enumerate(trial["pictures"]):
            assert picture == f"/s/{token}/pictures/{trial['trial']}/{n}"


def walk(asked: AskedSite, visit: Visit) -> Iterator[Reply]:
    """Every reply of a person's way through the study, wrong turns included."""
    yield asked.client.get(visit.base)
    for name in ("state", "trials", "consent", "instructions"):
        yield visit.step(name)
    for given in (["no", "2"], ["yes"], ["yes", "2"]):
        yield visit.comprehension(given)
    for _ in range(12):
        state = visit.state()
        if state["stage"] != "trials":
            break
        trial = state["trials"][0]
        body = visit.body({"class": "dog"}, trial=trial["trial"])
        yield visit.submit(body | {"answer": {"class": "hen"}})
        yield visit.submit(body)
        yield visit.submit(body)
        yield visit.submit(body | {"key": "another"})
        yield asked.client.get(f"{visit.base}/pictures/{trial['trial']}/9")
    for name in ("state", "pulse", "withdraw"):
        yield visit.step(name)
    yield asked.client.get("/", {"accept": "text/html"})
    yield asked.client.get("/health")


def test_replies_hold_what_the_person_may_know_and_nothing_else(asked: AskedSite) -> None:
    other = asked.ready()
    other.submit(other.body({"class": "cat"}))
    visit = asked.join()
    stages = set()
    people = {row["pseudonym"] for row in asked.stored("annotators")}
    for reply in walk(asked, visit):
        assert reply.status < 500
        for hushed in (*SECRETS, *people, other.token):
            # Tokens, handles and codes are random: one may contain the number of the quota by chance.
            text = re.sub(
                r"[\w-]{24,}|\"code\":\"[0-9A-F]{8}\"|\"(?:trial|answer)\":\"[\w-]{24}\"|pictures/[\w-]{24}",
                "",
                reply.text,
            )
            assert hushed not in text, (hushed, text)
        if reply.header("content-type") == "application/json":
            body = reply.json
            state = body.get("state", body if "stage" in body else None)
            if "state" in body:
                assert set(body) <= {"state", "answer", "code"}
            if state:
                check_state(state, visit.token)
                stages.add(state["stage"])
    assert stages >= {"consent", "instructions", "comprehension", "trials", "finished", "withdrawn"}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_no_kind_tells_item_ids_or_file_names(kind: Any, tmp_path: Path) -> None:
    begin_study(tmp_path / "s", kind.name, demo=True)
    with asked_site(tmp_path / "s") as asked:
        visit = asked.ready()
        page, state = asked.client.get(visit.base), visit.step("state")
        assert state.json["stage"] == "trials"
        check_state(state.json, visit.token)
        for reply in (page, state):
            assert "shape-" not in reply.text
            assert ".png" not in reply.text
        assert page.status == 200


def test_picture_paths_are_opaque_and_differ_from_person_to_person(asked: AskedSite) -> None:
    seen = [trial["pictures"][0] for _ in range(3) for trial in asked.ready().state()["trials"]]
    assert len(set(seen)) == len(seen)
    assert all(re.fullmatch(r"/s/[\w-]{44}/pictures/[\w-]{24}/0", path) for path in seen)
