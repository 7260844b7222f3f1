"""Arrivals that a platform has signed: a JSON Web Token in the query, checked offline with the platform's public keys.

The keys come from a file in the study's folder, in the format of a JSON Web Key Set (RFC 7517), so the server fetches
nothing. Only RS256 is accepted (RFC 7518: RSASSA-PKCS1-v1_5 with SHA-256), and checking such a signature needs no
secret, so it is done here: the expected block is built and compared as a whole, nothing of the signature is parsed.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.tables.errors import BadFile, NotThere

LARGEST_FILE = 64 * 1024
FEWEST_BITS = 2048
LEEWAY_SECONDS = 60
"""Allowed difference between the clocks of the platform and of this machine."""
SHA256_PREFIX = bytes.fromhex("3031300d060960864801650304020105000420")
"""The ASN.1 prefix of a SHA-256 hash in a signature (RFC 8017, section 9.2)."""


@dataclass(frozen=True)
class RsaKey:
    """A public key: modulus and exponent."""

    n: int
    e: int

    def is_signature(self, message: bytes, signature: bytes) -> bool:
        """Whether the owner of the key signed the message (RS256)."""
        size = (self.n.bit_length() + 7) // 8
        value = int.from_bytes(signature)
        if len(signature) != size or value >= self.n:
            return False
        hashed = SHA256_PREFIX + hashlib.sha256(message).digest()
        expected = b"\0\1" + b"\xff" * (size - len(hashed) - 3) + b"\0" + hashed
        return hmac.compare_digest(pow(value, self.e, self.n).to_bytes(size), expected)


class SignatureKeys:
    """The platform's keys in a file, which is read again when it has changed: platforms replace their keys."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._changed_at = -1
        self._keys: Mapping[str, RsaKey] = {}
        self._read()

    def claims(self, token: str, now: float) -> Mapping[str, Any]:
        """The claims of a token that is signed and has not expired at `now` (seconds since 1970); raises `NotThere`."""
        try:
            head, body, end = token.split(".")
            header, claims, signature = json.loads(_bytes(head)), json.loads(_bytes(body)), _bytes(end)
        except (ValueError, RecursionError):
            raise not_signed("no signature of the platform") from None
        if not isinstance(header, dict) or not isinstance(claims, dict) or header.get("alg") != "RS256":
            raise not_signed("a signature of another kind")
        self._read()
        key = self._keys.get(str(header.get("kid")))
        if key is None or "crit" in header or not key.is_signature(f"{head}.{body}".encode(), signature):
            raise not_signed("a signature that is not the platform's")
        starts, ends = _number(claims.get("nbf", now)), _number(claims.get("exp"))
        if starts is None or ends is None or not starts - LEEWAY_SECONDS <= now < ends + LEEWAY_SECONDS:
            raise not_signed("a signature that has expired")
        return claims

    def _read(self) -> None:
        try:
            changed_at = self._file.stat().st_mtime_ns
            if changed_at == self._changed_at:
                return
            with self._file.open("rb") as stream:
                data = stream.read(LARGEST_FILE + 1)
            self._keys = _keys_in(data)
        except (OSError, ValueError, RecursionError) as error:
            if self._keys:
                # The file is being replaced: the keys read before stay valid.
                return
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            fix = "download the platform's public keys into this file: see docs/platforms.md"
            raise BadFile(
                f"keys that cannot be read ({why})", "a JSON Web Key Set", fix, "bad-keys", self._file
            ) from error
        self._changed_at = changed_at


def not_signed(found: str) -> NotThere:
    """The error for an arrival without a valid signature."""
    fix = "open the study from the platform again"
    return NotThere(found, "an arrival that the platform signed", fix, "not-from-platform")


def _keys_in(data: bytes) -> dict[str, RsaKey]:
    if len(data) > LARGEST_FILE:
        raise ValueError(f"more than {LARGEST_FILE:,} bytes")
    document = json.loads(data)
    rows = document.get("keys") if isinstance(document, dict) else None
    keys = {}
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, dict) or row.get("kty") != "RSA" or row.get("alg", "RS256") != "RS256":
            continue
        key = RsaKey(int.from_bytes(_bytes(str(row.get("n")))), int.from_bytes(_bytes(str(row.get("e")))))
        if not FEWEST_BITS <= key.n.bit_length() <= 8 * FEWEST_BITS or key.e % 2 == 0 or not 2 < key.e < 2**32:
            raise ValueError(f"a key that is not RSA with {FEWEST_BITS} bits or more")
        keys[str(row.get("kid"))] = key
    if not keys:
        raise ValueError("no key for RS256 in it")
    return keys


def _bytes(text: str) -> bytes:
    """Base64url without padding."""
    return base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _number(value: object) -> float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
