"""The client keeps an answer until the server has it, whatever the network does; and says nothing twice."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from study_stub import FAULTS, StudyStub

from sfumato.server.browser_client import BrowserClient
from sfumato.study.stimulus import Stimulus
from sfumato.tables.errors import BadSetting, NoReply, Refused

TOKEN = "t" * 32


def five_items(number: int) -> list[Stimulus]:
    return [Stimulus(f"item-{number}-{n}") for n in range(5)]


@pytest.fixture
def stub() -> Iterator[StudyStub]:
    with StudyStub(five_items, right=("yes",)) as running:
        yield running


class Pauses:
    """Stands in for sleeping: notes how long, and does something instead."""

    def __init__(self, instead: Callable[[int], None] = lambda n: None) -> None:
        self.seconds: list[float] = []
        self.instead = instead

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.instead(len(self.seconds))
        await asyncio.sleep(0)


def visited(stub: StudyStub, visit: Callable[[BrowserClient], Awaitable[Any]], **settings: Any) -> Any:
    """What `visit` returns, with a client that has a deadline."""

    async def run() -> Any:
        async with BrowserClient(stub.url, TOKEN, **({"deadline": 20, "sleep": Pauses()} | settings)) as visitor:
            return await visit(visitor)

    return asyncio.run(run())


def test_the_way_through_a_study(stub: StudyStub) -> None:
    async def visit(visitor: BrowserClient) -> tuple[list[str], int]:
        visitor.token = None
        await visitor.join()
        stages = [(await visitor.state())["stage"], (await visitor.step("consent"))["stage"]]
        stages.append((await visitor.step("instructions"))["stage"])
        wrong = await visitor.comprehension(["no"])
        assert (wrong["stage"], wrong["failed"]) == ("comprehension", True)
        state = await visitor.comprehension(["yes"])
        stages.append(state["stage"])
        statuses = set()
        while state["stage"] == "trials":
            reply = await visitor.submit(state["trials"][0]["trial"], {"class": "cat"}, {"elapsed_ms": 5})
            statuses.add(reply.status)
            state = reply.body["state"]
        assert statuses == {201}
        return [*stages, state["stage"]], stub.n_connections

    assert visited(stub, visit) == (["consent", "instructions", "comprehension", "trials", "finished"], 1)
    assert [sent["answer"] for sent in stub.stored.values()] == [{"class": "cat"}] * 5
    assert all(request.headers["Content-Type"] == "application/json" for request in stub.answers)


@pytest.mark.parametrize("fault", FAULTS)
def test_an_answer_survives_every_fault_and_is_stored_once(stub: StudyStub, fault: str) -> None:
    stub.person(TOKEN)
    stub.faults = deque([fault, fault, fault])

    async def visit(visitor: BrowserClient) -> Any:
        return await visitor.submit(f"{TOKEN}-0", {"class": "cat"}, {"elapsed_ms": 5}, key="one")

    reply = visited(stub, visit)
    was_stored_before = fault in ("lose", "half head", "half body", "garbage", "endless")
    assert (reply.status, reply.attempts, reply.body["answer"]) == (200 if was_stored_before else 201, 4, 1)
    assert list(stub.stored) == [(TOKEN, "one")]
    assert len({request.body for request in stub.answers}) == 1
    ages = [int(request.headers["X-Sfumato-Age"]) for request in stub.answers]
    assert ages == sorted(ages)
    assert 0 <= ages[0] <= ages[-1] < 20_000


def test_a_server_that_says_nothing_is_asked_again(stub: StudyStub) -> None:
    stub.person(TOKEN)
    stub.faults = deque(["silence"])
    reply = visited(stub, lambda visitor: visitor.submit(f"{TOKEN}-0", 1, {}), reply_seconds=0.05)
    assert (reply.status, reply.attempts, len(stub.stored)) == (200, 2, 1)


@pytest.mark.parametrize("fault", ["pieces", "close"])
def test_a_reply_may_come_in_pieces_or_be_the_last_of_its_connection(stub: StudyStub, fault: str) -> None:
    stub.person(TOKEN)
    stub.faults = deque([fault])

    async def visit(visitor: BrowserClient) -> list[tuple[int, int]]:
        replies = [await visitor.submit(f"{TOKEN}-{n}", 1, {}) for n in range(3)]
        return [(reply.status, reply.attempts) for reply in replies]

    assert visited(stub, visit) == [(201, 1)] * 3
    assert stub.n_connections == (2 if fault == "close" else 1)


def test_waits_as_long_as_the_server_asks(stub: StudyStub) -> None:
    stub.person(TOKEN)
    stub.faults = deque(["503", "500", "429"])
    pauses = Pauses()
    visited(stub, lambda visitor: visitor.submit(f"{TOKEN}-0", 1, {}), sleep=pauses)
    asked, own, asked_again = pauses.seconds
    assert 2 <= asked <= 2.5
    assert 2 <= asked_again <= 2.5
    assert own < 0.1


def test_pauses_grow_but_never_beyond_a_moment(stub: StudyStub) -> None:
    stub.person(TOKEN)
    stub.faults = deque(["500"] * 12)
    pauses = Pauses()
    visited(stub, lambda visitor: visitor.submit(f"{TOKEN}-0", 1, {}), sleep=pauses)
    assert pauses.seconds[0] < 0.03 < 1 <= pauses.seconds[-1] <= 1.25


@pytest.mark.parametrize(("status", "code"), [(409, "already-answered"), (422, "other-body")])
def test_lets_go_of_what_the_server_will_never_take(stub: StudyStub, status: int, code: str) -> None:
    stub.person(TOKEN)

    async def visit(visitor: BrowserClient) -> Any:
        await visitor.submit(f"{TOKEN}-0", {"class": "cat"}, {}, key="one")
        return await visitor.submit(f"{TOKEN}-0", {"class": "dog"}, {}, key="two" if status == 409 else "one")

    reply = visited(stub, visit)
    assert (reply.status, reply.attempts, reply.body["code"], len(stub.stored)) == (status, 1, code, 1)


def test_a_server_that_is_down_is_waited_for(stub: StudyStub) -> None:
    stub.person(TOKEN)
    stub.stop()
    pauses = Pauses(lambda n: stub.start() if n == 3 else None)
    reply = visited(stub, lambda visitor: visitor.submit(f"{TOKEN}-0", 1, {}), sleep=pauses)
    assert (reply.status, reply.attempts) == (201, 4)


def test_gives_up_at_the_deadline_only(stub: StudyStub) -> None:
    stub.stop()
    with pytest.raises(NoReply, match=r"error\[no-reply\]") as caught:
        visited(stub, lambda visitor: visitor.submit("trial", 1, {}, deadline=0.2), sleep=asyncio.sleep)
    assert "attempts" in str(caught.value)
    stub.start()


def test_a_silent_server_does_not_outlast_the_deadline(stub: StudyStub) -> None:
    stub.person(TOKEN)
    stub.faults = deque(["silence"] * 5)
    with pytest.raises(NoReply):
        visited(stub, lambda visitor: visitor.submit(f"{TOKEN}-0", 1, {}, deadline=0.1))
    assert len(stub.answers) == 1


def test_the_same_answer_sent_five_times_at_once_is_one(stub: StudyStub) -> None:
    stub.person(TOKEN)

    async def visit(visitor: BrowserClient) -> list[Any]:
        return await asyncio.gather(*[visitor.submit(f"{TOKEN}-0", 1, {}, key="one") for _ in range(5)])

    replies = visited(stub, visit)
    assert sorted(reply.status for reply in replies) == [200, 200, 200, 200, 201]
    assert {reply.body["answer"] for reply in replies} == {1}
    assert stub.n_connections == 5


def test_a_call_given_up_leaves_no_reply_to_the_next(stub: StudyStub) -> None:
    stub.person(TOKEN)
    stub.faults = deque(["silence"])

    async def visit(visitor: BrowserClient) -> tuple[int, str]:
        lost = asyncio.create_task(visitor.submit(f"{TOKEN}-0", 1, {}))
        while not stub.answers:
            await asyncio.sleep(0)
        lost.cancel()
        await asyncio.gather(lost, return_exceptions=True)
        return stub.n_connections, (await visitor.state())["stage"]

    assert visited(stub, visit) == (1, "consent")
    assert stub.n_connections == 2


def test_a_crowd_at_a_server_that_keeps_losing_everyone(stub: StudyStub) -> None:
    stub.abort_all_every = 7

    async def one(number: int) -> list[tuple[str, int]]:
        async with BrowserClient(stub.url, f"person-{number}", deadline=60, sleep=Pauses()) as visitor:
            stub.person(f"person-{number}")
            replies = [await visitor.submit(f"person-{number}-{n}", {"n": n}, {}) for n in range(5)]
            return [(f"person-{number}-{n}", reply.body["answer"]) for n, reply in enumerate(replies)]

    async def everyone() -> list[list[tuple[str, int]]]:
        return await asyncio.gather(*map(one, range(24)))

    acknowledged = [each for person in asyncio.run(everyone()) for each in person]
    assert sorted(acknowledged) == sorted((sent["trial"], sent["id"]) for sent in stub.stored.values())
    assert len(acknowledged) == 24 * 5 == len(stub.stored)
    assert len(stub.answers) > 24 * 5


def test_pictures_and_the_page(stub: StudyStub) -> None:
    async def visit(visitor: BrowserClient) -> tuple[bytes, list[str]]:
        config = await visitor.config()
        return await visitor.picture(f"/s/{TOKEN}/pictures/h/0"), [each["name"] for each in config["classes"]]

    assert visited(stub, visit) == (bytes(range(256)) * 2_000, ["ship", "dog", "cat"])


def test_a_link_nobody_has_is_refused_in_the_servers_words(stub: StudyStub) -> None:
    async def visit(visitor: BrowserClient) -> None:
        visitor.token = "nobody"
        await visitor.state()

    with pytest.raises(Refused, match=r"error\[no-such-link\] found no such link \(status 404 at state\)"):
        visited(stub, visit)
    assert len(stub.requests) == 1


@pytest.mark.parametrize("url", ["", "127.0.0.1:8000", "ftp://a", "http://", "http://a:b", "http://ü"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(BadSetting, match="bad-url"):
        BrowserClient(url)


def test_a_token_cannot_smuggle_a_header(stub: StudyStub) -> None:
    async def visit(visitor: BrowserClient) -> None:
        visitor.token = "a HTTP/1.1\r\nX-Evil: 1"
        await visitor.state()

    with pytest.raises(BadSetting, match="bad-url"):
        visited(stub, visit)
    assert stub.requests == []


def test_the_body_says_what_was_given(stub: StudyStub) -> None:
    stub.person(TOKEN)
    answer = {"tokens": {"Katze ü": 7, 'a"b': 3}, "others": True}
    visited(stub, lambda visitor: visitor.submit(f"{TOKEN}-0", answer, {"hidden": [[1, 2]]}, key="k"))
    assert json.loads(stub.answers[0].body) == {
        "key": "k",
        "trial": f"{TOKEN}-0",
        "answer": answer,
        "record": {"hidden": [[1, 2]]},
    }
