"""Links: one token a person, signed by the study, so that links can be made at any time and nobody can invent one.

A token is nine random bytes and fifteen of their HMAC-SHA256 under the study's secret: 120 bits that cannot be guessed.
The person comes into being when the link is first opened, and opening it again is the same person. A link that waits to
be opened also says when it was made, which is signed with the rest.

Links end: so many days after they were made or, once opened, after their person was last there. The days are the study
file's, so that links already handed out can be given more.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

from sfumato.tables.errors import NotThere

N_RANDOM, N_DATED, N_SIGNED = 9, 6, 15
DAY_MS = 24 * 3600 * 1000
LEEWAY_MS = 60_000
"""By how much the clocks of those who make links and of those who serve the study may differ."""


class LinkEnded(NotThere):
    """A link whose time is over."""

    def __init__(self) -> None:
        super().__init__(
            "found a link whose time is over",
            expected="a link that still holds",
            fix="ask the researchers for a new one",
            code="link-ended",
        )

    def __reduce__(self) -> tuple[type[LinkEnded], tuple[()]]:
        return LinkEnded, ()


def new_secret() -> str:
    """A secret for a new study; it stays in the store."""
    return secrets.token_hex(32)


def new_token(secret: str, made_at: int | None = None) -> str:
    """A token that `is_signed` accepts, and no other that was or will be made; for who comes later with the time it was
    `made_at` in it (milliseconds since 1970)."""
    signed = secrets.token_bytes(N_RANDOM) + (b"" if made_at is None else made_at.to_bytes(N_DATED))
    return base64.urlsafe_b64encode(signed + _signature(signed, secret)).decode()


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
    if len(data) not in (N_RANDOM + N_SIGNED, N_RANDOM + N_DATED + N_SIGNED):
        return False
    signed, signature = data[:-N_SIGNED], data[-N_SIGNED:]
    # The same bytes can be written in several ways; only one of them is the link.
    if base64.urlsafe_b64encode(data).decode() != token:
        return False
    return hmac.compare_digest(signature, _signature(signed, secret))


def made_at(token: str) -> int | None:
    """When a signed token was made, in milliseconds since 1970; None where it does not say."""
    dated = base64.urlsafe_b64decode(token)[N_RANDOM:-N_SIGNED]
    return int.from_bytes(dated) if dated else None


def oldest_that_holds(days: float, now: int) -> int:
    """The moment since when a link must have been made or used to hold at `now`; with 0 days every link holds."""
    return round(now - days * DAY_MS) - LEEWAY_MS if days else 0


def _signature(signed: bytes, secret: str) -> bytes:
    return hmac.digest(bytes.fromhex(secret), b"annotator link " + signed, hashlib.sha256)[:N_SIGNED]
