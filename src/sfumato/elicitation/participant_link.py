"""Participant links: one signed token per participant, so that links can be made at any time and none can be forged.

A token is nine random bytes and fifteen bytes of their HMAC-SHA256 under the study's secret (120 bits). The participant
is added when the link is first opened; opening it again resumes the same session. A link that has not been opened also
contains the signed time it was made.

Links expire a number of days after they were made or, once opened, after the participant was last active. The number is
in the study file (`link_days`), so that it can be raised for links already sent.
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
"""Allowed difference between the clocks of the machines that make links and serve the study."""


class LinkEnded(NotThere):
    """An expired link."""

    def __init__(self) -> None:
        fix = "ask the researchers for a new one"
        super().__init__("a link that has expired", "a link that is still valid", fix, "link-ended")

    def __reduce__(self) -> tuple[type[LinkEnded], tuple[()]]:
        return LinkEnded, ()


def new_secret() -> str:
    """A secret for a new study; it never leaves the store."""
    return secrets.token_hex(32)


def new_token(secret: str, made_at: int | None = None) -> str:
    """A new token that `is_signed` accepts; `made_at` (milliseconds since 1970) is included for links opened later."""
    signed = secrets.token_bytes(N_RANDOM) + (b"" if made_at is None else made_at.to_bytes(N_DATED))
    return base64.urlsafe_b64encode(signed + _signature(signed, secret)).decode()


def token_of(secret: str, name: str) -> str:
    """The token of a participant with a name on a platform: always the same, and not predictable from the name."""
    start = hmac.digest(bytes.fromhex(secret), b"token of " + name.encode(), hashlib.sha256)[:N_RANDOM]
    return base64.urlsafe_b64encode(start + _signature(start, secret)).decode()


def is_signed(token: str, secret: str) -> bool:
    """Whether the token was made with this secret."""
    try:
        data = base64.b64decode(token, altchars=b"-_", validate=True)
    except ValueError:
        return False
    if len(data) not in (N_RANDOM + N_SIGNED, N_RANDOM + N_DATED + N_SIGNED):
        return False
    signed, signature = data[:-N_SIGNED], data[-N_SIGNED:]
    # The same bytes have several base64 spellings; only one of them is the link.
    if base64.urlsafe_b64encode(data).decode() != token:
        return False
    return hmac.compare_digest(signature, _signature(signed, secret))


def made_at(token: str) -> int | None:
    """When a signed token was made, in milliseconds since 1970; None if it is not included."""
    dated = base64.urlsafe_b64decode(token)[N_RANDOM:-N_SIGNED]
    return int.from_bytes(dated) if dated else None


def oldest_valid(days: float, now: int) -> int:
    """The earliest last use of a link that is valid at `now`; with 0 days links never expire."""
    return round(now - days * DAY_MS) - LEEWAY_MS if days else 0


def _signature(signed: bytes, secret: str) -> bytes:
    return hmac.digest(bytes.fromhex(secret), b"annotator link " + signed, hashlib.sha256)[:N_SIGNED]
