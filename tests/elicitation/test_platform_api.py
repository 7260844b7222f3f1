"""Asking a platform: patient, under one key, telling nobody the token; what its export and its API say, read alike."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from platform_stub import FAULTS, PlatformStub

from sfumato.recruitment import PLATFORMS, MTurk, Prolific, mturk
from sfumato.recruitment.mturk import signed
from sfumato.recruitment.platform import Arrival, Platform, PlatformSubmission, read_export
from sfumato.recruitment.platform_api import ATTEMPTS, ApiConnection, ApiRequest, pages_of, request_key
from sfumato.tables.errors import BadSetting, BadTable, NoReply, Refused

ME = Arrival("personA", "study1", "session1")
both = pytest.mark.parametrize("platform", [Prolific(), MTurk()], ids=lambda each: each.name)
WORD = {"prolific": "AWAITING REVIEW", "mturk": "Submitted"}


def caller_of(platform: Platform, stub: PlatformStub, pauses: list[float] | None = None) -> Any:
    caller = platform.client(stub.environment)
    assert caller is not None
    caller.connection.sleep = (pauses if pauses is not None else []).append
    return caller


def test_every_platform_keeps_to_the_protocol() -> None:
    for member in PLATFORMS:
        assert isinstance(member(), Platform)
        assert member().client({}) is None
        assert member().token_names


@both
def test_a_person_the_platform_sent_is_known_and_another_is_not(platform: Platform) -> None:
    with PlatformStub() as stub:
        stub.add("personA", "session1", WORD[platform.name])
        caller = caller_of(platform, stub)
        assert caller.knows(ME, "k1")
        for wrong in (replace(ME, person="personB"), replace(ME, study="study2"), replace(ME, session="session2")):
            assert not caller.knows(wrong, f"k {wrong.person}{wrong.study}{wrong.session}")


@both
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_got_over_under_the_same_key(platform: Platform, fault: str) -> None:
    with PlatformStub(faults=deque([fault, fault])) as stub:
        stub.add("personA", "session1", WORD[platform.name])
        pauses: list[float] = []
        assert caller_of(platform, stub, pauses).knows(ME, "one key")
        assert [key for _, key in stub.requests] == ["one key"] * 3
        assert set(stub.effects.values()) == {1}
        assert len(pauses) == 2
        assert pauses[0] < pauses[1] or fault == "429"
        assert fault != "429" or pauses == [7, 7]


@both
def test_after_some_attempts_it_says_so_and_nothing_changed(platform: Platform) -> None:
    with PlatformStub(faults=deque(["503"] * 99)) as stub:
        with pytest.raises(NoReply) as error:
            caller_of(platform, stub).knows(ME, "key")
        assert len(stub.requests) == ATTEMPTS
        assert (error.value.code, stub.effects) == ("no-reply", {})


@both
def test_a_wrong_token_is_said_at_once_and_never_shown(platform: Platform) -> None:
    with PlatformStub() as stub:
        wrong = stub.environment | {"SFUMATO_PROLIFIC_TOKEN": "wrong-tok", "AWS_ACCESS_KEY_ID": "wrong-tok"}
        caller = platform.client(wrong)
        assert caller is not None
        with pytest.raises(Refused) as error:
            caller.knows(ME, "key")
        assert len(stub.requests) == 1
        assert error.value.code == "platform-refused"
        assert "wrong-tok" not in str(error.value)
        assert "personA" not in str(error.value)


def test_a_redirect_is_not_followed_with_the_token() -> None:
    with PlatformStub(faults=deque(["redirect"])) as stub:
        with pytest.raises(Refused):
            caller_of(Prolific(), stub).knows(ME, "key")
        assert len(stub.requests) == 1


@pytest.mark.parametrize("base", ["http://api.prolific.com", "ftp://127.0.0.1", "api.prolific.com", ""])
def test_a_token_goes_over_https_or_not_at_all(base: str) -> None:
    with pytest.raises(BadSetting) as error:
        ApiConnection(base, lambda _: {})
    assert error.value.code == "not-https"


def test_a_reply_beyond_all_measure_is_none() -> None:
    with PlatformStub() as stub:
        stub.add("personA" * 3_000_000, "session1", "ACTIVE")
        with pytest.raises(NoReply):
            caller_of(Prolific(), stub).knows(ME, "key")


@both
def test_all_submissions_come_page_by_page_whatever_goes_wrong(platform: Platform) -> None:
    with PlatformStub(shuffled=random.Random(1)) as stub:
        for n in range(10):
            stub.add(f"person{n}", f"session{n}", WORD[platform.name], f"CODE{n}")
        stub.add("stranger", "session99", WORD[platform.name], study="study2")
        stub.faults.extend(["500", "", "drop", "429", "", "garbage", "lose"])
        found = caller_of(platform, stub).submissions("study1", "list key")
        expected = {
            PlatformSubmission(f"person{n}", f"session{n}", "submitted", f"CODE{n}", "study1") for n in range(10)
        }
        assert set(found) == expected
        assert len(found) > 10  # some twice, in any order: readers count each once
        keys = [key for _, key in stub.requests]
        assert len(set(keys)) < len(keys)
        assert all(key.startswith("list key-") for key in keys)


def test_an_api_that_turns_no_pages_is_asked_no_further() -> None:
    asked: list[int] = []

    def ask(page: int) -> list[str]:
        asked.append(page)
        return ["always", "the same"]

    assert pages_of(ask, lambda reply: reply) == ["always", "the same"]
    assert asked == [1, 2]


def test_keys_are_the_same_each_time_and_tell_nothing() -> None:
    keys = {request_key("ab" * 32, who, why) for who in ("A1", "A2") for why in ("check s1", "check s2", "pay base")}
    assert len(keys) == 6
    assert request_key("ab" * 32, "A1", "check s1") in keys
    assert request_key("cd" * 32, "A1", "check s1") not in keys
    assert not any("A1" in key for key in keys)


def test_the_signature_is_that_of_amazons_own_example(monkeypatch: pytest.MonkeyPatch) -> None:
    """`post-vanilla` of Amazon's published test suite for Signature Version 4."""
    monkeypatch.setattr(mturk, "SERVICE", "service")
    now = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
    secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
    headers = signed(ApiRequest("/"), "example.amazonaws.com", "AKIDEXAMPLE", secret, now, {})
    assert headers["X-Amz-Date"] == "20150830T123600Z"
    assert headers["Authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        "SignedHeaders=host;x-amz-date, Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
    )


