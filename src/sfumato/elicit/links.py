"""Links: one token a person, signed by the study, so that links can be made at any time and nobody can invent one.

A token is nine random bytes and fifteen of their HMAC-SHA256 under the study's secret: 120 bits that cannot be guessed.
The person comes into being when the link is first opened, and opening it again is the same person.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

N_RANDOM, N_SIGNED = 9, 15


def new_secret() -> str:
    """A secret for a new study; it stays in the store."""
    return secrets.token_hex(32)


def new_token(secret: str) -> str:
    """A token that `is_signed` accepts, and no other that was or will be made."""
    random = secrets.token_bytes(N_RANDOM)
    return base64.urlsafe_b64encode(random + _signature(random, secret)).decode()


def token_of(secret: str, whose: str) -> str:
    """The one token of somebody who has a name elsewhere: the same each time, and not to be guessed from the name."""
    drawn = hmac.digest(bytes.fromhex(secret), b"token of " + whose.encode(), hashlib.sha256)[:N_RANDOM]
    return base64.urlsafe_b64encode(drawn + _signature(drawn, secret)).decode()


def is_signed(token: str, secret: str) -> bool:
    """Whether the token was made with this secret."""
    try:
        data = base64.b64decode(token, altchars=b"-_", validate=True)
    except ValueError:
        return False
    random, signature = data[:N_RANDOM], data[N_RANDOM:]
    # The same bytes can be written in several ways; only one of them is the link.
    if base64.urlsafe_b64encode(data).decode() != token:
        return False
    return hmac.compare_digest(signature, _signature(random, secret))


def _signature(random: bytes, secret: str) -> bytes:
    return hmac.digest(bytes.fromhex(secret), b"annotator link " + random, hashlib.sha256)[:N_SIGNED]
