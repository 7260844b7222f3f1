"""One key is one answer, also if it is sent five times at once, much later, after a crash, or with other content."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import msgspec
import sqlalchemy as sa
from crowd import SentAnswer, new_answer, short_sleep, write_crowd_study
from study_server import StudyServer

from sfumato.server.browser_client import BrowserClient
from sfumato.server.client_connection import Reply
from sfumato.store.location import StoreLocation

N_ANSWERS = 20
"""More than the number of receipts in memory per person."""


def test_one_key_is_one_answer(tmp_path: Path, store: str) -> None:
    with StudyServer(write_crowd_study(tmp_path / "study", 400), store=store) as server:
        asyncio.run(_one_key_is_one_answer(server, store))


async def _one_key_is_one_answer(server: StudyServer, store: str) -> None:
    rng = random.Random(1)
    async with (
        BrowserClient(server.url, deadline=60, sleep=short_sleep) as first,
        BrowserClient(server.url, deadline=60, sleep=short_sleep) as second,
    ):
        acknowledged = [await _answer_five_times(first, rng, n) for n in range(N_ANSWERS)]
        ids = {answer.key: id for answer, id in acknowledged}
        assert len(set(ids.values())) == N_ANSWERS

        for _ in range(2):
            for answer, id in acknowledged:
                again = await first.submit_body(answer.body)
                assert (again.status, again.body["answer"]) == (200, id)
                other = await first.submit_body(_with_other_tokens(answer))
                assert (other.status, other.body["code"]) == (422, "key-reused")
            # Then again with a restarted server, which has only the store.
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)

        await second.join()
        state = await second.step("instructions")
        for answer, id in acknowledged:
            body = msgspec.json.encode(
                msgspec.json.decode(answer.body) | {"trial": state["trials"][0]["trial"]},
            )
            reply = await second.submit_body(body)
            assert reply.status == 201
            assert reply.body["answer"] != id
            state = reply.body["state"]
    assert _keys(store) == dict.fromkeys(ids, 2)


async def _answer_five_times(visitor: BrowserClient, rng: random.Random, n: int) -> tuple[SentAnswer, str]:
    """An answer that was sent five times at once, and its id."""
    if n == 0:
        await visitor.join()
        await visitor.step("instructions")
    state = await visitor.step("trials")
    assert visitor.token is not None
    answer = new_answer(visitor.token, state["trials"][0]["trial"], rng)
    replies: list[Reply] = await asyncio.gather(*(visitor.submit_body(answer.body) for _ in range(5)))
    assert sorted(reply.status for reply in replies) == [200, 200, 200, 200, 201]
    (id,) = {reply.body["answer"] for reply in replies}
    return answer, id


def _with_other_tokens(answer: SentAnswer) -> bytes:
    """The same key and trial with another answer."""
    tokens = {"cat": 3, "dog": 7} if answer.tokens != {"cat": 3, "dog": 7} else {"cat": 4, "dog": 6}
    content = msgspec.json.decode(answer.body)
    return msgspec.json.encode(content | {"answer": {"tokens": tokens, "others": False}})


def _keys(store: str) -> dict[str, int]:
    """The number of stored answers per key."""
    engine = sa.create_engine(StoreLocation.of(store).url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        rows = connection.execute(sa.text("SELECT key, COUNT(*) AS n FROM answers GROUP BY key"))
        return {row.key: row.n for row in rows}
