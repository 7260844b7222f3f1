"""Arrivals signed by Prolific: only its own signature for this study, this person and this visit opens the door."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from platform_study import STUDY, Browser, comes, door, hex_id, prolific, through, write_platform_study
from site_client import AskedSite, asked_site

from sfumato.recruitment import Prolific, check_platform, signature_keys
from sfumato.recruitment.signed_arrival import SHA256_PREFIX, SignatureKeys
from sfumato.study import read_study
from sfumato.tables.errors import BadFile, BadSetting, NotThere

# A key that exists only here: modulus and private exponent.
N = int(
    "b3c7cb782f80f81fd6d815ec336f1cb958fdc3e9e7029290bd058b71723ebf292d9d497f37af6085f1f976584f84cbc9a54a"
    "2faf6591cb0279a106eaf6e8eac2e436c007f3a86dd150924cb6aa54fde809d1882ea7bfad125f390f4ecc3eb9a24eecdc8f"
    "327cbc3af8ccbe5f3a6e57557ede88414af6f9da6d533e5bbb1950654c2e536b67a043f93a0a459ee550cd4ddbe0e1cd5342"
    "72e36183f412459fce98ec6f68efc456e1229d2265cb7e71ea08ad1ef278f3198361e98b82394eb63b8ea8378376e0c5a15a"
    "ad0523574058befe929a11428a21f06d65a5cfb051c911135016b35475e594299ac0752bb2a4b8ee68d32b5be874705a2d29"
    "e8e83741cf69",
    16,
)
D = int(
    "40c393d7eafd01e5ae66cf96f47c6d9393ac6f3c3edd1d6188c68b9245beb6eca5a308cc0c8a60324096467ccfc09e0d393f"
    "3d68692599457dfd755985b3288726e15652470380f42b9b5889615916d2d55ea7396f72cc6d56e25e525b9fa90e0072b18d"
    "e07930f1e99910678bcc1e280d792b0aa26fd0585093f15de84bd93ad9af6248632768cd3d5f19531e552998a6adee397f4a"
    "dd2e6e35d6026ecf5e2f277f9da197602a9e0e82ca20eeb2c93ef7ebb27ad63a25045f1cdf883e79cc9203e07e804790c73c"
    "ff356b32e276ca0e7e6cf9a72bab7d1030636368e9176db33a53842d090ef4bc666bf7a159199d8fe2f66a04815759160657"
    "cd4915a36111",
    16,
)
SIZE = (N.bit_length() + 7) // 8
NOW = 1_800_000_000
HEADER = {"alg": "RS256", "typ": "JWT", "kid": "k1"}


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def sign(claims: object, header: object = HEADER) -> str:
    """A token as Prolific makes it."""
    text = ".".join(b64(json.dumps(each).encode()) for each in (header, claims))
    hashed = SHA256_PREFIX + hashlib.sha256(text.encode()).digest()
    block = b"\0\1" + b"\xff" * (SIZE - len(hashed) - 3) + b"\0" + hashed
    return f"{text}.{b64(pow(int.from_bytes(block), D, N).to_bytes(SIZE))}"


def write_keys(file: Path, kid: str = "k1", n: int = N) -> None:
    key = {"kty": "RSA", "kid": kid, "alg": "RS256", "use": "sig", "n": b64(n.to_bytes((n.bit_length() + 7) // 8))}
    file.write_text(json.dumps({"keys": [key | {"e": b64((65537).to_bytes(3))}]}))


@pytest.fixture
def keys(tmp_path: Path) -> SignatureKeys:
    write_keys(tmp_path / "keys.json")
    return SignatureKeys(tmp_path / "keys.json")


def test_the_claims_of_a_signed_token(keys: SignatureKeys) -> None:
    claims = {"exp": NOW + 100, "prolific": {"a": 1}}
    assert keys.claims(sign(claims), NOW) == claims
    assert keys.claims(sign(claims), NOW + 150) == claims  # clocks differ
    with pytest.raises(NotThere):
        keys.claims(sign(claims), NOW + 161)


@pytest.mark.parametrize(
    ("claims", "header"),
    [
        ({"exp": NOW + 100}, {**HEADER, "alg": "none"}),
        ({"exp": NOW + 100}, {**HEADER, "alg": "HS256"}),
        ({"exp": NOW + 100}, {**HEADER, "kid": "k2"}),
        ({"exp": NOW + 100}, {**HEADER, "crit": ["exp"]}),
        ({"exp": NOW + 100}, ["RS256"]),
        ({"exp": str(NOW + 100)}, HEADER),
        ({"exp": True}, HEADER),
        ({}, HEADER),
        ({"exp": NOW + 100, "nbf": NOW + 90}, HEADER),
        ([], HEADER),
    ],
)
def test_tokens_of_another_kind_are_refused(keys: SignatureKeys, claims: object, header: object) -> None:
    with pytest.raises(NotThere) as error:
        keys.claims(sign(claims, header), NOW)
    assert error.value.code == "not-from-platform"


def test_changed_tokens_are_refused(keys: SignatureKeys) -> None:
    head, body, end = sign({"exp": NOW + 100}).split(".")
    other = b64(json.dumps({"exp": NOW + 900}).encode())
    longer = b64(b"\0" + base64.urlsafe_b64decode(end + "=="))
    for token in (
        "",
        "..",
        f"{head}.{body}",
        f"{head}.{body}.",
        f"{head}.{other}.{end}",
        f"{head}.{body}.{longer}",
        f"{head}.{body}.{b64((N + 5).to_bytes(SIZE + 1))}",
        f"{head}.{body}.{end}.{end}",
        f"{head}.{body}.{'A' + end[1:] if end[0] != 'A' else 'B' + end[1:]}",
        "\u00e9.x.y",
        "[" * 3000 + ".x.y",
    ):
        with pytest.raises(NotThere):
            keys.claims(token, NOW)


def test_new_keys_are_read_when_the_file_changes(keys: SignatureKeys, tmp_path: Path) -> None:
    token = sign({"exp": NOW + 100}, {**HEADER, "kid": "k2"})
    with pytest.raises(NotThere):
        keys.claims(token, NOW)
    (tmp_path / "keys.json").write_text("{")  # half written: the old keys stay
    os.utime(tmp_path / "keys.json", (1, 1))
    assert keys.claims(sign({"exp": NOW + 100}), NOW)
    write_keys(tmp_path / "keys.json", "k2")
    os.utime(tmp_path / "keys.json", (2, 2))
    assert keys.claims(token, NOW)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"keys": []}', '{"keys": [{"kty": "EC"}]}', "[" * 50_000, "x" * 70_000]
)
def test_a_file_without_keys_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "keys.json").write_text(text)
    with pytest.raises(BadFile) as error:
        SignatureKeys(tmp_path / "keys.json")
    assert error.value.code == "bad-keys"
    with pytest.raises(BadFile):
        SignatureKeys(tmp_path / "none.json")
    write_keys(tmp_path / "short.json", n=2**1023 + 1)
    with pytest.raises(BadFile, match="2048 bits"):
        SignatureKeys(tmp_path / "short.json")


def test_keys_need_the_study_and_stand_in_its_folder() -> None:
    for settings in ({"keys": "k.json"}, {"keys": "../k.json", "study": STUDY}, {"keys": 3, "study": STUDY}):
        with pytest.raises(BadSetting):
            Prolific(**settings)  # type: ignore[arg-type]


def write_signed(folder: Path) -> Path:
    write_platform_study(folder, more=f'study = "{STUDY}"\nkeys = "keys.json"')
    write_keys(folder / "keys.json")
    return folder


def signed(asked: AskedSite, person: str, session: str, **changed: Any) -> str:
    """The query of an arrival that Prolific signed."""
    ids = {"PROLIFIC_PID": person, "STUDY_ID": STUDY, "SESSION_ID": session, "workspace_id": hex_id("workspace")}
    now = asked.site.clock.now() / 1000
    audience = f"https://study.example{door(asked)}?PROLIFIC_PID={person}"
    claims = {"iss": "https://www.prolific.com", "exp": now + 600, "aud": audience, "prolific": ids} | changed
    return f"{prolific(person, session)}&prolific_token={sign(claims)}"


def test_only_signed_arrivals_come_in_and_they_come_in_anywhere(tmp_path: Path) -> None:
    person, visit = hex_id("signed person"), hex_id("signed visit")
    with asked_site(write_signed(tmp_path / "pets")) as asked:
        for query in (
            prolific(person, visit),
            f"{prolific(person, visit)}&prolific_token=",
            signed(asked, person, visit).replace(person, hex_id("thief"), 1),
            signed(asked, person, visit, exp=1),
            signed(asked, person, visit, aud="https://other.example/from/prolific/x"),
            signed(asked, person, visit, aud=None),
            signed(asked, person, visit, prolific=None),
            f"{prolific(person, visit, hex_id('other study'))}&prolific_token=x",
        ):
            assert comes(asked, query).status == 404
        assert asked.stored("annotators") == []
        first = through(Browser(asked).arrives(signed(asked, person, visit)), until=3)
        asked.client.get(first.base)
        # A new browser: the signature proves who they are, and the first link stays valid.
        again = Browser(asked).arrives(signed(asked, person, visit, aud="study.example"))
        assert again.token != first.token
        assert again.state()["answered"] == first.state()["answered"] == 2
        (row,) = asked.stored("annotators")
        assert row["entry"] == "signed"


def test_a_study_names_keys_that_cannot_be_read(tmp_path: Path) -> None:
    from sfumato.study.toml_mistakes import Mistakes

    folder = write_signed(tmp_path / "pets")
    study = read_study(folder)
    assert signature_keys(study) is not None
    (folder / "keys.json").unlink()
    mistakes = Mistakes(str(folder / "study.toml"))
    check_platform(study, mistakes)
    assert [each.code for each in mistakes.found] == ["bad-keys"]
