"""S40, S08: fifty at once. One lease is one answer, one link one session, one person one code, and a quota holds while
it is changed."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from picture_study import write_picture_study
from site_client import JSON, AskedSite, Reply, Visit, asked_site

from sfumato.elicitation.answer_intake import AnswerIntake
from sfumato.elicitation.researcher_actions import extend
from sfumato.elicitation.study_registration import new_links

AT_ONCE = 50


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[AskedSite]:
    folder = write_picture_study(tmp_path)
    file = folder / "study.toml"
    text = file.read_text().replace("batch_size = 4", "batch_size = 2")
    file.write_text(text.replace("answers_per_item = 97", "answers_per_item = 3"))
    with asked_site(folder) as opened:
        yield opened


def all_at_once(asked: AskedSite, requests: list[tuple[str, str, bytes]]) -> list[Reply]:
    """Every request at the same time, in the order of the replies asked for."""

    async def send() -> list[Reply]:
        sent = [asked.client._send(method, target, body, JSON) for method, target, body in requests]
        return list(await asyncio.gather(*sent))

    return asked.runner.run(send())


def answers_of(asked: AskedSite, trial: str) -> list[dict[str, Any]]:
    (row,) = [row for row in asked.stored("trials") if row["handle"] == trial]
    return [answer for answer in asked.stored() if answer["trial"] == row["id"]]


def test_fifty_answers_to_one_trial_are_one(asked: AskedSite) -> None:
    visit = asked.ready()
    trial = visit.trial()["trial"]
    bodies = [json.dumps(visit.body({"class": "cat"}, trial=trial)).encode() for _ in range(AT_ONCE)]
    replies = all_at_once(asked, [("POST", f"{visit.base}/api/answers", body) for body in bodies])
    assert Counter(reply.status for reply in replies) == {201: 1, 409: AT_ONCE - 1}
    assert len(answers_of(asked, trial)) == 1


def test_fifty_times_the_same_answer_is_one_with_one_id(asked: AskedSite) -> None:
    visit = asked.ready()
    body = json.dumps(visit.body({"class": "cat"})).encode()
    replies = all_at_once(asked, [("POST", f"{visit.base}/api/answers", body)] * AT_ONCE)
    assert Counter(reply.status for reply in replies) == {201: 1, 200: AT_ONCE - 1}
    assert len({reply.json["answer"] for reply in replies}) == 1


def test_a_link_opened_fifty_times_at_once_is_one_person(asked: AskedSite) -> None:
    (token,) = new_links(asked.study, 1)
    before = len(asked.stored("annotators"))
    replies = all_at_once(asked, [("GET", f"/s/{token}", b"")] * AT_ONCE)
    assert {reply.status for reply in replies} == {200}
    assert len(asked.stored("annotators")) == before + 1


def finished(asked: AskedSite) -> Visit:
    visit = asked.ready()
    while (state := visit.state())["stage"] == "trials":
        assert visit.submit(visit.body({"class": "cat"}, trial=state["trials"][0]["trial"])).status == 201
    assert state["stage"] == "finished"
    return visit


def test_fifty_requests_for_the_code_get_the_same_one(asked: AskedSite) -> None:
    visit = finished(asked)
    replies = all_at_once(asked, [("POST", f"{visit.base}/api/state", b"{}")] * AT_ONCE)
    codes = {reply.json["code"] for reply in replies}
    (code,) = codes
    assert [row["code"] for row in asked.stored("annotators") if row["code"]] == [code]
    assert finished(asked).state()["code"] != code


def test_a_quota_changed_under_load_is_kept_to(asked: AskedSite) -> None:
    """Twenty people answer while the quota goes from 3 to 6: no item has more than it may have at any time."""
    people = [asked.ready() for _ in range(20)]
    for quota in (4, 5, 6):
        for _ in range(3):
            requests = []
            for person in people:
                state = person.state()
                if state["stage"] == "trials":
                    trial = state["trials"][0]["trial"]
                    body = json.dumps(person.body({"class": "cat"}, trial=trial)).encode()
                    requests.append(("POST", f"{person.base}/api/answers", body))
            replies = all_at_once(asked, requests)
            assert {reply.status for reply in replies} <= {201}
        asked.site.writer.run(lambda running, quota=quota: extend(running, quota, "test"))
    per_item = Counter(row["item"] for row in asked.stored() if row["purpose"] == "label")
    assert per_item
    assert max(per_item.values()) <= 6


def test_a_study_that_forgets_what_it_stored_is_found_out(asked: AskedSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: where keys are not looked up, the same answer comes back with other statuses."""
    monkeypatch.setattr(AnswerIntake, "_receipt", lambda *_: None)
    visit = asked.ready()
    body = json.dumps(visit.body({"class": "cat"})).encode()
    replies = all_at_once(asked, [("POST", f"{visit.base}/api/answers", body)] * AT_ONCE)
    assert Counter(reply.status for reply in replies) != {201: 1, 200: AT_ONCE - 1}
