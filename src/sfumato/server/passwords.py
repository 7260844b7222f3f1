"""The researcher's password: which ones are taken, how they are kept, and how one is checked.

Argon2id (Biryukov, Dinu and Khovratovich 2016; RFC 9106, second recommended option). Lengths and the list of common
ones follow NIST SP 800-63B: at least 8 characters, better 15, nothing cut off, no rules about which characters.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from sfumato.server.common_passwords import COMMON
from sfumato.study.study import Study
from sfumato.tables.errors import BadSetting, MissingExtra

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST, ADVISED, LONGEST = 8, 15, 1000
NOBODYS = "$argon2id$v=19$m=65536,t=3,p=4$tD9tSuCvpkDmcX8BHP7Qfw$ZBupuwV7XpAEC0iRTu2tNKknKQu5Y3jYGhl65nfSnds"
"""Checked against where no password is set, so that this takes as long; whatever comes out, the answer is no."""


def check_password(password: str, study: Study) -> None:
    """Raise unless the password may be set: long enough, and not among those that everybody tries first."""
    plain = _normal(password)
    if len(plain) < SHORTEST or len(plain) > LONGEST:
        raise _refused(f"a password of {len(plain)} characters", f"{SHORTEST} characters or more, better {ADVISED}")
    folded = plain.casefold()
    stem = "".join(character for character in folded if character.isalpha())
    told = {text.casefold() for text in (study.name, study.title, *study.title.split(), "sfumato")}
    if folded in COMMON or folded in told or (stem in told | COMMON and len(stem) > 3) or len(set(folded)) < 4:
        raise _refused("a password that is among the first to be tried", "one that nobody can guess")


def hashed(password: str) -> str:
    """The password as it is kept."""
    return _hasher().hash(_normal(password))


def is_password(given: str, kept: str | None) -> bool:
    """Whether this is the password that was kept. Takes as long where none was."""
    hasher = _hasher()
    from argon2.exceptions import Argon2Error, InvalidHashError

    try:
        matches = hasher.verify(kept or NOBODYS, _normal(given))
    except (Argon2Error, InvalidHashError):
        return False
    return matches and kept is not None


def _normal(password: str) -> str:
    """The same characters however a keyboard composes them."""
    return unicodedata.normalize("NFKC", password)


def _hasher() -> PasswordHasher:
    try:
        from argon2 import PasswordHasher
    except ImportError as error:
        raise MissingExtra(
            "found no argon2",
            expected="argon2-cffi, which keeps passwords",
            fix='pip install "sfumato[serve]"',
            code="missing-extra",
        ) from error
    return PasswordHasher()


def _refused(found: str, expected: str) -> BadSetting:
    return BadSetting(
        f"found {found}", expected=expected, fix="choose another, for example four words", code="weak-password"
    )
