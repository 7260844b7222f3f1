"""S30, S32: limits per participant and address, and that nobody loses an answer by waiting."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from picture_study import write_picture_study
from site_client import JSON, AskedSite, Reply, SiteClient, Visit, asked_site
from study_server import StudyServer, write_texts_study

from sfumato.server.app import application
from sfumato.server.browser_client import BrowserClient
from sfumato.server.rate_limit import (
    ARRIVALS_PER_MINUTE,
    BURST,
    ServerLimits,
    SlidingWindow,
    TokenBucket,
    network_of,
)
from sfumato.server.server import LOOPBACK, create_server
from sfumato.store.schema import annotators


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedSite]:
    with asked_site(write_picture_study(tmp_path_factory.mktemp("pets"))) as opened:
        yield opened


def limited(asked: AskedSite, limits: ServerLimits, address: str = "127.0.0.1") -> SiteClient:
    return SiteClient(application(asked.site, LOOPBACK, limits), asked.runner, address=address)


# --- pace ---


def test_a_bucket_by_hand() -> None:
    clock = Clock()
    pace = TokenBucket(5, 20, clock)
    assert [pace.take("anna") for _ in range(20)] == [0.0] * 20
    assert pace.take("anna") == pytest.approx(0.2)
    # What was refused costs nothing; another person is not touched.
    assert pace.take("bert") == 0.0
    clock.now += 0.2
    assert pace.take("anna") == 0.0
    assert pace.take("anna") > 0
    clock.now += 1
    assert [pace.take("anna") for _ in range(6)] == pytest.approx([0, 0, 0, 0, 0, 0.2])
    clock.now += 3600
    assert [pace.take("anna") for _ in range(20)] == [0.0] * 20
    assert pace.take("anna") > 0


def test_turning_the_generations_gives_nobody_more() -> None:
    clock = Clock()
    pace, taken, begun = TokenBucket(5, 20, clock), 0, clock.now
    while clock.now < begun + 60:
        taken += pace.take("anna") == 0.0
        clock.now += 0.01
    assert taken == pytest.approx(20 + 5 * 60, abs=2)


def test_buckets_do_not_pile_up() -> None:
    clock = Clock()
    pace = TokenBucket(5, 20, clock)
    for number in range(100_000):
        pace.take(f"forged-{number}")
        clock.now += 0.01
    assert len(pace._young) + len(pace._old) < 1000


def test_who_sends_too_fast_is_told_when_to_come_again_and_loses_nothing(asked: AskedSite) -> None:
    clock = Clock()
    client = limited(asked, ServerLimits(TokenBucket(5, BURST, clock)))
    visit = Visit(client, asked.ready().token)
    other = Visit(client, asked.ready().token)
    for _ in range(BURST):
        assert visit.step("state").status == 200
    body = asked_body(visit, asked)
    before = asked.rows()
    reply = visit.submit(body)
    assert (reply.status, reply.json["code"], reply.header("retry-after")) == (429, "too-many", "1")
    assert asked.rows() == before
    assert other.step("state").status == 200
    clock.now += 1
    assert visit.submit(body).status == 201
    # Pages and pictures are not counted.
    for _ in range(3 * BURST):
        assert client.get(visit.base).status == 200


def asked_body(visit: Visit, asked: AskedSite) -> dict[str, object]:
    return Visit(asked.client, visit.token).body({"class": "cat"})


def test_without_the_limit_the_check_fails(asked: AskedSite) -> None:
    visit = Visit(limited(asked, ServerLimits()), asked.ready().token)
    assert {visit.step("state").status for _ in range(2 * BURST)} == {200}


@pytest.mark.parametrize("token", ["x", "%00", "..", "A" * 32])
def test_forged_tokens_have_a_pace_too(asked: AskedSite, token: str) -> None:
    client = limited(asked, ServerLimits(TokenBucket(5, 3, Clock())))
    statuses = [client.post(f"/s/{token}/api/answers", {}).status for _ in range(5)]
    assert statuses == [422, 422, 422, 429, 429]


def test_new_people_from_one_address_are_counted(asked: AskedSite) -> None:
    limits = ServerLimits(arrivals=SlidingWindow("arrivals", 3, clock=Clock()))
    one, another, local = (limited(asked, limits, each) for each in ("192.0.2.1", "2001:db8::1", "127.0.0.1"))
    assert [one.send("POST", "/join").status for _ in range(4)] == [303, 303, 303, 429]
    reply = one.send("POST", "/join", headers={"accept": "text/html"})
    assert (reply.header("retry-after"), reply.header("cache-control")) == ("60", "no-store")
    assert "minute" in reply.text
    assert another.send("POST", "/join").status == 303
    # The loopback is a proxy that has not been named, or somebody who tries the study out.
    assert {local.send("POST", "/join").status for _ in range(10)} == {303}


def test_one_ipv6_network_is_one_client(asked: AskedSite) -> None:
    narrow = SlidingWindow("arrivals", 3, clock=Clock())
    wide = SlidingWindow("arrivals", 5, clock=Clock())
    limits = ServerLimits(arrivals=narrow, wide_arrivals=wide)

    def joined(address: str) -> int:
        return limited(asked, limits, address).send("POST", "/join").status

    assert [joined(f"2001:db8:0:1::{number}") for number in range(4)] == [303, 303, 303, 429]
    # The networks of one /48 have a limit together.
    assert [joined(f"2001:db8:0:{number}::1") for number in range(2, 6)] == [303, 303, 429, 429]
    assert joined("2001:db8:1:1::1") == 303
    # An IPv4 address in its IPv6 form is that IPv4 address.
    assert [joined(each) for each in ("192.0.2.1", "::ffff:192.0.2.1", "::ffff:c000:201", "192.0.2.1")] == [
        303,
        303,
        303,
        429,
    ]
    # Addresses of the same network of IPv4 are separate clients.
    assert joined("192.0.2.2") == 303


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", "unknown"),
        ("", ""),
        ("x" * 10_000, "x" * 45),
    ],
)
def test_the_network_of_an_address(address: str, network: str) -> None:
    assert network_of(address) == network


def test_long_forged_tokens_take_little_memory(asked: AskedSite) -> None:
    bucket = TokenBucket(5, 20, Clock())
    client = limited(asked, ServerLimits(bucket))
    for number in range(3):
        client.post(f"/s/{number}{'x' * 10_000}/api/state", {})
    assert sorted(map(len, bucket._young)) == [64, 64, 64]
    # Our own tokens differ in any of their characters.
    assert len(asked.ready().token) <= 64


def test_the_usual_limits() -> None:
    usual = ServerLimits.per_participant()
    assert usual.requests is not None
    assert [usual.requests.take("a") == 0.0 for _ in range(BURST + 1)] == [True] * BURST + [False]
    assert usual.arrivals is not None
    assert usual.arrivals._most == ARRIVALS_PER_MINUTE
    assert ServerLimits.per_participant(0) == ServerLimits()


def test_a_served_study_has_a_pace_and_a_client_that_waits_stores_everything(tmp_path: Path) -> None:
    n_answers = 24
    with StudyServer(write_texts_study(tmp_path / "study", 40, batch_size=40), pace=5) as server:

        async def answer_all() -> tuple[int, int]:
            async with BrowserClient(server.url) as visitor:
                await visitor.join()
                state = await visitor.step("instructions")
                stored = 0
                for _ in range(n_answers):
                    trial = state["trials"][0]["trial"]
                    reply = await visitor.submit(trial, {"tokens": {"cat": 10}, "others": False}, {"elapsed_ms": 900})
                    stored += reply.status == 201
                    state = reply.body["state"]
                return stored, visitor.n_retries

        stored, n_retries = asyncio.run(answer_all())
    assert stored == n_answers
    assert n_retries > 0


def test_addresses_are_those_a_named_proxy_tells_and_nobody_elses(asked: AskedSite) -> None:
    def client(proxies: tuple[str, ...], peer: str) -> SiteClient:
        limits = ServerLimits(arrivals=SlidingWindow("arrivals", 2))
        config = create_server(asked.site, LOOPBACK, limits, proxies).config
        config.load()
        return SiteClient(config.loaded_app, asked.runner, address=peer)

    def joined(client: SiteClient, forwarded: str) -> int:
        return client.send("POST", "/join", headers={"x-forwarded-for": forwarded}).status

    behind = client(("127.0.0.1",), "127.0.0.1")
    assert [joined(behind, "192.0.2.7") for _ in range(3)] == [303, 303, 429]
    # Everything before the proxy's own entry was written by the client.
    assert joined(behind, "198.51.100.9, 192.0.2.7") == 429
    assert joined(behind, "192.0.2.8") == 303
    # Behind a proxy the loopback address is a client like any: somebody wrote it, or the proxy forwards none.
    for claimed in ("127.0.0.1", "::1", "::ffff:127.0.0.1"):
        own = client(("127.0.0.1",), "127.0.0.1")
        assert [joined(own, claimed) for _ in range(3)] == [303, 303, 429]
    # Nobody else is believed: neither without a proxy, nor from another address than the proxy's.
    for asks in (client((), "192.0.2.7"), client(("127.0.0.1",), "192.0.2.7")):
        assert [joined(asks, f"198.51.100.{i}") for i in range(3)] == [303, 303, 429]


def test_an_address_that_is_not_the_persons_is_not_stored(asked: AskedSite) -> None:
    """On this machine, or behind a proxy that reports no addresses, all people looked like one network."""

    def stored(proxies: tuple[str, ...], peer: str, forwarded: str = "") -> str | None:
        config = create_server(asked.site, LOOPBACK, None, proxies).config
        config.load()
        client = SiteClient(config.loaded_app, asked.runner, address=peer)
        link = client.post("/join").header("location")
        assert link is not None
        reply = client.get(link, {"x-forwarded-for": forwarded} if forwarded else {})
        assert reply.status == 200
        with asked.site.reader.connect() as connection:
            columns = sa.select(annotators.c.network).order_by(annotators.c.id.desc())
            return connection.execute(columns.limit(1)).scalar_one()

    for own in ("127.0.0.1", "::1", "::ffff:127.0.0.1"):
        assert stored((), own) is None
    assert stored(("10.0.0.0/24",), "10.0.0.3") is None
    assert stored(("127.0.0.1",), "127.0.0.1", "::1") is None
    # Simulated networks, and what a proxy reports, are those of people.
    networks = [
        stored((), "127.7.0.1"),
        stored((), "127.7.0.2"),
        stored((), "192.0.2.7"),
        stored(("10.0.0.0/24",), "10.0.0.3", "198.51.100.9"),
    ]
    assert len(set(networks)) == 4
    assert None not in networks
    assert stored((), "192.0.2.7") == networks[2]


# --- size ---


def nested(depth: int) -> dict[str, object]:
    inside: object = 1
    for _ in range(depth - 1):
        inside = [inside]
    return {"class": inside}


@pytest.mark.parametrize(("depth", "code"), [(20, "invalid-answer"), (21, "too-deep"), (500, "too-deep")])
def test_an_answer_is_at_most_20_deep(asked: AskedSite, depth: int, code: str) -> None:
    visit = asked.ready()
    before = asked.rows()
    reply = visit.submit(visit.body(nested(depth)))
    assert (reply.status, reply.json["code"]) == (422, code)
    assert asked.rows() == before
    assert visit.submit(visit.body({"class": "cat"})).status == 201


def test_a_body_beyond_all_depth_is_no_json(asked: AskedSite) -> None:
    reply = asked.ready().submit(b'{"key":"k","trial":"t","record":{"elapsed_ms":1},"answer":' + b'{"a":' * 5000)
    assert (reply.status, reply.json["code"]) == (422, "bad-body")


@pytest.mark.parametrize(("n", "status"), [(1, 206), (5, 206), (6, 416), (1000, 416)])
def test_at_most_five_ranges_of_a_file(asked: AskedSite, n: int, status: int) -> None:
    ranges = ",".join(f"{10 * i}-{10 * i + 1}" for i in range(n))
    assert asked.client.get("/static/style.css", {"range": f"bytes={ranges}"}).status == status


@pytest.mark.parametrize("media_type", ["multipart/form-data; boundary=x", "application/x-www-form-urlencoded"])
def test_no_form_is_ever_read(asked: AskedSite, media_type: str) -> None:
    """Parts and fields of forms need no limit: joining, the only form there is, does not look at its body."""
    visit = asked.ready()
    body = b'--x\r\nContent-Disposition: form-data; name="a"; filename="a.svg"\r\n\r\n<svg/>\r\n--x--\r\n' * 100
    for step in ("state", "answers", "comprehension", "consent"):
        reply = asked.client.send("POST", f"{visit.base}/api/{step}", body, {"content-type": media_type})
        assert (reply.status, reply.json["code"]) == (422, "not-json")
    joined = asked.client.send("POST", "/join", body, {"content-type": media_type})
    assert joined.status == 303


def test_bodies_are_limited_everywhere(asked: AskedSite) -> None:
    def size_of(target: str, size: int) -> Reply:
        return asked.client.send("POST", target, b" " * size, JSON)

    visit = asked.ready()
    targets = [f"{visit.base}/api/{name}" for name in ("answers", "state", "comprehension", "pulse")]
    for target in [*targets, "/studio/login", "/studio/extend", "/join"]:
        assert size_of(target, 64 * 1024 + 1).status == 413, target
        assert size_of(target, 64 * 1024).status in (303, 401, 422), target
    assert json.loads(size_of(targets[0], 70_000).body)["code"] == "body-too-large"
