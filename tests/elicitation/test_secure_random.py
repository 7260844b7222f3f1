"""Random numbers drawn many bytes at a time are as good as those drawn one by one."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from sfumato.elicitation.secure_random import BLOCK_BYTES, SecureRandom


def test_no_byte_is_given_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    system = iter(range(10**6))
    monkeypatch.setattr(os, "urandom", lambda n: b"".join(next(system).to_bytes(1, "big") for _ in range(n)))
    monkeypatch.setattr("sfumato.elicitation.secure_random.BLOCK_BYTES", 10)
    chance = SecureRandom()
    assert b"".join(chance.randbytes(n) for n in (3, 4, 3, 10, 12)) == bytes(range(32))


def test_numbers_are_even() -> None:
    chance = SecureRandom()
    drawn = [chance.random() for _ in range(20_000)]
    assert 0 <= min(drawn) < 0.001 < 0.999 < max(drawn) < 1
    assert sum(drawn) / len(drawn) == pytest.approx(0.5, abs=0.012)
    bits = Counter(chance.getrandbits(3) for _ in range(16_000))
    assert sorted(bits) == list(range(8))
    assert max(bits.values()) < 2_200


def test_handles_are_unlike_and_fit_an_address() -> None:
    chance = SecureRandom()
    handles = {chance.handle() for _ in range(3 * BLOCK_BYTES // 18)}
    assert len(handles) == 3 * BLOCK_BYTES // 18
    assert all(len(handle) == 24 and handle.replace("-", "").replace("_", "").isalnum() for handle in handles)
