"""The researcher's credentials: the hash of the password, and the second factor if there is one.

The second factor is a code from an authenticator app, by time (TOTP, RFC 6238, on HOTP, RFC 4226), or one of the
recovery codes, each of which works once. They are stored in the study's `password` column: the hash alone, or JSON if
there is a second factor.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import struct
from collections.abc import Sequence
from urllib.parse import quote

import msgspec

STEP_SECONDS, N_DIGITS = 30, 6
DRIFT = 1
"""Steps by which the clock of the phone may be wrong."""
N_SECRET_BYTES = 20
N_RECOVERY, N_RECOVERY_BYTES = 10, 20
"""Recovery codes have 120 random bits; from 112 on a plain hash is enough (OWASP ASVS 5.0, 6.5.2)."""


def totp(secret: bytes, step: int, n_digits: int = N_DIGITS) -> str:
    """The code of a time step (seconds since 1970, divided by 30)."""
    digest = hmac.digest(secret, struct.pack(">Q", step), hashlib.sha1)
    start = digest[-1] & 15
    (number,) = struct.unpack(">I", digest[start : start + 4])
    return str((number & 0x7FFFFFFF) % 10**n_digits).zfill(n_digits)


class SecondFactor(msgspec.Struct, frozen=True):
    """The secret shared with the app, the last step whose code was used, and the hashes of unused recovery codes."""

    secret: str
    last_step: int = 0
    recovery: tuple[str, ...] = ()

    def after(self, code: str, seconds: float) -> SecondFactor | None:
        """The second factor after this code was used at this time; None if the code is not valid, or was used."""
        typed = "".join(code.split()).replace("-", "").upper()
        now, found = int(seconds // STEP_SECONDS), None
        for step in range(now - DRIFT, now + DRIFT + 1):
            if _is_same(totp(base64.b32decode(self.secret), step), typed) and step > self.last_step:
                found = msgspec.structs.replace(self, last_step=step)
        hashed = _hash(typed)
        for known in self.recovery:
            if _is_same(known, hashed):
                rest = tuple(each for each in self.recovery if each != known)
                found = msgspec.structs.replace(self, recovery=rest)
        return found


class Credentials(msgspec.Struct, frozen=True):
    """What is stored to recognize the researcher; without a password, only links log in."""

    password: str | None = None
    second_factor: SecondFactor | None = None

    @classmethod
    def stored(cls, column: str | None) -> Credentials:
        """From the column."""
        return msgspec.json.decode(column, type=cls) if column and column.startswith("{") else cls(column)

    def column(self) -> str | None:
        """For the column."""
        return self.password if self.second_factor is None else msgspec.json.encode(self).decode()

    @property
    def fingerprint(self) -> str:
        """Changes with the password and with the secret of the second factor."""
        text = f"{self.password}\n{self.second_factor.secret if self.second_factor else None}"
        return hashlib.sha256(text.encode()).hexdigest()


def new_second_factor() -> tuple[SecondFactor, Sequence[str]]:
    """A new second factor and its recovery codes, to be shown once."""
    secret = base64.b32encode(secrets.token_bytes(N_SECRET_BYTES)).decode()
    codes = [base64.b32encode(secrets.token_bytes(N_RECOVERY_BYTES)).decode() for _ in range(N_RECOVERY)]
    return SecondFactor(secret, recovery=tuple(map(_hash, codes))), [_in_groups(code) for code in codes]


def otpauth_url(factor: SecondFactor, study: str) -> str:
    """The address that authenticator apps read (Key URI Format)."""
    return f"otpauth://totp/{quote(f'sfumato:{study}')}?secret={factor.secret}&issuer=sfumato"


def _in_groups(code: str) -> str:
    return "-".join(code[start : start + 4] for start in range(0, len(code), 4))


def _hash(code: str) -> str:
    return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()


def _is_same(known: str, typed: str) -> bool:
    return hmac.compare_digest(known.encode(), typed.encode("utf-8", "replace"))
