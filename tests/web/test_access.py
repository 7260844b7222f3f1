"""Who may do what: the person with the token, what is theirs and nothing else; nobody learns of anybody else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from picture_study import HUSHED, write_picture_study
from site_client import AskedSite, Reply, Visit, asked_site
from starlette.routing import Mount, Route

from sfumato.elicit.beginning import begin_study
from sfumato.elicit.kinds import KINDS
from sfumato.elicit.links import is_signed, new_secret, new_token
from sfumato.web.app import routes
from sfumato.web.serving import new_links

ACCESS = {
    ("POST", "/s/{token}/api/answers"): "person",
    ("POST", "/s/{token}/api/state"): "person",
    ("POST", "/s/{token}/api/consent"): "person",
    ("POST", "/s/{token}/api/instructions"): "person",
    ("POST", "/s/{token}/api/trials"): "person",
    ("POST", "/s/{token}/api/pulse"): "person",
    ("POST", "/s/{token}/api/withdraw"): "person",
    ("POST", "/s/{token}/api/comprehension"): "person",
    ("GET", "/s/{token}/pictures/{trial}/{n}"): "person",
    ("GET", "/s/{token}/examples/{index}"): "person",
    ("GET", "/s/{token}"): "person",
    ("GET", "/studio/{key}"): "researcher",
    ("GET", "/studio/{key}/state"): "researcher",
    ("GET", "/"): "anyone",
    ("POST", "/join"): "anyone",
    ("GET", "/health"): "anyone",
    ("GET", "/static/kinds/{kind}/{file}"): "anyone",
    ("GET", "/static"): "anyone",
}
"""Every route there is, and who may use it. A new one needs a line here."""
PERSONAL = [route for route, who in ACCESS.items() if who == "person"]
BODIES = {
    "answers": {"key": "k", "trial": "t", "answer": {"class": "cat"}, "record": {"elapsed_ms": 1}},
    "comprehension": {"answers": ["yes", "2"]},
}
STATE = {"stage", "answered", "wanted", "batch_size", "trials", "wrong", "attempts_left", "code"}
TRIAL = {"trial", "number", "practice", "question", "feedback", "pictures", "texts", "told"}


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
        path = re.sub(r":\w+\}", "}", route.path)
        methods = {"GET"} if isinstance(route, Mount) else (route.methods or set()) - {"HEAD"}
        assert isinstance(route, (Route, Mount))
        found |= {(method, path) for method in methods}
    return found


def test_every_route_is_listed_with_who_may_use_it() -> None:
    assert methods_and_paths() == set(ACCESS)


def test_whatever_is_personal_lies_under_the_token() -> None:
    assert all(path.startswith("/s/{token}") == (who == "person") for (_, path), who in ACCESS.items())


def test_only_the_key_opens_what_is_the_researchers(asked: AskedSite) -> None:
    token = asked.join().token
    key = asked.site.studio_key
    for method, path in (route for route, who in ACCESS.items() if who == "researcher"):
        assert asked.client.send(method, path.format(key=key)).status == 200
        for wrong in (key[:-1], key + "A", key.swapcase(), token, "A" * len(key), "x", "%00", "%ff"):
            assert asked.client.send(method, path.format(key=wrong)).status == 404, wrong
    # It is another one each time the server starts, and nobody who takes part is told of it.
    assert key not in str(asked.client.get(f"/s/{token}").body)


def test_anyone_may_use_what_is_for_anyone(asked: AskedSite) -> None:
    for method, path in (route for route, who in ACCESS.items() if who == "anyone"):
        target = path.format(kind="choice", file="form.js") + ("/style.css" if path == "/static" else "")
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


def test_a_link_is_one_person_however_it_is_written(asked: AskedSite) -> None:
    # Base64 has more than one way to write the same bytes; a link has one.
    tokens = new_links(asked.study, 200)
    token = next(each for each in tokens if "-" in each)
    assert asked.client.get(f"/s/{token}").status == 200
    n_people = len(asked.stored("annotators"))
    spellings = [f"{token}=", f"{token}==", f"{token}====", f"{token}%3D", token.replace("-", "+"), f"{token}%0A"]
    assert [asked.client.get(f"/s/{each}").status for each in spellings] == [404] * len(spellings)
    assert asked.client.get(f"/s/{token}").status == 200
    assert len(asked.stored("annotators")) == n_people


def test_every_changed_character_of_a_token_is_noticed() -> None:
    secret = new_secret()
    token = new_token(secret)
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
    assert all(type(each) is int for each in state.get("wrong", ()))
    for trial in state.get("trials", ()):
        assert set(trial) == TRIAL
        assert re.fullmatch(r"[\w-]{16}", trial["trial"])
        assert type(trial["number"]) is int
        assert type(trial["practice"]) is bool
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
        for hushed in (*HUSHED, *people, other.token):
            # Tokens and handles are random: the number of the quota may stand in one by chance.
            text = re.sub(r"[\w-]{24,}|\"trial\":\"[\w-]{16}\"|pictures/[\w-]{16}", "", reply.text)
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
    assert all(re.fullmatch(r"/s/[\w-]{32}/pictures/[\w-]{16}/0", path) for path in seen)
