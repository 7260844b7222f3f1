"""Participant links: one signed token per participant, so that links can be made at any time and none can be forged.

A token is 17 random bytes (136 bits) and 16 bytes of their HMAC-SHA256 under the study's secret (128 bits). The
participant is added when the link is first opened; opening it again resumes the same session. A link that has not been
opened also contains the signed time it was made. A further link of a participant contains nine bytes that only the
study can match with their pseudonym. The link of a browser that a platform sent follows from a random key in its
cookie, and not the reverse (`token_of_key`).

Links expire a number of days after they were made or, once opened, after the participant was last active. The number is
in the study file (`link_days`), so that it can be raised for links already sent.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

from sfumato.tables.errors import NotThere

N_RANDOM, N_DATED, N_OWNER, N_SIGNED = 17, 6, 9, 16
"""Bytes; every sum is a multiple of three, so that no link ends with `=`."""
N_BROWSER_KEY = 24
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


def new_token(secret: str, made_at: int | None = None, owner: str | None = None) -> str:
    """A new token that `is_signed` accepts; `made_at` (milliseconds since 1970) is included for links opened later.

    With `owner`, a pseudonym, it is a further link of that participant.
    """
    dated = b"" if made_at is None else made_at.to_bytes(N_DATED)
    signed = secrets.token_bytes(N_RANDOM) + dated + (b"" if owner is None else owner_tag(owner, secret))
    return base64.urlsafe_b64encode(signed + _signature(signed, secret)).decode()


def new_browser_key() -> str:
    """A new random key for the cookie of a browser."""
    return secrets.token_urlsafe(N_BROWSER_KEY)


def token_of_key(secret: str, key: str) -> str:
    """The link of the browser with this key. Nobody can compute it without the secret, nor the key from the link."""
    start = hmac.digest(bytes.fromhex(secret), b"browser key " + key.encode("utf-8", "replace"), hashlib.sha256)
    signed = start[:N_RANDOM]
    return base64.urlsafe_b64encode(signed + _signature(signed, secret)).decode()


def hash_of(token: str) -> str:
    """The hash under which a token is stored; the token itself is not stored."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def hash_of_person(secret: str, name: str) -> str:
    """A keyed hash of a name on a platform: one per person and study, and not computable without the secret."""
    # Until version 0005 of the store this was the hash of their link, which must stay the same for people erased then.
    start = hmac.digest(bytes.fromhex(secret), b"token of " + name.encode(), hashlib.sha256)[:9]
    return hash_of(base64.urlsafe_b64encode(start + _signature(start, secret)[:15]).decode())


def is_signed(token: str, secret: str) -> bool:
    """Whether the token was made with this secret."""
    try:
        data = base64.b64decode(token, altchars=b"-_", validate=True)
    except ValueError:
        return False
    if len(data) - N_RANDOM - N_SIGNED not in (0, N_DATED, N_DATED + N_OWNER):
        return False
    signed, signature = data[:-N_SIGNED], data[-N_SIGNED:]
    # The same bytes have several base64 spellings; only one of them is the link.
    if base64.urlsafe_b64encode(data).decode() != token:
        return False
    return hmac.compare_digest(signature, _signature(signed, secret))


def made_at(token: str) -> int | None:
    """When a signed token was made, in milliseconds since 1970; None if it is not included."""
    dated = base64.urlsafe_b64decode(token)[N_RANDOM:-N_SIGNED][:N_DATED]
    return int.from_bytes(dated) if dated else None


def owner_in(token: str) -> bytes | None:
    """The `owner_tag` in a signed token; None if it is not a further link of a participant."""
    return base64.urlsafe_b64decode(token)[N_RANDOM:-N_SIGNED][N_DATED:] or None


def owner_tag(pseudonym: str, secret: str) -> bytes:
    """What a link says about its participant: it does not contain the pseudonym."""
    return hmac.digest(bytes.fromhex(secret), b"owner " + pseudonym.encode(), hashlib.sha256)[:N_OWNER]


def oldest_valid(days: float, now: int) -> int:
    """The earliest last use of a link that is valid at `now`; with 0 days links never expire."""
    return round(now - days * DAY_MS) - LEEWAY_MS if days else 0


def _signature(signed: bytes, secret: str) -> bytes:
    return hmac.digest(bytes.fromhex(secret), b"annotator link " + signed, hashlib.sha256)[:N_SIGNED]


def network_code(secret: str, network: str) -> str:
    """A keyed hash of a network: equal for visits from one network, and of no use without the study's secret."""
    return hmac.digest(bytes.fromhex(secret), b"network " + network.encode(), hashlib.sha256).hex()[:16]
