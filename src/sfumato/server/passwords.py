"""The researcher's password: which passwords are accepted, hashing and verification.

Argon2id (Biryukov, Dinu and Khovratovich 2016; RFC 9106, second recommended option). Lengths and the lists of common
passwords follow NIST SP 800-63B: at least 8 characters, better 15, no truncation, no rules about characters. The number
of guesses is estimated by zxcvbn (Wheeler 2016), from lists of 30,000 passwords, names and words, keyboard runs, dates,
repeats, and letters replaced by digits or signs; our own list adds other languages and words of our field.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.study.study import Study
from sfumato.tables.errors import BadSetting, missing_extra

if TYPE_CHECKING:
    from argon2 import PasswordHasher

COMMON = tuple(Path(__file__).with_name("common_passwords.txt").read_text("utf-8").split())
SHORTEST, ADVISED, LONGEST = 8, 15, 1000
FIX = "choose another, for example four words"
FEWEST_GUESSES = 10**8
"""As many as for eight random characters, by the estimate; fewer are refused."""
LONGEST_ESTIMATED = 72
"""Of a longer password the beginning and the end are estimated: it is enough if one of them is strong."""
SEPARATORS = re.compile(r"[\s._-]+")
SHIFTED_DIGITS = str.maketrans(")!@#$%^&*(", "0123456789")
DUMMY_HASH = "$argon2id$v=19$m=65536,t=3,p=4$tD9tSuCvpkDmcX8BHP7Qfw$ZBupuwV7XpAEC0iRTu2tNKknKQu5Y3jYGhl65nfSnds"
"""Verified when no password is set, so that a login attempt takes the same time."""


def check_password(password: str, study: Study) -> None:
    """Raise if the password is too short, too long or easy to guess."""
    plain = _normalized(password)
    if len(plain) < SHORTEST or len(plain) > LONGEST:
        found, expected = f"a password of {len(plain)} characters", f"{SHORTEST} characters or more, better {ADVISED}"
        raise BadSetting(found, expected, FIX, "weak-password")
    if _n_guesses(plain, study) < FEWEST_GUESSES:
        raise BadSetting("a password that is easy to guess", "one that nobody can guess", FIX, "weak-password")


def _n_guesses(password: str, study: Study) -> float:
    """Estimated guesses until the password is found, by people who know the study's names. The fewest for the password,
    for digits instead of the signs on the same keys (US), and without separators."""
    try:
        from zxcvbn import zxcvbn
    except ImportError as error:
        raise missing_extra("zxcvbn", "to check passwords", "serve") from error
    texts = [text.casefold() for text in (study.name, study.title, "sfumato")]
    names = [each for text in texts for each in (text, SEPARATORS.sub("", text), *SEPARATORS.split(text))]
    known = [*(name for name in names if len(name) > 3), *COMMON]
    tried = {password, password.translate(SHIFTED_DIGITS), SEPARATORS.sub("", password)} - {""}
    n = LONGEST_ESTIMATED
    return min(max(float(zxcvbn(part, known)["guesses"]) for part in {each[:n], each[-n:]}) for each in tried)


def hash_password(password: str) -> str:
    """The hash to store."""
    return _hasher().hash(_normalized(password))


def is_password(password: str, stored: str | None) -> bool:
    """Whether the password matches the stored hash. Takes the same time if none is stored."""
    hasher = _hasher()
    from argon2.exceptions import Argon2Error, InvalidHashError

    try:
        matches = hasher.verify(stored or DUMMY_HASH, _normalized(password))
    except (Argon2Error, InvalidHashError):
        return False
    return matches and stored is not None


def _normalized(password: str) -> str:
    """The same characters for every keyboard."""
    return unicodedata.normalize("NFKC", password)


def _hasher() -> PasswordHasher:
    try:
        from argon2 import PasswordHasher
    except ImportError as error:
        raise missing_extra("argon2", "for password hashes", "serve") from error
    return PasswordHasher()