def test_whatever_is_changed_changes_the_signature() -> None:
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    request = ApiRequest("/", {"X-Amz-Target": "T.Op", "Content-Type": "application/x-amz-json-1.1"}, b"{}")

    def signature(request: ApiRequest = request, host: str = "h", secret: str = "s", now: datetime = now) -> str:
        return signed(request, host, "AK", secret, now, {})["Authorization"].rpartition("Signature=")[2]

    assert signature() == signature()
    changed = {
        signature(replace(request, body=b"{ }")),
        signature(replace(request, headers={**request.headers, "X-Amz-Target": "T.Other"})),
        signature(host="other"),
        signature(secret="other"),
        signature(now=now.replace(day=3)),
        signature(now=now.replace(second=6)),
    }
    assert len(changed - {signature()}) == 6


PROLIFIC_EXPORT = """\
Submission id,Participant id,Status,Completion code,Time taken
60d1,5f0a,APPROVED,C1,120
60d2,5f0b,AWAITING REVIEW,C1,9
60d3,5f0c,RETURNED,,
60d4,5f0d,TIMED-OUT,,
60d5,5f0e,REJECTED,NOCODE,
60d6,5f0f,SCREENED OUT,S1,
60d7,5f10,PARTIALLY APPROVED,C1,
60d8,5f11,ACTIVE,,
60d9,5f12,Something new,,
"""
MTURK_EXPORT = """\
"HITId","AssignmentId","WorkerId","AssignmentStatus","Input.url","Answer.code"
"H1","AS1","W1","Approved","x","C1"
"H1","AS2","W2","Submitted","x",""
"H1","AS3","W3","Rejected","x","C1"
"""


def test_prolifics_export(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(PROLIFIC_EXPORT)
    found = Prolific().submissions(read_export(tmp_path / "e.csv"))
    assert found[0] == PlatformSubmission("5f0a", "60d1", "approved", "C1")
    assert [each.status for each in found] == [
        "approved", "submitted", "returned", "timed out", "rejected", "screened out", "approved", "active",
        "something new",
    ]  # fmt: skip
    assert [each.code for each in found] == ["C1", "C1", "", "", "NOCODE", "S1", "C1", "", ""]


def test_mturks_batch_results(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(MTURK_EXPORT)
    assert MTurk().submissions(read_export(tmp_path / "e.csv")) == [
        PlatformSubmission("W1", "AS1", "approved", "C1", "H1"),
        PlatformSubmission("W2", "AS2", "submitted", "", "H1"),
        PlatformSubmission("W3", "AS3", "rejected", "C1", "H1"),
    ]


def test_ids_of_an_export_stay_text(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("Submission id,Participant id,Status\n007,1e5,APPROVED\n")
    assert Prolific().submissions(read_export(tmp_path / "e.csv")) == [PlatformSubmission("1e5", "007", "approved")]


@both
def test_another_file_is_refused_by_the_name_of_the_missing_column(platform: Platform, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("annotator,amount\nA,1\n")
    with pytest.raises(BadTable) as error:
        platform.submissions(read_export(tmp_path / "e.csv"))
    assert error.value.code == "missing-column"
    assert "as it was downloaded" in error.value.fix
