"""The second factor: codes by time as in RFC 6238, each used once, and recovery codes."""

from __future__ import annotations

import base64
import re
from urllib.parse import parse_qs, urlsplit

import pytest

from sfumato.store.credentials import Credentials, SecondFactor, new_second_factor, otpauth_url, totp

RFC_SECRET = b"12345678901234567890"
NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("seconds", "code"),
    [
        (59, "94287082"),
        (1111111109, "07081804"),
        (1111111111, "14050471"),
        (1234567890, "89005924"),
        (2000000000, "69279037"),
        (20000000000, "65353130"),
    ],
)
def test_codes_are_those_of_rfc_6238(seconds: int, code: str) -> None:
    """Appendix B, SHA-1."""
    assert totp(RFC_SECRET, seconds // 30, 8) == code
    assert totp(RFC_SECRET, seconds // 30) == code[-6:]


def test_codes_are_those_of_rfc_4226() -> None:
    """Appendix D: the codes of the first ten counters."""
    codes = "755224 287082 359152 969429 338314 254676 287922 162583 399871 520489"
    assert [totp(RFC_SECRET, step) for step in range(10)] == codes.split()


def code_at(factor: SecondFactor, seconds: float) -> str:
    return totp(base64.b32decode(factor.secret), int(seconds // 30))


def test_a_code_is_valid_half_a_minute_early_or_late_and_once() -> None:
    factor, _ = new_second_factor()
    for seconds, is_valid in ((-60, False), (-30, True), (0, True), (30, True), (60, False)):
        assert (factor.after(code_at(factor, NOW + seconds), NOW) is not None) == is_valid, seconds
    used = factor.after(code_at(factor, NOW), NOW)
    assert used is not None
    # Neither this code nor an earlier one is taken again, in the whole time in which they would be valid.
    for later in range(0, 90, 10):
        for seconds in (-30, 0):
            assert used.after(code_at(factor, NOW + seconds), NOW + later) is None
    assert used.after(code_at(factor, NOW + 30), NOW + 30) is not None


def test_other_texts_are_no_codes() -> None:
    factor, _ = new_second_factor()
    right = code_at(factor, NOW)
    for text in ("", "0", right[:5], right + "0", "１２３４５６", "\ud800", "x" * 100, factor.secret, *factor.recovery):
        assert factor.after(text, NOW) is None, text
    assert factor.after(f" {right[:3]} {right[3:]}\n", NOW) is not None


def test_a_recovery_code_works_once_and_is_stored_as_a_hash() -> None:
    factor, codes = new_second_factor()
    assert len(set(codes)) == 10
    stored = Credentials("$argon2id$...", factor).column() or ""
    assert not any(code in stored or code.replace("-", "") in stored for code in codes)
    used = factor.after(codes[3].lower(), NOW)
    assert used is not None
    assert len(used.recovery) == 9
    assert used.after(codes[3], NOW) is None
    assert used.after(codes[4].replace("-", " "), NOW) is not None


def test_a_recovery_code_has_so_many_random_bits_that_a_plain_hash_is_enough() -> None:
    _, codes = new_second_factor()
    for code in codes:
        assert re.fullmatch(r"([A-Z2-7]{4}-){7}[A-Z2-7]{4}", code)
        assert 8 * len(base64.b32decode(code.replace("-", ""))) >= 112


def test_credentials_are_read_back() -> None:
    factor, _ = new_second_factor()
    for each in (Credentials(), Credentials("$argon2id$x"), Credentials("$argon2id$x", factor)):
        assert Credentials.stored(each.column()) == each
    # Without a second factor the column holds the hash alone, as it did before there were any.
    assert Credentials("$argon2id$x").column() == "$argon2id$x"
    prints = {Credentials(password, each).fingerprint for password in ("a", "b", None) for each in (factor, None)}
    assert len(prints) == 6


def test_the_address_for_the_app_holds_the_key() -> None:
    factor, _ = new_second_factor()
    url = urlsplit(otpauth_url(factor, "birds"))
    assert (url.scheme, url.netloc, url.path) == ("otpauth", "totp", "/sfumato%3Abirds")
    assert parse_qs(url.query) == {"secret": [factor.secret], "issuer": ["sfumato"]}
    assert len(base64.b32decode(factor.secret)) == 20
